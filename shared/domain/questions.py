"""What a question asks for, read off its words: its parts, the kind of answer, the thing asked about.

Rules of English grammar on the surface; a question in another language is one part that may be answered by anything.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from shared.domain.text import content_terms

_EDGES = " ,;?？.\n\t"


class AnswerKind(StrEnum):
    """What has to stand in a sentence that answers the question."""

    QUANTITY = "quantity"
    DATE = "date"
    NAME = "name"
    ANY = "any"


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as ranking sees it, in search terms.

    ``wanted`` are its own terms; ``focus`` those of them that name the thing asked for ("which barge"), words for large
    classes of things ("which city") left out; ``context``
    the terms of what it is about when its own words only point there ("where were they cast").
    """

    wanted: frozenset[str]
    focus: frozenset[str]
    context: frozenset[str]
    answer: AnswerKind


_WH = r"(?:who|whom|whose|what|which|when|where|why|how)"
_PART = re.compile(rf"\s*(?:[;,]\s*(?:and\s+|or\s+)?|\s(?:and|or)\s+)(?={_WH}\b)", re.I)
_SETTING = re.compile(
    r"(?:in|at|on|of|for|from|to|by|with|within|under|over|between|besides|beside|among|during|after|before|since|until|"
    r"according|based|given|as|except)\b",
    re.I,
)
"""How a part begins that asks nothing by itself ("At the 2011 census, …")."""

_AUXILIARY = r"(?:is|are|was|were|do|does|did|has|have|had|will|would|can|could|should|may|might|must)"
_QUESTION_WORD = re.compile(rf"\b{_WH}\b", re.I)
_ASKS = re.compile(rf"\b{_WH}\b|,\s*{_AUXILIARY}\b", re.I)
_AFTER_SETTING = re.compile(rf",\s+(?={_WH}\b|{_AUXILIARY}\b)", re.I)
_SENTENCE = re.compile(r"(?<=[?？])\s*")
_MEASURE_WORD = re.compile(r"\bhow\s+(\w+)\b", re.I)
_POINTER = re.compile(r"\b(?:it|its|they|them|their|theirs|he|him|his|she|her|this|these|those|there|that)\b", re.I)
_NAME = re.compile(r"\b(?:the\s+)?((?:[A-Z][\w'’-]*)(?:\s+(?:of\s+(?:the\s+)?)?[A-Z][\w'’-]*)*(?:\s+[a-z]{4,}\b)?)")
_ABOUT = re.compile(r"^About (?P<context>[^:?]+): (?P<question>.+)$", re.S)
_QUANTITY = re.compile(
    r"^(?:\w+\s+){0,3}?how\s+(?:many|much|deep|long|wide|high|tall|far|old|big|large|fast|heavy|thick|hot|cold)\b"
    r"|\b(?:what|which)\b[^?]*\b(?:price|cost|fee|charge|rate|number|percentage|percent|share|amount|total|age|"
    r"depth|height|width|length|weight|speed|distance|population|area|volume|temperature|premium|budget)\b"
    r"|^what\s+(?:do(?:es)?|did|will|would)\b[^?]*\b(?:pay|cost|weigh|measure|charge|earn)\b",
    re.I,
)
_DATE = re.compile(
    r"^(?:\w+\s+){0,3}?when\b|\b(?:what|which)\s+(?:year|date|day|month)\b|\bin\s+(?:what|which)\s+year\b", re.I
)
_WHO = re.compile(r"^(?:\w+\s+){0,2}?(?:who|whom|whose)\b", re.I)
_FOCUS = re.compile(
    rf"\b(?:which|what|how\s+(?:many|much))\s+(?P<noun>(?!{_AUXILIARY}\b)\S+(?:\s+\S+){{0,3}}?)"
    rf"(?=\s+(?:{_AUXILIARY}|carried|caused|made|led|makes|causes)\b|[?,]|\s+\w+ed\b|$)"
    rf"|\b(?:which|what|how\s+(?:many|much))\s+(?P<first>(?!{_AUXILIARY}\b)\w+)",
    re.I,
)


CLASS_TERMS = frozenset(
    content_terms(
        """
        kind type sort name term title thing part member example other
        person people man woman child father mother son daughter brother sister wife husband spouse parent
        actor actress singer musician author writer director artist player performer producer composer politician
        president leader king queen character team club band group company organization institution school university
        college church party agency
        country state city county town village place location area region province district continent capital island
        river lake sea ocean water body mountain airport hotel building street
        year date day month century decade time period era
        film movie show series program song album book novel magazine newspaper play game work
        language nationality citizenship religion profession occupation job position role genre award sport event war
        animal plant species breed colour color
        """
    )
)
"""Nouns for classes of things: an answer is one of them and need not say so ("in which city?", "Paris")."""


