"""The bundle: a report with everything that is needed to check it again, offline, as one ZIP file."""

import io
import json
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import BaseModel

from services.synthesizer.rendering import RENDERER_VERSION
from services.synthesizer.rendering.html import render_html
from services.synthesizer.rendering.markdown import render_markdown
from shared.contracts.evidence import Evidence, Fetch, Source
from shared.contracts.report import Report, VerdictRow
from shared.domain.ids import sha256_hex

MANIFEST = "manifest.json"
REPORT = "report.json"
REPORT_MD = "report.md"
REPORT_HTML = "report.html"
EVIDENCE = "evidence.jsonl"
SOURCES = "sources.jsonl"
FETCHES = "fetches.jsonl"
VERDICTS = "verdicts.jsonl"

_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a ZIP file can hold; every member carries it, so the same content gives the same bytes."""


@dataclass(frozen=True, slots=True)
class BundleInput:
    """A report and its rows; ``snapshots`` are the texts of the evidence's snapshots by sha256."""

    report: Report
    evidence: tuple[Evidence, ...]
    sources: tuple[Source, ...]
    fetches: tuple[Fetch, ...]
    verdicts: tuple[VerdictRow, ...]
    snapshots: Mapping[str, str]
    run_id: str
    created_at: datetime


def bundle_files(parts: BundleInput) -> dict[str, bytes]:
    """Return the files of the bundle by path, the manifest among them."""
    needed = sorted({e.snapshot_sha256 for e in parts.evidence} & parts.snapshots.keys())
    files = {
        REPORT: canonical_json(parts.report.model_dump(mode="json")),
        REPORT_MD: render_markdown(parts.report, parts.evidence, parts.sources).encode(),
        REPORT_HTML: render_html(parts.report, parts.evidence, parts.sources).encode(),
        EVIDENCE: _lines(parts.evidence),
        SOURCES: _lines(parts.sources),
        FETCHES: _lines(parts.fetches),
        VERDICTS: _lines(parts.verdicts),
        **{snapshot_path(sha256): parts.snapshots[sha256].encode() for sha256 in needed},
    }
    return {MANIFEST: manifest_json(files, parts.run_id, parts.created_at.isoformat()), **files}


def manifest_json(files: Mapping[str, bytes], run_id: str, created_at: str) -> bytes:
    """Return the manifest of these files as canonical JSON, its own hash in it."""
    body = {
        "format": "leadline-bundle",
        "version": 1,
        "run_id": run_id,
        "created_at": created_at,
        "renderer": RENDERER_VERSION,
        "files": {path: {"sha256": sha256_hex(data), "bytes": len(data)} for path, data in files.items()},
    }
    return canonical_json({**body, "manifest_sha256": sha256_hex(canonical_json(body))})


def write_bundle(files: Mapping[str, bytes]) -> bytes:
    """Return the files as a ZIP archive: sorted, without times, stored uncompressed.

    The same files give the same bytes everywhere, and every byte of content stands in the archive as it is, so that one
    that was altered is always found.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for path in sorted(files):
            member = zipfile.ZipInfo(path, _EPOCH)
            member.create_system = 3
            member.external_attr = 0o644 << 16
            archive.writestr(member, files[path])
    return buffer.getvalue()


def snapshot_path(sha256: str) -> str:
    """Return the path of a snapshot in the bundle."""
    return f"snapshots/{sha256}.txt"


def canonical_json(value: Any) -> bytes:
    """Return JSON with sorted keys and without spaces, as UTF-8; NaN and infinities are refused with a ValueError."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def _lines(rows: Iterable[BaseModel]) -> bytes:
    return b"".join(canonical_json(row.model_dump(mode="json")) + b"\n" for row in rows)
