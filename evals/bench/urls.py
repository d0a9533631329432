"""Addresses: what the URL Standard refuses, how references resolve, and that a canonical address stays as it is.

``python -m evals.bench.urls``. The suites of the web platform tests, of RFC 3986 (5.4) and of two URL libraries.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from evals.bench.outcome import Bar, end, ratio
from evals.truth.sets import DATA, need, rows
from shared.domain.errors import NotAllowed
from shared.domain.urls import Url, canonical_url, parse_url, resolve

FOLDER = "lists/url"


@dataclass(slots=True)
class Figures:
    """What was refused, resolved and canonicalised as it should be."""

    failures: int = 0
    not_refused: list[str] = field(default_factory=list)
    references: int = 0
    resolved_wrong: list[str] = field(default_factory=list)
    canonical: int = 0
    changed_again: list[str] = field(default_factory=list)
    web: int = 0
    """Rows of the suite that are http(s) addresses without credentials, and how many of them are read."""
    web_read: int = 0
    web_refused: list[str] = field(default_factory=list)


def suite() -> list[dict[str, Any]]:
    """Return the rows of the web platform tests."""
    loaded = json.loads((DATA / FOLDER / "urltestdata.json").read_text("utf-8"))
    return [row for row in loaded if isinstance(row, dict)]


def read(row: dict[str, Any]) -> Url:
    """Read a row of the suite as a browser would; raise `NotAllowed`."""
    base = row.get("base")
    if base and base != "about:blank":
        return resolve(parse_url(base), row["input"])
    return parse_url(row["input"])


def measure() -> Figures:
    """Go through all lists."""
    figures = Figures()
    for row in suite():
        url = _read(row)
        if row.get("failure"):
            figures.failures += 1
            figures.not_refused += [] if url is None else [row["input"]]
        elif row["protocol"] in ("http:", "https:") and not row["username"] and not row["password"]:
            figures.web += 1
            figures.web_read += url is not None
            figures.web_refused += [] if url is not None else [row["input"]]
    cases = json.loads((DATA / FOLDER / "rfc3986_5_4_reference_resolution.json").read_text("utf-8"))
    for reference, wanted in cases["cases"]:
        figures.references += 1
        right = str(resolve(parse_url(cases["base"]), reference)) == str(parse_url(wanted))
        figures.resolved_wrong += [] if right else [reference]
    for text in _texts():
        try:
            once = canonical_url(text)
        except NotAllowed:
            continue
        figures.canonical += 1
        figures.changed_again += [] if canonical_url(once) == once else [text]
    return figures


def _read(row: dict[str, Any]) -> Url | None:
    try:
        return read(row)
    except NotAllowed:
        return None


def _texts() -> Iterator[str]:
    """Yield every text of the lists that may be an address."""
    for row in suite():
        yield row["input"]
        yield row.get("href") or ""
    for pair in rows(f"{FOLDER}/normalization_pairs.jsonl"):
        yield str(pair["input"])
        yield str(pair["expected"])
    for case in rows("lists/ssrf/ssrf_cases.jsonl"):
        yield str(case["input"])


def main() -> None:
    """Measure and print."""
    need(FOLDER)
    figures = measure()
    print(f"refused as the standard does: {figures.failures - len(figures.not_refused)} of {figures.failures}")
    print(f"resolved: {figures.references - len(figures.resolved_wrong)} of {figures.references}")
    print(f"canonical twice is canonical once: {figures.canonical - len(figures.changed_again)} of {figures.canonical}")
    print(f"web addresses that are read: {figures.web_read} of {figures.web}; the rest is refused on purpose, such as")
    print("  " + ", ".join(repr(text) for text in figures.web_refused[:12]))
    bars = [
        Bar("refused as the standard does", 1 - ratio(len(figures.not_refused), figures.failures), 1.0),
        Bar("references resolved", 1 - ratio(len(figures.resolved_wrong), figures.references), 1.0),
        Bar("canonical once and for all", 1 - ratio(len(figures.changed_again), figures.canonical), 1.0),
    ]
    details = {"not_refused": figures.not_refused, "changed": figures.changed_again, "refused": figures.web_refused}
    end("bench_urls", bars, details)


if __name__ == "__main__":
    main()
