"""The gateway's process: ``python -m services.gateway.wsgi`` serves the API with granian behind a front of its own.

The front (`services.gateway.front`) takes connections and whole requests; granian listens behind it on a local socket.
granian runs a main process and one worker that serves, the front in it. The worker watches two things that granian does
not tell it: that a stop was asked for, so that open event streams end at once, and that the main process is gone. When
the worker dies, the main process ends with 1: whoever runs it starts both anew, as after any other crash.
"""

import errno
import multiprocessing
import os
import resource
import signal
import socket
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from typing import cast

from flask import Flask
from granian import Granian
from granian._internal import load_target
from granian.constants import HTTPModes, Interfaces
from granian.log import LogLevels

from services.gateway.app import Deps, Limits, create_app, hub_of
from services.gateway.deps import Configured
from services.gateway.front.emptied import Emptied
from services.gateway.front.relay import Terms
from services.gateway.front.running import BACKLOG, Front
from services.gateway.hub import Hub
from services.gateway.rules import is_loopback, needs_keys
from shared.config.browser import has_browser
from shared.config.prices import load_prices
from shared.config.settings import Settings, load_settings
from shared.config.version import project_version
from shared.domain.engines import MANAGED
from shared.domain.managed import JOB_INPUT_TOKENS, JOB_OUTPUT_TOKENS
from shared.domain.prices import PriceTable
from shared.observability.figures import announced

TARGET = "services.gateway.wsgi:application"
KILL_AFTER_S = 5
WRONG_USE = 2
SPARE_THREADS = 8
"""Threads that event streams leave to requests."""
TAKE_OVER_S = KILL_AFTER_S + 1
"""How long a port is waited for: the worker of a killed gateway ends within `KILL_AFTER_S`."""
LOOK_S = 0.05
LEAST_CONNECTIONS = 1024
FILES_OF_A_CONNECTION = 3
SPARE_FILES = 128


def application() -> Flask:
    """Compose the application in a worker from the environment."""
    from shared.bootstrap import gateway_parts  # loads the database drivers, which the main process never uses
    from shared.db.engine import DatabaseUnreachable, StorageFull
    from shared.db.schema import SchemaBehind

    settings = load_settings()
    parts = gateway_parts(settings)
    deps = Deps(
        controls=parts.storage.controls,
        reads=parts.storage.reads,
        signals=parts.signals,
        watch=parts.watch,
        keys=parts.keys if needs_keys(settings.auth, settings.gateway_host) else None,
        limits=limits_of(settings),
        configured=configured_by(settings),
        services=parts.storage.services,
        has_model=bool(settings.model_names()),
        loopback_only=is_loopback(settings.gateway_host),
        outages=(DatabaseUnreachable, StorageFull, SchemaBehind),
        observer=parts.figures.observer,
        exposition=parts.figures.exposition,
    )
    return create_app(deps)


