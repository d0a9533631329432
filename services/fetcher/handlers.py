"""What the fetcher does with a step: search, read a source."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from services.fetcher.browsing import browse_page
from services.fetcher.deps import Deps
from services.fetcher.found import Found
from services.fetcher.library import documents_found, read_document, search_library
from services.fetcher.pages import read_page
from services.fetcher.searching import pages_found, search_web
from shared.domain.errors import NotAllowed
from shared.domain.ids import sha256_hex
from shared.ports.ledger import FoundSource, Lease, Outcome
from shared.ports.materials import RunFacts


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a search can be made: how it is asked, which gives what a receipt keeps, and the candidates in that."""

    ask: Callable[[Deps, Lease, RunFacts], dict[str, Any]]
    found: Callable[[Any, Lease, RunFacts], Found]


_LIBRARY, _WEB = _Place(search_library, documents_found), _Place(search_web, pages_found)
_PLACES = {"documents": _LIBRARY, "web": _WEB, "news": _WEB, "scholar": _WEB}
_READERS = {"document": read_document, "web": read_page}


def search(deps: Deps, lease: Lease) -> Outcome:
    """Find candidates for a query, ranked against that query; an answer that has a receipt is not asked for again."""
    facts = deps.materials.facts(lease.run_id)
    endpoint, query = lease.inputs["endpoint"], str(lease.inputs["query"])
    if not facts.request.source_policy.allows_endpoint(endpoint):
        raise NotAllowed("endpoint_not_allowed", f"The run's policy does not allow searches at {endpoint}.")
    place = _PLACES[endpoint]
    request = {"endpoint": endpoint, "query": query, "results": int(lease.inputs["results"])}
    request_hash = sha256_hex(json.dumps(request, sort_keys=True).encode())
    answer = deps.receipts.find(lease, request_hash)
    if answer is None:
        answer = place.ask(deps, lease, facts)
        deps.receipts.keep(lease, request_hash, "search", answer)
    found = place.found(answer, lease, facts)
    kept = found.sources
    summary = f"Found {len(kept)} candidate{'s' * (len(kept) != 1)} for “{query}”."
    return Outcome(
        summary=" ".join((summary, *found.remarks)),
        result={"found": len(answer["hits"]), "kept": len(kept), **found.told},
        fetches=found.rows,
        found=tuple(FoundSource(source, lease.key, rank) for rank, source in enumerate(kept)),
    )


def read_source(deps: Deps, lease: Lease) -> Outcome:
    """Get a source and log it as fetched or refused; name what is to be parsed."""
    source = deps.materials.source(lease.run_id, str(lease.inputs["source_id"]))
    return _READERS[source.kind](deps, lease, source)


def read_in_browser(deps: Deps, lease: Lease) -> Outcome:
    """Get a page once more as it stands after its scripts have run."""
    return browse_page(deps, lease, deps.materials.source(lease.run_id, str(lease.inputs["source_id"])))
