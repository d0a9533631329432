"""Searching the web for a step: the providers of its endpoint asked in turn, the best hits as candidates."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, cast

from services.fetcher.asking import Asked, Asking, Caller, Watch, hits_of
from services.fetcher.deps import Deps, SearchSeat
from services.fetcher.found import Found
from services.fetcher.ranking import Ranked, rank
from services.fetcher.search.choosing import Chosen, allowed, choose
from services.fetcher.search.contract import Hit, SearchQuery, WebEndpoint
from services.fetcher.search.fitting import plain_words, telling_words
from services.fetcher.visits import BUSY
from shared.contracts.candidates import page_candidate
from shared.contracts.evidence import Fetch, Source
from shared.contracts.runs import SourcePolicy
from shared.domain.errors import Permanent, RateLimited, StepError, Transient
from shared.domain.search import PROVIDERS
from shared.ports.ledger import Lease
from shared.ports.materials import RunFacts

MOST_PAGES = 2
"""Further pages are asked for only when Leadline's own filters left too little of the first."""

LEAST_RESULTS = 20
"""How many results are asked for at least: ranking is worth the more, the more there is to choose from."""

LONGEST_REST_S = 600.0
"""A provider that asks for a longer rest is not waited for."""


def search_web(deps: Deps, lease: Lease, facts: RunFacts) -> dict[str, Any]:
    """Return what the providers found for the step's query, as a receipt keeps it.

    A provider that fails is told in the answer while another one answers; else its error is raised.
    """
    if deps.desk is None:
        detail = "No search provider is configured: set SEARXNG_URL, the key of one, or LEADLINE_SEARCH."
        raise Permanent("no_search_provider", detail)
    policy = facts.request.source_policy
    query = query_of(lease, facts)
    seats = [seat for seat in deps.desk.serving(query.endpoint) if seat.provider.covers(query)]
    if not seats:
        raise Permanent("no_search_provider", "No configured search provider has anything on the domains allowed.")
    watch = Watch()
    callers = [Caller(deps, lease, seat.provider.name, watch) for seat in seats]
    enough = _Enough(policy, int(lease.inputs["results"]))
    asked = [_ask(Asking(caller, seat), seat, query, enough) for caller, seat in zip(callers, seats, strict=True)]
    error = _error_of(asked)
    if error is not None:
        error.log = tuple(row for a in asked for row in a.rows)
        raise error
    found = _distinct([a.hits for a in asked], policy)
    ranking = deps.desk.ranking
    if ranking is None or len(found) < 2:
        return _answer(query, asked, Ranked.locally(found, query.text))
    ranked = rank(Caller(deps, lease, ranking.reranker.name, watch), ranking, query.text, found)
    return _answer(query, asked, ranked)


def _answer(query: SearchQuery, asked: Sequence[Asked], ranked: Ranked) -> dict[str, Any]:
    answered = [a for a in asked if a.error is None]
    errors = [(a.provider, a.error) for a in asked if a.error is not None]
    rows = (*(row for a in asked for row in a.rows), *ranked.rows)
    return {
        "hits": [{**asdict(h), "published": h.published_at, "provider": a.provider} for a in asked for h in a.hits],
        "asked": [a.provider for a in answered],
        "failed": {name: {"code": error.code, "detail": error.detail} for name, error in errors},
        "shortened": {a.provider: a.words for a in answered if _is_cut(query.text, a.words)},
        "ranked_by": ranked.by,
        "not_ranked": ranked.failure,
        "scores": dict(ranked.scores) if ranked.scores is not None else None,
        "rows": [row.model_dump(mode="json") for row in rows],
    }


def _is_cut(text: str, sent: str) -> bool:
    """Tell whether words that say what a query is about were not sent."""
    return not set(telling_words(text)) <= set(plain_words(sent).split())


def query_of(lease: Lease, facts: RunFacts) -> SearchQuery:
    """Return what the providers are asked for: the step's query within the run's policy."""
    policy = facts.request.source_policy
    return SearchQuery(
        text=" ".join(str(lease.inputs["query"]).split()),
        endpoint=cast(WebEndpoint, lease.inputs["endpoint"]),
        domains=policy.web.domains if policy.web_mode == "only_domains" else (),
        language=facts.request.language,
        excluded=policy.web.excluded_domains,
        since=policy.published.since,
        until=policy.published.to,
        results=max(int(lease.inputs["results"]), LEAST_RESULTS),
    )


