"""Whether a process answers: ``python -m shared.observability.probe URL``, for the health checks of containers.

Needs nothing but the standard library, so that it costs little though it runs every few seconds.
"""

import http.client
import sys
from urllib.parse import urlsplit

TIMEOUT_S = 4.0


def fault(url: str) -> str | None:
    """Return what is wrong with whoever should answer 200 there, None when nothing is."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=TIMEOUT_S)
    try:
        connection.request("GET", parts.path or "/")
        answer = connection.getresponse()
        text = answer.read(500).decode("utf-8", "replace")
    except (OSError, http.client.HTTPException) as error:
        return f"{url} does not answer: {error}"
    finally:
        connection.close()
    return None if answer.status == http.client.OK else f"{url} answers {answer.status}: {text}"


def main() -> int:
    """Exit 0 when all is well, 1 with a sentence when it is not."""
    wrong = fault(sys.argv[1])
    if wrong is not None:
        sys.stderr.write(f"{wrong}\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
