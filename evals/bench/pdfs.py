"""Real PDFs under the limits of the worker: a status for each, text beside the gold text, sentences on their page.

``python -m evals.bench.pdfs``. Both libraries read every file in a limited subprocess. Similarity is that of the
characters to the better of the two gold texts (as drawn, sorted), white space and cell marks apart. A sentence is on
its page if the other library finds its first letters there.
"""

import json
import re
import time
from collections import Counter
from collections.abc import Mapping
from difflib import SequenceMatcher
from typing import Any, Literal

import pymupdf
import pypdfium2

from evals.bench.outcome import Bar, end, ratio
from evals.truth.sets import DATA, need, table
from services.extractor.handlers import parse_limits
from services.extractor.parsing import parse_bytes
from shared.adapters.cpu import ProcessCpu
from shared.contracts.snapshot import Snapshot
from shared.domain.maps import Page, page_at
from shared.ports.cpu import CpuLimitExceeded, CpuTaskCrashed

FOLDER = DATA / "pdf"
LEAST_SIMILARITY = 0.95
LEAST_ON_PAGE = 0.99
_START = 20
_NOT_LETTERS = re.compile(r"[\W_]+")
Backend = Literal["pymupdf", "pypdfium2"]
BACKENDS: tuple[Backend, ...] = ("pymupdf", "pypdfium2")


def similarity(text: str, golds: list[str]) -> float:
    """Return how alike the characters of two texts are, 0 to 1, to the better of the gold texts."""
    found = " ".join(text.replace(" | ", " ").split())
    return max(SequenceMatcher(None, found, gold, autojunk=False).ratio() for gold in golds)


def golds_of(row: Mapping[str, Any]) -> list[str]:
    """Return the gold texts of a file."""
    texts = ((FOLDER / row[key]).read_text("utf-8", "replace") for key in ("gold", "gold_sorted"))
    return [" ".join(text.replace("\ufeff", "").split()) for text in texts]


def letters(text: str) -> str:
    """Return the letters and digits of a text."""
    return _NOT_LETTERS.sub("", text).casefold()


def page_letters(data: bytes, backend: Backend) -> list[str]:
    """Return the letters of each page as the library that did not read the file gives them."""
    if backend == "pypdfium2":
        with pymupdf.open(stream=data, filetype="pdf") as document:
            return [letters(page.get_text()) for page in document]
    document = pypdfium2.PdfDocument(data)
    return [letters(document[number].get_textpage().get_text_range()) for number in range(len(document))]


def on_page(snapshot: Snapshot, pages: list[str]) -> tuple[int, int]:
    """Return how many sentences begin on the page that the map names, and how many were looked for."""
    marks = [Page(p.number, p.start, p.end) for p in snapshot.pages]
    right = looked = 0
    for start, finish in snapshot.segments:
        beginning = letters(snapshot.text[start:finish])[:_START]
        if len(beginning) < _START or not any(beginning in page for page in pages):
            continue  # too short to be told apart, or read in another order by the other library
        place = page_at(marks, start)
        looked += 1
        right += place is not None and place.number <= len(pages) and beginning in pages[place.number - 1]
    return right, looked


def run(cpu: ProcessCpu, backend: Backend, manifest: list[dict[str, Any]]) -> dict[str, Any]:
    """Read every file with one library."""
    statuses: Counter[str] = Counter()
    alike: list[float] = []
    right = looked = died = 0
    longest = 0.0
    for row in manifest:
        data = (FOLDER / row["file"]).read_bytes()
        began = time.perf_counter()
        try:
            parse, snapshot = cpu.run(
                parse_bytes, data, row["file"], None, None, backend, limits=parse_limits(len(data))
            )
        except CpuLimitExceeded:
            statuses["past its limits"] += 1
            continue
        except CpuTaskCrashed:
            died += 1
            continue
        longest = max(longest, time.perf_counter() - began)
        statuses[parse.status] += 1
        if row.get("gold"):
            alike.append(similarity(snapshot.text if snapshot else "", golds_of(row)))
        if snapshot is not None and row["file"].split("/")[0] in ("text_gold", "layout"):
            found, wanted = on_page(snapshot, page_letters(data, backend))
            right, looked = right + found, looked + wanted
    return {
        "statuses": dict(statuses.most_common()),
        "died": died,
        "similarity": ratio(sum(alike), len(alike)),
        "on_page": ratio(right, looked),
        "sentences": looked,
        "longest_s": longest,
    }


def main() -> None:
    """Measure both libraries."""
    need("pdf")
    manifest = [json.loads(line) for line in (FOLDER / "manifest.jsonl").read_text("utf-8").splitlines()]
    pymupdf.TOOLS.mupdf_display_errors(False)
    pymupdf.TOOLS.mupdf_display_warnings(False)
    cpu = ProcessCpu(1)
    try:
        results = {backend: run(cpu, backend, manifest) for backend in BACKENDS}
    finally:
        cpu.close()
    print(f"{len(manifest)} files")
    kinds = sorted({kind for result in results.values() for kind in result["statuses"]})
    table(
        ["library", *kinds, "died", "similarity", "on page", "sentences", "longest s"],
        [
            [
                name,
                *(str(result["statuses"].get(kind, 0)) for kind in kinds),
                str(result["died"]),
                f"{result['similarity']:.3f}",
                f"{result['on_page']:.4f}",
                str(result["sentences"]),
                f"{result['longest_s']:.2f}",
            ]
            for name, result in results.items()
        ],
    )
    bars = [Bar(f"similarity, {name}", result["similarity"], LEAST_SIMILARITY) for name, result in results.items()]
    bars += [Bar(f"sentences on their page, {name}", r["on_page"], LEAST_ON_PAGE) for name, r in results.items()]
    bars += [Bar(f"files that end, {name}", 1 - ratio(r["died"], len(manifest)), 1.0) for name, r in results.items()]
    end("bench_pdfs", bars, results)


if __name__ == "__main__":
    main()
