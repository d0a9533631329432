"""Where processes with a free port tell it: a folder of files that Prometheus reads as they come and go.

Each process writes one file in the format of Prometheus' file-based service discovery, named by its process id, and
removes it when it ends; one that was killed is tidied away by the next that starts.
"""

import contextlib
import json
import os
from pathlib import Path

FOLDER = Path("run") / "metrics"
"""Below the home of the stack."""


def announce(home: Path, service: str, host: str, port: int) -> Path:
    """Tell where this process shows its figures; return the file that says so. Raises OSError."""
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    folder = home / FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _tidy(folder)
    file = folder / f"{os.getpid()}.json"
    draft = file.with_suffix(".new")
    draft.write_text(json.dumps([{"targets": [address], "labels": {"service": service}}]), encoding="utf-8")
    draft.replace(file)
    return file


def withdraw(file: Path) -> None:
    """Take back what was announced."""
    file.unlink(missing_ok=True)


def announced(home: Path) -> dict[str, str]:
    """Return what live processes have announced: the address by service and process id."""
    found = {}
    for file in sorted((home / FOLDER).glob("*.json")):
        if _lives(file):
            [group] = json.loads(file.read_text(encoding="utf-8"))
            found[f"{group['labels']['service']}-{file.stem}"] = group["targets"][0]
    return found


def _tidy(folder: Path) -> None:
    for file in folder.glob("*.json"):
        if not _lives(file):
            file.unlink(missing_ok=True)


def _lives(file: Path) -> bool:
    """Tell whether the process that wrote the file is there."""
    with contextlib.suppress(ValueError, PermissionError):  # not a file of ours, or a process of somebody else
        try:
            os.kill(int(file.stem), 0)
        except ProcessLookupError:
            return False
    return True
