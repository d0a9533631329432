"""What the extractor makes of files and texts, from outside: pages read in limited processes, duplicates clustered."""

import json
import os
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from services.extractor.reading.result import MAX_BYTES, PdfBackend
from shared.adapters.cpu import ProcessCpu
from shared.domain.dedupe import Signature, clusters, signature
from shared.domain.errors import NotAllowed
from shared.domain.text import clean
from shared.domain.urls import canonical_url
from shared.ports.cpu import Cpu, CpuLimitExceeded, CpuLimits, CpuTaskCrashed

__all__ = ["Served", "inspect_duplicates", "inspect_pages"]

LIMITS = CpuLimits(wall_s=90, cpu_s=60, memory_bytes=2_000_000_000)
MAX_LINE_CHARS = 20_000_000
_FILES_A_PROCESS = 4  # fewer are read sooner than another process starts
_TEXTS_AT_ONCE = 200
_CHARS_WORTH_A_PROCESS = 3_000_000
_AHEAD = 4  # files in the works for each process, so that finished answers do not pile up
_NOTHING: Mapping[str, Any] = dict.fromkeys(
    """
    mime encoding encoding_source title author publisher published_at modified_at canonical_url language
    """.split()
)


@dataclass(frozen=True, slots=True)
class Served:
    """How files are taken to have been served: the headers of the answer, the page's address, the PDF library."""

    content_type: str | None = None
    content_encoding: str | None = None
    url: str | None = None
    pdf_backend: PdfBackend = "pymupdf"


