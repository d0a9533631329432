"""Bringing documents into the gateway's library: what is known already is not sent again."""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from infra.cli.console import Console
from infra.cli.exits import CliError
from infra.cli.gather import Found, Gathered, Skipped, passed_over
from shared.client.client import LeadlineClient
from shared.contracts.runs import Document

BATCH_FILES = 50
BATCH_BYTES = 16_000_000
PENDING_POLL_S = 0.2
PENDING_S = 600.0
"""How long documents that somebody else has just sent may take to be read."""


@dataclass(frozen=True, slots=True)
class Settled:
    """The documents that can be used, and those that could not be read."""

    ready: tuple[Document, ...]
    failed: tuple[Document, ...]
    sent: int

    def failed_line(self) -> str | None:
        """Return one line about what could not be read."""
        return passed_over("Could not read", [Skipped(d.name, d.reason or "no reason given") for d in self.failed])


def settle(client: LeadlineClient, gathered: Gathered, console: Console) -> Settled:
    """Send what is new, wait until everything is read, and return how each document stands."""
    known = _by_content(client.documents())
    new = [found for sha256, found in gathered.found.items() if sha256 not in known]
    done = 0
    for batch in _batches(new):
        console.status(f"Sending documents ({done + len(batch)} of {len(new)})")
        ingest = client.upload([(found.name, _read(found)) for found in batch])
        console.status(f"Reading documents ({done + len(batch)} of {len(new)})")
        client.wait(ingest.run_id)
        done += len(batch)
    documents = _wait_until_read(client, gathered)
    ready = tuple(document for document in documents if document.status == "ready")
    return Settled(ready, tuple(document for document in documents if document.status == "failed"), len(new))


def _wait_until_read(client: LeadlineClient, gathered: Gathered) -> list[Document]:
    """Return the documents, in the order in which they were found, when none of them is being read any more."""
    deadline = time.monotonic() + PENDING_S
    while True:
        known = _by_content(client.documents())
        documents = [known[sha256] for sha256 in gathered.found if sha256 in known]
        pending = [document.name for document in documents if document.status == "pending"]
        if not pending:
            return documents
        if time.monotonic() > deadline:
            raise CliError(f"{pending[0]} has not been read after {PENDING_S:.0f} seconds: see `leadline docs list`.")
        time.sleep(PENDING_POLL_S)


def _by_content(documents: Iterable[Document]) -> dict[str, Document]:
    """Return documents by sha256; of several with the same content the readable one, else the oldest."""
    found: dict[str, Document] = {}
    for document in documents:
        kept = found.get(document.sha256)
        if kept is None or kept.status != "ready":
            found[document.sha256] = document
    return found


def _batches(files: Sequence[Found]) -> Iterator[list[Found]]:
    """Yield the files in groups that fit into one request and into memory."""
    batch: list[Found] = []
    for file in files:
        if batch and (len(batch) == BATCH_FILES or sum(f.bytes for f in batch) + file.bytes > BATCH_BYTES):
            yield batch
            batch = []
        batch.append(file)
    if batch:
        yield batch


def _read(found: Found) -> bytes:
    try:
        return found.path.read_bytes()
    except OSError as error:
        raise CliError(f"{found.path} can no longer be read ({error.strerror}).") from error
