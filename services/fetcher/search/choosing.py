"""Which of the providers' hits become candidates, and in what order: policy, a floor for each provider, then rank."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from services.fetcher.search.contract import Hit
from shared.contracts.runs import SourcePolicy
from shared.domain.errors import NotAllowed
from shared.domain.rank import bm25, stats_of
from shared.domain.text import content_terms
from shared.domain.urls import Url, canonical_url, parse_url, within

Item = TypeVar("Item")

FLOOR = 3
"""How many of its best hits every provider gets in, as far as there is room."""

Scores = Mapping[str, float]
"""By canonical URL; higher is better."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A hit with its address as read."""

    url: Url
    hit: Hit

    @property
    def key(self) -> str:
        """The canonical URL."""
        return canonical_url(self.url)

    @property
    def text(self) -> str:
        """What the hit is ranked by."""
        return f"{self.hit.title}\n{self.hit.snippet}".strip()


def allowed(hits: Iterable[Hit], policy: SourcePolicy) -> tuple[Chosen, ...]:
    """Return the hits that the policy allows, each page once, in their order."""
    pages: dict[str, Chosen] = {}
    for hit in hits:
        url = _readable(hit.url)
        if url is not None and policy.allows_host(url.host) and policy.published.includes(hit.published_at):
            pages.setdefault(canonical_url(url), Chosen(url, hit))
    return tuple(pages.values())


def local_scores(found: Sequence[Chosen], query: str) -> Scores:
    """Return the BM25 of title and snippet for the query, with the weights of the words among these hits."""
    texts = [content_terms(c.text) for c in found]
    stats, wanted = stats_of(texts), content_terms(query)
    return {c.key: bm25(wanted, terms, stats) for c, terms in zip(found, texts, strict=True)}


def choose(
    lanes: Sequence[Iterable[Hit]], policy: SourcePolicy, most: int, scores: Scores | None = None
) -> tuple[Chosen, ...]:
    """Return at most ``most`` hits that the policy allows, each page once, the best first.

    A lane is what one provider found. Its `FLOOR` best get in before the rest, lane by lane. Preferred domains come
    before all others; hits are ordered by their score, among equals and without scores by the providers' own order,
    one lane after the other (round-robin).
    """
    kept = [allowed(lane, policy) for lane in lanes]
    pages: dict[str, Chosen] = {}
    for found in _round_robin(kept):
        known = pages.get(found.key)
        pages[found.key] = found if known is None else _completed(known, found)
    place = {key: n for n, key in enumerate(pages)}
    preferred = policy.web.domains if policy.web_mode == "prefer_domains" else ()

    def rank(key: str) -> tuple[bool, float, int]:
        score = scores.get(key, 0.0) if scores is not None else 0.0
        return not within(pages[key].url.host, preferred), -score, place[key]

    floors = [sorted((c.key for c in lane), key=rank)[:FLOOR] for lane in kept]
    first = dict.fromkeys(_round_robin(floors))
    chosen = [*first, *(key for key in sorted(pages, key=rank) if key not in first)][:most]
    return tuple(pages[key] for key in sorted(chosen, key=rank))


def _completed(known: Chosen, other: Chosen) -> Chosen:
    """Return a hit with what only another provider told of the same page."""
    hit, more = known.hit, other.hit
    told = replace(
        hit,
        published_at=hit.published_at or more.published_at,
        author=hit.author or more.author,
        publisher=hit.publisher or more.publisher,
    )
    return Chosen(known.url, told)


def _round_robin(lanes: Sequence[Sequence[Item]]) -> list[Item]:
    longest = max(map(len, lanes), default=0)
    return [lane[n] for n in range(longest) for lane in lanes if n < len(lane)]


def _readable(text: str) -> Url | None:
    try:
        return parse_url(text)
    except NotAllowed:
        return None
