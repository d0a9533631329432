"""The limited process pool: limits stop what goes over them, and the other tasks go on."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import active_children
from pathlib import Path

import pytest

from services.extractor.parsing import parse_bytes
from shared.adapters.cpu import ProcessCpu
from shared.ports.cpu import CpuBusy, CpuClosed, CpuLimitExceeded, CpuLimits, CpuTaskCrashed
from tests.support.waiting import wait_until

_AMPLE = CpuLimits(wall_s=60, cpu_s=30, memory_bytes=512 * 2**20)
_NEVER_ENDS = range(10**13)


@pytest.fixture
def cpu() -> Iterator[ProcessCpu]:
    """Return a pool of two children that is closed afterwards."""
    pool = ProcessCpu(2)
    yield pool
    pool.close()
    assert not active_children()


def test_a_task_runs_in_another_process(cpu: ProcessCpu) -> None:
    """The result comes back from a child."""
    assert cpu.run(pow, 2, 10, limits=_AMPLE) == 1024
    assert cpu.run(os.getpid, limits=_AMPLE) != os.getpid()


def test_an_exception_of_the_task_comes_through(cpu: ProcessCpu) -> None:
    """What the function raises is raised to the caller as it is."""
    with pytest.raises(ValueError, match="invalid literal"):
        cpu.run(int, "x", limits=_AMPLE)


@pytest.mark.parametrize(
    ("limits", "which"),
    [
        (CpuLimits(wall_s=0.5, cpu_s=60, memory_bytes=2**30), "wall"),
        (CpuLimits(wall_s=60, cpu_s=1, memory_bytes=2**30), "cpu"),
    ],
)
def test_a_spinning_task_is_stopped_while_others_go_on(cpu: ProcessCpu, limits: CpuLimits, which: str) -> None:
    """A loop in native code that never ends is killed by either limit; the neighbour child works all the while."""
    with ThreadPoolExecutor(1) as threads:
        spinning = threads.submit(cpu.run, sum, _NEVER_ENDS, limits=limits)
        others = 0
        while not spinning.done():
            assert cpu.run(sum, range(1000), limits=_AMPLE) == 499_500
            others += 1
    with pytest.raises(CpuLimitExceeded) as caught:
        spinning.result()
    assert caught.value.which == which
    assert others > 0


def nested_forms(depth: int, fan: int = 10) -> bytes:
    """Return a small PDF whose page draws a form that draws the next one ten times, and so on."""

    def stream(head: bytes, body: bytes) -> bytes:
        return b"<<" + head + b"/Length %d>>stream\n" % len(body) + body + b"\nendstream"

    page = b"/MediaBox[0 0 200 200]/Contents 4 0 R/Resources<</XObject<</F 6 0 R>>>>"
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R" + page + b">>",
        stream(b"", b"/F Do"),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    form = b"/Type/XObject/Subtype/Form/BBox[0 0 200 200]/Resources<<%s>>"
    below = (b"/XObject<</F %d 0 R>>" % (7 + level) for level in range(depth))
    objects += [stream(form % resources, b"/F Do " * fan) for resources in below]
    text = b"BT /A 9 Tf 10 10 Td (Depth of the basin) Tj ET"
    objects.append(stream(form % b"/Font<</A 5 0 R>>", text))
    data, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        places.append(len(data))
        data += b"%d 0 obj\n" % number + body + b"\nendobj\n"
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, len(data))
    return data + b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + table + end


@pytest.mark.parametrize("depth", [6, 9])
def test_a_small_file_that_would_take_minutes_is_refused_within_its_processor_time(cpu: ProcessCpu, depth: int) -> None:
    """A PDF of forms within forms is under 3 kB; its work is counted before it is drawn."""
    harmless, data = nested_forms(2), nested_forms(depth)
    assert len(data) < 3_000
    assert cpu.run(parse_bytes, harmless, "a.pdf", limits=_AMPLE)[0].status == "ok"
    limits = CpuLimits(wall_s=500, cpu_s=5, memory_bytes=2 * 10**9)
    parse, snapshot = cpu.run(parse_bytes, data, "a.pdf", limits=limits)
    assert parse.status == "too_large"
    assert snapshot is None


def test_a_memory_eater_is_stopped_and_its_child_stays_usable(cpu: ProcessCpu) -> None:
    """An allocation beyond the limit fails by name, one below it works, in the same child."""
    tight = CpuLimits(wall_s=60, cpu_s=30, memory_bytes=64 * 2**20)
    for _ in range(4):
        with pytest.raises(CpuLimitExceeded) as caught:
            cpu.run(bytearray, 2**30, limits=tight)
        assert caught.value.which == "memory"
    assert len(cpu.run(bytes, 2**20, limits=tight)) == 2**20


def test_the_processor_limit_is_each_task_s_own() -> None:
    """A child that has used up seconds in earlier tasks still grants the next one its full limit."""
    cpu = ProcessCpu(1)
    try:
        limits = CpuLimits(wall_s=60, cpu_s=1, memory_bytes=2**30)
        children = set()
        for _ in range(6):
            cpu.run(sum, range(15_000_000), limits=limits)
            children.add(cpu.run(os.getpid, limits=limits))
        assert len(children) == 1
    finally:
        cpu.close()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_a_child_that_dies_is_named_and_replaced(cpu: ProcessCpu, number: signal.Signals) -> None:
    """A crash ends the one task by name; the pool has a new child for the next."""
    for _ in range(3):
        with pytest.raises(CpuTaskCrashed) as caught:
            cpu.run(signal.raise_signal, number, limits=_AMPLE)
        assert caught.value.exit_code == -number
    assert cpu.run(pow, 2, 3, limits=_AMPLE) == 8


def test_a_child_killed_while_idle_does_not_break_the_pool(cpu: ProcessCpu) -> None:
    """The kernel may kill an idle child for memory; the next tasks run all the same."""
    child = cpu.run(os.getpid, limits=_AMPLE)
    os.kill(child, signal.SIGKILL)
    deadline = time.monotonic() + 30
    while _is_running(child) and time.monotonic() < deadline:
        threading.Event().wait(0.01)
    assert [cpu.run(pow, 2, number, limits=_AMPLE) for number in range(4)] == [1, 2, 4, 8]


def _is_running(pid: int) -> bool:
    """Tell whether a process is there and not a zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as status:
            return status.read().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def test_many_threads_share_a_pool(cpu: ProcessCpu) -> None:
    """More callers than children wait their turn; each gets its own answer."""
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda number: cpu.run(pow, number, 2, limits=_AMPLE), range(60)))
    assert answers == [number**2 for number in range(60)]


