"""The archive of a bundle: read within limits, without trusting anything that it says about itself."""

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from services.synthesizer.checking.faults import BUNDLE, Fault

_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    ValueError,
    RuntimeError,
    OverflowError,
    IndexError,
    KeyError,
)
"""What reading a damaged archive may raise; encrypted and exotic members raise RuntimeError."""

_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of a bundle is read; sizes in bytes, uncompressed."""

    members: int = 10_000
    member_bytes: int = 64_000_000
    total_bytes: int = 512_000_000
    archive_bytes: int = 512_000_000


def read_members(data: bytes, limits: Limits) -> tuple[dict[str, bytes], tuple[Fault, ...]]:
    """Return the readable members of an archive by name, and what is wrong with it; never raise."""
    if len(data) > limits.archive_bytes:
        return {}, (Fault(BUNDLE, "too_large", f"The archive has more than {limits.archive_bytes:,} bytes."),)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
            faults = tuple(_listing_faults(members, limits))
            return ({}, faults) if faults else _read(archive, members)
    except _BROKEN as error:
        return {}, (Fault(BUNDLE, "not_a_zip", f"The file cannot be read as a ZIP archive: {error}"),)


def _listing_faults(members: Sequence[zipfile.ZipInfo], limits: Limits) -> Iterator[Fault]:
    """Yield what the list of members alone shows to be wrong."""
    if len(members) > limits.members:
        yield Fault(BUNDLE, "too_many_files", f"The archive holds more than {limits.members:,} files.")
        return
    if sum(m.file_size for m in members) > limits.total_bytes:
        yield Fault(BUNDLE, "too_large", f"The files have more than {limits.total_bytes:,} bytes together.")
    seen: set[str] = set()
    for member in members:
        name = member.filename
        if name in seen:
            yield Fault(name, "doubled", "The archive holds two files of this name.")
        if not _plain_path(name):
            yield Fault(name, "bad_path", "The name of this file is not a plain relative path.")
        if member.file_size > limits.member_bytes:
            yield Fault(name, "too_large", f"The file has more than {limits.member_bytes:,} bytes.")
        if member.compress_type not in _METHODS or member.flag_bits & 0x1:
            yield Fault(name, "unreadable", "The file is encrypted or compressed in a way that bundles do not use.")
        seen.add(name)


def _plain_path(name: str) -> bool:
    parts = name.split("/")
    return name.isprintable() and not set(name) & set("\\:") and all(p not in ("", ".", "..") for p in parts)


def _read(archive: zipfile.ZipFile, members: Sequence[zipfile.ZipInfo]) -> tuple[dict[str, bytes], tuple[Fault, ...]]:
    """Read each member, no further than the size that the checked list gives it."""
    found: dict[str, bytes] = {}
    faults = []
    for member in members:
        try:
            with archive.open(member) as stream:
                found[member.filename] = stream.read(member.file_size + 1)
        except _BROKEN as error:
            faults.append(Fault(member.filename, "altered", f"The file is damaged: {error}"))
    return found, tuple(faults)