def pages_found(answer: Any, lease: Lease, facts: RunFacts) -> Found:
    """Return the candidates among the hits of an answer that `search_web` gave, the best first."""
    policy, most = facts.request.source_policy, int(lease.inputs["results"])
    lanes = lanes_of(answer)
    chosen = choose(list(lanes.values()), policy, most, _scores(answer, lanes, lease, policy))
    keys = {c.key for c in chosen}
    kept = {name: sum(c.key in keys for c in allowed(lane, policy)) for name, lane in lanes.items()}
    told = {
        "providers": {name: {"found": len(lane), "kept": kept[name]} for name, lane in lanes.items()},
        "failed": answer.get("failed", {}),
        "shortened": answer.get("shortened", {}),
        "ranked_by": answer.get("ranked_by", "leadline"),
    }
    rows = tuple(Fetch.model_validate(row) for row in answer.get("rows", ()))
    return Found(tuple(_candidate(lease, c) for c in chosen), told, tuple(_remarks(answer)), rows)


def lanes_of(answer: Any) -> dict[str, tuple[Hit, ...]]:
    """Return the hits of an answer by provider, in the order in which the providers were asked."""
    lanes: dict[str, list[dict[str, Any]]] = {name: [] for name in answer.get("asked", ())}
    for hit in answer["hits"]:
        lanes.setdefault(hit.get("provider", ""), []).append(hit)
    return {name: hits_of(hits) for name, hits in lanes.items()}


@dataclass(frozen=True, slots=True)
class _Enough:
    """When no further page is needed: nothing was filtered out, or as much as is wanted is left."""

    policy: SourcePolicy
    wanted: int

    def of(self, hits: tuple[Hit, ...]) -> bool:
        """Tell whether these hits are enough."""
        left = len(allowed(hits, self.policy))
        return left == len(hits) or left >= self.wanted


def _ask(asking: Asking, seat: SearchSeat, query: SearchQuery, enough: _Enough) -> Asked:
    """Ask a provider; ask for a further page while our own filters leave too little of a page that had results."""
    total = None
    for number in range(1, min(seat.provider.pages, MOST_PAGES) + 1):
        got = asking.page(replace(query, page=number))
        if total is not None and got.error is not None and got.error.code != BUSY:
            return _joined(total, got)  # what the first page gave is enough
        total = got if total is None else _joined(total, got)
        if got.error is not None or not got.hits or enough.of(total.hits):
            return total
    if total is None:
        raise AssertionError("every provider has a page")
    return total


def _joined(first: Asked, more: Asked) -> Asked:
    rows = tuple({row.fetch_id: row for row in (*first.rows, *more.rows)}.values())
    busy = more.error if more.error is not None and more.error.code == BUSY else None
    return Asked(first.provider, (*first.hits, *more.hits), first.words, rows, busy)


def _error_of(asked: Sequence[Asked]) -> StepError | None:
    """Return `RateLimited` while the turn at a provider has not come, and an error when no provider answered."""
    errors = [a.error for a in asked if a.error is not None]
    busy = [e for e in errors if isinstance(e, RateLimited) and e.code == BUSY]
    if busy:
        return min(busy, key=lambda e: e.after_s)
    if len(errors) < len(asked):
        return None
    waits = [e for e in errors if isinstance(e, RateLimited) and e.after_s <= LONGEST_REST_S]
    soon = [e for e in errors if isinstance(e, Transient)]
    if waits:
        return min(waits, key=lambda e: e.after_s)
    if soon:
        return soon[0]
    return Permanent(errors[0].code, " ".join(error.detail for error in errors))


def _distinct(lanes: Sequence[Sequence[Hit]], policy: SourcePolicy) -> tuple[Chosen, ...]:
    return allowed((hit for lane in lanes for hit in lane), policy)


def _scores(
    answer: Any, lanes: Mapping[str, Sequence[Hit]], lease: Lease, policy: SourcePolicy
) -> Mapping[str, float] | None:
    """Return the scores of an answer; answers of earlier versions have none, so they are ranked here."""
    if "ranked_by" in answer:
        kept: Mapping[str, float] | None = answer["scores"]
        return kept
    found = _distinct(list(lanes.values()), policy)
    return Ranked.locally(found, str(lease.inputs["query"])).scores


def _candidate(lease: Lease, chosen: Chosen) -> Source:
    hit = chosen.hit
    source = page_candidate(lease.run_id, chosen.url, hit.title or None, hit.published_at)
    return source.model_copy(update={"author": hit.author, "publisher": hit.publisher})


def _remarks(answer: Any) -> list[str]:
    """Return sentences about what went otherwise than planned."""
    failed = [
        f"{PROVIDERS[name].label} gave no answer ({error['code']})." for name, error in answer.get("failed", {}).items()
    ]
    if answer.get("not_ranked"):
        failed.append(f"In the providers' own order: {answer['not_ranked']}")
    return failed
