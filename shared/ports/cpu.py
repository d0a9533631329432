"""What is needed of a place to run work that may spin, eat memory or crash: a function in another process, limited."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

Which = Literal["wall", "cpu", "memory"]
_TOLD = {
    "wall": "The task took longer than its wall-clock limit; give it less work or a higher limit.",
    "cpu": "The task used more processor time than its limit; give it less work or a higher limit.",
    "memory": "The task needed more memory than its limit; give it less work or a higher limit.",
}


@dataclass(frozen=True, slots=True)
class CpuLimits:
    """Limits of one task: wall-clock seconds, processor seconds, and bytes of address space on top of an idle child's.

    Processor time is counted in whole seconds, rounded up.
    """

    wall_s: float
    cpu_s: float
    memory_bytes: int


class CpuLimitExceeded(Exception):
    """The task was stopped because it went over a limit; it will do so again with the same input."""

    def __init__(self, which: Which) -> None:
        super().__init__(which)
        self.which: Which = which

    def __str__(self) -> str:
        return _TOLD[self.which]


class CpuTaskCrashed(Exception):
    """The process of the task ended by itself (a crash, or a kill from outside); one retry is reasonable."""

    def __init__(self, exit_code: int | None) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code

    def __str__(self) -> str:
        return f"The task's process ended before the task (exit code {self.exit_code}); try once more, then give up."


class CpuClosed(Exception):
    """A task was asked for, or still running, when the pool was closed."""

    def __str__(self) -> str:
        return "The pool of processes is closed; the task was not finished."


class Cpu(Protocol):
    """Runs functions under limits; any number of threads may call it at once."""

    def run(self, function: Callable[..., T], *args: object, limits: CpuLimits) -> T:
        """Return ``function(*args)``, run in another process; exceptions of the function come through.

        The function must be importable by name, arguments and result must be picklable. Waits for a free process first;
        that wait does not count.

        Raises CpuLimitExceeded, CpuTaskCrashed, CpuClosed.
        """
        ...

    def close(self) -> None:
        """Stop all processes; running tasks end with CpuClosed. Closing twice is harmless."""
        ...
