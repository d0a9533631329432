"""Files that are zip archives of XML (Office, EPUB): parts by name within limits, relationships that stay inside.

Nothing is unpacked to disk, no part is read that no reader asks for, and a relationship to anything outside of the
archive does not exist.
"""

import posixpath
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from urllib.parse import unquote
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, LargeZipFile, ZipFile, ZipInfo

from lxml.etree import _Element

from services.extractor.reading.result import Unreadable
from services.extractor.reading.xml import attribute, local, parse_xml

MAX_ENTRIES = 20_000
MAX_PART = 128 * 1024 * 1024  # bytes that one part may unpack to
MAX_TOTAL = 256 * 1024 * 1024  # bytes that all parts together may unpack to
_FAILURES = (BadZipFile, LargeZipFile, zlib.error, EOFError, NotImplementedError, OSError, ValueError, struct.error)
_ENCRYPTED = 0x1  # flag of an entry


@dataclass(frozen=True, slots=True)
class Relation:
    """A link from one part to another: the last word of its type, such as "slide", and the other part's name."""

    kind: str
    target: str


class Package:
    """An opened archive. Every method raises `Unreadable` where the archive is damaged, encrypted or a bomb."""

    def __init__(self, data: bytes) -> None:
        try:
            self._archive = ZipFile(BytesIO(data))
            entries = self._archive.infolist()
        except _FAILURES:
            raise Unreadable("broken", "The archive is damaged or cut off.") from None
        if len(entries) > MAX_ENTRIES:
            raise Unreadable("too_large", f"The archive has more than {MAX_ENTRIES:,} entries.")
        self._entries = {_normal(entry.filename): entry for entry in entries}
        self._folded = {name.casefold(): name for name in self._entries}
        self._left = MAX_TOTAL

    def names(self) -> tuple[str, ...]:
        """Return the names of all parts."""
        return tuple(self._entries)

    def has(self, name: str) -> bool:
        """Tell whether there is a part of that name."""
        return self._entry(name) is not None

    def read(self, name: str) -> bytes:
        """Return the bytes of a part; a part that is missing makes the archive a damaged one."""
        entry = self._entry(name)
        if entry is None:
            raise Unreadable("broken", f"The archive lacks its part {name[:100]}.")
        if entry.flag_bits & _ENCRYPTED:
            raise Unreadable("encrypted", "The archive is encrypted.")
        if entry.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise Unreadable("unsupported", "The archive is packed in a way that its format does not know.")
        if entry.file_size > min(MAX_PART, self._left):
            raise Unreadable("too_large", "The archive unpacks to more than its format has use for.")
        try:
            data = self._archive.read(entry)
        except (*_FAILURES, RuntimeError):
            raise Unreadable("broken", f"The archive's part {name[:100]} is damaged.") from None
        self._left -= len(data)
        return data

    def xml(self, name: str) -> _Element:
        """Return the root of an XML part, which may declare no document type (ECMA-376-2, 8.1.4)."""
        root = parse_xml(self.read(name))
        if root.getroottree().docinfo.internalDTD is not None:
            raise Unreadable("broken", f"The archive's part {name[:100]} declares a document type.")
        return root

    def relations(self, part: str) -> dict[str, Relation]:
        """Return the links of a part ("" for the archive itself) by their id, without those that lead outside."""
        folder, _, base = part.rpartition("/")
        name = posixpath.join(folder, "_rels", f"{base}.rels")
        if not self.has(name):
            return {}
        return {
            attribute(node, "Id") or "": Relation(
                (attribute(node, "Type") or "").rpartition("/")[2], resolved(part, attribute(node, "Target") or "")
            )
            for node in self.xml(name)
            if local(node) == "Relationship" and attribute(node, "TargetMode") != "External"
        }

    def _entry(self, name: str) -> ZipInfo | None:
        known = name if name in self._entries else self._folded.get(name.casefold())
        return self._entries[known] if known is not None else None


def resolved(part: str, target: str) -> str:
    """Return the name of the part that `target`, written in `part`, means; it cannot leave the archive."""
    path = unquote(target.partition("#")[0])
    return _normal(path if path.startswith("/") else posixpath.join("/", posixpath.dirname(part), path))


def first_of(relations: Mapping[str, Relation], kind: str) -> str | None:
    """Return the part that the first link of a kind leads to."""
    return next((relation.target for relation in relations.values() if relation.kind == kind), None)


def _normal(name: str) -> str:
    return posixpath.normpath("/" + name.replace("\\", "/")).lstrip("/")
