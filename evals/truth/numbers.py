"""Figures: ``python -m evals.truth.numbers`` checks labelled pairs and statements with one figure changed.

A pair is right when side a passes and side b does not; the baseline asks whether every number of the claim stands in
the evidence as a string. The statements are sentences of real pages and passages, each with the sentences around it as
its excerpt; "caught" means that the gate's check of figures and names refuses. All of them are verbatim: a figure
changed in a paraphrase is measured by the labelled pairs.
"""

import json
import random
import re
from collections import Counter
from collections.abc import Iterator

from evals.truth.perturb import changed
from evals.truth.sets import need, rows, save, table
from evals.truth.texts import excerpts
from services.synthesizer.gate.numbers import check_numbers
from services.synthesizer.inspect import inspect_claims
from shared.contracts.report import Statement
from shared.domain.numbers import quantities

SEED = 7
STATEMENTS = 2_000
_NUMBER = re.compile(r"\d[\d.,]*")


def _passes(claim: str, evidence: str) -> bool:
    line = next(inspect_claims([json.dumps({"claim": claim, "evidence": evidence})]))
    return bool(json.loads(line)["checks"]["numbers"] != "fail")


def _literal(claim: str, evidence: str) -> bool:
    there = {n.strip(".,") for n in _NUMBER.findall(evidence)}
    return all(n.strip(".,") in there for n in _NUMBER.findall(claim))


def labelled() -> dict[str, float]:
    """Return which part of the labelled pairs is right on both sides."""
    total: Counter[str] = Counter()
    for row in rows("contradiction/numeric_pairs.jsonl"):
        a, b = (str(row["claim_a"]), str(row["evidence_a"])), (str(row["claim_b"]), str(row["evidence_b"]))
        total["pairs"] += 1
        total["ours"] += _passes(*a) and not _passes(*b)
        total["literal"] += _literal(*a) and not _literal(*b)
        total["a passes"] += _passes(*a)
        total["b refused"] += not _passes(*b)
    return {name: total[name] / total["pairs"] for name in ("ours", "literal", "a passes", "b refused")}


def sentences() -> Iterator[tuple[str, str]]:
    """Yield sentences with a figure, each with its excerpt."""
    for sentence, excerpt in excerpts():
        if any(c.isdigit() for c in sentence) and quantities(sentence):
            yield sentence, excerpt


def _refused(sentence: str, excerpt: str) -> bool:
    statement = Statement(id="stm_1", kind="finding", text=sentence, evidence_ids=("ev_1",))
    return not check_numbers(statement, {"ev_1": excerpt}).passed


def perturbed(show: int = 0) -> dict[str, object]:
    """Return how many changed statements are caught, by kind, and how many unchanged ones are refused."""
    rng = random.Random(SEED)
    made: Counter[str] = Counter()
    caught: Counter[str] = Counter()
    refused = count = 0
    for sentence, excerpt in sentences():
        new = changed(sentence, rng)
        if new is None:
            continue
        kind, text = new
        count += 1
        made[kind] += 1
        refused += _refused(sentence, excerpt)
        if _refused(text, excerpt):
            caught[kind] += 1
        elif show:
            show -= 1
            print(f"missed ({kind}): {text}\n  was: {sentence}")
        if count == STATEMENTS:
            break
    return {
        "statements": count,
        "caught": sum(caught.values()) / max(count, 1),
        "refused_unchanged": refused / max(count, 1),
        "by_kind": {kind: (caught[kind], made[kind]) for kind in sorted(made)},
    }


def main() -> None:
    """Print both tables and save them."""
    need("contradiction")
    one = labelled()
    table(
        ["numeric pairs, right on both sides", "ours", "literal", "a passes", "b refused"],
        [["250 labelled pairs", *(f"{100 * v:.1f}" for v in one.values())]],
    )
    two = perturbed(show=12)
    print(
        f"{two['statements']} statements with one figure changed: {100 * float(str(two['caught'])):.2f} % caught, "
        f"{100 * float(str(two['refused_unchanged'])):.2f} % of the unchanged refused; {two['by_kind']}"
    )
    save("numbers", {"pairs": one, "changed": two})


if __name__ == "__main__":
    main()
