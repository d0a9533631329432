"""The owner's documents as sources: how a document is found, named and logged as fetched."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from shared.contracts.evidence import Fetch, Source
from shared.contracts.runs import Document
from shared.domain.ids import digest_id
from shared.ports.materials import DocumentHit


def document_url(document_id: str) -> str:
    """Return the address that stands for a document of the library; it leads nowhere outside."""
    return f"leadline:document/{document_id}"


def candidate(run_id: str, hit: DocumentHit) -> Source:
    """Return a found document as a candidate source of the run."""
    url = document_url(hit.document_id)
    return Source(
        source_id=digest_id("src", run_id, url),
        kind="document",
        status="candidate",
        url=url,
        canonical_url=url,
        title=hit.title or hit.name,
        document_id=hit.document_id,
        source_class="own",
    )


def hits_as_answer(hits: Sequence[DocumentHit]) -> dict[str, Any]:
    """Return search hits as a receipt keeps them."""
    return {"hits": [{"id": h.document_id, "name": h.name, "title": h.title, "score": h.score} for h in hits]}


def hits_of_answer(answer: Any) -> tuple[DocumentHit, ...]:
    """Read what `hits_as_answer` wrote."""
    return tuple(DocumentHit(h["id"], h["name"], h["title"], h["score"]) for h in answer["hits"])


def fetch_of(fetch_id: str, source: Source, document: Document, at: datetime, refusal: str | None) -> Fetch:
    """Return the row of the fetch log for taking a document from the library."""
    return Fetch(
        fetch_id=fetch_id,
        source_id=source.source_id,
        requested_url=source.url,
        final_url=source.url,
        mime=document.mime,
        bytes=document.bytes,
        content_sha256=document.sha256,
        tier="document",
        refusal=refusal,
        detail=document.reason,
        at=at,
    )
