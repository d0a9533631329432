"""arXiv: preprints, by its Atom API.

See https://info.arxiv.org/help/api/user-manual.html. Dates are a range over the day of submission; three seconds
between calls are asked for. What is wrong with a query comes as one entry whose id lies under /api/errors.
"""

import re
from collections.abc import Iterator

from lxml import etree

from services.fetcher.net.messages import Fetched, FetchRequest
from services.fetcher.search.answers import TITLE_CHARS, date, names, text
from services.fetcher.search.api import SearchApi
from services.fetcher.search.contract import Hit, QueryLimits, SearchQuery
from services.fetcher.search.fitting import fitted, telling_words

_ATOM = "{http://www.w3.org/2005/Atom}"
_ARXIV = "{http://arxiv.org/schemas/atom}"
_VERSION = re.compile(r"v\d+$")
_EARLIEST, _LATEST = "1991-01-01", "2099-12-31"


class Arxiv(SearchApi):
    """See `services.fetcher.search.contract.Provider`."""

    name = "arxiv"
    hosts = ("arxiv.org",)
    delay_s = 3.0
    query_limits = QueryLimits(300, words=20)

    def words(self, query: SearchQuery) -> str:
        """Return the words of the query that say what it is about: marks are operators there."""
        return fitted(" ".join(telling_words(query.text)), self.query_limits)

    def request(self, query: SearchQuery) -> FetchRequest:
        """Return the request for what holds any of the words, the most relevant first: all of them hold few papers."""
        searched = "(" + " OR ".join(f"all:{word}" for word in self.words(query).split()) + ")"
        if query.since or query.until:
            first, last = query.first_day or _EARLIEST, query.last_day or _LATEST
            searched += f" AND submittedDate:[{first.replace('-', '')}0000 TO {last.replace('-', '')}2359]"
        asked: dict[str, str | int] = {
            "search_query": searched,
            "start": (query.page - 1) * query.results,
            "max_results": query.results,
            "sortBy": "relevance",
        }
        request = self.get("/api/query", asked)
        return FetchRequest(
            request.url, accept="application/atom+xml", limits=self.limits, error_bytes=request.error_bytes
        )

    def read(self, fetched: Fetched, query: SearchQuery) -> tuple[Hit, ...]:  # noqa: ARG002
        """Return what was found, best first."""
        feed = _feed(fetched.body)
        if feed is not None:
            for entry in feed.iter(f"{_ATOM}entry"):
                if "/api/errors" in _said(entry, "id"):
                    raise self.troubles.refused(self.troubles.said(fetched.status, _said(entry, "summary")))
        self.check(fetched)
        if feed is None:
            raise self.troubles.strange("no Atom feed")
        return tuple(_hits(feed))


def _feed(body: bytes) -> etree._Element | None:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        feed = etree.fromstring(body, parser)
    except (etree.XMLSyntaxError, ValueError):
        return None
    return feed if feed.tag == f"{_ATOM}feed" else None


def _said(entry: etree._Element, tag: str) -> str:
    return text(entry.findtext(f"{_ATOM}{tag}") or "")


def _hits(feed: etree._Element) -> Iterator[Hit]:
    for entry in feed.iter(f"{_ATOM}entry"):
        address = _said(entry, "id").replace("http://arxiv.org/", "https://arxiv.org/", 1)
        if address.startswith("http"):
            authors = [author.findtext(f"{_ATOM}name") for author in entry.iter(f"{_ATOM}author")]
            yield Hit(
                _VERSION.sub("", address),
                _said(entry, "title")[:TITLE_CHARS],
                _said(entry, "summary"),
                date(_said(entry, "published")),
                names(authors),
                text(entry.findtext(f"{_ARXIV}journal_ref") or "") or "arXiv",
                "paper",
            )
