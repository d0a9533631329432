"""``python -m evals.bench.faults``: runs the loop, prints a table or its data as JSON; exit 1 if something broke."""

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path

from evals.bench.faults.loop import Outcome, Plan, p95, run_loop, within_lease
from evals.bench.faults.world import LEASE_S


def main(arguments: list[str] | None = None) -> int:
    """Run a loop."""
    parser = argparse.ArgumentParser(prog="leadline bench faults", description=__doc__)
    parser.add_argument("--runs", type=int, default=40, metavar="N", help="runs that are disturbed (40)")
    parser.add_argument("--seconds", type=float, default=60.0, metavar="S", help="how long everything dies (60)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of chance (1)")
    parser.add_argument("--shapes", type=int, metavar="N", help="how many of the inputs are used (all)")
    parser.add_argument("--calm", type=float, default=300.0, metavar="S", help="how long runs may take to end (300)")
    parser.add_argument("--no-takeover", action="store_true", help="do not measure the takeover after a single kill")
    parser.add_argument("--json", metavar="FILE", help="also write the result there; - prints it in place of the table")
    parser.add_argument("--keep", metavar="FOLDER", help="an empty folder for logs, which is kept")
    asked = parser.parse_args(arguments)
    plan = Plan(asked.runs, asked.seconds, asked.seed, asked.shapes, takeover=not asked.no_takeover, calm_s=asked.calm)
    if asked.keep:
        outcome = run_loop(plan, Path(asked.keep))
    else:
        with tempfile.TemporaryDirectory(prefix="leadline-bench-") as folder:
            outcome = run_loop(plan, Path(folder))
    data = json.dumps(outcome.as_data(), indent=2)
    if asked.json == "-":
        print(data)
    else:
        print(table(outcome))
        if asked.json:
            Path(asked.json).write_text(data, "utf-8")
    return 1 if outcome.broken or not within_lease(outcome.p95_s) else 0


def table(outcome: Outcome) -> str:
    """Return what people read."""
    plan = outcome.plan
    rows = [("runs disturbed", str(plan.runs)), ("seconds of faults", f"{plan.seconds:.0f}"), ("seed", str(plan.seed))]
    rows += [(name, str(count)) for name, count in sorted(outcome.counts.items())]
    rows += [(f"attempts: {name}", str(count)) for name, count in sorted(outcome.attempts.items())]
    rows += [(f"seconds {name}", f"{seconds:.1f}") for name, seconds in outcome.seconds.items()]
    if outcome.hurried:
        rows += _spread("takeovers while everything dies", outcome.hurried)
    if outcome.takeovers:
        rows += _spread("takeovers after a single kill", outcome.takeovers)
        rows.append(
            (f"  p95 within lease + 2 s ({LEASE_S + 2.0:.0f} s)", "yes" if within_lease(outcome.p95_s) else "NO")
        )
    lines = [f"{name:<46} {value:>8}" for name, value in rows]
    lines += [f"ended by itself: {ending}" for ending in outcome.endings]
    for rule, found in outcome.broken.items():
        lines.append(f"BROKEN  {rule}: {len(found)}")
        lines += [f"        {item}" for item in found[:10]]
    lines.append("everything held" if not outcome.broken else "the loop found faults")
    return "\n".join(lines)


def _spread(name: str, seconds: list[float]) -> list[tuple[str, str]]:
    middle, late = statistics.median(seconds), p95(seconds)
    return [(name, str(len(seconds))), ("  median, seconds", f"{middle:.2f}"), ("  p95, seconds", f"{late:.2f}")]


if __name__ == "__main__":
    sys.exit(main())
