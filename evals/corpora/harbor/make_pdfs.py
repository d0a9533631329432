"""Make the two PDF documents of the harbour corpus; two runs give the same bytes.

Usage: `python evals/corpora/harbor/make_pdfs.py [FOLDER]` (default: the folder of this file). Pages are A4; lengths
are points from the top left. Fonts are the built-in Helvetica and Helvetica-Bold, so nothing is embedded. In the texts
below an empty line parts paragraphs; a page of the ground report begins with its heading.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import pymupdf

PAGE_WIDTH = 595.0
PAGE_HEIGHT = 842.0
MARGIN = 64.0
GUTTER = 20.0
BODY_TOP = 118.0
BODY_BOTTOM = 776.0
Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""
FONT = "helv"
BOLD = "hebo"

GROUND_TITLE = "Sollander Lock: report on the ground investigation"
GROUND_AUTHOR = "Noor Westerholt, Tollen Varga Engineers"
GROUND_DATE = "D:20181019090000Z"
GROUND_PAGES = (
    """
1. Purpose and site

Report 18/44 for the Lorrimouth Port Authority. Issued on 19 October 2018 by Noor Westerholt, Tollen Varga
Engineers.

This report describes the ground at the place where Sollander Lock is to be built. It was made so that the
walls, the floor and the sills of the lock can be designed, and so that builders who make an offer know what
they will have to dig through.

The site lies between the harbour and Mill Dock, on made ground behind the old customs shed. Maps in the
harbour office show that a slip and a timber pond once stood there. Both were filled with ash, broken brick
and dredged mud.

All levels in this report are given in metres below harbour datum, which is the level of the brass bolt in the
coping of Tern Quay. Earlier borings for the quay were measured from low water and must not be mixed with ours
without a correction of 0.4 metres.

We thank Osric Dunmore, keeper of Mill Lock, for the loan of his boat and for what he remembers of the floor
of the old lock.
""",
    """
2. Field work

Fourteen holes were drilled between 4 June and 17 August 2018. Nine were drilled on land with a lorry rig and
five from a jack-up platform. The holes on the line of the lock walls are numbered W1 to W8, and those at the
two ends of the chamber are numbered S1 to S6.

Each hole was lined with steel tube down to firm clay and went on below it with a rotary core barrel. Cores
were laid in boxes, photographed wet, and described on the same day. Samples of clay went to the laboratory in
wax.

Made ground was found everywhere and is between 2 and 5 metres thick. Below it lies soft grey silt with
shells, then stiff blue clay, then broken rock, and last sound rock. The silt is thickest near Mill Dock,
where a piece of willow was found in it at 11 metres.

Hole W3 was given up at 9 metres when the tube struck timber. It was drilled again two metres to the east as
W3a. The timber may belong to a wreck, and we advise that the place should be opened by hand.
""",
    """
3. Rock and clay at the sills

The sills carry the gates, and the gates carry the water. What lies beneath the sills therefore matters more
than anything else in this report.

At the seaward end, where the outer sill will stand, sound rock was met at 23.6 metres below harbour datum.
Three holes, S1 to S3, agree to within a hand's breadth. The rock is a fine sandstone with few joints, and the
cores came up in pieces as long as an arm.

At the other end of the chamber the surface of the rock is higher and less even. Beneath the inner sill it was
found between 17.9 and 19.4 metres, and its upper part is broken. We think that an old river channel crossed
the site at a slant.

The blue clay above the rock is stiff enough to stand upright in a trench for some days. It swells when it is
unloaded and wetted, so the floor should be covered with lean concrete within a day of being dug.

We advise that the outer sill should rest on bored piles that reach into the sandstone. The inner sill can
stand on the rock itself once the broken part has been taken away.
""",
    """
4. Water in the ground and advice

Water stands in the made ground at the level of the harbour and follows the tide with a delay of two hours. In
the rock it stands higher, and in hole S5 it rose above the ground when the clay had been pierced.

The builder should let this water out through wells before the floor is dug below 12 metres. Without wells the
floor might heave. Four wells would be enough, and two of them can be kept for the time when the lock is in
use.

