"""PubMed: biomedical literature, by the E-utilities of the NCBI.

See https://www.ncbi.nlm.nih.gov/books/NBK25499/. A search is two calls: one gives numbers, the next tells what they
are. Three calls a second are allowed without a key; more answer 429, or 200 with an error in the body.
"""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from services.fetcher.net.messages import Fetched, FetchRequest
from services.fetcher.search.answers import TITLE_CHARS, at, date, name, names, rows, text, unmarked
from services.fetcher.search.api import SearchApi
from services.fetcher.search.contract import Hit, QueryLimits, SearchQuery
from services.fetcher.search.fitting import fitted, plain_words
from shared.domain.errors import Transient
from shared.domain.urls import Url, parse_url

TOOL = "leadline"
_SUMMARY = "/entrez/eutils/esummary.fcgi"
_EARLIEST, _LATEST = "1800/01/01", "2099/12/31"


class PubMed(SearchApi):
    """See `services.fetcher.search.contract.Provider`."""

    name = "pubmed"
    hosts = ("pubmed.ncbi.nlm.nih.gov",)
    delay_s = 0.4
    query_limits = QueryLimits(400)
    messages = (("error",), ("esearchresult", "ERROR"))

    def words(self, query: SearchQuery) -> str:
        """Return the words of the query alone: marks are operators there."""
        return fitted(plain_words(query.text), self.query_limits)

    def request(self, query: SearchQuery) -> FetchRequest:
        """Return the request that asks for the numbers of a query."""
        asked: dict[str, str | int] = {
            "db": "pubmed",
            "retmode": "json",
            "sort": "relevance",
            "tool": TOOL,
            "term": self.words(query),
            "retmax": query.results,
            "retstart": (query.page - 1) * query.results,
        }
        if query.since or query.until:
            asked["datetype"] = "pdat"
            asked["mindate"] = query.first_day.replace("-", "/") if query.first_day else _EARLIEST
            asked["maxdate"] = query.last_day.replace("-", "/") if query.last_day else _LATEST
        return self.get("/entrez/eutils/esearch.fcgi", asked)

    def read(self, fetched: Fetched, query: SearchQuery) -> tuple[Hit, ...] | Url:  # noqa: ARG002
        """Return the address that tells what the numbers are, or what it told, best first."""
        answer = self.object_in(fetched)
        if isinstance(answer.get("error"), str):
            if "count" in answer:  # how the limit on calls comes, and nothing else does
                raise self.troubles.limited(None)
            raise Transient("search_failed", f"{self.troubles.said(fetched.status, text(answer['error'], 150))}.")
        wrong = at(answer, "esearchresult", "ERROR")
        if isinstance(wrong, str):
            raise self.troubles.refused(self.troubles.said(fetched.status, text(wrong, 150)))
        if fetched.url.path.endswith(_SUMMARY):
            return tuple(_hits(answer.get("result")))
        numbers = at(answer, "esearchresult", "idlist")
        if not isinstance(numbers, list):
            raise self.troubles.strange("no list of ids")
        return self._summary([n for n in numbers if isinstance(n, str) and n.isdigit()])

    def _summary(self, numbers: list[str]) -> tuple[Hit, ...] | Url:
        if not numbers:
            return ()
        asked = {"db": "pubmed", "retmode": "json", "tool": TOOL, "id": ",".join(numbers)}
        return parse_url(f"{self._base_url}{_SUMMARY}?{urlencode(asked, safe=',')}")


def _hits(result: Any) -> Iterator[Hit]:
    numbers = at(result, "uids")
    for number in numbers if isinstance(numbers, list) else []:
        paper = at(result, str(number))
        if isinstance(paper, Mapping) and str(number).isdigit() and "error" not in paper:
            yield Hit(
                f"https://pubmed.ncbi.nlm.nih.gov/{number}/",
                unmarked(paper.get("title"), TITLE_CHARS),
                "",
                date(paper.get("sortpubdate")) or date(paper.get("pubdate")),
                names(author.get("name") for author in rows(paper.get("authors"))),
                name(paper.get("fulljournalname")) or name(paper.get("source")),
                "paper",
            )
