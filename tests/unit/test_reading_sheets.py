"""Workbooks and delimited text: rows that stand alone, what a cell shows, and the way back to sheet and cells."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.extractor.engines.spans import Picked
from services.extractor.parsing import parse_bytes
from services.extractor.reading.formats import format_of, shown
from services.extractor.reading.read import read as read_any
from services.extractor.reading.result import Reading
from services.extractor.reading.rows import SheetRow, Value, row_blocks
from services.extractor.rules import evidence_of
from services.synthesizer.rendering.parts import where
from shared.domain.maps import Part, Row, cells_at, column_name, part_at
from tests.factories.office import row, xlsx
from tests.factories.research import make_document


def read(data: bytes, name: str | None = None) -> Reading:
    """Read a file by its bytes and its name."""
    return read_any(data, name=name, content_type=None, url=None)


def lines(*rows: tuple[str | None, ...], gap: bool = False) -> list[str]:
    """Return the lines of rows whose cells are told apart by their look; with `gap`, empty rows count."""
    made = []
    for number, cells in enumerate(rows, start=1):
        values = [
            Value(column, text, "number" if text.replace(".", "").isdigit() else "text")
            for column, text in enumerate(cells, start=1)
            if text
        ]
        made.append(SheetRow(number, values))
    return [block.text for block in row_blocks(made)]


def test_the_first_row_names_the_columns() -> None:
    """Names go into every row; a title above and a note below stand alone."""
    table = (("Berth tariff",), (), ("Port", "Fee"), ("Northam", "12"), ("Southam", "9"), (), ("Source: the office",))
    assert lines(*table) == ["Berth tariff", "Port: Northam | Fee: 12", "Port: Southam | Fee: 9", "Source: the office"]


def test_years_may_head_columns() -> None:
    """A row of years over rows with a label is a header; a row of figures is none."""
    assert lines((None, "2019", "2020"), ("Boats", "7", "9")) == ["Boats | 2019: 7 | 2020: 9"]
    assert lines(("Boats", "7.5"), ("Ferries", "9")) == ["Boats | 7.5", "Ferries | 9"]


def test_two_rows_of_names() -> None:
    """Groups reach over the columns below them."""
    table = (
        (None, "North", None, "South"),
        ("Year", "Boats", "Tons", "Boats", "Tons"),
        ("2019", "1", "2", "3", "4"),
    )
    assert lines(*table) == ["Year: 2019 | North Boats: 1 | North Tons: 2 | South Boats: 3 | South Tons: 4"]


def test_a_second_table_has_names_of_its_own() -> None:
    """After an empty row, labels over figures are names; words over words are rows of the same table."""
    table = (
        ("Port", "Fee"),
        ("Northam", "12"),
        (),
        ("Ship", "Crew"),
        ("Ada", "7"),
        (),
        ("note", "see log"),
        ("a", "b"),
    )
    assert lines(*table) == [
        "Port: Northam | Fee: 12",
        "Ship: Ada | Crew: 7",
        "Ship: note | Crew: see log",
        "Ship: a | Crew: b",
    ]


CELLS = st.sampled_from(["Port", "Fee", "Ship", "12", "2019", "a longer text"])


@given(st.lists(st.tuples(CELLS, CELLS, CELLS) | st.just(()), max_size=8))
def test_every_value_of_a_sheet_is_told(table: list[tuple[str, ...]]) -> None:
    """Wherever tables begin and end, no word or figure of a full row is lost."""
    told = "\n".join(lines(*table))
    assert all(cell in told for cells in table for cell in cells)


@pytest.mark.parametrize(
    ("stored", "code", "words"),
    [
        ("0.30000000000000004", "General", "0.3"),
        ("1200.5", '#,##0.00 "EUR"', "1200.5 EUR"),
        ("-3", "[$€-407]#,##0.00", "-€3"),
        ("12.4", '0.0" m"', "12.4 m"),
        ("0.125", "0.0%", "12.5%"),
        ("2500000", '0.0,,"M"', "2500000"),
        ("0.00012", "0.00E+00", "0.00012"),
        ("43589", "yyyy-mm-dd", "2019-05-04"),
        ("43589.4375", "d/m/yy h:mm", "2019-05-04 10:30:00"),
        ("59", "yyyy-mm-dd", "1900-02-28"),
        ("0.5", "hh:mm", "12:00:00"),
        ("1.5", "[h]:mm", "36:00:00"),
        ("-1", "yyyy-mm-dd", "-1"),
        ("1e400", "0", "1e+400"),
        ("words", "0", "words"),
    ],
)
def test_a_cell_shows_its_value_in_full(stored: str, code: str, words: str) -> None:
    """Units and signs of the format stay, rounding does not; days are ISO 8601."""
    assert shown(stored, format_of(200, code), from_1904=False)[0] == words


def test_built_in_formats_and_the_other_epoch() -> None:
    """Formats that a file only numbers, and workbooks that count from 1904."""
    assert shown("0.5", format_of(9, None), from_1904=False) == ("50%", "number")
    assert shown("42127", format_of(14, None), from_1904=True) == ("2019-05-04", "date")


@given(st.text(max_size=30), st.text(max_size=12))
def test_no_format_breaks(code: str, stored: str) -> None:
    """Any code and any stored text give words."""
    assert isinstance(shown(stored, format_of(200, code), from_1904=False)[0], str)


TARIFF = xlsx(
    {
        "Prices": row(1, "Port", "Fee", "Since")
        + row(2, "Northam", (1200.5, 1), (43589, 2))
        + row(4, "Eastham", (9, 1))
        + '<mergeCells count="1"><mergeCell ref="A9:A9"/></mergeCells>',
        "Secret": row(1, "never shown"),
        "Sheet3": row(1, "Region", "Port", "Boats")
        + row(2, "North", "Northam", 7)
        + row(3, None, "Eastham", 8)
        + '<mergeCells><mergeCell ref="A2:A3"/></mergeCells>',
    },
    formats=['0 "EUR"', "yyyy-mm-dd"],
    hidden=["Secret"],
)


def test_a_workbook_is_read_sheet_by_sheet() -> None:
    """Named sheets have a heading, hidden ones are left out and counted, merged cells reach down."""
    reading = read(TARIFF)
    first = "Prices\n\nPort: Northam | Fee: 1200.5 EUR | Since: 2019-05-04\n\nPort: Eastham | Fee: 9 EUR"
    second = "Region: North | Port: Northam | Boats: 7\nRegion: North | Port: Eastham | Boats: 8"
    assert reading.text == f"{first}\n\n{second}"
    assert reading.reason == "1 hidden sheet left out."
    assert not reading.truncated
    assert [(part.kind, part.name, part.number) for part in reading.parts] == [
        ("sheet", "Prices", 1),
        ("sheet", "Sheet3", 2),
    ]


def test_evidence_names_sheet_and_cells() -> None:
    """The locator of a row leads back to its sheet and its range of cells, and the report says so."""
    _, snapshot = parse_bytes(TARIFF, "tariff.xlsx")
    assert snapshot is not None
    number = next(n for n, (start, _) in enumerate(snapshot.segments) if snapshot.text[start:].startswith("Port: East"))
    pick = Picked(question_id="q1", segment_start=number, segment_end=number + 1, relevance=0.9)
    (evidence,) = evidence_of([pick], snapshot, make_document("src_1", snapshot), "stp_1", "tariff.xlsx")
    found = evidence.locator
    assert (found.part_kind, found.part, found.part_number, found.cells) == ("sheet", "Prices", 1, "A4:B4")
    assert where(found) == "sheet “Prices”, cells A4:B4"


def test_shared_strings_and_odd_cells() -> None:
    """Words are looked up; a reference beyond the list, an error and a flag do not break the sheet."""
    cells = '<row r="1"><c t="s"><v>0</v></c><c t="s"><v>7</v></c><c t="b"><v>1</v></c><c t="e"><v>#N/A</v></c></row>'
    assert read(xlsx({"A": cells}, strings=["Northam"])).text == "A\n\nNortham | TRUE | #N/A"


def test_a_damaged_sheet_costs_only_itself() -> None:
    """The other sheets are read, and the reading says what was lost."""
    reading = read(xlsx({"Good": row(1, "Words here"), "Bad": "<row><c>"}))
    assert (reading.status, reading.truncated) == ("ok", True)
    assert reading.text == "Good\n\nWords here"
    assert "Bad" in (reading.reason or "")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"Port,Depth\nNortham,12\n", "Port: Northam | Depth: 12"),
        (b'Port;Depth (m)\n"South; ham";12,5\n', "Port: South; ham | Depth (m): 12,5"),
        ("sep=;\nPort;Länge\nNortham;7".encode("cp1252"), "Port: Northam | Länge: 7"),
        (b'a,b\n"two\nlines",2', "a: two lines | b: 2"),
        (b"1,2\n3,4\n", "1 | 2\n3 | 4"),
    ],
)
def test_delimited_text(data: bytes, text: str) -> None:
    """The delimiter and the header are found; quoted values keep theirs."""
    reading = read(data, "a.csv")
    assert (reading.status, reading.mime, reading.text) == ("ok", "text/csv", text)


def test_rows_of_delimited_text_have_cells() -> None:
    """A row's number is the one that a program for sheets shows."""
    reading = read(b"Port\tDepth\nNortham\t12\n", "a.tsv")
    assert cells_at(reading.rows, 0, len(reading.text)) == "A2:B2"


