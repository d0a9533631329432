"""The synthesizer's steps, one after the other, over a run in memory."""

from dataclasses import replace
from typing import Any

import pytest

from services.synthesizer import handlers
from services.synthesizer.engines import engine_of
from services.synthesizer.tasks import TASKS
from services.synthesizer.verify import verify_bundle
from shared.adapters.model.providers import NoModel
from shared.contracts.report import Report
from shared.domain.errors import Permanent
from shared.domain.kinds import kinds_of
from shared.domain.states import StepKind, StepStatus
from shared.domain.view import StepView
from shared.ports.cpu import CpuLimitExceeded, CpuLimits, CpuTaskCrashed
from tests.fakes.materials import InlineCpu, MemoryRun, MemorySnapshots, make_lease
from tests.support.harbour_run import (
    AUTHORITY_SENTENCE,
    CONTRACTOR_SENTENCE,
    NEW_DATE_SENTENCE,
    OLD_DATE_SENTENCE,
    harbour_run,
    synthesize,
)


def texts(report: Report) -> list[str]:
    """Return the sentences of the sections in reading order."""
    blocks = [block for section in report.sections for block in section.blocks]
    return [s.text for block in blocks if block.type == "list" for item in block.items for s in item]


def made(as_of: str | None = None, status: str = "completed") -> tuple[MemoryRun, Report]:
    """Return the run and its report."""
    run, deps = harbour_run(as_of)
    synthesize(run, deps, status)
    return run, run.reports[0]


def test_there_is_a_handler_for_every_kind_of_the_queue() -> None:
    """The table covers what the synthesizer's queue carries."""
    assert set(TASKS) == kinds_of("synthesizer")


def test_outline_settles_copies_and_shares_evidence_out() -> None:
    """The reprint becomes an alias of the page that was published first, and its passage is not used."""
    run, deps = harbour_run()
    outcome = handlers.outline(deps, make_lease(StepKind.OUTLINE, "outline"))
    (alias,) = (s for s in outcome.sources if s.duplicate_of)
    assert (alias.source_id, alias.duplicate_of, alias.status) == ("src_reprint", "src_contractor", "duplicate")
    assert outcome.result["sections"] == ["s1", "s2"]
    assert outcome.result["cards"] == {"s1": ["ev_contractor", "ev_authority"], "s2": ["ev_old", "ev_new"]}
    run.commit(make_lease(StepKind.OUTLINE, "outline"), outcome)
    assert handlers.outline(deps, make_lease(StepKind.OUTLINE, "outline")).sources == ()


def test_the_report_holds_what_was_found() -> None:
    """Both totals, both dates, the conflict, the gap and the dead link are all told, and the newest date answers."""
    _, report = made()
    assert texts(report)[:3] == [CONTRACTOR_SENTENCE, AUTHORITY_SENTENCE, OLD_DATE_SENTENCE]
    assert report.short_answer is not None
    assert report.short_answer.text == CONTRACTOR_SENTENCE
    assert [s.text for s in report.executive_summary] == [CONTRACTOR_SENTENCE, NEW_DATE_SENTENCE]
    assert [c.evidence_ids for c in report.contradictions] == [("ev_old", "ev_new")]
    assert [g.question_id for g in report.gaps] == ["q3", None]
    assert "What insurance premium was paid?" in report.gaps[0].description
    assert "A dead link" in report.gaps[1].description
    assert report.status == "completed"


def test_citations_are_numbered_in_the_order_of_use() -> None:
    """One number for each source and place, from the short answer on."""
    _, report = made()
    assert [(c.number, c.source_id) for c in report.citations] == [
        (1, "src_contractor"),
        (2, "src_new"),
        (3, "src_authority"),
        (4, "src_old"),
    ]
    assert report.citations[3].locator.page == 3
    assert report.source_mix == {"document": 1, "official": 1, "unknown": 2}


def test_contested_findings_are_never_of_high_confidence() -> None:
    """The user's document is first-hand, but contradicted; the official page is not."""
    _, report = made()
    sure = {
        s.text: s.confidence
        for section in report.sections
        for block in section.blocks
        if block.type == "list"
        for item in block.items
        for s in item
    }
    assert sure[AUTHORITY_SENTENCE] == "high"
    assert sure[OLD_DATE_SENTENCE] == "medium"
    assert sure[NEW_DATE_SENTENCE] == "low"


