"""Raised and lowered letters: exponents and fractions say what they are, note marks never become digits of a figure."""

import pytest

from services.extractor.reading.raised import DOWN, UP, marked, place_of, settle


def line(*parts: str | tuple[str, str]) -> str:
    """Return a line as it is put together: plain parts, and parts that stand higher or lower."""
    return "".join(part if isinstance(part, str) else marked(part[1], part[0]) for part in parts)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (("The tower was built in 1821", (UP, "1"), " and stands."), "The tower was built in 1821 and stands."),
        (("It cost 4,500", (UP, "12,13"), " crowns."), "It cost 4,500 crowns."),
        (("paid 45", (UP, "‡"), " marks"), "paid 45 marks"),
        (("J. Smith", (UP, "a,b"), " and K. Lee", (UP, "a")), "J. Smith and K. Lee"),
        (("in 1822", (UP, "3"), "and later"), "in 1822 and later"),
        (("4.5 × 10", (UP, "6"), " candles"), "4.5 × 10⁶ candles"),
        (("about 10", (UP, "−3"), " m"), "about 10⁻³ m"),
        (("over 12 km", (UP, "2"), " of sea"), "over 12 km² of sea"),
        (("at 9.81 m s", (UP, "−2"), "."), "at 9.81 m s⁻²."),
        (("R", (UP, "2"), " = 0.93"), "R² = 0.93"),
        (("2", (UP, "32"), " values"), "2³² values"),
        (("3", (UP, "2"), " + 4", (UP, "2"), " = 25"), "3² + 4² = 25"),
        (("was 3", (UP, "1"), "/", (DOWN, "2"), " litres"), "was 3½ litres"),
        (("was 3", (UP, "1"), "/2 litres"), "was 3½ litres"),
        (("was 3", (UP, "5"), "⁄", (DOWN, "32"), " inches"), "was 3 5/32 inches"),
        (("was 3", (UP, "1"), (DOWN, "2"), " litres"), "was 3½ litres"),
        (("was 3", (UP, "1/2"), " litres"), "was 3½ litres"),
        (("31⁄2 litres, 11⁄16 of an inch",), "3½ litres, 11⁄16 of an inch"),
        (("CO", (DOWN, "2"), " and H", (DOWN, "2"), "O"), "CO2 and H2O"),
        (("SO", (DOWN, "4"), (UP, "2−")), "SO4²⁻"),
        (("on the 19", (UP, "th"), " of May"), "on the 19th of May"),
        (("at 20", (UP, "o"), "C"), "at 20°C"),
        (("the XIX", (UP, "e"), " siècle"), "the XIXe siècle"),
        (((UP, "1"), "The harbour book, page 9."), "1 The harbour book, page 9."),
        (((UP, "235"), "U is rare."), "²³⁵U is rare."),
    ],
)
def test_what_stands_higher_or_lower_says_what_it_is(parts: tuple[str | tuple[str, str], ...], expected: str) -> None:
    """By what stands before and after it."""
    assert settle(line(*parts)) == expected


@pytest.mark.parametrize(
    ("base", "size", "place"),
    [(96.0, 6.0, UP), (102.0, 6.0, DOWN), (100.0, 6.0, ""), (100.0, 10.0, ""), (96.5, 10.0, UP), (88.0, 10.0, "")],
)
def test_the_place_is_told_by_size_and_base_line(base: float, size: float, place: str) -> None:
    """Against letters of 10 points whose base line lies at 100."""
    assert place_of(base, size, 100.0, 10.0) == place
