"""Politeness as data: who may ask a site now, when the next one may, and what the sites' robots.txt said."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who wants to ask a site: the step, which keeps its place in the line, and the lease token of this try."""

    step_id: str
    token: str


@dataclass(frozen=True, slots=True)
class Taken:
    """The slot is ours; the request may begin after ``wait_s`` seconds, which are short enough to sleep through."""

    wait_s: float


@dataclass(frozen=True, slots=True)
class Busy:
    """The slot is not free; a place in the line is kept for the step, which should come back after ``after_s``."""

    after_s: float


class SiteSlots(Protocol):
    """One slot a site, across all workers: one request in flight, and starts at least a delay apart."""

    def take(self, site: str, visitor: Visitor, *, delay_s: float, hold_s: float) -> Taken | Busy:
        """Take the slot for at most ``hold_s`` seconds, or get a place in the line.

        The next start lies at least ``delay_s`` after this one.
        """
        ...

    def release(self, site: str, visitor: Visitor, *, delay_s: float, since_sent_s: float | None) -> None:
        """Free the slot, if it is still ours. ``since_sent_s`` is the age of the request, None when none was sent."""
        ...

    def penalise(self, site: str, seconds: float) -> None:
        """Let nobody start at the site for so many seconds: it asked for that."""
        ...


@dataclass(frozen=True, slots=True)
class RobotsEntry:
    """What an origin answered when it was asked for robots.txt; ``status`` None when no answer came."""

    status: int | None
    body: bytes
    fresh_s: float
    """Seconds for which the entry holds; not positive once it has to be asked for again."""
    failures: int = 0
    """How often in a row no usable answer came."""


class RobotsCache(Protocol):
    """The robots.txt of each origin, shared by all workers."""

    def find(self, origin: str) -> RobotsEntry | None:
        """Return the last answer, fresh or not."""
        ...

    def keep(self, origin: str, entry: RobotsEntry) -> None:
        """Keep an answer in place of the last one."""
        ...
