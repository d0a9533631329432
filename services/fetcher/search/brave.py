"""Brave: a search index of its own, paid by month.

See https://api-dashboard.search.brave.com/app/documentation. Dates are its own filter, domains are words of the query.
The header X-RateLimit-Reset tells the seconds for each of the limits that X-RateLimit-Remaining lists.
"""

from collections.abc import Mapping
from typing import Any

from services.fetcher.net.messages import Fetched, FetchRequest
from services.fetcher.search.answers import TITLE_CHARS, NotJson, at, date, json_object, name, rows, unmarked
from services.fetcher.search.api import SearchApi
from services.fetcher.search.contract import Hit, HitKind, QueryLimits, SearchQuery
from services.fetcher.search.fitting import with_sites
from services.fetcher.times import retry_after_s
from shared.domain.errors import StepError

MOST_RESULTS = 20
LONG_S = 3600.0
"""A limit that is renewed later than this is the month's: waiting for it is of no use."""
_EARLIEST, _LATEST = "1900-01-01", "2099-12-31"


class Brave(SearchApi):
    """See `services.fetcher.search.contract.Provider`."""

    name = "brave"
    query_limits = QueryLimits(400, words=50)
    messages = (("error", "detail"), ("error", "code"))

    def words(self, query: SearchQuery) -> str:
        """Return the query with ``site:`` words."""
        return with_sites(query, self.query_limits)

    def request(self, query: SearchQuery) -> FetchRequest:
        """Return the request that asks for a query."""
        asked: dict[str, str | int] = {
            "q": self.words(query),
            "count": min(query.results, MOST_RESULTS),
            "offset": query.page - 1,
        }
        if query.since or query.until:
            asked["freshness"] = f"{query.first_day or _EARLIEST}to{query.last_day or _LATEST}"
        if query.language:
            asked["search_lang"] = query.language.partition("-")[0].lower()
        path = "/news/search" if query.endpoint == "news" else "/web/search"
        return self.get(path, asked, **{"X-Subscription-Token": str(self._account.key)})

    def read(self, fetched: Fetched, query: SearchQuery) -> tuple[Hit, ...]:
        """Return what was found, best first."""
        answer = self.object_in(fetched)
        if answer.get("type") == "ErrorResponse" or answer.get("error"):
            raise self._refusal(answer, 200, None)
        if not {"type", "query", "web", "results"} & answer.keys():
            raise self.without_results(fetched)
        if query.endpoint == "news":
            return _hits(answer.get("results"), "news")
        return _hits(at(answer, "web", "results"), "page")

    def check(self, fetched: Fetched) -> None:
        """Raise the error that the code in the body stands for, or else the status."""
        if not fetched.ok:
            headers = fetched.headers
            rest_s = _rest_s(headers) if fetched.status == 429 else retry_after_s(headers)
            if rest_s is not None and rest_s > LONG_S:
                raise self.troubles.out_of_credit(self.troubles.said(fetched.status, "the month's limit is reached"))
            raise self._refusal(_object(fetched), fetched.status, rest_s)
        super().check(fetched)

    def _refusal(self, answer: Mapping[str, Any], status: int, after_s: float | None) -> StepError:
        code = at(answer, "error", "code")
        message = at(answer, "error", "detail") or code
        said = message if isinstance(message, str) else ""
        if code in ("SUBSCRIPTION_TOKEN_INVALID", "OPTION_NOT_IN_PLAN", "RESOURCE_NOT_ALLOWED"):
            return self.troubles.wrong_key(self.troubles.said(status, said))
        if code in ("QUOTA_LIMITED", "USAGE_LIMIT_EXCEEDED"):
            return self.troubles.out_of_credit(self.troubles.said(status, said))
        if code == "RATE_LIMITED":
            return self.troubles.limited(after_s)
        return self.error_of(status, after_s, said)


def _object(fetched: Fetched) -> Mapping[str, Any]:
    try:
        return json_object(fetched.body)
    except NotJson:
        return {}


def _rest_s(headers: Mapping[str, str]) -> float | None:
    """Return the seconds after which all limits that are used up are renewed; None when nothing is told."""
    told = retry_after_s(headers)
    pairs = zip(_figures(headers, "x-ratelimit-remaining"), _figures(headers, "x-ratelimit-reset"), strict=False)
    waits = [reset for remaining, reset in pairs if remaining <= 0]
    return max([*waits, *([] if told is None else [told])], default=None)


def _figures(headers: Mapping[str, str], header: str) -> list[float]:
    parts = [part.strip() for part in headers.get(header, "").split(",")]
    return [float(part) for part in parts if part.isdigit()]


def _hits(results: Any, kind: HitKind) -> tuple[Hit, ...]:
    return tuple(
        Hit(
            item["url"],
            unmarked(item.get("title"), TITLE_CHARS),
            unmarked(item.get("description")),
            date(item.get("page_age")),
            publisher=name(at(item, "profile", "long_name")) or name(at(item, "profile", "name")),
            kind=kind,
        )
        for item in rows(results)
        if isinstance(item.get("url"), str)
    )
