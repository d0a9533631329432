"""Questions that the harbor corpus says nothing about: a word in common is no evidence."""

from functools import cache

import pytest

from evals.inprocess.library import Library
from evals.inprocess.play import play
from tests.support.harbor_site import corpus_files


@cache
def harbor() -> Library:
    """Return the corpus, read once."""
    library = Library()
    library.add_all((path.name, path.read_bytes()) for path in corpus_files())
    return library


@pytest.mark.parametrize(
    "question",
    [
        "Who won the zeppelin regatta on Mars?",
        "Which bank financed the opera house in Vienna?",
        "How tall is the Eiffel Tower?",
        "When did the harbour's football club win the cup?",
    ],
)
def test_a_question_without_an_answer_ends_so(question: str) -> None:
    """The run finds nothing, and its report states nothing."""
    world = play(question, harbor())
    report = world.reports[-1]
    assert world.stop_reason == "no_evidence"
    assert report.short_answer is None
    assert not any(block.statements for section in report.sections for block in section.blocks)
