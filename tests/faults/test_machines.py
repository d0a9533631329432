"""What is wrong with the machines: a clock two hours off, a disk that is full."""

import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from tests.faults.conftest import DELAY_S, City
from tests.support.invariants import broken_invariants
from tests.support.site import gaps
from tests.support.small_disk import on_small_disk
from tests.support.stack import Stack

SHIM = Path(__file__).parents[1] / "support" / "clock_shift.c"
TWO_HOURS_S = 7200
LATE_S = 60.0
"""How much later than it may a step begins at the most, on the busiest machine; far less than the clocks are off."""


def rows(database_url: str, query: str, **values: Any) -> list[Any]:
    """Run a query."""
    engine = create_engine(database_url)
    try:
        with engine.connect() as connection:
            return list(connection.execute(text(query), values).all())
    finally:
        engine.dispose()


@pytest.fixture
def shim(tmp_path: Path) -> Path:
    """A library that shifts the clock of whoever preloads it."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler is installed, with which to shift a clock")
    library = tmp_path / "clock_shift.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, SHIM, "-ldl"], check=True, timeout=60)
    return library


def test_a_workers_clock_does_not_matter(city: City, shim: Path) -> None:
    """One worker two hours ahead, one two hours behind: no step begins early, late or twice; the site's delay holds."""
    stack = city.stack
    skewed = Stack(stack.database_url, stack.redis_url, stack.logs, stack.extra, broker_url=stack.broker_url)
    names = ("fetcher", "extractor", "planner", "synthesizer")
    try:
        for name, sign in zip(names, (1, -1, 1, -1), strict=True):
            stack.processes[name].terminate()
            stack.processes.pop(name).wait(20)
            skewed.begin(f"{name}-skewed", LD_PRELOAD=str(shim), CLOCK_SHIFT=str(sign * TWO_HOURS_S))
        run_id = city.api.ask("How deep is basin 3?", [], source_policy={"urls": city.pages})
        city.api.finish(run_id, 60)
    finally:
        skewed.stop()
        stack.start(*names)
    steps = city.api.json(f"/research-runs/{run_id}/steps")["steps"]
    assert {s["status"] for s in steps} == {"completed"}, steps
    tried = rows(
        stack.database_url,
        "select a.outcome, b.claimed_at - (e.payload->>'not_before')::timestamptz as late from attempts a "
        "join steps s on s.id = a.step_id and s.run_id = :run "
        "left join events e on e.run_id = s.run_id and e.type = 'step_retrying' and e.payload->>'step_id' = s.id "
        "and (e.payload->>'attempt')::int = a.number "
        "left join attempts b on b.step_id = a.step_id and b.number = a.number + 1",
        run=run_id,
    )
    assert {row.outcome for row in tried} == {"done", "postponed"}
    waits = [row.late.total_seconds() for row in tried if row.outcome == "postponed"]
    assert min(waits) >= 0.0
    assert max(waits) < LATE_S
    assert min(gaps(city.site.visits())) >= DELAY_S
    assert broken_invariants(stack.database_url) == {}


def test_a_full_disk_fails_a_step_by_name(city: City) -> None:
    """No room for a snapshot: the step fails and says so, nothing of it is kept, and with room it goes on."""
    words = random.Random(7)
    text_of = " ".join(f"Basin {n} holds {words.getrandbits(256):x} crates." for n in range(4_000)).encode()
    url = city.stack.database_url
    count = "select (select count(*) from snapshots) + (select count(*) from parses) + (select count(*) from passages)"
    with on_small_disk(city.admin_url, url, "snapshots") as disk:
        before = rows(url, count)
        disk.fill()
        answer = city.api.call("POST", "/documents", files=[("files", ("large.txt", text_of))])
        run = city.api.finish(answer.json()["run_id"])
        assert run["status"] == "failed"
        failed = rows(url, "select error_code, error from steps where run_id = :run", run=run["run_id"])
        assert [row.error_code for row in failed] == ["storage_full"], failed
        assert "Make room" in failed[0].error
        assert rows(url, count) == before
        assert broken_invariants(url) == {}
        disk.make_room()
        answer = city.api.call("POST", f"/research-runs/{run['run_id']}/actions", json={"action": "retry"})
        if answer.status_code != 200:
            answer = city.api.call("POST", "/documents", files=[("files", ("large.txt", text_of))])
        assert city.api.finish(answer.json()["run_id"])["status"] == "completed"
