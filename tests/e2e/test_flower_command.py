"""`leadline up --flower`: Flower beside the embedded stack, with a password of the home's own."""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import requests

from infra.standalone.home import Home
from infra.standalone.system import processes_in
from tests.support.scraping import counted, discovered, scrape
from tests.support.servers import embedded_only, open_folder
from tests.support.stack import MODULES, ROOT, WORKERS, wait_until

pytestmark = embedded_only

pytest.importorskip("flower", reason="Flower is not installed")

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A home on which nothing runs afterwards."""
    with open_folder(tmp_path_factory.mktemp("flower")) as folder:
        home = Home(folder / "home")
        yield home
        command(home)("down")
        assert processes_in(home.path) == []


@pytest.fixture(scope="module")
def leadline(home: Home) -> Call:
    """The command line over that home."""
    return command(home)


def command(home: Home) -> Call:
    """Return a function that carries out a command and returns exit code, output and errors."""

    def call(*arguments: str) -> tuple[int, str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("LEADLINE_")}
        done = subprocess.run(
            [sys.executable, "-m", "infra.cli", *arguments],
            env={**inherited, "LEADLINE_HOME": str(home.path)},
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=180,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, done.stdout, done.stderr

    return call


def test_flower_shows_the_workers_of_the_stack(home: Home, leadline: Call) -> None:
    """One command; the address is printed, name and password are in a private file, and no process list shows them."""
    code, out, _ = leadline("up", "--flower", "--json")
    assert code == 0
    address = json.loads(out)["flower"]
    access = json.loads(home.flower.read_text())
    assert stat.S_IMODE(home.flower.stat().st_mode) == 0o600
    assert address == f"http://127.0.0.1:{access['port']}"
    auth = (access["user"], access["password"])

    def workers() -> dict[str, object]:
        try:
            return dict(requests.get(f"{address}/api/workers?refresh=1", auth=auth, timeout=10).json())
        except requests.ConnectionError:
            return {}

    wait_until(lambda: {name.partition(".")[0] for name in workers()} == set(WORKERS), "Flower sees all workers")
    assert requests.get(f"{address}/api/workers", timeout=10).status_code == 401
    told = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in processes_in(home.path)]
    assert not any(access["password"].encode() in line for line in told)


def test_prometheus_finds_every_process_of_the_stack(home: Home) -> None:
    """The folder for file-based discovery names each once, Flower too, and all can be scraped."""
    wait_until(lambda: set(discovered(home.path)) == {*MODULES, "flower"}, "every process tells where it is")
    for service, address in discovered(home.path).items():
        samples = scrape(address)
        assert service == "flower" or counted(samples, "leadline_process_info", "service") == {(service,): 1}


def test_a_second_call_joins_what_runs(home: Home, leadline: Call) -> None:
    """Same address, same password."""
    before = home.flower.read_text()
    code, out, _ = leadline("up", "--flower")
    assert code == 0
    assert f"Flower shows its workers at http://127.0.0.1:{json.loads(before)['port']}" in out
    assert home.flower.read_text() == before
    code, out, _ = leadline("up", "--json")
    assert (code, json.loads(out)["flower"]) == (0, f"http://127.0.0.1:{json.loads(before)['port']}")


def test_a_stack_without_flower_is_not_changed(home: Home, leadline: Call) -> None:
    """One that runs without has to be taken down first, and says so; the password outlives it."""
    password = json.loads(home.flower.read_text())["password"]
    assert leadline("down")[0] == 0
    assert discovered(home.path) == {}
    assert leadline("up")[0] == 0
    code, out, err = leadline("up", "--flower")
    assert (code, out) == (2, "")
    assert "`leadline down` first" in err
    assert json.loads(home.flower.read_text())["password"] == password
