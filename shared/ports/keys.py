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


class Keys(Protocol):
    """Looking keys up on every request."""

    def owner_of(self, key: str) -> OwnerId | None:
        """Return the owner of a living key; None for an unknown, revoked or expired one."""
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
