"""RabbitMQ from the system's package: one node on loopback, with a virtual host for each stack."""

import os
import secrets
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import requests
from kombu import Connection

from infra.standalone import system
from shared.domain.kinds import QUEUES
from tests.support.system_servers import SystemServer, require

RABBIT = Path("/usr/lib/rabbitmq/bin")
PACKAGE = "rabbitmq-server"
USER = PASSWORD = "guest"
CONFIGURATION = """\
listeners.tcp.1 = 127.0.0.1:{port}
management.tcp.ip = 127.0.0.1
management.tcp.port = {management}
management_agent.disable_metrics_collector = true
"""


class RabbitMQ(SystemServer):
    """A node with a port mapper (epmd) of its own, so that it meets no other Erlang node of the machine."""

    title = "RabbitMQ"
    stop_signal = signal.SIGKILL  # nothing in it is needed afterwards

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._management, self._distribution, self._mapper_port = (system.free_port() for _ in range(3))
        self._mapper: subprocess.Popen[bytes] | None = None

    def prepare(self) -> None:
        """Write its configuration, and start the port mapper."""
        (self.folder / "plugins").write_text("[rabbitmq_management].\n")
        written = CONFIGURATION.format(port=self.port, management=self._management)
        (self.folder / "rabbitmq.conf").write_text(written)
        if self._mapper is None:
            arguments = [require("epmd", PACKAGE), "-port", str(self._mapper_port), "-address", system.LOOPBACK]
            log = self.folder / "epmd.log"
            self._mapper = system.spawn(system.Command(arguments, self._environment(), Path("/"), log))

    def answers(self) -> bool:
        """Tell whether it takes clients, by its own word and by letting one in."""
        try:
            self._call("GET", "overview")
            with Connection(self._url("/"), connect_timeout=2) as connection:
                connection.connect()
        except (OSError, requests.RequestException):
            return False
        return True

    def stop(self) -> None:
        """Shut the node down, and its port mapper."""
        super().stop()
        mapper, self._mapper = self._mapper, None
        if mapper is not None:
            mapper.terminate()
            mapper.wait(10)

    def new_host(self) -> str:
        """Return the URL of a virtual host with nothing on it; it lives as long as the node's data."""
        name = secrets.token_hex(6)
        self._call("PUT", f"vhosts/{name}")
        return self._url(name)

    def _url(self, host: str) -> str:
        return f"amqp://{USER}:{PASSWORD}@{system.LOOPBACK}:{self.port}/{host}"

    def _call(self, method: str, path: str) -> None:
        url = f"http://{system.LOOPBACK}:{self._management}/api/{path}"
        requests.request(method, url, auth=(USER, PASSWORD), timeout=10).raise_for_status()

    def _command(self) -> tuple[Sequence[str], Mapping[str, str]]:
        return [require(RABBIT / "rabbitmq-server", PACKAGE)], self._environment()

    def _environment(self) -> Mapping[str, str]:
        ours = {
            "MNESIA_BASE": self.folder,
            "LOG_BASE": self.folder,
            "NODENAME": f"test{self.port}@localhost",
            "DIST_PORT": self._distribution,
            "CONFIG_FILE": self.folder / "rabbitmq.conf",
            "ENABLED_PLUGINS_FILE": self.folder / "plugins",
        }
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            **{f"RABBITMQ_{name}": str(value) for name, value in ours.items()},
            "HOME": str(self.folder),
            "ERL_EPMD_PORT": str(self._mapper_port),
            "ERL_EPMD_ADDRESS": system.LOOPBACK,
            "RUNNING_UNDER_SYSTEMD": "true",  # the node takes the place of the script: signals reach it
        }


def empty(url: str) -> None:
    """Take every message out of the queues of a virtual host."""
    with Connection(url, connect_timeout=5) as connection, connection.channel() as channel:
        for queue in QUEUES:
            channel.queue_declare(queue=queue, durable=True, auto_delete=False)
            channel.queue_purge(queue=queue)


def put_garbage(url: str, queue: str) -> None:
    """Put something into a queue that is no message of ours."""
    with Connection(url, connect_timeout=5) as connection, connection.channel() as channel:
        channel.queue_declare(queue=queue, durable=True, auto_delete=False)
        for properties in ({"content_type": "application/json"}, {"content_type": "application/x-python-serialize"}):
            message = channel.prepare_message(b"nothing", **properties)
            channel.basic_publish(message, exchange="", routing_key=queue)


def is_rabbitmq(url: str) -> bool:
    """Tell whether a broker's URL is that of a RabbitMQ."""
    return urlsplit(url).scheme == "amqp"