@given(st.binary(max_size=300))
def test_any_bytes_called_a_table_are_read(data: bytes) -> None:
    """A file called .csv ends in a status, and its rows lie in its text in order."""
    reading = read(data, "a.csv")
    starts = [found.start for found in reading.rows]
    assert starts == sorted(set(starts))
    assert all(start < len(reading.text) for start in starts)


@pytest.mark.parametrize(("number", "name"), [(1, "A"), (26, "Z"), (27, "AA"), (702, "ZZ"), (703, "AAA")])
def test_columns_have_letters(number: int, name: str) -> None:
    """As in a workbook."""
    assert column_name(number) == name


def test_cells_of_a_span() -> None:
    """Within one row, over several, and none for the name of a sheet that follows another."""
    rows = (Row(0, 1, 1, 3), Row(10, 2, 2, 2), Row(30, 1, 1, 2))
    assert cells_at(rows, 12, 14) == "B2"
    assert cells_at(rows, 0, 12) == "A1:C2"
    assert cells_at(rows, 20, 28, since=20) is None
    assert cells_at(rows, 20, 31, since=20) == "A1:B1"
    assert cells_at((), 0, 5) is None


def test_the_part_of_an_offset() -> None:
    """An empty part holds nothing."""
    parts = (Part("slide", "a", 1, 0, 10), Part("slide", "b", 2, 10, 10), Part("slide", "c", 3, 10, 20))
    found = [part_at(parts, offset) for offset in (0, 9, 10, 25)]
    assert [part.name if part else None for part in found] == ["a", "a", "c", "c"]
    assert part_at((), 3) is None
