"""Examples that the reader learns from: a question beside a passage, with the span that answers or none.

Sources: `answers/train` of the test data (QAMR, SQuAD 2.0), the cases of the package `fitz-gov` but for the sample that
people checked, and labelled statements for the second head. Negatives are of our own making, by five ways that fail in
use: the best wrong sentences of a lexical ranking, the paragraph without the sentence that answers, a neighbour that
does not answer, and a question with a name or a figure exchanged.
"""

import gzip
import json
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from shared.domain.rank import Ranking
from shared.domain.segments import segment
from shared.domain.text import content_terms

QAMR_POSITIVES = 16_000
QAMR_NEGATIVES = 9_000
SEED = 20261201

NAME = re.compile(r"(?<!^)(?<![.?!] )\b[A-Z][a-z]{2,}(?: (?:of )?[A-Z][a-z]+)*\b")
FIGURE = re.compile(r"\b\d[\d,.]*\d\b|\b\d\b")


@dataclass(frozen=True, slots=True)
class Example:
    """One pair to read: `task` is ``answer`` (question, passage) or ``support`` (statement, evidence).

    `start` and `end` are character offsets of the answer in `text`; -1 where nothing answers. `label` is 1 where the
    passage answers, or the evidence supports.
    """

    task: str
    query: str
    title: str
    text: str
    start: int
    end: int
    label: int
    source: str


def every(data: Path, fitz: Path | None) -> list[Example]:
    """Return all examples, shuffled by a fixed seed."""
    chance = random.Random(SEED)
    found = [
        *qamr(data / "answers/train/qamr.jsonl.gz", chance),
        *squad(data / "answers/train/squad2_part.jsonl.gz", chance),
    ]
    if fitz is not None:
        found += fitz_cases(fitz)
    found += statements(data / "support")
    chance.shuffle(found)
    return found


def qamr(path: Path, chance: random.Random) -> Iterator[Example]:
    """Questions on single sentences; negatives are the most alike other sentences, and exchanged questions."""
    rows = [row for row in _gzipped(path) if row["answer"] and len(set(row["validators"]) - {""}) <= 2]
    contexts = sorted({row["context"] for row in rows})
    ranking = Ranking((str(place), content_terms(text)) for place, text in enumerate(contexts))
    names = sorted({name for text in contexts for name in NAME.findall(text)})
    chance.shuffle(rows)
    for row in rows[:QAMR_POSITIVES]:
        text, start = row["context"], row["start"]
        yield Example("answer", row["question"], "", text, start, start + len(row["answer"]), 1, "qamr")
    for row in rows[QAMR_POSITIVES - 5_000 : QAMR_POSITIVES - 5_000 + QAMR_NEGATIVES]:
        exchanged = exchange(row["question"], names, chance) if chance.random() < 0.35 else None
        if exchanged and exchanged != row["question"]:
            yield Example("answer", exchanged, "", row["context"], -1, -1, 0, "qamr-exchanged")
            continue
        hits = _best(ranking, row["question"], contexts, partial(str.__ne__, row["context"]))
        if hits:
            yield Example("answer", row["question"], "", chance.choice(hits[:3]), -1, -1, 0, "qamr-other")


def squad(path: Path, chance: random.Random) -> Iterator[Example]:
    """Questions on paragraphs, read as the service reads them: windows of some sentences under their title."""
    rows = list(_gzipped(path))
    articles: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        if row["context"] not in articles[row["title"]]:
            articles[row["title"]].append(row["context"])
    for title, paragraphs in articles.items():
        windows = [window for text in paragraphs for window in windows_of(text, chance)]
        ranking = Ranking((str(place), content_terms(window)) for place, window in enumerate(windows))
        names = sorted({name for text in paragraphs for name in NAME.findall(text)})
        for row in rows:
            if row["title"] == title:
                yield from _squad_row(row, windows, ranking, names, chance)


