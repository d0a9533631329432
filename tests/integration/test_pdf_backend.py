"""The library that opens PDFs is a setting, and it reaches the process that reads."""

from importlib.metadata import PackageNotFoundError, version
from types import SimpleNamespace
from typing import Any

import pymupdf
import pytest

from services.extractor import handlers, worker
from services.extractor.reading.result import PdfBackend, reader_version
from shared.adapters.cpu import ProcessCpu
from shared.config.settings import Settings
from shared.domain.ids import sha256_hex
from shared.domain.states import StepKind
from tests.fakes.materials import MemorySnapshots, make_lease


def one_page() -> bytes:
    """Return a PDF of one sentence."""
    document: Any = pymupdf.open()
    document.new_page().insert_text((60, 100), "The basin is 12 m deep.")
    data: bytes = document.tobytes()
    document.close()
    return data


@pytest.mark.parametrize("backend", ["pymupdf", "pypdfium2"])
def test_the_setting_reaches_the_reading_process(backend: PdfBackend) -> None:
    """The same text comes of it; the reading carries the library's name, so that a change of library reads anew."""
    data = one_page()
    lease = make_lease(StepKind.PARSE, "doc_1", document_id="doc_1", content_sha256=sha256_hex(data), name="a.pdf")
    snapshots, unused = MemorySnapshots(), SimpleNamespace()
    blobs = SimpleNamespace(get=lambda owner, sha256: data, drop=lambda owner, sha256: None)
    cpu = ProcessCpu(1)
    try:
        deps = handlers.Deps(unused, snapshots, blobs, unused, cpu, unused, backend)  # type: ignore[arg-type]
        outcome = handlers.parse(deps, lease)
    finally:
        cpu.close()
    assert outcome.document is not None
    parse = outcome.document.parse
    assert (parse.status, parse.chars) == ("ok", 23)
    assert parse.reader_version == reader_version(backend)
    assert len({reader_version("pymupdf"), reader_version("pypdfium2")}) == 2


def test_the_worker_hands_the_setting_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the environment to what the handlers are given."""
    monkeypatch.setenv("LEADLINE_PDF_BACKEND", "pypdfium2")
    parts: Any = SimpleNamespace(
        settings=Settings(),
        storage=SimpleNamespace(materials=None, snapshots=None, blobs=None, index=None),
        cpu=None,
        model_of=None,
        reader=None,
    )
    assert worker._deps(parts).pdf_backend == "pypdfium2"


def test_a_library_that_is_not_there_stops_the_worker() -> None:
    """With a sentence that says what to install."""
    name = "surely-not-installed-pdf-library"
    with pytest.raises(PackageNotFoundError):
        version(name)
    with pytest.raises(worker.PdfLibraryMissing, match="pip install"):
        worker.check_pdf_library(name)
