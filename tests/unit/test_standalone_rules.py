"""The parts of the embedded stack that touch neither a process nor a socket."""

import io
import os
import stat
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.standalone import files, installer, system
from infra.standalone.errors import LockTimeoutError
from infra.standalone.home import Home
from infra.standalone.plan import Plan, Urls, address, plan_from_settings, service_environment
from infra.standalone.processes import GATEWAY, SERVICES, ProcessRow, ProcessTable
from infra.standalone.restarts import FIRST_SECONDS, LARGEST_SECONDS, STEADY_SECONDS, next_delay
from shared.config.version import project_version
from tests.support.fake_stack import BARE, StackSettings

WAITS = st.floats(min_value=0.0, max_value=LARGEST_SECONDS)
UPTIMES = st.floats(min_value=0.0, max_value=1e6)


def test_waits_double_up_to_half_a_minute() -> None:
    """0.5, 1, 2, 4, 8, 16, 30, 30 seconds for a process that never stays."""
    waits = [next_delay(0.0, 0.0)]
    while len(waits) < 8:
        waits.append(next_delay(waits[-1], 0.0))
    assert waits == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]


@given(WAITS, UPTIMES)
def test_wait_lies_within_its_bounds(previous: float, uptime: float) -> None:
    """Never less than the first wait, never more than the largest, and short again after a steady minute."""
    wait = next_delay(previous, uptime)
    assert FIRST_SECONDS <= wait <= LARGEST_SECONDS
    assert uptime < STEADY_SECONDS or wait == FIRST_SECONDS


@given(
    st.sampled_from(["up", "shared"]),
    st.dictionaries(st.text(), st.text()),
    st.integers(0, 65535),
    st.lists(st.builds(ProcessRow, st.text(), st.lists(st.text()).map(tuple), st.integers(1, 9))),
)
def test_plan_survives_the_way_through_the_pipe(
    mode: str, environment: dict[str, str], port: int, rows: list[ProcessRow]
) -> None:
    """What the supervisor reads is what the command wrote."""
    table = ProcessTable(("migrate",), tuple(rows), 1.5, 2.5)
    plan = Plan(Home(Path("/a/b")), mode, environment, Urls("a", None, "c"), "::1", port, table, 3.5)
    assert Plan.from_json(plan.to_json()) == plan


def test_plan_takes_urls_out_of_the_settings_and_shows_none() -> None:
    """Secrets reach the plan, and no printed form of it."""
    plan = plan_from_settings(Home(Path("/home")), BARE, "up", {"KEY": "secret-value"})
    assert plan.urls == Urls("postgresql://db", "redis://broker", "redis://redis")
    assert not any(word in repr(plan) for word in ("postgresql://", "redis://", "secret-value"))
    assert plan_from_settings(Home(Path("/home")), StackSettings(), "up", {}).urls == Urls()


def test_services_inherit_the_environment_with_the_project_first_in_their_path() -> None:
    """What the stack sets wins over what was inherited, except for the rest of PYTHONPATH."""
    inherited = {"OTHER": "1", "PYTHONPATH": "/mine", "LEADLINE_DATABASE_URL": "stale"}
    told = service_environment(Plan(Home(Path("/home")), "up", inherited), Urls("db", "broker", "redis"), 8000)
    assert told["OTHER"] == "1"
    assert told["PYTHONPATH"].endswith(f"{os.pathsep}/mine")
    assert told["LEADLINE_DATABASE_URL"] == "db"
    assert told["LEADLINE_GATEWAY_PORT"] == "8000"
    assert service_environment(Plan(Home(Path("/home")), "up", {}), Urls(), 1)["PYTHONPATH"].count(os.pathsep) == 0


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:80"),
        ("0.0.0.0", "http://127.0.0.1:80"),
        ("", "http://127.0.0.1:80"),
        ("::", "http://[::1]:80"),
        ("fe80::1", "http://[fe80::1]:80"),
        ("box.example", "http://box.example:80"),
    ],
)
def test_address_is_one_that_a_client_can_reach(host: str, url: str) -> None:
    """An address to listen on everywhere is none to connect to."""
    assert address(host, 80) == url


def test_replicas_have_names_of_their_own() -> None:
    """One replica has the row's name, several are numbered."""
    assert list(ProcessRow("a", ()).names()) == ["a"]
    assert list(ProcessRow("a", (), 3).names()) == ["a-1", "a-2", "a-3"]


def test_table_names_each_service_once() -> None:
    """Log files and state go by these names."""
    names = [name for row in SERVICES.services for name in row.names()]
    assert len(set(names)) == len(names)
    assert {GATEWAY, "planner", "fetcher", "extractor", "synthesizer", "sweeper"} == set(names)


def test_version_is_the_project_s() -> None:
    """The state file tells which version runs."""
    assert project_version()[0].isdigit()


