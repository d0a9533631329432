"""Real pages and files, where they are at hand: the reader's figures on them, and a status for each."""

import gzip
import json
import os
import re
from collections import Counter
from pathlib import Path

import pytest

from services.extractor.reading.read import read
from shared.domain.segments import segment
from shared.domain.text import clean

DATA = Path(os.environ.get("LEADLINE_TEST_DATA", Path(__file__).parents[2].parent / "shared" / "data"))
pytestmark = pytest.mark.skipif(not (DATA / "html" / "aeb").is_dir(), reason="the real test data are not at hand")


def shingles(text: str) -> Counter[tuple[str, ...]]:
    """Return the runs of four words."""
    words = re.findall(r"\w+", text.lower())
    return Counter(tuple(words[start : start + 4]) for start in range(max(1, len(words) - 3)))


def test_the_main_content_of_real_articles_is_found() -> None:
    """Precision and recall of four-word runs, averaged over the pages, as the article extraction benchmark has it."""
    precision = recall = 0.0
    truth = json.loads((DATA / "html" / "aeb" / "ground-truth.json").read_text("utf-8"))
    for name, entry in truth.items():
        page = gzip.decompress((DATA / "html" / "aeb" / "html" / f"{name}.html.gz").read_bytes())
        reading = read(page, name=None, content_type="text/html", url=entry["url"])
        assert reading.status == "ok"
        assert clean(reading.text) == reading.text
        assert segment(reading.text)
        found, gold = shingles(reading.text), shingles(entry["articleBody"])
        common = sum((found & gold).values())
        precision += common / sum(found.values())
        recall += common / sum(gold.values())
    precision, recall = precision / len(truth), recall / len(truth)
    assert 2 * precision * recall / (precision + recall) > 0.965


def pdfs() -> list[dict[str, str]]:
    """Return the rows of the manifest of PDFs."""
    path = DATA / "pdf" / "manifest.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.is_file() else []


@pytest.mark.parametrize("row", pdfs(), ids=lambda row: row["file"])
def test_every_real_pdf_ends_in_a_status(row: dict[str, str]) -> None:
    """Broken, encrypted, scanned or fit to read: each file ends, and the text that there is can be quoted by page."""
    reading = read((DATA / "pdf" / row["file"]).read_bytes(), name=row["file"], content_type=None, url=None)
    assert bool(reading.text) == (reading.status == "ok")
    assert clean(reading.text) == reading.text
    if reading.text:
        assert (reading.pages[0].start, reading.pages[-1].end) == (0, len(reading.text))
    kind = row["file"].split("/")[0]
    if kind == "scanned":
        assert reading.status == "scanned"
    elif kind == "encrypted" and row.get("user_password"):
        assert reading.status == "encrypted"
    elif kind == "text_gold":
        assert reading.status == "ok"
