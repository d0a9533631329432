"""The version of the program, from the project's own description."""

import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]


def project_version() -> str:
    """Return the version that ``pyproject.toml`` gives."""
    text = PROJECT.joinpath("pyproject.toml").read_text(encoding="utf-8")
    return str(tomllib.loads(text)["project"]["version"])
