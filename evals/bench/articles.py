"""Main content of real articles: 4-gram F1 of the article extraction benchmark, ours beside trafilatura's.

``python -m evals.bench.articles``. The metric is that of scrapinghub/article-extraction-benchmark: multisets of runs of
four words, precision and recall averaged over the pages, F1 of the two averages. Pages per second are those of one
process, bytes to text.
"""

import gzip
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from trafilatura import extract

from evals.bench.outcome import Bar, end
from evals.truth.sets import DATA, need, table
from services.extractor.reading.read import read

FOLDER = DATA / "html" / "aeb"
WORDS = 4
_WORD = re.compile(r"\w+")


def ours(page: bytes, url: str) -> str:
    """Return our text of a page."""
    return read(page, name=None, content_type="text/html", url=url).text


def trafilatura(page: bytes, url: str) -> str:
    """Return the library's text of a page, with the settings that it publishes for this benchmark."""
    return extract(page, url=url, include_comments=False, no_fallback=False) or ""


READERS: Mapping[str, Callable[[bytes, str], str]] = {"leadline": ours, "trafilatura": trafilatura}


def shingles(text: str) -> Counter[tuple[str, ...]]:
    """Return the runs of four words; of a shorter text the words it has."""
    words = _WORD.findall(text)
    return Counter(tuple(words[start : start + WORDS]) for start in range(max(1, len(words) - WORDS + 1)))


def page_scores(found: str, gold: str) -> tuple[float, float]:
    """Return precision and recall of one page."""
    one, other = shingles(found), shingles(gold)
    common = sum((one & other).values())
    return common / sum(one.values()), common / sum(other.values())


def f1(scores: Sequence[tuple[float, float]]) -> tuple[float, float, float]:
    """Return the averages of precision and recall, and the F1 of these."""
    precision = sum(p for p, _ in scores) / len(scores)
    recall = sum(r for _, r in scores) / len(scores)
    return precision, recall, 2 * precision * recall / (precision + recall)


def main() -> None:
    """Measure every reader on every page."""
    need("html/aeb")
    truth = json.loads((FOLDER / "ground-truth.json").read_text("utf-8"))
    pages = {name: gzip.decompress((FOLDER / "html" / f"{name}.html.gz").read_bytes()) for name in truth}
    rows, results = [], {}
    for reader, text_of in READERS.items():
        text_of(next(iter(pages.values())), "https://warm.test/")  # imports and caches are not what is measured
        began = time.perf_counter()
        texts = {name: text_of(page, truth[name]["url"]) for name, page in pages.items()}
        speed = len(pages) / (time.perf_counter() - began)
        precision, recall, score = f1([page_scores(texts[name], truth[name]["articleBody"]) for name in truth])
        results[reader] = {"precision": precision, "recall": recall, "f1": score, "pages_per_s": speed}
        rows.append([reader, f"{precision:.3f}", f"{recall:.3f}", f"{score:.3f}", f"{speed:.1f}"])
    print(f"{len(pages)} pages")
    table(["reader", "precision", "recall", "F1", "pages/s"], rows)
    end("bench_articles", [Bar("F1", results["leadline"]["f1"], results["trafilatura"]["f1"])], results)


if __name__ == "__main__":
    main()
