"""Words in quotation marks: they stand in a cited span as they are quoted, or they were never said."""

import re
from collections.abc import Iterable

from shared.domain.excerpts import folded, one_line

_QUOTED = re.compile(r'(?<!\w)"(?P<double>[^"\n]{1,1000}?)"(?!\w)|(?P<odd>(?<!\w)"[^"\n]{1,1000})\Z')
_SINGLE = re.compile(r"(?<![\w'])'(?P<single>[^'\n]{1,1000}(?:'\w[^'\n]{0,1000}){0,20}?)'(?!\w)")
_CJK = re.compile(r"[「『《](?P<cjk>[^「」『』《》\n]{1,1000})[」』》]")
_LEFT_OUT = re.compile(r"\s*(?:\[\s*(?:\.\.\.)?\s*\]|\.\.\.|\[[^\]\n]{0,80}\])\s*")
_ENDS = " .,;:!?'\"-()"


def misquoted(statement: str, spans: Iterable[str]) -> tuple[str, ...]:
    """Return the quotations of a statement whose words stand in no span in a row.

    Case, the kind of quotes and dashes, and the mark that ends a quotation do not count. "..." and square brackets say
    that something was left out or put in: what stands on either side of them has to be there, in one span, in order.
    """
    quotations = quotations_in(statement)
    if not quotations:
        return ()
    texts, whole = [_plain(span) for span in spans], _plain(statement)
    if any(whole in text for text in texts):  # marks that a sentence opens or closes for its neighbours
        return ()
    return tuple(q for q in dict.fromkeys(quotations) if not any(_holds(text, q) for text in texts))


def quotations_in(text: str) -> tuple[str, ...]:
    """Return what stands between quotation marks, of one kind or another; an opening mark alone reaches to the end."""
    plain = folded(text)
    found = [m.group("double") or m.group("odd")[1:] for m in _QUOTED.finditer(plain)]
    rest = _QUOTED.sub(" ", plain)
    found += [m.group("single") for m in _SINGLE.finditer(rest)]
    found += [m.group("cjk") for m in _CJK.finditer(plain)]
    return tuple(q for q in map(str.strip, found) if q)


def _holds(text: str, quotation: str) -> bool:
    """Tell whether the parts of a quotation stand in a text one after the other."""
    at = 0
    for part in _LEFT_OUT.split(quotation):
        wanted = _plain(part).strip(_ENDS)
        if not wanted:
            continue
        at = _word_at(text, wanted, at)
        if at < 0:
            return False
        at += len(wanted)
    return True


def _word_at(text: str, wanted: str, start: int) -> int:
    """Return where the words stand in the text as whole words, or -1."""
    at = text.find(wanted, start)
    while at >= 0:
        end = at + len(wanted)
        if not (_runs_on(text, at) or _runs_on(text, end)):
            return at
        at = text.find(wanted, at + 1)
    return -1


def _runs_on(text: str, at: int) -> bool:
    """Tell whether a word of a script with spaces goes on across this place."""
    return 0 < at < len(text) and all(c.isalnum() and ord(c) < 0x0E00 for c in text[at - 1 : at + 1])


def _plain(text: str) -> str:
    """Return a text as quotations are compared: folded, without case and without quotes of its own."""
    return one_line(folded(text).casefold().replace('"', " "))
