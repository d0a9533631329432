"""The bundle's manifest, format version 1."""

from datetime import datetime
from typing import Literal

from shared.contracts.base import Stored


class BundleFile(Stored):
    """A file of the bundle."""

    sha256: str
    bytes: int


class Manifest(Stored):
    """What the bundle holds; ``manifest_sha256`` is the sha256 of the canonical JSON of the rest."""

    format: Literal["leadline-bundle"] = "leadline-bundle"
    version: Literal[1] = 1
    run_id: str
    created_at: datetime
    files: dict[str, BundleFile]
    manifest_sha256: str
