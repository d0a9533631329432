"""Evidence as a model sees it: numbered passages, each with where it stands."""

from collections.abc import Iterable, Mapping

from shared.contracts.evidence import Evidence, Source

TITLE_CHARS = 120


def card(number: int, evidence: Evidence, sources: Mapping[str, Source]) -> str:
    """Return a passage on one line, with its number and its origin."""
    return f"[{number}] ({origin(evidence, sources)}) {' '.join(evidence.excerpt.split())}"


def cards(evidence: Iterable[Evidence], sources: Mapping[str, Source]) -> str:
    """Return passages numbered from 1, one a line."""
    return "\n".join(card(number, item, sources) for number, item in enumerate(evidence, start=1))


def origin(evidence: Evidence, sources: Mapping[str, Source]) -> str:
    """Return title, heading and date of a passage's source, as far as they are known."""
    source = sources.get(evidence.source_id)
    title = (source.title or source.domain or "untitled") if source else "unknown source"
    parts = [title, evidence.locator.heading, source.published_at[:10] if source and source.published_at else None]
    return "; ".join(" ".join(part.split())[:TITLE_CHARS] for part in dict.fromkeys(parts) if part)
