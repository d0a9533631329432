"""What the process with the browser is told and what it tells, as JSON over a pipe."""

import json
from dataclasses import asdict, dataclass

MAX_HTML = 5_000_000
"""Code points of a page's markup; what is over is cut."""


@dataclass(frozen=True, slots=True)
class RenderTask:
    """One page to read; times in seconds."""

    url: str
    proxy_port: int
    program: str
    user_agent: str
    robots: str
    """The rules of the page's own origin that speak to us."""
    load_s: float = 15.0
    settle_s: float = 6.0
    """How long the page may go on loading once its markup is there."""
    requests: int = 200

    def to_json(self) -> str:
        """Return it as JSON text."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "RenderTask":
        """Read what `to_json` wrote."""
        return cls(**json.loads(text))


@dataclass(frozen=True, slots=True)
class RenderResult:
    """The page as it stood after its scripts, or the code of the error that it ended in."""

    url: str = ""
    status: int = 0
    html: str = ""
    cut: bool = False
    dropped: int = 0
    """Requests of the page that were not made: media, what robots.txt forbids, what is over the limit."""
    error: str | None = None
    detail: str = ""

    def to_json(self) -> str:
        """Return it as JSON text."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "RenderResult":
        """Read what `to_json` wrote."""
        return cls(**json.loads(text))
