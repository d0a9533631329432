"""Turned statements: ``python -m evals.truth.turned`` changes what a sentence says and not what it talks about.

Sentences of real pages and passages, each with the sentences around it as its excerpt, are turned by one word: "most"
into "all", "may" into "will", a denial put in or taken out, two names exchanged or
one replaced. "Caught" means that the gate would
not emit the turned sentence. What the checks cost is counted on the labelled sets: how many statements that people
call supported are emitted with them, and how many without.
"""

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

from evals.truth.sets import need, pairs, save, table
from evals.truth.texts import excerpts
from services.synthesizer.gate.alignment import assess
from services.synthesizer.gate.names import proper_names
from shared.domain.text import STOP_WORDS

SEED = 11
STATEMENTS = 400
"""Of each kind."""

Turn = Callable[[str, str, random.Random], str | None]
"""Makes another sentence of one and its excerpt, or nothing."""


def _word(pattern: str, others: dict[str, str]) -> Turn:
    """Return a turn that puts another word in the place of one that the pattern finds."""
    wanted = re.compile(rf"\b(?:{pattern})\b")

    def turn(text: str, _: str, rng: random.Random) -> str | None:
        found = list(wanted.finditer(text))
        if not found:
            return None
        one = rng.choice(found)
        return text[: one.start()] + others[one.group()] + text[one.end() :]

    return turn


_ALL = {"most": "all", "many": "all", "some": "all", "several": "all", "few": "all", "Most": "All", "Many": "All"}
_ALWAYS = {"often": "always", "usually": "always", "sometimes": "always", "generally": "always", "typically": "always"}
_SURE = {"may": "will", "might": "will", "could": "will", "suggests": "shows", "suggest": "show", "likely": "certainly"}
_SAID = {"is": "is not", "was": "was not", "are": "are not", "were": "were not", "has been": "has never been"}


def _undenied(text: str, _: str, rng: random.Random) -> str | None:
    found = list(re.finditer(r" not(?= )| never(?= )", text))
    one = rng.choice(found) if found else None
    return text[: one.start()] + text[one.end() :] if one else None


def _exchanged(text: str, _: str, rng: random.Random) -> str | None:
    """Exchange two names of one word each with a word between them that says something: no two of one list."""
    places = {n: m for n in proper_names(text) if n.isalpha() and (m := _alone(n, text)) is not None}
    options = [(a, b) for a in places for b in places if _says(text[places[a].end() : max(places[b].start(), 0)])]
    if not options:
        return None
    a, b = rng.choice(options)
    return re.sub(rf"\b(?:{a}|{b})\b", lambda m: b if m.group() == a else a, text)


def _replaced(text: str, excerpt: str, rng: random.Random) -> str | None:
    """Put a name from the sentences around in the place of a name."""
    rest = excerpt.replace(text, " ")
    here = [n for n in proper_names(text) if n.isalpha() and _alone(n, text)]
    there = [n for n in dict.fromkeys(proper_names(rest)) if n.isalpha() and n not in text and _alone(n, rest)]
    return re.sub(rf"\b{rng.choice(here)}\b", rng.choice(there), text) if here and there else None


def _alone(name: str, text: str) -> re.Match[str] | None:
    """Return where a name stands that stands once and is no part of a longer one."""
    found = list(re.finditer(rf"\b{name}\b(?!\s+[A-Z])", text))
    before = re.search(r"\b[A-Z]\S*\s+$", text[: found[0].start()]) if len(found) == 1 else None
    return found[0] if len(found) == 1 and before is None else None


def _says(between: str) -> bool:
    return any(word.islower() and word not in STOP_WORDS for word in re.findall(r"\w+", between))


TURNS: dict[str, Turn] = {
    "quantity made all": _word("|".join(_ALL), _ALL),
    "often made always": _word("|".join(_ALWAYS), _ALWAYS),
    "possible made certain": _word("|".join(_SURE), _SURE),
    "denial put in": _word("|".join(_SAID), _SAID),
    "denial taken out": _undenied,
    "names exchanged": _exchanged,
    "name of a neighbour": _replaced,
}


def turned() -> Iterator[tuple[str, str, str, str]]:
    """Yield the kind of a turn, the turned sentence, the sentence, and its excerpt."""
    rng, made = random.Random(SEED), Counter[str]()
    for sentence, excerpt in excerpts():
        for kind, turn in TURNS.items():
            new = turn(sentence, excerpt, rng) if made[kind] < STATEMENTS else None
            if new is not None:
                made[kind] += 1
                yield kind, new, sentence, excerpt


def cost() -> dict[str, tuple[int, int]]:
    """Return how many labelled statements would be emitted without the checks, and how many are with them, by label."""
    found = {"supported": [0, 0], "others": [0, 0]}
    for pair in pairs():
        seen = assess(pair.claim, (pair.evidence,), pair.question)
        counts = found["supported" if pair.supported else "others"]
        counts[0] += replace(seen, turns=()).emitted
        counts[1] += seen.emitted
    return {name: (without, held) for name, (without, held) in found.items()}


def main(show: int = 3) -> None:
    """Print and save how many turned statements are caught, with the checks and without, and what that costs."""
    need("support")
    made, caught, before, shown = (Counter[str]() for _ in range(4))
    for kind, text, was, excerpt in turned():
        made[kind] += 1
        seen = assess(text, (excerpt,))
        before[kind] += not replace(seen, turns=()).emitted
        caught[kind] += not seen.emitted
        if seen.emitted and shown[kind] < show:
            shown[kind] += 1
            print(f"missed ({kind}): {text}\n  was: {was}")
    parts = {kind: (caught[kind] / made[kind], before[kind] / made[kind]) for kind in made}
    rows = [[kind, str(made[kind]), *(f"{100 * part:.1f}" for part in found)] for kind, found in parts.items()]
    table(["turned by one word", "statements", "caught %", "without the checks"], rows)
    paid = cost()
    for name, (without, held) in paid.items():
        print(f"labelled {name}: {held} are emitted, {without} would be without the checks")
    save("turned", {"caught": parts, "cost": paid})


if __name__ == "__main__":
    main()
