"""Identifiers: what each names, and how an id sortable by time is spelt."""

import hashlib
from typing import NewType

RunId = NewType("RunId", str)
StepId = NewType("StepId", str)
OwnerId = NewType("OwnerId", str)
SourceId = NewType("SourceId", str)
EvidenceId = NewType("EvidenceId", str)
DocumentId = NewType("DocumentId", str)
JobId = NewType("JobId", str)
LeaseToken = NewType("LeaseToken", str)

LOCAL_OWNER = OwnerId("own_local")
"""The one owner of an installation without keys."""

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_TIME_CHARS = 10
_RANDOM_CHARS = 16
_RANDOM_BYTES = 10


def spell_id(prefix: str, millis: int, entropy: bytes) -> str:
    """Return ``prefix_`` + 26 characters that sort by ``millis`` (ULID layout, Crockford's base 32, lower case).

    ``entropy`` holds exactly 10 bytes.
    """
    if len(entropy) != _RANDOM_BYTES:
        raise ValueError("an id takes 10 bytes of entropy")
    return f"{prefix}_{_base32(millis, _TIME_CHARS)}{_base32(int.from_bytes(entropy, 'big'), _RANDOM_CHARS)}"


def digest_id(prefix: str, *parts: str) -> str:
    """Return an id that is the same for the same parts: 26 base-32 characters of their sha256."""
    digest = hashlib.sha256("\x1f".join(parts).encode()).digest()
    return f"{prefix}_{_base32(int.from_bytes(digest, 'big') >> 126, 26)}"


def sha256_hex(data: bytes) -> str:
    """Return the lower-case hex sha256 of ``data``."""
    return hashlib.sha256(data).hexdigest()


def _base32(number: int, length: int) -> str:
    chars = []
    for _ in range(length):
        number, digit = divmod(number, 32)
        chars.append(_ALPHABET[digit])
    return "".join(reversed(chars))
