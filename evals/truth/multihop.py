"""Questions that need several documents: ``python -m evals.truth.multihop [--distractors] [--half develop|held]``.

The extractive engine plays every question of MuSiQue and HotpotQA end to end, tier quick, over all paragraphs as a
library of documents (`evals.inprocess`: the product's rules and handlers, stores in memory). The report is cut to its
first 400 words and 8 citations. It is compared with the 400 words of the sentences that BM25 ranks best for the
question over the same library. Rules were made on the questions of the half "develop", and "held" was left alone, but
for the rule on what sets the scene of a question, which was made on both.
"""

import argparse
import hashlib
import re
import string
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from evals.inprocess.library import Library, of_paragraphs
from evals.inprocess.play import play
from evals.inprocess.world import World
from evals.truth.sets import need, rows, save, table
from evals.truth.stages import Stage, stage_of
from services.synthesizer.rules.citing import statements_of
from shared.contracts.report import Report, Statement
from shared.domain.rank import Ranking
from shared.domain.segments import segment
from shared.domain.text import content_terms

WORDS = 400
CITATIONS = 8
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans(dict.fromkeys(string.punctuation, " "))


@dataclass(frozen=True, slots=True)
class Case:
    """A question with its answer, in all its spellings, and the documents that it takes."""

    case_id: str
    dataset: str
    question: str
    answers: tuple[str, ...]
    gold: frozenset[str]

    @property
    def half(self) -> str:
        """Which half of the questions it belongs to."""
        return "develop" if int(hashlib.sha256(self.case_id.encode()).hexdigest(), 16) % 2 else "held"


@dataclass(frozen=True, slots=True)
class Graded:
    """How one question fared: the baseline, the cut report, the short answer, the documents."""

    case: Case
    baseline: bool
    report: bool
    short: bool
    read: bool
    """All gold documents were read."""
    cited: bool
    """All gold documents are cited within the cut."""
    stage: Stage
    """How far the answer came."""


def cases() -> list[Case]:
    """Return the questions."""
    return [
        Case(
            case_id=str(row["id"]),
            dataset=str(row["dataset"]).split("-")[0],
            question=str(row["question"]).strip(),
            answers=(str(row["answer"]), *map(str, _listed(row["answer_aliases"]))),
            gold=frozenset(map(str, _listed(row["gold_doc_ids"]))),
        )
        for row in rows("multihop/questions_200.jsonl")
    ]


def _listed(value: object) -> list[object]:
    assert isinstance(value, list)
    return value


def paragraphs(*, distractors: bool) -> Iterator[dict[str, object]]:
    """Yield the paragraphs of the corpus, each once."""
    yield from rows("multihop/corpus.jsonl")
    if distractors:
        yield from rows("multihop/corpus_extra_distractors.jsonl.gz")


def plain(text: str) -> str:
    """Return a text as answers are compared: no case, articles or punctuation (as SQuAD's evaluation does)."""
    return " ".join(_ARTICLES.sub(" ", text.casefold().translate(_PUNCTUATION)).split())


def holds(text: str, answers: Sequence[str]) -> bool:
    """Tell whether one of the answers stands in the text, as whole words."""
    padded = f" {plain(text)} "
    return any(f" {plain(answer)} " in padded for answer in answers if plain(answer))


def cut_to(texts: Iterable[str], words: int) -> str:
    """Return the texts one after the other, cut after so many words."""
    return " ".join(" ".join(texts).split()[:words])


class Sentences:
    """The baseline: the sentences of all documents, ranked by BM25 for the question."""

    def __init__(self, library: Library) -> None:
        spans = ((s.text, span) for s in library.snapshots.values() for span in segment(s.text))
        found = dict.fromkeys(text[span.start : span.end] for text, span in spans)
        self._ranking = Ranking((text, content_terms(text)) for text in found if not text.startswith("# "))

    def best(self, question: str) -> str:
        """Return the first 400 words of the best sentences."""
        return cut_to((text for text, _ in self._ranking.best(content_terms(question), 60)), WORDS)


def answer_of(report: Report) -> tuple[Statement, ...]:
    """Return the short answer after the sentences of other sources that lead to it."""
    return (*report.answer_lead, report.short_answer) if report.short_answer else ()


def reading_order(report: Report) -> Iterator[Statement]:
    """Yield the statements of a report as it is read: answer, summary, sections."""
    yield from answer_of(report)
    yield from report.executive_summary
    for section in report.sections:
        for block in section.blocks:
            yield from statements_of(block)


def cut_report(report: Report) -> tuple[str, set[str]]:
    """Return the first 400 words that need no more than 8 citations, and the sources that they cite."""
    source_of = {i: c.source_id for c in report.citations for i in c.evidence_ids}
    number_of = {i: c.number for c in report.citations for i in c.evidence_ids}
    used: set[int] = set()
    texts: list[str] = []
    sources: set[str] = set()
    for statement in reading_order(report):
        numbers = {number_of[i] for i in statement.evidence_ids}
        if len(used | numbers) > CITATIONS or len(" ".join(texts).split()) >= WORDS:
            break
        used |= numbers
        sources |= {source_of[i] for i in statement.evidence_ids}
        texts.append(statement.text)
    return cut_to(texts, WORDS), sources


