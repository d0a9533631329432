"""Conflicts among web snippets: ``python -m evals.truth.conflicts`` counts the labelled ones that a report shows.

Each question is played over its own snippets as documents (`evals.inprocess`). A conflict is shown when the report has
a conflict that cites two sides. "Shown without need" are questions that people labelled as none or as complementary.
"""

from collections import Counter
from collections.abc import Mapping

from evals.inprocess.library import Library
from evals.inprocess.play import play
from evals.truth.sets import need, rows, save, table
from shared.contracts.report import Report

FILE = "contradiction/multi_doc_conflicts_50.jsonl"
_PEACEFUL = ("No conflict", "Complementary information")


def library_of(row: Mapping[str, object]) -> Library:
    """Return a library of the snippets of a question, with the dates that are known."""
    library = Library()
    snippets = row["docs"]
    assert isinstance(snippets, list)
    for snippet in snippets:
        dated = f"---\ndate: {snippet['date']}\n---\n" if snippet.get("date") not in (None, "", "NA") else ""
        text = f"{dated}# {snippet['title']}\n\n{snippet['snippet']}\n"
        library.add(f"{snippet['doc_id']}.md", text.encode())
    return library


def shows_both_sides(report: Report) -> bool:
    """Tell whether a report has a conflict with evidence of two sources."""
    source_of = {i: c.source_id for c in report.citations for i in c.evidence_ids}
    return any(len({source_of[i] for i in c.evidence_ids}) > 1 for c in report.contradictions)


def measured() -> tuple[Counter[str], Counter[str], Counter[str]]:
    """Return how many questions there are of each label and show a conflict, and how conflicts are explained."""
    asked: Counter[str] = Counter()
    shown: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for row in rows(FILE):
        label = str(row["conflict_type"])
        report = play(str(row["query"]), library_of(row)).reports[-1]
        asked[label] += 1
        shown[label] += shows_both_sides(report)
        reasons.update(c.summary.rpartition(". ")[2] or c.summary for c in report.contradictions)
    return asked, shown, reasons


def share(asked: Counter[str], shown: Counter[str], *, peaceful: bool) -> float:
    """Return which part of the questions of the peaceful labels, or of the others, show a conflict."""
    labels = [label for label in asked if (label in _PEACEFUL) is peaceful]
    return sum(shown[label] for label in labels) / max(sum(asked[label] for label in labels), 1)


def main() -> None:
    """Print the table and save it."""
    need(FILE)
    asked, shown, reasons = measured()
    table(["label", "questions", "conflict shown"], [[name, str(asked[name]), str(shown[name])] for name in asked])
    hits, needless = share(asked, shown, peaceful=False), share(asked, shown, peaceful=True)
    print(f"shown of the labelled conflicts: {100 * hits:.1f} %; shown without need: {100 * needless:.1f} %")
    for reason, count in reasons.most_common():
        print(f"  {count} × {reason}")
    save("conflicts", {"asked": asked, "shown": shown, "share": hits, "without_need": needless, "reasons": reasons})


if __name__ == "__main__":
    main()
