"""The parts of the command line that need no gateway."""

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.cli import checks, exits
from infra.cli.console import Console, shown
from infra.cli.exits import CliError
from infra.cli.gather import NAMES_SHOWN, Gathered, Skipped, gather
from infra.cli.main import main
from infra.cli.output import write_whole
from infra.cli.progress import Tally, sentence
from infra.cli.text import plan_lines
from shared.contracts.events import EVENT_TYPES, Event
from tests.factories.reports import a_plan
from tests.fakes.gateway import EPOCH

LARGEST = 1000


class Terminal(io.StringIO):
    """A stream that says that somebody sits at it."""

    def isatty(self) -> bool:
        """It does."""
        return True


def event(kind: str, **payload: object) -> Event:
    """Return an event."""
    return Event(seq=1, run_id="r", at=EPOCH, type=kind, payload=payload)


@pytest.mark.parametrize("text", ["", "  \n ", "\u200b\u2060"])
def test_a_question_without_a_visible_character_is_empty(text: str) -> None:
    """Space and what cannot be seen ask nothing."""
    with pytest.raises(CliError, match="empty"):
        checks.question(text)


def test_a_question_has_at_most_4000_characters() -> None:
    """The limit itself is allowed, surrounding space does not count."""
    assert checks.question(f" {'x' * 4000} ") == "x" * 4000
    with pytest.raises(CliError, match="10,000 characters"):
        checks.question("x" * 10_000)


@pytest.mark.parametrize("text", ["2024", "2024-06", "2024-02-29"])
def test_dates_of_three_lengths_are_taken(text: str) -> None:
    """As they are."""
    assert checks.as_of(text) == text


@given(st.text(max_size=12))
def test_any_other_date_is_an_error_of_ours(text: str) -> None:
    """Whatever is given, the answer is the date or a sentence."""
    with contextlib.suppress(CliError):
        assert checks.as_of(text) == text


def test_targets_must_be_files_in_folders_that_exist(tmp_path: Path) -> None:
    """A missing folder, a folder in place of a file and one file for two things are refused before any work."""
    assert checks.target(None) is None
    assert checks.target(str(tmp_path / "r.md")) == tmp_path / "r.md"
    for wrong, says in ((tmp_path / "no" / "r.md", "does not exist"), (tmp_path, "is a folder")):
        with pytest.raises(CliError, match=says):
            checks.target(str(wrong))
    with pytest.raises(CliError, match="name two files"):
        checks.targets(str(tmp_path / "a"), f"{tmp_path}/./a")


def test_files_are_written_whole(tmp_path: Path) -> None:
    """An older file is replaced, a link keeps pointing where it did, and no draft stays."""
    file, link = tmp_path / "r.md", tmp_path / "link"
    file.write_bytes(b"old")
    link.symlink_to(file)
    write_whole(link, b"new", "try again")
    assert (file.read_bytes(), link.is_symlink()) == (b"new", True)
    write_whole(Path("/dev/null"), b"new", "try again")
    assert not Path("/dev/null").is_file()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link", "r.md"]


