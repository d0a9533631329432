"""Other servers by their URLs alone: RabbitMQ as broker, and the system's own PostgreSQL and Redis."""

from pathlib import Path

import pytest

from evals.graders.facts import grade, load_cases
from shared.db.migrate import migrate
from tests.support.api import Api
from tests.support.harbor_site import CASES_FILE, CORPUS
from tests.support.invariants import broken_invariants
from tests.support.servers import fresh_database
from tests.support.stack import Stack, running_stack, wait_until
from tests.support.system_servers import rabbitmq, system_postgres, system_redis

CASE = next(c for c in load_cases(CASES_FILE) if c.kind == "multi_document")


def smoke(stack: Stack) -> None:
    """A run from its plan to its report, controls, and a worker that dies: all as on the embedded servers."""
    api = Api(stack.address)
    documents = api.upload(CORPUS)
    run_id = api.ask(CASE.question, documents)
    api.complete(run_id)
    assert grade(CASE, api.json(f"/research-runs/{run_id}/report")).passed
    waiting = api.ask(CASE.question, documents, auto_approve=False)
    wait_until(lambda: api.run(waiting)["status"] == "awaiting_plan_approval", "the plan")
    for action, more in (("approve_plan", {"expected_version": 1}), ("pause", {}), ("resume", {})):
        answer = api.call("POST", f"/research-runs/{waiting}/actions", json={"action": action, **more})
        assert answer.status_code == 200, answer.text
    stack.kill("fetcher")
    stack.start("fetcher")
    api.complete(waiting)
    assert api.evidence_spans(waiting) == api.evidence_spans(run_id)
    assert broken_invariants(stack.database_url) == {}


@pytest.mark.slow
def test_rabbitmq_as_broker(postgres: str, template_database: str, valkey: str, tmp_path: Path) -> None:
    """Wake-ups go through RabbitMQ, live progress through Redis; a sweeper counts what waits in its queues."""
    with (
        rabbitmq(tmp_path) as broker,
        fresh_database(postgres, template_database) as url,
        running_stack(url, valkey, tmp_path, LEADLINE_BROKER_URL=broker) as stack,
    ):
        smoke(stack)
        assert "no wake-ups are sent now" not in stack.log("sweeper")


@pytest.mark.slow
def test_the_systems_own_postgres_and_redis(tmp_path: Path) -> None:
    """An older PostgreSQL and a Redis in place of the embedded servers."""
    with (
        system_postgres(tmp_path) as admin,
        system_redis(tmp_path) as redis_url,
        fresh_database(admin) as url,
    ):
        migrate(url)
        with running_stack(url, redis_url, tmp_path) as stack:
            smoke(stack)
