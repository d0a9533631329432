"""The supervisor: what it starts, starts again and stops, and that nothing outlives it."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis

from infra.standalone import leftovers, stack, system
from infra.standalone.errors import StackError
from infra.standalone.home import Home
from infra.standalone.info import StackInfo, owner
from infra.standalone.processes import ProcessRow, ProcessTable
from infra.standalone.supervisor import LOCK_SECONDS
from tests.support.fake_stack import (
    BARE,
    STUBBORN_CODE,
    Secret,
    StackSettings,
    answers,
    eventually,
    kill,
    processes_of,
    python,
    table,
    wait_for_log,
)
from tests.support.servers import embedded_only, open_folder, without_driver

pytestmark = embedded_only

# Starts a stack whose migration never ends, and is interrupted.
STARTER = """
import sys
from pathlib import Path
from infra.standalone import stack
from infra.standalone.home import Home
from tests.support.fake_stack import BARE, table
stack.start(Home(Path(sys.argv[1])), BARE, "up", print, table(migrate="import time; time.sleep(600)"))
"""
linux = pytest.mark.skipif(sys.platform != "linux", reason="the system has no death signal")


def silent(_sentence: str) -> None:
    """Take no notice of progress."""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    """A home on which nothing runs afterwards."""
    with open_folder(tmp_path) as folder:
        home = Home(folder / "home")
        try:
            yield home
        finally:
            stack.stop(home)
            assert processes_of(home) == []


@contextmanager
def up(home: Home, services: ProcessTable | None = None, settings: StackSettings | None = None) -> Iterator[StackInfo]:
    """Run a stack for a block."""
    yield stack.start(home, settings or StackSettings(), "up", silent, services or table())
    stack.stop(home)


def worker_facts(home: Home, pid: int) -> dict[str, Any]:
    """Return what a worker wrote down, once it has."""
    told = home.path / f"worker-{pid}.json"
    eventually(told.exists)
    return dict(json.loads(told.read_text()))


def usable(info: StackInfo) -> bool:
    """Say whether database and broker take a client."""
    try:
        with psycopg.connect(without_driver(info.database_url), connect_timeout=5) as connection:
            connection.execute("SELECT 1")
        with closing(redis.Redis.from_url(info.redis_url, socket_timeout=5)) as client:
            return bool(client.ping())
    except (psycopg.OperationalError, redis.ConnectionError):
        return False


def restarted(home: Home, name: str, former: int) -> int:
    """Wait until a process runs under another number and return that."""

    def changed() -> bool:
        info = stack.running(home)
        return info is not None and info.processes.get(name, former) != former

    eventually(changed)
    info = stack.running(home)
    assert info is not None
    return info.processes[name]


def test_ready_stack_is_described_privately(home: Home) -> None:
    """The state file tells a reader how to reach everything, and only its owner may read it."""
    with up(home, table(ProcessRow("twin", python(STUBBORN_CODE), 2))) as info:
        assert answers(info.address)
        assert usable(info)
        assert stack.running(home) == info
        assert info.mode == "up"
        assert info.pid == owner(home)
        assert set(info.processes) == {"valkey", "postgres", "gateway", "worker", "twin-1", "twin-2"}
        assert stat.S_IMODE(home.state.stat().st_mode) == 0o600
        kept = json.loads(home.state.read_text())
        assert {"pid", "started_at", "address", "database_url", "processes", "mode", "version"} <= set(kept)
        assert info.database_url not in repr(info)
    assert stack.running(home) is None
    assert not home.state.exists()


def test_services_are_told_where_everything_is(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service gets the URLs, the home, the gateway's address, a path to the code, and what the caller had."""
    monkeypatch.setenv("SOME_KEY", "kept")
    with up(home) as info:
        told = worker_facts(home, info.processes["worker"])["environment"]
    wanted = {
        "LEADLINE_DATABASE_URL": info.database_url,
        "LEADLINE_BROKER_URL": info.broker_url,
        "LEADLINE_REDIS_URL": info.redis_url,
        "LEADLINE_HOME": str(home.path),
        "LEADLINE_GATEWAY_PORT": info.address.rpartition(":")[2],
        "SOME_KEY": "kept",
    }
    assert {name: told[name] for name in wanted} == wanted
    assert str(Path(stack.__file__).parents[2]) in told["PYTHONPATH"].split(os.pathsep)


def test_second_start_joins_and_second_stop_finds_nothing(home: Home) -> None:
    """Starting twice gives one stack; stopping says whether there was one."""
    with up(home, settings=BARE) as info:
        assert stack.start(home, BARE, "up", silent, table()) == info
        assert stack.stop(home)
        assert not stack.stop(home)
        assert processes_of(home) == []


