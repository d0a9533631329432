"""Conflicts that are none: a figure counts only if it belongs to the thing asked for, and sides only if they meet."""

import os
from pathlib import Path

import pytest

from evals.inprocess.library import Library
from evals.inprocess.play import play
from services.planner.belonging import figure_of
from services.planner.scopes import apart, scope_of, years_in
from shared.contracts.report import Report
from shared.domain.conversion import dimension_of
from shared.domain.measures import COUNT, MONEY, measure_of
from shared.domain.pronouns import leans_on_its_text, points_back
from tests.factories.research import make_evidence, make_snapshot, make_source

CASES = (
    Path(os.environ.get("LEADLINE_TEST_DATA", Path(__file__).parents[2].parent / "shared" / "data")).parent / "cases"
)


def asked_over(question: str, *texts: str) -> Report:
    """Return the report on a question over documents with these texts."""
    library = Library()
    library.add_all((f"{chr(97 + n)}.md", text.encode()) for n, text in enumerate(texts))
    return play(question, library).reports[-1]


@pytest.mark.parametrize(
    ("question", "sentence", "value"),
    [
        ("How many people does the room hold?", "The room for people holds the fair on 14–15 April.", None),
        ("How many people does the room hold?", "The room holds 30 people.", 30),
        ("How long does a release receive full support?", "PEP 397 tells about the support of releases.", None),
        ("How long does a release receive full support?", "The release had 4 votes in favour.", None),
        ("How long does a release receive full support?", "A release has full support for 18 months.", 18),
        ("How many hours of leave can I carry over?", "Comp time expires one year after it is earned.", None),
        ("How many hours of leave can I carry over?", "You can carry over 240 hours of leave.", 240),
        ("How many employees does the office have?", "Every employee works 80 hours in two weeks.", None),
        ("How many employees does the office have?", "The office has 310 employees.", 310),
        ("How wide is the lock?", "The lock is 412 metres long and 38 metres wide.", 38),
        ("How deep is the lock?", "The lock is 412 metres long and 38 metres wide.", None),
        (
            "What did the bridge cost?",
            "The bridge of 1932 has 3 spans of 40 metres and cost 3.1 million dollars.",
            3_100_000,
        ),
        ("How many rooms are there?", "See room 12 on page 4.", None),
        ("How many rooms are there?", "There are 20 to 30 rooms.", None),
        ("How many rooms are there?", "Ticket #4711 lists the rooms.", None),
        ("How many versions are there?", "Python 3 has versions.", None),
    ],
)
def test_a_figure_belongs_to_what_is_asked(question: str, sentence: str, value: float | None) -> None:
    """Its noun, its dimension or its unit is that of the question; names, parts of dates and ranges are none."""
    found = figure_of(question, sentence)
    assert (None if found is None else float(found.value)) == value


def test_a_date_belongs_by_the_clause_it_stands_in() -> None:
    """Of several dates the one in the clause of the words asked for; what is asked of today is not what used to be."""
    sentence = "The lock was planned in 1911, opened in 1932 and closed in 1960."
    for word, year in (("planned", "1911"), ("opened", "1932"), ("closed", "1960")):
        found = figure_of(f"When was the lock {word}?", sentence)
        assert found is not None
        assert found.date == year
    assert figure_of("How much is the toll?", "The toll used to be 3 dollars.") is None


def test_a_question_names_what_it_measures() -> None:
    """A unit, a noun, an amount of money, a dimension."""
    assert measure_of("How many cubic metres were dredged?").unit == "m3"
    assert measure_of("How many ships called?").dimensions == {COUNT}
    assert measure_of("How much does it cost?").dimensions == {MONEY}
    assert measure_of("How deep is it?").dimensions == {"length"}
    assert measure_of("How long does it take?").dimensions == {"time", "calendar"}
    assert (dimension_of("km"), dimension_of("°C"), dimension_of("TEU")) == ("length", "temperature", None)


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        ("The port handled 1,204 ships in 2023.", "The port handled 1,377 ships in 2024.", False),
        ("In Tarnby the fee is 4 dollars.", "The fee at Holm is 5 dollars.", False),
        ("The fee is 4 dollars per day.", "The fee is 20 dollars a month.", False),
        ("The port handled 1,204 ships in 2023.", "The port handled 1,377 ships in 2023.", True),
        ("The port handled 1,204 ships.", "The port handled 1,377 ships in 2024.", True),
    ],
)
def test_sides_that_each_name_their_own_scope_do_not_meet(one: str, other: str, meet: bool) -> None:
    """Years, places and rates; a side that names none meets every other."""
    scopes = []
    for n, text in enumerate((one, other)):
        snapshot = make_snapshot(text)
        evidence = make_evidence(f"evd_{n}", make_source(f"src_{n}", snapshot), snapshot, text)
        scopes.append(scope_of(evidence, "How many ships did the port handle?"))
    assert apart(*scopes) is not meet


