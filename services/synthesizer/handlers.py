"""What the synthesizer does with a step: outline the report, write a section, verify it, assemble the whole."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from services.synthesizer.engines import SynthesisEngine, engine_of
from services.synthesizer.engines.answers import Verification, Writing
from services.synthesizer.gate.context import GateContext, gate_context
from services.synthesizer.gate.exists import check_exists, sound_snapshots
from services.synthesizer.gate.judge import unverified
from services.synthesizer.rendering.bundle import BundleInput, bundle_files, write_bundle
from services.synthesizer.rules.assembly import Assembled, Material
from services.synthesizer.rules.assembly import assemble as assemble_report
from services.synthesizer.rules.chains import weighed
from services.synthesizer.rules.gaps import allowed
from services.synthesizer.rules.independence import changed, with_duplicates
from services.synthesizer.rules.methodology import counted
from services.synthesizer.rules.selection import usable
from services.synthesizer.rules.shortfalls import shortfalls_of
from services.synthesizer.rules.summaries import new_summary
from services.synthesizer.rules.writing import SUMMARY, OutlineTask, SectionTask, WritingBrief, round_of_draft
from shared.contracts.events import NewEvent
from shared.contracts.evidence import Evidence, Source
from shared.contracts.managed import ToldReport
from shared.contracts.plan import Plan
from shared.contracts.report import Draft, Statement, VerdictRow
from shared.domain.chains import all_names
from shared.domain.dedupe import Signature
from shared.domain.engines import NO_MODEL, is_managed
from shared.domain.errors import NotFound, Permanent
from shared.domain.ids import RunId
from shared.domain.managed import MANAGED_KEY
from shared.domain.passages import stats_of_texts
from shared.domain.questions import asked
from shared.domain.rank import CorpusStats
from shared.domain.refinement_moves import round_of, suffix_of
from shared.domain.research_moves import unread
from shared.domain.states import StepKind
from shared.domain.text import content_terms
from shared.ports.cpu import Cpu, CpuLimitExceeded, CpuTaskCrashed
from shared.ports.ledger import Lease, Outcome, ReportFile
from shared.ports.materials import DocumentIndex, Materials, RunFacts, Snapshots, each_snapshot
from shared.ports.model import ModelOf
from shared.ports.reader import Reader

DEFAULT_LANGUAGE = "en"


@dataclass(frozen=True, slots=True)
class Deps:
    """What the synthesizer's handlers are given."""

    materials: Materials
    snapshots: Snapshots
    index: DocumentIndex
    cpu: Cpu
    model_of: ModelOf
    reader: Reader | None = None


def outline(deps: Deps, lease: Lease) -> Outcome:
    """Settle which sources are copies, and share the evidence out to the sections: in a later round what is new."""
    facts = deps.materials.facts(lease.run_id)
    before = deps.materials.sources(lease.run_id)
    after = with_duplicates(before, _signatures(deps, lease, before))
    sources = {s.source_id: s for s in after}
    evidence = usable(deps.materials.evidence(lease.run_id), sources, facts.request.as_of)
    stats = _stats(deps, lease, facts, after, evidence)
    number = int(lease.inputs.get("round", 0))
    seen = _seen(deps, lease, number)
    ranked = weighed(_plan(facts), evidence, sources, stats)
    fresh = [e for e in ranked if e.sha256 not in seen]
    cards = _engine(deps, lease, facts).outline(OutlineTask(_plan(facts), fresh, sources, stats, facts.request.depth))
    if number and cards.pop(SUMMARY, None) is not None:
        earlier = [deps.materials.step_result(lease.run_id, f"outline{suffix_of(n)}")["cards"] for n in range(number)]
        again = new_summary(_plan(facts), [*earlier, cards], ranked)
        cards |= {SUMMARY: again} if again else {}
    return Outcome(
        summary=f"Outlined {counted(len(cards), 'section')} from {counted(sum(map(len, cards.values())), 'passage')}.",
        result={
            "sections": list(cards),
            "cards": {section: list(ids) for section, ids in cards.items()},
            "seen": sorted(seen | {e.sha256 for e in evidence}),
        },
        sources=changed(before, after),
    )


