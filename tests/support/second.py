"""The second collection of inputs that broke other systems, where it is at hand."""

import pytest

from tests.support.cases import CASES

SECOND = CASES / "second"
needs_second = pytest.mark.skipif(
    not (SECOND / "index.json").is_file(), reason="the second collection of cases is not at hand (LEADLINE_TEST_DATA)"
)


def second(name: str) -> bytes:
    """Return the bytes of one input."""
    return (SECOND / name).read_bytes()
