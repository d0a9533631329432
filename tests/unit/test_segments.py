"""Sentences and their offsets, headings and pages by offset."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.maps import Heading, Page, nearest_heading, page_at
from shared.domain.segments import MAX_SEGMENT, segment


def sentences(text: str) -> list[str]:
    """Return the words of each segment."""
    return [text[part.start : part.end] for part in segment(text)]


@pytest.mark.parametrize(
    "expected",
    [
        ["Dr. Smith met J. R. R. Tolkien at 3.5 p.m. on Jan. 5.", "The U.S. economy grew."],
        ["It fell in the U.S.", "The next year it rose."],
        ["See fig. 3 and No. 5.", "No.", "It is not."],
        ["Boats et al. (2019) counted 1.200 e.g. Trawlers.", "They left."],
        ["“Is it?” he asked.", "“Yes.”", "Then he left...", "Maybe."],
        ["They left (see p. 4).", "(He lied.)", "He stayed."],
        ["It rose.[12][3]", "Later it fell.4", "Then nothing."],
        ["1. Introduction to things.", "Next."],
        ["- 2.1. First item.", "Its second sentence."],
        ["Really?! yes.", "What?", "Why!"],
        ["Am 3. Oktober 1990 war es, z.B. Berlin.", "Das ist alles."],
        ["Version 2.3.1 of Node.js is out.", "Get it at example.com today."],
        ["Apple Inc. announced it.", "He has a Ph.D. in law.", "She works for Acme Ltd.", "The firm grew."],
        ["¿Qué es?", "¡Hola!", "Nada."],
        ["हिन्दी वाक्य।", "दूसरा वाक्य।"],
    ],
)
def test_sentences_parted_by_spaces(expected: list[str]) -> None:
    """A stop ends a sentence by what stands on its two sides."""
    assert sentences(" ".join(expected)) == expected


@pytest.mark.parametrize(
    "expected",
    [
        ["港口调查每年春天进行。", "数据来源！", "是吗？"],
        ["他说：“是的。”", "然后离开。"],
        ["「はい。」と言った。", "価格は３．５円です。", "次の文。"],
    ],
)
def test_sentences_without_spaces(expected: list[str]) -> None:
    """Chinese and Japanese sentences need no space between them; a quotation inside one does not end it."""
    assert sentences("".join(expected)) == expected


def test_lines_are_blocks() -> None:
    """A heading, a list item and a table row each end with their line, stop or no stop; a row is never cut."""
    text = (
        "Results\n\nThe count rose.\n\n- First item\n- Second. It goes on.\n\nPort: A. B. | Note: It sank. All lived."
    )
    assert sentences(text) == [
        "Results",
        "The count rose.",
        "- First item",
        "- Second.",
        "It goes on.",
        "Port: A. B. | Note: It sank. All lived.",
    ]


def test_a_long_sentence_is_cut_at_a_clause() -> None:
    """More than a thousand characters are parted after a semicolon rather than in a word."""
    clause = "the boats were counted at each of the harbours on the coast; "
    parts = sentences("In spring " + clause * 40)
    assert all(len(part) <= MAX_SEGMENT for part in parts)
    assert all(part.endswith(";") for part in parts)


def test_a_long_word_is_cut_at_the_limit() -> None:
    """Even text without any break has no segment over the limit."""
    assert [len(part) for part in sentences("x" * 2500)] == [1000, 1000, 500]


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\t \n"])
def test_white_space_has_no_segments(text: str) -> None:
    """Nothing to read, nothing to number."""
    assert segment(text) == ()


PIECES = st.sampled_from(
    [
        *"abcXYZ019",
        " ",
        " ",
        ". ",
        "! ",
        "?” ",
        "\n",
        "\n\n",
        "。",
        "」",
        "Dr. ",
        "U.S. ",
        "港口",
        " | ",
        "- ",
        "…",
        "\u3000",
        "x" * 700,
    ]
)


@given(st.one_of(st.text(max_size=200), st.lists(PIECES, max_size=60).map("".join)))
def test_segments_are_exact_ordered_and_complete(text: str) -> None:
    """Segments do not overlap, have no outer white space, cross no newline, and hold every other character."""
    parts = segment(text)
    end = 0
    for part in parts:
        words = text[part.start : part.end]
        assert end <= part.start < part.end <= len(text)
        assert words == words.strip()
        assert "\n" not in words
        assert len(words) <= MAX_SEGMENT
        assert not text[end : part.start].strip()
        end = part.end
    assert not text[end:].strip()


@pytest.mark.parametrize("unit", [".", ". ", '." ', "A. ", "x", "'", " ", "[1]", "Dr. ", "。", ".[1] ", "| "])
def test_segmenting_is_linear(unit: str) -> None:
    """No repeated mark makes the rules go over the same text again and again: a million characters end."""
    assert sum(part.end - part.start for part in segment(unit * (200_000 // len(unit)))) <= 200_000


HEADINGS = (Heading(1, "One", 0, 3), Heading(2, "Two", 50, 53))


@pytest.mark.parametrize(("offset", "words"), [(0, "One"), (49, "One"), (50, "Two"), (999, "Two")])
def test_nearest_heading(offset: int, words: str) -> None:
    """The heading of an offset is the last one that starts at or before it."""
    found = nearest_heading(HEADINGS, offset)
    assert found is not None
    assert found.text == words


def test_no_heading_before_the_first() -> None:
    """Text above the first heading has none."""
    assert nearest_heading(HEADINGS[1:], 10) is None
    assert nearest_heading((), 0) is None


PAGES = (Page(1, 0, 40), Page(2, 40, 40), Page(3, 40, 90), Page(4, 90, 90))


@pytest.mark.parametrize(("offset", "number"), [(0, 1), (39, 1), (40, 3), (89, 3)])
def test_page_at(offset: int, number: int) -> None:
    """A page without text holds no offset."""
    found = page_at(PAGES, offset)
    assert found is not None
    assert found.number == number


def test_page_at_without_pages() -> None:
    """A text without a page map has no pages."""
    assert page_at((), 5) is None
