"""The command line against a gateway process over in-memory ports."""

import io
import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import requests

from infra.cli import exits
from infra.cli.console import Console
from infra.cli.main import main
from tests.support.fake_gateway import ENDING, PROJECT, FakeGateway, fake_gateway

QUESTION = "When was the channel dredged?"


@pytest.fixture(scope="module")
def gateway() -> Iterator[FakeGateway]:
    """A gateway whose runs complete as soon as they are approved."""
    with fake_gateway(**{ENDING: "completed:finished"}) as running:
        yield running


@pytest.fixture(scope="module")
def idle() -> Iterator[FakeGateway]:
    """A gateway whose runs stay where they are."""
    with fake_gateway() as running:
        yield running


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A folder with two documents and a picture."""
    folder = tmp_path / "library"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.txt").write_text(f"The channel was dredged. {tmp_path}")
    (folder / "sub" / "b.md").write_text(f"The quay was not. {tmp_path}")
    (folder / "photo.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")
    return folder


Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def leadline(gateway: FakeGateway, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Call:
    """Call the command line in this process; give exit code, standard output and standard error."""
    monkeypatch.setenv("LEADLINE_HOME", str(tmp_path / "home"))

    def call(*arguments: str, at: FakeGateway = gateway) -> tuple[int, str, str]:
        monkeypatch.setenv("LEADLINE_ADDRESS", at.address)
        out, err = io.StringIO(), io.StringIO()
        code = main(arguments, Console(out, err, io.StringIO()))
        return code, out.getvalue(), err.getvalue()

    return call


def environment(gateway: FakeGateway, tmp_path: Path) -> dict[str, str]:
    """Return the environment for a command of its own process."""
    return {**os.environ, "LEADLINE_ADDRESS": gateway.address, "LEADLINE_HOME": str(tmp_path / "home")}


def runs(gateway: FakeGateway) -> list[dict[str, object]]:
    """Return all runs of a gateway."""
    answer = requests.get(f"{gateway.address}/api/v1/research-runs?limit=100", timeout=10)
    return list(answer.json()["runs"])


def test_a_question_becomes_a_report(leadline: Call, library: Path, gateway: FakeGateway) -> None:
    """Report on standard output, progress on standard error, and only the documents named are used."""
    code, out, err = leadline("ask", QUESTION, "--docs", str(library), "--depth", "quick")
    assert (code, out) == (exits.COMPLETED, "# The channel\n")
    for phase in ("Skipped 1 file: photo.png", "Sending documents (2 of 2)", "Run run_", "Planning", "Searching"):
        assert phase in err
    policy = runs(gateway)[0]["source_policy"]
    assert isinstance(policy, dict)
    assert len(policy["document_ids"]) == 2
    assert runs(gateway)[0]["depth"] == "quick"


def test_known_documents_are_not_sent_again(leadline: Call, library: Path) -> None:
    """The second question finds them by their content, whatever their name is now."""
    assert "(2 of 2)" in leadline("docs", "add", str(library))[2]
    (library / "a.txt").rename(library / "renamed.txt")
    code, _, err = leadline("ask", QUESTION, "--docs", str(library), "--yes")
    assert code == exits.COMPLETED
    assert "Sending" not in err
    assert "2 documents are ready, 2 of them known before" in leadline("docs", "add", str(library))[2]


def test_files_are_sent_in_batches(leadline: Call, tmp_path: Path) -> None:
    """More files than fit one request go in several, all of them to one run."""
    for number in range(120):
        (tmp_path / f"{number}.txt").write_text(f"Number {number} of {tmp_path}.")
    code, out, err = leadline("ask", QUESTION, "--docs", str(tmp_path))
    assert (code, out) == (0, "# The channel\n")
    assert [n for n in (50, 100, 120) if f"Sending documents ({n} of 120)" in err] == [50, 100, 120]


def test_results_go_to_files(leadline: Call, library: Path, tmp_path: Path) -> None:
    """With -o nothing is printed; the bundle comes beside it; --json gives the report as data."""
    report, bundle = tmp_path / "r.json", tmp_path / "b.zip"
    arguments = ("ask", QUESTION, "--docs", str(library), "--json", "-o", str(report), "--bundle", str(bundle))
    code, out, _ = leadline(*arguments)
    assert (code, out) == (0, "")
    assert json.loads(report.read_text())["title"] == "The channel"
    assert bundle.read_bytes().startswith(b"PK")


def test_documents_that_cannot_be_read_are_named(leadline: Call, tmp_path: Path) -> None:
    """One bad document is said and the rest used; nothing but bad ones is an error."""
    (tmp_path / "scan.pdf").write_bytes(b"%PDF nothing in it " + os.urandom(8))
    code, _, err = leadline("ask", QUESTION, "--docs", str(tmp_path / "scan.pdf"))
    assert code == exits.WRONG_USE
    assert "Could not read 1 file: scan.pdf (no text in it)" in err
    assert "None of the documents could be read" in err
    (tmp_path / "a.txt").write_text(f"Text. {tmp_path}")
    code, _, err = leadline("ask", QUESTION, "--docs", str(tmp_path))
    assert code == 0
    assert "scan.pdf" in err


def test_without_documents_there_is_nothing_to_research(leadline: Call, idle: FakeGateway) -> None:
    """An empty library is an error in a sentence; no run is made."""
    before = len(runs(idle))
    code, _, err = leadline("ask", QUESTION, at=idle)
    assert code == exits.WRONG_USE
    assert "--docs" in err.splitlines()[-1]
    assert len(runs(idle)) == before


def test_without_docs_the_whole_library_is_used(leadline: Call, library: Path, gateway: FakeGateway) -> None:
    """What was added before is enough."""
    leadline("docs", "add", str(library))
    assert leadline("ask", QUESTION)[0] == 0
    policy = runs(gateway)[0]["source_policy"]
    assert isinstance(policy, dict)
    assert policy["documents_all"] is True


def test_a_provider_s_own_research_needs_no_documents(leadline: Call, idle: FakeGateway) -> None:
    """Where no provider has a key, that is what is said, and nothing about an empty library."""
    code, _, err = leadline("ask", QUESTION, "--engine", "managed:google", at=idle)
    assert code == exits.WRONG_USE
    assert "GEMINI_API_KEY" in err.splitlines()[-1]
    assert "--docs" not in err


def test_sources_on_the_web_are_passed_on(leadline: Call, library: Path, gateway: FakeGateway) -> None:
    """Addresses and domains go into the source policy, beside documents only if those are named."""
    assert leadline("ask", QUESTION, "--url", "http://a.test/p?x=1", "--exclude", "ads.a.test")[0] == 0
    policy = runs(gateway)[0]["source_policy"]
    assert isinstance(policy, dict)
    assert (policy["urls"], policy["documents_all"]) == (["http://a.test/p?x=1"], False)
    assert policy["web"] == {"mode": None, "domains": [], "excluded_domains": ["ads.a.test"]}
    assert leadline("ask", QUESTION, "--docs", str(library), "--only", "*.Port.test")[0] == 0
    policy = runs(gateway)[0]["source_policy"]
    assert isinstance(policy, dict)
    assert (policy["web"]["mode"], policy["web"]["domains"]) == ("only_domains", ["port.test"])
    assert len(policy["document_ids"]) == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--url", "ftp://a.test/"), "--url"),
        (("--only", "http://a.test/"), "--only"),
        (("--only", "a.test", "--prefer", "b.test"), "--prefer"),
        (("--exclude", "a.test"), "--web"),
    ],
)
def test_sources_that_cannot_be_meant_are_refused(leadline: Call, options: tuple[str, ...], said: str) -> None:
    """Each ends with a sentence that names the option, before anything is sent."""
    code, _, err = leadline("ask", QUESTION, *options)
    assert code == exits.WRONG_USE
    assert said in err.splitlines()[-1]


@pytest.mark.parametrize(
    ("ending", "code", "printed", "says"),
    [
        ("budget_exhausted:budget:searches", exits.PARTIAL, "# The channel\n", "partial"),
        ("budget_exhausted:no_evidence", exits.NOTHING_FOUND, "# The channel\n", "Nothing was found"),
        ("failed:failed:poison", exits.FAILED, "", "failed:poison"),
    ],
)
def test_other_ends_have_other_exit_codes(
    leadline: Call, library: Path, ending: str, code: int, printed: str, says: str
) -> None:
    """A partial report and one of gaps are printed all the same; a failure says why."""
    with fake_gateway(**{ENDING: ending}) as gateway:
        assert leadline("ask", QUESTION, "--docs", str(library), at=gateway)[:2] == (code, printed)
        err = leadline("ask", QUESTION, "--docs", str(library), at=gateway)[2]
        assert says in err
        run_id = str(runs(gateway)[0]["run_id"])
        assert leadline("watch", run_id, at=gateway)[0] == code


def test_runs_are_listed_shown_and_followed(leadline: Call, library: Path) -> None:
    """As text and as data; the events of a run come one on a line."""
    leadline("ask", QUESTION, "--docs", str(library))
    listed = json.loads(leadline("runs", "--limit", "1", "--json")[1])
    run_id = listed[0]["run_id"]
    assert run_id in leadline("runs")[1].splitlines()[0]
    assert f"Run       {run_id}" in leadline("show", run_id)[1]
    assert json.loads(leadline("show", run_id, "--json")[1])["status"] == "completed"
    code, out, _ = leadline("watch", run_id, "--json")
    events = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [event["seq"] for event in events] == list(range(1, listed[0]["last_seq"] + 1))
    assert "Searching 1 of 1" in leadline("watch", run_id)[1]


def test_a_report_is_printed_in_each_format(leadline: Call, library: Path, tmp_path: Path) -> None:
    """Markdown by default."""
    leadline("ask", QUESTION, "--docs", str(library))
    run_id = json.loads(leadline("runs", "--json")[1])[0]["run_id"]
    assert leadline("report", run_id)[1] == "# The channel\n"
    assert json.loads(leadline("report", run_id, "--json")[1])["title"] == "The channel"
    assert leadline("report", run_id, "--format", "html")[1] == "<h1>The channel</h1>\n"
    target = tmp_path / "b.zip"
    assert leadline("report", run_id, "--format", "bundle", "-o", str(target))[:2] == (0, "")
    assert target.read_bytes().startswith(b"PK")


def test_a_run_that_does_not_exist_is_said(leadline: Call) -> None:
    """Exit 2 with the gateway's sentence."""
    for command in ("show", "watch", "approve", "cancel", "report"):
        code, out, err = leadline(command, "run_nothing")
        assert (code, out) == (exits.WRONG_USE, "")
        assert "run_nothing" in err.splitlines()[-1]


