"""Fit how sure an answer is: ``python -m evals.reader.calibrate words|reader [--every N]``.

Every question of the encyclopaedia articles is searched for as the service does, its ten best documents are looked
through, and each sentence that comes up is a row: its figures, and whether it holds an answer that people gave. A
logistic regression is fitted on all but one quarter of the articles and judged on that quarter, four times; the weights
that are printed for `shared/domain/certainty.py` are fitted on all of them.
"""

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evals.inprocess.library import Library
from evals.truth.answers import LANGUAGES, Question, holds, library_of, questions_of, sampled
from evals.truth.sets import need, save
from services.extractor.engines.answers import Found, find
from services.extractor.engines.spans import ExtractRequest
from services.extractor.rules import headings_of
from shared.domain.ids import LOCAL_OWNER
from shared.domain.text import content_terms
from shared.ports.reader import Reader

FOLDS = 4
DOCUMENTS = 10
PENALTY = 1.0
STEPS = 12
BARS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True, slots=True)
class Row:
    """A finding: which question it is for, its figures, whether it answers, and its text."""

    question: int
    figures: Mapping[str, float]
    right: bool
    text: str


def requests_of(question: str, library: Library) -> Iterator[ExtractRequest]:
    """Yield what the extractor is asked for each of the documents that a search finds."""
    terms = content_terms(question)
    for hit in library.search(LOCAL_OWNER, terms, None, DOCUMENTS):
        snapshot = library.snapshots[library.documents[hit.document_id].snapshot_sha256 or ""]
        yield ExtractRequest(
            title=hit.title or "",
            text=snapshot.text,
            segments=snapshot.segments,
            headings=headings_of(snapshot),
            questions=(("q1", question),),
            query=question,
            stats=library.stats(LOCAL_OWNER, terms, None),
            max_chars=200_000,
        )


def sentence_of(request: ExtractRequest, found: Found) -> str:
    """Return the sentence of a finding."""
    return request.text[request.segments[found.first][0] : request.segments[found.last - 1][1]]


def rows_of(number: int, question: Question, library: Library, reader: Reader | None) -> Iterator[Row]:
    """Yield the findings for a question."""
    for request in requests_of(question.text, library):
        for found in find(request, question.text, reader)[1]:
            text = sentence_of(request, found)
            right = question.answerable and holds(text, question.keys, question.set_name)
            yield Row(number, found.figures, right, text)


def fit(values: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return weights and, last, the bias (Newton's method, L2 penalty on the weights)."""
    data = np.column_stack([values, np.ones(len(values))])
    beta = np.zeros(data.shape[1])
    penalty = np.full(data.shape[1], PENALTY)
    penalty[-1] = 0
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-np.clip(data @ beta, -30, 30)))
        gradient = data.T @ (labels - p) - penalty * beta
        hessian = (data * (p * (1 - p))[:, None]).T @ data + np.diag(penalty)
        beta = beta + np.linalg.solve(hessian + 1e-9 * np.eye(len(beta)), gradient)
    return beta


def scores(values: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """Return the probability of each row."""
    return 1 / (1 + np.exp(-np.clip(values @ beta[:-1] + beta[-1], -30, 30)))


def judged(questions: Sequence[Question], rows: Sequence[Row], sure: np.ndarray) -> dict[str, dict[str, float]]:
    """Return, for each bar, what is answered rightly, the share of answers that are right, and what is left."""
    best: dict[int, tuple[float, bool]] = {}
    for row, p in zip(rows, sure, strict=True):
        best[row.question] = max(best.get(row.question, (0.0, False)), (float(p), row.right))
    can = sum(q.answerable for q in questions)
    told: dict[str, dict[str, float]] = {}
    for bar in BARS:
        given = [n for n, (p, _) in best.items() if p >= bar]
        right = sum(best[n][1] for n in given)
        silent = sum(not q.answerable and best.get(n, (0.0, False))[0] < bar for n, q in enumerate(questions))
        told[f"{bar:g}"] = {
            "right": round(100 * right / max(can, 1), 1),
            "precision": round(100 * right / max(len(given), 1), 1),
            "left": round(100 * silent / max(len(questions) - can, 1), 1),
            "given": len(given),
        }
    return told


def fold_of(question: Question) -> int:
    """Return the quarter of the articles that a question belongs to."""
    return int(hashlib.sha256(question.document.encode()).hexdigest(), 16) % FOLDS


def main() -> None:
    """Collect, fit, judge, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("which", choices=("words", "reader"))
    parser.add_argument("--every", type=int, default=1)
    options = parser.parse_args()
    need("answers")
    reader: Reader | None = None
    if options.which == "reader":
        from shared.adapters.reader.onnx import OnnxReader

        reader = OnnxReader()
    questions: list[Question] = []
    rows: list[Row] = []
    for name in LANGUAGES if options.which == "words" else ("en",):
        library, begun, before = library_of(name), time.monotonic(), len(rows)
        for question in sampled(questions_of(name), options.every):
            rows += rows_of(len(questions), question, library, reader)
            questions.append(question)
        print(f"{name}: {len(rows) - before} rows in {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
    names = sorted({name for row in rows for name in row.figures})
    values = np.array([[row.figures.get(name, 0.0) for name in names] for row in rows])
    labels = np.array([float(row.right) for row in rows])
    folds = np.array([fold_of(questions[row.question]) for row in rows])
    sure = np.zeros(len(rows))
    for fold in range(FOLDS):
        sure[folds == fold] = scores(values[folds == fold], fit(values[folds != fold], labels[folds != fold]))
    told = {name: judged_set(name, questions, rows, sure) for name in dict.fromkeys(q.set_name for q in questions)}
    weights = dict(zip([*names, "bias"], (round(float(b), 3) for b in fit(values, labels)), strict=True))
    for name, table in told.items():
        print(name, "(articles left out)")
        for bar, line in table.items():
            print("  ", bar, line)
    print(json.dumps(weights))
    save(f"calibrate_{options.which}", {"weights": weights, "judged": told})


def judged_set(
    name: str, questions: Sequence[Question], rows: Sequence[Row], sure: np.ndarray
) -> dict[str, dict[str, float]]:
    """Judge the questions of one set."""
    places = {n: place for place, n in enumerate(n for n, q in enumerate(questions) if q.set_name == name)}
    own = [n for n, row in enumerate(rows) if row.question in places]
    moved = [Row(places[rows[n].question], rows[n].figures, rows[n].right, rows[n].text) for n in own]
    return judged([q for q in questions if q.set_name == name], moved, sure[own])


if __name__ == "__main__":
    main()
