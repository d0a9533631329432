"""Everything a supervisor has to know, as one value that is handed to its process."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from infra.standalone.home import Home
from infra.standalone.processes import SERVICES, ProcessRow, ProcessTable
from infra.standalone.system import LOOPBACK

Mode = Literal["up", "shared"]
"""`up` stays until it is stopped; `shared` ends when its last user has left."""

FREE_PORT = "0"
PROJECT = Path(__file__).resolve().parents[2]
BEYOND_GRACE_SECONDS = 10.0
WILDCARDS = {"": LOOPBACK, "0.0.0.0": LOOPBACK, "::": "::1"}  # noqa: S104 - read, not bound


@dataclass(frozen=True, slots=True)
class Urls:
    """Where the servers are; None for one that the stack brings itself."""

    database: str | None = field(default=None, repr=False)
    broker: str | None = field(default=None, repr=False)
    redis: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run for one home; `environment` is what the services inherit, port 0 stands for a free one.

    `stop_seconds` is what the services have to stop by themselves.
    """

    home: Home
    mode: Mode
    environment: Mapping[str, str] = field(repr=False)
    urls: Urls = Urls()
    host: str = LOOPBACK
    port: int = 0
    table: ProcessTable = SERVICES
    stop_seconds: float = 20.0

    def to_json(self) -> str:
        """Return the plan as JSON text; it holds secrets and goes through a pipe only."""
        value = asdict(self)
        value["home"] = str(self.home.path)
        return json.dumps(value)

    @classmethod
    def from_json(cls, text: str) -> "Plan":
        """Return the plan that `to_json` wrote."""
        value = json.loads(text)
        table = value["table"]
        rows = tuple(ProcessRow(**{**row, "argv": tuple(row["argv"])}) for row in table["services"])
        return cls(
            home=Home(Path(value["home"])),
            mode=value["mode"],
            environment=value["environment"],
            urls=Urls(**value["urls"]),
            host=value["host"],
            port=value["port"],
            table=ProcessTable(tuple(table["migrate"]), rows, table["ready_seconds"], table["idle_seconds"]),
            stop_seconds=value["stop_seconds"],
        )


class Secret(Protocol):
    """A value that does not show when it is printed."""

    def get_secret_value(self) -> str:
        """Return it."""


class StackSettings(Protocol):
    """The settings that concern the stack as a whole."""

    @property
    def database_url(self) -> Secret | None:
        """PostgreSQL to use instead of the embedded one."""

    @property
    def broker_url(self) -> Secret | None:
        """Broker to use instead of the embedded one."""

    @property
    def redis_url(self) -> Secret | None:
        """Redis to use instead of the embedded one."""

    @property
    def gateway_host(self) -> str:
        """Address that the gateway listens on."""

    @property
    def gateway_port(self) -> int:
        """Port of the gateway, 0 for a free one."""

    @property
    def stop_grace_seconds(self) -> float:
        """Time that a worker gives its running steps when it stops."""


def plan_from_settings(
    home: Home, settings: StackSettings, mode: Mode, environment: Mapping[str, str], table: ProcessTable = SERVICES
) -> Plan:
    """Return the plan for a stack with these settings; the services get more time to stop than their own grace."""

    def value(secret: Secret | None) -> str | None:
        return secret.get_secret_value() if secret else None

    return Plan(
        home=home,
        mode=mode,
        environment=environment,
        urls=Urls(value(settings.database_url), value(settings.broker_url), value(settings.redis_url)),
        host=settings.gateway_host,
        port=settings.gateway_port,
        table=table,
        stop_seconds=settings.stop_grace_seconds + BEYOND_GRACE_SECONDS,
    )


def service_environment(plan: Plan, urls: Urls, port: int) -> dict[str, str]:
    """Return the environment of the services: what they inherit, and where everything is."""
    own = {
        "LEADLINE_METRICS_PORT": plan.environment.get("LEADLINE_METRICS_PORT") or FREE_PORT,
        "LEADLINE_HOME": str(plan.home.path),
        "LEADLINE_DATABASE_URL": urls.database or "",
        "LEADLINE_BROKER_URL": urls.broker or "",
        "LEADLINE_REDIS_URL": urls.redis or "",
        "LEADLINE_GATEWAY_HOST": plan.host,
        "LEADLINE_GATEWAY_PORT": str(port),
    }
    return {**python_environment(plan.environment), **own}


def python_environment(inherited: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which `python -m` finds this project, and nothing in the working folder."""
    paths = [str(PROJECT), inherited.get("PYTHONPATH", "")]
    return {**inherited, "PYTHONPATH": os.pathsep.join(filter(None, paths)), "PYTHONSAFEPATH": "1"}


def address(host: str, port: int) -> str:
    """Return the URL at which a program of this machine reaches a gateway that listens on `host`."""
    reached = WILDCARDS.get(host, host)
    return f"http://[{reached}]:{port}" if ":" in reached else f"http://{reached}:{port}"
