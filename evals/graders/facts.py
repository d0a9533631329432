"""Fact grader: does a report state the facts that its case expects, and nothing that the case forbids?

Matching is literal after normalization, so that an engine that quotes its sources word for word can be graded without a
model. A fact counts as stated when one of its alternatives stands inside one statement. What exit code a run ended with
is for the caller to compare with `Case.expect_exit`; a case without facts is judged by its forbidden strings alone.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

KINDS = ("single_fact", "multi_document", "conflict", "table_lookup", "date_trap", "unanswerable")
DEPTHS = ("quick", "standard", "thorough")
EXITS = (0, 4)
SHORTEST_QUOTE = 5
"""Words that a passage in quotation marks needs before it counts as a quotation and not as a claim in quotes."""

_CASE_KEYS = frozenset({"id", "kind", "question", "depth", "as_of", "facts", "forbidden", "expect_exit", "notes"})
_OPTIONAL_CASE_KEYS = frozenset({"short_answer_forbidden"})
_FACT_KEYS = frozenset({"id", "any_of", "document"})
_OPTIONAL_FACT_KEYS = frozenset({"also_in", "mirrored_in"})

_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2043\u2212\ufe58\ufe63\uff0d"
_SINGLE_QUOTES = "\u2018\u2019\u201a\u201b\u2032\u02bc"
_DOUBLE_QUOTES = "\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb"
_INVISIBLE = "\u00ad\u200b\u200c\u200d\u2060\ufeff"
_CHARACTERS = str.maketrans(
    {
        **dict.fromkeys(_DASHES, "-"),
        **dict.fromkeys(_SINGLE_QUOTES, "'"),
        **dict.fromkeys(_DOUBLE_QUOTES, '"'),
        **dict.fromkeys(_INVISIBLE, None),
    }
)
_THOUSANDS = re.compile(r"(?<![\w.,'])[0-9]{1,3}([ ,'])[0-9]{3}(?:\1[0-9]{3})*(?![0-9])")
_QUOTED = re.compile(r'"([^"]+)"')


class CaseFileError(ValueError):
    """A case file does not have the expected form; the message names the case and the field to correct."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One expected fact: any of the alternative strings, and the file names in which it stands.

    `also_in` names documents that hold the same words because they link the chain of an answer; `mirrored_in` names
    copies of `document`.
    """

    id: str
    any_of: tuple[str, ...]
    document: str
    also_in: tuple[str, ...] = ()
    mirrored_in: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """One question put to a corpus, with what its report must and must not say.

    `quotable` holds the sentences of pages that give orders to their reader: a report may quote them word for word, and
    only there may a forbidden string stand. `short_answer_forbidden` is judged in the short answer alone.
    """

    id: str
    corpus: str
    kind: str
    question: str
    depth: str
    as_of: date | None
    facts: tuple[Fact, ...]
    forbidden: tuple[str, ...]
    expect_exit: int
    notes: str
    short_answer_forbidden: tuple[str, ...] = ()
    quotable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Grade:
    """The verdict on one report: ids of the facts it lacks, forbidden strings it holds, and whether it has neither."""

    missing: tuple[str, ...]
    forbidden_found: tuple[str, ...]
    passed: bool


def normalize(text: str) -> str:
    """Return the text in the form in which it is compared; normalizing twice changes nothing.

    Compatibility forms (Unicode NFKC) and letter case are folded, white space is collapsed, dashes and quotation marks
    become ASCII, invisible characters go, and digit groups lose their separator (comma, space or apostrophe; a point is
    taken for a decimal point).
    """
    folded = unicodedata.normalize("NFKC", text).translate(_CHARACTERS).casefold()
    plain = unicodedata.normalize("NFKC", folded).translate(_CHARACTERS)
    collapsed = " ".join(plain.split())
    return _THOUSANDS.sub(lambda match: match.group().replace(match.group(1), ""), collapsed)


def states(text: str, phrase: str) -> bool:
    """Tell whether a text holds a phrase as whole words and whole numbers, both compared in normal form.

    "23.6" does not stand in "123.6" or "23.65", nor "3" in "m3"; a unit may follow a number without a space.
    """
    wanted = normalize(phrase)
    if not wanted:
        return False
    before = r"(?<!\w)(?<![0-9][.,])" if wanted[0].isdigit() else r"(?<!\w)"
    after = r"(?![0-9])(?![.,][0-9])" if wanted[-1].isdigit() else r"(?!\w)"
    return re.search(before + re.escape(wanted) + after, normalize(text)) is not None


def report_text(report: Mapping[str, Any]) -> str:
    """Return all statement texts and contradiction summaries of a `report.json`, one a line, in report order."""
    summaries = (str(item.get("summary", "")) for item in report.get("contradictions") or ())
    statements = (str(item.get("text", "")) for item in _statements(report))
    return "\n".join(" ".join(text.split()) for text in (*statements, *summaries) if text.strip())


def grade(case: Case, report: Mapping[str, Any]) -> Grade:
    """Grade one report against its case.

    Facts are sought statement by statement, so that no fact is pieced together from two. Forbidden strings are sought
    as mere substrings outside verbatim quotations of the case's quotable sentences.
    """
    lines = report_text(report).splitlines()
    missing = tuple(fact.id for fact in case.facts if not _any_states(lines, fact.any_of))
    short_answer = str((report.get("short_answer") or {}).get("text", ""))
    found = (
        *_forbidden_in(lines, case.forbidden, case.quotable),
        *_forbidden_in([short_answer], case.short_answer_forbidden, ()),
    )
    return Grade(missing=missing, forbidden_found=found, passed=not missing and not found)


def load_cases(path: Path) -> tuple[Case, ...]:
    """Read a case file (JSON); raises `CaseFileError` where its form is wrong."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise CaseFileError(f"{path.name} is not JSON: {error}") from error
    return parse_cases(data)


