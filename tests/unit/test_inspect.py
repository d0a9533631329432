"""`leadline inspect claim` and `rank`: one line out for each line in, in order, whatever the lines are."""

import importlib
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.cli.inspections import INSPECTIONS
from infra.cli.options import parser
from services.synthesizer.inspect import inspect_claims, rank
from shared.domain.errors import Invalid

ROOT = Path(__file__).parents[2]
EVIDENCE = "The harbour was dredged in 2021. About 412,600 cubic metres of silt were taken out by Corvanth."
BAD = ["", "{", "[]", "null", '{"claim": 5, "evidence": "x"}', '{"claim": "x"}', '{"claim": " ", "evidence": "x"}']


def inspected(claim: str, evidence: object = EVIDENCE, **more: object) -> dict[str, Any]:
    """Return the answer about one claim."""
    return json.loads(next(inspect_claims([json.dumps({"claim": claim, "evidence": evidence, **more})])))


@pytest.mark.parametrize(
    ("claim", "verdict", "numbers"),
    [
        ("The harbour was dredged in 2021.", "supported", "pass"),
        ("The harbour was dredged in 2022.", "unsupported", "fail"),
        ("About 421,600 cubic metres of silt were taken out by Corvanth.", "unsupported", "fail"),
        ("The moon is made of cheese.", "unsupported", "none"),
    ],
)
def test_a_claim_gets_a_verdict(claim: str, verdict: str, numbers: str) -> None:
    """Verbatim claims are supported, other figures are refused, and what has nothing in common is not supported."""
    answer = inspected(claim)
    assert (answer["verdict"], answer["checks"]["numbers"]) == (verdict, numbers)
    assert 0 <= answer["score"] <= 1
    assert set(answer) == {"verdict", "score", "checks", "reasons"}


def test_evidence_may_be_several_texts() -> None:
    """Figures and words may stand in any of them."""
    assert inspected("It opened in 2021.", ["Nothing here.", "It opened in 2021."])["verdict"] == "supported"


def test_relative_dates_are_told_from_the_day_given() -> None:
    """What "last year" is depends on as_of."""
    said = "The lock was opened last year."
    assert inspected("The lock was opened in 2023.", said, as_of="2024-05-01")["checks"]["numbers"] == "pass"
    assert inspected("The lock was opened in 2022.", said, as_of="2024")["checks"]["numbers"] == "fail"
    assert "error" in inspected("It is so.", said, as_of="soon")


@given(st.lists(st.one_of(st.sampled_from(BAD), st.text(max_size=30).map(lambda t: t.replace("\n", " "))), max_size=8))
def test_every_line_gets_one_line(lines: list[str]) -> None:
    """Malformed lines say what is wrong with them and end nothing."""
    good = json.dumps({"claim": "It opened in 2021.", "evidence": EVIDENCE})
    answers = [json.loads(line) for line in inspect_claims([*lines, good])]
    assert len(answers) == len(lines) + 1
    assert "verdict" in answers[-1]
    assert all("error" in a or "verdict" in a for a in answers)


def test_many_lines_take_no_longer_each_than_few() -> None:
    """The time of a batch grows with its length only."""
    lines = [json.dumps({"claim": f"It opened in {1900 + n % 100}.", "evidence": EVIDENCE}) for n in range(300)]

    def seconds(count: int) -> float:
        began = time.process_time()
        assert len(list(inspect_claims(lines[:count]))) == count
        return time.process_time() - began

    seconds(30)
    assert seconds(300) < 40 * max(seconds(30), 0.002)


CORPUS = [
    json.dumps({"_id": "1", "title": "Dredging", "text": "Silt was taken out of the harbour."}),
    json.dumps({"_id": "2", "title": "", "text": "A lighthouse on the cliff."}),
    json.dumps({"_id": 3, "title": "港口", "text": "港口於2021年挖深。"}),
]


def test_a_query_ranks_the_corpus() -> None:
    """The documents that hold the words of a query come first, in any script; one line a query, in order."""
    queries = [json.dumps({"_id": n, "text": text}) for n, text in enumerate(["dredged harbours", "港口", "zzz"])]
    found = [json.loads(line) for line in rank(CORPUS, [*queries, "{"], 2)]
    assert [f["query_id"] for f in found] == ["0", "1", "2", None]
    assert [[hit["id"] for hit in f["ranked"]] for f in found] == [["1"], ["3"], [], []]
    assert "error" in found[3]


def test_a_corpus_that_cannot_be_read_is_named() -> None:
    """A rank over a part of a corpus would be wrong, so the bad line is named instead."""
    with pytest.raises(Invalid, match="Line 2"):
        list(rank([CORPUS[0], "{"], [], 2))


def test_every_inspection_has_a_function() -> None:
    """The table of the command line names what can be carried out, each under a name of its own."""
    for inspection in INSPECTIONS:
        module, _, name = inspection.function.partition(":")
        assert callable(getattr(importlib.import_module(f"infra.cli.commands.{module}"), name))
    assert len({inspection.name for inspection in INSPECTIONS}) == len(INSPECTIONS)
    assert parser().parse_args(["inspect", "claim"]).function == "inspect:claim"


def test_the_command_reads_lines_and_needs_no_stack(tmp_path: Path) -> None:
    """Bytes that are no text and lines that are no JSON give a line too."""
    good = json.dumps({"claim": "The harbour was dredged in 2021.", "evidence": EVIDENCE}).encode()
    done = subprocess.run(
        [sys.executable, "-m", "infra.cli", "inspect", "claim"],
        input=good + b"\n\xff\xfe\n\n" + good,
        capture_output=True,
        cwd=ROOT,
        timeout=60,
        check=True,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert ["verdict" in a for a in answers] == [True, False, False, True]
    assert done.stderr == b""
