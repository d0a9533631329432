"""The rows of a bundle, read into the contracts that they were written from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from pydantic import ValidationError

from services.synthesizer.checking.faults import Fault
from services.synthesizer.checking.parsing import NotJson, parse_json, parse_lines
from services.synthesizer.rendering.bundle import EVIDENCE, FETCHES, REPORT, SOURCES, VERDICTS
from shared.contracts.base import Stored
from shared.contracts.evidence import Evidence, Fetch, Source
from shared.contracts.report import Report, VerdictRow
from shared.domain.ids import sha256_hex

SNAPSHOTS = "snapshots/"
_SUFFIX = ".txt"

Row = TypeVar("Row", bound=Stored)


@dataclass(frozen=True, slots=True)
class Contents:
    """What a bundle holds; snapshot texts by sha256."""

    report: Report
    evidence: tuple[Evidence, ...]
    sources: tuple[Source, ...]
    fetches: tuple[Fetch, ...]
    verdicts: tuple[VerdictRow, ...]
    snapshots: Mapping[str, str]


def read_contents(files: Mapping[str, bytes]) -> tuple[Contents | None, tuple[Fault, ...]]:
    """Return the rows of a bundle, or None and what cannot be read of them."""
    faults: list[Fault] = []
    report = _report(files[REPORT], faults)
    evidence = _rows(EVIDENCE, Evidence, "evidence_id", files, faults)
    sources = _rows(SOURCES, Source, "source_id", files, faults)
    fetches = _rows(FETCHES, Fetch, "fetch_id", files, faults)
    verdicts = _rows(VERDICTS, VerdictRow, "statement_id", files, faults)
    snapshots = _snapshots(files, faults)
    if report is None or faults:
        return None, tuple(faults)
    return Contents(report, evidence, sources, fetches, verdicts, snapshots), ()


def brief(error: ValueError) -> str:
    """Return an error in one line; of a validation error the first fault and its place."""
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


def _report(data: bytes, faults: list[Fault]) -> Report | None:
    try:
        return Report.model_validate(parse_json(data))
    except (NotJson, ValidationError) as error:
        faults.append(Fault(REPORT, "schema", f"The report cannot be read: {brief(error)}"))
        return None


def _rows(path: str, model: type[Row], key: str, files: Mapping[str, bytes], faults: list[Fault]) -> tuple[Row, ...]:
    """Read JSON lines into rows with different ids."""
    rows: dict[str, Row] = {}
    try:
        for number, value in parse_lines(files[path]):
            row = model.model_validate(value)
            row_id = str(getattr(row, key))
            if row_id in rows:
                faults.append(Fault(path, "doubled_id", f"Line {number} repeats the id {row_id}."))
            rows[row_id] = row
    except (NotJson, ValidationError) as error:
        faults.append(Fault(path, "schema", f"The rows cannot be read: {brief(error)}"))
    return tuple(rows.values())


def _snapshots(files: Mapping[str, bytes], faults: list[Fault]) -> dict[str, str]:
    found: dict[str, str] = {}
    for path, data in files.items():
        if not path.startswith(SNAPSHOTS):
            continue
        sha256 = path.removeprefix(SNAPSHOTS).removesuffix(_SUFFIX)
        if not path.endswith(_SUFFIX) or sha256_hex(data) != sha256:
            faults.append(Fault(path, "wrong_name", "The snapshot is not named by the sha256 of its bytes."))
            continue
        try:
            found[sha256] = data.decode("utf-8")
        except UnicodeDecodeError as error:
            faults.append(Fault(path, "schema", f"The snapshot is not UTF-8: {error.reason}"))
    return found
