"""What a supervisor does between taking the lock of its home and giving it back.

It starts the servers, brings the schema up to date, starts the services, says that it is ready, and from then on starts
again whatever ends, until it is told to stop or, in mode `shared`, until its last user has left. It has one thread: the
death signals of its processes hang on that thread.
"""

import datetime
import functools
import http.client
import logging
import os
import signal
import subprocess
import time
import urllib.parse
from collections.abc import Callable, Sequence
from typing import Protocol

from infra.standalone import files, leftovers, system
from infra.standalone.children import Child, stop_all, tend_all
from infra.standalone.errors import PortInUseError, StartError, StopRequestedError
from infra.standalone.home import Home
from infra.standalone.info import StackInfo, write_info
from infra.standalone.plan import Mode, Plan, Urls, address, service_environment
from infra.standalone.postgres import EmbeddedPostgres
from infra.standalone.processes import GATEWAY, ProcessRow
from infra.standalone.server import EmbeddedServer
from infra.standalone.signals import Signals
from infra.standalone.valkey import EmbeddedValkey
from shared.config.version import project_version

logger = logging.getLogger("leadline.supervisor")

MIGRATE_SECONDS = 600.0
STARTING_POLL_SECONDS = 0.03
SHARED_WATCH_SECONDS = 1.0
QUIET_WATCH_SECONDS = 60.0
PROBE_SECONDS = 2.0
ENDS_WHILE_STARTING = 3


class Listener(Protocol):
    """Whoever wants the stack."""

    def tell(self, kind: str, text: str) -> None:
        """Take what happens: (`progress`, sentence), then (`ready`, address) or (`failed`, sentence)."""

    def waits(self) -> bool:
        """Say whether there still is somebody to tell; asked until the stack is ready."""


