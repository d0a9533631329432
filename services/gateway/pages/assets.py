"""Scripts, styles and the icon, read once; their address carries a hash, so that a browser keeps them for good."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from flask import Response

from shared.domain.errors import NotFound

STATIC = Path(__file__).parents[1] / "web" / "static"
MEDIA_TYPES: Mapping[str, str] = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
FOR_GOOD = "public, max-age=31536000, immutable"
NOT_KEPT = "no-store"


@dataclass(frozen=True, slots=True)
class Assets:
    """All files by name; ``tag`` stands for the contents of all of them together."""

    files: Mapping[str, bytes]
    tag: str

    @property
    def base(self) -> str:
        """Return the folder of the files as an address; scripts name each other relative to it."""
        return f"/static/{self.tag}"


@cache
def assets() -> Assets:
    """Read the files; kept for the life of the process."""
    files = {path.name: path.read_bytes() for path in sorted(STATIC.iterdir()) if path.suffix in MEDIA_TYPES}
    digest = hashlib.sha256()
    for name, data in files.items():
        digest.update(f"{name}:{len(data)}:".encode() + data)
    return Assets(files, digest.hexdigest()[:12])


def asset(tag: str, name: str) -> Response:
    """Return a file; one that is asked for by the tag of another version is given as it is now, and not kept."""
    known = assets()
    data = known.files.get(name)
    if data is None:
        raise NotFound("There is no such file.")
    answer = Response(data, content_type=MEDIA_TYPES[Path(name).suffix])
    answer.headers["Cache-Control"] = FOR_GOOD if tag == known.tag else NOT_KEPT
    return answer