def test_sources_after_the_as_of_date_are_left_out() -> None:
    """A page published later is in no finding and no conflict, and the methodology says so."""
    _, report = made(as_of="2023-01-31")
    assert NEW_DATE_SENTENCE not in texts(report)
    assert report.contradictions == ()
    assert any("1 source published later was left out" in line for line in report.methodology)
    assert report.as_of == "2023-01-31"


def test_every_draft_has_a_verdict_and_the_figures_add_up() -> None:
    """The summary counts the drafts; nothing is dropped here, so nothing is announced as dropped."""
    run, report = made()
    assert run.drafted.keys() == run.judged.keys()
    assert report.verification.statements == report.verification.emitted == len(run.drafted)
    assert report.verification.sentence_support_rate == report.verification.citation_support_rate == 1.0
    assert [e.type for e in run.events] == ["report_ready"]
    assert run.events[0].payload == {"report_version": 1, "terminal_status": "completed"}
    assert run.results["assemble"] == {"findings": len(run.drafted), "terminal_status": "completed"}


def test_a_sentence_that_fails_is_dropped_and_told() -> None:
    """An excerpt that was tampered with takes its sentence out of the report, and the event names the verdict."""
    run, deps = harbour_run()
    run.pieces[0] = run.pieces[0].model_copy(update={"excerpt": AUTHORITY_SENTENCE.replace("312", "313")})
    synthesize(run, deps)
    report = run.reports[0]
    assert not any("313,600" in text for text in texts(report))
    assert [e.payload["verdict"] for e in run.events if e.type == "statement_dropped"] == ["unsupported"]
    assert report.verification.dropped == 1
    assert report.verification.sentence_support_rate == 0.8


def test_a_missing_snapshot_is_unresolvable() -> None:
    """A text that is gone costs its sentences, not the run; its side of a conflict is not cited either."""
    run, deps = harbour_run()
    gone = next(e.snapshot_sha256 for e in run.pieces if e.evidence_id == "ev_new")
    assert isinstance(deps.snapshots, MemorySnapshots)
    del deps.snapshots.texts[gone]
    synthesize(run, deps)
    assert {v.verdict for v in run.judged.values()} == {"supported", "unresolvable"}
    assert run.reports[0].contradictions == ()
    assert verify_bundle(run.files["bundle"].data).ok


def test_a_run_without_a_finding_is_never_completed() -> None:
    """No evidence gives a report of gaps, marked as exhausted."""
    run, deps = harbour_run()
    run.pieces.clear()
    synthesize(run, deps)
    report = run.reports[0]
    assert (report.status, report.short_answer, report.sections[0].blocks) == ("budget_exhausted", None, ())
    assert [g.question_id for g in report.gaps[:3]] == ["q1", "q2", "q3"]
    assert run.results["assemble"] == {"findings": 0, "terminal_status": "budget_exhausted"}
    assert verify_bundle(run.files["bundle"].data).ok


def test_a_partial_report_says_so() -> None:
    """The status that the step was given stands on the report and on top of its renderings."""
    run, report = made(status="budget_exhausted")
    assert report.status == "budget_exhausted"
    assert b"This report is partial" in run.files["md"].data.split(b"##")[0]


def test_what_time_left_unchecked_is_unverified() -> None:
    """When the run is cut short between writing and checking, the drafts get a verdict that emits nothing."""
    run, deps = harbour_run()
    lease = make_lease(StepKind.OUTLINE, "outline")
    run.commit(lease, handlers.outline(deps, lease))
    lease = make_lease(StepKind.WRITE_SECTION, "s1", section_id="s1")
    run.commit(lease, handlers.write_section(deps, lease))
    lease = make_lease(StepKind.ASSEMBLE, "assemble", terminal_status="budget_exhausted")
    run.commit(lease, handlers.assemble(deps, lease))
    assert {(v.verdict, v.emitted) for v in run.judged.values()} == {("unverified", False)}
    assert verify_bundle(run.files["bundle"].data).ok