class Supervisor:
    """The life of one stack, from the lock of its home taken to everything stopped."""

    def __init__(self, plan: Plan, listener: Listener, signals: Signals) -> None:
        """Nothing is started yet."""
        self._plan = plan
        self._home = plan.home
        self._listener = listener
        self._signals = signals
        self._mode: Mode = plan.mode
        self._urls = plan.urls
        self._address = ""
        self._servers: list[EmbeddedServer] = []
        self._server_children: list[Child] = []
        self._services: list[Child] = []
        self._version = project_version()
        self._started_at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        self._users = files.FileLock(self._home.users_lock)
        self._last_use = time.monotonic()

    def run(self) -> None:
        """Start the stack, hold it, and take it down; raises StandaloneError when it does not become ready."""
        try:
            self._start()
            logger.info("ready at %s", self._address)
            self._listener.tell("ready", self._address)
            self._hold()
        finally:
            self._stop()
            self._users.close()

    def _start(self) -> None:
        port = self._gateway_port()
        self._address = address(self._plan.host, port)
        self._start_servers()
        environment = service_environment(self._plan, self._urls, port)
        self._listener.tell("progress", "Bringing the database schema up to date")
        self._migrate(environment)
        self._listener.tell("progress", "Starting the services")
        services = self._plan.table.services
        # All at once would share the processors, and the one that everybody waits for would be ready among the last.
        self._start_services([row for row in services if row.name == GATEWAY], environment)
        self._await(self._gateway_answers, self._plan.table.ready_seconds, "The gateway did not answer", GATEWAY)
        self._start_services([row for row in services if row.name != GATEWAY], environment)
        self._last_use = time.monotonic()
        self._publish()

    def _start_services(self, rows: Sequence[ProcessRow], environment: dict[str, str]) -> None:
        for row in rows:
            for name in row.names():
                command = _command(self._home, name, row.argv, {**environment, **row.environment})
                launch = functools.partial(system.spawn, command)
                child = Child(name, launch, leftovers.SERVICE_STEPS)
                self._services.append(child)
                child.start()
        self._record()

    @property
    def _children(self) -> list[Child]:
        return [*self._server_children, *self._services]

    def _gateway_port(self) -> int:
        """Return the port of the gateway, the same for all its restarts; raises PortInUseError."""
        plan = self._plan
        if plan.port == 0:
            return system.free_port(plan.host)
        if not system.port_is_free(plan.port, plan.host):
            raise PortInUseError(plan.host, plan.port)
        return plan.port

    def _start_servers(self) -> None:
        """Start the servers that the settings do not name, side by side, and keep their URLs."""
        urls = self._urls
        valkey = None if urls.broker and urls.redis else EmbeddedValkey(self._home)
        postgres = None if urls.database else EmbeddedPostgres(self._home)
        self._servers = [server for server in (valkey, postgres) if server is not None]
        for server in self._servers:
            self._listener.tell("progress", f"Starting {server.title}")
            server.prepare()
            server.launch()
        for server in self._servers:
            self._await(server.ready, server.ready_seconds, f"{server.title} was not ready", server.name)
            child = Child(server.name, functools.partial(_launch_again, server), server.stop_steps)
            child.adopt(_process(server))
            self._server_children.append(child)
        self._record()
        self._urls = Urls(
            database=postgres.url if postgres else urls.database,
            broker=urls.broker or (valkey.url if valkey else None),
            redis=urls.redis or (valkey.url if valkey else None),
        )

    def _migrate(self, environment: dict[str, str]) -> None:
        process = system.spawn(_command(self._home, "migrate", self._plan.table.migrate, environment))
        try:
            self._await(lambda: process.poll() is not None, MIGRATE_SECONDS, "The schema was not up to date", "migrate")
        finally:
            system.send(process.pid, signal.SIGKILL, group=True)
            status = process.wait()
        if status != 0:
            log = self._home.log("migrate")
            raise StartError(f"The database schema could not be brought up to date (status {status}): see {log}.")

    def _await(self, condition: Callable[[], bool], seconds: float, otherwise: str, log: str) -> None:
        """Wait for the condition while tending the processes; raises StartError or StopRequestedError."""
        deadline = time.monotonic() + seconds
        while not condition():
            if self._signals.stop_requested or not self._listener.waits():
                raise StopRequestedError
            if time.monotonic() > deadline:
                raise StartError(f"{otherwise} within {seconds:.0f} seconds: see {self._home.log(log)}.")
            if tend_all(self._children):
                self._record()
            for child in self._children:
                if child.ends >= ENDS_WHILE_STARTING:
                    raise StartError(
                        f"The process {child.name} ended {child.ends} times while the stack was starting, last with "
                        f"status {child.last_status}: see {self._home.log(child.name)}."
                    )
            self._signals.wait(STARTING_POLL_SECONDS)

    def _gateway_answers(self) -> bool:
        return all(child.process is not None for child in self._children) and _answers(self._address)

    def _hold(self) -> None:
        """Start again what ends, until a stop is asked for or nobody uses a shared stack any more."""
        while not self._signals.stop_requested and not self._unused():
            if tend_all(self._children):
                self._record()
                self._publish()
            longest = SHARED_WATCH_SECONDS if self._mode == "shared" else QUIET_WATCH_SECONDS
            self._signals.wait(min(longest, *(child.pause() for child in self._children)))

    def _unused(self) -> bool:
        """Say whether a shared stack has been without a user for long enough; then it keeps others from joining it."""
        if self._mode == "up":
            return False
        nobody = self._users.attempt()
        if self._home.keep_up_marker.exists():
            self._mode = "up"
            self._publish()
        elif nobody and time.monotonic() - self._last_use >= self._plan.table.idle_seconds:
            logger.info("no user for %.0f s", self._plan.table.idle_seconds)
            return True
        if nobody:
            self._users.release()
        else:
            self._last_use = time.monotonic()
        return False

    def _record(self) -> None:
        """Write down the processes for whoever cleans up after this supervisor is killed."""
        records = [child.record() for child in self._children]
        try:
            leftovers.write(self._home.children, [each for each in records if each is not None])
        except OSError as error:
            logger.warning("the record of the processes could not be written: %s", error)

    def _publish(self) -> None:
        """Write the state file that tells others of the stack."""
        info = StackInfo(
            pid=os.getpid(),
            mode=self._mode,
            address=self._address,
            started_at=self._started_at,
            version=self._version,
            processes={child.name: child.process.pid for child in self._children if child.process is not None},
            database_url=self._urls.database or "",
            broker_url=self._urls.broker or "",
            redis_url=self._urls.redis or "",
        )
        try:
            write_info(self._home, info)
        except OSError as error:
            logger.warning("the state of the stack could not be written: %s", error)

    def _stop(self) -> None:
        """Take everything down: the services at once, then Valkey, then PostgreSQL."""
        self._home.state.unlink(missing_ok=True)
        stop_all(self._services, self._plan.stop_seconds, self._signals)
        for server in self._servers:
            server.stop()
        self._home.children.unlink(missing_ok=True)
        logger.info("stopped")


def _command(home: Home, name: str, argv: Sequence[str], environment: dict[str, str]) -> system.Command:
    return system.Command(argv, environment, folder=home.path, log=home.log(name))


def _process(server: EmbeddedServer) -> subprocess.Popen[bytes]:
    if server.process is None:
        raise StartError(f"{server.title} was not launched.")
    return server.process


def _launch_again(server: EmbeddedServer) -> subprocess.Popen[bytes]:
    """Start a server that ended, on its port and with its password, so that its URL stays valid."""
    server.prepare()
    server.launch()
    return _process(server)


def _answers(gateway: str) -> bool:
    """Say whether the gateway calls itself ready."""
    parts = urllib.parse.urlsplit(gateway)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=PROBE_SECONDS)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
