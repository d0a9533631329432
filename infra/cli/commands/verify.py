"""`leadline verify`: check a bundle again, with no database, no network and no gateway."""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from infra.cli.console import Console, shown
from infra.cli.exits import COMPLETED, FAULTS, NOT_CHECKED, CliError

if TYPE_CHECKING:
    from services.synthesizer.verify import VerifyResult


def run(args: argparse.Namespace, console: Console) -> int:
    """Print what was checked, or every fault."""
    path = Path(args.bundle)
    if not os.path.exists(path):
        raise CliError(f"{path} does not exist: `leadline report RUN --format bundle -o FILE` writes a bundle.")
    if not path.is_file():
        raise CliError(f"{path} is not a file: name a bundle.")
    from services.synthesizer.verify import verify_bundle

    console.status("Checking")
    result = verify_bundle(path)
    if args.json:
        console.print(json.dumps(_as_data(result), ensure_ascii=False, indent=2))
    else:
        for line in _lines(path, result):
            console.print(shown(line))
    if not result.ok:
        return FAULTS
    return COMPLETED if result.complete else NOT_CHECKED


def _as_data(result: VerifyResult) -> dict[str, object]:
    return {
        "ok": result.ok,
        "complete": result.complete,
        "faults": [asdict(fault) for fault in result.faults],
        "summary": dict(result.summary),
    }


def _lines(path: Path, result: VerifyResult) -> list[str]:
    if not result.ok:
        count = len(result.faults)
        head = f"{path} does not hold: {count} {'fault' if count == 1 else 'faults'}."
        return [head, *(f"  {fault.file}: {fault.detail}" for fault in result.faults)]
    facts = result.summary
    drafted = f"{facts['emitted']} of {facts['statements']} drafted statements"
    grounds = f"{facts['evidence']} pieces of evidence from {facts['sources']} sources"
    head = f"{path} holds: run {facts['run_id']}, {facts['files']} files."
    if not result.complete:
        head = (
            f"{path} was checked in part: report.md and report.html were not checked, another version of Leadline made "
            "them. Do not rely on them: read report.json, or check with that version."
        )
    return [
        head,
        f"  {drafted} are in the report, on {grounds}.",
        f"  {facts['recomputed']} verdicts are the same when computed again, {facts['recorded']} stand as recorded.",
    ]
