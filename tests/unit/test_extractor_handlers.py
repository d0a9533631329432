"""Parsing when its process dies: tried again, since a kill from outside says nothing about the document."""

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from services.extractor import handlers
from services.extractor.handlers import Deps, parse_limits
from services.extractor.reading.result import reader_version
from shared.contracts.candidates import page_candidate
from shared.contracts.snapshot import Parse
from shared.domain.ids import OwnerId
from shared.domain.kinds import KINDS
from shared.domain.states import StepKind
from shared.domain.urls import parse_url
from shared.ports.cpu import CpuLimitExceeded, CpuLimits, CpuTaskCrashed
from tests.fakes.materials import MemorySnapshots, make_lease


class BrokenCpu:
    """Ends every task with an error."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def run(self, function: Callable[..., Any], *args: object, limits: CpuLimits) -> Any:
        """Raise the error."""
        raise self._error

    def close(self) -> None:
        """Do nothing."""


class Reads:
    """Ends every task with the same parse and no snapshot."""

    def __init__(self, parse: Parse) -> None:
        self._parse = parse

    def run(self, function: Callable[..., Any], *args: object, limits: CpuLimits) -> Any:
        """Return it."""
        return self._parse, None

    def close(self) -> None:
        """Do nothing."""


class Kept(MemorySnapshots):
    """Remembers which bytes were kept as unreadable."""

    def __init__(self) -> None:
        super().__init__()
        self.failed: list[Parse] = []

    def put_failed(self, owner_id: OwnerId, parse: Parse) -> None:
        """Note it."""
        self.failed.append(parse)


class OneBlob:
    """Holds the same bytes for everyone."""

    def __init__(self) -> None:
        self.dropped = False

    def get(self, owner_id: OwnerId, sha256: str) -> bytes | None:
        """Return the bytes."""
        return b"%PDF-1.7"

    def put(self, owner_id: OwnerId, data: bytes) -> str:
        """Keep nothing."""
        return ""

    def drop(self, owner_id: OwnerId, sha256: str) -> None:
        """Note that the bytes are no longer needed."""
        self.dropped = True


def deps(error: Exception) -> Deps:
    """Return what the parse of a document needs, with a processor that breaks."""
    unused: Any = SimpleNamespace()
    return Deps(unused, Kept(), OneBlob(), unused, BrokenCpu(error), unused)


LEASE = make_lease(StepKind.PARSE, "doc_1", document_id="doc_1", content_sha256="0" * 64, name="a.pdf")


def test_a_child_that_died_is_no_verdict_on_the_document() -> None:
    """The step is tried again; only when its last try ends so too is the document called unreadable."""
    crashing = deps(CpuTaskCrashed(-9))
    with pytest.raises(CpuTaskCrashed):
        handlers.parse(crashing, LEASE)
    assert crashing.blobs.dropped is False  # type: ignore[attr-defined]
    outcome = handlers.parse(crashing, replace(LEASE, last_try=True))
    assert outcome.document is not None
    assert "broke each time" in (outcome.document.parse.reason or "")


@pytest.mark.parametrize(("limit", "told"), [("memory", "more memory"), ("wall", "its limits"), ("cpu", "its limits")])
def test_a_limit_ends_a_try_and_is_kept_of_nobody(limit: Any, told: str) -> None:
    """The step ends with it, and the next reader of the same bytes tries for itself."""
    limited = deps(CpuLimitExceeded(limit))
    outcome = handlers.parse(limited, LEASE)
    assert outcome.document is not None
    assert told in (outcome.document.parse.reason or "")
    assert limited.snapshots.failed == []  # type: ignore[attr-defined]


def test_what_the_reader_itself_says_is_kept() -> None:
    """Bytes without a text stay without one."""
    broken = Parse(content_sha256="0" * 64, reader_version="2", status="broken", reason="It is damaged.")
    read = replace(deps(CpuTaskCrashed(-9)), cpu=Reads(broken))
    handlers.parse(read, LEASE)
    assert read.snapshots.failed == [broken]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("size", "seconds"), [(0, 20.0), (3_000, 20.024), (2_500_000, 40.0), (10_000_000, 90.0), (10**9, 90.0)]
)
def test_processor_time_is_granted_by_size(size: int, seconds: float) -> None:
    """A small file that spins is stopped soon; the wall clock is a guard far behind, within the step's deadline."""
    limits = parse_limits(size)
    assert limits.cpu_s == pytest.approx(seconds)
    assert 2 * limits.cpu_s < limits.wall_s < KINDS[StepKind.PARSE].deadline_s - 60


SHELL = Parse(
    content_sha256="0" * 64,
    reader_version=reader_version("pymupdf"),
    status="thin_content",
    reason="The page needs JavaScript.",
)


@pytest.mark.parametrize(
    ("has_browser", "tier", "status", "asks"),
    [
        (True, "static", "thin_content", True),
        (True, "browser", "thin_content", False),
        (True, "static", "blocked", False),
        (False, "static", "thin_content", False),
    ],
)
def test_a_page_that_needs_its_scripts_goes_to_a_browser_once(
    has_browser: bool, tier: str, status: str, asks: bool
) -> None:
    """Only what is thin, only where there is a browser, and not when a browser has read it already."""
    source = page_candidate("run_1", parse_url("http://a.test/app"))
    reads = Reads(SHELL.model_copy(update={"status": status}))
    materials: Any = SimpleNamespace(facts=lambda run_id: None, source=lambda run_id, source_id: source)
    unused: Any = SimpleNamespace()
    given = Deps(materials, Kept(), OneBlob(), unused, reads, unused, has_browser=has_browser)
    lease = make_lease(StepKind.PARSE, "src", source_id="src", content_sha256="0" * 64, name="a", query="q", tier=tier)
    outcome = handlers.parse(given, lease)
    assert ("browser" in outcome.result) is asks
    assert outcome.sources[0].status == ("blocked" if status == "blocked" else "unsupported")
    if asks:
        assert outcome.result["browser"]["url"] == "http://a.test/app"
    if not has_browser:
        assert "No browser is set up here" in (outcome.sources[0].reason or "")