def _seen(deps: Deps, lease: Lease, number: int) -> set[str]:
    """Return the hashes of the evidence that earlier rounds have had before them."""
    if not number:
        return set()
    return set(deps.materials.step_result(lease.run_id, f"outline{suffix_of(number - 1)}")["seen"])


def write_section(deps: Deps, lease: Lease) -> Outcome:
    """Draft the statements of one section from the evidence that the outline gave it."""
    facts = deps.materials.facts(lease.run_id)
    task = _section(deps, lease)
    written = _engine(deps, lease, facts).write(task, _brief(deps, lease, facts))
    queries = deps.materials.queries(lease.run_id)
    asked = allowed(written.wanted, queries, facts.request.source_policy.endpoints)
    return Outcome(
        summary=f"Drafted {counted(len(written.drafts), 'sentence')} for section {task.section_id}{_why(written)}.",
        result={
            "drafts": len(written.drafts),
            "cut": list(written.cut),
            "wanted": asked,
            "unwritten": written.unwritten if written.drafts else None,
        },
        drafts=written.drafts,
    )


def _why(written: Writing) -> str:
    """Return why sentences are drafted that nobody wrote, as the end of a sentence."""
    if written.unwritten is None or not written.drafts:
        return ""
    return f" in its sources' words, since the model's answer cannot be used ({written.unwritten.rstrip('.')})"


def _section(deps: Deps, lease: Lease) -> SectionTask:
    """Return the section that a step is about, with the evidence that the outline of its round gave it."""
    section_id, number = str(lease.inputs["section_id"]), int(lease.inputs.get("round", 0))
    cards = deps.materials.step_result(lease.run_id, f"outline{suffix_of(number)}")["cards"]
    evidence = {e.evidence_id: e for e in deps.materials.evidence(lease.run_id)}
    chosen = tuple(evidence[i] for i in cards.get(section_id, ()))
    return SectionTask(lease.run_id, lease.epoch, section_id, chosen, number)


def verify(deps: Deps, lease: Lease) -> Outcome:
    """Put the drafted statements of one section through the gate; if none passes, what may be said instead."""
    facts = deps.materials.facts(lease.run_id)
    number = int(lease.inputs.get("round", 0))
    drafts = deps.materials.drafts(lease.run_id, str(lease.inputs["section_id"]))
    statements = tuple(d.statement for d in drafts if round_of_draft(d) == number)
    first = _judged(deps, lease, facts, statements) if statements else Verification(())
    instead = () if any(row.emitted for row in first.rows) else _instead(deps, lease, facts, statements)
    second = _judged(deps, lease, facts, [d.statement for d in instead]) if instead else Verification(())
    rows = (*first.rows, *second.rows)
    emitted, why = sum(row.emitted for row in rows), _unwritten(first, second)
    quoted = f", in the sources' words, since of what was written {why}" if why else ""
    return Outcome(
        summary=f"Checked {counted(len(rows), 'sentence')}: {emitted} supported{quoted}.",
        result={
            "statements": len(rows),
            "emitted": emitted,
            "stopped": first.stopped or second.stopped,
            "unwritten": why,
        },
        drafts=instead,
        verdicts=rows,
    )


def _instead(deps: Deps, lease: Lease, facts: RunFacts, refused: Sequence[Statement]) -> tuple[Draft, ...]:
    """Return what may be said of a section of which nothing passed, but for what was said already."""
    if not refused:
        return ()
    told = _engine(deps, lease, facts).instead(_section(deps, lease), _brief(deps, lease, facts), len(refused))
    known = {statement.text for statement in refused}
    return tuple(draft for draft in told if draft.statement.text not in known)


