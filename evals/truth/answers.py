"""Whether it answers what was asked or says that it cannot: ``python -m evals.truth.answers [SET…] [--every N]``.

Sets: ``en de es zh ru`` (24 encyclopaedia articles each, half of their paragraphs as documents; questions on those and
on the paragraphs left out), ``clapnq`` (questions typed into a search engine over a folder of near misses), ``peps``
and ``handbook`` (real folders, questions of the kind people ask). Every question is played end to end by the engine
without a model, tier quick, over the whole folder (`evals.inprocess`). An answer is right when the printed short answer
holds one that people gave; it is wrong when it is printed and holds none.
"""

import argparse
import hashlib
import re
import time
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from evals.inprocess.library import Library
from evals.inprocess.play import play
from evals.truth.multihop import reading_order
from evals.truth.sets import DATA, need, rows, save, table
from shared.contracts.report import Report
from shared.domain.rank import Ranking
from shared.domain.text import content_terms

LANGUAGES = ("en", "de", "es", "zh", "ru")
FOLDERS = ("peps", "handbook")
PASSAGE_WORDS, PASSAGES = 110, 5
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


@dataclass(frozen=True, slots=True)
class Question:
    """A question with what an answer holds: one of every group of spellings; none where nothing answers."""

    set_name: str
    question_id: str
    text: str
    keys: tuple[tuple[str, ...], ...]
    answerable: bool
    document: str


@dataclass(frozen=True, slots=True)
class Played:
    """How a question fared. `printed` is the short answer as shown, None where there is none."""

    question: Question
    printed: str | None
    right: bool
    in_report: bool
    in_passages: bool
    iterations: int
    confidence: str | None
    seconds: float


def documents_of(name: str) -> Path:
    """Return the folder of a set's documents."""
    return (
        DATA / "answers" / {"clapnq": "clapnq"}.get(name, f"{'folders' if name in FOLDERS else 'dev'}/{name}") / "docs"
    )


def questions_of(name: str) -> list[Question]:
    """Return the questions of a set."""
    path = documents_of(name).parent.relative_to(DATA) / "questions.jsonl"
    return [_question(name, row) for row in rows(str(path))]


def _question(name: str, row: dict) -> Question:
    if name in FOLDERS:
        keys = tuple(tuple(group) for group in row["keys"])
    elif name == "clapnq":
        keys = (tuple(row["selected"]),) if row["answerable"] else ()
    else:
        keys = (tuple(row["answers"]),) if row["answerable"] else ()
    return Question(
        name, str(row["id"]), row["question"].strip(), keys, bool(row["answerable"]), row.get("document", "")
    )


def library_of(name: str) -> Library:
    """Read the documents of a set."""
    library = Library()
    folder = documents_of(name)
    library.add_all((str(f.relative_to(folder)), f.read_bytes()) for f in sorted(folder.rglob("*")) if f.is_file())
    return library


def plain(text: str) -> str:
    """Return a text as answers are compared: no case, punctuation or articles, one blank between words."""
    kept = (c if unicodedata.category(c)[0] in "LMN" else " " for c in unicodedata.normalize("NFKC", text).casefold())
    return " ".join(_ARTICLES.sub(" ", "".join(kept)).split())


def holds(text: str, keys: Sequence[Sequence[str]], set_name: str) -> bool:
    """Tell whether a text holds one spelling of every group."""
    if set_name == "clapnq":
        return any(_alike(text, sentence) for group in keys for sentence in group)
    whole = plain(text)
    if set_name == "zh":
        joined = whole.replace(" ", "")
        return all(any(plain(k).replace(" ", "") in joined for k in group) for group in keys)
    padded = f" {whole} "
    if set_name in FOLDERS:
        low = text.casefold()
        return all(any(k.casefold() in low or f" {plain(k)} " in padded for k in group) for group in keys)
    return all(any(f" {plain(k)} " in padded for k in group if plain(k)) for group in keys)


