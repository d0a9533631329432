"""Dates of publication of real pages, from explicit marks only: how many are right, and how many are found.

``python -m evals.bench.dates``. Dates that stand only in the visible text are not read at all, so none has to be
labelled as inferred; they lower the share that is found.
"""

import json
import math
from datetime import UTC, datetime
from typing import Any

from evals.bench.outcome import Bar, end, ratio
from evals.truth.sets import DATA, need, table
from services.extractor.reading.read import read

FOLDER = DATA / "html" / "metadata"
LEAST_PRECISION = 0.98


def day_of(gold: object) -> str | None:
    """Return the day that the gold names: a date, a moment, or milliseconds; None where it names none."""
    if isinstance(gold, str):
        return gold[:10] or None
    if isinstance(gold, int | float) and math.isfinite(gold):
        return datetime.fromtimestamp(gold / 1000, UTC).date().isoformat()
    return None


def measure() -> dict[str, Any]:
    """Read every page that has a gold date, and count."""
    rows = [json.loads(line) for line in (FOLDER / "gold.jsonl").read_text("utf-8").splitlines()]
    given = right = known = unread = 0
    wrong: list[dict[str, str]] = []
    for row in rows:
        gold = day_of(row["date"])
        if gold is None:
            continue
        page = (FOLDER / row["file"]).read_bytes()
        reading = read(page, name=None, content_type="text/html", url=row["url"])
        found = (reading.published_at or "")[:10]
        known += 1
        unread += reading.status != "ok"
        given += bool(found)
        right += found == gold
        if found and found != gold:
            wrong.append({"file": row["file"], "gold": gold, "found": found})
    precision, recall = ratio(right, given), ratio(right, known)
    counts = {"known": known, "given": given, "right": right, "unread": unread}
    return {**counts, "precision": precision, "recall": recall, "wrong": wrong}


def main() -> None:
    """Measure, and print."""
    need("html/metadata")
    result = measure()
    counts = [str(result[name]) for name in ("known", "given", "right")]
    shares = [f"{result[name]:.3f}" for name in ("precision", "recall")]
    table(
        ["pages with a date", "given", "right", "precision", "found", "no page"],
        [[*counts, *shares, str(result["unread"])]],
    )
    for miss in result["wrong"]:
        print(f"wrong: {miss['file']}: {miss['found']} instead of {miss['gold']}")
    end("bench_dates", [Bar("precision of explicit dates", result["precision"], LEAST_PRECISION)], result)


if __name__ == "__main__":
    main()