BRIDGE = """# Kestrel Bridge

The Kestrel Bridge crosses the Ouse at Tarnby. It is {} metres long. It was opened on {}. It cost {} million dollars.
"""
MILL = """# Notes on the mill

The Dalmark Mill stands in the valley. It was built in {} and its wheel is {} metres high. It grinds {} tonnes a day.
"""


@pytest.mark.parametrize(
    ("question", "rows", "text", "values"),
    [
        (
            "How long is the Kestrel Bridge, when was it opened and what did it cost?",
            3,
            BRIDGE,
            (("412", "4 May 1932", "3.1"), ("398", "12 June 1934", "4.7"), ("450", "1 July 1936", "5.9")),
        ),
        (
            "When was the Dalmark Mill built, and how high is its wheel?",
            2,
            MILL,
            (("1803", "6.5", "9"), ("1811", "7.2", "9"), ("1820", "5.1", "9")),
        ),
    ],
)
def test_each_conflict_stands_once_under_its_own_question(
    question: str, rows: int, text: str, values: tuple[tuple[str, ...], ...]
) -> None:
    """Three documents whose sentences begin with "It" differ in two or three things: a row for each, with all sides."""
    report = asked_over(question, *(text.format(*row) for row in values))
    asked = [row.summary.split("”")[0] for row in report.contradictions]
    assert len(asked) == len(set(asked)) == rows
    assert all(len(row.evidence_ids) == len(values) for row in report.contradictions)


def test_figures_of_two_years_are_no_conflict() -> None:
    """The shared case of two reports, and two more forms."""
    folder = CASES / "second" / "conflict-across-years"
    if not folder.exists():
        pytest.skip(f"{folder} is not there")
    report = asked_over(
        "How many ships did the port of Hallsund handle?", *(p.read_text() for p in sorted(folder.glob("*.md")))
    )
    assert report.contradictions == ()


@pytest.mark.parametrize(
    "texts",
    [
        ("The quay of Tarnby had 310 berths in 1998.", "In 2011 the quay of Tarnby had 420 berths."),
        (
            "The quay of Tarnby has 310 berths.",
            "The quay of Tarnby, on 14–15 May open to all, has berths.",
            "See PEP 397.",
        ),
        (
            "The quay of Tarnby has 310 berths.",
            "Berths of the quay of Tarnby are 12 metres long.",
            "Berth 7 is closed.",
        ),
    ],
)
def test_what_differs_in_year_dimension_or_kind_is_no_conflict(texts: tuple[str, ...]) -> None:
    """Nothing of it is put against the number of berths."""
    report = asked_over("How many berths does the quay of Tarnby have?", *(f"# Tarnby\n\n{t}\n" for t in texts))
    assert report.contradictions == ()


def test_sentences_that_point_back() -> None:
    """Those that begin with a pronoun, and those that speak of what only their own text names."""
    assert points_back("It is 33 m long.")
    assert not points_back("Items are sold here.")
    assert leans_on_its_text("The majority wants to reject the proposal altogether.")
    assert leans_on_its_text("This PEP proposes adding Roman numerals.")
    assert not leans_on_its_text("A Kestrel flying boat dropped the bomb on Tarnby.")


@pytest.mark.parametrize(
    ("text", "years"),
    [
        ("From September 2020 to May 2022 it dredged 1,184,000 cubic metres.", {"2020", "2021", "2022"}),
        ("In the years 2019–2021 it rose.", {"2019", "2020", "2021"}),
        ("Between 2001 and 2003 three were built.", {"2001", "2002", "2003"}),
        ("In 2021 it rose.", {"2021"}),
        ("In 2001 and 2003 three were built.", {"2001", "2003"}),
    ],
)
def test_a_period_names_the_years_between_its_ends(text: str, years: set[str]) -> None:
    assert years_in(text) == years
