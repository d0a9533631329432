"""Servers from the system's packages, each a process of the test's own on loopback: PostgreSQL, Redis.

They are handled as the embedded ones are: `start` and `stop`, `process` in between, and the port and data are kept.
"""

import abc
import os
import pwd
import secrets
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import psycopg
import pytest
from redis import Redis
from redis.exceptions import RedisError

from infra.standalone import system
from tests.support.waiting import wait_until

POSTGRES = next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), Path("/nowhere"))
POSTGRES_USER = "postgres"
START_S = 90.0
STOP_S = 20.0


def require(program: Path | str, package: str) -> str:
    """Return the path of a program; skip where it is not installed."""
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"the system's package {package} is not installed")
    return found


def system_account() -> system.Account | None:
    """Return the account that the system's PostgreSQL runs under for root, None for the caller's own."""
    if os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam(POSTGRES_USER)
    except KeyError:
        pytest.skip("the system's package postgresql is not installed")
    return system.Account(entry.pw_uid, entry.pw_gid)


class SystemServer(abc.ABC):
    """A server below a folder, which dies with the process that started it."""

    title: ClassVar[str]
    stop_signal: ClassVar[int] = signal.SIGTERM

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, system.free_port()
        self.process: subprocess.Popen[bytes] | None = None
        self._account: system.Account | None = None

    @abc.abstractmethod
    def prepare(self) -> None:
        """Make what is missing on disk."""

    @abc.abstractmethod
    def answers(self) -> bool:
        """Tell whether it takes connections."""

    @abc.abstractmethod
    def _command(self) -> tuple[Sequence[str], Mapping[str, str]]:
        """Return its arguments and its environment."""

    def start(self) -> None:
        """Start it, on what it left when it ran before, and wait until it takes connections."""
        self.folder.mkdir(exist_ok=True)
        self.prepare()
        arguments, environment = self._command()
        log = self.folder / f"{self.title.lower()}.log"
        self.process = process = system.spawn(
            system.Command(arguments, environment, Path("/"), log, self._account, signal.SIGKILL)
        )

        def ready() -> bool:
            assert process.poll() is None, f"{self.title} ended: {log.read_text(errors='replace')[-2000:]}"
            return self.answers()

        wait_until(ready, f"{self.title} answers", START_S)

    def stop(self) -> None:
        """Shut it down and wait until it is gone."""
        process, self.process = self.process, None
        if process is None:
            return
        for number in (self.stop_signal, signal.SIGKILL):
            if process.poll() is None:
                process.send_signal(number)
                system.poll_until(lambda: process.poll() is not None, STOP_S)


class SystemRedis(SystemServer):
    """A Redis that keeps nothing on disk."""

    title = "Redis"

    @property
    def url(self) -> str:
        """URL of database 0."""
        return f"redis://{system.LOOPBACK}:{self.port}/0"

    def prepare(self) -> None:
        """Nothing is needed."""

    def answers(self) -> bool:
        """Send a PING."""
        try:
            with Redis.from_url(self.url, socket_timeout=2) as client:
                return bool(client.ping())
        except RedisError:
            return False

    def _command(self) -> tuple[Sequence[str], Mapping[str, str]]:
        options = {"port": str(self.port), "bind": system.LOOPBACK, "save": "", "appendonly": "no"}
        options |= {"maxmemory": "256mb", "dir": str(self.folder)}
        words = [word for name, value in options.items() for word in (f"--{name}", value)]
        return [require("redis-server", "redis-server"), *words], {"PATH": os.defpath}


class SystemPostgres(SystemServer):
    """A PostgreSQL as many have it: of another major version, and with a collation of a language."""

    title = "PostgreSQL"
    stop_signal = signal.SIGINT

    def __init__(self, folder: Path, *, durable: bool = True) -> None:
        super().__init__(folder)
        self._durable, self._password = durable, secrets.token_hex(16)
        self._data = folder / "data"
        self._account = system_account()

    @property
    def admin_url(self) -> str:
        """SQLAlchemy URL of the maintenance database, as the superuser."""
        return f"postgresql+psycopg://{POSTGRES_USER}:{self._password}@{system.LOOPBACK}:{self.port}/postgres"

    def prepare(self) -> None:
        """Make a cluster."""
        if self._data.exists():
            return
        self.folder.chmod(0o711)
        file = self.folder / "password"
        file.write_text(self._password)
        file.chmod(0o644)
        self._data.mkdir(mode=0o700)
        account = self._account
        if account is not None:
            os.chown(self._data, account.uid, account.gid)
        options = ["-D", str(self._data), "-U", POSTGRES_USER, "-A", "scram-sha-256", f"--pwfile={file}", "-N"]
        options += ["-E", "UTF8", "--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en-US"]
        made = subprocess.run(
            [require(POSTGRES / "initdb", "postgresql"), *options],
            capture_output=True,
            text=True,
            timeout=120,
            cwd="/",
            check=False,
            user=account.uid if account else None,
        )
        assert made.returncode == 0, made.stderr

    def answers(self) -> bool:
        """Connect."""
        try:
            psycopg.connect(self.admin_url.replace("+psycopg", "", 1), connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def _command(self) -> tuple[Sequence[str], Mapping[str, str]]:
        options = {"port": self.port, "listen_addresses": system.LOOPBACK, "unix_socket_directories": ""}
        options |= {"max_connections": 200}
        if not self._durable:
            options |= {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}
        words = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
        return [require(POSTGRES / "postgres", "postgresql"), "-D", str(self._data), *words], {
            "PATH": os.defpath,
            "LC_ALL": "C.UTF-8",
        }
