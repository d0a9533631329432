"""Which figure or date of a sentence belongs to the thing that a question asks for; most figures do not."""

import re
from collections.abc import Iterable, Mapping, Sequence

from shared.contracts.evidence import Evidence, Source, Value
from shared.contracts.plan import Question
from shared.domain.chains import all_names
from shared.domain.labels import is_label, is_part
from shared.domain.measures import COUNT, MONEY, PERCENT, Measure, dimension, measure_of
from shared.domain.numbers import Quantity, is_pronoun, quantities
from shared.domain.pronouns import points_back
from shared.domain.questions import CLASS_TERMS, AnswerKind, asked, own_words
from shared.domain.segments import segment
from shared.domain.text import content_terms

NAMED = 0.5
"""Share of the names of a question that a sentence, with the title it stands under, has to hold."""

HELD = 2 / 3
"""Share of a question's other words that a sentence and its title have to hold for a figure to belong to it."""

SAID = 0.5
"""Share of them that the sentence itself has to hold."""

_REACH = 5
"""Words after a figure, or before it, in which the thing that it counts is named."""

_WORD = re.compile(r"[\w'’-]+")
_CAPITAL = re.compile(r"(?<=[\w,;] )[A-Z][\w'’-]+")
_CLAUSE = re.compile(r"[,;:()]|\s[–—-]\s|\b(?:and|while|whereas|but|although)\b", re.I)
_SAID_OF_THE_PAST = re.compile(
    r"\b(?:used\s+to|formerly|previously|once\s+(?:was|cost)|no\s+longer|originally|until\s+(?:then|\d{4})|back\s+then|"
    r"in\s+the\s+past|had\s+been)\b",
    re.I,
)
_ASKS_OF_THE_PRESENT = re.compile(r"\b(?:is|are|do|does|has|have|can|must|will)\b", re.I)
_MEASURING = frozenset(content_terms("long deep wide high tall far old big large fast heavy thick hot cold many much"))
_DECISIVE = re.compile(r"\b(?:first|\w+est)\b(?<!latest)(?<!newest)(?<!interest)(?<!test)(?<!west)(?<!forest)", re.I)


def belonging(question: Question, evidence: Iterable[Evidence], sources: Mapping[str, Source]) -> tuple[Evidence, ...]:
    """Return the evidence whose sentence holds what the question asks for, each with that figure or date as its value.

    It has to name the thing asked about, itself or by the title that "it" stands for. The figure is one of the
    dimension, the unit or the noun asked for; identifiers, ends of ranges and bounds are none.
    """
    found = []
    for item in evidence:
        around = _around(item, sources)
        best = _of_sentences(question, item, around)
        if best is not None:
            found.append(item.model_copy(update={"value": _value(best)}))
    return tuple(found)


def _around(item: Evidence, sources: Mapping[str, Source]) -> str:
    source = sources.get(item.source_id)
    return " ".join(((source.title if source else None) or "", item.locator.heading or ""))


def _of_sentences(question: Question, item: Evidence, around: str) -> Quantity | None:
    """Return the figure of the first sentence of an excerpt that holds one; what stands before it is what "it" is."""
    before = item.locator.prefix
    for span in segment(item.excerpt):
        sentence = item.excerpt[span.start : span.end]
        context = f"{around} {before}" if points_back(sentence) else around
        if _is_about(question, sentence, context):
            figure = figure_of(question.text, sentence)
            if figure is not None:
                return figure
        before = sentence if not points_back(sentence) else f"{before} {sentence}"
    return None


def _is_about(question: Question, sentence: str, context: str) -> bool:
    """Tell whether a sentence, under its title, speaks of what the question names and of most else that it says.

    What the sentence writes with a capital is a name in the question too, however that is written there.
    """
    own = asked(question.text)
    names = [frozenset(content_terms(name)) for name in all_names(question.text)]
    held = frozenset(content_terms(f"{context} {sentence}"))
    named = [name for name in names if name <= held]
    if names and len(named) < NAMED * len(names):
        return False
    known = frozenset(content_terms(" ".join(_CAPITAL.findall(sentence)))).union(*names)
    rest = (own.wanted | own.context) - known - CLASS_TERMS - _MEASURING
    said = frozenset(content_terms(sentence)) | (held if points_back(sentence) else frozenset())
    said |= {"cost", "price"} if _speaks_of_money(sentence) else set()
    decisive = rest & frozenset(content_terms(" ".join(_DECISIVE.findall(question.text))))
    both = rest & (said | held)
    return decisive <= both and len(both) >= HELD * len(rest) and len(rest & said) >= SAID * len(rest)


