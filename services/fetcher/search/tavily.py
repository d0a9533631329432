"""Tavily: a search API for programs, paid by credit.

See https://docs.tavily.com/documentation/api-reference/endpoint/search. Domains and dates are its own filters; there is
one page of up to 20 results. A plan that is used up answers 432, a limit on use that is paid by call 433.
"""

from services.fetcher.net.messages import Fetched, FetchRequest
from services.fetcher.search.answers import TITLE_CHARS, at, date, rows, text
from services.fetcher.search.api import SearchApi
from services.fetcher.search.contract import Hit, QueryLimits, SearchQuery

MOST_INCLUDED = 300
MOST_EXCLUDED = 150
MOST_RESULTS = 20


class Tavily(SearchApi):
    """See `services.fetcher.search.contract.Provider`."""

    name = "tavily"
    pages = 1
    query_limits = QueryLimits(400, escaped=0)
    messages = (("detail", "error"), ("detail",), ("error",))

    def request(self, query: SearchQuery) -> FetchRequest:
        """Return the request that asks for a query."""
        asked: dict[str, object] = {
            "query": self.words(query),
            "topic": "news" if query.endpoint == "news" else "general",
            "search_depth": "basic",
            "max_results": min(query.results, MOST_RESULTS),
        }
        if query.domains:
            asked["include_domains"] = list(query.domains[:MOST_INCLUDED])
        if query.excluded:
            asked["exclude_domains"] = list(query.excluded[:MOST_EXCLUDED])
        if query.first_day:
            asked["start_date"] = query.first_day
        if query.last_day:
            asked["end_date"] = query.last_day
        return self.post("/search", asked, {"Authorization": f"Bearer {self._account.key}"})

    def read(self, fetched: Fetched, query: SearchQuery) -> tuple[Hit, ...]:
        """Return what was found, best first."""
        answer = self.object_in(fetched)
        if not isinstance(answer.get("results"), list):
            raise self.without_results(fetched)
        return tuple(
            Hit(
                item["url"],
                text(item.get("title"), TITLE_CHARS),
                text(item.get("content")),
                date(item.get("published_date")),
                kind="news" if query.endpoint == "news" else "page",
            )
            for item in rows(at(answer, "results"))
            if isinstance(item.get("url"), str)
        )
