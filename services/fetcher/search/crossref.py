"""Crossref: the registry of DOIs.

See https://api.crossref.org/swagger-ui/index.html. Dates are its own filter. Errors say ``status: failed`` and
list what is wrong. The user agent names the operator's contact, as Crossref asks (``LEADLINE_CONTACT_URL``).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from services.fetcher.net.messages import Fetched, FetchRequest
from services.fetcher.search.answers import TITLE_CHARS, at, date_of, name, names, rows, text, unmarked
from services.fetcher.search.api import SearchApi
from services.fetcher.search.contract import Hit, QueryLimits, SearchQuery
from services.fetcher.search.fitting import period

MOST_RESULTS = 50
_FIELDS = "DOI,URL,title,abstract,author,publisher,container-title,issued,type,resource"


class Crossref(SearchApi):
    """See `services.fetcher.search.contract.Provider`."""

    name = "crossref"
    query_limits = QueryLimits(400)
    messages = (("message", 0, "message"), ("message",))

    def request(self, query: SearchQuery) -> FetchRequest:
        """Return the request that asks for a query."""
        most = min(query.results, MOST_RESULTS)
        asked: dict[str, str | int] = {
            "query.bibliographic": self.words(query),
            "rows": most,
            "offset": (query.page - 1) * most,
            "select": _FIELDS,
        }
        dates = period(query.since, query.until, ("from-pub-date", "until-pub-date"))
        if dates:
            asked["filter"] = dates
        return self.get("/works", asked)

    def read(self, fetched: Fetched, query: SearchQuery) -> tuple[Hit, ...]:  # noqa: ARG002
        """Return what was found, best first."""
        answer = self.object_in(fetched)
        items = at(answer, "message", "items")
        if answer.get("status") != "ok" or not isinstance(items, list):
            said = text(at(answer, "message", 0, "message")) or "no results"
            raise self.troubles.refused(self.troubles.said(fetched.status, said))
        return tuple(hit for item in rows(items) if (hit := _hit(item)) is not None)


def _hit(item: Mapping[str, Any]) -> Hit | None:
    url = at(item, "resource", "primary", "URL") or item.get("URL")
    if not isinstance(url, str):
        return None
    parts = at(item, "issued", "date-parts", 0)
    return Hit(
        url,
        unmarked(at(item, "title", 0), TITLE_CHARS),
        unmarked(item.get("abstract")),
        date_of(parts) if isinstance(parts, list) else None,
        names(_people(item.get("author"))),
        name(at(item, "container-title", 0)) or name(item.get("publisher")),
        "paper",
    )


def _people(authors: Any) -> Iterator[str]:
    for author in rows(authors):
        yield " ".join(filter(None, (text(author.get("given")), text(author.get("family"))))) or text(
            author.get("name")
        )