def test_plans_are_approved_and_runs_cancelled(leadline: Call, idle: FakeGateway, library: Path) -> None:
    """By version; a stale one is refused."""
    leadline("docs", "add", str(library), at=idle)
    body = {"objective": QUESTION, "source_policy": {"documents_all": True}}
    run_id = requests.post(f"{idle.address}/api/v1/research-runs", json=body, timeout=10).json()["run_id"]
    code, _, err = leadline("approve", run_id, "--version", "3", at=idle)
    assert code == exits.WRONG_USE
    assert "version 1" in err
    assert json.loads(leadline("approve", run_id, "--version", "1", "--json", at=idle)[1])["status"] == "queued"
    assert f"Run {run_id} is cancelled" in leadline("cancel", run_id, at=idle)[2]


def test_documents_are_listed(leadline: Call, library: Path) -> None:
    """With name, state and size."""
    leadline("docs", "add", str(library))
    listed = json.loads(leadline("docs", "list", "--json")[1])
    assert {"a.txt", "sub/b.md"} <= {document["name"] for document in listed}
    assert "sub/b.md" in leadline("docs", "list")[1]


def test_an_address_where_nobody_answers_is_said(leadline: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 2 with a sentence that names it; doctor says the same and exits 1."""
    nobody = FakeGateway("http://127.0.0.1:9", subprocess.Popen(["true"], text=True))
    nobody.process.wait()
    code, _, err = leadline("runs", at=nobody)
    assert code == exits.WRONG_USE
    assert "http://127.0.0.1:9 cannot be reached" in err.splitlines()[-1]
    code, out, _ = leadline("doctor", at=nobody)
    assert code == exits.FAULTS
    assert "FAIL  stack" in out


def test_doctor_finds_a_gateway_that_runs(leadline: Call) -> None:
    """Every line is ok or says what to do."""
    code, out, _ = leadline("doctor")
    assert code == 0, out
    assert all(line.startswith("ok") for line in out.splitlines())
    assert all(check["ok"] for check in json.loads(leadline("doctor", "--json")[1]))


def test_an_interrupt_cancels_the_run(idle: FakeGateway, library: Path, tmp_path: Path) -> None:
    """Ctrl-C and a request to end: the run is cancelled and the exit code 130."""
    for number in (signal.SIGINT, signal.SIGTERM):
        process = subprocess.Popen(
            [sys.executable, "-m", "infra.cli", "ask", QUESTION, "--docs", str(library)],
            env=environment(idle, tmp_path),
            cwd=PROJECT,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        lines = []
        while not any(line.startswith("Waiting for its turn") for line in lines):
            lines.append(process.stderr.readline())
            assert lines[-1], lines
        process.send_signal(number)
        rest = process.stderr.read()
        assert process.wait(10) == exits.INTERRUPTED
        process.stderr.close()
        assert "is cancelled" in rest
        assert runs(idle)[0]["status"] == "cancelled"


def test_a_reader_that_goes_away_ends_the_command_quietly(idle: FakeGateway, library: Path, tmp_path: Path) -> None:
    """As with `| head -1`: no traceback and no complaint."""
    command = f"{sys.executable} -m infra.cli docs list --help | true; {sys.executable} -m infra.cli docs list | true"
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        env=environment(idle, tmp_path),
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


def at_terminal(gateway: FakeGateway, tmp_path: Path, answer: str, *arguments: str) -> tuple[int, str]:
    """Call the command at a terminal, answer its question, and return the exit code and all that was shown."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "infra.cli", *arguments],
        env=environment(gateway, tmp_path),
        cwd=PROJECT,
        stdin=follower,
        stdout=follower,
        stderr=follower,
    )
    os.close(follower)
    shown, answered, deadline = b"", False, time.monotonic() + 30
    while time.monotonic() < deadline:
        if not select.select([leader], [], [], 0.1)[0]:
            continue
        try:
            piece = os.read(leader, 65536)
        except OSError:  # Linux: the last holder of the other end is gone
            piece = b""
        if not piece:
            break
        shown += piece
        if b"[y/N]" in shown and not answered:
            answered = True
            os.write(leader, answer.encode())
    os.close(leader)
    return process.wait(10), shown.decode()


