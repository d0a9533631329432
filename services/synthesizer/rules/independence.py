"""Copies and independence: which sources are aliases of one text, and which count as one voice."""

from collections.abc import Hashable, Iterable, Mapping, Sequence

from shared.contracts.evidence import Source
from shared.domain.dedupe import Signature, clusters
from shared.guards.sites import site_key

_READ = frozenset({"fetched", "duplicate"})


def with_duplicates(sources: Sequence[Source], signatures: Mapping[str, Signature]) -> tuple[Source, ...]:
    """Return all sources with `duplicate_of`, `independence_cluster` and the status "duplicate" brought up to date.

    ``signatures`` maps source ids to the sketches of their texts. Sources with nearly the same text are copies: one of
    them stands for all, and copies and pages of one publisher or site share an independence cluster. The order of the
    sources matters only where nothing else tells copies apart.
    """
    read = [s for s in sources if s.status in _READ and s.source_id in signatures]
    copies = clusters({s.source_id: signatures[s.source_id] for s in read})
    leaders = _leaders(sources, read, copies)
    voices = _voices(sources, read, copies)
    return tuple(
        _updated(s, leaders[copies[s.source_id]], voices[s.source_id]) if s.source_id in copies else s for s in sources
    )


def changed(before: Sequence[Source], after: Sequence[Source]) -> tuple[Source, ...]:
    """Return the sources of ``after`` that differ from those at the same place of ``before``."""
    return tuple(new for old, new in zip(before, after, strict=True) if old != new)


def _leaders(sources: Sequence[Source], read: Sequence[Source], copies: Mapping[str, str]) -> dict[str, str]:
    """Return the source that stands for each cluster of copies.

    One that names another page as its canonical one comes last; then the earliest published, then the first found.
    """
    urls = {url: s.source_id for s in sources for url in (s.url, s.final_url) if url}
    position = {s.source_id: n for n, s in enumerate(sources)}

    def order(source: Source) -> tuple[bool, str, int]:
        elsewhere = urls.get(source.canonical_url, source.source_id) != source.source_id
        return elsewhere, source.published_at or "9999", position[source.source_id]

    best: dict[str, Source] = {}
    for source in read:
        cluster = copies[source.source_id]
        best[cluster] = min(best.get(cluster, source), source, key=order)
    return {cluster: source.source_id for cluster, source in best.items()}


def _voices(sources: Sequence[Source], read: Sequence[Source], copies: Mapping[str, str]) -> dict[str, str]:
    """Return the independence cluster of each source that was read, named after its first member."""
    group = {s.source_id: s.source_id for s in read}

    def root(source_id: str) -> str:
        while group[source_id] != source_id:
            source_id = group[source_id]
        return source_id

    position = {s.source_id: n for n, s in enumerate(sources)}
    for members in _together(read, copies):
        roots = sorted({root(m) for m in members}, key=position.__getitem__)
        for other in roots[1:]:
            group[other] = roots[0]
    return {s.source_id: root(s.source_id) for s in read}


def _together(read: Sequence[Source], copies: Mapping[str, str]) -> Iterable[list[str]]:
    """Yield the groups of sources that count as one: copies, one publisher, one site."""
    groups: dict[Hashable, list[str]] = {}
    for source in read:
        groups.setdefault(("copy", copies[source.source_id]), []).append(source.source_id)
        publisher = " ".join((source.publisher or "").split()).casefold()
        site = site_key(source.domain) if source.domain else None
        for kind, name in (("publisher", publisher), ("site", site)):
            if name:
                groups.setdefault((kind, name), []).append(source.source_id)
    return groups.values()


def _updated(source: Source, leader: str, voice: str) -> Source:
    alias = leader != source.source_id
    return source.model_copy(
        update={
            "status": "duplicate" if alias else "fetched",
            "duplicate_of": leader if alias else None,
            "independence_cluster": voice,
        }
    )
