"""A stack that several commands use at once, and that ends with the last of them."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.standalone import stack
from infra.standalone.home import Home
from tests.support.fake_stack import (
    BARE,
    answers,
    eventually,
    kill,
    processes_of,
    table,
    wait_for_log,
)
from tests.support.servers import embedded_only, open_folder

pytestmark = embedded_only

# Uses the stack a number of times, says "in" inside, and waits for a line before it leaves if asked to.
USER = """
import sys
from pathlib import Path
from infra.standalone import stack
from infra.standalone.home import Home
from tests.support.fake_stack import BARE, answers, table
home, times, wait = Home(Path(sys.argv[1])), int(sys.argv[2]), sys.argv[3] == "wait"
for _ in range(times):
    with stack.using(home, BARE, lambda _: None, table()) as info:
        print("in" if answers(info.address) else "dead", flush=True)
        if wait:
            sys.stdin.readline()
        if not answers(info.address):
            print("died", flush=True)
"""


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


def user(home: Home, times: int = 1, wait: str = "wait") -> subprocess.Popen[str]:
    """Start a process that uses the stack."""
    arguments = [sys.executable, "-c", USER, str(home.path), str(times), wait]
    return subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def inside(process: subprocess.Popen[str]) -> None:
    """Wait until a user is in."""
    assert process.stdout is not None
    assert process.stdout.readline() == "in\n"


def test_stack_ends_with_its_only_user(home: Home) -> None:
    """`using` starts a stack and takes it down again."""
    with stack.using(home, BARE, silent, table()) as info:
        assert info.mode == "shared"
        assert answers(info.address)
    assert stack.running(home) is None
    assert processes_of(home) == []


def test_stack_ends_with_the_user_even_on_an_error(home: Home) -> None:
    """An error of the user passes through unchanged, and the stack is taken down."""
    with pytest.raises(OSError, match="mine"), stack.using(home, BARE, silent, table()):
        raise OSError("mine")
    assert processes_of(home) == []


def test_last_one_out_takes_the_stack_down(home: Home) -> None:
    """The first to leave, who had started the stack, leaves it to the second."""
    with user(home) as first:
        inside(first)
        with stack.using(home, BARE, silent, table()) as info:
            first.communicate("\n")
            assert first.returncode == 0
            assert answers(info.address)
        assert processes_of(home) == []


def test_users_leave_a_stack_that_is_up_alone(home: Home) -> None:
    """`using` on a stack of mode `up` neither starts nor stops anything."""
    started = stack.start(home, BARE, "up", silent, table())
    with stack.using(home, BARE, silent, table()) as info:
        assert info == started
    assert stack.running(home) == started


def test_shared_stack_can_be_made_to_stay(home: Home) -> None:
    """`start` with mode `up` keeps a shared stack beyond its last user."""
    with stack.using(home, BARE, silent, table()) as info:
        kept = stack.start(home, BARE, "up", silent, table())
        assert (kept.pid, kept.mode) == (info.pid, "up")
    after = stack.running(home)
    assert after is not None
    assert (after.pid, after.mode) == (info.pid, "up")
    eventually(lambda: '"mode": "up"' in home.state.read_text())
    with stack.using(home, BARE, silent, table()) as again:
        assert again.mode == "up"
    assert stack.stop(home)
    with stack.using(home, BARE, silent, table()) as later:
        assert later.mode == "shared"


def test_stack_ends_after_its_user_was_killed(home: Home) -> None:
    """kill -9 of the only user: the supervisor notices by itself."""
    with user(home) as process:
        inside(process)
        info = stack.running(home)
        assert info is not None
        kill(process.pid)
    eventually(lambda: processes_of(home) == [])
    wait_for_log(home, "supervisor", "no user")


def test_user_that_was_killed_while_others_stay(home: Home) -> None:
    """The stack stays for the user that is left."""
    with stack.using(home, BARE, silent, table()) as info, user(home) as process:
        inside(process)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert answers(info.address)
        assert stack.running(home) == info


def test_many_users_come_and_go_at_once(home: Home) -> None:
    """Whoever is in has a live stack from beginning to end, whatever the others do, and at the end nothing runs."""
    processes = [user(home, times=10, wait="go") for _ in range(4)]
    for process in processes:
        with process:
            told, _ = process.communicate()
            assert told.split() == ["in"] * 10
            assert process.returncode == 0
    assert processes_of(home) == []


def test_stack_can_be_used_again_while_it_goes_down(home: Home) -> None:
    """Joining at the moment when an abandoned stack ends gives a live one: the old or a new one."""
    with user(home) as process:
        inside(process)
        kill(process.pid)
    wait_for_log(home, "supervisor", "no user")
    with stack.using(home, BARE, silent, table()) as info:
        assert answers(info.address)
        assert stack.running(home) == info
