"""Sentences of real pages and passages, each with the sentences around it as its excerpt."""

import json
from collections.abc import Iterator

from evals.truth.sets import DATA, pairs
from shared.domain.segments import segment
from shared.domain.text import clean

AROUND = 2
"""Sentences on either side that belong to an excerpt."""

LEAST_CHARS = 30


def excerpts() -> Iterator[tuple[str, str]]:
    """Yield sentences and their excerpts, every sentence once; the pages come first."""
    seen: set[str] = set()
    for text in _texts():
        spans = segment(text)
        for place, span in enumerate(spans):
            sentence = text[span.start : span.end]
            if len(sentence) > LEAST_CHARS and sentence not in seen:
                seen.add(sentence)
                first, last = spans[max(0, place - AROUND)], spans[min(len(spans) - 1, place + AROUND)]
                yield sentence, text[first.start : last.end]


def _texts() -> Iterator[str]:
    truth = DATA / "html" / "aeb" / "ground-truth.json"
    if truth.exists():
        for page in json.loads(truth.read_text(encoding="utf-8")).values():
            yield clean(page["articleBody"])
    for pair in pairs():
        yield clean(pair.evidence[:4_000])
