"""First check: every citation leads to words that stand, byte for byte, in a text that this run fetched."""

from collections.abc import Iterable, Iterator

from services.synthesizer.gate.context import Check, GateContext
from shared.contracts.evidence import Evidence, Fetch, Source
from shared.domain.excerpts import evidence_sha256
from shared.domain.ids import sha256_hex

_READ = frozenset({"fetched", "duplicate"})


def sound_snapshots(context: GateContext, evidence_ids: Iterable[str]) -> frozenset[str]:
    """Return the snapshots of the evidence whose text still has the sha256 that names it."""
    cited = {context.evidence[i].snapshot_sha256 for i in evidence_ids if i in context.evidence}
    return frozenset(s for s in cited if s in context.snapshots and sha256_hex(context.snapshots[s].encode()) == s)


def check_exists(evidence_ids: Iterable[str], context: GateContext, sound: frozenset[str]) -> Check:
    """Check each piece of evidence; ``sound`` are the snapshots that `sound_snapshots` found unaltered.

    A snapshot that is not kept any more makes the outcome "unresolvable"; everything else that is wrong, "fail".
    """
    wrong: list[str] = []
    gone: list[str] = []
    for evidence_id in evidence_ids:
        evidence = context.evidence.get(evidence_id)
        if evidence is None:
            wrong.append(f"{evidence_id} is no evidence of this run")
        elif evidence.snapshot_sha256 not in context.snapshots:
            gone.append(f"{evidence_id}: its snapshot is not kept any more")
        else:
            wrong += (f"{evidence_id}: {fault}" for fault in evidence_faults(evidence, context, sound))
    if wrong:
        return Check("fail", tuple(wrong))
    return Check("unresolvable", tuple(gone)) if gone else Check("pass")


def evidence_faults(evidence: Evidence, context: GateContext, sound: frozenset[str]) -> Iterator[str]:
    """Yield what is wrong with one piece of evidence whose snapshot is there."""
    yield from span_faults(evidence, context.snapshots[evidence.snapshot_sha256])
    if evidence.snapshot_sha256 not in sound:
        yield "its snapshot was altered"
    source = context.sources.get(evidence.source_id)
    if source is None:
        yield "its source is not one of this run"
    else:
        yield from _source_faults(evidence, source, context.fetches.get(source.source_id, ()))


def span_faults(evidence: Evidence, text: str) -> Iterator[str]:
    """Yield where a piece of evidence does not agree with the text that it was cut from, or with itself."""
    if not 0 <= evidence.start < evidence.end <= len(text) or text[evidence.start : evidence.end] != evidence.excerpt:
        yield "its excerpt does not stand at its offsets"
    place = (evidence.locator.snapshot_sha256, evidence.locator.start, evidence.locator.end)
    if place != (evidence.snapshot_sha256, evidence.start, evidence.end):
        yield "its locator names another place"
    expected = evidence_sha256(evidence.snapshot_sha256, evidence.start, evidence.end, evidence.excerpt)
    if evidence.sha256 != expected:
        yield "its sha256 is not that of its place and words"


def _source_faults(evidence: Evidence, source: Source, fetches: tuple[Fetch, ...]) -> Iterator[str]:
    """Yield why the source does not count as fetched by this run."""
    if source.status not in _READ or source.snapshot_sha256 != evidence.snapshot_sha256:
        yield "its source was not read as this snapshot"
    if source.content_sha256 is None or not any(delivered(fetch, source.content_sha256) for fetch in fetches):
        yield "no fetch of this run delivered its source"


def delivered(fetch: Fetch, content_sha256: str) -> bool:
    """Tell whether a fetch brought exactly these bytes and was not refused; files have no HTTP status."""
    answered = fetch.status is None or 200 <= fetch.status < 300
    return fetch.content_sha256 == content_sha256 and fetch.refusal is None and answered
