"""What the first bytes of a file tell about it: marks of formats, and whether it is text at all."""

from typing import Final

from shared.domain.file_kinds import FILE_KINDS, RTF, kind_by_ending

ZIP: Final = "application/zip"
OLE: Final = "application/x-ole-storage"
BINARY: Final = "application/octet-stream"

SAMPLE = 8_192
"""How many bytes tell text from anything else."""

BOMS: Final = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"PK\x03\x04", ZIP),
    (b"PK\x05\x06", ZIP),
    (b"\x1f\x8b", "application/gzip"),
    (b"BZh", "application/x-bzip2"),
    (b"\xfd7zXZ\x00", "application/x-xz"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", OLE),
    (b"{\\rtf", RTF),
    (b"%!PS", "application/postscript"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
    (b"BM\x00", "image/bmp"),
    (b"OggS", "application/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"\x1aE\xdf\xa3", "video/webm"),
    (b"fLaC", "audio/flac"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"\x7fELF", "application/x-executable"),
    (b"\x00asm", "application/wasm"),
    (b"SQLite format 3\x00", "application/vnd.sqlite3"),
)
_TAR = (257, b"ustar")
_ARCHIVE_MARKS = (b"word/", b"ppt/", b"xl/", b"META-INF/container.xml", b"mimetypeapplication/", b"[Content_Types].xml")
_MAX_CONTROLS = 0.02
_MAX_ZEROS = 0.25  # of a text that is otherwise whole, such as a log with a block that was never written
_MAX_ZEROS_UNCHECKED = 0.001


def by_magic(data: bytes) -> str | None:
    """Return the media type of a file that begins with a mark of its own."""
    for magic, mime in _MAGIC:
        if data.startswith(magic):
            return mime
    if data[:4] == b"RIFF" or data[4:8] == b"ftyp":
        return "image/webp" if data[8:12] == b"WEBP" else "video/mp4"
    return "application/x-tar" if data[_TAR[0] : _TAR[0] + len(_TAR[1])] == _TAR[1] else None


def looks_binary(data: bytes) -> bool:
    """Tell whether the bytes hold controls that no text has.

    UTF-16 has zeros, in every second place; a few in a text that is whole without them are a slip of some program.
    """
    sample = data[:SAMPLE]
    if sample.startswith(BOMS[1:]):
        return False
    zeros = sample.count(0)
    if zeros and not is_wide(sample):
        bare = sample.replace(b"\x00", b"")
        if zeros > len(sample) * (_MAX_ZEROS if _is_utf_8(bare) else _MAX_ZEROS_UNCHECKED):
            return True
    controls = sum(sample.count(code) for code in (*range(1, 8), *range(14, 27), 28, 29, 30, 31))
    return controls > max(2, len(sample) * _MAX_CONTROLS)


def is_wide(sample: bytes) -> bool:
    """Tell whether the zeros of some bytes are those of UTF-16: nearly every second one of a mostly Latin text."""
    zeros = sample.count(0)
    return zeros > len(sample) * 0.4 and sample[::2].count(0) in (0, zeros)


def _is_utf_8(sample: bytes) -> bool:
    """Tell whether bytes are valid UTF-8, but for a character cut at the end."""
    try:
        sample.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start >= len(sample) - 3 and error.start > 0
    return True


def unread_reason(name: str, head: bytes) -> str | None:
    """Return why a file that begins so is none that can be read, or None where it may be one.

    A name that promises a kind is believed here: what is wrong with such a file, its reader says.
    """
    if kind_by_ending(name) is not None or b"%PDF-" in head[:1024]:
        return None
    mime = by_magic(head)
    if mime == ZIP:
        return None if any(mark in head for mark in _ARCHIVE_MARKS) else "an archive: unpack it"
    if mime == OLE:
        return "an old binary format of Office: save it in a newer one"
    if mime is not None:
        return None if any(kind.media_type == mime for kind in FILE_KINDS) else f"{mime} is not read"
    return "neither text nor a kind of document that is read" if looks_binary(head) else None
