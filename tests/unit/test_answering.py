"""Whether a text can answer a question that asks for a figure or a date."""

import pytest

from services.extractor.engines.extractive import extract_spans
from services.extractor.engines.spans import ExtractRequest
from shared.domain.answering import can_answer
from shared.domain.passages import stats_of_texts
from shared.domain.segments import segment

DEPTH = "How deep is the basin of the harbour?"


@pytest.mark.parametrize(
    ("question", "text", "able"),
    [
        (DEPTH, "The basin of the harbour is very deep.", False),
        (DEPTH, "The basin of the harbour is twelve metres deep.", True),
        ("How long is the 90-metre quay?", "The 90-metre quay is long.", False),
        ("How many of the 12 barges sank?", "Most of the 12 barges sank.", False),
        ("How many of the 12 barges sank?", "All 12 barges sank.", True),
        ("How many barges sank?", "No barge sank.", True),
        ("How far is the island?", "The island is half a mile away.", True),
        ("How old is the bridge?", "The bridge was built in 1890.", True),
        ("At the 2011 census, how many people lived there?", "At the 2011 census, people lived there.", False),
        ("About the pier: how long is it?", "The pier is long.", False),
        ("When was the basin opened?", "The basin was opened after the storm.", True),
        ("Which country has the largest population?", "India has the largest population.", True),
        ("How often does the ferry run?", "The ferry runs whenever it is full.", True),
        ("Wie tief ist das Becken?", "Das Becken ist tief.", True),
    ],
)
def test_a_figure_that_is_asked_for_has_to_stand_there(question: str, text: str, able: bool) -> None:
    """A word that counts will do; what the question says already is no answer."""
    assert can_answer(text, question) is able


def test_what_lacks_the_figure_is_context() -> None:
    """Of two sentences with the same words of the question, the one that holds a depth answers."""
    text = "The basin of the harbour is deep enough for the fleet. The basin of the harbour is 12 metres deep there."
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
