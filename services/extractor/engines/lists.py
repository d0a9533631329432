"""Lists and what leads to them ("Submit the following:"): the one brings the other, and an item knows its parent."""

import re
from collections.abc import Sequence

from shared.domain.evidence import MAX_EXCERPT_CHARS

_ITEM = re.compile(r"(?:[-*•‣◦·–]|[(\[]?(?:\d{1,3}|[a-z])[.)\]])\s+\S")
_LEADS = (":", "：")


def is_item(text: str) -> bool:
    """Tell whether a segment is an item of a list."""
    return _ITEM.match(text) is not None


def leads(text: str) -> bool:
    """Tell whether a segment leads to what follows it."""
    return text.rstrip(" *_").endswith(_LEADS)


def end_of_list(text: str, segments: Sequence[tuple[int, int]], number: int) -> int:
    """Return the number of the segment after the list that a segment leads to, else after the segment itself.

    Only items that fit into one excerpt belong to it.
    """
    start, end = segments[number]
    after = number + 1
    if not leads(text[start:end]) or is_item(text[start:end]):
        return after
    while after < len(segments) and segments[after][1] - start <= MAX_EXCERPT_CHARS:
        if not is_item(text[slice(*segments[after])]):
            break
        after += 1
    return after
