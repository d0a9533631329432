"""What the extractor does with a step: parse bytes into a snapshot, extract evidence from a snapshot."""

from dataclasses import dataclass

from services.extractor.engines import engine_of
from services.extractor.engines.spans import ExtractRequest
from services.extractor.identity import with_own_canonical
from services.extractor.parsing import parse_bytes, parse_failed
from services.extractor.reading.result import DEFAULT_PDF_BACKEND, PdfBackend, reader_version
from services.extractor.rules import evidence_of, headings_of, parse_cpu_s, source_after_parse
from shared.contracts.evidence import Source
from shared.contracts.managed import ToldReport
from shared.contracts.snapshot import Parse
from shared.domain.budget import Depth
from shared.domain.engines import is_managed
from shared.domain.errors import Permanent
from shared.domain.managed import MANAGED_KEY
from shared.domain.questions import asked
from shared.domain.text import content_terms
from shared.ports.cpu import Cpu, CpuLimitExceeded, CpuLimits, CpuTaskCrashed
from shared.ports.ledger import DocumentUpdate, Lease, Outcome
from shared.ports.materials import Blobs, DocumentIndex, Materials, Snapshots
from shared.ports.model import ModelOf
from shared.ports.reader import Reader

CALLS_PER_SOURCE = {Depth.QUICK: 2, Depth.STANDARD: 3, Depth.THOROUGH: 4}
"""Calls in which a long source is shown to a model; most sources are short enough for one."""

BROWSER = "browser"
"""The tier of a page that a browser has read, and what a parse asks for that needs one."""
NO_BROWSER = "No browser is set up here to run its scripts."
PARSE_MEMORY_BYTES = 2_000_000_000
PARSE_WALL_S = 600.0
"""Wall-clock seconds of one reading: a guard against what sleeps, since how long work takes depends on the machine."""


@dataclass(frozen=True, slots=True)
class Deps:
    """What the extractor's handlers are given."""

    materials: Materials
    snapshots: Snapshots
    blobs: Blobs
    index: DocumentIndex
    cpu: Cpu
    model_of: ModelOf
    pdf_backend: PdfBackend = DEFAULT_PDF_BACKEND
    has_browser: bool = False
    """Whether a page that needs its scripts is handed to a browser."""
    reader: Reader | None = None
    """Who finds what answers, in the engines without a model; None: rules on words alone."""


def parse(deps: Deps, lease: Lease) -> Outcome:
    """Read bytes into a snapshot, unless the same bytes were read before; then note what the source or document is."""
    content_sha256 = str(lease.inputs["content_sha256"])
    name = str(lease.inputs["name"])
    parsed = deps.snapshots.parsed(lease.owner_id, content_sha256, reader_version(deps.pdf_backend))
    if parsed is None:
        parsed = _read(deps, lease, content_sha256, name)
    if "document_id" in lease.inputs:
        deps.blobs.drop(lease.owner_id, content_sha256)
        return _ingested(str(lease.inputs["document_id"]), name, parsed)
    facts = deps.materials.facts(lease.run_id)
    before = deps.materials.source(lease.run_id, str(lease.inputs["source_id"]))
    source = with_own_canonical(source_after_parse(before, parsed), parsed)
    if source.kind == "web":
        deps.blobs.drop(lease.owner_id, content_sha256)
    if parsed.snapshot_sha256 is None:
        return _unreadable(deps, lease, source, parsed)
    if not facts.request.source_policy.published.includes(source.published_at):
        return _untimely(name, source)
    following = {
        "source_id": source.source_id,
        "snapshot_sha256": parsed.snapshot_sha256,
        "name": name,
        "query": lease.inputs["query"],
    }
    chars = min(parsed.chars, facts.limits.source_chars)
    return Outcome(
        summary=f"Parsed {name}: {parsed.chars:,} characters.",
        result={"chars": chars, "next": following},
        sources=(source,),
    )


def parse_limits(size: int) -> CpuLimits:
    """Return what reading a file of so many bytes may take."""
    return CpuLimits(wall_s=PARSE_WALL_S, cpu_s=parse_cpu_s(size), memory_bytes=PARSE_MEMORY_BYTES)


def _read(deps: Deps, lease: Lease, content_sha256: str, name: str) -> Parse:
    """Read the bytes in a limited subprocess and keep what came of it.

    That a limit of time or memory ended it, or a crash, is said of this try alone: it depends on the machine and what
    else it did, and whoever reads the same bytes next may have better luck.
    """
    data = deps.blobs.get(lease.owner_id, content_sha256)
    if data is None:
        raise Permanent("bytes_gone", f"The bytes of {name} are no longer here: upload the document again.")
    try:
        hints = (lease.inputs.get("content_type"), lease.inputs.get("url"))
        more = (deps.pdf_backend, _fetched_on(deps, lease))
        limits = parse_limits(len(data))
        parsed, snapshot = deps.cpu.run(parse_bytes, data, name, *hints, *more, limits=limits)
    except CpuLimitExceeded as error:
        return parse_failed(content_sha256, f"Reading it went past its limits: {error}", deps.pdf_backend)
    except CpuTaskCrashed as error:
        if not lease.last_try:
            raise
        return parse_failed(content_sha256, f"Reading it broke each time: {error}", deps.pdf_backend)
    if snapshot is None:
        deps.snapshots.put_failed(lease.owner_id, parsed)
    else:
        deps.snapshots.put(lease.owner_id, snapshot, parsed)
    return parsed