def test_assembling_without_an_outline_reports_gaps() -> None:
    """Even when nothing was written before time ran out, there is a report."""
    run, deps = harbour_run()
    lease = make_lease(StepKind.ASSEMBLE, "assemble", terminal_status="budget_exhausted")
    run.commit(lease, handlers.assemble(deps, lease))
    assert run.reports[0].gaps


def test_steps_give_the_same_outcome_again() -> None:
    """A step that runs a second time after a crash proposes the same rows."""
    run, deps = harbour_run()
    synthesize(run, deps)
    for kind in (StepKind.WRITE_SECTION, StepKind.VERIFY):
        lease = make_lease(kind, "s1", section_id="s1")
        assert TASKS[kind](deps, lease) == TASKS[kind](deps, lease)


def test_the_files_are_those_of_the_bundle() -> None:
    """Markdown and HTML of the report are the ones in its bundle, which verifies."""
    run, _ = made()
    assert {f.fmt: f.mime.partition(";")[0] for f in run.files.values()} == {
        "md": "text/markdown",
        "html": "text/html",
        "bundle": "application/zip",
    }
    result = verify_bundle(run.files["bundle"].data)
    assert result.ok, result.faults
    assert result.summary["recomputed"] == 5


class BrokenCpu:
    """A pool whose every task ends badly."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def run(self, function: Any, *args: object, limits: CpuLimits) -> Any:
        """Raise."""
        raise self.error

    def close(self) -> None:
        """Do nothing."""


def test_a_check_that_crashes_is_tried_again_and_then_given_up() -> None:
    """A crash is worth another try; in the last one, and at a limit at once, the sentences are unverified."""
    run, deps = harbour_run()
    for step, handler in ((StepKind.OUTLINE, handlers.outline), (StepKind.WRITE_SECTION, handlers.write_section)):
        lease = make_lease(step, "outline" if step is StepKind.OUTLINE else "s1", section_id="s1")
        run.commit(lease, handler(deps, lease))
    crashing = replace(deps, cpu=BrokenCpu(CpuTaskCrashed(9)))
    with pytest.raises(CpuTaskCrashed):
        handlers.verify(crashing, make_lease(StepKind.VERIFY, "s1", section_id="s1"))
    interrupted = make_lease(StepKind.VERIFY, "s1", attempt=9, section_id="s1")
    with pytest.raises(CpuTaskCrashed):
        handlers.verify(crashing, interrupted)
    last = handlers.verify(crashing, replace(interrupted, last_try=True))
    limited = handlers.verify(
        replace(deps, cpu=BrokenCpu(CpuLimitExceeded("memory"))), make_lease(StepKind.VERIFY, "s1", section_id="s1")
    )
    assert {v.verdict for v in (*last.verdicts, *limited.verdicts)} == {"unverified"}


def test_an_unknown_engine_is_refused_by_name() -> None:
    """The error tells which engines there are."""
    with pytest.raises(Permanent, match="extractive"):
        engine_of("oracle", InlineCpu(), NoModel())


@pytest.mark.parametrize("kind", [StepKind.READ_SOURCE, StepKind.PARSE, StepKind.EXTRACT])
def test_what_research_ended_too_soon_for_is_told_as_not_read(kind: StepKind) -> None:
    """In the gaps by name and in the methodology by number; a source that gave evidence has been read."""
    run, deps = harbour_run()
    run.stop_reason = "budget:elapsed_s"
    extracted = StepView("extract:src_old", StepKind.EXTRACT, StepStatus.COMPLETED, 1, "src_old")
    cut = [StepView(f"{kind}:{s}", kind, StepStatus.CANCELLED, 1, s) for s in ("src_waiting", "src_new", "src_old")]
    run.steps = [extracted, *cut]
    run.pieces = [e for e in run.pieces if e.source_id != "src_old"]
    synthesize(run, deps, "budget_exhausted")
    report = run.reports[0]
    told = [g.description for g in report.gaps if "Research ended before it had been read" in g.description]
    assert len(told) == 1
    assert told[0].startswith("Not read: ")
    assert "Title of src_waiting" in told[0]
    text = " ".join(report.methodology)
    assert "1 source was not read, because research ended first" in text
    assert "its limit on time was reached" in text
