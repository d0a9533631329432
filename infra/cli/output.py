"""Results: printed, or written to files whole or not at all."""

import contextlib
import json
import os
import secrets
from pathlib import Path

from infra.cli.console import Console
from infra.cli.exits import CliError


def write_whole(path: Path, data: bytes, otherwise: str) -> None:
    """Replace ``path`` by a file with this content; raise `CliError` with ``otherwise`` as what to do instead."""
    place = Path(os.path.realpath(path))  # a link keeps pointing where it does
    if os.path.exists(place) and not place.is_file():
        _write_into(place, data, otherwise)
        return
    draft = place.with_name(f".{place.name[:100]}.{secrets.token_hex(4)}")
    try:
        with draft.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(place)
    except OSError as error:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        raise CliError(f"{path} cannot be written ({error.strerror}): {otherwise}.") from error


def _write_into(device: Path, data: bytes, otherwise: str) -> None:
    """Write to what is no ordinary file, such as /dev/stdout or a pipe."""
    try:
        with device.open("wb") as file:
            file.write(data)
    except OSError as error:
        raise CliError(f"{device} cannot be written ({error.strerror}): {otherwise}.") from error


def as_printed(content: bytes) -> bytes:
    """Return JSON laid out for people."""
    return json.dumps(json.loads(content), ensure_ascii=False, indent=2).encode() + b"\n"


def printed(console: Console, content: bytes, *, whole_lines: bool = True) -> None:
    """Write content to standard output; text ends with a line break."""
    console.write(content + b"\n" if whole_lines and not content.endswith(b"\n") else content)
