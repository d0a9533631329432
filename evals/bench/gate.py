"""How fast the gate is: ``python -m evals.bench.gate``.

The statements are sentences of the harbour corpus, each with evidence of its own: word for word, in other words (a
first clause or two words left out) and with a figure changed, where it has one, in turn. Measured are statements a
second on one core; all checks of a report of 200 statements through the service's own handler and its pool of
processes, the first time with the start of a process; and ``leadline verify`` on the bundle of that report. What a call
of the command takes on a file that is no bundle is its start, shown apart. Of five rounds the fastest counts: what else
the machine does only adds.
"""

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from evals.bench.outcome import Bar, end
from evals.truth.perturb import changed
from evals.truth.sets import ROOT
from infra.cli.exits import COMPLETED, FAULTS
from services.extractor.parsing import parse_bytes
from services.synthesizer import handlers
from services.synthesizer.gate.context import gate_context
from services.synthesizer.gate.judge import judge_aligned
from services.synthesizer.handlers import Deps
from shared.adapters.cpu import ProcessCpu
from shared.adapters.model.providers import no_model
from shared.contracts.evidence import Evidence, Source
from shared.contracts.report import Draft, Statement
from shared.contracts.snapshot import Snapshot
from shared.domain.states import StepKind
from tests.factories.research import make_document, make_draft, make_evidence, make_fetch, make_plan, make_statement
from tests.fakes.materials import MemoryIndex, MemoryRun, MemorySnapshots, make_lease
from tests.support.harbor_site import corpus_files

STATEMENTS = 200
MOST_S = 2.0
"""Seconds in which a report of 200 statements has to be checked."""
ROUNDS = 5
SHORTEST_CHARS = 40


@dataclass(frozen=True, slots=True)
class Stock:
    """What a report is made of: sources, their texts, one piece of evidence and one draft for each statement."""

    sources: list[Source]
    snapshots: list[Snapshot]
    evidence: list[Evidence]
    drafts: list[Draft]


def _in_other_words(sentence: str, rng: random.Random) -> str:
    clause, comma, rest = sentence.partition(", ")
    if comma and len(rest) > SHORTEST_CHARS:
        return rest[0].upper() + rest[1:]
    words = (rest or clause).split()
    left_out = set(rng.sample(range(1, len(words) - 1), min(2, len(words) - 2)))
    return " ".join(word for n, word in enumerate(words) if n not in left_out)


def _told(sentence: str, number: int, rng: random.Random) -> str:
    """Return a sentence as the statement of this number tells it."""
    if number % 3 == 1:
        return _in_other_words(sentence, rng)
    altered = changed(sentence, rng) if number % 3 == 2 else None
    return altered[1] if altered else sentence


def _sentences(snapshot: Snapshot) -> Iterator[str]:
    texts = (snapshot.text[start:end] for start, end in snapshot.segments)
    return (text for text in texts if len(text) >= SHORTEST_CHARS and "\n" not in text and text.endswith("."))


def stock(count: int) -> Stock:
    """Return so many statements with what they cite; the same ones each time."""
    rng = random.Random(7)
    made = Stock([], [], [], [])
    for path in corpus_files():
        _, snapshot = parse_bytes(path.read_bytes(), path.name)
        if snapshot is None or len(made.drafts) == count:
            continue
        source = make_document(f"src_{len(made.sources)}", snapshot)
        made.sources.append(source)
        made.snapshots.append(snapshot)
        for sentence in dict.fromkeys(_sentences(snapshot)):
            number = len(made.drafts)
            if number == count:
                break
            evidence = make_evidence(f"ev_{number}", source, snapshot, sentence)
            statement = make_statement(f"stm_{number}", _told(sentence, number, rng), [evidence.evidence_id])
            made.evidence.append(evidence)
            made.drafts.append(make_draft(statement, ordinal=number))
    assert len(made.drafts) == count, f"the corpus gives {len(made.drafts)} statements"
    return made


def per_second(made: Stock, statements: Sequence[Statement]) -> float:
    """Return how many statements one core judges a second, by the time it spent on them."""
    texts = {s.sha256: s.text for s in made.snapshots}
    context = gate_context(made.evidence, texts, made.sources, [make_fetch(s) for s in made.sources])
    judge_aligned(statements[:1], context)
    spent = []
    for _ in range(ROUNDS):
        began = time.process_time()
        judge_aligned(statements, context)
        spent.append(time.process_time() - began)
    return len(statements) / min(spent)


def through_the_service(made: Stock) -> tuple[list[float], MemoryRun]:
    """Return the seconds of each check of the report by the service's handler, and the run with its report."""
    run = MemoryRun(plan=make_plan("What is told of the harbour?"), found=made.sources, pieces=made.evidence)
    run.log = [make_fetch(source) for source in made.sources]
    run.drafted = {d.statement.id: d for d in made.drafts}
    cpu = ProcessCpu(1)
    deps = Deps(run, MemorySnapshots(made.snapshots), MemoryIndex(), cpu, no_model)
    lease, seconds = make_lease(StepKind.VERIFY, "s1", section_id="s1"), []
    try:
        for _ in range(ROUNDS):
            began = time.perf_counter()
            run.commit(lease, handlers.verify(deps, lease))
            seconds.append(time.perf_counter() - began)
    finally:
        cpu.close()
    assert len(run.judged) == len(made.drafts)
    last = make_lease(StepKind.ASSEMBLE, "assemble", terminal_status="completed")
    run.commit(last, handlers.assemble(deps, last))
    return seconds, run


def verified_in(bundle: Path, status: int) -> float:
    """Return the seconds of ``leadline verify`` on a file; raise unless it ends with this status."""
    call = [sys.executable, "-m", "infra.cli", "verify", str(bundle)]
    seconds = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        ended = subprocess.run(call, cwd=ROOT, check=False, capture_output=True, text=True, timeout=60)
        seconds.append(time.perf_counter() - began)
        assert ended.returncode == status, ended.stderr
    return min(seconds)


def main() -> None:
    """Measure, print and save."""
    made = stock(STATEMENTS)
    speed = per_second(made, [d.statement for d in made.drafts])
    print(f"{speed:,.0f} statements a second on one core")
    service, run = through_the_service(made)
    emitted = sum(row.emitted for row in run.judged.values())
    again = min(service[1:])
    print(
        f"{STATEMENTS} statements, {emitted} supported: {again:.2f} s by the service, the first time {service[0]:.2f} s"
    )
    with tempfile.TemporaryDirectory() as folder:
        bundle, empty = Path(folder) / "report.zip", Path(folder) / "empty.zip"
        bundle.write_bytes(run.files["bundle"].data)
        empty.write_bytes(b"no bundle")
        verified, started = verified_in(bundle, COMPLETED), verified_in(empty, FAULTS)
    print(f"leadline verify: {verified:.2f} s, {started:.2f} s of it the start of the command")
    bars = [
        Bar("seconds left of 2, checked by the service", MOST_S - again, 0.0),
        Bar("seconds left of 2, leadline verify", MOST_S - verified, 0.0),
    ]
    details = {"per_second": speed, "service_s": service, "verify_s": verified, "start_s": started, "emitted": emitted}
    end("gate", bars, details)


if __name__ == "__main__":
    main()
