"""The launcher in a small project of its own, with lock files that name no package: no network is needed."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from infra.standalone import installer
from tests.support.fake_stack import eventually

PROJECT = Path(__file__).parents[2]
SHOW = "import os, sys; print([sys.argv[1:], os.getcwd(), sys.path[0]])\n"
SHELL_TOOLS = ("sh", "cat", "readlink")
BASE_PYTHON = getattr(sys, "_base_executable", sys.executable)


def environment(**more: str) -> dict[str, str]:
    """Return an environment with the Python of these tests, in which pip reaches no index."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PIP_", "LEADLINE_"))}
    return {**kept, "PIP_NO_INDEX": "1", "LEADLINE_PYTHON": BASE_PYTHON, **more}


def call(
    project: Path, *arguments: str, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Call the launcher and wait for it."""
    return subprocess.run(
        [project / "leadline", *arguments],
        env=env or environment(),
        cwd=cwd or project,
        capture_output=True,
        text=True,
        timeout=120,
    )


def make_project(folder: Path) -> Path:
    """Make a project whose command shows how it was called."""
    for part in ("infra/cli", "infra/standalone"):
        folder.joinpath(part).mkdir(parents=True)
    for name in ("leadline", "infra/standalone/installer.py"):
        shutil.copy2(PROJECT / name, folder / name)
    folder.joinpath("infra/cli/__main__.py").write_text(SHOW)
    folder.joinpath("pytest.py").write_text(SHOW)
    for name in ("requirements.lock", "requirements-dev.lock"):
        folder.joinpath(name).write_text("# nothing\n")
    return folder


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project after its first call; tests must not change it."""
    project = make_project(tmp_path_factory.mktemp("finished") / "a project")
    first = call(project)
    assert first.returncode == 0, first.stderr
    assert "installed" in first.stderr
    return project


@pytest.fixture
def project(finished: Path, tmp_path: Path) -> Path:
    """A copy of the project after its first call."""
    return Path(shutil.copytree(finished, tmp_path / "copy", symlinks=True))


def only_shell_tools(folder: Path) -> str:
    """Return a PATH on which there is no Python."""
    folder.mkdir()
    for tool in SHELL_TOOLS:
        folder.joinpath(tool).symlink_to(shutil.which(tool) or "")
    return str(folder)


def script(path: Path, text: str) -> str:
    """Write an executable shell script and return its path."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_later_calls_install_nothing_and_need_no_other_python(finished: Path, tmp_path: Path) -> None:
    """Once .venv is complete the launcher only compares, and says nothing of its own."""
    env = environment(PATH=only_shell_tools(tmp_path / "bin"), LEADLINE_PYTHON="/nonexistent")
    later = call(finished, "ask", "two words", "", env=env)
    assert later.returncode == 0
    assert later.stderr == ""
    assert later.stdout == f"{[['ask', 'two words', ''], str(finished), str(finished)]}\n"


def test_folder_of_the_caller_is_kept_and_holds_no_modules(finished: Path, tmp_path: Path) -> None:
    """Through symbolic links and from elsewhere: paths are the caller's, code is the project's."""
    tmp_path.joinpath("infra").mkdir()
    tmp_path.joinpath("links", "more").mkdir(parents=True)
    tmp_path.joinpath("links", "first").symlink_to(finished / "leadline")
    link = tmp_path / "links" / "more" / "second"
    link.symlink_to("../first")
    for path in (str(link), "links/first", str(finished / "leadline")):
        done = subprocess.run([path, "x"], env=environment(), cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert done.stdout == f"{[['x'], str(tmp_path), str(finished)]}\n", done.stderr
    env = environment(PATH=f"{tmp_path / 'links'}:{os.environ['PATH']}")
    done = subprocess.run(["first", "x"], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.stdout == f"{[['x'], str(tmp_path), str(finished)]}\n", done.stderr


def test_caller_keeps_a_python_path(project: Path) -> None:
    """The project comes first, what the caller had set comes after it."""
    project.joinpath("infra/cli/__main__.py").write_text("import sys; print(sys.path[:2])\n")
    done = call(project, env=environment(PYTHONPATH="/elsewhere"))
    assert done.stdout == f"{[str(project), '/elsewhere']}\n"


def test_changed_lock_installs_again(project: Path) -> None:
    """Each lock file is installed once."""
    project.joinpath("requirements.lock").write_text("# something else\n")
    assert "installed" in call(project).stderr
    assert call(project).stderr == ""


def test_tests_run_in_the_project_with_their_own_lock(project: Path, tmp_path: Path) -> None:
    """`test` passes its arguments to pytest, and what it installed serves the other commands too."""
    first = call(project, "test", "-k", "one thing", cwd=tmp_path)
    assert "installed" in first.stderr
    assert first.stdout == f"{[['-k', 'one thing'], str(project), str(project)]}\n"
    assert call(project, "test", cwd=tmp_path).stderr == ""
    assert call(project).stderr == ""


def test_environment_without_interpreter_is_made_anew(project: Path) -> None:
    """A Python that was removed from the system does not leave a broken command behind."""
    for name in project.joinpath(".venv", "bin").glob("python*"):
        name.unlink()
        name.symlink_to("/nonexistent/python")
    done = call(project, "x")
    assert done.returncode == 0, done.stderr
    assert "making the Python environment" in done.stderr


def test_leftovers_of_an_interrupted_installation_are_thrown_away(project: Path) -> None:
    """What may be half installed is not built upon."""
    venv = project / ".venv"
    venv.joinpath("leadline.unfinished").touch()
    venv.joinpath("requirements.lock").unlink()
    half = next(venv.glob("lib/python*/site-packages")) / "half.py"
    half.touch()
    assert call(project).returncode == 0
    assert not half.exists()
    assert not venv.joinpath("leadline.unfinished").exists()


def test_installation_killed_on_the_way_is_not_taken_for_complete(tmp_path: Path) -> None:
    """kill -9 of launcher and installer in the middle: the next call starts anew and succeeds."""
    project = make_project(tmp_path / "project")
    first = subprocess.Popen(
        [project / "leadline"], env=environment(), stderr=subprocess.DEVNULL, start_new_session=True
    )
    with first:
        eventually(project.joinpath(".venv", "leadline.unfinished").exists)
        os.killpg(first.pid, signal.SIGKILL)
    assert not project.joinpath(".venv", "requirements.lock").exists()
    again = call(project, "x")
    assert again.returncode == 0, again.stderr
    assert "making the Python environment" in again.stderr
    assert call(project).stderr == ""


def test_two_first_calls_at_once_install_once(tmp_path: Path) -> None:
    """The second waits for the first, and both succeed."""
    project = make_project(tmp_path / "project")
    calls = [
        subprocess.Popen(
            [project / "leadline", str(number)],
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(2)
    ]
    told = [process.communicate(timeout=120) for process in calls]
    assert [process.returncode for process in calls] == [0, 0], told
    assert [out for out, _ in told] == [f"{[[str(n)], os.getcwd(), str(project)]}\n" for n in range(2)]
    assert sum("making the Python environment" in error for _, error in told) == 1


def test_failed_installation_shows_the_log_and_is_not_complete(project: Path) -> None:
    """The reason is on the screen, the whole log is named, and the next call tries again."""
    project.joinpath("requirements.lock").write_text(f"nowhere-to-be-found==1.0 --hash=sha256:{'0' * 64}\n")
    for _ in range(2):
        done = call(project)
        assert done.returncode == 2
        assert "nowhere-to-be-found" in done.stderr
        assert str(project / ".venv" / "leadline-install.log") in done.stderr
        assert done.stdout == ""


def test_system_without_a_python_is_told_what_to_do(tmp_path: Path) -> None:
    """One sentence, exit status 2, nothing made."""
    project = make_project(tmp_path / "project")
    env = environment(PATH=only_shell_tools(tmp_path / "bin"), LEADLINE_PYTHON="")
    done = call(project, env=env)
    assert done.returncode == 2
    assert (
        done.stderr == "leadline: Python 3.11 or newer was not found: install it, or set LEADLINE_PYTHON to its path.\n"
    )
    assert not project.joinpath(".venv").exists()


@pytest.mark.parametrize("chosen", [False, True])
def test_python_without_venv_is_told_what_to_install(tmp_path: Path, chosen: bool) -> None:
    """Debian and Ubuntu ship venv apart: the package is named."""
    project = make_project(tmp_path / "project")
    path = only_shell_tools(tmp_path / "bin")
    lame = script(tmp_path / "bin" / "python3", 'case "$2" in *ensurepip*) exit 1;; esac')
    done = call(project, env=environment(PATH=path, LEADLINE_PYTHON=lame if chosen else ""))
    assert done.returncode == 2
    assert "python3-venv" in done.stderr
    assert done.stderr.count("\n") == 1


def test_chosen_python_that_is_too_old_is_refused(tmp_path: Path) -> None:
    """LEADLINE_PYTHON is not silently replaced by another."""
    project = make_project(tmp_path / "project")
    old = script(tmp_path / "python2", "exit 1")
    done = call(project, env=environment(LEADLINE_PYTHON=old))
    assert done.returncode == 2
    assert done.stderr == f"leadline: LEADLINE_PYTHON ({old}) is not Python 3.11 or newer.\n"


def test_name_that_is_there_but_does_not_run_is_passed_over(tmp_path: Path) -> None:
    """A version manager's placeholder for a version that is not active is no Python."""
    project = make_project(tmp_path / "project")
    path = only_shell_tools(tmp_path / "bin")
    script(tmp_path / "bin" / "python3.13", "echo not active >&2; exit 127")
    script(tmp_path / "bin" / "python3", f'exec "{BASE_PYTHON}" "$@"')
    done = call(project, "x", env=environment(PATH=path, LEADLINE_PYTHON=""))
    assert done.returncode == 0, done.stderr


def test_missing_lock_file_is_named(project: Path) -> None:
    """An incomplete copy of the project is not installed from."""
    project.joinpath("requirements.lock").unlink()
    done = call(project)
    assert done.returncode == 2
    assert "requirements.lock is missing" in done.stderr


def test_project_has_complete_locks() -> None:
    """Every requirement of the real lock files has a hash, and the larger one contains the smaller."""
    texts = {name: PROJECT.joinpath(name).read_text() for name in ("requirements.lock", "requirements-dev.lock")}
    for text in texts.values():
        parts = text.replace("\\\n", " ").splitlines()
        assert all("--hash=sha256:" in line for line in parts if installer.pins(line))
    small, large = ({pin.partition(" ;")[0] for pin in installer.pins(text)} for text in texts.values())
    assert small < large
