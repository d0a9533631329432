"""What the support scorer knows of a statement and its spans: some thirty named figures, most between 0 and 1.

Words are search terms (`shared.domain.text`): folded, stemmed, stop words left out. "Window" is a run of neighbouring
sentences of the evidence. Everything is counted in one pass over the evidence, and nothing depends on chance or order.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log1p

from services.synthesizer.gate.wordlists import CLAUSE_BREAK, DENIAL, HEDGES, STRONG, opposites
from shared.domain.segments import segment
from shared.domain.text import content_terms, marked_terms, terms

MAX_EVIDENCE_CHARS = 60_000
"""What is read of the evidence of one statement."""

PREFIX = 5
"""Words that begin with the same five letters are taken for forms of one word."""

NEAR = 3
"""Content words that stand at most so far apart are neighbours."""

_OPPOSITE = {
    next(iter(terms(word)), word): frozenset(t for other in others for t in terms(other))
    for word, others in opposites().items()
}
_STRONG = frozenset(term for word in STRONG for term in terms(word))
_HEDGES = frozenset(term for word in HEDGES for term in terms(word))


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the evidence: its words, all its terms in order, and its content terms in order."""

    text: str
    every: tuple[str, ...]
    content: tuple[str, ...]
    words: frozenset[str]


def sentences_of(evidence: str) -> tuple[Sentence, ...]:
    """Split evidence into sentences with their terms."""
    evidence = evidence[:MAX_EVIDENCE_CHARS]
    found = []
    for span in segment(evidence):
        text = evidence[span.start : span.end]
        marked = marked_terms(text)
        content = tuple(term for term, kept in marked if kept)
        found.append(Sentence(text, tuple(term for term, _ in marked), content, frozenset(content)))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Checked:
    """What the checks of figures and names found: how many the statement has, and how many are not borne out."""

    figures: int
    unmet: int
    names: int
    missing: int


def features(
    statement: str, sentences: Sequence[Sentence], checked: Checked, name_terms: frozenset[str], question: str | None
) -> dict[str, float]:
    """Return the named figures; ``name_terms`` are the content terms that belong to names and figures."""
    marked = marked_terms(statement)
    order = [term for term, kept in marked if kept]
    wanted = tuple(dict.fromkeys(order))
    held = frozenset().union(*(s.words for s in sentences)) if sentences else frozenset()
    asked = frozenset(content_terms(question)) if question else frozenset()
    best, place = _best_window(wanted, sentences, 2)
    region = sentences[place : place + 2]
    missing = [t for t in wanted if t not in held]
    return {
        **_recall(wanted, held, name_terms, asked, missing),
        "window_2": best,
        "window_4": _best_window(wanted, sentences, 4)[0],
        **_order_features([term for term, _ in marked], order, sentences),
        **_clause_features(statement, sentences, held),
        "length": log1p(len(wanted)),
        "evidence_length": log1p(sum(len(s.content) for s in sentences)),
        "names": float(checked.names > 0),
        "names_missing": checked.missing / checked.names if checked.names else 0.0,
        "names_any": float(checked.missing > 0),
        "figures": float(checked.figures > 0),
        "figures_unmet": checked.unmet / checked.figures if checked.figures else 0.0,
        "figures_any": float(checked.unmet > 0),
        **_turns(statement, frozenset(term for term, _ in marked), region, held),
    }


def _share(wanted: Sequence[str], held: frozenset[str]) -> float:
    return sum(t in held for t in wanted) / len(wanted) if wanted else 1.0


def _recall(
    wanted: Sequence[str], held: frozenset[str], names: frozenset[str], asked: frozenset[str], missing: Sequence[str]
) -> dict[str, float]:
    """Return which part of the statement's words the evidence holds, counted in several ways."""
    weight = sum(2 if t in names else 1 for t in wanted)
    heavy = sum(2 if t in names else 1 for t in wanted if t in held)
    starts = {t[:PREFIX] for t in held if len(t) >= PREFIX}
    soft = [t for t in missing if not (len(t) >= PREFIX and t[:PREFIX] in starts)]
    return {
        "recall": _share(wanted, held),
        "recall_weighted": heavy / weight if weight else 1.0,
        "recall_soft": 1 - len(soft) / len(wanted) if wanted else 1.0,
        "recall_new": _share([t for t in wanted if t not in asked], held),
        "missing": log1p(len(missing)),
    }


