"""Fit the alignment score on the labelled sets and write `services.synthesizer.gate.weights`.

    python -m evals.truth.train_support [--write]

Every set weighs the same, and in a set both labels do. Nothing is drawn at random: folds are cut by the hash of the
claim, so that a claim stands in one fold only, and Newton's method starts at zero. Thresholds come from scores that
were given to pairs out of their fold. Without --write the figures are printed and nothing is changed.
"""

import hashlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log

from evals.truth.logistic import Model, fit
from evals.truth.measures import auroc, balanced, rate
from evals.truth.sets import ROOT, SETS, Pair, need, pairs, save, table
from services.synthesizer.gate.alignment import assess

VERSION = "4"
FOLDS = 10
REPORT_LIKE = ("attribution", "wice_short", "wice_full")
"""Sets of statements as reports make them; 0.5 is put where they are balanced best."""

PASSING = 0.04
"""Which part of the unsupported may pass `EMIT` over all pairs and in each of the report-like sets."""

PASSING_ANYWHERE = 0.04
"""Which part of them may pass in any set, however far from reports: some were written to deceive by one word."""

WEIGHTS = ROOT / "services" / "synthesizer" / "gate" / "weights.py"

GROUPS = {
    "words": ("recall_weighted", "recall_soft"),
    "window": ("window",),
    "names": ("names_missing", "names_any"),
    "figures": ("figures_unmet", "figures_any"),
    "denials": ("denies_alone",),
    "length": ("length", "evidence_length"),
    "answers": ("answers",),
}


@dataclass(frozen=True, slots=True)
class Example:
    """A pair with its features, its fold, and whether nothing forbids that it is emitted."""

    pair: Pair
    features: dict[str, float]
    fold: int
    clean: bool


def examples() -> list[Example]:
    """Return every pair, ready to be fitted."""
    found = []
    for pair in pairs():
        seen = assess(pair.claim, (pair.evidence,), pair.question)
        fold = int(hashlib.sha256(pair.claim.encode()).hexdigest(), 16) % FOLDS
        found.append(Example(pair, dict(seen.features), fold, seen.clean))
    return found


def weight_of(examples_: Sequence[Example]) -> list[float]:
    """Return a weight for each example, such that every set, and both labels of it, weigh the same."""
    counts: dict[tuple[str, bool], int] = {}
    for e in examples_:
        key = (e.pair.set_name, e.pair.supported)
        counts[key] = counts.get(key, 0) + 1
    share = len(examples_) / len(counts)
    return [share / counts[e.pair.set_name, e.pair.supported] for e in examples_]


def fitted(examples_: Sequence[Example], names: Sequence[str]) -> Model:
    """Fit the named features."""
    data = [[e.features[n] for n in names] for e in examples_]
    return fit(data, [e.pair.supported for e in examples_], weight_of(examples_))


def out_of_fold(all_: Sequence[Example], names: Sequence[str], fold_of: Callable[[Example], object]) -> list[float]:
    """Return the score of each example by a model that did not see its fold."""
    scores = [0.0] * len(all_)
    for fold in sorted({str(fold_of(e)) for e in all_}):
        model = fitted([e for e in all_ if str(fold_of(e)) != fold], names)
        for i, e in enumerate(all_):
            if str(fold_of(e)) == fold:
                scores[i] = model.score([e.features[n] for n in names])
    return scores


def of_set(all_: Sequence[Example], scores: Sequence[float], name: str) -> tuple[list[float], list[bool]]:
    """Return the scores and labels of one set."""
    those = [(s, e.pair.supported) for e, s in zip(all_, scores, strict=True) if e.pair.set_name == name]
    return [s for s, _ in those], [y for _, y in those]


def balance_point(all_: Sequence[Example], scores: Sequence[float]) -> float:
    """Return the threshold at which the report-like sets have the best mean balanced accuracy."""

    def mean(threshold: float) -> float:
        found = (of_set(all_, scores, name) for name in REPORT_LIKE)
        return sum(balanced([s >= threshold for s in given], labels) for given, labels in found) / len(REPORT_LIKE)

    grid = [i / 100 for i in range(20, 81)]
    smoothed = {t: (mean(t - 0.02) + mean(t - 0.01) + mean(t) + mean(t + 0.01) + mean(t + 0.02)) / 5 for t in grid}
    return max(grid, key=lambda t: (smoothed[t], -abs(t - 0.5)))


