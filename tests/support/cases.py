"""The collection of inputs that broke other systems (`index.json` and its files), where it is at hand."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

_DATA = os.environ.get("LEADLINE_TEST_DATA")
CASES = Path(_DATA).parent / "cases" if _DATA else Path(__file__).parents[2].parent / "shared" / "cases"
needs_cases = pytest.mark.skipif(
    not (CASES / "index.json").is_file(), reason="the collection of cases is not at hand (LEADLINE_TEST_DATA)"
)


def index() -> list[dict[str, Any]]:
    """Return what the index says of each case; nothing where it is missing."""
    path = CASES / "index.json"
    return json.loads(path.read_text("utf-8")) if path.is_file() else []


def case(name: str) -> tuple[dict[str, Any], bytes]:
    """Return what the index says of a case, and its bytes."""
    entry = next((e for e in index() if e["id"] == name), None)
    if entry is None:
        pytest.skip(f"{name} is not in this collection")
    return entry, (CASES / entry["input_file"]).read_bytes()
