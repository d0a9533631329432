"""The planted faults fit the source as it is; that the kill loop notices them is `leadline bench mutants`."""

from pathlib import Path

import pytest

from evals.bench.mutants.planted import MUTANTS, Mutant

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.name)
def test_a_fault_can_be_planted(mutant: Mutant) -> None:
    """Every passage stands in its file exactly once, and the file still compiles with the fault in it."""
    texts: dict[str, str] = {}
    for edit in mutant.edits:
        text = texts.get(edit.path) or (ROOT / edit.path).read_text("utf-8")
        assert text.count(edit.old) == 1, edit
        texts[edit.path] = text.replace(edit.old, edit.new)
    for path, text in texts.items():
        compile(text, path, "exec")
