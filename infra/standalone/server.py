"""What the embedded servers have in common: a port, a process, and the way from launched to ready to gone."""

import abc
import signal
import subprocess
from typing import ClassVar

from infra.standalone import accounts, system
from infra.standalone.errors import ServerError
from infra.standalone.home import Home

PORT_ATTEMPTS = 5


class EmbeddedServer(abc.ABC):
    """One server of one home on a loopback port that is chosen at the first launch and kept from then on.

    `prepare`, `launch`, then `ready` until it is True; `start` does all three and waits.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    ready_seconds: ClassVar[float]
    death_signal: ClassVar[int]
    stop_steps: ClassVar[system.Steps]

    def __init__(self, home: Home) -> None:
        """Nothing is started yet; raises ServerError when root has no account to run servers under."""
        self.home = home
        self.process: subprocess.Popen[bytes] | None = None
        self._account = accounts.server_account()
        self._port: int | None = None
        self._attempts = 0

    @property
    @abc.abstractmethod
    def url(self) -> str:
        """What clients connect to, password included; valid once `launch` was called."""

    @abc.abstractmethod
    def prepare(self) -> None:
        """Make what is missing on disk, and end whatever an earlier supervisor left running."""

    @abc.abstractmethod
    def _command(self, port: int) -> system.Command:
        """Return the command that listens on `port`."""

    @abc.abstractmethod
    def _answers(self) -> bool:
        """Say whether the launched process, which is alive, takes connections."""

    def launch(self) -> None:
        """Start the process on the port it had, else on a free one; raises ServerError."""
        self._port = self._port or system.free_port()
        try:
            self.process = system.spawn(self._command(self._port))
        except (OSError, subprocess.SubprocessError) as error:
            raise ServerError(f"{self.title} could not be started: {error}.") from error

    def ready(self) -> bool:
        """Say whether the server takes connections; raises ServerError when it has ended instead.

        A server that lost its port to another program before it was ever ready is launched again on another one.
        """
        process, port = self.process, self._port
        if process is None or port is None:
            raise ServerError(f"{self.title} was not launched.")
        if process.poll() is None:
            if self._answers():
                self._attempts = PORT_ATTEMPTS  # clients may know the port from now on
                return True
            return False
        if self._attempts < PORT_ATTEMPTS and not system.port_is_free(port):
            self._attempts += 1
            self._port = None
            self.launch()
            return False
        raise ServerError(
            f"{self.title} ended with status {process.returncode} while it was starting: "
            f"see {self.home.log(self.name)}."
        )

    def start(self) -> None:
        """Prepare, launch and wait until the server takes connections; raises ServerError."""
        self.prepare()
        self.launch()
        if not system.poll_until(self.ready, self.ready_seconds):
            self.stop()
            raise ServerError(
                f"{self.title} was not ready after {self.ready_seconds:.0f} seconds: see {self.home.log(self.name)}."
            )

    def stop(self) -> None:
        """Shut the server down, open connections included, and wait until it is gone."""
        process, self.process = self.process, None
        if process is None:
            return
        for number, seconds in (*self.stop_steps, (signal.SIGKILL, 5.0)):
            if process.poll() is None:
                process.send_signal(number)
                system.poll_until(lambda: process.poll() is not None, seconds)
