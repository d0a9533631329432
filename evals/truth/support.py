"""How well the gate tells supported statements from others, set by set: ``python -m evals.truth.support``.

The weights were fitted on these same sets, so the column "folds" (scores by models that did not see the claim) is the
one to believe; "ours" is what `leadline inspect claim` says. The baseline "words" is the share of the statement's words
that the evidence holds, with the threshold that suits each set best. The local 1.5B model as a judge is not asked here.
"""

import time

from evals.truth import train_support as training
from evals.truth.measures import auroc, balanced, rate
from evals.truth.sets import SETS, need, pairs, save, table
from services.synthesizer.gate.alignment import assess
from services.synthesizer.gate.support import check_support
from shared.domain.text import content_terms

PUBLISHED = {
    "attribution": "about 80 macro-F1",
    "wice_short": "77 GPT-4, 88 fine-tuned 3B (accuracy)",
    "summedits": "82.1 GPT-4, 90.9 people",
}
EXCERPT_CHARS = 1_000
SPEED_ROWS = 600


def _share(claim: str, evidence: str) -> float:
    wanted = set(content_terms(claim))
    return len(wanted & set(content_terms(evidence))) / len(wanted) if wanted else 1.0


def _best(scores: list[float], labels: list[bool]) -> float:
    return max(balanced([s >= t / 50 for s in scores], labels) for t in range(51))


def main() -> None:
    """Print the table and save it."""
    need("support")
    examples = training.examples()
    names = list(examples[0].features)
    folds = training.balanced_scores(examples, names)
    by_set: dict[str, list[tuple[float, float, float, bool, bool]]] = {name: [] for name in SETS}
    for pair, fold in zip(pairs(), folds, strict=True):
        seen = assess(pair.claim, (pair.evidence,), pair.question)
        verbatim = check_support(pair.claim, {"e": pair.evidence}, {"e": "e"}).verdict == "supported"
        row = (seen.score, fold, _share(pair.claim, pair.evidence), verbatim or seen.emitted, pair.supported)
        by_set[pair.set_name].append(row)
    body, saved = [], {}
    for name, found in {**by_set, "all": [row for rows in by_set.values() for row in rows]}.items():
        labels = [row[4] for row in found]
        ours, fold, share = ([row[i] for row in found] for i in range(3))
        passed = [row[3] for row in found]
        figures = (
            balanced([s >= 0.5 for s in ours], labels),
            balanced([s >= 0.5 for s in fold], labels),
            auroc(fold, labels),
            _best(share, labels),
            rate(passed, labels, of=False),
            rate(passed, labels, of=True),
        )
        saved[name] = figures
        body.append([name, str(len(found)), *(f"{100 * f:.1f}" for f in figures), PUBLISHED.get(name, "-")])
    head = ["set", "pairs", "ours", "folds", "AUROC", "words", "emitted: others", "emitted: supported", "published"]
    table(head, body)
    speed = _speed()
    print(f"{speed:.0f} statements a second and core, with evidence of up to {EXCERPT_CHARS} characters")
    save("support", {"sets": saved, "columns": head[2:8], "statements_per_second": speed})


def _speed() -> float:
    chosen = [p for p in pairs() if p.set_name in ("attribution", "climate", "fm2")][:SPEED_ROWS]
    began = time.process_time()
    for pair in chosen:
        assess(pair.claim, (pair.evidence[:EXCERPT_CHARS],), pair.question)
    return len(chosen) / (time.process_time() - began)


if __name__ == "__main__":
    main()
