"""The kill loop in short: what `leadline bench faults` does for minutes with many runs."""

from pathlib import Path

from evals.bench.faults.loop import Plan, run_loop


def test_runs_survive_the_death_of_everything(tmp_path: Path) -> None:
    """Processes killed every quarter of a second, Postgres, Valkey and a frozen worker: all runs are as undisturbed."""
    plan = Plan(runs=4, seconds=10.0, seed=3, shapes=2, takeover=False, delay_s=0.0, calm_s=120.0)
    outcome = run_loop(plan, tmp_path)
    assert outcome.broken == {}
    assert outcome.counts["Postgres restarted"] == 2
    assert outcome.counts["processes killed"] > 0
