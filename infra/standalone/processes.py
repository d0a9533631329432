"""The table of processes that make up a stack: name, arguments, replicas."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

GATEWAY = "gateway"


def python_module(name: str) -> tuple[str, ...]:
    """Return the arguments that run a module with the interpreter of this process."""
    return (sys.executable, "-m", name)


@dataclass(frozen=True, slots=True)
class ProcessRow:
    """One kind of process; `replicas` of it run side by side, with `environment` beside that of all services."""

    name: str
    argv: tuple[str, ...]
    replicas: int = 1
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)

    def names(self) -> Iterator[str]:
        """Yield the name of each replica: the row's own name for one, numbered names for several."""
        if self.replicas == 1:
            yield self.name
        else:
            yield from (f"{self.name}-{number}" for number in range(1, self.replicas + 1))


@dataclass(frozen=True, slots=True)
class ProcessTable:
    """What is run once before the services, the services, and how long to wait for them.

    `ready_seconds`: from the start of the services until the gateway answers; `idle_seconds`: without a user until a
    shared stack ends.
    """

    migrate: tuple[str, ...]
    services: tuple[ProcessRow, ...]
    ready_seconds: float = 60.0
    idle_seconds: float = 10.0


SERVICES = ProcessTable(
    migrate=python_module("shared.db.migrate"),
    services=(
        ProcessRow(GATEWAY, python_module("services.gateway.wsgi")),
        ProcessRow("planner", python_module("services.planner.worker")),
        ProcessRow("fetcher", python_module("services.fetcher.worker")),
        ProcessRow("extractor", python_module("services.extractor.worker")),
        ProcessRow("synthesizer", python_module("services.synthesizer.worker")),
        ProcessRow("sweeper", python_module("shared.sweeper_process")),
    ),
)
