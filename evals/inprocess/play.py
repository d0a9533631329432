"""Plays a run to its end: every step by the handler that the services' own tables name for it."""

from collections.abc import Callable, Mapping
from typing import Any

from evals.inprocess.library import Library
from evals.inprocess.world import InlineCpu, NoReceipts, World
from services.extractor import handlers as extractor
from services.extractor.tasks import TASKS as EXTRACTOR_TASKS
from services.fetcher import handlers as fetcher
from services.fetcher.tasks import TASKS as FETCHER_TASKS
from services.planner import handlers as planner
from services.planner.tasks import TASKS as PLANNER_TASKS
from services.synthesizer import handlers as synthesizer
from services.synthesizer.tasks import TASKS as SYNTHESIZER_TASKS
from shared.adapters.model.providers import no_model
from shared.adapters.reader.onnx import OnnxReader
from shared.contracts.runs import CreateRun, SourcePolicy
from shared.domain.budget import Depth
from shared.domain.states import StepKind, is_final
from shared.ports.ledger import Lease, Outcome
from shared.ports.reader import Reader

MAX_STEPS = 1_000
READER = OnnxReader()


def play(
    question: str,
    library: Library,
    depth: Depth = Depth.QUICK,
    as_of: str | None = None,
    reader: Reader | None = READER,
) -> World:
    """Return a run that has come to its final status over the library."""
    policy = SourcePolicy(documents_all=True)
    request = CreateRun(objective=question, depth=depth, source_policy=policy, auto_approve=True, as_of=as_of)
    return played(World(request), library, reader)


def played(world: World, library: Library, reader: Reader | None = READER) -> World:
    """Take a run to its end."""
    handlers = _handlers(world, library, reader)
    world.move_on()
    for _ in range(MAX_STEPS):
        if is_final(world.status):
            return world
        waiting = world.open_steps()
        assert waiting, f"nothing is left to do in {world.status}"
        lease = world.lease(waiting[0])
        world.commit(lease, handlers[lease.kind](lease))
    raise AssertionError("the run did not end")


def _handlers(world: World, library: Library, reader: Reader | None) -> dict[StepKind, Callable[[Lease], Outcome]]:
    """Bind the handlers of each service to its dependencies; what reading documents never needs is None."""
    unused: Any = None
    cpu = InlineCpu()
    store: Any = library
    services: tuple[tuple[Mapping[StepKind, Callable[[Any, Lease], Outcome]], object], ...] = (
        (PLANNER_TASKS, planner.Deps(world, store, library, no_model)),
        (FETCHER_TASKS, fetcher.Deps(world, library, NoReceipts(), unused, unused)),
        (EXTRACTOR_TASKS, extractor.Deps(world, store, unused, library, cpu, no_model, reader=reader)),
        (SYNTHESIZER_TASKS, synthesizer.Deps(world, store, library, cpu, no_model, reader)),
    )
    return {kind: _bound(handler, deps) for tasks, deps in services for kind, handler in tasks.items()}


def _bound(handler: Callable[[Any, Lease], Outcome], deps: object) -> Callable[[Lease], Outcome]:
    return lambda lease: handler(deps, lease)
