"""The users of the containers' Redis: a whole run works with the restricted one, and nothing beyond it does."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
import requests

from tests.support.api import Api
from tests.support.brokers import redis_broker_only
from tests.support.restricted_valkey import RestrictedValkey, restricted_valkey
from tests.support.servers import fresh_database
from tests.support.stack import Stack, running_stack, wait_until

pytestmark = redis_broker_only

QUESTION = "How deep below datum does bedrock lie under the outer sill of Sollander Lock?"
HARBOR = Path(__file__).parents[2] / "evals" / "corpora" / "harbor"
FORBIDDEN = (
    ("FLUSHALL",),
    ("CONFIG", "GET", "*"),
    ("EVAL", "return 1", "0"),
    ("KEYS", "*"),
    ("ACL", "LIST"),
    ("SHUTDOWN",),
    ("MODULE", "LIST"),
    ("REPLICAOF", "127.0.0.1", "1"),
    ("GET", "other:key"),
    ("LPUSH", "other:queue", "x"),
    ("PUBLISH", "other:channel", "x"),
    ("PSUBSCRIBE", "*"),
)


@pytest.fixture
def valkey_with_users(tmp_path: Path) -> Iterator[RestrictedValkey]:
    """A Valkey with the project's own configuration."""
    with restricted_valkey(tmp_path) as server:
        yield server


@pytest.fixture
def restricted_stack(
    postgres: str, template_database: str, valkey_with_users: RestrictedValkey, tmp_path: Path
) -> Iterator[Stack]:
    """The whole stack as the restricted user."""
    with (
        fresh_database(postgres, template_database) as url,
        running_stack(url, valkey_with_users.leadline, tmp_path, LEADLINE_METRICS_PORT="0") as running,
    ):
        yield running


def test_a_whole_run_as_the_restricted_user(restricted_stack: Stack, valkey_with_users: RestrictedValkey) -> None:
    """Documents, a run, its events live, a worker stopped and started: nothing that the stack does is refused."""
    api = Api(restricted_stack.address)
    with redis.Redis.from_url(valkey_with_users.leadline) as client, client.pubsub() as pubsub:
        pubsub.psubscribe("leadline:runs:*")
        documents = api.upload(HARBOR)
        heard: list[object] = []

        def message_came() -> bool:
            heard.append(pubsub.get_message(ignore_subscribe_messages=True, timeout=0.1))
            return any(heard)

        wait_until(message_came, "an event on the channel")
    run_id = api.ask(QUESTION, documents)
    url = f"{restricted_stack.address}/api/v1/research-runs/{run_id}/events"
    with requests.get(url, headers={"Accept": "text/event-stream"}, stream=True, timeout=60) as answer:
        lines = list(answer.iter_lines())
    assert b"event: end" in lines
    api.complete(run_id)
    worker = restricted_stack.processes.pop("extractor")
    worker.terminate()
    worker.wait(20)
    restricted_stack.start("extractor")
    api.complete(api.ask(QUESTION, documents))
    assert valkey_with_users.denied() == set()


@pytest.mark.parametrize("command", FORBIDDEN, ids=lambda c: c[0])
@pytest.mark.parametrize("user", ["leadline", "flower"])
def test_nothing_else_is_permitted(user: str, command: tuple[str, ...], valkey_with_users: RestrictedValkey) -> None:
    """Whatever administers, scripts freely or reaches other keys and channels is NOPERM."""
    with (
        redis.Redis.from_url(getattr(valkey_with_users, user)) as client,
        pytest.raises(redis.exceptions.NoPermissionError),
    ):
        client.execute_command(*command)


def test_flower_cannot_fill_a_queue(valkey_with_users: RestrictedValkey) -> None:
    """It may count what waits in a queue, not add to it or take from it."""
    with redis.Redis.from_url(valkey_with_users.flower) as client:
        assert client.llen("leadline:planner") == 0
        for command in (("LPUSH", "leadline:planner", "x"), ("BRPOP", "leadline:planner", "1")):
            with pytest.raises(redis.exceptions.NoPermissionError):
                client.execute_command(*command)


def test_strangers_are_refused(valkey_with_users: RestrictedValkey) -> None:
    """Without a name nobody gets anything, not even an answer to PING."""
    place = valkey_with_users.admin.rpartition("@")[2]
    with redis.Redis.from_url(f"redis://{place}") as client, pytest.raises(redis.AuthenticationError):
        client.ping()
