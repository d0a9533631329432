"""Flower beside a stack: its row in the table of processes, with a name and a password of the home's own."""

import importlib.util
import secrets
from dataclasses import asdict, dataclass, field, replace

from infra.standalone import files, system
from infra.standalone.home import Home
from infra.standalone.processes import ProcessRow, ProcessTable, python_module

FLOWER = "flower"
USER = "leadline"


@dataclass(frozen=True, slots=True)
class FlowerAccess:
    """Where the Flower of a home listens, and what it asks for."""

    port: int
    user: str
    password: str = field(repr=False)

    @property
    def address(self) -> str:
        """Its URL."""
        return f"http://{system.LOOPBACK}:{self.port}"


def installed() -> bool:
    """Say whether the package is there; it is not among those that Leadline needs."""
    return importlib.util.find_spec(FLOWER) is not None


def kept_access(home: Home) -> FlowerAccess | None:
    """Return how the Flower of this home was reached last, None when it never had one."""
    value = files.read_json(home.flower)
    return None if value is None else FlowerAccess(**value)


def new_access(home: Home, wanted_port: int) -> FlowerAccess:
    """Return access on the wanted port, or on a free one where that is taken; the password stays the same."""
    port = wanted_port if wanted_port and system.port_is_free(wanted_port) else system.free_port()
    kept = kept_access(home)
    access = replace(kept, port=port) if kept else FlowerAccess(port, USER, secrets.token_hex(16))
    home.create()
    files.write_private_json(home.flower, asdict(access))
    return access


def with_flower(table: ProcessTable, access: FlowerAccess) -> ProcessTable:
    """Return the table with Flower in it."""
    environment = {
        "LEADLINE_FLOWER_HOST": system.LOOPBACK,
        "LEADLINE_FLOWER_PORT": str(access.port),
        "LEADLINE_FLOWER_AUTH": f"{access.user}:{access.password}",
    }
    row = ProcessRow(FLOWER, python_module("shared.flower_process"), environment=environment)
    return replace(table, services=(*table.services, row))
