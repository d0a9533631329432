"""Queries made to fit what a provider takes: cut between words, restricted to domains by words of its language."""

import re
from collections.abc import Sequence
from urllib.parse import quote_plus

from services.fetcher.search.contract import MOST_DOMAINS, QueryLimits, SearchQuery
from shared.domain.text import STOP_WORDS

_WORD = re.compile(r"\S+")


def fitted(text: str, limits: QueryLimits, taken: int = 0) -> str:
    """Return as many whole words of a text as fit beside ``taken`` characters; a first word that is too long is cut."""
    kept = " ".join(_WORD.findall(text)[: limits.words or None])
    room = max(limits.chars - taken, 1)
    if len(kept) > room:
        kept = _cut(kept, room)
    while limits.escaped and len(kept) > 1 and len(quote_plus(kept)) > limits.escaped - taken:
        kept = _cut(kept, max(len(kept) * 9 // 10, 1))
    return kept


def period(since: str | None, until: str | None, filters: tuple[str, str]) -> str:
    """Return the filter of a first and a last date by the names that the provider has for them; "" without dates."""
    return ",".join(f"{name}:{day}" for name, day in zip(filters, (since, until), strict=True) if day)


def _cut(text: str, room: int) -> str:
    return text[: room + 1].rpartition(" ")[0].rstrip() or text[:room]


def with_sites(query: SearchQuery, limits: QueryLimits, *, exclude: bool = True) -> str:
    """Return the query with ``site:`` words, which most web search engines understand, within the limits.

    They take at most half of the room; domains that find none are left to Leadline's own filter.
    """
    room = limits.chars // 2
    wanted = _fitting([f"site:{domain}" for domain in query.domains[:MOST_DOMAINS]], room - len(" ()"), " OR ")
    sites = f" ({' OR '.join(wanted)})" if wanted else ""
    if exclude:
        unwanted = [f"-site:{domain}" for domain in query.excluded[:MOST_DOMAINS]]
        sites += "".join(f" {word}" for word in _fitting(unwanted, room - len(sites), " "))
    spent = QueryLimits(limits.chars, max(limits.words - len(sites.split()), 1) if limits.words else 0, limits.escaped)
    return fitted(query.text, spent, len(sites)) + sites


def _fitting(words: Sequence[str], room: int, between: str) -> list[str]:
    """Return the first of the words that fit into so many characters, with what stands between them."""
    kept: list[str] = []
    for word in words:
        room -= len(word) + len(between)
        if room < 0:
            break
        kept.append(word)
    return kept


def plain_words(text: str) -> str:
    """Return a text without what query languages read as operators: only words and the hyphens inside them are left."""
    return " ".join(re.findall(r"\w+(?:-\w+)*", text))


def telling_words(text: str) -> list[str]:
    """Return the words of a text that say what it is about; all of them when none does."""
    said = plain_words(text).split()
    return [word for word in said if word.casefold() not in STOP_WORDS] or said
