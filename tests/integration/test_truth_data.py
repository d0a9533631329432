"""Truth on sets that people labelled: floors below the measured figures; skipped where the sets are not there."""

import time
from collections import Counter

import pytest

from evals.truth import numbers, retrieval, turned
from evals.truth.measures import balanced, rate
from evals.truth.sets import DATA, pairs
from evals.truth.train_support import REPORT_LIKE
from services.synthesizer.gate.alignment import HALF, assess
from services.synthesizer.gate.context import gate_context
from services.synthesizer.gate.judge import judge_aligned
from shared.domain.segments import segment
from tests.factories.research import make_evidence, make_fetch, make_snapshot, make_source, make_statement

needs_data = pytest.mark.skipif(not (DATA / "support").exists(), reason=f"{DATA} with the labelled sets is not there")
WORDS = "harbour silt barge lock tide quay dredger crane survey pilot channel buoy cargo ballast mooring".split()


@needs_data
def test_numeric_pairs_are_right_on_both_sides() -> None:
    """Pairs that differ in a figure are told apart, far more often than by their digits."""
    found = numbers.labelled()
    assert found["ours"] >= 0.85
    assert found["ours"] > found["literal"] + 0.2


@needs_data
def test_a_changed_figure_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nearly every change is caught, and hardly any unchanged statement is refused."""
    monkeypatch.setattr(numbers, "STATEMENTS", 400)
    found = numbers.perturbed()
    assert found["statements"] == 400
    assert float(str(found["caught"])) >= 0.99
    assert float(str(found["refused_unchanged"])) <= 0.01


@needs_data
def test_a_statement_turned_by_one_word_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nearly all sentences that keep their words and say something else stay out of a report, whatever the turn."""
    monkeypatch.setattr(turned, "STATEMENTS", 60)
    made, caught = Counter[str](), Counter[str]()
    for kind, text, _, excerpt in turned.turned():
        made[kind] += 1
        caught[kind] += not assess(text, (excerpt,)).emitted
    assert made.keys() == turned.TURNS.keys()
    assert all(caught[kind] >= 0.85 * count for kind, count in made.items()), caught


@needs_data
def test_support_is_told_on_sets_like_reports() -> None:
    """Balanced accuracy stays above its floors, and few unsupported statements would be emitted."""
    seen: dict[str, list[tuple[float, bool, bool]]] = {name: [] for name in REPORT_LIKE}
    for pair in pairs():
        if pair.set_name in seen:
            found = assess(pair.claim, (pair.evidence,), pair.question)
            seen[pair.set_name].append((found.score, found.emitted, pair.supported))
    for name, rows in seen.items():
        labels = [y for _, _, y in rows]
        assert balanced([s >= HALF for s, _, _ in rows], labels) >= 0.69, name
        assert rate([e for _, e, _ in rows], labels, of=False) <= 0.05, name


@needs_data
def test_ranking_is_better_than_plain_bm25() -> None:
    """Titles and stems bring what they are there for."""
    found = retrieval.measured()
    assert found["ours"] >= 0.70
    assert found["ours"] > found["BM25"]


def test_a_long_report_is_verified_soon() -> None:
    """Two hundred statements, half of them in other words than their source, take less than two seconds of one core."""
    text = " ".join(
        f"In {1800 + n} the {WORDS[n % 15]} of the {WORDS[n % 13]} reached {n + 3} metres beside the {WORDS[n % 7]}."
        for n in range(200)
    )
    snapshot = make_snapshot(text)
    source = make_source("src_1", snapshot)
    sentences = [text[s.start : s.end] for s in segment(text)]
    evidence = tuple(make_evidence(f"ev_{n}", source, snapshot, sentence) for n, sentence in enumerate(sentences))
    statements = [
        make_statement(f"stm_{n}", sentence if n % 2 else sentence.replace("reached", "rose to"), [f"ev_{n}"])
        for n, sentence in enumerate(sentences)
    ]
    context = gate_context(evidence, {snapshot.sha256: text}, (source,), (make_fetch(source),))
    began = time.process_time()
    rows = judge_aligned(statements, context)
    assert time.process_time() - began < 2
    assert Counter(row.verifier for row in rows) == {"containment": 100, "alignment": 100}
