"""The gate and the retrieval from outside: claims against evidence, queries against a corpus; no run, no stack."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from services.synthesizer.gate.alignment import EMIT, HALF, LEAST, Assessment, assess
from services.synthesizer.gate.support import check_support
from shared.domain.errors import Invalid
from shared.domain.rank import Ranking, document_terms
from shared.domain.text import clean, content_terms

__all__ = ["inspect_claims", "rank"]

MAX_LINE_CHARS = 5_000_000


VERBATIM = "its words stand in the evidence as they are"


def inspect_claims(lines: Iterable[str]) -> Iterator[str]:
    """Yield one line of JSON for each line of JSON, in the same order.

    A line is ``{"claim", "evidence", "question"?, "as_of"?}``; evidence may be a text or a list of texts. A line that
    cannot be read gives ``{"error": why}``; nothing is raised.
    """
    for line in lines:
        try:
            answer = _inspected(line)
        except (ValueError, RecursionError) as error:
            answer = {"error": str(error)}
        yield json.dumps(answer, ensure_ascii=False)


def _inspected(line: str) -> dict[str, Any]:
    row = _row(line)
    claim = clean(_text(row, "claim")).strip()
    if not claim:
        raise ValueError('"claim" is empty')
    spans = _spans(row)
    question = clean(_text(row, "question")) if row.get("question") is not None else None
    seen = assess(claim, spans, question, _as_of(row))
    if _verbatim(claim, spans):
        checks = {"numbers": "pass" if seen.figures else "none", "support": "pass"}
        return {"verdict": "supported", "score": 1.0, "checks": checks, "reasons": [VERBATIM]}
    numbers = "fail" if seen.unmet else "pass"
    return {
        "verdict": "supported" if seen.emitted else _verdict(seen),
        "score": seen.score,
        "checks": {
            "numbers": numbers if seen.figures else "none",
            "support": "pass" if seen.score >= HALF else "fail",
        },
        "reasons": list(_reasons(seen)),
    }


def _spans(row: Mapping[str, Any]) -> list[str]:
    given = row.get("evidence")
    spans = [given] if isinstance(given, str) else given
    if not isinstance(spans, list) or not all(isinstance(s, str) for s in spans):
        raise ValueError('"evidence" has to be a text or a list of texts')
    return [clean(span) for span in spans]


def _verbatim(claim: str, spans: Sequence[str]) -> bool:
    named = {str(number): span for number, span in enumerate(spans)}
    return check_support(claim, named, {name: name for name in named}).verdict == "supported"


def _verdict(seen: Assessment) -> str:
    """Return what the gate would say of a statement that it does not emit: a missing figure or name is final."""
    return "unsupported" if seen.unmet or seen.missing or seen.score < HALF else "partially_supported"


def _reasons(seen: Assessment) -> Iterator[str]:
    """Yield what speaks against the claim, the mechanical checks first."""
    for unmet in seen.unmet:
        yield f"“{unmet.quantity.text}” {unmet.why}"
    for name in seen.missing:
        yield f"the name “{name}” stands in none of the cited excerpts"
    if seen.turned.denies:
        yield "it denies something that the nearest sentences do not deny"
    if seen.turned.opposed:
        yield "the nearest sentences say the opposite of one of its words"
    yield from seen.turns
    if seen.turned.least < LEAST:
        yield "the evidence holds too few of the words of one of its clauses"
    if seen.score < EMIT:
        yield f"it aligns with the evidence by {seen.score:.2f}; {EMIT} is needed to be emitted"


def rank(corpus: Iterable[str], queries: Iterable[str], limit: int) -> Iterator[str]:
    """Yield a line of JSON for each query line: ``{"query_id", "ranked": [{"id", "score"}]}``.

    The lines of both are ``{"_id", "title"?, "text"}``, as in BEIR. A query that cannot be read gives an ``error``; a
    corpus line that cannot be read raises `Invalid`, because every rank after it would be wrong.
    """
    ranking = Ranking(_documents(corpus))
    for line in queries:
        try:
            row = _row(line)
            found = ranking.best(content_terms(_text(row, "text")), limit)
            ranked = [{"id": name, "score": round(score, 6)} for name, score in found]
            answer: dict[str, Any] = {"query_id": _id(row), "ranked": ranked}
        except (ValueError, RecursionError) as error:
            answer = {"query_id": None, "ranked": [], "error": str(error)}
        yield json.dumps(answer, ensure_ascii=False)


def _documents(lines: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = _row(line)
            title = row.get("title") or ""
            if not isinstance(title, str):
                raise ValueError('"title" has to be a text')
            yield _id(row), document_terms(title, _text(row, "text"))
        except (ValueError, RecursionError) as error:
            raise Invalid(f"Line {number} of the corpus cannot be read: {error}.") from error


def _row(line: str) -> dict[str, Any]:
    if len(line) > MAX_LINE_CHARS:
        raise ValueError(f"the line is longer than {MAX_LINE_CHARS:,} characters")
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"the line is no JSON: {error.msg}") from error
    if not isinstance(row, dict):
        raise ValueError("the line is no JSON object")
    return row


def _text(row: dict[str, Any], name: str) -> str:
    value = row.get(name)
    if not isinstance(value, str):
        raise ValueError(f'"{name}" has to be a text')
    return value


def _id(row: dict[str, Any]) -> str:
    value = row.get("_id")
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError('"_id" has to be a text or a whole number')
    return str(value)


def _as_of(row: dict[str, Any]) -> str | None:
    """Return the day from which relative dates are told: a year, month or day."""
    value = row.get("as_of")
    if value is None:
        return None
    parts = value[:10].split("-") if isinstance(value, str) else []
    limits = ((1000, 2999), (1, 12), (1, 31))
    if not 1 <= len(parts) <= 3 or not all(
        p.isascii() and p.isdigit() and low <= int(p) <= high for p, (low, high) in zip(parts, limits, strict=False)
    ):
        raise ValueError('"as_of" has to be a year, month or day, such as 2024-03-05')
    return "-".join(parts)