def limits_of(settings: Settings) -> Limits:
    """Return the gateway's limits: event streams may take all threads but a few, at most half of very few."""
    threads = settings.gateway_threads
    return Limits(
        max_document_bytes=settings.max_document_bytes, max_streams=max(threads - SPARE_THREADS, threads // 2)
    )


def configured_by(settings: Settings) -> Configured:
    """Return what is set up, as it is told to whoever asks what there is."""
    models = {str(phase): name for phase, name in settings.model_names().items()}
    prices, managed = load_prices(settings), settings.managed_engines()
    return Configured(
        version=project_version(),
        models=models,
        unpriced=prices.unknown(models),
        managed=managed,
        job_costs={
            e: most for e, agent in managed.items() if (most := job_cost(prices, MANAGED[e], agent)) is not None
        },
        search_providers=settings.search_providers(),
        reranker=settings.reranker(),
        has_browser=has_browser(settings),
    )


def job_cost(prices: PriceTable, provider: str, agent: str) -> float | None:
    """Return the most that a provider's research job may cost, None where its price is not known."""
    price = prices.of(f"{provider}:{agent}")
    return price.most(JOB_INPUT_TOKENS, JOB_OUTPUT_TOKENS) if price is not None else None


def watch_for_end(hub: Hub, front: Front) -> None:
    """End the streams and the front when this worker gets a signal, and the worker when its parent process is gone.

    granian puts its own signal handlers in place of any that were set before; the wake-up descriptor stays ours.
    """
    signalled, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    parent = multiprocessing.parent_process()
    watched = [signalled] if parent is None else [signalled, parent.sentinel]

    def watch() -> None:
        ready = wait(watched)
        hub.close()
        front.stop()
        if signalled not in ready:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(KILL_AFTER_S)  # nobody else would end a worker that a request keeps busy
            os._exit(1)

    threading.Thread(target=watch, name="end-of-process", daemon=True).start()


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens on ``port``, or any free one for 0; raise OSError when the port stays taken.

    Connections of a gateway that has ended do not hold its port, and the worker of one that was killed is waited for.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    deadline = time.monotonic() + TAKE_OVER_S
    while True:
        listener = socket.socket(family, socket.SOCK_STREAM)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((host, port))
            listener.listen(BACKLOG)
        except OSError as error:
            listener.close()
            if error.errno != errno.EADDRINUSE or time.monotonic() > deadline:
                raise
            time.sleep(LOOK_S)
        else:
            return listener


@dataclass(frozen=True, slots=True)
class Loader:
    """Makes the application in a worker and puts the front before it; crosses to the worker with the socket."""

    target: str
    listener: socket.socket
    inner: Path
    terms: Terms

    def __call__(self) -> Flask:
        """Return the application, with the front running."""
        app = cast(Flask, load_target(self.target, factory=True))
        app.wsgi_app = Emptied(app.wsgi_app, self.terms)  # type: ignore[method-assign]
        front = Front(self.listener, self.inner, self.terms)
        watch_for_end(hub_of(app), front)
        front.start()
        return app


def terms_of(settings: Settings) -> Terms:
    """Return what the front takes: one address may hold half of all connections, unless it is set."""
    limits = limits_of(settings)
    most = allow_connections(max(LEAST_CONNECTIONS, 4 * settings.gateway_threads))
    return Terms(
        max_small=limits.max_json_bytes,
        max_upload=limits.max_upload_bytes,
        uploads_at_once=limits.max_uploads_at_once,
        connections=most,
        connections_of_one=min(settings.max_connections_per_address or most // 2, most),
        patience=settings.request_patience_seconds,
    )


def allow_connections(wanted: int) -> int:
    """Raise this process's limit of open files as far as it may, and return how many connections fit in it.

    A connection that is being answered holds two files here and one in the server behind the front.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = FILES_OF_A_CONNECTION * wanted + SPARE_FILES
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return (
        wanted if soft == resource.RLIM_INFINITY else min(wanted, max(1, soft - SPARE_FILES) // FILES_OF_A_CONNECTION)
    )


def serve(settings: Settings, target: str = TARGET) -> int:
    """Serve until a signal ends it; return the exit code."""
    host = settings.gateway_host
    try:
        listener = listen(host, settings.gateway_port)
    except OSError as error:
        sys.stderr.write(
            f"The gateway cannot listen on {host} port {settings.gateway_port} ({error.strerror}): "
            "stop what uses it, or set LEADLINE_GATEWAY_PORT to another port (0 picks a free one).\n"
        )
        return WRONG_USE
    port = int(listener.getsockname()[1])
    terms = terms_of(settings)
    with listener, tempfile.TemporaryDirectory(prefix="leadline-") as folder:
        inner = Path(folder) / "application.sock"
        server = Granian(
            target,
            uds=inner,
            uds_permissions=0o600,
            interface=Interfaces.WSGI,
            workers=1,
            blocking_threads=settings.gateway_threads,
            backlog=terms.connections,
            http=HTTPModes.http1,
            websockets=False,
            log_level=LogLevels.error,
            workers_kill_timeout=KILL_AFTER_S,
        )
        sys.stderr.write(f"The gateway listens on http://{f'[{host}]' if ':' in host else host}:{port}\n")
        with announced(settings, "gateway", host, port):
            server.serve(target_loader=Loader(target, listener, inner.resolve(), terms), wrap_loader=False)
    return 0


def main() -> int:
    """Read the settings and serve."""
    return serve(load_settings())


if __name__ == "__main__":
    sys.exit(main())