def test_two_homes_run_side_by_side(home: Home) -> None:
    """Stacks of different homes share nothing."""
    other = Home(home.path.with_name("other"))
    with up(home) as one, up(other) as two:
        assert len({one.address, two.address, one.database_url, two.database_url, one.redis_url, two.redis_url}) == 6
        stack.stop(other)
        assert answers(one.address)
        assert usable(one)


def test_killed_processes_start_again_under_the_same_urls(home: Home) -> None:
    """Gateway, worker, Valkey and PostgreSQL come back after kill -9, and clients need no new address."""
    with up(home) as info:
        for name, pid in info.processes.items():
            kill(pid)
            restarted(home, name, pid)
        eventually(lambda: answers(info.address) and usable(info))
        after = stack.running(home)
        assert after is not None
        assert (after.address, after.database_url, after.redis_url) == (
            info.address,
            info.database_url,
            info.redis_url,
        )
        assert not set(after.processes.values()) & set(info.processes.values())


def test_wait_before_the_next_start_grows(home: Home) -> None:
    """A process that ends again and again is started less and less often."""
    with up(home, settings=BARE) as info:
        pid = info.processes["worker"]
        for _ in range(3):
            kill(pid)
            pid = restarted(home, "worker", pid)
    log = home.log("supervisor").read_text()
    places = [log.index(f"worker ended with status -9, next start in {seconds} s") for seconds in ("0.5", "1.0", "2.0")]
    assert places == sorted(places)


def test_what_a_killed_process_had_started_is_ended_too(home: Home) -> None:
    """The children of a dead process do not pile up beside those of its successor."""
    with up(home, settings=BARE) as info:
        facts = worker_facts(home, info.processes["worker"])
        kill(facts["pid"])
        eventually(lambda: system.birth(facts["child"]) is None)


def test_stop_kills_what_does_not_stop_by_itself(home: Home) -> None:
    """A service that ignores the request, and the child of one that obeys, are gone after a stop."""
    with up(home, table(ProcessRow("stubborn", python(STUBBORN_CODE)))) as info:
        facts = worker_facts(home, info.processes["worker"])
        assert stack.stop(home)
        pids = [info.pid, facts["child"], *info.processes.values()]
        assert not any(map(system.birth, pids))
        assert processes_of(home) == []


def test_data_survives_a_restart_of_the_stack(home: Home) -> None:
    """Rows are there again after down and up."""
    with up(home) as info, psycopg.connect(without_driver(info.database_url)) as connection:
        connection.execute("CREATE TABLE kept (n integer)")
    with up(home) as info, psycopg.connect(without_driver(info.database_url)) as connection:
        assert connection.execute("SELECT count(*) FROM kept").fetchone() == (0,)


@linux
def test_nothing_outlives_a_killed_supervisor(home: Home) -> None:
    """kill -9 of the supervisor takes servers, services and their children along; the next start works."""
    with up(home) as info:
        worker_facts(home, info.processes["worker"])
        kill(info.pid)
        eventually(lambda: processes_of(home) == [])
        assert stack.running(home) is None
        with up(home) as again:
            assert answers(again.address)
            assert usable(again)


@linux
def test_next_start_ends_what_supervisor_and_guard_left(home: Home) -> None:
    """With the guard killed too, a grandchild may stay; the next start on the home ends it."""
    with up(home) as info:
        facts = worker_facts(home, info.processes["worker"])
        guards = [int(line.split()[0]) for line in processes_of(home) if f"{info.pid} " not in line]
        guard = next(pid for pid in guards if "infra.standalone.supervisor" in system.command_line(pid))
        kill(guard)
        kill(info.pid)
        eventually(lambda: not any(map(system.birth, info.processes.values())))
        assert system.birth(facts["child"]) is not None
        with up(home) as again:
            assert system.birth(facts["child"]) is None
            assert usable(again)


def test_record_of_another_boot_or_of_a_reused_number_harms_nobody(home: Home) -> None:
    """Only a process that is the recorded one is ended."""
    home.create()
    with subprocess.Popen(python("input()"), stdin=subprocess.PIPE, process_group=0) as innocent:
        record = leftovers.record("worker", innocent.pid, leftovers.SERVICE_STEPS)
        assert record is not None
        leftovers.write(home.children, [record])
        value = json.loads(home.children.read_text())
        for boot, birth in (("another", record.birth), (value["boot"], "another")):
            changed = {"boot": boot, "children": [{**value["children"][0], "birth": birth}]}
            home.children.write_text(json.dumps(changed))
            assert leftovers.end(home.children) == []
        assert innocent.poll() is None
        leftovers.write(home.children, [record])
        assert leftovers.end(home.children) == ["worker"]
        assert innocent.wait(10) == -signal.SIGKILL


def test_failed_migration_is_named_and_leaves_nothing(home: Home) -> None:
    """The error names the log of the migration."""
    with pytest.raises(StackError, match=r"schema.*status 3.*migrate\.log"):
        stack.start(home, BARE, "up", silent, table(migrate="raise SystemExit(3)"))
    assert processes_of(home) == []