The made ground holds traces of tar near the old slip. Lorries that take it away must be covered. The silt and
the clay are clean and may go to the disposal ground at Hollin Deep.

Cores are kept in the customs shed until the end of 2026. Anyone who wishes to see them should ask the chief
engineer of the authority, Marten Aske.
""",
)
SURVEY_TITLE = "Sill Reach: hydrographic survey of summer 2023"
SURVEY_AUTHOR = "Elke Straand, Lorrimouth Port Authority"
SURVEY_DATE = "D:20230830120000Z"
SURVEY_COLUMNS = (
    (
        """
Survey report 2023/6. Elke Straand, surveyor of the port authority. 30 August 2023.

Why the reach was sounded. The harbour board asked in February for a full survey of the approach channel,
after the winter soundings had shown a loss of depth at the bend. The work was done from the launch Minnow on
nine days between 26 June and 14 July.

How it was sounded. A fan of sound beams was swept along lines 25 metres apart. Every line was run twice, once
on each half of the tide. The height of the launch was taken from satellites and checked against the gauge on
the Tern Mole.
""",
        """
How good it is. Where two lines cross, the depths agree to within 6 centimetres in nineteen cases out of
twenty. Soft mud can hide from the beams, and at four places a lead line was lowered to feel for the firm bed
below it.

What was left out. The basin and the berths are not part of this survey. The water within 30 metres of the
breakwaters was left out because of the swell, and the divers will look at it in the spring.

Words used. Depth means the depth below the lowest tide. Bar means the ridge of sand on the inner side of the
bend.
""",
    ),
    (
        """
What was found. The channel has kept its depth from the fairway buoy to the sixth cable. The bar at the bend
has grown by 80 metres towards the middle since the deepening was finished, and the least depth over it is
less than planned.

The table gives the least depth in each part of the reach, in metres. The planned depth is the same in all
parts but the last.
""",
        """
Where the sand comes from. Its grains match those of the beach north of the battery rock. Northerly gales
drive it round the roundhead of the breakwater, and it settles where the stream slackens.

A trench dug across the bar as a trial in May had filled by half when it was sounded in July.
""",
    ),
    (
        """
What it means for ships. Until the bar has been dredged, ships that draw more than 9 metres should keep to the
outer half of the channel at the bend. The pilots have been given a chart of the bar and will change their
handbook.

What should be done. We advise that about 50,000 cubic metres should be dredged from the bend in each of the
next two summers. The sand is clean and could be laid on the beach from which it came.
""",
        """
What should be watched. The bend should be sounded after every gale from the north and in any case four times
a year. One day with the launch is enough for it.

