"""What the benches ask for, on the test data where they are at hand: duplicates, dates, PDFs in limited processes."""

import pytest

from evals.bench import dates, neardup
from evals.bench.pdfs import BACKENDS, FOLDER, run
from evals.truth.sets import DATA, rows
from shared.adapters.cpu import ProcessCpu


@pytest.mark.skipif(not (DATA / "neardup").is_dir(), reason="the near-duplicates are not at hand")
def test_near_duplicates() -> None:
    """Planted copies and variants of pages are found, and nothing else."""
    for result in neardup.measure_all().values():
        assert result["precision"] >= neardup.LEAST
        assert result["recall"] >= neardup.LEAST


@pytest.mark.skipif(not (DATA / "html" / "metadata").is_dir(), reason="the pages with dates are not at hand")
def test_dates_of_publication() -> None:
    """Dates from explicit marks are right."""
    assert dates.measure()["precision"] >= dates.LEAST_PRECISION


@pytest.mark.skipif(not (FOLDER / "manifest.jsonl").is_file(), reason="the PDFs are not at hand")
def test_no_pdf_ends_a_worker() -> None:
    """Broken files and such as want a password, with both libraries, one after the other in one process."""
    manifest = [
        dict(row) for row in rows("pdf/manifest.jsonl") if str(row["file"]).split("/")[0] in ("broken", "encrypted")
    ]
    cpu = ProcessCpu(1)
    try:
        for backend in BACKENDS:
            result = run(cpu, backend, manifest)
            assert result["died"] == 0
            assert sum(result["statuses"].values()) == len(manifest)
    finally:
        cpu.close()
