"""Serper: the results of Google's search, news and scholar, paid by credit.

See https://serper.dev/playground. Domains are words of the query, dates the parameter ``tbs`` of Google's own search
(scholar has none that is documented, so Leadline filters there). A wrong key answers 403, an empty account 400.
"""

import re
from collections.abc import Mapping
from typing import Any

from services.fetcher.net.messages import Fetched, FetchRequest
from services.fetcher.search.answers import TITLE_CHARS, date, date_of, name, rows, text
from services.fetcher.search.api import SearchApi
from services.fetcher.search.contract import Hit, QueryLimits, SearchQuery, WebEndpoint
from services.fetcher.search.fitting import with_sites
from shared.domain.errors import Permanent, StepError

PAGE_RESULTS = 10
"""More on one page cost a second credit."""

_PATHS: dict[WebEndpoint, str] = {"web": "/search", "news": "/news", "scholar": "/scholar"}
_LISTS: dict[WebEndpoint, str] = {"web": "organic", "news": "news", "scholar": "organic"}
_PUBLICATION = re.compile(r"(?P<author>.+?) - (?:(?P<publisher>.+?), )?(?P<year>\d{4}) - .+")
_EARLIEST, _LATEST = "1900-01-01", "2099-12-31"


class Serper(SearchApi):
    """See `services.fetcher.search.contract.Provider`."""

    name = "serper"
    query_limits = QueryLimits(2000, words=32, escaped=0)
    messages = (("message",), ("error",))

    def words(self, query: SearchQuery) -> str:
        """Return the query with ``site:`` words."""
        return with_sites(query, self.query_limits)

    def request(self, query: SearchQuery) -> FetchRequest:
        """Return the request that asks for a query."""
        asked: dict[str, object] = {"q": self.words(query), "num": PAGE_RESULTS, "page": query.page}
        if query.language:
            asked["hl"] = query.language.partition("-")[0].lower()
        if query.endpoint != "scholar" and (query.since or query.until):
            first, last = query.first_day or _EARLIEST, query.last_day or _LATEST
            asked["tbs"] = f"cdr:1,cd_min:{_american(first)},cd_max:{_american(last)}"
        return self.post(_PATHS[query.endpoint], asked, {"X-API-KEY": str(self._account.key)})

    def read(self, fetched: Fetched, query: SearchQuery) -> tuple[Hit, ...]:
        """Return what was found, best first."""
        answer = self.object_in(fetched)
        found = answer.get(_LISTS[query.endpoint], [] if "searchParameters" in answer else None)
        if not isinstance(found, list):
            raise self.without_results(fetched)
        of = _paper if query.endpoint == "scholar" else _page
        kind = "news" if query.endpoint == "news" else "page"
        return tuple(of(item, kind) for item in rows(found) if isinstance(item.get("link"), str))

    def error_of(self, status: int, after_s: float | None, message: str) -> StepError:
        """Return the error that a status stands for; 400 is how an account without credit answers."""
        if status == 400:
            said = self.troubles.said(status, message)
            detail = f"{said}: see whether the account has credit left, or unset SERPER_API_KEY."
            return Permanent("search_out_of_credit", detail)
        return super().error_of(status, after_s, message)


def _american(day: str) -> str:
    year, month, day_of_month = day.split("-")
    return f"{month}/{day_of_month}/{year}"


def _page(item: Mapping[str, Any], kind: Any) -> Hit:
    return Hit(
        item["link"],
        text(item.get("title"), TITLE_CHARS),
        text(item.get("snippet")),
        date(item.get("date")),
        publisher=name(item.get("source")),
        kind=kind,
    )


def _paper(item: Mapping[str, Any], _: Any) -> Hit:
    """Return a paper; authors, journal and year stand in one line, such as "A Smith - Nature, 2020 - nature.com"."""
    told = _PUBLICATION.match(text(item.get("publicationInfo")))
    year = item.get("year")
    return Hit(
        item["link"],
        text(item.get("title"), TITLE_CHARS),
        text(item.get("snippet")),
        date_of([year]) or date(told["year"] if told else None),
        told["author"] if told else None,
        told["publisher"] if told else None,
        "paper",
    )
