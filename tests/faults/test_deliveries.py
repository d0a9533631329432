"""What the broker does with messages does not matter: all of them three times, shuffled."""

from pathlib import Path

from sqlalchemy import create_engine, text

from tests.faults.test_crashes import QUESTION
from tests.support.api import Api
from tests.support.harbor_site import CORPUS
from tests.support.invariants import broken_invariants
from tests.support.servers import fresh_database, valkey_server
from tests.support.stack import MODULES, Stack
from tests.support.tripled import TRIPLED
from tests.support.zygote import Zygote


def test_every_message_three_times_and_shuffled(
    postgres: str, template_database: str, zygote: Zygote, tmp_path: Path
) -> None:
    """Two workers of each kind hear of every step three times: each step is executed once."""
    with fresh_database(postgres, template_database) as url, valkey_server(tmp_path) as redis_url:
        stack = Stack(url, redis_url, tmp_path, launch=zygote.launch)
        try:
            for name, module in MODULES.items():
                for copy in (name,) if name in ("gateway", "sweeper") else (name, f"{name}-2"):
                    stack.start(copy, module="tests.support.tripled", **{TRIPLED: module})
            api = Api(stack.address)
            run_id = api.ask(QUESTION, api.upload(CORPUS))
            api.complete(run_id)
        finally:
            stack.stop()
        assert sum(stack.log(name).count("sent thrice") for name in MODULES) > 20
        assert executions(url) == []
        assert broken_invariants(url) == {}


def executions(database_url: str) -> list[tuple[str, int]]:
    """Return the steps that were begun more than once without having been put off."""
    engine = create_engine(database_url)
    try:
        with engine.connect() as connection:
            counted = text(
                "select step_id, count(*) from attempts where outcome <> 'postponed' "
                "group by step_id having count(*) > 1"
            )
            return [(str(row[0]), int(row[1])) for row in connection.execute(counted)]
    finally:
        engine.dispose()
