"""OpenAlex: a catalogue of scholarly works.

See https://developers.openalex.org. Dates are its own filter. A hit leads to the open copy of a work if there is one,
else to its publisher's page, else to its DOI; abstracts come as the places of each word.
"""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from services.fetcher.net.messages import Fetched, FetchRequest
from services.fetcher.search.answers import TITLE_CHARS, at, date, name, names, rows, text
from services.fetcher.search.api import SearchApi
from services.fetcher.search.contract import Hit, QueryLimits, SearchQuery
from services.fetcher.search.fitting import fitted, period, plain_words

MOST_RESULTS = 50
_MOST_WORDS = 400
_FIELDS = "id,doi,display_name,publication_date,type,authorships,primary_location,best_oa_location"


class OpenAlex(SearchApi):
    """See `services.fetcher.search.contract.Provider`."""

    name = "openalex"
    query_limits = QueryLimits(400, escaped=1000)
    messages = (("message",), ("error",))

    def words(self, query: SearchQuery) -> str:
        """Return the words of the query alone: marks are operators there."""
        return fitted(plain_words(query.text), self.query_limits)

    def request(self, query: SearchQuery) -> FetchRequest:
        """Return the request that asks for a query."""
        asked: dict[str, str | int] = {
            "search": self.words(query),
            "per-page": min(query.results, MOST_RESULTS),
            "page": query.page,
            "select": f"{_FIELDS},abstract_inverted_index",
        }
        dates = period(query.first_day, query.last_day, ("from_publication_date", "to_publication_date"))
        if dates:
            asked["filter"] = dates
        return self.get("/works", asked)

    def read(self, fetched: Fetched, query: SearchQuery) -> tuple[Hit, ...]:  # noqa: ARG002
        """Return what was found, best first."""
        answer = self.object_in(fetched)
        if not isinstance(answer.get("results"), list):
            raise self.without_results(fetched)
        return tuple(hit for work in rows(answer["results"]) if (hit := _hit(work)) is not None)


def _hit(work: Mapping[str, Any]) -> Hit | None:
    places = (
        at(work, "best_oa_location", "landing_page_url"),
        at(work, "primary_location", "landing_page_url"),
        work.get("doi"),
    )
    url = next((place for place in places if isinstance(place, str) and place.startswith("http")), None)
    if url is None:
        return None
    source = at(work, "primary_location", "source")
    return Hit(
        url,
        text(work.get("display_name"), TITLE_CHARS),
        text(" ".join(_words(work.get("abstract_inverted_index")))),
        date(work.get("publication_date")),
        names(at(author, "author", "display_name") for author in rows(work.get("authorships"))),
        name(at(source, "display_name")) or name(at(source, "host_organization_name")),
        "paper",
    )


def _words(index: Any) -> Iterator[str]:
    """Yield the words of an abstract in their order; it comes as {word: [places]}."""
    if not isinstance(index, Mapping):
        return
    pairs = ([(place, word) for place in places if isinstance(place, int)] for word, places in _lists(index))
    for _, word in sorted(chain.from_iterable(pairs))[:_MOST_WORDS]:
        yield word


def _lists(index: Mapping[Any, Any]) -> Iterator[tuple[str, list[Any]]]:
    return ((str(word), places) for word, places in index.items() if isinstance(places, list))
