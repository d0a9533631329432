"""Exa: search by meaning, paid by credit.

See https://docs.exa.ai/reference/search. Domains and dates are its own filters; there is one page. Errors carry a tag,
such as INVALID_API_KEY or NO_MORE_CREDITS, beside a status that says the same.
"""

from services.fetcher.net.messages import Fetched, FetchRequest
from services.fetcher.search.answers import TITLE_CHARS, at, date, name, rows, text
from services.fetcher.search.api import SearchApi
from services.fetcher.search.contract import Hit, HitKind, QueryLimits, SearchQuery, WebEndpoint

MOST_RESULTS = 25
_TEXT_CHARS = 800
_CATEGORIES: dict[WebEndpoint, str] = {"news": "news", "scholar": "research paper"}
_KINDS: dict[WebEndpoint, HitKind] = {"web": "page", "news": "news", "scholar": "paper"}


class Exa(SearchApi):
    """See `services.fetcher.search.contract.Provider`."""

    name = "exa"
    pages = 1
    query_limits = QueryLimits(2000, escaped=0)

    def request(self, query: SearchQuery) -> FetchRequest:
        """Return the request that asks for a query."""
        asked: dict[str, object] = {
            "query": self.words(query),
            "numResults": min(query.results, MOST_RESULTS),
            "contents": {"text": {"maxCharacters": _TEXT_CHARS}},
        }
        if query.endpoint in _CATEGORIES:
            asked["category"] = _CATEGORIES[query.endpoint]
        if query.domains:
            asked["includeDomains"] = list(query.domains)
        elif query.excluded:
            asked["excludeDomains"] = list(query.excluded)
        if query.first_day:
            asked["startPublishedDate"] = f"{query.first_day}T00:00:00.000Z"
        if query.last_day:
            asked["endPublishedDate"] = f"{query.last_day}T23:59:59.999Z"
        return self.post("/search", asked, {"x-api-key": str(self._account.key)})

    def read(self, fetched: Fetched, query: SearchQuery) -> tuple[Hit, ...]:
        """Return what was found, best first."""
        answer = self.object_in(fetched)
        if not isinstance(answer.get("results"), list):
            raise self.without_results(fetched)
        return tuple(
            Hit(
                item["url"],
                text(item.get("title"), TITLE_CHARS),
                text(item.get("text")) or text(at(item, "highlights", 0)) or text(item.get("summary")),
                date(item.get("publishedDate")),
                name(item.get("author")),
                kind=_KINDS[query.endpoint],
            )
            for item in rows(answer["results"])
            if isinstance(item.get("url"), str)
        )
