"""Real folders, asked what people ask of them: ``python -m evals.truth.folders``.

Over every folder of `answers/folders` each question is played (`evals.inprocess`). Printed are: documents that were
read with under a tenth of the characters that the plain file gives below its front matter, conflicts (the questions
have one answer each, so that a row is most likely invented), statements that rest on two sources with different words,
and how many short answers hold the keys of the right one.
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evals.inprocess.library import Library
from evals.inprocess.play import play
from evals.inprocess.world import World
from evals.truth.sets import DATA, need, save, table
from services.synthesizer.rendering.markdown import render_markdown
from services.synthesizer.rules.citing import all_statements
from shared.contracts.report import Statement
from shared.domain.excerpts import folded

FOLDER = "answers/folders"
_FRONT_MATTER = re.compile(r"\A\s*---[ \t]*\n.*?\n---[ \t]*(?:\n|\Z)", re.S)

LEAST_READ = 0.1
"""Share of the characters of the plain file that has to be read of a document."""


@dataclass
class Found:
    """What a folder came to."""

    questions: int = 0
    documents: int = 0
    right: int = 0
    in_report: int = 0
    left_unanswered: int = 0
    escapes: int = 0
    little_read: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    joined: list[str] = field(default_factory=list)


def library_of(folder: Path, found: Found) -> Library:
    """Read the documents of a folder, and note those of which little was read."""
    library = Library()
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        data, name = path.read_bytes(), path.relative_to(folder).as_posix()
        document = library.documents[library.add(name, data)]
        chars = library.parses[document.sha256].chars
        found.documents += 1
        plain = _FRONT_MATTER.sub("", data.decode("utf-8", "replace")).strip()
        if chars < LEAST_READ * len(plain):
            found.little_read.append(f"{name}: {chars:,} of {len(plain):,}")
    return library


def joined_statements(world: World) -> Iterator[Statement]:
    """Yield the statements that cite several sources of which not each holds the whole of it."""
    evidence = {e.evidence_id: e for e in world.evidence_.values()}
    for statement in all_statements(world.reports[-1]):
        cited = [evidence[i] for i in statement.evidence_ids if i in evidence]
        whole = folded(statement.text)
        if len({e.source_id for e in cited}) > 1 and not all(whole in folded(e.excerpt) for e in cited):
            yield statement


def holds(text: str, keys: Sequence[Sequence[str]]) -> bool:
    """Tell whether a text holds one spelling of every key."""
    plain = folded(text).casefold().replace("-", " ")
    return all(any(key.casefold().replace("-", " ") in plain for key in group) for group in keys)


def ask(row: Mapping[str, object], library: Library, found: Found) -> None:
    """Play one question and count what came of it."""
    world = play(str(row["question"]), library)
    report = world.reports[-1]
    keys = row["keys"]
    assert isinstance(keys, list)
    answer = (*report.answer_lead, report.short_answer) if report.short_answer else ()
    found.questions += 1
    if row["answerable"]:
        found.right += bool(answer) and holds(" ".join(s.text for s in answer), keys)
        found.in_report += holds(" ".join(s.text for s in all_statements(report)), keys)
    else:
        found.left_unanswered += not answer
    found.conflicts += [f"{row['id']}: {c.summary}" for c in report.contradictions]
    found.joined += [f"{row['id']}: {s.text}" for s in joined_statements(world)]
    markdown = render_markdown(report, list(world.evidence_.values()), list(world.sources_.values()))
    found.escapes += markdown.count("\\")


def measured(folder: Path) -> Found:
    """Return what a folder came to."""
    found = Found()
    library = library_of(folder / "docs", found)
    for line in (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines():
        ask(json.loads(line), library, found)
    return found


def main() -> None:
    """Print the table and what it counts, save both; end with 1 where anything must not be."""
    need(FOLDER)
    every = {p.name: measured(p) for p in sorted((DATA / FOLDER).iterdir()) if p.is_dir()}
    head = ["folder", "documents", "questions", "little read", "conflicts", "of two documents", "backslashes"]
    body = [
        [
            name,
            *map(str, (f.documents, f.questions, len(f.little_read), len(f.conflicts), len(f.joined), f.escapes)),
        ]
        for name, f in every.items()
    ]
    table(head, body)
    table(
        ["folder", "short answer right", "right in the report", "unanswerable left so"],
        [[name, *map(str, (f.right, f.in_report, f.left_unanswered))] for name, f in every.items()],
    )
    for name, f in every.items():
        for kind, lines in (("little read", f.little_read), ("conflict", f.conflicts), ("joined", f.joined)):
            for line in lines:
                print(f"{name}: {kind}: {line}")
    save("folders", {name: vars(f) for name, f in every.items()})
    sys.exit(int(any(f.little_read or f.conflicts or f.joined for f in every.values())))


if __name__ == "__main__":
    main()
