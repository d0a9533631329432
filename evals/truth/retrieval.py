"""Ranking on SciFact (train judgements): ``python -m evals.truth.retrieval`` prints nDCG@10 against plain BM25.

The baseline is BM25 (k1 1.2, b 0.75) over title and text as one, with plural and tense endings left on and no title
weight; ours is what `leadline inspect rank` gives. No embedding model is used.
"""

import json
import math
import re

from evals.truth.sets import DATA, need, rows, save, table
from services.synthesizer.inspect import rank
from shared.domain.rank import Ranking
from shared.domain.text import STOP_WORDS

FOLDER = "retrieval/scifact"
CUT = 10
_WORD = re.compile(r"[a-z0-9]+")


def ndcg(ranked: list[str], judged: dict[str, int]) -> float:
    """Return the normalized discounted cumulative gain of the first ten (Järvelin and Kekäläinen 2002)."""
    gain = sum(judged.get(name, 0) / math.log2(place + 2) for place, name in enumerate(ranked[:CUT]))
    best = sorted(judged.values(), reverse=True)[:CUT]
    return gain / sum(value / math.log2(place + 2) for place, value in enumerate(best))


def _judgements() -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for line in (DATA / FOLDER / "qrels" / "train.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query, document, value = line.split("\t")
        found.setdefault(query, {})[document] = int(value)
    return found


def _words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.casefold()) if word not in STOP_WORDS]


def measured() -> dict[str, float]:
    """Return nDCG@10 of ours and of the baseline."""
    judged = _judgements()
    corpus = list(rows(f"{FOLDER}/corpus.jsonl.gz"))
    queries = [row for row in rows(f"{FOLDER}/queries.jsonl") if str(row["_id"]) in judged]
    plain = Ranking((str(d["_id"]), _words(f"{d['title']} {d['text']}")) for d in corpus)
    ours = rank(map(json.dumps, corpus), map(json.dumps, queries), CUT)
    total = {"ours": 0.0, "BM25": 0.0}
    for query, line in zip(queries, ours, strict=True):
        name = str(query["_id"])
        total["ours"] += ndcg([hit["id"] for hit in json.loads(line)["ranked"]], judged[name])
        total["BM25"] += ndcg([hit for hit, _ in plain.best(_words(str(query["text"])), CUT)], judged[name])
    return {name: value / len(queries) for name, value in total.items()}


def main() -> None:
    """Print and save."""
    need(FOLDER)
    found = measured()
    table(
        ["SciFact, nDCG@10", "ours", "BM25", "published BM25"],
        [["train judgements", f"{found['ours']:.4f}", f"{found['BM25']:.4f}", "about 0.67 (test)"]],
    )
    save("retrieval", found)


if __name__ == "__main__":
    main()