_CLASS_OF_PERSONS = re.compile(r"\w{3,}(?:er|or|ist|ian)s?", re.I)


def split_question(text: str) -> tuple[str, ...]:
    """Split a question into its parts, each a question of its own; later parts say what they are about.

    "Who built X, and where was it cast?" gives "Who built X?" and "About X: where was it cast?".
    """
    parts: list[str] = []
    for sentence in _SENTENCE.split(text.strip()):
        pieces = _with_settings([p.strip(_EDGES) for p in _PART.split(sentence) if p.strip(_EDGES)])
        parts += pieces if sentence.endswith(("?", "？")) else [sentence.strip(_EDGES)] * bool(pieces)
    context = _subject(own_words(parts[0])) if parts else None
    questions = []
    for number, part in enumerate(parts):
        own = own_words(part)
        about = number > 0 and context is not None and _POINTER.search(own) and not _subject(own)
        asked = part[0].upper() + part[1:] if part else part
        questions.append(f"About {context}: {part}?" if about else f"{asked}?")
    return tuple(questions) or (text.strip(),)


def _with_settings(pieces: Sequence[str]) -> list[str]:
    """Put what only sets the scene before the question that it belongs to."""
    found: list[str] = []
    setting = ""
    for piece in pieces:
        if _SETTING.match(piece) and not _ASKS.search(piece):
            setting += f"{piece}, "
        else:
            found.append(setting + piece)
            setting = ""
    return [*found, setting.strip(_EDGES)] if setting else found


def own_words(question: str) -> str:
    """Return what a question asks, without what it is about ("About X: …") and without what sets the scene."""
    match = _ABOUT.match(question)
    own = match["question"] if match else question
    asking = _AFTER_SETTING.search(own) if _SETTING.match(own) else None
    return own if asking is None or _QUESTION_WORD.search(own[: asking.start()]) else own[asking.end() :]


def asked(question: str) -> Asked:
    """Read a question, as `split_question` or a person wrote it."""
    match = _ABOUT.match(question)
    context, own = (match["context"], match["question"]) if match else ("", question)
    return Asked(
        wanted=frozenset(content_terms(_MEASURE_WORD.sub("", own))) or frozenset(content_terms(own)),
        focus=_focus(own),
        context=frozenset(content_terms(context)),
        answer=_answer_kind(own_words(own)),
    )


def _focus(question: str) -> frozenset[str]:
    """Return the terms of the thing asked for, but for words for classes of things and for how something is done."""
    match = _FOCUS.search(question)
    words = (match["noun"] or match["first"]).split() if match else []
    named = (w for w in words if not _CLASS_OF_PERSONS.fullmatch(w) and not w.endswith("ly"))
    return frozenset(content_terms(" ".join(named))) - CLASS_TERMS


def _subject(part: str) -> str | None:
    """Return the first name in a question, with the lower-case noun that follows it ("Gannet Arm breakwater")."""
    without_first_word = part.partition(" ")[2]
    match = _NAME.search(without_first_word)
    return match.group(0).strip() if match else None


def _answer_kind(question: str) -> AnswerKind:
    if _DATE.search(question):
        return AnswerKind.DATE
    if _QUANTITY.search(question):
        return AnswerKind.QUANTITY
    return AnswerKind.NAME if _WHO.search(question) else AnswerKind.ANY


def fingerprint(query: str) -> frozenset[str]:
    """Return what makes a query the same as another: its content terms."""
    return frozenset(content_terms(query))


def holds_address(query: str) -> bool:
    """Tell whether a query holds a link or an e-mail address: nothing that a search needs, and a way to carry data."""
    return _ADDRESS.search(query) is not None


_ADDRESS = re.compile(r"[a-z]+://|\bwww\.|[\w.+-]+@[\w-]+\.\w|[?&]\w+=|/\S+\?", re.IGNORECASE)

NEAR_DUPLICATE = 0.8


def is_repeat(query: str, earlier: list[frozenset[str]]) -> bool:
    """Tell whether a query asks for nearly the same words as an earlier one (Jaccard similarity of 0.8 or more)."""
    mine = fingerprint(query)
    return any(len(mine & other) >= NEAR_DUPLICATE * len(mine | other) for other in earlier) if mine else True