Thanks. The fishing fleet kept its pots out of the reach for three weeks, and the lock builders lent us their
mooring. Copies of the soundings can be had from the harbour office on request.
""",
    ),
)
SURVEY_TABLE: tuple[tuple[str, ...], ...] = (
    ("Part of the reach", "Planned depth (m)", "Least depth (m)", "Date sounded"),
    ("Fairway buoy to third cable", "10.4", "10.5", "27 June 2023"),
    ("Third to sixth cable", "10.4", "10.4", "29 June 2023"),
    ("Bend, outer half", "10.4", "10.1", "4 July 2023"),
    ("Bend, inner half", "10.4", "8.7", "5 July 2023"),
    ("Bend to harbour mouth", "9.8", "9.9", "11 July 2023"),
)
SURVEY_TABLE_PAGE = 1
TABLE_TOP = 300.0
ROW_HEIGHT = 22.0


class TextDoesNotFitError(Exception):
    """A text is longer than its box; shorten the text or enlarge the box."""


def _paragraphs(text: str) -> list[str]:
    """Split a text at its empty lines and undo the line breaks inside each paragraph."""
    return [" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n")]


def _flow(page: pymupdf.Page, box: Box, paragraphs: list[str], size: float) -> None:
    """Set paragraphs into a box, one empty line between them; refuses text that would be cut off."""
    left = page.insert_textbox(box, "\n\n".join(paragraphs), fontsize=size, fontname=FONT, lineheight=1.3)
    if left < 0:
        raise TextDoesNotFitError(f"page {page.number + 1}: the text is {-left:.0f} points too long for its box")


def _new_page(document: pymupdf.Document, title: str) -> pymupdf.Page:
    """Open a page with the running title; the first page carries the title in large type too."""
    page = document.new_page(width=PAGE_WIDTH, height=PAGE_HEIGHT)
    page.insert_text((MARGIN, 48), title, fontsize=8, fontname=FONT)
    if page.number == 0:
        page.insert_text((MARGIN, 78), title, fontsize=16, fontname=BOLD)
    return page


def _number_page(page: pymupdf.Page, pages: int) -> None:
    """Put the page number at the foot, last in reading order."""
    page.insert_text((MARGIN, 806), f"Page {page.number + 1} of {pages}", fontsize=8, fontname=FONT)


def _table(page: pymupdf.Page, rows: tuple[tuple[str, ...], ...], top: float) -> None:
    """Draw a ruled table over the full text width, its first row in bold."""
    width = (PAGE_WIDTH - 2 * MARGIN) / len(rows[0])
    for index, row in enumerate(rows):
        for column, cell in enumerate(row):
            x, y = MARGIN + column * width, top + index * ROW_HEIGHT
            page.draw_rect((x, y, x + width, y + ROW_HEIGHT), width=0.6)
            page.insert_text((x + 4, y + 15), cell, fontsize=8, fontname=FONT if index else BOLD)


def ground_report(document: pymupdf.Document) -> None:
    """Lay out the ground report: one column, one chapter a page."""
    for text in GROUND_PAGES:
        heading, *paragraphs = _paragraphs(text)
        page = _new_page(document, GROUND_TITLE)
        page.insert_text((MARGIN, 106), heading, fontsize=12, fontname=BOLD)
        _flow(page, (MARGIN, BODY_TOP, PAGE_WIDTH - MARGIN, BODY_BOTTOM), paragraphs, 11)
        _number_page(page, len(GROUND_PAGES))


def survey_report(document: pymupdf.Document) -> None:
    """Lay out the survey report: two columns, and a ruled table below them on the second page."""
    middle = PAGE_WIDTH / 2
    for number, (left, right) in enumerate(SURVEY_COLUMNS):
        page = _new_page(document, SURVEY_TITLE)
        has_table = number == SURVEY_TABLE_PAGE
        bottom = TABLE_TOP if has_table else BODY_BOTTOM
        _flow(page, (MARGIN, BODY_TOP, middle - GUTTER / 2, bottom), _paragraphs(left), 10)
        _flow(page, (middle + GUTTER / 2, BODY_TOP, PAGE_WIDTH - MARGIN, bottom), _paragraphs(right), 10)
        if has_table:
            _table(page, SURVEY_TABLE, TABLE_TOP)
        _number_page(page, len(SURVEY_COLUMNS))


def _pdf(layout: Callable[[pymupdf.Document], None], title: str, author: str, date: str) -> bytes:
    """Run a layout and serialize it without the random file id and the clock, so that the bytes repeat."""
    document = pymupdf.open()  # type: ignore[no-untyped-call]
    try:
        layout(document)
        document.set_metadata(
            {"title": title, "author": author, "creationDate": date, "modDate": date, "producer": "", "creator": ""}
        )
        content: bytes = document.tobytes(garbage=3, deflate=False, no_new_id=True)  # type: ignore[no-untyped-call]
    finally:
        document.close()  # type: ignore[no-untyped-call]
    return content


def make_pdfs() -> dict[str, bytes]:
    """Return the bytes of every PDF of the corpus, by file name."""
    return {
        "sollander-lock-ground-report.pdf": _pdf(ground_report, GROUND_TITLE, GROUND_AUTHOR, GROUND_DATE),
        "sill-reach-survey-2023.pdf": _pdf(survey_report, SURVEY_TITLE, SURVEY_AUTHOR, SURVEY_DATE),
    }


def write_pdfs(folder: Path) -> tuple[Path, ...]:
    """Write the PDFs into a folder that exists and return their paths."""
    paths = []
    for name, content in make_pdfs().items():
        path = folder / name
        path.write_bytes(content)
        paths.append(path)
    return tuple(paths)


if __name__ == "__main__":
    write_pdfs(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
