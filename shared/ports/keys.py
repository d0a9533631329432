"""Whose key is it: looking bearer keys up, and making and revoking them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from shared.domain.ids import OwnerId


@dataclass(frozen=True, slots=True)
class KeyFacts:
    """What is known of a key; the key itself is shown only when it is made."""

    key_id: str
    owner: str
    name: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None


@dataclass(frozen=True, slots=True)
class Holder:
    """Who asks: an owner, and the key that came along, if keys are asked for."""

    owner_id: OwnerId
    key_id: str | None = None


class Keys(Protocol):
    """Looking keys up on every request."""

    def holder_of(self, key: str) -> Holder | None:
        """Return whose living key this is; None for an unknown, revoked or expired one."""
        ...

    def living(self, key_id: str) -> bool:
        """Tell whether a key that was good before still is."""
        ...


class KeyRing(Keys, Protocol):
    """Making and revoking keys, for whoever runs the installation."""

    def create(self, owner_name: str, name: str, days: int | None) -> str:
        """Make a key for the owner of this name, who is made too if need be; return the key, which is not kept."""
        ...

    def every(self) -> tuple[KeyFacts, ...]:
        """Return all keys, newest first."""
        ...

    def revoke(self, key_id: str) -> None:
        """Revoke a key; raise `NotFound`. Revoking twice changes nothing."""
        ...
