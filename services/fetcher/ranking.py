"""Ranking what a search found: by the words of the query, or by a reranker whose outage is told and does no harm."""

from collections.abc import Sequence
from dataclasses import dataclass

from services.fetcher.asking import LONGEST_TURN_S, Caller
from services.fetcher.deps import RankingSeat
from services.fetcher.search.choosing import Chosen, Scores, local_scores
from services.fetcher.search.reranking import MOST_TEXTS
from services.fetcher.visits import BUSY
from shared.contracts.evidence import Fetch
from shared.domain.errors import RateLimited, StepError

LOCAL = "leadline"
PROVIDERS_ORDER = "providers"


@dataclass(frozen=True, slots=True)
class Ranked:
    """Scores by canonical URL, None for the providers' own order; who gave them; why a reranker did not."""

    scores: Scores | None
    by: str
    failure: str | None = None
    rows: tuple[Fetch, ...] = ()

    @classmethod
    def locally(cls, found: Sequence[Chosen], query: str) -> "Ranked":
        """Rank by the words of title and snippet."""
        return cls(local_scores(found, query), LOCAL)


def rank(caller: Caller, seat: RankingSeat, query: str, found: Sequence[Chosen]) -> Ranked:
    """Have hits ranked for the query that found them. The reranker is asked once, and nothing it answers ends a search.

    Raises `RateLimited` while it is being asked by others.
    """
    kept = caller.find("rerank")
    if kept is not None:
        row = Fetch.model_validate(kept["row"])
        return Ranked(kept["scores"], kept["by"], kept["failure"], (row,))
    with caller:
        return _ask(caller, seat, query, found)


def _ask(caller: Caller, seat: RankingSeat, query: str, found: Sequence[Chosen]) -> Ranked:
    texts = [c.text for c in found[:MOST_TEXTS]]
    request, row_of, fetched = seat.reranker.request(query, texts), caller.row(1), None
    try:
        fetched = seat.fetch(request, caller.gate(0.0, lambda: caller.find("rerank") is not None))
        scores = seat.reranker.scores(fetched, len(texts))
    except StepError as error:
        if isinstance(error, RateLimited) and error.code == BUSY and error.after_s <= LONGEST_TURN_S:
            raise
        caller.note(error)
        row = row_of.of(request, fetched, error.detail, error.code)
        result = Ranked(None, PROVIDERS_ORDER, error.detail, (row,))
    else:
        caller.note(None)
        row = row_of.of(request, fetched, f"{seat.reranker.label} ranked {len(texts)}.")
        named = {c.key: score for c, score in zip(found, scores, strict=False)}
        result = Ranked(named, seat.reranker.name, None, (row,))
    kept = {"row": row.model_dump(mode="json"), "scores": result.scores, "by": result.by, "failure": result.failure}
    caller.keep(kept, "rerank")
    return result