def _squad_row(
    row: dict, windows: Sequence[str], ranking: Ranking, names: Sequence[str], chance: random.Random
) -> Iterator[Example]:
    title = row["title"].replace("_", " ") if chance.random() < 0.7 else ""
    question, text, answer = row["question"], row["context"], row["answer"]
    if not answer:
        yield Example("answer", question, title, text[:900], -1, -1, 0, "squad-unanswerable")
        for window in windows_of(text, chance)[:2]:
            yield Example("answer", question, title, window, -1, -1, 0, "squad-unanswerable")
        return
    start = row["start"]
    sentence, window, rest = _around(text, start, start + len(answer), chance)
    for low, high in {sentence, window}:
        yield Example("answer", question, title, text[low:high], start - low, start - low + len(answer), 1, "squad")
    if rest and answer.lower() not in rest.lower():
        yield Example("answer", question, title, rest, -1, -1, 0, "squad-without")
    hits = _best(ranking, question, windows, lambda other: answer.lower() not in other.lower() and other not in text)
    for other in chance.sample(hits[:5], min(2, len(hits[:5]))):
        yield Example("answer", question, title, other, -1, -1, 0, "squad-other")
    if chance.random() < 0.5:
        exchanged = exchange(question, names, chance)
        if exchanged and exchanged != question:
            low, high = window
            yield Example("answer", exchanged, "", text[low:high], -1, -1, 0, "squad-exchanged")


def windows_of(text: str, chance: random.Random) -> list[str]:
    """Cut a text into runs of one to four sentences, as evidence is."""
    cuts = [(one.start, one.end) for one in segment(text)]
    windows, place = [], 0
    while place < len(cuts):
        size = chance.choice((1, 2, 3, 4))
        windows.append(text[cuts[place][0] : cuts[min(place + size, len(cuts)) - 1][1]])
        place += size
    return windows


def _around(text: str, start: int, end: int, chance: random.Random) -> tuple[tuple[int, int], tuple[int, int], str]:
    """Return the bounds of the sentence that holds a span, of a window around it, and the text without the sentence."""
    cuts = [(one.start, one.end) for one in segment(text)]
    inside = [place for place, (low, high) in enumerate(cuts) if low < end and high > start]
    if not inside:
        return (0, len(text)), (0, len(text)), ""
    first, last = inside[0], inside[-1]
    low, high = cuts[first][0], cuts[last][1]
    before, after = chance.choice((0, 1, 2)), chance.choice((0, 1, 2))
    window = cuts[max(first - before, 0)][0], cuts[min(last + after, len(cuts) - 1)][1]
    rest = f"{text[:low].strip()} {text[high:].strip()}".strip()
    return (min(low, start), max(high, end)), (min(window[0], start), max(window[1], end)), rest[:700]


def exchange(question: str, names: Sequence[str], chance: random.Random) -> str | None:
    """Return the question about another name or figure, or None where it has neither."""
    found = [*NAME.finditer(question), *FIGURE.finditer(question)]
    if not found or not names:
        return None
    one = chance.choice(found)
    if one[0][0].isdigit():
        digits = re.sub(r"\D", "", one[0])
        other = str(int(digits) + chance.choice((1, 2, 3, 7, 10, 25)))
    else:
        other = chance.choice(names)
    return question[: one.start()] + other + question[one.end() :]


def fitz_cases(package: Path) -> list[Example]:
    """Enough and not enough evidence, but for the sample that people checked, which is kept for judging."""
    sample = json.loads((package / "data/validation/human_validation_sample.json").read_text("utf-8"))["cases"]
    kept = {row["case_id"] for row in sample} | {row["query"] for row in sample}
    found = []
    for name, label in (("abstention", 0), ("trustworthy_direct", 1)):
        for case in json.loads((package / f"data/tier1_core/{name}.json").read_text("utf-8"))["cases"]:
            if case["id"] in kept or case["query"] in kept:
                continue
            text = " ".join(case["contexts"])[:900]
            found.append(Example("answer", case["query"], "", text, -1, -1, label, f"fitz-{name}"))
    return found


SUPPORT_SETS = ("fever_symmetric", "fm2_1500", "vitaminc_400", "climate_fever_1500")
"""Sets that the second head learns from; the others are only ever judged on."""


def statements(folder: Path) -> list[Example]:
    """Labelled statements with their evidence."""
    found = []
    for name in SUPPORT_SETS:
        for line in (folder / f"{name}.jsonl").read_text("utf-8").splitlines():
            row = json.loads(line)
            label = int(row["label3"].upper().startswith("SUPPORT"))
            found.append(Example("support", row["claim"], "", row["evidence"][:900], -1, -1, label, name))
    return found


def _gzipped(path: Path) -> Iterator[dict]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _best(ranking: Ranking, question: str, texts: Sequence[str], fits: Callable[[str], bool]) -> list[str]:
    hits = ranking.best(content_terms(question), 15)
    return [texts[int(name)] for name, _ in hits if fits(texts[int(name)])]
