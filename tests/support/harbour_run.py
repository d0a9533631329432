"""A small run about a harbour, ready to be synthesized: two totals that disagree, a copy, a document, a dead link."""

from services.synthesizer import handlers
from services.synthesizer.handlers import Deps
from shared.adapters.model.providers import no_model
from shared.contracts.evidence import Evidence, Fetch, Source
from shared.contracts.runs import CreateRun
from shared.contracts.snapshot import HeadingMark, PageMark, Snapshot
from shared.domain.states import StepKind
from tests.factories.research import (
    make_contradiction,
    make_document,
    make_evidence,
    make_fetch,
    make_plan,
    make_snapshot,
    make_source,
)
from tests.fakes.materials import InlineCpu, MemoryIndex, MemoryRun, MemorySnapshots, make_lease

TOTAL = "How many cubic metres were dredged in the Deep Basin Project?"
OPENING = "When does the new lock open?"
PREMIUM = "What insurance premium was paid?"

AUTHORITY_SENTENCE = "For the Deep Basin Project the authority counted 312,600 cubic metres in the year 2021."
CONTRACTOR_SENTENCE = "The Deep Basin Project came to 984,000 cubic metres of material, channel and basin together."
OLD_DATE_SENTENCE = "The new lock will open to ships on 4 September 2023."
NEW_DATE_SENTENCE = "The new lock will open to ships on 17 April 2024, later than was announced."
FILLER = " ".join(
    f"Sentence number {n} of this page tells of mud, tides and buoys in the estuary." for n in range(1, 30)
)
LISTING = " ".join(f"Entry {n} lists a pier, a crane and the hours of its keeper." for n in range(1, 30))


def _text(title: str, sentence: str, filler: str) -> Snapshot:
    return make_snapshot(
        f"{title}\n{sentence} {filler}", headings=(HeadingMark(level=1, text=title, start=0, end=len(title)),)
    )


AUTHORITY = _text("Annual report", AUTHORITY_SENTENCE, LISTING)
CONTRACTOR = _text("Completion report", f"{CONTRACTOR_SENTENCE} Sand was pumped.", FILLER)
REPRINT = make_snapshot(f"Reprint\n{CONTRACTOR_SENTENCE} Sand was pumped. {FILLER}")
OLD = make_snapshot(f"{OLD_DATE_SENTENCE} The gates are blue.", pages=(PageMark(number=3, start=0, end=999),))
NEW = make_snapshot(f"{NEW_DATE_SENTENCE} See [12] for the <b>tests</b>.")


def _sources() -> list[Source]:
    return [
        make_source(
            "src_authority",
            AUTHORITY,
            title="Annual report 2021",
            publisher="Port Authority",
            source_class="official",
            published_at="2022-02-18",
        ),
        make_source("src_reprint", REPRINT, title="Reprint", publisher="The Courier", published_at="2022-07-01"),
        make_source(
            "src_contractor",
            CONTRACTOR,
            title="Completion of the [works](javascript:x)",
            published_at="2022-06-20T09:00:00+00:00",
        ),
        make_document("src_old", OLD, title="Opening announced", published_at="2022-03-22"),
        make_source("src_new", NEW, title="Correction", publisher="Port <Authority>", published_at="2023-11-08"),
        make_source("src_dead", status="failed", title="A dead link", reason="The site answered 404."),
        make_source("src_waiting"),
    ]


def _evidence(sources: list[Source]) -> list[Evidence]:
    known = {s.source_id: s for s in sources}
    return [
        make_evidence("ev_authority", known["src_authority"], AUTHORITY, AUTHORITY_SENTENCE, relevance_bp=8800),
        make_evidence("ev_reprint", known["src_reprint"], REPRINT, CONTRACTOR_SENTENCE, relevance_bp=9000),
        make_evidence("ev_contractor", known["src_contractor"], CONTRACTOR, CONTRACTOR_SENTENCE, relevance_bp=9000),
        make_evidence("ev_old", known["src_old"], OLD, OLD_DATE_SENTENCE, question_ids=("q2",), relevance_bp=9200),
        make_evidence("ev_new", known["src_new"], NEW, NEW.text, question_ids=("q2",), relevance_bp=9000),
    ]


def harbour_run(as_of: str | None = None) -> tuple[MemoryRun, Deps]:
    """Return the run before its synthesis, and the handlers' dependencies over it."""
    plan = make_plan(TOTAL, OPENING, PREMIUM)
    sources = _sources()
    run = MemoryRun(
        plan=plan,
        found=sources,
        pieces=_evidence(sources),
        log=[*_fetches(sources)],
        conflicts=[
            make_contradiction(
                ["ev_old", "ev_new"],
                claim_key="q2:date",
                summary="The dates differ: 4 September 2023 (Opening announced); 17 April 2024 (Correction).",
            )
        ],
        asked=["dredged cubic metres", "lock opening"],
        request=CreateRun(objective=plan.objective, as_of=as_of),
    )
    snapshots = MemorySnapshots((AUTHORITY, CONTRACTOR, REPRINT, OLD, NEW))
    return run, Deps(run, snapshots, MemoryIndex(), InlineCpu(), no_model)


def _fetches(sources: list[Source]) -> list[Fetch]:
    read = [make_fetch(s) for s in sources if s.status == "fetched"]
    dead = next(s for s in sources if s.status == "failed")
    return [*read, make_fetch(dead, status=404, content_sha256=None)]


def synthesize(run: MemoryRun, deps: Deps, status: str = "completed") -> None:
    """Take the run through all steps of the synthesis."""
    lease = make_lease(StepKind.OUTLINE, "outline")
    run.commit(lease, handlers.outline(deps, lease))
    for section in run.results["outline"]["sections"]:
        for kind, handler in ((StepKind.WRITE_SECTION, handlers.write_section), (StepKind.VERIFY, handlers.verify)):
            lease = make_lease(kind, section, section_id=section)
            run.commit(lease, handler(deps, lease))
    lease = make_lease(StepKind.ASSEMBLE, "assemble", terminal_status=status)
    run.commit(lease, handlers.assemble(deps, lease))
