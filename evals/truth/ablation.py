"""What each rule of the extractive engine is worth: ``python -m evals.truth.ablation`` plays three sets without it.

They are the multi-hop questions over 2,884 paragraphs, the labelled conflicts, and the six questions over the harbour
corpus, which ask for what the others do not: that an unanswerable question gets no answer, and which of two dates
holds. Each row sets one name, a constant or a function, to a value at which its rule does nothing. A rule stays when
leaving it out costs a point somewhere.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType

from evals.graders.facts import grade, load_cases
from evals.inprocess.library import Library
from evals.inprocess.play import play
from evals.truth import conflicts, multihop
from evals.truth.sets import need, save, table
from services.extractor.engines import extractive as extraction
from services.planner.engines import bridges
from services.synthesizer.engines import extractive as synthesis
from services.synthesizer.rules import chains as weighing
from services.synthesizer.rules import selection
from shared.domain import questions
from shared.domain.budget import Depth
from tests.support.harbor_site import CASES_FILE, corpus_files

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
    Rule("every term counts beside its rarity", extraction, "EVERY_TERM", 0.0),
    Rule("the thing asked for has to stand there", extraction, "FOCUS_NEEDED", 0.0),
    Rule("where a figure is asked for, an answer holds one", extraction, "can_answer", lambda *_: True),
    Rule("what only sets the scene belongs to the question after it", questions, "_with_settings", list),
    Rule("evidence is told where it serves best", synthesis, "each_where_it_serves_best", lambda _, given, *__: given),
    Rule("words for classes of things are left out of the search", bridges, "CLASS_TERMS", frozenset[str]()),
    Rule("words for classes of things need not be repeated", questions, "CLASS_TERMS", frozenset[str]()),
    Rule("the thing asked for is named at all", weighing, "FOCUS_NEEDED", 0.0),
    Rule("two sentences answer together", synthesis, "answering_pair", lambda *_: ()),
    Rule("the two are linked by a name", weighing, "link_weight", lambda *_: 1.0),
    Rule("the two are about the names that are compared", weighing, "compared", lambda *_: False),
    Rule("the second of the two holds the kind of thing asked for", weighing, "answer_fit", lambda *_: 1),
    Rule("sections of 14 statements, not 10", selection, "STATEMENTS_PER_SECTION", dict.fromkeys(Depth, 10)),
)

MEASURED = ("report", "short", "read", "cited")
NOTHING_FOUND, EXIT_NOTHING_FOUND = "no_evidence", 4


@contextmanager
def _without(rule: Rule) -> Iterator[None]:
    before = getattr(rule.module, rule.member)
    setattr(rule.module, rule.member, rule.without)
    try:
        yield
    finally:
        setattr(rule.module, rule.member, before)


def _harbour(library: Library) -> float:
    """Return the percentage of the harbour cases whose run ends as it should with the facts in its report."""
    cases = load_cases(CASES_FILE)
    passed = 0
    for case in cases:
        world = play(case.question, library, as_of=case.as_of.isoformat() if case.as_of else None)
        found = world.stop_reason != NOTHING_FOUND
        report = world.reports[-1].model_dump(mode="json")
        passed += grade(case, report).passed and found is (case.expect_exit != EXIT_NOTHING_FOUND)
    return 100 * passed / len(cases)


def _figures(library: Library, documents: dict[str, str], harbour: Library) -> dict[str, float]:
    """Return every figure, in per cent."""
    found = multihop.summary(multihop.measured(library, multihop.cases(), documents))
    asked, shown, _ = conflicts.measured()
    return {
        **{f"{name} {what}": found[f"{name} all"][what] for name in ("MuSiQue", "HotpotQA") for what in MEASURED},
        "conflicts": 100 * conflicts.share(asked, shown, peaceful=False),
        "needless": 100 * conflicts.share(asked, shown, peaceful=True),
        "harbour": _harbour(harbour),
    }


def main() -> None:
    """Print what leaving out each rule changes, in points, and save it."""
    need("multihop")
    need(conflicts.FILE)
    library, documents = multihop.library_of(distractors=False)
    harbour = Library()
    harbour.add_all((path.name, path.read_bytes()) for path in corpus_files())
    whole = _figures(library, documents, harbour)
    body = [["all rules", *(f"{value:.1f}" for value in whole.values())]]
    saved = {"all rules": whole}
    for rule in RULES:
        with _without(rule):
            saved[rule.name] = _figures(library, documents, harbour)
        body.append([rule.name, *(f"{value - whole[key]:+.1f}" for key, value in saved[rule.name].items())])
        print(body[-1], flush=True)
    table(["points without the rule", *whole], body)
    save("ablation", saved)


if __name__ == "__main__":
    main()
