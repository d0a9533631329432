"""Chains of questions: names that lead from what a question points back to, to its answer."""

from services.synthesizer.rules.chains import UNLINKED_FACTOR, weighed
from shared.contracts.plan import Plan, PlannedSection, Question, SearchTask
from shared.domain.chains import linked, linking_names, names_in
from shared.domain.text import content_terms
from tests.factories.research import make_evidence, make_snapshot, make_source

CONTEXT = frozenset(content_terms("the Long Pier"))


def test_names_that_stand_beside_the_context_link() -> None:
    """A name in a sentence about the pier links; one in another sentence, and the pier itself, do not."""
    texts = ["The order for the Long Pier went to Brand Works in May.", "The quay was made by Other Yard."]
    names = linking_names(texts, CONTEXT)
    assert names == {"Brand Works", "May"}
    assert linked("The blocks of Brand Works were cast inland.", CONTEXT, names)
    assert linked("The blocks of the Long Pier were cast inland.", CONTEXT, frozenset())
    assert not linked("The blocks of the quay were cast at Other Yard.", CONTEXT, names)


def test_a_capital_that_opens_a_sentence_is_no_name() -> None:
    """Only capitals inside a sentence count."""
    assert names_in("Blocks were cast. Then Brand Works came.") == ["Brand Works"]


def test_evidence_that_nothing_links_weighs_less() -> None:
    """Of two answers to a question that points back, the one that hangs together with it comes first."""
    questions = (
        Question(id="q1", text="Who built the Long Pier?"),
        Question(id="q2", text="About the Long Pier: where were its blocks cast?"),
    )
    plan = Plan(
        title="T",
        objective="O",
        questions=questions,
        search_tasks=(SearchTask(question_ids=("q1",), query="x"),),
        writing_plan=(PlannedSection(id="s1", title="S"),),
    )
    excerpts = (
        "The order for the Long Pier went to Brand Works.",
        "We at Brand Works cast the blocks at Inner Yard.",
        "The blocks of the quay were cast at Other Yard.",
    )
    snapshot = make_snapshot("\n".join(excerpts))
    told = make_source("src_1", snapshot)
    rows = [
        make_evidence(f"evd_{n}", told, snapshot, text, question_ids=(question,), relevance_bp=relevance)
        for n, (text, question, relevance) in enumerate(
            zip(excerpts, ("q1", "q2", "q2"), (8000, 7000, 7000), strict=True)
        )
    ]
    after = [e.relevance_bp for e in weighed(plan, rows, {told.source_id: told}, None)]
    assert after == [8000, 7000, round(7000 * UNLINKED_FACTOR)]
