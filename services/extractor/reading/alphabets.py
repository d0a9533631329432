"""Alphabets by which a one-byte Latin encoding betrays itself, and the Japanese kana."""

_PUNCTUATION = "\u00a0\u00ad«»‹›„“”‚‘’…–—•·°§©®™€£"

_WESTERN = (
    "àâæçèéêëîïôœùûüÿ",  # French
    "äöüßé",  # German
    "áéíóúüñ¿¡ºªç",  # Spanish
    "áâãàçéêíóôõúüºª",  # Portuguese
    "åäöæøéüà",  # Swedish, Danish, Norwegian, Finnish
    "àèéìíîòóùú",  # Italian
    "áéëïóöüèê",  # Dutch
)
_TURKISH = ("çğıöşüâîûi̇",)
_CENTRAL = (
    "ąćęłńóśźż",  # Polish
    "áčďéěíňóřšťúůýž",  # Czech
    "áäčďéíĺľňóôŕšťúýž",  # Slovak
    "áéíóöőúüű",  # Hungarian
    "ăâîşţ",  # Romanian
    "čćđšž",  # Croatian, Slovene
)


def _sets(alphabets: tuple[str, ...]) -> tuple[frozenset[str], ...]:
    """Return each alphabet in both cases, with the punctuation that every language uses."""
    return tuple(frozenset(letters + letters.upper() + _PUNCTUATION) for letters in alphabets)


# Label of the encoding, and the alphabets it may hold; tried in this order.
ALPHABETS: tuple[tuple[str, tuple[frozenset[str], ...]], ...] = (
    ("windows-1252", _sets(_WESTERN)),
    ("windows-1254", _sets(_TURKISH)),
    ("windows-1250", _sets(_CENTRAL)),
    ("iso-8859-2", _sets(_CENTRAL)),
)

KANA: frozenset[str] = frozenset(chr(code) for code in range(0x3041, 0x30FF))
