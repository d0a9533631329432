"""Checking a bundle again, offline: no database, no network, no trust in anything that the bundle says of itself."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from services.synthesizer.checking.agreement import check_agreement, rendering_faults
from services.synthesizer.checking.container import Limits, read_members
from services.synthesizer.checking.contents import read_contents
from services.synthesizer.checking.faults import BUNDLE, Fault
from services.synthesizer.checking.manifest import file_faults, read_manifest
from services.synthesizer.checking.references import reference_faults
from services.synthesizer.rendering import RENDERER_VERSION

__all__ = ["Fault", "Limits", "VerifyResult", "verify_bundle"]


@dataclass(frozen=True, slots=True)
class VerifyResult:
    """Whether the bundle holds, what is wrong with it, and what was looked at.

    ``ok`` says that no fault was found, ``complete`` that the renderings were made again as well: only then it holds.
    ``summary`` has ``run_id``, ``files``, ``sources``, ``evidence``, ``statements``, ``emitted``, ``recomputed``
    (verdicts that were computed again), ``recorded`` (verdicts of a model, taken as they stand) and ``renderings``
    ("recomputed", or "not checked" where another version rendered them), as far as the check came.
    """

    ok: bool
    complete: bool
    faults: tuple[Fault, ...]
    summary: Mapping[str, Any] = field(default_factory=dict)


def verify_bundle(bundle: bytes | str | os.PathLike[str], limits: Limits | None = None) -> VerifyResult:
    """Check a bundle, given as bytes or as the path of a file; whatever is wrong becomes a fault, nothing is raised.

    Each stage builds on the one before, so faults of a later stage are reported only when the earlier ones found none:
    archive, manifest and hashes, rows, references, then agreement of verdicts, report and renderings.
    """
    limits = limits or Limits()
    data, unreadable = _load(bundle, limits)
    if data is None:
        return _result(unreadable, {})
    files, faults = read_members(data, limits)
    if faults:
        return _result(faults, {})
    manifest, renderer, faults = read_manifest(files)
    if manifest is None:
        return _result(faults, {"files": len(files)})
    summary: dict[str, Any] = {"run_id": manifest.run_id, "files": len(files)}
    faults = tuple(file_faults(files, manifest))
    if faults:
        return _result(faults, summary)
    contents, faults = read_contents(files)
    if contents is None:
        return _result(faults, summary)
    faults = tuple(reference_faults(contents, manifest.run_id))
    if faults:
        return _result(faults, summary)
    agreement = check_agreement(contents)
    same_renderer = renderer == RENDERER_VERSION
    faults = (*agreement.faults, *(rendering_faults(contents, files) if same_renderer else ()))
    summary |= {
        "sources": len(contents.sources),
        "evidence": len(contents.evidence),
        "statements": len(contents.verdicts),
        "emitted": sum(row.emitted for row in contents.verdicts),
        "recomputed": agreement.recomputed,
        "recorded": len(contents.verdicts) - agreement.recomputed,
        "renderings": "recomputed" if same_renderer else "not checked",
    }
    return _result(faults, summary)


def _load(bundle: bytes | str | os.PathLike[str], limits: Limits) -> tuple[bytes | None, tuple[Fault, ...]]:
    """Return the bytes of the bundle, no more than one past the limit, or why they cannot be read."""
    if isinstance(bundle, bytes):
        return bundle, ()
    try:
        with Path(bundle).open("rb") as file:
            return file.read(limits.archive_bytes + 1), ()
    except (OSError, ValueError) as error:
        return None, (Fault(BUNDLE, "unreadable", f"The file cannot be read: {error}"),)


def _result(faults: Sequence[Fault], summary: Mapping[str, Any]) -> VerifyResult:
    unique = tuple(dict.fromkeys(faults))
    complete = not unique and summary.get("renderings") == "recomputed"
    return VerifyResult(not unique, complete, unique, summary)
