"""SearXNG, a search engine of one's own that asks others: its JSON API.

See https://docs.searxng.org/dev/search_api.html. The JSON format is off by default; an instance without it answers 403.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from services.fetcher.net.messages import Fetched, FetchLimits, FetchRequest
from services.fetcher.search.contract import Hit, SearchQuery, WebEndpoint
from services.fetcher.times import retry_after_s
from shared.domain.errors import Permanent, RateLimited, Transient
from shared.domain.text import clean
from shared.domain.urls import parse_url

MAX_QUERY_CHARS = 400
DEFAULT_REST_S = 30.0
"""How long to wait after a 429 that does not say."""

_LIMITS = FetchLimits(connect_s=5, silence_s=20, total_s=30, body_bytes=5_000_000, redirects=0)
_CATEGORIES: dict[WebEndpoint, str] = {"web": "general", "news": "news", "scholar": "science"}
_JSON_OFF = "turn on its JSON format: `search.formats: [html, json]` in its settings.yml"


class SearXNG:
    """See `services.fetcher.search.contract.Provider`."""

    name = "searxng"

    def __init__(self, base_url: str) -> None:
        self._base_url = base_url.rstrip("/")
        self.endpoint = parse_url(f"{self._base_url}/search")

    @property
    def advice(self) -> str:
        """Say what to do when the instance cannot be reached."""
        return f"Start SearXNG at {self._base_url}, or correct SEARXNG_URL."

    def request(self, query: SearchQuery) -> FetchRequest:
        """Return the request that asks for a query."""
        words = query.text
        if len(words) > MAX_QUERY_CHARS:
            words = words[:MAX_QUERY_CHARS].rpartition(" ")[0] or words[:MAX_QUERY_CHARS]
        if query.domains:
            words += " (" + " OR ".join(f"site:{domain}" for domain in query.domains[:5]) + ")"
        asked = {"q": words, "format": "json", "categories": _CATEGORIES[query.endpoint]}
        if query.language:
            asked["language"] = query.language
        url = parse_url(f"{self.endpoint}?{urlencode(asked)}")
        return FetchRequest(url, accept="application/json", limits=_LIMITS)

    def hits(self, fetched: Fetched) -> tuple[Hit, ...]:
        """Return what was found, best first."""
        self._check(fetched)
        try:
            answer = json.loads(fetched.body)
            results = answer["results"]
        except (ValueError, RecursionError, KeyError, TypeError) as error:
            detail = f"SearXNG at {self._base_url} does not answer in JSON: {_JSON_OFF}."
            raise Permanent("search_json_off", detail) from error
        found = tuple(_hits(results))
        silent = answer.get("unresponsive_engines")
        if not found and silent:
            names = ", ".join(sorted({str(e[0] if isinstance(e, list) else e)[:40] for e in silent})[:8])
            raise Transient("search_engines_down", f"None of SearXNG's engines answered: {names}.")
        return found

    def _check(self, fetched: Fetched) -> None:
        where = f"SearXNG at {self._base_url}"
        if fetched.status == 429:
            after = retry_after_s(fetched.headers) or DEFAULT_REST_S
            raise RateLimited("search_limited", f"{where} asks to be left alone for {after:.0f} s.", after)
        if fetched.status >= 500:
            raise Transient("search_failed", f"{where} answers {fetched.status}.")
        if fetched.status == 403:
            raise Permanent("search_json_off", f"{where} answers 403: {_JSON_OFF}.")
        if not fetched.ok:
            raise Permanent("search_refused", f"{where} answers {fetched.status}: correct SEARXNG_URL.")


def _hits(results: Any) -> Iterator[Hit]:
    for item in results if isinstance(results, list) else []:
        if isinstance(item, Mapping) and isinstance(item.get("url"), str):
            yield Hit(item["url"], _text(item, "title", 500), _text(item, "content", 2000), _date(item))


def _text(item: Mapping[str, Any], name: str, most: int) -> str:
    value = item.get(name)
    return " ".join(clean(value).split())[:most] if isinstance(value, str) else ""


def _date(item: Mapping[str, Any]) -> str | None:
    value = item.get("publishedDate")
    return value[:10] if isinstance(value, str) and value[:4].isdigit() else None