def test_at_a_terminal_the_plan_is_shown_and_asked_about(gateway: FakeGateway, library: Path, tmp_path: Path) -> None:
    """Yes goes on to the report; the status line is written over."""
    code, shown = at_terminal(gateway, tmp_path, "y\n", "ask", QUESTION, "--docs", str(library))
    assert code == exits.COMPLETED
    for part in ("Questions", f"q1  {QUESTION}", "Searches", "Go ahead? [y/N]", "# The channel", "\r\x1b[K"):
        assert part in shown


@pytest.mark.parametrize("answer", ["n\n", "\n", "\x04"])
def test_any_other_answer_cancels_the_run(gateway: FakeGateway, library: Path, tmp_path: Path, answer: str) -> None:
    """No, nothing, or the end of the input."""
    code, shown = at_terminal(gateway, tmp_path, answer, "ask", QUESTION, "--docs", str(library))
    assert code == exits.FAILED
    assert "# The channel" not in shown
    assert runs(gateway)[0]["status"] == "cancelled"


def test_yes_does_not_ask_at_a_terminal(gateway: FakeGateway, library: Path, tmp_path: Path) -> None:
    """The plan is approved beforehand."""
    code, shown = at_terminal(gateway, tmp_path, "", "ask", QUESTION, "--docs", str(library), "--yes")
    assert code == exits.COMPLETED
    assert "[y/N]" not in shown
