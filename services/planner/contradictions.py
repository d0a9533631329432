"""Contradictions among the evidence: spans that answer one question, or speak of one claim, in different ways."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from services.planner.belonging import belonging
from services.planner.explaining import explanation
from services.planner.polarity import asks_what_holds_now, asks_yes_or_no, by_polarity, by_time
from services.planner.scopes import apart, scope_of, years_in
from shared.contracts.evidence import Contradiction, Evidence, Source, Value
from shared.contracts.plan import Plan, Question
from shared.domain.conversion import converted
from shared.domain.questions import AnswerKind, asked

ROUNDING = Decimal("0.005")
LEAST_DIGITS = 2
"""Digits that a rounded figure has to show: 12 may be 11.7, but 4 is not 3.6."""

MOST_APART = 100
"""How many times a figure in another unit may be as large as the others and still contradict them."""

ANSWER_BP = 6500
"""Relevance, in basis points, from which a span is taken to answer the question rather than to touch on it."""

NOW_BP = 4000
"""The same for questions for what holds now, whose older answers seldom have the question's words for "now"."""


def find_contradictions(
    plan: Plan, evidence: Sequence[Evidence], sources: Mapping[str, Source]
) -> tuple[Contradiction, ...]:
    """Return one contradiction for each question whose answers differ in value, and for each claim told differently.

    Copies of one text (the same independence cluster) are one side. Values are never averaged. A claim whose sides are
    all named with a question is not told again.
    """
    found = []
    for question in plan.questions:
        sides = _sides(question, evidence, sources)
        if len(sides) > 1:
            found.append(_contradiction(question, sides, sources))
    told = frozenset(i for c in found for i in c.evidence_ids)
    return (*found, *_about_claims(plan, evidence, sources, told))


def _about_claims(
    plan: Plan, evidence: Sequence[Evidence], sources: Mapping[str, Source], told: frozenset[str]
) -> Iterator[Contradiction]:
    """Yield the claims whose evidence differs in value, or that some of it denies."""
    for key, items in sorted(_claims(evidence).items()):
        sides = _claim_sides(items, sources)
        questions = [q for q in plan.questions if any(q.id in e.question_ids for e in items)]
        named = {e.evidence_id for side in sides.values() for e in side}
        if len(sides) > 1 and questions and not named <= told:
            changes = {
                "claim_key": key,
                "question_ids": tuple(q.id for q in questions),
                "central": any(q.priority == "required" for q in questions),
            }
            yield _contradiction(questions[0], sides, sources).model_copy(update=changes)


def _claims(evidence: Sequence[Evidence]) -> dict[str, list[Evidence]]:
    """Group what states or denies something by its claim."""
    claims: dict[str, list[Evidence]] = {}
    for item in evidence:
        if item.claim_key is not None and item.stance != "context":
            claims.setdefault(item.claim_key, []).append(item)
    return claims


def _claim_sides(items: Sequence[Evidence], sources: Mapping[str, Source]) -> dict[str, tuple[Evidence, ...]]:
    """Group the evidence of a claim by value; where some of it denies the claim, by stance."""
    denied = any(e.stance == "contradicts" for e in items)
    return _stances(items, sources) if denied else _values(items, sources)


def _sides(
    question: Question, evidence: Sequence[Evidence], sources: Mapping[str, Source]
) -> dict[str, tuple[Evidence, ...]]:
    """Group the answers to a question by value, by yes and no, or by what each says holds now."""
    told = [e for e in evidence if question.id in e.question_ids]
    answers = [e for e in told if e.stance == "supports" and e.relevance_bp >= ANSWER_BP]
    changing = [e for e in told if e.relevance_bp >= NOW_BP] if asks_what_holds_now(question.text) else []
    if asked(question.text).answer in (AnswerKind.QUANTITY, AnswerKind.DATE):
        own = belonging(question, changing or told, sources)
        return _that_meet(question, _values(_of_the_years_asked(question, own), sources))
    if asks_yes_or_no(question.text):
        return by_polarity(question.text, _speakers(answers, sources))
    return by_time(question.text, _speakers(changing, sources), sources)