def _unwritten(first: Verification, second: Verification) -> str | None:
    """Return what became of a section's first drafts where only others of it passed."""
    if not any(row.emitted for row in second.rows):
        return None
    unchecked = all(row.verdict == "unverified" for row in first.rows)
    return "nothing could be checked" if unchecked else "nothing passed the check"


def assemble(deps: Deps, lease: Lease) -> Outcome:
    """Make the report of what passed, render it, and account for what was dropped."""
    facts = deps.materials.facts(lease.run_id)
    context = context_of(deps, lease, lease.run_id, deps.materials.evidence(lease.run_id))
    made = assemble_report(_material(deps, lease, facts, context))
    status = made.report.status
    ready = {"report_version": facts.report_version + 1, "terminal_status": status}
    return Outcome(
        summary=f"Assembled the report: {counted(made.findings, 'finding')}, {counted(len(made.report.gaps), 'gap')}.",
        result={"findings": made.findings, "terminal_status": status},
        verdicts=made.unverified,
        report=made.report,
        files=_files(deps, lease, made, context),
        events=(*_dropped(made.verdicts), NewEvent(type="report_ready", payload=ready)),
    )


def _engine(deps: Deps, lease: Lease, facts: RunFacts) -> SynthesisEngine:
    return engine_of(facts.engine, deps.cpu, deps.model_of(lease), deps.reader)


def _brief(deps: Deps, lease: Lease, facts: RunFacts) -> WritingBrief:
    return WritingBrief(
        plan=_plan(facts),
        sources={s.source_id: s for s in deps.materials.sources(lease.run_id)},
        depth=facts.request.depth,
        language=facts.request.language,
        as_of=facts.request.as_of,
        told=told.sentences if (told := _told(deps, facts)) is not None else (),
    )


def _told(deps: Deps, facts: RunFacts) -> ToldReport | None:
    """Return the report of the run's job at a provider, where one has done the research."""
    if not is_managed(facts.engine):
        return None
    try:
        return ToldReport.model_validate(deps.materials.step_result(facts.run_id, MANAGED_KEY))
    except NotFound:
        return ToldReport()  # a limit has ended the run before there was one


def _stats(
    deps: Deps, lease: Lease, facts: RunFacts, sources: Sequence[Source], evidence: Sequence[Evidence]
) -> CorpusStats | None:
    """Count the terms of the questions and of the names in the evidence; None where a model weighs.

    They are counted over the documents that the run may search, else over the texts that it has read.
    """
    if facts.engine not in NO_MODEL:
        return None
    policy = facts.request.source_policy
    if not policy.uses_documents:
        read = each_snapshot(deps.snapshots, lease.owner_id, (s.snapshot_sha256 for s in sources))
        return stats_of_texts(((s.text, s.segments) for s in read), facts.limits.source_chars)
    known = [asked(q.text) for q in _plan(facts).questions]
    wanted = frozenset[str]().union(*(a.wanted | a.context for a in known))
    wanted |= {term for e in evidence for name in all_names(e.excerpt) for term in content_terms(name)}
    return deps.index.stats(lease.owner_id, wanted, None if policy.documents_all else policy.document_ids)


def _plan(facts: RunFacts) -> Plan:
    if facts.plan is None:
        raise Permanent("no_plan", "The run has no plan to write by.")
    return facts.plan


def _signatures(deps: Deps, lease: Lease, sources: Sequence[Source]) -> dict[str, Signature]:
    """Return the sketch of each source's text."""
    read = each_snapshot(deps.snapshots, lease.owner_id, (s.snapshot_sha256 for s in sources))
    known = {s.sha256: s.signature for s in read}
    return {s.source_id: known[s.snapshot_sha256] for s in sources if s.snapshot_sha256 in known}