def _best_window(wanted: Sequence[str], sentences: Sequence[Sentence], size: int) -> tuple[float, int]:
    """Return the largest share of the words that neighbouring sentences hold together, and where they begin."""
    best, place = 0.0, 0
    own = frozenset(wanted)
    hits = [s.words & own for s in sentences]
    for index in range(len(hits)):
        count = len(frozenset().union(*hits[index : index + size]))
        if count > best:
            best, place = count, index
    return (best / len(own) if own else 1.0), place


def _order_features(every: Sequence[str], order: Sequence[str], sentences: Sequence[Sentence]) -> dict[str, float]:
    """Return how far the statement's words stand in the evidence in the same order and company."""
    pairs = list(zip(order, order[1:], strict=False))
    triples = set(zip(every, every[1:], every[2:], strict=False))
    near: set[tuple[str, str]] = set()
    seen: set[tuple[str, str, str]] = set()
    own = frozenset(order)
    longest = 0
    for sentence in sentences:
        places = [(i, t) for i, t in enumerate(sentence.content) if t in own]
        for n, (i, one) in enumerate(places):
            for j, two in places[n + 1 : n + 1 + NEAR]:
                if j - i > NEAR:
                    break
                near |= {(one, two), (two, one)}
        if len(places) > 1:
            seen |= triples.intersection(zip(sentence.every, sentence.every[1:], sentence.every[2:], strict=False))
            longest = max(longest, _longest_run(every, sentence.every))
    return {
        "pairs": sum(pair in near for pair in pairs) / len(pairs) if pairs else 1.0,
        "triples": len(seen) / len(triples) if triples else 1.0,
        "run": longest / len(every) if every else 1.0,
    }


def _longest_run(one: Sequence[str], two: Sequence[str]) -> int:
    """Return the length of the longest run of terms that both have."""
    places: dict[str, list[int]] = {}
    for place, term in enumerate(two):
        places.setdefault(term, []).append(place)
    longest, before = 0, {}  # type: int, dict[int, int]
    for term in one:
        now = {place: before.get(place - 1, 0) + 1 for place in places.get(term, ())}
        longest = max(longest, max(now.values(), default=0))
        before = now
    return longest


def _clause_features(statement: str, sentences: Sequence[Sentence], held: frozenset[str]) -> dict[str, float]:
    """Return how well the worst clause of the statement is covered: by all the evidence, and by one sentence."""
    clauses = [c for part in CLAUSE_BREAK.split(statement) if len(c := tuple(content_terms(part))) >= 2]
    return {
        "clauses": float(len(clauses)),
        "clause_worst": min((_share(c, held) for c in clauses), default=1.0),
        "clause_worst_sentence": min(
            (max((_share(c, s.words) for s in sentences), default=0.0) for c in clauses), default=1.0
        ),
    }


def _turns(
    statement: str, every: frozenset[str], region: Sequence[Sentence], held: frozenset[str]
) -> dict[str, float]:
    """Return what turns the statement away from the sentences that it is nearest to."""
    there = frozenset(t for s in region for t in s.every)
    denies = DENIAL.search(statement) is not None
    denied = any(DENIAL.search(s.text) for s in region[:1])
    opposed = sum(1 for t in every if t not in there and _OPPOSITE.get(t, frozenset()) & (there - every))
    return {
        "denies_alone": float(denies and not denied),
        "denied_alone": float(denied and not denies),
        "opposed": float(min(opposed, 2)),
        "strong_alone": float(sum(1 for t in _STRONG & every if t not in there and t not in held)),
        "hedged_there": float(bool(_HEDGES & there) and not _HEDGES & every),
        "precision": max((len(every & s.words) / len(s.words) for s in region if s.words), default=0.0),
    }


def named_terms(words: Iterable[str]) -> frozenset[str]:
    """Return the content terms of names and figures."""
    return frozenset(term for word in words for term in content_terms(word))


FeatureRow = Mapping[str, float]
