"""Lines of name and value are evidence, and what a document's first lines, title or file name say dates it."""

import pytest

from evals.inprocess.library import Library
from evals.inprocess.play import play
from services.extractor.engines.lists import end_of_list, is_item, leads
from services.extractor.parsing import parse_bytes
from services.synthesizer.rules.citing import all_statements
from shared.domain.fields import field_of

PROPOSAL = """Note: 557
Title: Kestrel Boats
Author: Orla M. Vask <orla@vask.example>
Created: 02-Jun-2017

Rationale
=========

Boats of many kinds are described in this text, which is long enough to be read as a paragraph.
"""
BUDGET = "# The new pier\n\nThe pier is to be built of stone.\n\nTarget: 60,000 USD\n\nRaised so far: 12,500 USD\n"


def test_a_line_of_name_and_value_is_one() -> None:
    """A sentence and a clock are none."""
    assert field_of("Target: 60,000 USD") == ("Target", "60,000 USD")
    assert field_of("**Raised so far:** 12,500 USD") == ("Raised so far", "12,500 USD")
    assert field_of("At 10:30 we met.") is None
    assert field_of("It rained all day and we said to one another: go home.") is None


@pytest.mark.parametrize(
    ("text", "name", "question", "said"),
    [
        (PROPOSAL, "note-0557.txt", "Who is the author of Note 557 on Kestrel boats?", "Orla M. Vask"),
        (BUDGET, "pier.md", "What is the target of the new pier?", "60,000 USD"),
        ("# Room 4\n\n- Seats: 24\n- Screen: yes\n", "room.md", "How many seats has Room 4?", "24"),
    ],
)
def test_a_field_is_evidence(text: str, name: str, question: str, said: str) -> None:
    """It stands in the report."""
    library = Library()
    library.add(name, text.encode())
    assert any(said in s.text for s in all_statements(play(question, library).reports[-1]))


@pytest.mark.parametrize(
    ("text", "name", "date"),
    [
        (PROPOSAL, "note-0557.txt", "2017-06-02"),
        ("# Minutes of 5 June 2021\n\nThe board met in the hall of the harbour.\n", "minutes.md", "2021-06-05"),
        ("# Minutes\n\nDate: 7 March 2022\nPresent: Orla Vask\n\nThe board met in the hall.\n", "m.txt", "2022-03-07"),
        ("The board met in the hall of the harbour.\n", "board-minutes-2021-06.txt", "2021-06"),
        ("The board met in the hall of the harbour.\n", "20230914 board.txt", "2023-09-14"),
        ("The board met in the hall of the harbour.\n", "report-2023.txt", None),
        ("# From 5 June 2021 to 7 July 2022\n\nThe board met in the hall.\n", "a.md", None),
        ("The board met in the hall of the harbour.\n", "part-12345678.txt", None),
    ],
)
def test_what_a_document_says_of_itself_dates_it(text: str, name: str, date: str | None) -> None:
    """The header, else the title, else the file's name; a year alone and a span of time do not."""
    assert parse_bytes(text.encode(), name)[0].published_at == date


def test_a_header_gives_the_title() -> None:
    """With the number of the series that it opens with."""
    assert parse_bytes(PROPOSAL.encode(), "note-0557.txt")[0].title == "NOTE 557: Kestrel Boats"


@pytest.mark.parametrize("mark", ["- ", "1. ", "* "])
def test_a_lead_in_brings_its_list(mark: str) -> None:
    """What is to be submitted stands in the report with the sentence that leads to it."""
    items = ("the form of the harbour board", "a letter of the pilot", "the plan of the berth")
    listed = "\n".join(f"{mark}{item}" for item in items)
    library = Library()
    library.add("a.md", f"# Berths\n\nTo get a berth, submit the following:\n\n{listed}\n\nIt rained.\n".encode())
    report = play("What must I submit to get a berth?", library).reports[-1]
    said = " ".join(s.text for s in all_statements(report))
    assert all(item in said for item in items)


def test_an_item_knows_its_parent() -> None:
    """The sentence that leads to a list counts as what surrounds its items; other lines do not."""
    assert leads("Submit the following:")
    assert is_item("- the form")
    assert not is_item("The form is long.")
    text = "Submit:\n- a form\n- a plan\nDone."
    segments = ((0, 7), (8, 16), (17, 25), (26, 31))
    assert [end_of_list(text, segments, n) for n in range(4)] == [3, 2, 3, 4]