def grade(case: Case, world: World, baseline: str, holding: Collection[str]) -> Graded:
    """Compare a run with the answer; ``holding`` are the addresses of the gold documents that hold it."""
    report = world.reports[-1]
    text, sources = cut_report(report)
    names = {s.source_id: s.url for s in world.sources_.values()}
    read = {names[s.source_id] for s in world.sources_.values() if s.snapshot_sha256}
    return Graded(
        case=case,
        baseline=holds(baseline, case.answers),
        report=holds(text, case.answers),
        short=holds(" ".join(s.text for s in answer_of(report)), case.answers),
        read=case.gold <= read,
        cited=case.gold <= {names[s] for s in sources},
        stage=stage_of(world, holding, text, lambda told: holds(told, case.answers)),
    )


def measured(library: Library, chosen: Sequence[Case], documents: dict[str, str]) -> list[Graded]:
    """Play the questions; ``documents`` maps the ids of paragraphs to those of documents."""
    sentences = Sentences(library)
    graded = []
    for case in chosen:
        gold = {f"leadline:document/{documents[name]}": documents[name] for name in case.gold}
        holding = [url for url, name in gold.items() if holds(_text(library, name), case.answers)]
        as_documents = replace(case, gold=frozenset(gold))
        graded.append(grade(as_documents, play(case.question, library), sentences.best(case.question), holding))
    return graded


def _text(library: Library, document_id: str) -> str:
    snapshot = library.parses[library.documents[document_id].sha256].snapshot_sha256
    return library.snapshots[snapshot].text if snapshot else ""


def summary(graded: Sequence[Graded]) -> dict[str, dict[str, float]]:
    """Return the figures for each set and half."""
    found = {}
    for dataset in ("MuSiQue", "HotpotQA"):
        for half in ("develop", "held", "all"):
            those = [g for g in graded if g.case.dataset == dataset and half in (g.case.half, "all")]
            if those:
                found[f"{dataset} {half}"] = _figures(those)
    return found


def _figures(graded: Sequence[Graded]) -> dict[str, float]:
    count = len(graded)
    with_answer = [g for g in graded if g.report]
    return {
        "questions": count,
        "baseline": 100 * sum(g.baseline for g in graded) / count,
        "report": 100 * sum(g.report for g in graded) / count,
        "gain": 100 * (sum(g.report for g in graded) - sum(g.baseline for g in graded)) / count,
        "short": 100 * sum(g.short for g in graded) / count,
        "short_of_found": 100 * sum(g.short for g in with_answer) / max(len(with_answer), 1),
        "read": 100 * sum(g.read for g in graded) / count,
        "cited": 100 * sum(g.cited for g in graded) / count,
    }


def losses(graded: Sequence[Graded]) -> dict[str, dict[str, int]]:
    """Return how many questions of each set came how far."""
    counted = {name: Counter(g.stage for g in graded if g.case.dataset == name) for name in ("MuSiQue", "HotpotQA")}
    return {name: {stage: stages[stage] for stage in Stage} for name, stages in counted.items()}


HEAD = ["set", "questions", "BM25 400 words", "report", "gain", "short answer", "of found", "gold read", "gold cited"]


def show(title: str, graded: Sequence[Graded]) -> None:
    """Print the figures, and how far the answers came."""
    print(title)
    table(HEAD, [[name, *(f"{value:.1f}" for value in row.values())] for name, row in summary(graded).items()])
    table(["the answer is", *Stage], [[n, *map(str, row.values())] for n, row in losses(graded).items()])


def library_of(*, distractors: bool) -> tuple[Library, dict[str, str]]:
    """Return the library, and the document of each paragraph."""
    library = of_paragraphs(paragraphs(distractors=distractors))
    return library, {d.name.removesuffix(".md"): d.document_id for d in library.documents.values()}


def main() -> None:
    """Print the tables and save them."""
    need("multihop")
    parser = argparse.ArgumentParser()
    parser.add_argument("--distractors", action="store_true", help="over all 9,002 paragraphs alone")
    parser.add_argument("--half", choices=["develop", "held"])
    arguments = parser.parse_args()
    chosen = [c for c in cases() if arguments.half in (None, c.half)]
    saved = {}
    for distractors in (True,) if arguments.distractors else (False, True):
        began = time.process_time()
        library, documents = library_of(distractors=distractors)
        found = measured(library, chosen, documents)
        name = f"{len(documents):,} paragraphs"
        saved[name] = {"figures": summary(found), "answers": losses(found)}
        show(f"{name}, {time.process_time() - began:.0f} s of CPU", found)
    save("multihop", saved)


if __name__ == "__main__":
    main()
