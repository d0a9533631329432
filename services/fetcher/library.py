"""The owner's library: searched for documents, and documents taken from it as sources."""

from typing import Any

from services.fetcher import documents
from services.fetcher.deps import Deps
from services.fetcher.found import Found
from shared.contracts.evidence import Source
from shared.domain.errors import NotFound, Permanent, PutOff
from shared.domain.ids import digest_id
from shared.domain.text import content_terms
from shared.ports.ledger import Lease, Outcome
from shared.ports.materials import DocumentHit, RunFacts

PENDING_DOCUMENT_S = 1.0
"""How long to put off a step that needs a document which is still being taken in."""


def search_library(deps: Deps, lease: Lease, facts: RunFacts) -> dict[str, Any]:
    """Return the best documents for the step's query, as a receipt keeps them."""
    policy = facts.request.source_policy
    ids = None if policy.documents_all and not policy.document_ids else policy.document_ids
    terms, most = content_terms(str(lease.inputs["query"])), int(lease.inputs["results"])
    return documents.hits_as_answer(deps.index.search(lease.owner_id, terms, ids, most))


def documents_found(answer: Any, lease: Lease, _: RunFacts) -> Found:
    """Return the candidates of an answer that `search_library` gave."""
    hits: tuple[DocumentHit, ...] = documents.hits_of_answer(answer)
    return Found(tuple(documents.candidate(lease.run_id, hit) for hit in hits))


def read_document(deps: Deps, lease: Lease, source: Source) -> Outcome:
    """Take a document from the library: log it as fetched, and name what is to be parsed."""
    if source.document_id is None:
        raise Permanent("no_document", f"The source {source.url} names no document.")
    try:
        document = deps.index.document(lease.owner_id, source.document_id)
    except NotFound:
        return _gone(source)
    if document.status == "pending":
        raise PutOff("document_pending", f"{document.name} is still being taken in.", PENDING_DOCUMENT_S)
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
