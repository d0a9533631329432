"""How much work the drawing instructions of a PDF are: forms may draw forms that draw forms, ten times each."""

import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Protocol

MAX_CONTENT = 64 * 1024 * 1024
"""Bytes that the drawing instructions of one page may unpack to, with those of forms as often as they are drawn."""

_A_CALL = 600  # bytes of instructions that take as long as drawing an empty form
_DEEPEST = 60
_DEFLATE_RATIO = 1_032  # the most that zlib can pack
_PIECE = 1 << 20
_CALLS = re.compile(rb"/([^\s/<>\[\]()]{1,120})\s+(?:Do|scn|SCN|gs)(?!\S)")
_OBJECT = re.compile(rb"(?<!\d)(\d{1,10})\s+\d{1,5}\s+obj\b")
_STREAM = re.compile(rb"stream\r?\n")
_REFERENCE = rb"\s+(\d{1,10})\s+\d{1,5}\s+R"
_RESOURCES = re.compile(rb"/(?:Resources|XObject|Pattern|ExtGState|SMask|G)" + _REFERENCE)
_LONGEST_DICTIONARY = 20_000


class Forms(Protocol):
    """What draws and is drawn, by number: pages, forms, patterns, masks."""

    def contents(self, number: int) -> bytes:
        """Return the drawing instructions of one, unpacked; b"" for what has none, as a picture."""
        ...

    def called(self, number: int, name: str) -> Iterable[int]:
        """Return what one means by a name."""
        ...


class Effort:
    """Counts the bytes of instructions that are gone through, `MAX_CONTENT` + 1 at most."""

    def __init__(self, forms: Forms) -> None:
        self._forms = forms
        self._known: dict[int, int] = {}

    def of(self, number: int) -> int:
        """Return the work that one is, what it draws included."""
        return self._of(number, ())

    def _of(self, number: int, above: tuple[int, ...]) -> int:
        """Return the work of one that the ones above draw; a circle is drawn once."""
        if number in above:
            return 0
        if len(above) >= _DEEPEST:
            return MAX_CONTENT + 1
        if number not in self._known:
            contents = self._forms.contents(number)
            work = len(contents)
            for name, times in Counter(_CALLS.findall(contents)).items():
                inside = sum(
                    _A_CALL + self._of(called, (*above, number))
                    for called in self._forms.called(number, name.decode("latin-1"))
                )
                work = min(MAX_CONTENT + 1, work + times * inside)
            self._known[number] = work
        return self._known[number]


class FileForms:
    """The forms of a file as its bytes tell them, for a library that does not; see `Forms`."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        starts = [(int(found[1]), found.end()) for found in _OBJECT.finditer(data)] if b"/Form" in data else []
        self._starts = dict(starts)

    def numbers(self) -> Iterator[int]:
        """Yield the numbers of all forms."""
        return (number for number in self._starts if re.search(rb"/Subtype\s*/Form\b", self._dictionary(number)))

    def contents(self, number: int) -> bytes:
        """See `Forms.contents`."""
        dictionary = self._dictionary(number)
        stream = _STREAM.match(self._data, self._starts[number] + len(dictionary)) if dictionary else None
        if stream is None or re.search(rb"/Subtype\s*/Image\b", dictionary):
            return b""
        end = self._data.find(b"endstream", stream.end())
        packed = self._data[stream.end() : end if end >= 0 else len(self._data)]
        if b"FlateDecode" not in dictionary:
            return packed
        try:
            return zlib.decompressobj().decompress(packed, MAX_CONTENT)
        except zlib.error:
            return b""

    def called(self, number: int, name: str) -> Iterable[int]:
        """See `Forms.called`; what the name stands for in the resources of the form, wherever they are."""
        wanted = re.compile(rb"/" + re.escape(name.encode("latin-1")) + _REFERENCE)
        places = [self._dictionary(number)]
        for _ in range(2):
            places += [self._dictionary(int(found)) for place in places for found in _RESOURCES.findall(place)]
        return {int(found) for place in places for found in wanted.findall(place)}

    def _dictionary(self, number: int) -> bytes:
        """Return what an object holds before its stream or its end."""
        start = self._starts.get(number)
        if start is None:
            return b""
        limit = min(len(self._data), start + _LONGEST_DICTIONARY)
        ends = (self._data.find(word, start, limit) for word in (b"stream\r\n", b"stream\n", b"endobj"))
        return self._data[start : min((end for end in ends if end >= 0), default=limit)]


def unpacks_too_far(streams: Iterable[bytes]) -> bool:
    """Tell whether packed streams together are a bomb; only those that could be one are unpacked, in pieces."""
    total = 0
    for packed in streams:
        if len(packed) * _DEFLATE_RATIO <= MAX_CONTENT:
            continue
        unpacker = zlib.decompressobj()
        raw = packed
        try:
            while raw and not unpacker.eof and total <= MAX_CONTENT:
                total += len(unpacker.decompress(raw, _PIECE))
                raw = unpacker.unconsumed_tail
        except zlib.error:
            continue  # packed in another way, or not at all
    return total > MAX_CONTENT
