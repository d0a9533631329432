"""The longest chain of a run's steps, from their own times."""

from evals.bench.latency import Timed, critical_path, timed


def test_the_longest_chain_counts() -> None:
    """Searches wait for the decision, sources for all searches, sections run side by side."""
    steps = [
        Timed("search", 1, "a", 1.0),
        Timed("search", 1, "b", 2.0),
        Timed("read_source", 1, "s1", 1.0),
        Timed("parse", 1, "s1", 0.5),
        Timed("extract", 1, "s1", 1.5),
        Timed("read_source", 1, "s2", 2.0),
        Timed("decide", 2, "i02:decide", 1.0),
        Timed("search", 2, "c", 1.0),
        Timed("outline", 2, "outline", 0.1),
        Timed("write_section", 2, "s1", 1.0),
        Timed("verify", 2, "s1", 1.0),
        Timed("write_section", 2, "s2", 0.5),
        Timed("verify", 2, "s2", 2.0),
        Timed("assemble", 2, "assemble", 0.4),
    ]
    assert critical_path(steps) == 2.0 + 3.0 + 1.0 + 1.0 + 0.1 + 2.5 + 0.4


def test_only_steps_that_have_ended_count() -> None:
    """A cancelled step took no part in the path."""
    times = {"started_at": "2026-01-01T00:00:00+00:00", "ended_at": "2026-01-01T00:00:02+00:00"}
    row = {"kind": "search", "iteration": 1, "subject": "a", **times}
    assert timed([{**row, "status": "completed"}, {**row, "status": "cancelled"}]) == [Timed("search", 1, "a", 2.0)]