def test_gateway_that_ends_while_starting_is_named(home: Home) -> None:
    """A gateway that cannot run is no reason to wait a minute."""
    with pytest.raises(StackError, match=r"gateway ended 3 times.*status 5.*gateway\.log"):
        stack.start(home, BARE, "up", silent, table(gateway="raise SystemExit(5)"))
    assert processes_of(home) == []


def test_gateway_that_never_answers_is_named(home: Home) -> None:
    """Waiting for the gateway ends."""
    with pytest.raises(StackError, match=r"gateway did not answer within 1 seconds.*gateway\.log"):
        stack.start(home, BARE, "up", silent, table(gateway="import time; time.sleep(600)", ready=1.0))


def test_wanted_port_is_used_and_one_in_use_is_refused(home: Home) -> None:
    """The error says which port, and what to do."""
    port = system.free_port()
    with up(home, settings=StackSettings(gateway_port=port)) as info:
        assert info.address == f"http://127.0.0.1:{port}"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(StackError, match=rf"Port {port} .*LEADLINE_GATEWAY_PORT"):
            stack.start(home, StackSettings(gateway_port=port), "up", silent, table())


def test_servers_that_the_settings_name_are_not_started(home: Home) -> None:
    """With URLs of one's own only the services run, and they get those URLs."""
    with up(home, settings=BARE) as info:
        assert set(info.processes) == {"gateway", "worker"}
        assert (info.database_url, info.broker_url, info.redis_url) == (
            "postgresql://db",
            "redis://broker",
            "redis://redis",
        )
    assert not home.pg.joinpath("data").exists()


def test_one_missing_url_brings_its_server_only(home: Home) -> None:
    """Valkey is started for whichever of broker and Redis is not named."""
    mine = StackSettings(Secret("postgresql://db"), Secret("redis://broker"))
    with up(home, settings=mine) as info:
        assert set(info.processes) == {"valkey", "gateway", "worker"}
        assert info.broker_url == "redis://broker"
        with closing(redis.Redis.from_url(info.redis_url)) as client:
            assert client.ping()


def test_large_logs_are_moved_aside(home: Home) -> None:
    """A log of more than ten megabytes starts anew; the former one is kept once."""
    home.create()
    log = home.log("gateway")
    log.touch()
    os.truncate(log, system.LARGEST_LOG + 1)
    with up(home, settings=BARE):
        assert log.stat().st_size < system.LARGEST_LOG
        assert log.with_name("gateway.log.1").stat().st_size == system.LARGEST_LOG + 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_start_that_is_interrupted_or_killed_leaves_nothing(home: Home, number: int) -> None:
    """Ctrl-C or kill -9 of the command while the stack starts takes down what was started."""
    starter = [sys.executable, "-c", STARTER, str(home.path)]
    with subprocess.Popen(starter, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        eventually(home.log("migrate").exists)
        process.send_signal(number)
        assert process.wait(60) == -number
    eventually(lambda: processes_of(home) == [])


def test_home_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    """A file in the place of the home is reported with the setting to change."""
    tmp_path.joinpath("file").touch()
    with pytest.raises(StackError, match="LEADLINE_HOME"):
        stack.start(Home(tmp_path / "file" / "home"), StackSettings(), "up", silent, table())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a folder of another account's")
def test_home_of_another_account_is_refused(tmp_path: Path) -> None:
    """Root does not leave files in a user's home that the user could not remove."""
    home = Home(tmp_path / "home")
    home.create()
    os.chown(home.run, 65534, 65534)
    with pytest.raises(StackError, match=r"account with number 65534.*LEADLINE_HOME"):
        stack.start(home, StackSettings(), "up", silent, table())
    assert not any(home.pg.iterdir())


def test_second_supervisor_on_a_home_gives_up(home: Home) -> None:
    """The lock of the home admits one supervisor only, however it is started."""
    with up(home, settings=BARE) as info:
        environment = {**os.environ, "LEADLINE_HOME": str(home.path)}
        second = subprocess.run(
            [sys.executable, "-m", "infra.standalone.supervisor"],
            env=environment,
            capture_output=True,
            text=True,
            timeout=LOCK_SECONDS + 30,
        )
        assert second.returncode == 1
        assert "Another supervisor" in second.stderr
        assert stack.running(home) == info


def test_stop_waits_for_a_stack_that_is_going_down(home: Home) -> None:
    """A stop that comes while the stack stops already returns when everything is gone, like the first."""
    with up(home, settings=BARE) as info:
        os.kill(info.pid, signal.SIGTERM)
        stack.stop(home)
        assert processes_of(home) == []
    wait_for_log(home, "supervisor", "stopped")
