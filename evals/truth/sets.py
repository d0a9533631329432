"""The labelled sets: where they are, and their rows in one form; a clone has none, and its evaluations are skipped."""

import gzip
import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("LEADLINE_TEST_DATA", ROOT.parent / "shared" / "data"))
RESULTS = ROOT / "evals" / "results"

_MARKERS = re.compile(r"\s*\[\d+(?:,\s*\d+)*\]")


@dataclass(frozen=True, slots=True)
class Pair:
    """A statement and its evidence; ``supported`` is what people said, partial support counting as none."""

    set_name: str
    claim: str
    evidence: str
    question: str | None
    supported: bool


SETS = {
    "attribution": "attributionbench_1500",
    "wice_short": "wice_short_evidence_707",
    "wice_full": "wice_claims_707",
    "citation": "citation_integrity_1500",
    "climate": "climate_fever_1500",
    "fever_sym": "fever_symmetric",
    "fm2": "fm2_1500",
    "scifact": "scifact_claims",
    "summedits": "summedits_1500",
    "vitaminc": "vitaminc_400",
}
"""Name and file of each set of statements with evidence."""


def rows(path: str) -> Iterator[dict[str, object]]:
    """Yield the rows of a file of JSON lines below the data folder."""
    full = DATA / path
    open_text = gzip.open if full.suffix == ".gz" else open
    with open_text(full, "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def pairs() -> list[Pair]:
    """Return every labelled pair; citation markers are taken out of statements."""
    found = []
    for name, file in SETS.items():
        for row in rows(f"support/{file}.jsonl"):
            claim = str(row["claim"])
            evidence = row.get("evidence") or "\n".join(map(str, row["evidence_sentences"]))  # type: ignore[call-overload]
            question = row.get("question")
            found.append(
                Pair(
                    set_name=name,
                    claim=_MARKERS.sub("", claim).strip() or claim,
                    evidence=str(evidence),
                    question=str(question) if question else None,
                    supported=row["label3"] == "SUPPORTED",
                )
            )
    return found


def need(path: str) -> None:
    """End with a reason where a file or folder of the data is not there."""
    if not (DATA / path).exists():
        print(f"skipped: {DATA / path} is not there; set LEADLINE_TEST_DATA to the folder with the labelled sets")
        sys.exit(0)


def save(name: str, result: object) -> None:
    """Write a result as JSON to the folder of results."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def table(head: list[str], body: list[list[str]]) -> None:
    """Print a table with aligned columns."""
    widths = [max(len(row[i]) for row in [head, *body]) for i in range(len(head))]
    for row in [head, *body]:
        cells = [
            cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join(cells))
