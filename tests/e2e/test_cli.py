"""The command line with the embedded stack, from nothing to a verified report, as a user at a shell would see it."""

import json
import os
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from infra.standalone.home import Home
from infra.standalone.info import read_info
from infra.standalone.system import birth, processes_in
from tests.support.servers import embedded_only, open_folder
from tests.support.waiting import wait_until

pytestmark = embedded_only

PROJECT = Path(__file__).parents[2]
QUESTION = "What was dredged from the Cray Basin, and what did the repair of the Tern Mole cost?"
WAIT_S = 180


@dataclass(frozen=True, slots=True)
class Shell:
    """Calls of the command line with a home of their own."""

    home: Path

    @property
    def environment(self) -> dict[str, str]:
        """What the commands see; no setting of the caller's reaches them."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("LEADLINE_")}
        return {**inherited, "LEADLINE_HOME": str(self.home)}

    def begin(self, *arguments: str) -> subprocess.Popen[str]:
        """Begin a command."""
        return subprocess.Popen(
            [sys.executable, "-m", "infra.cli", *arguments],
            env=self.environment,
            cwd=PROJECT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def call(self, *arguments: str) -> tuple[int, str, str]:
        """Return exit code, standard output and standard error of a command."""
        process = self.begin(*arguments)
        out, err = process.communicate(timeout=WAIT_S)
        assert "Traceback" not in err, err
        return process.returncode, out, err


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A home that is new, and taken down afterwards."""
    with open_folder(tmp_path_factory.mktemp("cli")) as folder:
        made = Shell(folder / "home")
        yield made
        made.call("down")


@pytest.fixture(scope="module")
def up(shell: Shell) -> Shell:
    """The same with a stack that stays, and the harbor corpus in its library."""
    assert shell.call("up")[0] == 0
    assert shell.call("docs", "add", str(PROJECT / "evals" / "corpora" / "harbor"))[0] == 0
    return shell


def latest(shell: Shell) -> dict[str, object]:
    """Return the newest run."""
    runs = json.loads(shell.call("runs", "--limit", "1", "--json")[1])
    return dict(runs[0])


def test_a_question_starts_all_it_needs_and_leaves_nothing_running(shell: Shell, harbor: Path, tmp_path: Path) -> None:
    """Report, bundle that verifies, exit 0; afterwards every process of the stack is gone."""
    report, bundle = tmp_path / "report.md", tmp_path / "bundle.zip"
    code, out, err = shell.call(
        "ask", QUESTION, "--docs", str(harbor), "--depth", "quick", "-o", str(report), "--bundle", str(bundle)
    )
    assert (code, out) == (0, ""), err
    assert report.read_text().startswith("# ")
    code, out, err = shell.call("verify", str(bundle))
    assert code == 0, out
    assert "holds" in out
    assert read_info(Home(shell.home)) is None
    wait_until(lambda: processes_in(shell.home) == [], "every process to be gone")


def test_one_flipped_byte_of_a_bundle_is_found(up: Shell, tmp_path: Path) -> None:
    """Exit 1, and the file it is in is named."""
    run_id = _ask(up)
    bundle = tmp_path / "b.zip"
    assert up.call("report", run_id, "--format", "bundle", "-o", str(bundle))[0] == 0
    with zipfile.ZipFile(bundle) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = next(name for name in members if name.startswith("snapshots/"))
    members[name] = bytes([members[name][0] ^ 1]) + members[name][1:]
    with zipfile.ZipFile(bundle, "w") as archive:
        for member, data in members.items():
            archive.writestr(member, data)
    code, out, _ = up.call("verify", str(bundle))
    assert code == 1
    assert name in out


def _ask(shell: Shell) -> str:
    """Ask and return the id of the completed run."""
    code, out, err = shell.call("ask", QUESTION, "--depth", "quick")
    assert code == 0, err
    assert out.startswith("# ")
    return str(latest(shell)["run_id"])