def _fetched_on(deps: Deps, lease: Lease) -> str | None:
    """Return the day on which the step's page was fetched: no date that it declares can lie after it."""
    if "source_id" not in lease.inputs:
        return None
    at = deps.materials.source(lease.run_id, str(lease.inputs["source_id"])).retrieved_at
    return at.date().isoformat() if at is not None else None


def _claims(deps: Deps, lease: Lease, source: Source) -> tuple[tuple[str, str], ...]:
    """Return the sentences of the provider's report that are said to come from a source."""
    told = ToldReport.model_validate(deps.materials.step_result(lease.run_id, MANAGED_KEY))
    return tuple((s.question_id, s.text) for s in told.sentences if source.source_id in s.source_ids)


def _unreadable(deps: Deps, lease: Lease, source: Source, parsed: Parse) -> Outcome:
    """End a source that cannot be read; one that needs its scripts goes to a browser first, if there is one."""
    summary = f"{lease.inputs['name']} cannot be read: {parsed.reason}"
    if source.kind != "web" or parsed.status != "thin_content" or lease.inputs.get("tier") == BROWSER:
        return Outcome(summary=summary, sources=(source,))
    if not deps.has_browser:
        told = f"{parsed.reason or ''} {NO_BROWSER}".strip()
        return Outcome(summary=f"{summary} {NO_BROWSER}", sources=(source.model_copy(update={"reason": told}),))
    following = {"source_id": source.source_id, "url": source.final_url or source.url, "query": lease.inputs["query"]}
    return Outcome(summary=f"{summary} A browser is to read it.", result={BROWSER: following}, sources=(source,))


def _untimely(name: str, source: Source) -> Outcome:
    reason = f"It was published on {source.published_at}, outside the time that the run's policy allows."
    left_out = source.model_copy(update={"status": "blocked", "reason": reason})
    return Outcome(summary=f"{name} is left out. {reason}", sources=(left_out,))


def _ingested(document_id: str, name: str, parsed: Parse) -> Outcome:
    readable = parsed.snapshot_sha256 is not None
    summary = f"Took in {name}." if readable else f"{name} cannot be read: {parsed.reason}"
    return Outcome(
        summary=summary, result={"readable": readable}, document=DocumentUpdate(document_id=document_id, parse=parsed)
    )


def extract(deps: Deps, lease: Lease) -> Outcome:
    """Find the spans of a snapshot that bear on the plan's questions."""
    facts = deps.materials.facts(lease.run_id)
    source = deps.materials.source(lease.run_id, str(lease.inputs["source_id"]))
    snapshot = deps.snapshots.get(lease.owner_id, str(lease.inputs["snapshot_sha256"]))
    if facts.plan is None or snapshot is None:
        raise Permanent("nothing_to_extract", "The plan or the snapshot of the source is gone.")
    questions = tuple((q.id, q.text) for q in facts.plan.questions)
    policy = facts.request.source_policy
    known = [asked(text) for _, text in questions]
    query = str(lease.inputs["query"])
    terms = frozenset(content_terms(query)).union(*(q.wanted | q.context for q in known))
    request = ExtractRequest(
        title=source.title or "",
        text=snapshot.text,
        segments=snapshot.segments,
        headings=headings_of(snapshot),
        questions=questions,
        query=query,
        stats=deps.index.stats(lease.owner_id, terms, None if policy.documents_all else policy.document_ids),
        max_chars=facts.limits.source_chars,
        max_calls=CALLS_PER_SOURCE[facts.request.depth],
        claims=_claims(deps, lease, source) if is_managed(facts.engine) else (),
    )
    engine = engine_of(facts.engine, deps.cpu, deps.model_of(lease), deps.reader)
    picks = engine.extract(request)
    name = str(lease.inputs["name"]) if source.kind == "document" else None
    evidence = evidence_of(picks, snapshot, source, lease.step_id, name)
    count = len(evidence)
    looked_at = min(len(snapshot.text), engine.most_chars(request))
    cut = len(snapshot.text) > looked_at
    told = f" Of its {len(snapshot.text):,} characters the {looked_at:,} that rank best were looked at." if cut else ""
    return Outcome(
        summary=f"Found {count} piece{'s' * (count != 1)} of evidence in {source.title or source.url}.{told}",
        result={
            "evidence": count,
            "chars": len(snapshot.text),
            "looked_at": looked_at,
            "truncated": snapshot.truncated,
        },
        evidence=evidence,
    )
