"""``python -m evals.bench.mutants``: plants each fault in a copy of the source and runs the kill loop on it.

Prints what the loop found of each; exit 1 when one was not noticed, or when the loop is red without any.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from evals.bench.faults.world import ROOT
from evals.bench.mutants.planted import MUTANTS, Mutant

COPIED = ("evals", "infra", "services", "shared", "tests", "pyproject.toml")
LOOP = ("--runs", "8", "--seconds", "20", "--shapes", "4", "--calm", "150", "--no-takeover", "--json", "-")
LIMIT_S = 420.0
WITHOUT = Mutant("none", "nothing: the loop has to be green", ())


class NotPlanted(Exception):
    """The source does not have the passage that a fault is planted in; the message names it."""


def main(arguments: list[str] | None = None) -> int:
    """Run the loop on every mutant, or on those that are named."""
    parser = argparse.ArgumentParser(prog="leadline bench mutants", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="mutants to try (all, and the source as it is)")
    asked = parser.parse_args(arguments)
    chosen = [m for m in (WITHOUT, *MUTANTS) if not asked.names or m.name in asked.names]
    missed = 0
    for mutant in chosen:
        began = time.monotonic()
        broken = loop_over(mutant)
        right = bool(broken) == bool(mutant.edits)
        missed += not right
        found = ", ".join(f"{rule} ({count})" for rule, count in broken.items()) or "nothing"
        print(
            f"{'ok  ' if right else 'MISS'}  {mutant.name:<30} {time.monotonic() - began:4.0f} s  {found}", flush=True
        )
    return 1 if missed else 0


def loop_over(mutant: Mutant) -> dict[str, int]:
    """Run the loop on a copy with the fault in it; return what it found broken, and how often."""
    with tempfile.TemporaryDirectory(prefix="leadline-mutant-") as folder:
        copy = Path(folder)
        plant(mutant, copy)
        surroundings = {**os.environ, "PYTHONPATH": folder}
        command = [sys.executable, "-m", "evals.bench.faults", *LOOP]
        try:
            done = subprocess.run(
                command, cwd=folder, env=surroundings, capture_output=True, text=True, timeout=LIMIT_S, check=False
            )
        except subprocess.TimeoutExpired:
            return {"the loop did not end": 1}
        try:
            told: dict[str, Any] = json.loads(done.stdout)
        except ValueError:
            return {f"the loop failed: {done.stderr[-500:]}": 1}
        return {rule: len(found) for rule, found in told["broken"].items()}


def plant(mutant: Mutant, folder: Path) -> None:
    """Copy the source and plant a fault in it; raises `NotPlanted`."""
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "results"))
        else:
            shutil.copy(ROOT / name, folder / name)
    for edit in mutant.edits:
        path = folder / edit.path
        text = path.read_text("utf-8")
        if text.count(edit.old) != 1:
            raise NotPlanted(f"{edit.path} does not have once what “{mutant.name}” takes away: {edit.old[:80]!r}")
        path.write_text(text.replace(edit.old, edit.new), "utf-8")


if __name__ == "__main__":
    sys.exit(main())
