"""Entry of Flower, the monitor of Celery's workers: ``python -m shared.flower_process``.

It runs on our own Celery application, so that it finds our keys in Redis and our workers. It only shows: whatever would
change something is switched off.
"""

import importlib.util
import sys

from shared.config.settings import Settings, load_settings
from shared.observability.figures import announced
from shared.observability.logging import set_up_logging
from shared.queues.celery_app import build_app

TASKS_KEPT = 10_000
INSPECT_TIMEOUT_MS = 3_000
WRONG_USE = 2
NOT_INSTALLED = "Flower is not installed: `python -m pip install 'flower>=2.2'` with the Python that runs Leadline."


def fault(settings: Settings) -> str | None:
    """Return in a sentence why Flower cannot be started, None when it can."""
    if importlib.util.find_spec("flower") is None:
        return NOT_INSTALLED
    if settings.broker_url is None:
        return "LEADLINE_BROKER_URL is not set: name the broker that the workers use."
    auth = settings.flower_auth.get_secret_value() if settings.flower_auth else ""
    user, colon, password = auth.partition(":")
    if not (user and colon and password) or "," in auth:
        return "LEADLINE_FLOWER_AUTH is not set to user:password (without a comma): Flower shows nothing to strangers."
    return None


def arguments(settings: Settings) -> list[str]:
    """Return what Flower is told; it never leaves this process, so that no list of processes shows the password."""
    assert settings.flower_auth is not None
    return [
        "flower",
        f"--address={settings.flower_host}",
        f"--port={settings.flower_port}",
        f"--basic_auth={settings.flower_auth.get_secret_value()}",
        f"--inspect_timeout={INSPECT_TIMEOUT_MS}",
        f"--max_tasks={TASKS_KEPT}",
        "--read_only=true",
    ]


def main() -> int:
    """Serve until SIGTERM or SIGINT."""
    settings = load_settings()
    why_not = fault(settings)
    if why_not is not None or settings.broker_url is None:
        sys.stderr.write(f"{why_not}\n")
        return WRONG_USE
    set_up_logging(settings.log_level)
    app = build_app("flower", settings.broker_url.get_secret_value())
    with announced(settings, "flower", settings.flower_host, settings.flower_port):
        return int(app.start(["--quiet", *arguments(settings)]) or 0)


if __name__ == "__main__":
    sys.exit(main())
