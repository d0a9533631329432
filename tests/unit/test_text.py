"""Cleaning text and taking its words."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.stemming import stem
from shared.domain.text import STOP_WORDS, clean, content_terms, terms

ANY_TEXT = st.text(alphabet=st.characters(codec=None, exclude_categories=()), max_size=80)


@pytest.mark.parametrize(
    ("raw", "cleaned"),
    [
        ("a\x00b\x07c", "abc"),
        ("one\r\ntwo\rthree", "one\ntwo\nthree"),
        ("tab\tstays\nand newline", "tab\tstays\nand newline"),
        ("page\x0cbreak\u2028line", "page\nbreak\nline"),
        ("energy \udc63 of", "energy \ufffd of"),
        ("\ud83d\ude00 pair", "\U0001f600 pair"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("twelve\u00adhundred\u200b\ufeff", "twelvehundred"),
        ("1\u00a0200\u202fboats", "1 200 boats"),
        ("x\U000e0041\U000e0042y", "xy"),
        ("a\u202eb", "ab"),
        ("Kanji 港\U000e0100 stays", "Kanji 港 stays"),
    ],
)
def test_clean_by_example(raw: str, cleaned: str) -> None:
    """Every kind of invisible or unstorable character goes, and what is read stays."""
    assert clean(raw) == cleaned


@given(ANY_TEXT)
def test_cleaning_twice_changes_nothing(text: str) -> None:
    """Cleaning is idempotent."""
    once = clean(text)
    assert clean(once) == once


@given(ANY_TEXT)
def test_clean_text_can_be_stored_and_sent(text: str) -> None:
    """No NUL, no surrogate, no control but tab and newline is left, and UTF-8 takes it."""
    cleaned = clean(text)
    cleaned.encode("utf-8")
    assert not [c for c in cleaned if unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t"]


@given(
    st.text(
        alphabet=st.characters(categories=("L", "N", "P"), exclude_characters="\u3164\u115f\u1160\uffa0"), max_size=60
    )
)
def test_clean_leaves_letters_figures_and_marks(text: str) -> None:
    """What is no control, mark or space is never touched."""
    assert clean(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The crew's surveys", ["the", "crew", "survei"]),
        ("1,200 boats, 3.5% in 2019", ["1200", "boat", "3.5", "in", "2019"]),
        ("State-of-the-art CO2", ["state", "of", "the", "art", "co2"]),
        ("\ufb01shing don't", ["fish", "dont"]),
        ("港口调查", ["港口", "口调", "调查"]),
        ("港", ["港"]),
        ("2019年の検査", ["2019", "年の", "の検", "検査"]),
        ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),
        ("Große Häfen", ["gross", "hafen"]),
        ("", []),
    ],
)
def test_terms_by_example(text: str, expected: list[str]) -> None:
    """Words are folded and stemmed, figures keep their value, unspaced scripts become bigrams."""
    assert terms(text) == expected


def test_content_terms_leave_out_stop_words() -> None:
    """A stop word is recognised before it is stemmed, whichever apostrophe it has."""
    assert content_terms("What is the size of it? They’re boats") == ["size", "boat"]
    assert {"the", "and", "isn't"} <= STOP_WORDS


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("caresses", "caress"),
        ("ponies", "poni"),
        ("ties", "tie"),
        ("cats", "cat"),
        ("status", "status"),
        ("agreed", "agre"),
        ("feed", "feed"),
        ("plastered", "plaster"),
        ("bled", "bled"),
        ("motoring", "motor"),
        ("sing", "sing"),
        ("conflated", "conflat"),
        ("activation", "activ"),
        ("activated", "activ"),
        ("relational", "relat"),
        ("adoption", "adopt"),
        ("hopefulness", "hope"),
        ("controlling", "control"),
        ("rate", "rate"),
        ("hopping", "hop"),
        ("falling", "fall"),
        ("filing", "file"),
        ("happy", "happi"),
        ("sky", "sky"),
        ("news", "news"),
        ("häfen", "häfen"),
    ],
)
def test_stem_by_example(word: str, expected: str) -> None:
    """The endings are taken off as Porter's five steps say."""
    assert stem(word) == expected


@given(ANY_TEXT)
def test_terms_never_fail_and_are_never_empty(text: str) -> None:
    """Any text has terms, none of them empty or with white space inside."""
    assert all(term and not any(character.isspace() for character in term) for term in terms(text))


@given(st.text(max_size=60))
def test_terms_ignore_case(text: str) -> None:
    """Folding twice is folding once: a text and its folded form have the same terms."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    assert terms(folded) == terms(text)
