"""The manifest of a bundle: itself unaltered, and every file as it says."""

from collections.abc import Iterator, Mapping

from pydantic import ValidationError

from services.synthesizer.checking.faults import Fault
from services.synthesizer.checking.parsing import NotJson, parse_json
from services.synthesizer.rendering.bundle import (
    EVIDENCE,
    FETCHES,
    MANIFEST,
    REPORT,
    REPORT_HTML,
    REPORT_MD,
    SOURCES,
    VERDICTS,
    canonical_json,
)
from shared.contracts.bundle import Manifest
from shared.domain.ids import sha256_hex

NEEDED = (REPORT, REPORT_MD, REPORT_HTML, EVIDENCE, SOURCES, FETCHES, VERDICTS)


def read_manifest(files: Mapping[str, bytes]) -> tuple[Manifest | None, str | None, tuple[Fault, ...]]:
    """Return the manifest, the version of the renderer that it names, and what is wrong with it."""
    if MANIFEST not in files:
        return None, None, (Fault(MANIFEST, "missing", "The bundle has no manifest."),)
    try:
        body = parse_json(files[MANIFEST])
        manifest = Manifest.model_validate(body)
        if canonical_json(body) != files[MANIFEST]:
            return None, None, (Fault(MANIFEST, "altered", "The manifest is not canonical JSON."),)
        unsigned = canonical_json({key: value for key, value in body.items() if key != "manifest_sha256"})
    except (NotJson, ValidationError) as error:
        return None, None, (Fault(MANIFEST, "altered", f"The manifest cannot be read: {error}"),)
    if sha256_hex(unsigned) != manifest.manifest_sha256:
        return None, None, (Fault(MANIFEST, "altered", "The manifest does not have the hash that it names."),)
    renderer = body.get("renderer")
    return manifest, renderer if isinstance(renderer, str) else None, ()


def file_faults(files: Mapping[str, bytes], manifest: Manifest) -> Iterator[Fault]:
    """Yield the files that are missing, too many, or not as the manifest says."""
    for path in NEEDED:
        if path not in manifest.files:
            yield Fault(path, "missing", "The manifest does not name this file, which every bundle has.")
    for path in files:
        if path != MANIFEST and path not in manifest.files:
            yield Fault(path, "not_in_manifest", "The manifest does not name this file.")
    for path, entry in manifest.files.items():
        data = files.get(path)
        if data is None:
            yield Fault(path, "missing", "The manifest names this file, but it is not there.")
        elif len(data) != entry.bytes or sha256_hex(data) != entry.sha256:
            yield Fault(path, "altered", "The file does not have the size and sha256 that the manifest names.")
