"""A library of documents in memory: snapshots by content, and the document index that ranks their passages."""

import heapq
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from services.extractor.parsing import parse_bytes
from services.extractor.reading.result import DEFAULT_PDF_BACKEND, reader_version
from shared.contracts.runs import Document
from shared.contracts.snapshot import Parse, Snapshot
from shared.db.index import CANDIDATE_PASSAGES
from shared.domain.errors import NotFound
from shared.domain.ids import OwnerId, digest_id, sha256_hex
from shared.domain.passages import passage_terms, passages
from shared.domain.rank import CorpusStats, bm25
from shared.ports.materials import DocumentHit

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Library:
    """See `shared.ports.materials.DocumentIndex`, `Snapshots` and `Blobs`: one owner's documents, read once."""

    documents: dict[str, Document] = field(default_factory=dict)
    snapshots: dict[str, Snapshot] = field(default_factory=dict)
    parses: dict[str, Parse] = field(default_factory=dict)
    _passages: list[tuple[str, list[str]]] = field(default_factory=list)
    _holding: dict[str, list[int]] = field(default_factory=dict)
    _length: int = 0

    def add(self, name: str, data: bytes) -> str:
        """Read a document into the library; return its id."""
        parse, snapshot = parse_bytes(data, name)
        document_id = digest_id("doc", name, sha256_hex(data))
        self.documents[document_id] = Document(
            document_id=document_id,
            name=name,
            title=parse.title,
            status="ready" if snapshot is not None else "failed",
            reason=parse.reason,
            mime=parse.mime,
            bytes=len(data),
            sha256=parse.content_sha256,
            snapshot_sha256=parse.snapshot_sha256,
            created_at=MOMENT,
        )
        self.parses[parse.content_sha256] = parse
        if snapshot is not None:
            self.snapshots[snapshot.sha256] = snapshot
            for start, end in passages(snapshot.segments):
                self._index(document_id, passage_terms(parse.title or "", snapshot.text[start:end]))
        return document_id

    def add_all(self, files: Iterable[tuple[str, bytes]]) -> list[str]:
        """Read documents into the library; return their ids."""
        return [self.add(name, data) for name, data in files]

    def _index(self, document_id: str, terms: list[str]) -> None:
        for term in set(terms):
            self._holding.setdefault(term, []).append(len(self._passages))
        self._passages.append((document_id, terms))
        self._length += len(terms)

    def search(
        self, owner_id: OwnerId, terms: Sequence[str], document_ids: Sequence[str] | None, limit: int
    ) -> tuple[DocumentHit, ...]:
        """Return the best documents for the terms by their best passage, as the index in Postgres ranks them."""
        assert document_ids is None, "a run in memory searches the whole library"
        wanted = sorted(set(terms))
        stats = self.stats(owner_id, wanted, None)
        held: dict[int, float] = {}
        for term in wanted:
            for place in self._holding.get(term, ()):
                held[place] = held.get(place, 0.0) + stats.weight(term)
        best: dict[str, float] = {}
        for place in heapq.nsmallest(CANDIDATE_PASSAGES, held, key=lambda p: (-held[p], p)):
            document_id, found = self._passages[place]
            best[document_id] = max(best.get(document_id, 0.0), bm25(wanted, found, stats))
        ranked = sorted(best.items(), key=lambda item: (-item[1], item[0]))[:limit]
        return tuple(DocumentHit(i, self.documents[i].name, self.documents[i].title, score) for i, score in ranked)

    def stats(self, owner_id: OwnerId, terms: Collection[str], document_ids: Sequence[str] | None) -> CorpusStats:
        """Count passages and how many of them hold each term."""
        del owner_id, document_ids
        frequency = {term: len(self._holding.get(term, ())) for term in terms}
        return CorpusStats(len(self._passages), self._length / max(len(self._passages), 1), frequency)

    def document(self, owner_id: OwnerId, document_id: str) -> Document:
        """Return a document."""
        if document_id not in self.documents:
            raise NotFound(f"There is no document {document_id}.")
        return self.documents[document_id]

    def parsed(self, owner_id: OwnerId, content_sha256: str, reader_version_: str) -> Parse | None:
        """Return what reading the bytes gave."""
        assert reader_version_ == reader_version(DEFAULT_PDF_BACKEND)
        return self.parses.get(content_sha256)

    def get(self, owner_id: OwnerId, sha256: str) -> Snapshot | None:
        """Return a snapshot."""
        return self.snapshots.get(sha256)

    def get_many(self, owner_id: OwnerId, sha256s: Collection[str]) -> dict[str, Snapshot]:
        """Return the snapshots that exist."""
        return {sha: self.snapshots[sha] for sha in sha256s if sha in self.snapshots}


def of_paragraphs(rows: Iterable[Mapping[str, object]]) -> Library:
    """Return a library with one Markdown document a row: its title as heading, its text below."""
    library = Library()
    library.add_all((f"{row['_id']}.md", f"# {row['title']}\n\n{row['text']}\n".encode()) for row in rows)
    return library
