"""The use cases of the gateway, without HTTP: check, ask for the write, then send what may be sent after its commit."""

from collections.abc import Sequence

from services.gateway import rules
from services.gateway.deps import Deps
from shared.contracts.evidence import SourceDetail
from shared.contracts.runs import ControlRequest, CreateRun, EditPlan, Ingest, Reverification, Run
from shared.domain.budget import COST
from shared.domain.errors import IllegalAction, Invalid, NotFound, TooLarge
from shared.domain.ids import OwnerId, RunId
from shared.domain.states import Action, RunStatus
from shared.ports.gateway import PlanEdit, Upload
from shared.ports.keys import Holder
from shared.ports.ledger import Committed


def create_run(deps: Deps, holder: Holder, request: CreateRun, key: str | None) -> Run:
    """Create a run, or return the one that the same key made."""
    rules.check_as_of(request.as_of)
    request = request.model_copy(update={"objective": rules.check_objective(request.objective)})
    request = request.model_copy(update={"client_request_id": None})  # the key says it: sent either way it is one key
    configured = deps.configured
    engine = rules.engine_for(request.engine, has_model=deps.has_model, managed=configured.managed)
    _check_cost(deps, request.budget.cost_usd, engine, "budget.cost_usd")
    run_id, committed = deps.controls.create_run(holder.owner_id, request, key, engine, holder.key_id)
    _send(deps, committed)
    return deps.reads.run(holder.owner_id, run_id)


def edit_plan(deps: Deps, owner: OwnerId, run_id: RunId, change: EditPlan) -> Run:
    """Replace the plan by a new version, and the source policy and limits that come with it."""
    budget = change.budget.model_dump(exclude_none=True)
    if COST in budget:
        _check_cost(deps, budget[COST], deps.reads.run(owner, run_id).engine, "budget.cost_usd")
    edit = PlanEdit(change.expected_version, change.plan, change.source_policy, budget)
    _send(deps, deps.controls.edit_plan(owner, run_id, edit))
    return deps.reads.run(owner, run_id)


def act(deps: Deps, holder: Holder, run_id: RunId, control: ControlRequest) -> Run:
    """Carry out an action; one whose aim is reached already changes nothing and is no error."""
    action, owner = Action(control.action), holder.owner_id
    limits = control.limits or {}
    if COST in limits:
        _check_cost(deps, limits[COST], deps.reads.run(owner, run_id).engine, "limits.cost_usd")
    try:
        _send(deps, deps.controls.act(owner, run_id, control, holder.key_id))
    except IllegalAction:
        run = deps.reads.run(owner, run_id)
        if rules.already_holds(action, RunStatus(run.status), control.expected_version, run.plan_version):
            return run
        raise
    return deps.reads.run(owner, run_id)


def reverify(deps: Deps, holder: Holder, run_id: RunId) -> Reverification:
    """Have the newest report of a run that has ended checked again, by a run of its own."""
    started, committed = deps.controls.reverify(holder.owner_id, run_id, holder.key_id)
    _send(deps, committed)
    return started


def add_documents(deps: Deps, holder: Holder, uploads: Sequence[Upload]) -> Ingest:
    """Keep files and start reading them; nothing is kept unless every one of them can be."""
    if not uploads:
        raise Invalid("No file was sent: send one or more as multipart/form-data.", field="files")
    largest = deps.limits.max_document_bytes
    for upload in uploads:
        if not upload.data:
            raise Invalid(f"The file {upload.name} is empty: send one that holds something.", field="files")
        if len(upload.data) > largest:
            raise TooLarge(
                f"The file {upload.name} has {len(upload.data):,} bytes; a document may have {largest:,}.",
                field="files",
            )
    ingest, committed = deps.controls.add_documents(holder.owner_id, uploads, holder.key_id)
    _send(deps, committed)
    return ingest


def source(deps: Deps, owner: OwnerId, run_id: RunId, source_id: str) -> SourceDetail:
    """Return one source of a run with what was found in it; raise `NotFound`."""
    found = next((s for s in deps.reads.sources(owner, run_id) if s.source_id == source_id), None)
    if found is None:
        raise NotFound("The run has no such source.")
    evidence = tuple(e for e in deps.reads.evidence(owner, run_id) if e.source_id == source_id)
    return SourceDetail(**dict(found), evidence=evidence)


def snapshot(deps: Deps, owner: OwnerId, run_id: RunId, source_id: str) -> str:
    """Return the text that a run read from a source; raise `NotFound`, also when there is none."""
    found = source(deps, owner, run_id, source_id)
    if found.snapshot_sha256 is None:
        raise NotFound(f"There is no text of this source: it is {found.status}.")
    return deps.reads.snapshot_text(owner, found.snapshot_sha256)


def checked_run_id(text: str) -> RunId:
    """Return the id of a run; raise `NotFound` for what cannot be one."""
    if not rules.looks_like_id(text):
        raise NotFound("There is no such run.")
    return RunId(text)


def checked_document_id(text: str) -> str:
    """Return the id of a document; raise `NotFound` for what cannot be one."""
    if not rules.looks_like_id(text):
        raise NotFound("There is no such document.")
    return text


def _check_cost(deps: Deps, limit: float | None, engine: str, field: str) -> None:
    """Raise `Invalid` for a limit on cost that cannot be kept, or that leaves no room for a provider's job."""
    configured = deps.configured
    rules.check_cost_limit(limit is not None, engine, configured.unpriced_of(engine), field)
    rules.check_job_cost(limit, configured.job_costs.get(engine), field)


def _send(deps: Deps, committed: Committed) -> None:
    """Send wake-ups and events, best effort: the sweeper and the streams find by themselves what gets lost."""
    deps.signals.wake(committed.wake_ups)
    deps.signals.publish(committed.events)
    if committed.admit is not None:
        _send(deps, deps.controls.admit(committed.admit))
