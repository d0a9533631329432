"""Order of words of PDFs: share of the gold text's neighbours that stay neighbours, ours beside each library's own.

``python -m evals.bench.pdf_order [a folder of PDFs]``. For a folder without gold text, PyMuPDF's own order is the gold.
"""

import json
import re
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pymupdf
import pypdfium2

from evals.bench.pdfs import BACKENDS, FOLDER, golds_of
from services.extractor.reading import pdf

_WORD = re.compile(r"[^\W\d_]{2,}")


def kept(gold: str, text: str) -> float:
    """Return the share of the neighbouring words of `gold` that are neighbours in `text`."""
    wanted, found = (Counter(pairwise(words)) for words in map(_words, (gold, text)))
    return (wanted & found).total() / max(1, wanted.total())


def _words(text: str) -> list[str]:
    """Return the words of a text, those cut at a line's end joined."""
    return _WORD.findall(re.sub(r"-\s*\n\s*", "", text).casefold())


def own(data: bytes) -> dict[str, str]:
    """Return the text in the order of each library."""
    with pymupdf.open(stream=data, filetype="pdf") as document:
        first = "\n".join(page.get_text() for page in document)
    other = pypdfium2.PdfDocument(data)
    pages = (other[number].get_textpage().get_text_range() for number in range(len(other)))
    return {"pymupdf": first, "pypdfium2": "\n".join(pages)}


def main() -> None:
    """Print one row a file."""
    if len(sys.argv) > 1:
        files: dict[Path, list[str]] = {path: [] for path in sorted(Path(sys.argv[1]).glob("*.pdf"))}
    else:
        rows = map(json.loads, (FOLDER / "manifest.jsonl").read_text("utf-8").splitlines())
        files = {FOLDER / row["file"]: golds_of(row) for row in rows if row.get("gold")}
    for path, golds in files.items():
        data = path.read_bytes()
        libraries = own(data)
        wanted = golds or [libraries["pymupdf"]]
        shares = [
            f"{backend} {max(kept(g, pdf.read(data, backend).text) for g in wanted):.3f}"
            f" (library {max(kept(g, libraries[backend]) for g in wanted):.3f})"
            for backend in BACKENDS
        ]
        print(path.name, *shares, sep="  ")


if __name__ == "__main__":
    main()
