"""Names that lead from what a question points back to, to its answer; evidence as it is ranked."""

from services.synthesizer.rules.chains import each_where_it_serves_best, weighed
from shared.domain.chains import names_in
from shared.domain.rank import CorpusStats
from tests.factories.research import make_evidence, make_plan, make_snapshot, make_source


def test_a_capital_that_opens_a_sentence_is_no_name() -> None:
    """Only capitals inside a sentence count."""
    assert names_in("Blocks were cast. Then Brand Works came.") == ["Brand Works"]


def test_evidence_is_ranked_by_what_it_holds_of_the_question() -> None:
    """Of an answer its relevance counts as much as the share; a model's relevances are kept."""
    excerpts = ("Brand Works built the Long Pier.", "Brand Works was asked by the town.")
    snapshot = make_snapshot("\n".join(excerpts))
    told = make_source("src_1", snapshot, title=None)
    rows = [
        make_evidence("evd_0", told, snapshot, excerpts[0], relevance_bp=8000),
        make_evidence("evd_1", told, snapshot, excerpts[1], relevance_bp=3000, stance="context"),
    ]
    plan, sources = make_plan("Who built the Long Pier with Brand Works?"), {told.source_id: told}
    assert [e.relevance_bp for e in weighed(plan, rows, sources, None)] == [8000, 3000]
    after = [e.relevance_bp for e in weighed(plan, rows, sources, CorpusStats(10, 5.0, {}))]
    assert after == [9000, 4000]


def test_evidence_is_told_under_the_question_that_it_serves_best() -> None:
    """What bears on two parts of a question is no finding of the one that it says less of; a draw stays with both."""
    excerpts = ("The blocks of the pier were cast at Stennet.", "Brand Works built the pier.", "The pier is long.")
    snapshot = make_snapshot("\n".join(excerpts))
    told = make_source("src_1", snapshot, title=None)
    both = {"question_ids": ("q1", "q2"), "relevance_bp": 8000}
    rows = [make_evidence(f"evd_{n}", told, snapshot, text, **both) for n, text in enumerate(excerpts)]
    plan = make_plan("Who built the pier?", "Where were the blocks of the pier cast?")
    placed = each_where_it_serves_best(plan, rows, {told.source_id: told}, CorpusStats(10, 5.0, {}))
    assert [e.question_ids for e in placed[:2]] == [("q2",), ("q1",)]
    alike = make_plan("Is the pier long?", "Was the pier long?")
    [_, _, last] = each_where_it_serves_best(alike, rows, {told.source_id: told}, CorpusStats(10, 5.0, {}))
    assert last.question_ids == ("q1", "q2")


def test_a_question_that_nothing_serves_best_keeps_its_evidence() -> None:
    """Else what was found for it would stand under another question, and its own section would be empty."""
    excerpts = ("The long pier was opened in 1950.", "The long pier at Stennet was opened by the mayor.")
    snapshot = make_snapshot("\n".join(excerpts))
    told = make_source("src_1", snapshot, title=None)
    rows = [
        make_evidence("evd_0", told, snapshot, excerpts[0], question_ids=("q1", "q2")),
        make_evidence("evd_1", told, snapshot, excerpts[1], question_ids=("q2",)),
    ]
    plan = make_plan("In which year was the harbour opened at last?", "Who opened the long pier?")
    placed = each_where_it_serves_best(plan, rows, {told.source_id: told}, CorpusStats(10, 5.0, {}))
    assert [e.question_ids for e in placed] == [("q1", "q2"), ("q2",)]