def test_closing_ends_running_tasks() -> None:
    """A closed pool leaves no child, its running task ends by name, and a later task is refused."""
    cpu = ProcessCpu(1)
    child = cpu.run(os.getpid, limits=_AMPLE)
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(cpu.run, sum, _NEVER_ENDS, limits=_AMPLE)
        deadline = time.monotonic() + 30
        while not running.running() and time.monotonic() < deadline:
            threading.Event().wait(0.01)
        cpu.close()
        with pytest.raises(CpuClosed):
            running.result(timeout=30)
    cpu.close()
    assert not _is_running(child)
    with pytest.raises(CpuClosed):
        cpu.run(pow, 2, 2, limits=_AMPLE)


def test_a_task_that_finds_no_free_child_is_put_off() -> None:
    """A caller does not wait past its patience: the step is postponed, which costs it no try."""
    cpu = ProcessCpu(1, wait_s=0.2)
    try:
        cpu.run(pow, 2, 2, limits=_AMPLE)
        with ThreadPoolExecutor(1) as threads:
            running = threads.submit(cpu.run, sum, _NEVER_ENDS, limits=CpuLimits(2, 30, 2**30))
            wait_until(lambda: _is_busy(cpu), "the only child is taken")
            with pytest.raises(CpuLimitExceeded):
                running.result(timeout=30)
    finally:
        cpu.close()


def _is_busy(cpu: ProcessCpu) -> bool:
    """Tell whether a further task is put off."""
    try:
        cpu.run(pow, 2, 2, limits=_AMPLE)
    except CpuBusy:
        return True
    return False


_ORPHANS = """
import os, sys, threading, time
from shared.adapters.cpu import ProcessCpu
from shared.ports.cpu import CpuLimits
if __name__ == "__main__":
    cpu, ample = ProcessCpu(2), CpuLimits(600, 600, 2**30)
    first = cpu.run(os.getpid, limits=ample)
    threading.Thread(target=lambda: cpu.run(time.sleep, 600, limits=ample), daemon=True).start()
    second = first
    while second == first:
        second = cpu.run(os.getpid, limits=ample)
    print(first, second, flush=True)
    time.sleep(600)
"""


def test_no_child_outlives_its_parent(tmp_path: Path) -> None:
    """A worker that is killed leaves no process behind, neither an idle one nor one in the middle of a task."""
    script = tmp_path / "orphans.py"
    script.write_text(_ORPHANS)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    parent = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True, env=environment)
    assert parent.stdout is not None
    with parent.stdout as told:
        children = [int(word) for word in told.readline().split()]
    parent.kill()
    parent.wait(30)
    assert len(children) == 2
    wait_until(lambda: not any(map(_is_running, children)), "the children are gone")
