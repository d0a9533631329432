"""Pages that stand in front of a page: what each rule finds, what only it finds, and the real pages it would cost.

``python -m evals.bench.doors``. The doors, and pages that merely look like some, are written after those that sites
really send (`evals/cases/doors.jsonl`); the real pages are articles and others of the test data, where they are there.
"""

import gzip
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from evals.bench.outcome import Bar, end, ratio
from evals.truth.sets import DATA, ROOT, table
from services.extractor.reading.blocks import assemble
from services.extractor.reading.charset import decode
from services.extractor.reading.content import main_blocks
from services.extractor.reading.doors import RULES, Page, door, look
from services.extractor.reading.hidden import prune
from services.extractor.reading.tree import parse

CASES = ROOT / "evals" / "cases" / "doors.jsonl"
# One of the real pages is a robot check that somebody stored in place of an article.
KNOWN_DOORS = frozenset({"045_1685765130.html"})


def cases() -> list[dict[str, Any]]:
    """Return the written pages: name, html, and what they are (None for content)."""
    return [json.loads(line) for line in CASES.read_text("utf-8").splitlines()]


def real_pages() -> Iterator[tuple[str, bytes]]:
    """Yield the real pages that there are."""
    for path in sorted((DATA / "html" / "aeb").glob("html/*.gz")):
        yield path.name, gzip.decompress(path.read_bytes())
    for path in sorted((DATA / "html" / "metadata").glob("pages/*.html")):
        yield path.name, path.read_bytes()


def looked_at(data: bytes) -> Page | None:
    """Return what the rules see of a page, None of one without any element."""
    tree, _ = parse(decode(data, "text/html", markup=True).text)
    if tree is None:
        return None
    page = look(tree)
    prune(tree)
    return replace(page, text=assemble(main_blocks(tree)).text)


def main() -> None:
    """Count for each rule."""
    doors = {case["name"]: (case["expect"], looked_at(case["html"].encode())) for case in cases()}
    real = {Path(name).name: looked_at(data) for name, data in real_pages()}
    body = []
    for rule in RULES:
        fits = [name for name, (_, page) in doors.items() if page is not None and rule.fits(page)]
        alone = [n for n in fits if sum(other.fits(doors[n][1]) for other in RULES) == 1]  # type: ignore[arg-type]
        wrong = [n for n in fits if doors[n][0] is None]
        costs = [n for n, page in real.items() if page is not None and rule.fits(page) and n not in KNOWN_DOORS]
        body.append([rule.name, str(len(fits)), str(len(alone)), str(len(wrong)), str(len(costs))])
    print(f"{len(doors)} written pages, {len(real)} real ones")
    table(["rule", "fits", "only it", "wrongly", "real pages lost"], body)
    verdicts = {name: (rule.verdict if (rule := door(page)) else None) for name, (_, page) in doors.items() if page}
    right = sum(verdicts.get(name) == expect for name, (expect, _) in doors.items())
    kept = sum(page is None or door(page) is None for name, page in real.items() if name not in KNOWN_DOORS)
    for name, (expect, _) in doors.items():
        if verdicts.get(name) != expect:
            print(f"wrong: {name} is {expect or 'content'}, taken for {verdicts.get(name) or 'content'}")
    bars = [Bar("written pages judged right", ratio(right, len(doors)), 1.0)]
    if real:
        bars.append(Bar("real pages kept", ratio(kept, len(real.keys() - KNOWN_DOORS)), 1.0))
    else:
        print(f"skipped the real pages: {DATA / 'html'} is not there")
    end("bench_doors", bars, {"rules": body, "verdicts": verdicts})


if __name__ == "__main__":
    main()
