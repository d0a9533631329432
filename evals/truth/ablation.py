"""What each rule of the extractive engine is worth: ``python -m evals.truth.ablation`` plays the multi-hop questions
without it.

Each row sets one name, a constant or a function, to a value at which its rule does nothing. A rule stays when leaving
it out costs a point somewhere, here or in the tests over the harbour corpus, which hold what these questions do not ask
for: that an unanswerable question gets no answer, and which of two dates holds.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType

from evals.truth import multihop
from evals.truth.sets import need, save, table
from services.extractor.engines import extractive as extraction
from services.planner.engines import bridges
from services.synthesizer.engines import extractive as synthesis
from services.synthesizer.rules import chains as weighing
from services.synthesizer.rules import selection
from shared.domain import questions
from shared.domain.budget import Depth

NEVER = 9.0


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule by what it does, the constant or function that holds it, and what stands there without it."""

    name: str
    module: ModuleType
    member: str
    without: object


RULES = (
    Rule("names in evidence open searches", bridges, "BRIDGES_PER_QUESTION", 0),
    Rule("a chain starts at a name that the question gives", bridges, "question_names", lambda _: ()),
    Rule("words beside a found name are left out of the search", bridges, "BESIDE_A_NAME", ()),
    Rule("a span answers together with the one that led to it", extraction, "LINK_NEEDED", NEVER),
    Rule("context is kept", extraction, "CONTEXT_BAR", NEVER),
    Rule("the thing asked for has to stand there", extraction, "FOCUS_NEEDED", 0.0),
    Rule("words for classes of things are left out of the search", bridges, "CLASS_TERMS", frozenset[str]()),
    Rule("words for classes of things need not be repeated", questions, "CLASS_TERMS", frozenset[str]()),
    Rule("a sentence's own words count beside its title", weighing, "OWN_WEIGHT", 0.0),
    Rule("context ranks below answers", weighing, "CONTEXT_FACTOR", 1.0),
    Rule("the thing asked for is named at all", weighing, "FOCUS_NEEDED", 0.0),
    Rule("two sentences answer together", synthesis, "answering_pair", lambda *_: ()),
    Rule("the two are linked by a name", weighing, "link_weight", lambda *_: 1.0),
    Rule("the two are about the names that are compared", weighing, "compared", lambda *_: False),
    Rule("the second of the two holds the kind of thing asked for", weighing, "answer_fit", lambda *_: 1),
    Rule("sections of 14 statements, not 8", selection, "STATEMENTS_PER_SECTION", dict.fromkeys(Depth, 8)),
)

MEASURED = ("report", "short", "read", "cited")


@contextmanager
def _without(rule: Rule) -> Iterator[None]:
    before = getattr(rule.module, rule.member)
    setattr(rule.module, rule.member, rule.without)
    try:
        yield
    finally:
        setattr(rule.module, rule.member, before)


def main() -> None:
    """Print what leaving out each rule changes, in points, and save it."""
    need("multihop")
    library, documents = multihop.library_of(distractors=False)
    chosen = multihop.cases()
    whole = multihop.summary(multihop.measured(library, chosen, documents))
    sets = ("MuSiQue all", "HotpotQA all")
    body = [["all rules", *(f"{whole[s][m]:.1f}" for s in sets for m in MEASURED)]]
    saved = {"all rules": whole}
    for rule in RULES:
        with _without(rule):
            found = multihop.summary(multihop.measured(library, chosen, documents))
        saved[rule.name] = found
        body.append([rule.name, *(f"{found[s][m] - whole[s][m]:+.1f}" for s in sets for m in MEASURED)])
        print(body[-1], flush=True)
    table(["points without the rule", *(f"{s.split()[0]} {m}" for s in sets for m in MEASURED)], body)
    save("ablation", saved)


if __name__ == "__main__":
    main()
