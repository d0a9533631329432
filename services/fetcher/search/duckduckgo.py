"""DuckDuckGo without a key: the page that it gives to browsers without scripts, read as results.

The package ``ddgs`` asks the same page through an HTTP client of its own that poses as a browser. Leadline asks it with
the one function that opens connections and under its own name, and takes what that gives: a check for robots comes as
status 202 and counts as a request to be left alone.
"""

from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

from lxml import etree, html

from services.fetcher.net.messages import Fetched, FetchRequest
from services.fetcher.search.answers import TITLE_CHARS, text
from services.fetcher.search.api import SearchApi
from services.fetcher.search.contract import Hit, QueryLimits, SearchQuery
from services.fetcher.search.fitting import with_sites
from shared.domain.errors import StepError

CHECK_REST_S = 300.0
"""How long to leave it alone after a check for robots, which does not say."""
_EARLIEST, _LATEST = "1990-01-01", "2099-12-31"
_ROBOT_CHECK = "anomaly-modal"


class DuckDuckGo(SearchApi):
    """See `services.fetcher.search.contract.Provider`."""

    name = "duckduckgo"
    pages = 1
    delay_s = 2.0
    query_limits = QueryLimits(480)

    def words(self, query: SearchQuery) -> str:
        """Return the query with ``site:`` words."""
        return with_sites(query, self.query_limits)

    def request(self, query: SearchQuery) -> FetchRequest:
        """Return the request that asks for a query."""
        asked: dict[str, str | int] = {"q": self.words(query)}
        if query.since or query.until:
            asked["df"] = f"{query.first_day or _EARLIEST}..{query.last_day or _LATEST}"
        plain = self.get("/html/", asked)
        return FetchRequest(plain.url, accept="text/html", limits=plain.limits, error_bytes=plain.error_bytes)

    def read(self, fetched: Fetched, query: SearchQuery) -> tuple[Hit, ...]:  # noqa: ARG002
        """Return what was found, best first; a page that is neither results nor their absence is no answer."""
        self.check(fetched)
        page = _page(fetched.body)
        if page is None:
            raise self.troubles.strange("an empty page")
        if page.xpath(f'//*[contains(@class, "{_ROBOT_CHECK}")]'):
            raise self.troubles.limited(CHECK_REST_S)
        found = tuple(_hits(page))
        if not found and not page.xpath('//*[contains(@class, "no-results")] | //*[@id="links"]'):
            raise self.troubles.strange("another page")
        return found

    def error_of(self, status: int, after_s: float | None, message: str) -> StepError:
        """Return the error that a status stands for; 202 and 403 are how a check for robots comes."""
        if status in (202, 403):
            return self.troubles.limited(after_s if after_s is not None else CHECK_REST_S)
        return super().error_of(status, after_s, message)


def _page(body: bytes) -> html.HtmlElement | None:
    parser = html.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True)
    try:
        return html.document_fromstring(body, parser=parser)
    except (etree.ParserError, ValueError):
        return None


def _hits(page: html.HtmlElement) -> Iterator[Hit]:
    for result in page.xpath('//div[contains(concat(" ", @class, " "), " result ")]'):
        links = result.xpath('.//a[contains(concat(" ", @class, " "), " result__a ")]')
        if not links or "result--ad" in result.get("class", ""):
            continue
        url = _target(links[0].get("href", ""))
        snippets = result.xpath('.//*[contains(concat(" ", @class, " "), " result__snippet ")]')
        if url is not None:
            snippet = text(snippets[0].text_content()) if snippets else ""
            yield Hit(url, text(links[0].text_content(), TITLE_CHARS), snippet)


def _target(href: str) -> str | None:
    """Return where a result leads: results lead there through a page that counts clicks, ads to another one."""
    parts = urlsplit(href)
    if parts.path == "/l/":
        return next(iter(parse_qs(parts.query).get("uddg", [])), None)
    if parts.path == "/y.js":
        return None
    return href if parts.scheme in ("http", "https") else None
