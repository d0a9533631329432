"""The base of every contract: frozen, and strict about names it does not know."""

from pydantic import BaseModel, ConfigDict


class Contract(BaseModel):
    """A value that crosses a process: frozen; unknown fields are refused, so that a typing slip is seen."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Stored(BaseModel):
    """A value that is stored as JSON: frozen; fields that a newer version added are ignored by an older reader."""

    model_config = ConfigDict(frozen=True, extra="ignore")
