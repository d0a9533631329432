"""SearXNG, a search engine of one's own that asks others: its JSON API.

See https://docs.searxng.org/dev/search_api.html. The JSON format is off by default; an instance without it answers 403.
Which filters hold depends on the engines behind it, so only ``site:`` is given and Leadline filters the rest.
"""

from collections.abc import Iterator
from typing import Any

from services.fetcher.net.messages import Fetched, FetchLimits, FetchRequest
from services.fetcher.search.answers import TITLE_CHARS, NotJson, date, json_object, name, names, rows, text
from services.fetcher.search.api import SearchApi
from services.fetcher.search.contract import Hit, HitKind, QueryLimits, SearchQuery, WebEndpoint
from services.fetcher.search.fitting import with_sites
from shared.domain.errors import Permanent, StepError, Transient
from shared.domain.urls import Url, parse_url

_CATEGORIES: dict[WebEndpoint, str] = {"web": "general", "news": "news", "scholar": "science"}
_KINDS: dict[WebEndpoint, HitKind] = {"web": "page", "news": "news", "scholar": "paper"}
_JSON_OFF = "turn on its JSON format: `search.formats: [html, json]` in its settings.yml"


class SearXNG(SearchApi):
    """See `services.fetcher.search.contract.Provider`."""

    name = "searxng"
    limits = FetchLimits(connect_s=5, silence_s=20, total_s=30, body_bytes=5_000_000, redirects=0)
    query_limits = QueryLimits(400)

    @property
    def endpoint(self) -> Url:
        """The address at which the instance is asked."""
        return parse_url(f"{self._base_url}/search")

    @property
    def advice(self) -> str:
        """Say what to do when the instance cannot be reached."""
        return f"Start SearXNG at {self._base_url}, or correct SEARXNG_URL."

    def words(self, query: SearchQuery) -> str:
        """Return the query with ``site:`` words."""
        return with_sites(query, self.query_limits, exclude=False)

    def request(self, query: SearchQuery) -> FetchRequest:
        """Return the request that asks for a query."""
        asked: dict[str, str | int] = {
            "q": self.words(query),
            "format": "json",
            "categories": _CATEGORIES[query.endpoint],
        }
        if query.language:
            asked["language"] = query.language
        if query.page > 1:
            asked["pageno"] = query.page
        return self.get("/search", asked)

    def read(self, fetched: Fetched, query: SearchQuery) -> tuple[Hit, ...]:
        """Return what was found, best first."""
        self.check(fetched)
        try:
            answer = json_object(fetched.body)
            results = answer["results"]
        except (NotJson, KeyError) as error:
            detail = f"{self.where} does not answer in JSON: {_JSON_OFF}."
            raise Permanent("search_json_off", detail) from error
        found = tuple(_hits(results, _KINDS[query.endpoint]))
        silent = answer.get("unresponsive_engines")
        if not found and silent and isinstance(silent, list):
            shown = ", ".join(sorted({_engine(item) for item in silent})[:8])
            raise Transient("search_engines_down", f"None of SearXNG's engines answered: {shown}.")
        return found

    def error_of(self, status: int, after_s: float | None, message: str) -> StepError:
        """Return the error that a status stands for; 403 is how an instance without JSON answers."""
        if status == 403:
            return Permanent("search_json_off", f"{self.where} answers 403: {_JSON_OFF}.")
        if 400 <= status < 500 and status not in (408, 425, 429):
            return Permanent("search_refused", f"{self.where} answers {status}: correct SEARXNG_URL.")
        return super().error_of(status, after_s, message)


def _engine(item: Any) -> str:
    """Return the name of an engine that did not answer, with the reason where one is given."""
    told = [text(part, 60) for part in item] if isinstance(item, list) else [text(str(item), 60)]
    return f"{told[0]} ({told[1]})" if len(told) > 1 and told[1] else "".join(told[:1]) or "one without a name"


def _hits(results: Any, kind: HitKind) -> Iterator[Hit]:
    for item in rows(results):
        if isinstance(item.get("url"), str):
            authors = item.get("authors")
            yield Hit(
                item["url"],
                text(item.get("title"), TITLE_CHARS),
                text(item.get("content")),
                date(item.get("publishedDate")),
                names(authors) if isinstance(authors, list) else name(item.get("author")),
                name(item.get("journal")) or name(item.get("publisher")),
                kind,
            )