def _of_the_years_asked(question: Question, items: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """Leave out evidence that names other years than the question does, where that names any."""
    wanted = years_in(question.text)
    named = ((item, scope_of(item, question.text).years) for item in items)
    return tuple(item for item, years in named if not wanted or not years or wanted & years)


def _that_meet(question: Question, sides: Mapping[str, tuple[Evidence, ...]]) -> dict[str, tuple[Evidence, ...]]:
    """Leave out sides that name a year, a place or a rate that no other side can be of."""
    scopes = {value: [scope_of(e, question.text) for e in items] for value, items in sides.items()}

    def meets(value: str) -> bool:
        others = [s for other, found in scopes.items() if other != value for s in found]
        return any(not apart(one, other) for one in scopes[value] for other in others)

    return {value: items for value, items in sides.items() if meets(value)}


def _values(answers: Sequence[Evidence], sources: Mapping[str, Source]) -> dict[str, tuple[Evidence, ...]]:
    """Group evidence by value; figures in units that cannot be told in the one that most have are left out."""
    sides = _by_value(answers, sources)
    unit = _common_unit([items[0] for items in sides.values()])
    own = {value: items for value, items in sides.items() if _unit(items[0]) == unit}
    for value, items in sides.items():
        if value not in own:
            _join(own, value, items, unit)
    return {value: tuple(items) for value, items in own.items()}


def _by_value(answers: Sequence[Evidence], sources: Mapping[str, Source]) -> dict[str, list[Evidence]]:
    """Group evidence by how its value is spelt; a date by the year is one with a date in that year.

    Dates without a year are left out.
    """
    sides: dict[str, list[Evidence]] = {}
    for item in _voices([e for e in answers if e.value is not None and not _lacks_year(e.value)], sources):
        if item.value is not None:
            value = spell_value(item.value)
            same = next((v for v, told in sides.items() if _says_the_same(item.value, told[0].value)), value)
            sides.setdefault(same, []).append(item)
    return sides


def _says_the_same(one: Value, other: Value | None) -> bool:
    """Tell whether two values are one that was written with different precision: 1.2 million and 1,184,000."""
    if other is None:
        return False
    if one.date is not None or other.date is not None:
        dates = (one.date or "", other.date or "")
        return all(dates) and (dates[0].startswith(dates[1]) or dates[1].startswith(dates[0]))
    if one.number is None or other.number is None or one.unit != other.unit:
        return False
    return _rounds_to(one.number, other.number) or _rounds_to(other.number, one.number)


def _rounds_to(fine: float, coarse: float) -> bool:
    """Tell whether a figure, rounded to the digits that another one shows, is that one; a single digit shows none."""
    shown = Decimal(repr(coarse)).normalize()
    digits = shown.as_tuple()
    if len(digits.digits) < LEAST_DIGITS or not isinstance(digits.exponent, int):
        return fine == coarse
    return abs(Decimal(repr(fine)) - shown) * 2 <= Decimal(1).scaleb(digits.exponent)


def _join(own: dict[str, list[Evidence]], value: str, items: list[Evidence], unit: str | None) -> None:
    """Put a side in another unit to the one that it agrees with, or beside the others where it can differ from them."""
    amount = _amount_in(items[0], unit)
    if amount is None:
        return
    others = {side: _amount_in(told[0], unit) for side, told in own.items()}
    same = next((side for side, other in others.items() if _is_near(amount, other)), None)
    if same is not None:
        own[same].extend(items)
    elif any(_is_comparable(amount, other) for other in others.values()):
        own[value] = items


def _amount_in(item: Evidence, unit: str | None) -> Decimal | None:
    """Return the figure of a piece of evidence in a unit; None where it has none of that dimension."""
    value = item.value
    if value is None or value.number is None or value.unit is None or unit is None:
        return None
    return converted(Decimal(repr(value.number)), value.unit, unit)


def _is_near(one: Decimal, other: Decimal | None) -> bool:
    """Tell whether two figures are the same but for what is lost between units."""
    return other is not None and abs(one - other) <= ROUNDING * max(abs(one), abs(other))


def _is_comparable(one: Decimal, other: Decimal | None) -> bool:
    """Tell whether two figures can be about the same: a depth in metres and a length in kilometres are not."""
    if other is None or not one or not other:
        return False
    return 1 / MOST_APART <= abs(one / other) <= MOST_APART


def _lacks_year(value: Value) -> bool:
    return value.date is not None and not value.date[:1].isdigit()


def _stances(items: Sequence[Evidence], sources: Mapping[str, Source]) -> dict[str, tuple[Evidence, ...]]:
    """Group evidence by whether it states a claim or denies it."""
    sides: dict[str, list[Evidence]] = {}
    for item in _voices(items, sources):
        sides.setdefault("stated" if item.stance == "supports" else "denied", []).append(item)
    return {stance: tuple(side) for stance, side in sides.items()}


def _speakers(items: Sequence[Evidence], sources: Mapping[str, Source]) -> tuple[tuple[str, Evidence], ...]:
    """Return evidence with the voice that it speaks for, the most relevant first: a voice may speak more than once."""
    ordered = sorted(items, key=lambda e: (-e.relevance_bp, _published(e, sources), e.sha256))
    return tuple((_voice(e, sources), e) for e in ordered)


def _voice(item: Evidence, sources: Mapping[str, Source]) -> str:
    source = sources.get(item.source_id)
    return (source.independence_cluster if source else None) or item.source_id


def _voices(items: Sequence[Evidence], sources: Mapping[str, Source]) -> Iterator[Evidence]:
    """Yield the most relevant span of each source cluster: it speaks once."""
    spoken: set[str] = set()
    for item in sorted(items, key=lambda e: (-e.relevance_bp, _published(e, sources), e.sha256)):
        cluster = _voice(item, sources)
        if cluster not in spoken:
            spoken.add(cluster)
            yield item


def _published(item: Evidence, sources: Mapping[str, Source]) -> str:
    """Return when the item's source was published, so that an original speaks before its copy; unknown is last."""
    source = sources.get(item.source_id)
    return (source.published_at if source else None) or "9999"


def _common_unit(items: Sequence[Evidence]) -> str | None:
    """Return the unit that most sides have: figures in other units answer something else."""
    units = [_unit(item) for item in items]
    return max(units, key=lambda u: (units.count(u), u or ""), default=None)


def _unit(item: Evidence) -> str | None:
    if item.value is None:
        return None
    return "date" if item.value.date is not None else item.value.unit


def _contradiction(
    question: Question, sides: Mapping[str, tuple[Evidence, ...]], sources: Mapping[str, Source]
) -> Contradiction:
    told = [f"{value} ({_name(items, sources)})" for value, items in sides.items()]
    return Contradiction(
        claim_key=f"{question.id}:{_unit(next(iter(sides.values()))[0]) or 'number'}",
        evidence_ids=tuple(e.evidence_id for items in sides.values() for e in items),
        question_ids=(question.id,),
        summary=f"The sources do not agree on “{question.text}”: {'; '.join(told)}. {explanation(sides, sources)}",
        resolution=_resolution(question, sides, sources),
        central=question.priority == "required",
    )


def _resolution(question: Question, sides: Mapping[str, tuple[Evidence, ...]], sources: Mapping[str, Source]) -> str:
    """Explain dates that changed between sources of different age; anything else stays open."""
    dated = {
        source.published_at: value
        for value, items in sides.items()
        for item in items
        if (source := sources.get(item.source_id)) is not None and source.published_at
    }
    every = sum(len(items) for items in sides.values())
    if asked(question.text).answer is not AnswerKind.DATE or len(dated) < every:
        return "unresolved"
    newest = max(dated)
    return f"date: the newest source, of {newest[:10]}, says {dated[newest]}"


def _name(items: Sequence[Evidence], sources: Mapping[str, Source]) -> str:
    names = []
    for item in items:
        source = sources.get(item.source_id)
        name = (source.title or source.canonical_url) if source else item.source_id
        names.append(f"{name}, {source.published_at[:10]}" if source and source.published_at else name)
    return ", ".join(names)


def spell_value(value: Value) -> str:
    """Return a value as people read it."""
    if value.date is not None:
        return value.date
    number = f"{value.number:,.10g}" if value.number is not None else ""
    return f"{number} {value.unit or ''}".strip()
