"""Why sources do not agree, as far as their words say so: date, geography, definition, method, or no reason found."""

import re
from collections.abc import Mapping, Sequence

from shared.contracts.evidence import Evidence, Source
from shared.domain.text import content_terms

_YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d\b")
_PLACE = re.compile(r"\b(?:in|at|for|across|of)\s+((?:the\s+)?[A-Z][\w'’-]+(?:\s+[A-Z][\w'’-]+)*)")
_DEFINITION = frozenset(
    content_terms(
        "including excluding only total whole both together alone confirmed official counted defined definition gross "
        "net average median minimum maximum basic full part inner outer"
    )
)
_METHOD = frozenset(
    content_terms(
        "estimate estimated survey surveyed measured measurement model modelled calculated study trial review sample "
        "interview self-reported projected forecast"
    )
)

Sides = Mapping[str, Sequence[Evidence]]


def explanation(sides: Sides, sources: Mapping[str, Source]) -> str:
    """Return a sentence on what the difference may come from."""
    texts = [" ".join(e.excerpt for e in items) for items in sides.values()]
    for kind, found in (
        ("date", [_years(items, sources) for items in sides.values()]),
        ("geography", [frozenset(_PLACE.findall(text)) for text in texts]),
        ("definition", [_DEFINITION & set(content_terms(text)) for text in texts]),
        ("method", [_METHOD & set(content_terms(text)) for text in texts]),
    ):
        if _apart(found, all_named=kind in ("date", "geography")):
            return f"The difference may be one of {kind}."
    return "Nothing in the sources explains the difference: it may be a genuine conflict."


def _years(items: Sequence[Evidence], sources: Mapping[str, Source]) -> frozenset[str]:
    """Return the years that the sentences name; where they name none, those in which their sources appeared."""
    named = frozenset(year for e in items for year in _YEAR.findall(e.excerpt))
    published = ((sources[e.source_id].published_at or "")[:4] for e in items if e.source_id in sources)
    return named or frozenset(year for year in published if year)


def _apart(found: Sequence[frozenset[str]], *, all_named: bool) -> bool:
    """Tell whether the sides name different things of a kind: each one its own, or some of them something at all."""
    if all_named and not all(found):
        return False
    return len(set(found)) > 1 and not frozenset.intersection(*found)