def test_what_a_run_did_can_be_read(up: Shell) -> None:
    """As a list, in full, event by event, and in each format of the report."""
    run_id = _ask(up)
    assert run_id in up.call("runs")[1]
    assert "completed (finished)" in up.call("show", run_id)[1]
    code, out, _ = up.call("watch", run_id, "--json")
    seqs = [json.loads(line)["seq"] for line in out.splitlines()]
    assert code == 0
    assert seqs == list(range(1, len(seqs) + 1))
    assert json.loads(up.call("report", run_id, "--format", "json")[1])["run_id"] == run_id
    assert up.call("report", run_id, "--format", "html")[1].lstrip().lower().startswith("<!doctype html>")


def test_what_the_documents_do_not_say_is_not_found(up: Shell) -> None:
    """Exit 4, and the report of gaps is printed all the same."""
    code, out, err = up.call("ask", "Who won the zeppelin regatta on Mars?", "--depth", "quick")
    assert code == 4, err
    assert "What was not found" in out


def test_known_documents_are_not_read_again(up: Shell, harbor: Path) -> None:
    """Nothing is sent for a folder that is in the library."""
    code, _, err = up.call("ask", QUESTION, "--docs", str(harbor), "--depth", "quick")
    assert code == 0, err
    assert "Sending" not in err


def test_a_killed_gateway_does_not_end_a_question(up: Shell) -> None:
    """The stack starts it again, and the command goes on where it was."""
    process = up.begin("ask", QUESTION, "--depth", "standard")
    assert process.stderr is not None
    while "Searching" not in (line := process.stderr.readline()):
        assert line, "the command ended early"
    info = read_info(Home(up.home))
    assert info is not None
    os.kill(info.processes["gateway"], signal.SIGKILL)
    out, err = process.communicate(timeout=WAIT_S)
    assert process.returncode == 0, err
    assert out.startswith("# ")
    run_id = str(latest(up)["run_id"])
    assert up.call("watch", run_id)[0] == 0


def test_an_interrupt_cancels_the_run(up: Shell) -> None:
    """Exit 130, the run is cancelled, the stack stays for others."""
    info = read_info(Home(up.home))
    assert info is not None
    os.kill(info.processes["planner"], signal.SIGSTOP)  # so that the run cannot end before the interrupt comes
    try:
        process = up.begin("ask", QUESTION, "--depth", "thorough")
        assert process.stderr is not None
        while not process.stderr.readline().startswith("Run run_"):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=WAIT_S)
    finally:
        os.kill(info.processes["planner"], signal.SIGCONT)
    assert process.returncode == 130, err
    assert latest(up)["status"] == "cancelled"
    assert read_info(Home(up.home)) is not None


def test_doctor_is_content_with_a_running_stack(up: Shell) -> None:
    """Every check is ok, the servers tell their versions."""
    code, out, _ = up.call("doctor", "--json")
    checks = {check["name"]: check for check in json.loads(out)}
    assert code == 0, out
    assert checks["database"]["detail"].startswith("PostgreSQL 18")
    assert checks["redis"]["detail"].startswith("valkey")


def test_a_stack_that_runs_elsewhere_is_not_moved(up: Shell) -> None:
    """Another port is refused in a sentence, the same home goes on."""
    info = read_info(Home(up.home))
    assert info is not None
    code, _, err = up.call("up", "--port", "1")
    assert code == 2
    assert info.address in err
    assert read_info(Home(up.home)) == info


def test_down_ends_every_process(up: Shell) -> None:
    """And says so when there is nothing to end."""
    info = read_info(Home(up.home))
    assert info is not None
    assert up.call("down")[:2] == (0, "Leadline is stopped.\n")
    assert [name for name, pid in info.processes.items() if birth(pid) is not None] == []
    assert up.call("down")[:2] == (0, "Leadline was not running.\n")
