"""Reading a model's text: what is found in it, what is refused, and that nothing else ever comes out."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from shared.adapters.model.answers import MAX_CHARS, MAX_DEPTH, Unreadable, read_answer


class Queries(BaseModel):
    """An answer with one list."""

    queries: list[str]


class Loose(BaseModel):
    """An answer that any object would do for, were it taken from inside another."""

    note: str = ""


@pytest.mark.parametrize(
    "text",
    [
        '{"queries": ["a"]}',
        'Here you are:\n\n{"queries": ["a"]}\n\nLet me know!',
        '```json\n{"queries": ["a"]}\n```',
        '{"queries": ["a"]}{}',
        '<think>perhaps {"queries": ["b"]}</think>{"queries": ["a"]}',
        'perhaps {"queries": ["b"]}</think>{"queries": ["a"]}',
        'Use {placeholders} like {this}: {"queries": ["a"], "other": 1}',
    ],
)
def test_the_object_is_found(text: str) -> None:
    """Whatever stands around the answer is passed over."""
    assert read_answer(text, Queries).queries == ["a"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no JSON object"),
        ("I cannot do that.", "no JSON object"),
        ('["a"]', "no JSON object"),
        ('{"search_terms": ["a"]}', "queries: Field required"),
        ('{"queries": "a"}', "queries: Input should be a valid list"),
        ('{"queries": ["a"', "no valid JSON"),
        (r'{"queries": ["attention \upcite{ref6}"]}', "no valid JSON"),
        ('{"queries": NaN}', "NaN is no JSON value"),
        ('{"queries": [], "n": Infinity}', "Infinity is no JSON value"),
        (f'{{"queries": [], "n": 1{"0" * 400}}}', "more than 40 digits"),
        ('{"queries": [], "queries": ["a"]}', "stands twice"),
        (f'{{"queries": {"[" * 20_000}{"]" * 20_000}}}', f"more than {MAX_DEPTH} deep"),
        ("x" * (MAX_CHARS + 1), "longer than"),
    ],
)
def test_what_cannot_be_used_is_named(text: str, told: str) -> None:
    """The message tells the writer what to mend."""
    with pytest.raises(Unreadable, match=told):
        read_answer(text, Queries)


def test_an_object_inside_a_broken_one_is_not_the_answer() -> None:
    """A cut-off answer is never replaced by a part of itself."""
    with pytest.raises(Unreadable, match="no valid JSON"):
        read_answer('{"findings": [{"note": "inner"}, {"no', Loose)


def test_strings_are_cleaned() -> None:
    """NUL, lone surrogates and invisible characters do not reach the database."""
    read = read_answer(r'{"queries": ["a\u0000b", "\ud83d", "c\u200bd"]}', Queries)
    assert read.queries == ["ab", "�", "cd"]


@given(st.text() | st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists).map(json.dumps))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Nothing but `Unreadable` is ever raised."""
    with contextlib.suppress(Unreadable):
        assert isinstance(read_answer(text, Queries), Queries)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc", "Cf", "Co", "Cn"]), max_size=20), max_size=5))
def test_what_is_written_as_json_comes_back(queries: list[str]) -> None:
    """A well-formed answer is never misread, whatever its strings hold."""
    text = json.dumps({"queries": queries})
    assert len(read_answer(f"So:\n{text}\nDone.", Queries).queries) == len(queries)
