"""Bearer keys: how one is spelt and told apart. 256 random bits need no slow hash: sha256 is kept, never the key."""

import base64
import re
from dataclasses import dataclass

from shared.domain.ids import sha256_hex

PREFIX = "ldl"
ID_BYTES = 5
SECRET_BYTES = 32
_KEY = re.compile(rf"{PREFIX}_(?P<id>[a-z2-7]{{8}})_(?P<secret>[A-Za-z0-9_-]{{43}})")


@dataclass(frozen=True, slots=True)
class SpeltKey:
    """A key: its id, by which it is looked up and named, the hash that is kept, and the whole text, shown once."""

    key_id: str
    sha256: str
    text: str


def spell_key(entropy: bytes) -> SpeltKey:
    """Spell a key from exactly 37 random bytes."""
    if len(entropy) != ID_BYTES + SECRET_BYTES:
        raise ValueError("a key takes 37 bytes of entropy")
    key_id = base64.b32encode(entropy[:ID_BYTES]).decode().lower()
    secret = base64.urlsafe_b64encode(entropy[ID_BYTES:]).decode().rstrip("=")
    text = f"{PREFIX}_{key_id}_{secret}"
    return SpeltKey(key_id, sha256_hex(text.encode()), text)


def read_key(text: str) -> SpeltKey | None:
    """Read a key as a client sent it; None for what cannot be one."""
    match = _KEY.fullmatch(text)
    return SpeltKey(match["id"], sha256_hex(text.encode()), text) if match else None
