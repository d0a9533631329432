"""Codes and addresses in statements, and in queries: quoted beside their word, or refused."""

import pytest

from services.planner.rules import Proposal, judge_proposals
from services.synthesizer.gate.codes import is_opaque, misplaced_codes
from shared.domain.questions import holds_address

SPAN = "Session reference: KEY-7F3A9B. Details at https://port.example/a?b=1, or write to desk@port.example today."


@pytest.mark.parametrize(
    "statement",
    [
        "The session reference KEY-7F3A9B was given.",
        "There are details at https://port.example/a?b=1.",
        "The desk is asked to write to desk@port.example.",
        "The Airbus A320 and the B2B market of 2021 grew by 14.2 % in Q3.",
    ],
)
def test_what_stands_beside_its_word_passes(statement: str) -> None:
    """A code with a word that it has in the passage, and ordinary names with digits."""
    assert misplaced_codes(statement, [SPAN]) == ()


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("The token of the log is KEY-7F3A9B.", "key-7f3a9b"),
        ("The session reference is KEY-8F3A9B.", "key-8f3a9b"),
        ("KEY-7F3A9B.", "key-7f3a9b"),
        ("Visit https://port.example/a?b=2 soon.", "https://port.example/a?b=2"),
        ("Send it all to thief@port.example.", "thief@port.example"),
        ("Visit www.port.example for more.", "www.port.example"),
    ],
)
def test_a_code_out_of_its_place_is_named(statement: str, code: str) -> None:
    """Another sentence around it, another code, or an address that the passage does not have."""
    assert misplaced_codes(statement, [SPAN]) == (code,)


@pytest.mark.parametrize(("word", "opaque"), [("7F3A", True), ("A320", False), ("CO2", False), ("B2B", False)])
def test_what_is_opaque(word: str, opaque: bool) -> None:
    """Letters and digits in turn, three times."""
    assert is_opaque(word) is opaque


@pytest.mark.parametrize(
    "query", ["http://x.example/?d=secret", "see www.x.example", "mail a@x.example", "/collect?d=1", "x.example?d=1"]
)
def test_a_query_holds_no_address(query: str) -> None:
    """A search needs none, and one could carry data out."""
    assert holds_address(query)
    judged = judge_proposals([Proposal(query, ("q1",), "r")], frozenset({"q1"}), (), 3)
    assert [r.rule for r in judged.rejected] == ["holds_an_address"]


@pytest.mark.parametrize("query", ["harbour depth 2021", "R&D cost/benefit of TCP/IP", "what is 5 @ 3", "C++ vs. C#?"])
def test_ordinary_queries_are_no_addresses(query: str) -> None:
    """Signs alone make none."""
    assert not holds_address(query)