def test_a_file_that_cannot_be_written_says_what_to_do(tmp_path: Path) -> None:
    """The advice of the caller is in the message, and nothing is left."""
    with pytest.raises(CliError, match="write elsewhere"):
        write_whole(tmp_path / "gone" / "r.md", b"x", "write elsewhere")
    with pytest.raises(CliError, match="too long"):
        checks.target(str(tmp_path / ("x" * 300)))
    with pytest.raises(CliError, match="too long"):
        write_whole(tmp_path / ("x" * 300), b"x", "write elsewhere")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A folder with everything that can be in one."""
    for name, data in {
        "a.txt": b"one",
        "sub/deep/B.HTML": b"<p>two",
        "copy.md": b"one",
        "empty.txt": b"",
        "big.pdf": b"x" * (LARGEST + 1),
        "photo.png": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
        ".hidden.txt": b"three",
        ".git/config.txt": b"four",
    }.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "dangling.txt").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe.txt")
    return tmp_path


def test_a_folder_gives_its_documents_once_and_names_the_rest(library: Path) -> None:
    """Subfolders are searched; hidden files are left out unsaid, all others that are unfit are named."""
    gathered = gather([str(library)], LARGEST)
    assert [found.name for found in gathered.found.values()] == ["a.txt", "sub/deep/B.HTML"]
    assert {item.name for item in gathered.skipped} == {
        "big.pdf",
        "dangling.txt",
        "empty.txt",
        "loop",
        "photo.png",
        "pipe.txt",
    }
    line = gathered.skipped_line() or ""
    assert line.startswith("Skipped 6 files: ")
    assert "\n" not in line


def test_a_file_is_known_by_its_content_whatever_its_name(tmp_path: Path) -> None:
    """Text is text with any ending or none; a picture is none, and a book may be called anything."""
    texts = ["plan.rst", "Makefile", "notes.org", "app.log.1", "settings.yaml", "paper.tex", "odd.png", "tool.py"]
    for name in texts:
        (tmp_path / name).write_bytes(f"The basin of {name} is deep.".encode())
    (tmp_path / "zeros.txt2").write_bytes(b"The basin is deep." * 20 + b"\x00" + b"And wide." * 20)
    (tmp_path / "paper").write_bytes(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n" + bytes(range(256)))
    (tmp_path / "tool.bin").write_bytes(bytes(range(256)) * 8)
    (tmp_path / "old.dat").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1rest")
    (tmp_path / "all.zip").write_bytes(b"PK\x03\x04rest")
    gathered = gather([str(tmp_path)], LARGEST * 9)
    assert {found.name for found in gathered.found.values()} == {*texts, "zeros.txt2", "paper"}
    reasons = {item.name: item.reason for item in gathered.skipped}
    assert reasons.keys() == {"tool.bin", "old.dat", "all.zip"}
    assert "neither text" in reasons["tool.bin"]
    assert "save it in a newer one" in reasons["old.dat"]
    assert "unpack it" in reasons["all.zip"]


def test_no_link_leads_out_of_a_folder(tmp_path: Path) -> None:
    """A link to a file of the same folder is that file; what leads out of it is named and left alone."""
    outside, inside = tmp_path / "outside", tmp_path / "docs"
    for folder in (outside, inside):
        folder.mkdir()
        (folder / "a.txt").write_text(f"It lies in {folder.name}.")
    (inside / "here.md").symlink_to(inside / "a.txt")
    (inside / "there.md").symlink_to(outside / "a.txt")
    (inside / "folder").symlink_to(outside)
    (inside / "up.txt").symlink_to("../outside/a.txt")
    gathered = gather([str(inside)], LARGEST)
    assert [found.path.parent.name for found in gathered.found.values()] == ["docs"]
    assert {item.name for item in gathered.skipped} == {"there.md", "folder", "up.txt"}
    assert all("link" in item.reason for item in gathered.skipped)
    assert len(gather([str(inside / "there.md")], LARGEST).found) == 1


def test_long_lists_of_files_are_cut_but_counted() -> None:
    """The line stays a line."""
    names = [Skipped(f"{number}.png", "x") for number in range(NAMES_SHOWN + 3)]
    assert (Gathered(skipped=names).skipped_line() or "").endswith("and 3 more")
    assert Gathered().skipped_line() is None


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("missing.txt", "does not exist"),
        ("photo.png", "image/png is not read"),
        ("empty.txt", "empty"),
        ("big.pdf", "over the limit"),
        ("pipe.txt", "not a file"),
        (".git", "no readable document"),
    ],
)
def test_what_is_named_itself_must_be_fit(library: Path, name: str, says: str) -> None:
    """A file that cannot be used is an error where it is the one that was asked for."""
    (library / ".git" / "config.txt").unlink()
    with pytest.raises(CliError, match=says):
        gather([str(library / name)], LARGEST)


def test_a_terminal_gets_one_line_that_is_written_over() -> None:
    """The status line is wiped before anything else is printed, and at the end."""
    err, out = Terminal(), Terminal()
    console = Console(out, err, Terminal())
    console.status("Searching")
    console.status("Reading")
    console.say("A note")
    console.print("result")
    console.close()
    assert "\n" not in err.getvalue().replace("A note\n", "")
    assert "Searching (0 s)" in err.getvalue()
    assert err.getvalue().endswith("\r\x1b[K")
    assert out.getvalue() == "result\n"


def test_elsewhere_each_new_text_is_a_line() -> None:
    """The same text twice in a row is said once."""
    err = io.StringIO()
    console = Console(io.StringIO(), err, io.StringIO())
    for text in ("Searching", "Searching", "Reading"):
        console.status(text)
    assert err.getvalue() == "Searching\nReading\n"
    assert not console.interactive


@given(st.text())
def test_nothing_that_is_shown_moves_a_cursor(text: str) -> None:
    """Whatever a title holds, the terminal gets printable characters, line breaks and tabs."""
    assert all(c.isprintable() or c in "\n\t" for c in shown(text))


def test_a_tally_counts_what_a_run_has_found() -> None:
    """The line names the phase and the counts; limits and failures are noted for everybody."""
    tally = Tally()
    for one in (
        event("status_changed", to="researching"),
        event("progress", phase="extracting_evidence", message="x"),
        event("source_updated", status="fetched", source_id="src_1"),
        event("source_updated", status="fetched", source_id="src_1"),
        event("source_updated", status="candidate"),
        event("evidence_added", count=3, source_id="s", question_ids=["q1"]),
        event("budget", limit="searches", used=4, of=8),
    ):
        tally.add(one)
    assert tally.line() == "Extracting evidence, 1 source, 3 pieces of evidence"
    assert tally.notes == ["4 of 8 searches used"]


def test_a_pause_is_told_with_what_to_do() -> None:
    """Whoever follows a run that waits for a person learns of it at once."""
    tally = Tally()
    tally.add(event("status_changed", to="paused", reason="provider"))
    assert tally.notes == ["Paused (provider): `leadline show r` says why, `leadline resume r` lets it go on."]


def test_plain_lines_come_once_for_each_phase_and_iteration() -> None:
    """A run that goes back and forth between phases does not repeat itself."""
    tally, lines = Tally(), []
    for kind, payload in (
        ("status_changed", {"to": "planning"}),
        ("progress", {"phase": "searching"}),
        ("progress", {"phase": "reading_source"}),
        ("progress", {"phase": "searching"}),
        ("iteration_finished", {"iteration": 1, "gain": {}}),
    ):
        one = event(kind, **payload)
        tally.add(one)
        lines.append(tally.news(one))
    assert lines == ["Planning", "Searching", "Reading sources", None, "Searching after iteration 1"]


@pytest.mark.parametrize("kind", EVENT_TYPES)
def test_every_event_has_a_sentence(kind: str) -> None:
    """With its payload or without any of it."""
    assert isinstance(sentence(event(kind)), str)
    payload = {"to": "failed", "reason": "x", "message": "m", "status": "fetched", "count": 1, "question_ids": ["q1"]}
    assert sentence(event(kind, **payload))


def test_a_plan_is_shown_with_questions_and_searches() -> None:
    """What is to be approved can be read."""
    text = "\n".join(plan_lines(a_plan("How deep?")))
    assert "q1  How deep?" in text
    assert "channel dredged" in text


@pytest.mark.parametrize(
    ("status", "reason", "code"),
    [
        ("completed", "finished", exits.COMPLETED),
        ("budget_exhausted", "budget:searches", exits.PARTIAL),
        ("budget_exhausted", "no_evidence", exits.NOTHING_FOUND),
        ("failed", "failed:poison", exits.FAILED),
        ("cancelled", "cancelled", exits.FAILED),
    ],
)
def test_the_exit_code_tells_how_a_run_ended(status: str, reason: str, code: int) -> None:
    """As the help says."""
    assert exits.code_of(status, reason) == code


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["fly"],
        ["ask"],
        ["ask", "q", "--fast"],
        ["ask", "q", "--depth", "deep"],
        ["ask", "q", "--dep", "quick"],
        ["runs", "--limit", "0"],
        ["up", "--port", "65536"],
        ["docs"],
        ["docs", "add"],
        ["report"],
    ],
)
def test_wrong_arguments_are_told_in_one_sentence(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 2, one line, no usage dump."""
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == exits.WRONG_USE
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["ask", ""], "empty"),
        (["ask", "x" * 10_000], "10,000"),
        (["ask", "q", "--as-of", "2024-13"], "2024-13"),
        (["ask", "q", "--docs", "/nowhere"], "/nowhere"),
        (["ask", "q", "-o", "/nowhere/r.md"], "/nowhere"),
        (["verify", "/nowhere"], "/nowhere"),
        (["verify", "/"], "not a file"),
        (["show", "../x"], "leadline runs"),
        (["report", "run_x", "--format", "md", "--json"], "contradict"),
        (["docs", "add", "/nowhere"], "/nowhere"),
    ],
)
def test_bad_input_is_told_before_anything_starts(
    arguments: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 2 with one sentence; not even the home folder is made."""
    monkeypatch.setenv("LEADLINE_HOME", str(tmp_path / "home"))
    err = io.StringIO()
    assert main(arguments, Console(io.StringIO(), err, io.StringIO())) == exits.WRONG_USE
    assert says in err.getvalue()
    assert err.getvalue().splitlines()[-1].startswith("leadline: ")
    assert not (tmp_path / "home").exists()


def test_a_wrong_setting_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The name is that of the environment variable."""
    monkeypatch.setenv("LEADLINE_HOME", str(tmp_path))
    monkeypatch.setenv("LEADLINE_GATEWAY_PORT", "many")
    for arguments in (["runs"], ["up"], ["down"], ["doctor"]):
        out, err = io.StringIO(), io.StringIO()
        code = main(arguments, Console(out, err, io.StringIO()))
        assert code == (exits.FAULTS if arguments == ["doctor"] else exits.WRONG_USE)
        assert "LEADLINE_GATEWAY_PORT" in out.getvalue() + err.getvalue()


@pytest.mark.parametrize(
    ("setting", "url"),
    [
        ("LEADLINE_DATABASE_URL", "postgresql+psycopg://nobody:secret@127.0.0.1:1/x"),
        ("LEADLINE_DATABASE_URL", "nonsense"),
        ("LEADLINE_BROKER_URL", "amqp://nobody:secret@127.0.0.1:1//"),
        ("LEADLINE_REDIS_URL", "redis://:secret@127.0.0.1:1/0"),
    ],
)
@pytest.mark.parametrize("command", ["up", "runs"])
def test_a_server_that_cannot_be_reached_is_named(
    setting: str, url: str, command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Before anything is started, and without its password."""
    monkeypatch.setenv("LEADLINE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv(setting, url)
    err = io.StringIO()
    assert main([command], Console(io.StringIO(), err, io.StringIO())) == exits.WRONG_USE
    assert setting in err.getvalue().splitlines()[-1]
    assert "secret" not in err.getvalue()
    assert not (tmp_path / "home").exists()


def test_an_unexpected_error_is_a_sentence_and_a_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The trace is in the log, and on the terminal at level DEBUG only."""
    (tmp_path / "logs").mkdir()
    monkeypatch.setenv("LEADLINE_HOME", str(tmp_path))
    bundle = tmp_path / "b.zip"
    bundle.write_bytes(b"")
    for level, shows in (("INFO", False), ("DEBUG", True)):
        monkeypatch.setenv("LEADLINE_LOG_LEVEL", level)
        err = io.StringIO()
        console = Console(io.StringIO(), err, io.StringIO())
        monkeypatch.setattr(console, "print", lambda _: 1 / 0)
        assert main(["verify", str(bundle)], console) == exits.FAILED
        assert "ZeroDivisionError" in err.getvalue()
        assert str(tmp_path / "logs" / "cli.log") in err.getvalue()
        assert ("Traceback" in err.getvalue()) is shows
    assert "Traceback" in (tmp_path / "logs" / "cli.log").read_text()


def test_a_broken_bundle_is_refused_with_its_faults(tmp_path: Path) -> None:
    """Exit 1; as data too."""
    bundle = tmp_path / "b.zip"
    bundle.write_bytes(b"no archive")
    out = io.StringIO()
    assert main(["verify", str(bundle)], Console(out, io.StringIO(), io.StringIO())) == exits.FAULTS
    assert "does not hold: 1 fault" in out.getvalue()
    out = io.StringIO()
    assert main(["verify", str(bundle), "--json"], Console(out, io.StringIO(), io.StringIO())) == exits.FAULTS
    assert '"ok": false' in out.getvalue()


HEAVY = ("pydantic", "requests", "flask", "sqlalchemy", "celery", "psycopg", "redis")


@pytest.mark.parametrize("arguments", [["--help"], ["ask", "--help"], ["fly"], ["ask", ""], ["verify", "/nowhere"]])
def test_help_and_wrong_use_load_nothing_heavy(arguments: list[str]) -> None:
    """So that they are there at once: no library that takes long to load is imported for them."""
    code = (
        "import sys\nfrom infra.cli.main import main\ntry:\n    main(sys.argv[1:])\n"
        f"finally:\n    sys.exit(' '.join(m for m in {HEAVY!r} if m in sys.modules) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=20)
    assert done.returncode == 0, done.stderr
