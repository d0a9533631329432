"""Reading questions: parts, what they point back to, the kind of answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.planner.engines.extractive import _query as query_of
from shared.domain.questions import AnswerKind, asked, is_repeat, split_question
from shared.domain.text import content_terms


def test_a_question_of_three_parts_is_split() -> None:
    """Parts after the first say what they are about when their own words only point back to it."""
    assert split_question("Who built the Long Pier, where was it cast, and which boat carried the blocks?") == (
        "Who built the Long Pier?",
        "About the Long Pier: where was it cast?",
        "Which boat carried the blocks?",
    )


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("At the 2011 census, what was the population?", ("At the 2011 census, what was the population?",)),
        ("Between the Mole and the Pier, which is longer?", ("Between the Mole and the Pier, which is longer?",)),
        ("In which year was it built, and why?", ("In which year was it built?", "Why?")),
        ("Who was it, and on what day?", ("Who was it, and on what day?",)),
        ("By the sea?", ("By the sea?",)),
        ("After the storm, was the pier closed, and when?", ("After the storm, was the pier closed?", "When?")),
        (
            "Who built the Long Pier? In France, who repaired it?",
            ("Who built the Long Pier?", "About the Long Pier: In France, who repaired it?"),
        ),
    ],
)
def test_what_sets_the_scene_is_no_question(text: str, parts: tuple[str, ...]) -> None:
    """It belongs to the question after it."""
    assert split_question(text) == parts


@pytest.mark.parametrize(
    "text",
    ["How much salt, sand and gravel was moved?", "Why do boats and ships sink?", "港口疏浚了多少土方？"],
)
def test_lists_are_not_parts(text: str) -> None:
    """Commas and conjunctions split only before a question word."""
    assert len(split_question(text)) == 1


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("How many boats came?", AnswerKind.QUANTITY),
        ("What does a boat pay to pass?", AnswerKind.QUANTITY),
        ("What was the total cost of the works?", AnswerKind.QUANTITY),
        ("When does it open?", AnswerKind.DATE),
        ("In which year was it built?", AnswerKind.DATE),
        ("Who built it?", AnswerKind.NAME),
        ("Why did it sink?", AnswerKind.ANY),
        ("At the 2011 census, how many people lived in the harbour?", AnswerKind.QUANTITY),
        ("In the war, who led the fleet?", AnswerKind.NAME),
        ("According to the harbour master, when was the pier built?", AnswerKind.DATE),
        ("About the Long Pier: in the war, who led the fleet?", AnswerKind.NAME),
    ],
)
def test_the_kind_of_answer(question: str, kind: AnswerKind) -> None:
    """A question tells whether a figure, a date or a name has to be in its answer, whatever sets its scene."""
    assert asked(question).answer is kind


def test_the_focus_is_the_thing_asked_for() -> None:
    """What follows "which" or "what", up to the verb."""
    assert asked("What insurance premium did the port pay?").focus == frozenset(content_terms("insurance premium"))
    assert asked("Which barge carried the blocks?").focus == frozenset(content_terms("barge"))
    assert asked("What is the depth?").focus == frozenset()


def test_context_comes_from_the_frame() -> None:
    """The words of the frame are context, not wanted."""
    own = asked("About the Long Pier: where was it cast?")
    assert own.context == frozenset(content_terms("Long Pier"))
    assert own.wanted == frozenset(content_terms("cast"))


@given(st.text(max_size=400))
def test_any_text_is_at_least_one_question(text: str) -> None:
    """Whatever was typed, there is something to ask, and reading it does not fail."""
    parts = split_question(text)
    assert parts
    for part in parts:
        asked(part)


def test_a_repeat_is_seen() -> None:
    """The same words in another order or inflection are the same query; an empty query is never new."""
    earlier = [frozenset(content_terms("dredged material of the basin"))]
    assert is_repeat("basin: material dredging", earlier)
    assert not is_repeat("insurance premium", earlier)
    assert is_repeat("the of and", [])


def test_a_question_of_marks_alone_still_has_a_query() -> None:
    """What is left of "?" without its mark is nothing; the query is then the mark itself, and the plan is valid."""
    [question] = split_question("?")
    assert query_of(question)
