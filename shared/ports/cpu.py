"""What is needed of a place to run work that may spin, eat memory or crash: a function in another process, limited."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, ParamSpec, Protocol, TypeVar

from shared.domain.errors import LimitExceeded, NoPlace, Transient

P = ParamSpec("P")
T = TypeVar("T")

Which = Literal["wall", "cpu", "memory"]
_TOLD = {
    "wall": "The task took longer than its wall-clock limit; give it less work or a higher limit.",
    "cpu": "The task used more processor time than its limit; give it less work or a higher limit.",
    "memory": "The task needed more memory than its limit; give it less work or a higher limit.",
}


CPU_BUSY_S = 2.0
"""How long to put off a step for which no process became free."""


@dataclass(frozen=True, slots=True)
class CpuLimits:
    """Limits of one task: wall-clock seconds, processor seconds, and bytes of address space on top of an idle child's.

    Processor time is counted in whole seconds, rounded up.
    """

    wall_s: float
    cpu_s: float
    memory_bytes: int


class CpuLimitExceeded(LimitExceeded):
    """The task was stopped because it went over a limit; it will do so again with the same input."""

    def __init__(self, which: Which) -> None:
        super().__init__(f"limit:{which}", _TOLD[which])
        self.which: Which = which

    def __reduce__(self) -> tuple[type["CpuLimitExceeded"], tuple[Which]]:
        """Say how to make it again in another process."""
        return type(self), (self.which,)

    def __str__(self) -> str:
        return self.detail


class CpuTaskCrashed(Transient):
    """The process of the task ended by itself (a crash, or a kill from outside); another try may work."""

    def __init__(self, exit_code: int | None) -> None:
        told = f"The task's process ended before the task (exit code {exit_code}); try once more, then give up."
        super().__init__("child_lost", told)
        self.exit_code = exit_code

    def __str__(self) -> str:
        return self.detail


class CpuBusy(NoPlace):
    """No process became free in time; what is under way has its own limits, so one will soon."""

    def __init__(self) -> None:
        super().__init__("cpu_busy", "Every process for limited work is taken; the step is put off.", CPU_BUSY_S)


class CpuClosed(NoPlace):
    """A task was asked for, or still running, when the pool was closed: its worker stops, another one takes over."""

    def __init__(self) -> None:
        super().__init__("cpu_closed", "The pool of processes is closed; the task was not finished.", 0.0)


class Cpu(Protocol):
    """Runs functions under limits; any number of threads may call it at once."""

    def run(self, function: Callable[..., T], *args: object, limits: CpuLimits) -> T:
        """Return ``function(*args)``, run in another process; exceptions of the function come through.

        The function must be importable by name, arguments and result must be picklable. Waits for a free process first;
        that wait does not count against the limits, and is cut short so that the step ends by its deadline.

        Raises CpuLimitExceeded, CpuTaskCrashed, CpuBusy, CpuClosed.
        """
        ...

    def close(self) -> None:
        """Stop all processes; running tasks end with CpuClosed. Closing twice is harmless."""
        ...