def _speaks_of_money(sentence: str) -> bool:
    return any(q.kind == MONEY for q in quantities(sentence))


def figure_of(question: str, sentence: str) -> Quantity | None:
    """Return the figure or date of a sentence that a question asks for, or None where none belongs to it."""
    own = asked(question)
    if _SAID_OF_THE_PAST.search(sentence) and _ASKS_OF_THE_PRESENT.search(own_words(question)):
        return None
    found = [q for q in quantities(sentence) if not is_pronoun(sentence, q) and not is_label(sentence, q)]
    if own.answer is AnswerKind.DATE:
        dates = [q for q in found if q.kind == "date" and q.date is not None and q.date[:1].isdigit()]
        return _nearest(dates, sentence, own.wanted)
    measure = measure_of(question)
    fitting = [q for q in found if q.kind != "date" and not is_part(sentence, q) and _fits(q, measure, sentence)]
    return _nearest(fitting, sentence, own.wanted | frozenset(content_terms(" ".join(measure.said))))


def _fits(figure: Quantity, measure: Measure, sentence: str) -> bool:
    """Tell whether a figure is of what is measured."""
    kind = dimension(figure)
    if measure.dimensions and kind not in measure.dimensions:
        return False
    if measure.unit is not None and COUNT not in measure.dimensions:
        return True
    if measure.nouns:
        return _counts(figure, measure.nouns, sentence)
    near = _word_after(figure, sentence)
    return near not in measure.others and not (measure.others and _named_before(figure, measure, sentence))


def _word_after(figure: Quantity, sentence: str) -> str:
    match = _WORD.search(sentence, figure.end)
    return match.group().lower() if match and match.start() - figure.end <= 2 else ""


def _named_before(figure: Quantity, measure: Measure, sentence: str) -> bool:
    """Tell whether another measure ("a width of 3 m") stands before a figure, nearer than the one asked for."""
    words = [w.lower() for w in _WORD.findall(sentence[: figure.start])[-_REACH:]]
    named = [w for w in words if w in measure.others or w in measure.said]
    return bool(named) and named[-1] in measure.others and named[-1].endswith("th")


def _counts(figure: Quantity, nouns: frozenset[str], sentence: str) -> bool:
    """Tell whether a plain figure counts the things asked for: they are named after it, else right before it."""
    after = _WORD.findall(_CLAUSE.split(sentence[figure.end :])[0])[:_REACH]
    if nouns & set(content_terms(" ".join(after))):
        return True
    before = _WORD.findall(sentence[: figure.start])[-2 * _REACH :]
    alone = not after or not content_terms(after[0])
    return alone and bool(nouns & set(content_terms(" ".join(before))))


def _nearest(figures: Sequence[Quantity], sentence: str, wanted: frozenset[str]) -> Quantity | None:
    """Return the figure whose clause holds most of the words asked for; of dates, then the one nearest to such a word.

    Other figures that fit alike and differ give none: nothing tells which of them is meant.
    """
    if len(figures) < 2:
        return next(iter(figures), None)
    cuts = [0, *(m.start() for m in _CLAUSE.finditer(sentence)), len(sentence)]
    places = [m.end() for m in _WORD.finditer(sentence) if wanted & set(content_terms(m.group()))]

    def weight(figure: Quantity) -> tuple[int, int, int]:
        start = max(c for c in cuts if c <= figure.start)
        end = min(c for c in cuts if c >= figure.end)
        held = len(wanted & set(content_terms(sentence[start:end])))
        apart = min((abs(figure.start - place) for place in places), default=len(sentence))
        return held, -apart, len(figure.date or "")

    best = max(figures, key=weight)
    rivals = [f for f in figures if weight(f)[0] == weight(best)[0] and (f.value, f.unit) != (best.value, best.unit)]
    return None if rivals and best.kind != "date" else best


def _value(figure: Quantity) -> Value:
    if figure.kind == "date":
        return Value(date=figure.date)
    unit = "%" if figure.kind == PERCENT else figure.unit
    return Value(number=float(figure.value), unit=unit)
