"""Which of a provider's hits become candidates, and in what order: policy first, then the words of the query."""

from collections.abc import Iterable
from dataclasses import dataclass

from services.fetcher.search.contract import Hit
from shared.contracts.runs import SourcePolicy
from shared.domain.errors import NotAllowed
from shared.domain.rank import bm25, stats_of
from shared.domain.text import content_terms
from shared.domain.urls import Url, canonical_url, parse_url, within


@dataclass(frozen=True, slots=True)
class Chosen:
    """A hit with its address as read."""

    url: Url
    hit: Hit


def choose(hits: Iterable[Hit], query: str, policy: SourcePolicy, most: int) -> tuple[Chosen, ...]:
    """Return at most ``most`` hits that the policy allows, each page once, the best for the query first.

    Preferred domains come before all others. Hits are scored by the words of title and snippet (BM25); among equals the
    provider's order stands.
    """
    pages: dict[str, Chosen] = {}
    for hit in hits:
        url = _readable(hit.url)
        if url is not None and policy.allows_host(url.host) and policy.published.includes(hit.published_at):
            pages.setdefault(canonical_url(url), Chosen(url, hit))
    found = list(pages.values())
    texts = [content_terms(f"{c.hit.title} {c.hit.snippet}") for c in found]
    stats, wanted = stats_of(texts), content_terms(query)
    scores = [bm25(wanted, terms, stats) for terms in texts]
    preferred = policy.web.domains if policy.web_mode == "prefer_domains" else ()
    order = sorted(range(len(found)), key=lambda n: (not within(found[n].url.host, preferred), -scores[n], n))
    return tuple(found[n] for n in order[:most])


def _readable(text: str) -> Url | None:
    try:
        return parse_url(text)
    except NotAllowed:
        return None
