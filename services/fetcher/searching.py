"""Searching the web for a step: one provider asked politely, its answer kept, the best hits as candidates."""

from typing import Any, cast

from services.fetcher.deps import Deps
from services.fetcher.search.choosing import choose
from services.fetcher.search.contract import Hit, SearchQuery, WebEndpoint
from services.fetcher.visits import SiteVisit
from shared.contracts.candidates import page_candidate
from shared.contracts.evidence import Source
from shared.domain.errors import Permanent, Transient
from shared.ports.ledger import Lease
from shared.ports.materials import RunFacts
from shared.ports.sites import Visitor


def search_web(deps: Deps, lease: Lease, facts: RunFacts) -> dict[str, Any]:
    """Return what the provider found for the step's query, as a receipt keeps it; errors say what to do."""
    if deps.desk is None:
        raise Permanent("no_search_provider", "No search provider is configured: set SEARXNG_URL.")
    provider, policy = deps.desk.provider, facts.request.source_policy
    query = SearchQuery(
        text=str(lease.inputs["query"]),
        endpoint=cast(WebEndpoint, lease.inputs["endpoint"]),
        domains=policy.web.domains if policy.web_mode == "only_domains" else (),
        language=facts.request.language,
    )
    gate = SiteVisit(deps.web, Visitor(lease.step_id, lease.token), slot=f"search:{provider.name}")
    try:
        fetched = deps.desk.fetch(provider.request(query), gate)
    except Transient as error:
        raise Transient("search_unreachable", f"{error.detail} {provider.advice}") from error
    hits = provider.hits(fetched)
    return {"hits": [{"url": h.url, "title": h.title, "snippet": h.snippet, "published": h.published_at} for h in hits]}


def pages_found(answer: Any, lease: Lease, facts: RunFacts) -> tuple[Source, ...]:
    """Return the candidates among the hits of an answer that `search_web` gave, the best first."""
    hits = [Hit(h["url"], h["title"], h["snippet"], h["published"]) for h in answer["hits"]]
    query, most = str(lease.inputs["query"]), int(lease.inputs["results"])
    chosen = choose(hits, query, facts.request.source_policy, most)
    return tuple(page_candidate(lease.run_id, c.url, c.hit.title or None, c.hit.published_at) for c in chosen)
