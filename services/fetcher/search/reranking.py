"""Rerankers: services that score texts for a query better than their words alone can. All three speak nearly alike.

Cohere: https://docs.cohere.com/reference/rerank, Jina: https://jina.ai/reranker, Voyage:
https://docs.voyageai.com/reference/reranker-api. Each takes a model, a query and documents and gives, for each index, a
relevance from 0 to 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from services.fetcher.net.messages import Fetched, FetchRequest
from services.fetcher.search.answers import at, rows
from services.fetcher.search.api import Service
from services.fetcher.search.contract import Account, QueryLimits
from services.fetcher.search.fitting import fitted
from shared.domain.urls import Url, parse_url

MOST_TEXTS = 100
TEXT_CHARS = 2500
_QUERY = QueryLimits(1000, escaped=0)


@dataclass(frozen=True, slots=True)
class _Dialect:
    """How one of the services is asked: path and model, what the wanted number is called, where the scores stand."""

    path: str
    model: str
    most: str
    scores: str


_DIALECTS = {
    "cohere": _Dialect("/v2/rerank", "rerank-v3.5", "top_n", "results"),
    "jina": _Dialect("/v1/rerank", "jina-reranker-v2-base-multilingual", "top_n", "results"),
    "voyage": _Dialect("/v1/rerank", "rerank-2.5", "top_k", "data"),
}


class Reranker(Service):
    """A reranker by its name in `shared.domain.search.RERANKERS`; it does no I/O."""

    messages = (("message",), ("detail",), ("error", "message"))

    def __init__(self, name: str, account: Account) -> None:
        self.name = name
        super().__init__(account)
        self._dialect = _DIALECTS[name]

    @property
    def endpoint(self) -> Url:
        """The address at which it is asked."""
        return parse_url(self._base_url)

    def request(self, query: str, texts: Sequence[str]) -> FetchRequest:
        """Return the request for the scores of at most `MOST_TEXTS` texts."""
        dialect = self._dialect
        asked = {
            "model": dialect.model,
            "query": fitted(query, _QUERY),
            "documents": [text[:TEXT_CHARS] for text in texts],
            dialect.most: len(texts),
        }
        return self.post(dialect.path, asked, {"Authorization": f"Bearer {self._account.key}"})

    def scores(self, fetched: Fetched, count: int) -> list[float]:
        """Return the score of each text; raise a `StepError` when one has none."""
        answer = self.object_in(fetched)
        found: dict[int, float] = {}
        for row in rows(at(answer, self._dialect.scores)):
            place, score = row.get("index"), row.get("relevance_score")
            if isinstance(place, int) and isinstance(score, int | float):
                found[place] = float(score)
        if any(place not in found for place in range(count)):
            raise self.troubles.strange("scores that do not fit the texts")
        return [found[place] for place in range(count)]