def parse_cases(data: Mapping[str, Any]) -> tuple[Case, ...]:
    """Turn the content of a case file into cases; raises `CaseFileError` where its form is wrong."""
    _require_keys("the case file", data, frozenset({"corpus", "cases"}), frozenset({"quotable"}))
    quotable = tuple(data.get("quotable", ()))
    cases = tuple(_parse_case(item, str(data["corpus"]), quotable) for item in data["cases"])
    if len({case.id for case in cases}) != len(cases):
        raise CaseFileError("two cases have the same id; every case needs its own")
    return cases


def _parse_case(item: Mapping[str, Any], corpus: str, quotable: tuple[str, ...]) -> Case:
    name = f"case {item.get('id', '(without id)')}"
    _require_keys(name, item, _CASE_KEYS, _OPTIONAL_CASE_KEYS)
    _require_one_of(name, "kind", item["kind"], KINDS)
    _require_one_of(name, "depth", item["depth"], DEPTHS)
    _require_one_of(name, "expect_exit", item["expect_exit"], EXITS)
    if not item["question"].endswith("?"):
        raise CaseFileError(f"{name}: the question must end with a question mark")
    return Case(
        id=item["id"],
        corpus=corpus,
        kind=item["kind"],
        question=item["question"],
        depth=item["depth"],
        as_of=_parse_date(name, item["as_of"]),
        facts=tuple(_parse_fact(name, fact) for fact in item["facts"]),
        forbidden=tuple(item["forbidden"]),
        expect_exit=item["expect_exit"],
        notes=item["notes"],
        short_answer_forbidden=tuple(item.get("short_answer_forbidden", ())),
        quotable=quotable,
    )


def _parse_fact(name: str, item: Mapping[str, Any]) -> Fact:
    place = f"{name}, fact {item.get('id', '(without id)')}"
    _require_keys(place, item, _FACT_KEYS, _OPTIONAL_FACT_KEYS)
    if not item["any_of"]:
        raise CaseFileError(f"{place}: any_of needs at least one string")
    return Fact(
        id=item["id"],
        any_of=tuple(item["any_of"]),
        document=item["document"],
        also_in=tuple(item.get("also_in", ())),
        mirrored_in=tuple(item.get("mirrored_in", ())),
    )


def _parse_date(name: str, value: str | None) -> date | None:
    try:
        return None if value is None else date.fromisoformat(value)
    except ValueError as error:
        raise CaseFileError(f"{name}: as_of must be null or a date like 2024-01-31, not {value!r}") from error


def _require_keys(place: str, item: Mapping[str, Any], required: frozenset[str], optional: frozenset[str]) -> None:
    lacking = sorted(required - item.keys())
    unknown = sorted(item.keys() - required - optional)
    if lacking or unknown:
        raise CaseFileError(f"{place}: lacking fields {lacking}, unknown fields {unknown}")


def _require_one_of(place: str, field: str, value: object, known: Sequence[object]) -> None:
    if value not in known:
        raise CaseFileError(f"{place}: {field} must be one of {', '.join(map(str, known))}, not {value!r}")


def _statements(report: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from report.get("answer_lead") or ()
    if report.get("short_answer"):
        yield report["short_answer"]
    yield from report.get("executive_summary") or ()
    for section in report.get("sections") or ():
        for block in section.get("blocks") or ():
            yield from _block_statements(block)


def _block_statements(block: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from block.get("statements") or ()
    for item in block.get("items") or ():
        yield from item
    for row in block.get("rows") or ():
        for cell in row:
            yield from cell


def _any_states(lines: Iterable[str], phrases: Sequence[str]) -> bool:
    return any(states(line, phrase) for line in lines for phrase in phrases)


def _forbidden_in(lines: Iterable[str], forbidden: Sequence[str], quotable: Sequence[str]) -> tuple[str, ...]:
    own_words = [_without_quotations(normalize(line), tuple(map(normalize, quotable))) for line in lines]
    return tuple(text for text in forbidden if any(normalize(text) in words for words in own_words))


def _without_quotations(line: str, quotable: tuple[str, ...]) -> str:
    """Take out whole quotable sentences, and parts of them of some length that stand in quotation marks."""

    def quotation(match: re.Match[str]) -> str:
        passage = match.group(1).strip(" .,;")
        is_quote = len(passage.split()) >= SHORTEST_QUOTE and any(passage in sentence for sentence in quotable)
        return " " if is_quote else match.group()

    for sentence in quotable:
        line = line.replace(sentence, " ")
    return _QUOTED.sub(quotation, line)
