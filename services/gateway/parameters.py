"""The query parameters of each route; a name that a route does not know is refused."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from shared.contracts.base import Contract
from shared.domain.states import RunStatus

Opaque = Annotated[str, StringConstraints(min_length=1, max_length=500, pattern=r"^[\x20-\x7e]+$")]

LARGEST_SEQ = 2**31 - 1
"""The largest sequence number that the table of events can hold."""


class NoParameters(Contract):
    """A route without parameters."""


class HomeQuery(Contract):
    """Which runs the page of runs lists; an empty status stands for all."""

    status: RunStatus | Literal[""] | None = None
    cursor: Opaque | None = None


class RunsQuery(Contract):
    """Which runs to list, and how many at once."""

    session_id: str | None = Field(default=None, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")
    status: RunStatus | None = None
    cursor: Opaque | None = None
    limit: int = Field(default=20, ge=1, le=100)


class DocumentsQuery(Contract):
    """How many documents to list at once."""

    cursor: Opaque | None = None
    limit: int = Field(default=50, ge=1, le=200)


class EventsQuery(Contract):
    """From which event on: those with a sequence number over ``after``; ``limit`` bounds a JSON answer only."""

    after: int = Field(default=0, ge=0, le=LARGEST_SEQ)
    limit: int = Field(default=1000, ge=1, le=1000)


class ReportQuery(Contract):
    """In which format to give the report."""

    format: Literal["json", "md", "html", "bundle"] = "json"