def emit_point(all_: Sequence[Example], scores: Sequence[float]) -> float:
    """Return the least threshold that lets through few enough unsupported ones."""
    for step in range(500, 1000):
        threshold = step / 1000
        passed = [e.clean and s >= threshold for e, s in zip(all_, scores, strict=True)]
        if _let_through(all_, passed, None) <= PASSING and all(
            _let_through(all_, passed, name) <= (PASSING if name in REPORT_LIKE else PASSING_ANYWHERE) for name in SETS
        ):
            return threshold
    return 1.0


def _let_through(all_: Sequence[Example], passed: Sequence[bool], name: str | None) -> float:
    """Return which part of the unsupported of a set, or of all, passed."""
    those = [(p, e.pair.supported) for p, e in zip(passed, all_, strict=True) if name in (None, e.pair.set_name)]
    return rate([p for p, _ in those], [y for _, y in those], of=False)


def shifted(score: float, by: float) -> float:
    """Return a score whose log odds are moved by ``-by``."""
    score = min(max(score, 1e-9), 1 - 1e-9)
    odds = score / (1 - score) * 2.718281828459045**-by
    return odds / (1 + odds)


def balanced_scores(all_: Sequence[Example], names: Sequence[str]) -> list[float]:
    """Return the scores out of their folds, with 0.5 at the balance point."""
    scores = out_of_fold(all_, names, lambda e: e.fold)
    point = balance_point(all_, scores)
    return [shifted(s, log(point / (1 - point))) for s in scores]


def ablation(all_: Sequence[Example], names: Sequence[str]) -> None:
    """Print what each group of features is worth: the loss in area under the curve when it is left out."""
    base = out_of_fold(all_, names, lambda e: e.fold % 5)
    whole = {name: auroc(*of_set(all_, base, name)) for name in SETS}
    body = [["all features", *(f"{100 * whole[s]:.1f}" for s in SETS), ""]]
    for group, members in GROUPS.items():
        scores = out_of_fold(all_, [n for n in names if n not in members], lambda e: e.fold % 5)
        losses = [100 * (whole[s] - auroc(*of_set(all_, scores, s))) for s in SETS]
        body.append([f"without {group}", *(f"{-loss:+.1f}" for loss in losses), f"{max(losses):.1f}"])
    table(["AUROC, points", *SETS, "most"], body)


def main() -> None:
    """Fit, print, and with --write save."""
    need("support")
    all_ = examples()
    names = list(all_[0].features)
    scores = out_of_fold(all_, names, lambda e: e.fold)
    point = balance_point(all_, scores)
    by = log(point / (1 - point))
    moved = [shifted(s, by) for s in scores]
    emit = emit_point(all_, moved)
    left_out = [shifted(s, by) for s in out_of_fold(all_, names, lambda e: e.pair.set_name)]
    body, result = [], {}
    for name in SETS:
        given, labels = of_set(all_, moved, name)
        other, _ = of_set(all_, left_out, name)
        row = (
            auroc(given, labels),
            balanced([s >= 0.5 for s in given], labels),
            auroc(other, labels),
            balanced([s >= 0.5 for s in other], labels),
        )
        result[name] = row
        body.append([name, str(len(given)), *(f"{100 * value:.1f}" for value in row)])
    table(["set", "pairs", "AUROC", "balanced", "AUROC, set unseen", "balanced, set unseen"], body)
    print(f"balance point {point}, emission threshold {emit}")
    if "--ablation" in sys.argv:
        ablation(all_, names)
    save("support_training", {"folds": result, "emit": emit})
    if "--write" in sys.argv:
        write(fitted(all_, names), names, by, emit)


def write(model: Model, names: Sequence[str], by: float, emit: float) -> None:
    """Write the weights as a module."""
    lines = [
        '"""The weights of the alignment score, written by ``python -m evals.truth.train_support --write``."""',
        "",
        f'VERSION = "{VERSION}"',
        f"EMIT = {emit}",
        f"BIAS = {model.bias - by:.6f}",
        "WEIGHTS: tuple[tuple[str, float, float, float], ...] = (",
        *(
            f'    ("{name}", {mean:.6f}, {scale:.6f}, {weight:.6f}),'
            for name, mean, scale, weight in zip(names, model.means, model.scales, model.weights, strict=True)
        ),
        ")",
        '"""Name of the feature, its mean and standard deviation in the labelled sets, and its weight."""',
        "",
    ]
    WEIGHTS.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
