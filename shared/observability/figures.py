"""The figures of a process, ready to count and, where the settings say so, to be scraped."""

import logging
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from shared.config.settings import Settings
from shared.config.version import project_version
from shared.observability.exposition import MetricsServer
from shared.observability.metrics import MetricsObserver, MetricsText, build_metrics
from shared.observability.targets import announce, withdraw
from shared.ports.observer import Exposition, Observer

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Figures:
    """What counts, what shows the counts, and the function that stops showing them."""

    observer: Observer
    exposition: Exposition
    close: Callable[[], None]


def open_figures(service: str) -> Figures:
    """Return figures without a port of their own, for a process that shows them itself."""
    metrics = build_metrics(service, project_version())
    return Figures(MetricsObserver(metrics), MetricsText(metrics), lambda: None)


def serve_figures(settings: Settings, service: str, alive: Callable[[], bool] = lambda: True) -> Figures:
    """Return figures, shown on the port of the settings; without one, or where it is taken, they are counted only.

    ``alive`` tells beside them whether the process does its work.
    """
    figures = open_figures(service)
    if settings.metrics_port is None:
        return figures
    host, port = settings.metrics_host, settings.metrics_port
    try:
        server = MetricsServer(figures.exposition, host, port, alive)
    except OSError as error:
        log.warning("no figures are shown: %s port %s cannot be listened on (%s)", host, port, error.strerror)
        return figures
    tell = announced(settings, service, host, server.port)

    def close() -> None:
        tell.close()
        server.close()

    return Figures(figures.observer, figures.exposition, close)


def announced(settings: Settings, service: str, host: str, port: int) -> ExitStack:
    """Tell in the home where figures are shown, if their port was to be a free one; closing takes that back."""
    taking_back = ExitStack()
    if settings.metrics_port == 0:
        try:
            taking_back.callback(withdraw, announce(settings.home, service, host, port))
        except OSError as error:
            log.warning("it is not told where figures are shown: %s", error)
    return taking_back