def _alike(text: str, sentence: str) -> bool:
    """Tell whether a printed answer comes from a sentence that people chose, or holds most of one."""
    one, other = plain(text), plain(sentence)
    if not one or not other:
        return False
    words, gold = set(one.split()), set(other.split())
    return one in other or other in one or len(words & gold) >= 0.7 * min(len(words), len(gold))


class Passages:
    """The baseline: windows of 110 words of all documents, ranked by BM25."""

    def __init__(self, library: Library) -> None:
        windows = []
        for snapshot in library.snapshots.values():
            words = snapshot.text.split() if " " in snapshot.text else list(snapshot.text)
            windows += [" ".join(words[i : i + PASSAGE_WORDS]) for i in range(0, len(words), PASSAGE_WORDS)]
        self._ranking = Ranking((text, content_terms(text)) for text in dict.fromkeys(windows))

    def best(self, question: str) -> str:
        """Return the five best."""
        return "\n".join(text for text, _ in self._ranking.best(content_terms(question), PASSAGES))


def printed_answer(report: Report) -> str | None:
    """Return what a reader sees as the short answer."""
    if report.short_answer is None:
        return None
    return getattr(report.short_answer, "answer", None) or report.short_answer.text


def told(report: Report) -> str:
    """Return all statements of a report."""
    return "\n".join(statement.text for statement in reading_order(report))


def sampled(questions: Iterable[Question], every: int) -> list[Question]:
    """Return every n-th question by the hash of its id."""
    return [q for q in questions if int(hashlib.sha256(q.question_id.encode()).hexdigest(), 16) % every == 0]


def played(question: Question, library: Library, passages: Passages) -> Played:
    """Play one question."""
    begun = time.perf_counter()
    world = play(question.text, library)
    report = world.reports[-1] if world.reports else None
    printed = printed_answer(report) if report else None
    return Played(
        question=question,
        printed=printed,
        right=bool(printed) and question.answerable and holds(printed or "", question.keys, question.set_name),
        in_report=question.answerable and report is not None and holds(told(report), question.keys, question.set_name),
        in_passages=question.answerable and holds(passages.best(question.text), question.keys, question.set_name),
        iterations=world.iteration,
        confidence=report.short_answer.confidence if report and report.short_answer else None,
        seconds=time.perf_counter() - begun,
    )


def figures(those: Sequence[Played]) -> dict[str, float]:
    """Return the figures of a set, in per cent but for counts and the median of words."""
    can, cannot = [p for p in those if p.question.answerable], [p for p in those if not p.question.answerable]
    given = [p for p in those if p.printed]
    words = [len((p.printed or "").split()) for p in given if p.question.answerable]
    return {
        "questions": len(those),
        "answerable": len(can),
        "right": _share(sum(p.right for p in can), len(can)),
        "wrong": _share(sum(bool(p.printed) and not p.right for p in can), len(can)),
        "left unanswered": _share(sum(not p.printed for p in cannot), len(cannot)),
        "precision": _share(sum(p.right for p in given), len(given)),
        "median words": median(words) if words else 0,
        "in the report": _share(sum(p.in_report for p in can), len(can)),
        "in BM25's five passages": _share(sum(p.in_passages for p in can), len(can)),
        "seconds each": round(sum(p.seconds for p in those) / max(len(those), 1), 2),
    }


def _share(part: int, whole: int) -> float:
    return round(100 * part / whole, 1) if whole else 0.0


def main() -> None:
    """Play the sets and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=[])
    parser.add_argument("--every", type=int, default=1, help="every n-th question by the hash of its id")
    parser.add_argument("--name", default="answers", help="name of the result")
    options = parser.parse_args()
    need("answers")
    result: dict[str, object] = {}
    body = []
    for name in options.sets or (*LANGUAGES, "clapnq", *FOLDERS):
        library = library_of(name)
        passages = Passages(library)
        those = [played(q, library, passages) for q in sampled(questions_of(name), options.every)]
        result[name] = {"figures": figures(those), "questions": [asdict(p) for p in those]}
        body.append([name, *(f"{value:g}" for value in figures(those).values())])
        save(options.name, result)
    table(["set", *figures([])], body)


if __name__ == "__main__":
    main()
