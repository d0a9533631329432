"""Codes and addresses: what nobody paraphrases. They are quoted with a word that they stand beside, or not at all.

A link, an e-mail address or an opaque code (a key, a token, a hash) says nothing by itself, and is what a planted
instruction wants carried along: that it occurs somewhere in what a sentence cites is not enough.
"""

import re
from collections.abc import Iterable, Iterator

from shared.domain.text import STOP_WORDS

_ADDRESS = r"(?:[a-z][a-z0-9+.-]*://|www\.)[^\s<>\"'“”]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
_CODE = r"[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*"
_TOKEN = re.compile(rf"(?P<address>{_ADDRESS})|(?P<word>{_CODE}|\w+)", re.IGNORECASE)
_CHANGE = re.compile(r"(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])")
_TRAILING = ".,;:!?)]}"
OPAQUE_CHANGES = 3
"""Changes between letters and digits from which a word is taken for a code: one in B2B, three in 7F3A."""


def misplaced_codes(statement: str, spans: Iterable[str]) -> tuple[str, ...]:
    """Return the codes and addresses of a statement that stand in no span beside the word that they stand beside.

    One that stands all by itself says nothing and is among them.
    """
    texts = tuple(spans)
    known = {(token, word) for text in texts for token, words in _placed(text) for word in words}
    found = (token for token, words in _placed(statement) if not any((token, word) in known for word in words))
    return tuple(dict.fromkeys(found))


def _placed(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each code or address with the words before and after it; words that say nothing are passed over."""
    tokens = [(m.group().rstrip(_TRAILING).casefold(), m.group("address") is not None) for m in _TOKEN.finditer(text)]
    kept = [(token, address) for token, address in tokens if token and token not in STOP_WORDS]
    for place, (token, address) in enumerate(kept):
        if address or is_opaque(token):
            beside = kept[max(place - 1, 0) : place] + kept[place + 1 : place + 2]
            yield token, tuple(word for word, _ in beside)


def is_opaque(word: str) -> bool:
    """Tell whether a word is a code rather than a name: letters and digits in turn."""
    return len(_CHANGE.findall(word)) >= OPAQUE_CHANGES
