"""Whether a text can answer a question that asks for a figure or a date."""

import pytest

from services.extractor.engines.extractive import extract_spans
from services.extractor.engines.spans import ExtractRequest
from shared.domain.answering import can_answer
from shared.domain.passages import stats_of_texts
from shared.domain.questions import asked
from shared.domain.segments import segment

DEPTH = "How deep is the basin of the harbour?"


@pytest.mark.parametrize(
    ("question", "text", "able"),
    [
        (DEPTH, "The basin of the harbour is very deep.", False),
        (DEPTH, "The basin of the harbour is twelve metres deep.", True),
        (DEPTH, "The basin of the harbour was deepened in 2021.", False),
        ("What does a 90-metre ship pay?", "A 90-metre ship pays.", False),
        ("What does a 90-metre ship pay?", "A 90-metre ship pays 310 euros.", True),
        ("When was the basin opened?", "The basin was opened by the mayor.", False),
        ("When was the basin opened?", "The basin was opened in May 2021.", True),
        ("Why was the basin opened?", "The basin was opened for the fleet.", True),
        ("How often does the ferry run?", "The ferry runs every day.", True),
    ],
)
def test_a_figure_that_is_asked_for_has_to_stand_there(question: str, text: str, able: bool) -> None:
    """A date is no other figure, and what the question says already is no answer."""
    assert can_answer(text, question, asked(question)) is able


def test_what_lacks_the_figure_is_context() -> None:
    """Of two sentences with the same words of the question, the one that holds a depth answers."""
    text = "The basin of the harbour is deep enough for all. The basin of the harbour is 12 metres deep for all."
    segments = tuple((s.start, s.end) for s in segment(text))
    request = ExtractRequest(
        title="The harbour",
        text=text,
        segments=segments,
        headings=(),
        questions=(("q1", DEPTH),),
        query=DEPTH,
        stats=stats_of_texts([(text, segments)], 10_000),
        max_chars=10_000,
        max_calls=1,
    )
    stances = {p.segment_start: p.stance for p in extract_spans(request)}
    assert stances == {1: "supports", 0: "context"}
