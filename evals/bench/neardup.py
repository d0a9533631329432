"""Near-duplicates: precision and recall of the pairs that share a cluster, on news with planted copies and on variants.

``python -m evals.bench.neardup``. The variants are the texts that a dozen extractors made of the same pages: cut short,
with comments, with the site's frame around them.
"""

import json
import time
from collections.abc import Mapping
from itertools import combinations

from evals.bench.outcome import Bar, end, ratio
from evals.truth.sets import DATA, need, rows, table
from shared.domain.dedupe import clusters, signature

LEAST = 0.95
Pairs = set[frozenset[str]]


def pairs_of(groups: Mapping[str, str]) -> Pairs:
    """Return the pairs of ids that have the same group."""
    members: dict[str, list[str]] = {}
    for key, group in groups.items():
        members.setdefault(group, []).append(key)
    return {frozenset(pair) for keys in members.values() for pair in combinations(keys, 2)}


def measure(texts: Mapping[str, str], truth: Pairs) -> dict[str, float]:
    """Cluster texts and compare the pairs with the true ones."""
    began = time.perf_counter()
    sketches = {key: signature(text) for key, text in texts.items()}
    sketched = time.perf_counter()
    found = pairs_of(clusters(sketches))
    return {
        "texts": len(texts),
        "pairs": len(truth),
        "precision": ratio(len(found & truth), len(found)),
        "recall": ratio(len(found & truth), len(truth)),
        "sketch_s": sketched - began,
        "cluster_s": time.perf_counter() - sketched,
    }


def measure_all() -> dict[str, dict[str, float]]:
    """Measure both sets."""
    news = {str(row["id"]): str(row["text"]) for row in rows("neardup/news_2500.jsonl.gz")}
    planted = json.loads((DATA / "neardup" / "news_2500_truth_pairs.json").read_text("utf-8"))
    pages = list(rows("neardup/page_variants_60.jsonl"))
    return {
        "news": measure(news, {frozenset(pair) for pair in planted}),
        "variants": measure(
            {str(row["id"]): str(row["text"]) for row in pages},
            pairs_of({str(row["id"]): str(row["group"]) for row in pages}),
        ),
    }


def main() -> None:
    """Measure, and print."""
    need("neardup")
    results = measure_all()
    shown = ("texts", "pairs", "precision", "recall", "sketch_s", "cluster_s")
    body = [[name, *(f"{result[key]:.3f}".removesuffix(".000") for key in shown)] for name, result in results.items()]
    table(["set", *shown], body)
    bars = [Bar(f"{key} on {name}", results[name][key], LEAST) for name in results for key in ("precision", "recall")]
    end("bench_neardup", bars, results)


if __name__ == "__main__":
    main()
