"""Wikipedia: articles in the language of the question, by the search of MediaWiki.

See https://www.mediawiki.org/wiki/API:Search. Errors come with status 200 and a code in the body; ``maxlag`` asks to be
refused when the servers are behind.
"""

import re

from services.fetcher.net.messages import Fetched, FetchRequest
from services.fetcher.search.answers import TITLE_CHARS, at, rows, text
from services.fetcher.search.api import SearchApi
from services.fetcher.search.contract import Account, Hit, QueryLimits, SearchQuery
from services.fetcher.times import retry_after_s
from shared.domain.errors import Transient
from shared.domain.urls import Url, parse_url

LANGUAGE = "en"
MOST_RESULTS = 20
_CODE = re.compile(r"[a-z]{2,3}")
_BUSY = ("maxlag", "ratelimited", "readonly")


class Wikipedia(SearchApi):
    """See `services.fetcher.search.contract.Provider`. The base URL may say ``{language}``."""

    name = "wikipedia"
    hosts = ("wikipedia.org",)
    query_limits = QueryLimits(300)
    messages = (("error", "info"),)

    def __init__(self, account: Account) -> None:
        super().__init__(account)
        self._template = self._base_url
        self._base_url = self._template.replace("{language}", LANGUAGE)  # the edition that stands for all

    def request(self, query: SearchQuery) -> FetchRequest:
        """Return the request that asks for a query: articles with the first sentences of each."""
        most = min(query.results, MOST_RESULTS)
        asked: dict[str, str | int] = {
            "action": "query",
            "format": "json",
            "formatversion": 2,
            "maxlag": 5,
            "generator": "search",
            "gsrsearch": self.words(query),
            "gsrlimit": most,
            "gsroffset": (query.page - 1) * most,
            "prop": "info|extracts",
            "inprop": "url",
            "exintro": 1,
            "explaintext": 1,
            "exchars": 500,
            "exlimit": "max",
        }
        base = self._template.replace("{language}", language_of(query.language))
        request = self.get("/w/api.php", asked)
        url = str(request.url).replace(self._base_url, base, 1)
        return FetchRequest(parse_url(url), accept=request.accept, limits=self.limits, error_bytes=request.error_bytes)

    def read(self, fetched: Fetched, query: SearchQuery) -> tuple[Hit, ...] | Url:  # noqa: ARG002
        """Return what was found, best first."""
        answer = self.object_in(fetched)
        code = at(answer, "error", "code")
        if code in _BUSY:
            raise self.troubles.limited(retry_after_s(fetched.headers) or 5.0)
        if isinstance(code, str):
            said = self.troubles.said(fetched.status, f"{text(code, 40)}: {text(at(answer, 'error', 'info'), 150)}")
            if code.startswith("internal_api_error"):
                raise Transient("search_failed", f"{said}.")
            raise self.troubles.refused(said)
        pages = [page for page in rows(at(answer, "query", "pages")) if isinstance(page.get("fullurl"), str)]
        pages.sort(key=lambda page: page["index"] if isinstance(page.get("index"), int) else len(pages))
        return tuple(
            Hit(page["fullurl"], text(page.get("title"), TITLE_CHARS), text(page.get("extract")), publisher=self.label)
            for page in pages
        )


def language_of(tag: str | None) -> str:
    """Return the edition for a BCP 47 tag, the English one for a tag that names none."""
    code = (tag or LANGUAGE).partition("-")[0].lower()
    return code if _CODE.fullmatch(code) else LANGUAGE