def inspect_pages(files: Sequence[str], served: Served) -> Iterator[str]:
    """Yield one line of JSON for each file, in the same order: its text, maps and metadata, or why there is none."""
    workers = max(1, min(os.cpu_count() or 1, len(files) // _FILES_A_PROCESS))
    cpu = ProcessCpu(workers)
    try:
        yield from _in_order(partial(_line_of_file, cpu, served), files, workers)
    finally:
        cpu.close()


def _in_order(work: Callable[[str], str], items: Iterable[str], workers: int) -> Iterator[str]:
    """Yield the results in the order of the items, a few of which are worked on at once."""
    waiting: deque[Future[str]] = deque()
    with ThreadPoolExecutor(workers) as threads:
        try:
            for item in items:
                waiting.append(threads.submit(work, item))
                if len(waiting) >= workers * _AHEAD:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _line_of_file(cpu: Cpu, served: Served, file: str) -> str:
    """Return the line of one file."""
    try:
        path = Path(file)
        if path.is_file() and path.stat().st_size > MAX_BYTES:
            return _failed(file, "too_large", f"The file has more than {MAX_BYTES // 2**20} MB.")
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "its name is none"
        return _failed(file, "unreadable", f"The file cannot be opened: {why}.")
    try:
        return cpu.run(page_line, data, file, served, limits=LIMITS)
    except CpuLimitExceeded as error:
        return _failed(file, "broken", f"Reading it went past its limits: {error}")
    except CpuTaskCrashed as error:
        return _failed(file, "broken", f"Reading it broke: {error}")


def page_line(data: bytes, file: str, served: Served) -> str:
    """Read one file and return its line; runs in a limited process."""
    from services.extractor.reading.inflate import inflated  # with the readers: large, and of no use to the caller
    from services.extractor.reading.read import read

    name = Path(file).name if served.url is None else None
    reading = read(
        inflated(data, served.content_encoding),
        name=name,
        content_type=served.content_type,
        url=served.url,
        pdf_backend=served.pdf_backend,
    )
    line: dict[str, Any] = {"file": file, "status": reading.status}
    line |= {field: getattr(reading, field) for field in _NOTHING}
    line |= {
        "text": reading.text,
        "headings": [{"level": h.level, "text": h.text, "start": h.start, "end": h.end} for h in reading.headings],
        "pages": [{"page": p.number, "start": p.start, "end": p.end} for p in reading.pages],
        "links": list(reading.links),
        "truncated": reading.truncated,
        "reason": reading.reason,
    }
    if reading.parts:
        line["parts"] = [{"kind": p.kind, "name": p.name, "start": p.start, "end": p.end} for p in reading.parts]
    return json.dumps(line, ensure_ascii=False)


def _failed(file: str, status: str, reason: str) -> str:
    """Return the line of a file that gave nothing."""
    line: dict[str, Any] = {"file": file, "status": status, **_NOTHING, "text": ""}
    line |= {"headings": [], "pages": [], "links": [], "truncated": False, "reason": reason}
    return json.dumps(line, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class _Text:
    """One line in: its id as it was given, the key that tells it from others, its text and canonical address."""

    given: Any
    key: str
    text: str
    address: str | None


def inspect_duplicates(lines: Iterable[str]) -> Iterator[str]:
    """Yield ``{"id", "cluster"}`` for each line ``{"id", "text", "url"?}``, in the same order, when all are read.

    A cluster is named after the smallest id in it. Texts are one if they are near-duplicates or have one canonical
    address. A line that cannot be read gives no cluster but ``status`` and ``reason``.
    """
    read = [_text_of(number, line) for number, line in enumerate(lines)]
    texts = [item for item in read if isinstance(item, _Text)]
    times = Counter(str(item.given) for item in texts)
    keys = {item.key: item.key if times[str(item.given)] > 1 else str(item.given) for item in texts}
    named = {keys[item.key]: item.given for item in texts}
    groups = clusters(_signatures(texts, keys), _same_address(texts, keys))
    for item in read:
        if isinstance(item, _Text):
            answer = {"id": item.given, "cluster": named[groups[keys[item.key]]]}
        else:
            answer = {"id": None, "cluster": None, "status": "invalid", "reason": item}
        yield json.dumps(answer, ensure_ascii=False)


def _text_of(number: int, line: str) -> _Text | str:
    """Return what a line holds, or why it cannot be read."""
    if len(line) > MAX_LINE_CHARS:
        return f"The line is longer than {MAX_LINE_CHARS:,} characters."
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return "The line is no JSON."
    if not isinstance(row, dict):
        return "The line is no JSON object."
    given, text, url = row.get("id"), row.get("text"), row.get("url")
    if isinstance(given, bool) or not isinstance(given, str | int):
        return '"id" has to be a text or a whole number.'
    if not isinstance(text, str):
        return '"text" has to be a text.'
    return _Text(given, f"{given}\x00{number}", clean(text), _address(url))


def _address(url: object) -> str | None:
    """Return the canonical form of an address, None for what is none."""
    try:
        return canonical_url(url) if isinstance(url, str) else None
    except NotAllowed:
        return None


def _same_address(texts: Sequence[_Text], keys: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return pairs of texts that have one canonical address."""
    first: dict[str, str] = {}
    return [
        (first.setdefault(item.address, keys[item.key]), keys[item.key]) for item in texts if item.address is not None
    ]


def _signatures(texts: Sequence[_Text], keys: Mapping[str, str]) -> dict[str, Signature]:
    """Return the sketches by key; of much text, made in several processes."""
    workers = min(os.cpu_count() or 1, sum(len(item.text) for item in texts) // _CHARS_WORTH_A_PROCESS)
    bodies = [item.text for item in texts]
    if workers < 2:
        made = sketches(bodies)
    else:
        cpu = ProcessCpu(workers)
        batches = [bodies[start : start + _TEXTS_AT_ONCE] for start in range(0, len(bodies), _TEXTS_AT_ONCE)]
        try:
            with ThreadPoolExecutor(workers) as threads:
                results = threads.map(lambda batch: cpu.run(sketches, batch, limits=LIMITS), batches)
                made = [sketch for batch in results for sketch in batch]
        finally:
            cpu.close()
    return {keys[item.key]: sketch for item, sketch in zip(texts, made, strict=True)}


def sketches(texts: Sequence[str]) -> list[Signature]:
    """Return the sketch of each text."""
    return [signature(text) for text in texts]
