"""Structured logs: one JSON object a line on stderr, without page text and without secrets."""

import json
import logging
import sys
from datetime import UTC, datetime


class JsonLines(logging.Formatter):
    """Formats a record as one line of JSON with time, level, logger, message and, for errors, the traceback."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def set_up_logging(level: str) -> None:
    """Send every log of this process to stderr as JSON lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for noisy in ("celery.app.trace", "celery.worker.strategy", "kombu", "amqp", "httpx2", "openai"):
        logging.getLogger(noisy).setLevel("WARNING")
