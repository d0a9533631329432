"""The gateway's process: ``python -m services.gateway.wsgi`` serves the API with granian.

granian runs a main process that listens and one worker that serves. The worker watches two things that granian does
not tell it: that a stop was asked for, so that open event streams end at once, and that the main process is gone. When
the worker dies, the main process ends with 1: whoever runs it starts both anew, as after any other crash.
"""

import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from multiprocessing.connection import wait

from flask import Flask
from granian import Granian
from granian.constants import HTTPModes, Interfaces
from granian.log import LogLevels

from services.gateway.app import Deps, Limits, create_app, hub_of
from services.gateway.deps import Configured
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
    app = create_app(deps)
    watch_for_end(hub_of(app))
    return app


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


def watch_for_end(hub: Hub) -> None:
    """End the streams when this worker gets a signal, and the worker when its parent process is gone.

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
        if signalled not in ready:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(KILL_AFTER_S)  # nobody else would end a worker that a request keeps busy
            os._exit(1)

    threading.Thread(target=watch, name="end-of-process", daemon=True).start()


def free_port(host: str, port: int) -> int:
    """Return ``port`` if one can listen on it, or any free one for 0; raise OSError when it is taken.

    granian shares ports with whoever else shares them, so that a second gateway would start beside the first.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((host, port))
        return int(probe.getsockname()[1])


def serve(settings: Settings, target: str = TARGET) -> int:
    """Serve until a signal ends it; return the exit code."""
    host = settings.gateway_host
    try:
        port = free_port(host, settings.gateway_port)
    except OSError as error:
        sys.stderr.write(
            f"The gateway cannot listen on {host} port {settings.gateway_port} ({error.strerror}): "
            "stop what uses it, or set LEADLINE_GATEWAY_PORT to another port (0 picks a free one).\n"
        )
        return WRONG_USE
    server = Granian(
        target,
        address=host,
        port=port,
        interface=Interfaces.WSGI,
        workers=1,
        blocking_threads=settings.gateway_threads,
        http=HTTPModes.http1,
        websockets=False,
        factory=True,
        log_level=LogLevels.error,
        workers_kill_timeout=KILL_AFTER_S,
    )
    sys.stderr.write(f"The gateway listens on http://{f'[{host}]' if ':' in host else host}:{port}\n")
    with announced(settings, "gateway", host, port):
        server.serve()
    return 0


def main() -> int:
    """Read the settings and serve."""
    return serve(load_settings())


if __name__ == "__main__":
    sys.exit(main())