def test_home_is_made_private_and_left_alone_afterwards(tmp_path: Path) -> None:
    """New folders are the owner's alone; the mode of an existing home is the owner's business."""
    home = Home(tmp_path / "new" / "home")
    home.create()
    folders = (home.path, home.pg, home.valkey, home.logs, home.run)
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in folders} == {0o700}
    home.path.chmod(0o750)
    home.create()
    assert stat.S_IMODE(home.path.stat().st_mode) == 0o750


def test_home_is_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative home means the caller's folder, also to processes elsewhere."""
    monkeypatch.chdir(tmp_path)
    assert Home(Path("here")).path == tmp_path / "here"


def test_private_file_is_replaced_whole(tmp_path: Path) -> None:
    """The file has mode 0600 whatever it had before, and no draft stays."""
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o644)
    files.write_private_json(path, {"a": 1})
    assert files.read_json(path) == {"a": 1}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("text", [None, "", '{"a": ', "\0"])
def test_unreadable_json_is_as_good_as_none(tmp_path: Path, text: str | None) -> None:
    """A state file that is absent or damaged tells nothing and harms nobody."""
    path = tmp_path / "file"
    if text is not None:
        path.write_text(text)
    assert files.read_json(path) is None


def test_locks_exclude_and_share(tmp_path: Path) -> None:
    """Any number of sharers or one exclusive holder; a held lock times out with the file's name."""
    path = tmp_path / "lock"
    assert not files.is_locked(path)
    with files.locked(path, 1.0, shared=True), files.locked(path, 1.0, shared=True) as mine:
        assert not files.is_locked(path)
        assert not mine.attempt()
    with files.locked(path, 1.0):
        assert files.is_locked(path)
        with pytest.raises(LockTimeoutError, match="lock"), files.locked(path, 0.0):
            raise AssertionError("two holders")
    assert not files.is_locked(path)


def test_waiting_for_a_lock_ends_when_it_is_given_back(tmp_path: Path) -> None:
    """A waiting caller gets the lock."""
    path = tmp_path / "lock"
    holder = files.FileLock(path)
    holder.acquire(1.0)
    threading.Timer(0.05, holder.release).start()
    with files.locked(path, 30.0):
        assert files.is_locked(path)
    holder.close()


def test_only_large_logs_are_moved(tmp_path: Path) -> None:
    """The former log is kept once, a missing one is no error."""
    log = tmp_path / "a.log"
    system.rotate(log, 3)
    log.write_text("abc")
    system.rotate(log, 3)
    assert log.read_text() == "abc"
    log.write_text("abcd")
    system.rotate(log, 3)
    assert not log.exists()
    assert log.with_name("a.log.1").read_text() == "abcd"


def test_birth_tells_live_processes_apart() -> None:
    """The same process has one birth; a number that nobody has, none."""
    mine = system.birth(os.getpid())
    assert mine is not None
    assert mine == system.birth(os.getpid())
    assert mine != system.birth(1)
    assert system.birth(2**22 + 1) is None


def test_pins_are_the_requirements_without_hashes() -> None:
    """Comments, hashes and indented lines are none."""
    text = (
        "# made by\na==1 \\\n    --hash=sha256:00 \\\n    --hash=sha256:11\nB==2 ; x < '3' \\\n    --hash=sha256:22\n"
    )
    assert installer.pins(text) == {"a==1", "B==2 ; x < '3'"}


class Terminal(io.StringIO):
    """A stream that calls itself a terminal."""

    def isatty(self) -> bool:
        """Say so."""
        return True


def test_progress_overwrites_one_line_on_a_terminal() -> None:
    """What is over is wiped; equal texts are written once."""
    stream = Terminal()
    progress = installer.Progress(stream)
    for done in (1, 1, 2):
        progress.count("packages", done, 2)
    progress.say("done")
    assert stream.getvalue() == (
        "\rleadline: packages: 1 of 2\x1b[K\rleadline: packages: 2 of 2\x1b[K\r\x1b[Kleadline: done\n"
    )


def test_progress_is_a_line_now_and_then_elsewhere() -> None:
    """A log of twenty-five packages gets three lines, without control characters."""
    stream = io.StringIO()
    progress = installer.Progress(stream)
    for done in range(25):
        progress.count("packages", done, 25)
    assert stream.getvalue().splitlines() == [f"leadline: packages: {n} of 25" for n in (0, 10, 20)]


def test_servers_listen_where_no_outgoing_connection_comes_from() -> None:
    """A port that is kept over a restart must not be lent to a client in between."""
    ports = {system.free_port() for _ in range(20)}
    assert ports <= set(system.SERVER_PORTS)
    assert len(ports) > 1
    assert all(system.port_is_free(port) for port in ports)