def context_of(deps: Deps, lease: Lease, run_id: RunId, evidence: Sequence[Evidence]) -> GateContext:
    """Return what the gate needs to judge statements that rest on this evidence of a run of the lease's owner."""
    cited = each_snapshot(deps.snapshots, lease.owner_id, (e.snapshot_sha256 for e in evidence))
    texts = {s.sha256: s.text for s in cited}
    wanted = {e.source_id for e in evidence}
    sources = (s for s in deps.materials.sources(run_id) if s.source_id in wanted)
    fetches = (f for f in deps.materials.fetches(run_id) if f.source_id in wanted)
    return gate_context(evidence, texts, sources, fetches)


def _judged(deps: Deps, lease: Lease, facts: RunFacts, statements: Sequence[Statement]) -> Verification:
    """Ask the gate; where the check itself cannot be done, say so of each statement instead of losing the run."""
    cited = {i for s in statements for i in s.evidence_ids}
    evidence = tuple(e for e in deps.materials.evidence(lease.run_id) if e.evidence_id in cited)
    try:
        context = context_of(deps, lease, lease.run_id, evidence)
        return _engine(deps, lease, facts).verify(statements, context, last_try=lease.last_try)
    except CpuLimitExceeded as error:
        reason = str(error)
    except CpuTaskCrashed as error:
        if not lease.last_try:
            raise
        reason = str(error)
    return Verification(tuple(unverified(s, f"it could not be checked: {reason}") for s in statements))


def _material(deps: Deps, lease: Lease, facts: RunFacts, context: GateContext) -> Material:
    materials, request = deps.materials, facts.request
    evidence = tuple(context.evidence.values())
    sources = materials.sources(lease.run_id)
    usable_now = usable(evidence, {s.source_id: s for s in sources}, request.as_of)
    sound = sound_snapshots(context, context.evidence)
    cut_short = lease.inputs["terminal_status"] != "completed"
    view = materials.view(lease.run_id)
    written = view.of_kind(StepKind.WRITE_SECTION, StepKind.VERIFY)
    return Material(
        run_id=lease.run_id,
        question=request.objective,
        language=request.language or DEFAULT_LANGUAGE,
        as_of=request.as_of,
        engine=facts.engine,
        terminal_status="budget_exhausted" if cut_short else "completed",
        stop_reason=facts.stop_reason,
        plan=_plan(facts),
        stats=_stats(deps, lease, facts, sources, evidence),
        drafts=materials.drafts(lease.run_id),
        verdicts=materials.verdicts(lease.run_id),
        evidence=evidence,
        citable=frozenset(e.evidence_id for e in usable_now if check_exists((e.evidence_id,), context, sound).passed),
        sources=sources,
        contradictions=materials.contradictions(lease.run_id),
        searches=len(materials.queries(lease.run_id)),
        shortfalls=shortfalls_of(view, sources, materials.cut_prompts(lease.run_id)),
        usage=asdict(view.usage),
        unread=unread(view),
        unwritten=frozenset((s.subject, round_of(s.key)) for s in written if s.result.get("unwritten")),
        told=_told(deps, facts),
    )


def _files(deps: Deps, lease: Lease, made: Assembled, context: GateContext) -> tuple[ReportFile, ...]:
    """Render the report; its bundle holds the same Markdown and HTML."""
    parts = BundleInput(
        report=made.report,
        evidence=tuple(context.evidence.values()),
        sources=deps.materials.sources(lease.run_id),
        fetches=deps.materials.fetches(lease.run_id),
        verdicts=made.verdicts,
        snapshots=context.snapshots,
        run_id=lease.run_id,
        created_at=deps.materials.now(),
    )
    files = bundle_files(parts)
    return (
        ReportFile("md", "text/markdown; charset=utf-8", files["report.md"]),
        ReportFile("html", "text/html; charset=utf-8", files["report.html"]),
        ReportFile("bundle", "application/zip", write_bundle(files)),
    )


def _dropped(rows: Iterable[VerdictRow]) -> Iterable[NewEvent]:
    for row in rows:
        if not row.emitted:
            payload = {"statement_id": row.statement_id, "verdict": row.verdict}
            yield NewEvent(type="statement_dropped", payload=payload)
