"""What the fetcher does with a step: search, read a source."""

import json
from dataclasses import dataclass
from typing import Any

from services.fetcher import documents
from shared.contracts.evidence import Source
from shared.contracts.runs import SourcePolicy
from shared.domain.errors import NotFound, Permanent, RateLimited
from shared.domain.ids import digest_id, sha256_hex
from shared.domain.text import content_terms
from shared.ports.ledger import FoundSource, Lease, Outcome, Receipts
from shared.ports.materials import DocumentHit, DocumentIndex, Materials

PENDING_DOCUMENT_S = 1.0
"""How long to put off a step that needs a document which is still being taken in."""


@dataclass(frozen=True, slots=True)
class Deps:
    """What the fetcher's handlers are given."""

    materials: Materials
    index: DocumentIndex
    receipts: Receipts


def search(deps: Deps, lease: Lease) -> Outcome:
    """Find candidates for a query, ranked against that query; an answer that has a receipt is not asked for again."""
    facts = deps.materials.facts(lease.run_id)
    query, results = str(lease.inputs["query"]), int(lease.inputs["results"])
    request = {"endpoint": lease.inputs["endpoint"], "query": query, "results": results}
    request_hash = sha256_hex(json.dumps(request, sort_keys=True).encode())
    kept = deps.receipts.find(lease, request_hash)
    if kept is None:
        kept = documents.hits_as_answer(_search_documents(deps, lease, facts.request.source_policy))
        deps.receipts.keep(lease, request_hash, "search", kept)
    hits = documents.hits_of_answer(kept)
    found = tuple(FoundSource(documents.candidate(lease.run_id, hit), lease.key, rank) for rank, hit in enumerate(hits))
    return Outcome(
        summary=f"Found {len(hits)} candidate{'s' * (len(hits) != 1)} for “{query}”.",
        result={"found": len(hits), "kept": len(found)},
        found=found,
    )


def _search_documents(deps: Deps, lease: Lease, policy: SourcePolicy) -> tuple[DocumentHit, ...]:
    ids = None if policy.documents_all and not policy.document_ids else policy.document_ids
    return deps.index.search(lease.owner_id, content_terms(lease.inputs["query"]), ids, int(lease.inputs["results"]))


def read_source(deps: Deps, lease: Lease) -> Outcome:
    """Take a document from the library: log it as fetched, and name what is to be parsed."""
    source = deps.materials.source(lease.run_id, str(lease.inputs["source_id"]))
    if source.document_id is None:
        raise Permanent("no_reader", f"Nothing here can read {source.url}.")
    try:
        document = deps.index.document(lease.owner_id, source.document_id)
    except NotFound:
        return _gone(source)
    if document.status == "pending":
        raise RateLimited("document_pending", f"{document.name} is still being taken in.", PENDING_DOCUMENT_S)
    now = deps.materials.now()
    readable = document.status == "ready"
    fetch_id = digest_id("fch", lease.step_id, lease.token)
    fetch = documents.fetch_of(fetch_id, source, document, now, None if readable else "unreadable")
    changes: dict[str, Any] = {
        "status": "fetched" if readable else "unsupported",
        "title": document.title or document.name,
        "mime": document.mime,
        "retrieved_at": now,
        "content_sha256": document.sha256,
        "final_url": source.url,
        "reason": document.reason,
    }
    following = {
        "source_id": source.source_id,
        "content_sha256": document.sha256,
        "name": document.name,
        "query": lease.inputs["query"],
    }
    return Outcome(
        summary=f"Read {document.name}." if readable else f"{document.name} cannot be read: {document.reason}",
        result={"next": following} if readable else {},
        fetches=(fetch,),
        sources=(source.model_copy(update=changes),),
    )


def _gone(source: Source) -> Outcome:
    reason = "The document was removed from the library."
    return Outcome(
        summary=f"{source.title or source.url} is no longer in the library.",
        sources=(source.model_copy(update={"status": "failed", "reason": reason}),),
    )
