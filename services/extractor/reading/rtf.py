"""RTF to text: paragraphs, headings by their level, tables, notes after the text, as the reader of a print sees them.

The tables of control words are those of `striprtf`; the document becomes a small tree of HTML elements, so that its
tables are read as those of pages are. Hidden, deleted and white text, pictures, headers and footers are left out.
"""

import re
from dataclasses import dataclass, replace

from striprtf.striprtf import charset_map, destinations

from services.extractor.reading.blocks import assemble, squeeze
from services.extractor.reading.dates import iso_date
from services.extractor.reading.mime import RTF
from services.extractor.reading.raised import DOWN, UP, marked
from services.extractor.reading.result import Reading, Unreadable
from services.extractor.reading.rtf_page import Layout, Page
from services.extractor.reading.serialize import blocks_of

MAX_DEPTH = 1_000
_TOKEN = re.compile(
    rb"\\([a-zA-Z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-fA-F]{2})|\\([^a-zA-Z])|([{}])|[\r\n\x00]+|([^\\{}\r\n\x00]+)",
    re.DOTALL,
)
# Text on a ground of its own color may well be white.
_SHADED = re.compile(rb"\\(?:clcbpat|cbpat|chcbpat|highlight|cb|fillColor)(?:[1-9]|\})")
_SIGNS = {
    **dict.fromkeys(("tab", "emspace", "enspace", "qmspace"), " "),
    **dict.fromkeys(("line", "softline"), "\n"),
    "emdash": "—",
    "endash": "–",
    "bullet": "• ",
    "lquote": "‘",
    "rquote": "’",
    "ldblquote": "“",
    "rdblquote": "”",
}
_SYMBOLS = {b"~": " ", b"_": "-", b"{": "{", b"}": "}", b"\\": "\\"}
_ENDS = frozenset(("par", "sect", "page", "column"))
_PASSED_ON = frozenset("field fldrslt shp shpinst shptxt shpgrp result listtext pntext".split())
_TABLES = frozenset("fonttbl colortbl title author creatim revtim footnote".split())
_NOT_READ = (frozenset(destinations) - _PASSED_ON - _TABLES - {"info"}) | frozenset(
    "nonshppict objdata fldinst sp".split()
)
_OLD_CODE_PAGES = frozenset((437, 850, 852, 855, 857, 860, 862, 863, 864, 865, 866, 874, 932, 936, 949, 950, 1361))


@dataclass(frozen=True, slots=True)
class _Group:
    """What holds until the group ends; `into` is the destination that text goes to, "" for nowhere."""

    into: str = "text"
    codec: str = "cp1252"
    skipped: int = 1  # bytes that stand for a character in programs that do not know its number
    place: str = ""
    hidden: bool = False
    color: int = 0
    begins: bool = True  # the next control word may name a destination
    optional: bool = False  # the destination may be passed over by who does not know it


def read(data: bytes) -> Reading:
    """Read rich text; raise `Unreadable` for what nests too deeply."""
    reader = _Reader(shaded=_SHADED.search(data) is not None)
    page = reader.run(data)
    made = assemble(blocks_of(page.tree))
    title, author = (squeeze("".join(page.words.get(name, ())))[:500] for name in ("title", "author"))
    return Reading(
        status="ok" if made.text else "empty",
        reason="The text was cut at the limit." if made.truncated else None if made.text else "The file holds no text.",
        mime=RTF,
        reader="rtf",
        title=title or (made.headings[0].text if made.headings else None),
        author=author or None,
        published_at=reader.date("creatim"),
        modified_at=reader.date("revtim"),
        text=made.text,
        headings=made.headings,
        truncated=made.truncated,
    )


class _Reader:
    """Walks the control words of a document once."""

    def __init__(self, *, shaded: bool) -> None:
        self._page = Page()
        self._shaded = shaded
        self._group = _Group()
        self._stack: list[_Group] = []
        self._codec = "cp1252"
        self._fonts: dict[int, str] = {}
        self._font = 0
        self._dates: dict[str, int] = {}
        self._pending = bytearray()
        self._skip = 0

    def run(self, data: bytes) -> Page:
        """Read the whole document."""
        place = 0
        while (found := _TOKEN.match(data, place)) is not None:
            place = found.end()
            word, number, code, symbol, brace, text = found.groups()
            if code is not None or text is not None:
                self._take(bytes.fromhex(code.decode()) if code is not None else text)
            elif word == b"bin":
                place += max(0, int(number or 0))
            elif word is not None:
                self._word(word.decode().lower(), int(number) if number is not None else None)
            elif brace is not None:
                self._brace(brace)
            elif symbol is not None:
                self._symbol(symbol)
        self._flush()
        self._page.end()
        return self._page

    def date(self, which: str) -> str | None:
        """Return one of the dates that the document says of itself."""
        year, month, day = (self._dates.get(f"{which} {unit}") for unit in ("yr", "mo", "dy"))
        return iso_date(f"{year:04d}-{month:02d}-{day:02d}") if year and month and day else None

    def _brace(self, brace: bytes) -> None:
        self._flush()
        self._skip = 0
        if brace == b"{":
            if len(self._stack) >= MAX_DEPTH:
                raise Unreadable("too_large", "The groups of the document nest too deeply.")
            self._stack.append(self._group)
            self._group = replace(self._group, begins=True, optional=False)
        elif self._stack:
            ended, self._group = self._group, self._stack.pop()
            if ended.into == "footnote" != self._group.into:
                self._page.end_note()

    def _symbol(self, symbol: bytes) -> None:
        if symbol == b"*":
            self._group = replace(self._group, optional=True)
        elif symbol in (b"\n", b"\r"):
            self._word("par", None)
        elif symbol in _SYMBOLS:
            self._write(_SYMBOLS[symbol])

    def _word(self, word: str, value: int | None) -> None:
        """Take a control word."""
        self._flush()
        if self._group.begins:
            self._begin(word)
        into, number = self._group.into, value or 0
        if word == "u":
            self._character(number)
        elif word in _SIGNS:
            self._write(_SIGNS[word])
        elif word in ("uc", "ansicpg") or (word == "f" and into != "fonttbl"):
            self._encoding(word, number)
        elif into in ("fonttbl", "colortbl", "creatim", "revtim"):
            self._about(word, number)
        elif into in ("text", "footnote") and not self._format(word, value):
            self._structure(word, number)

    def _character(self, code: int) -> None:
        """Take a character by its number, and pass over what stands for it in programs that do not know it."""
        self._write(chr(code % 65_536 if code < 0 else code) if code < 0x110000 else "")
        self._skip = self._group.skipped

    def _begin(self, word: str) -> None:
        """Send what the group holds where its first control word says; a group within one that is not read is not."""
        into = self._group.into
        if word in _NOT_READ or (self._group.optional and word not in _PASSED_ON | _TABLES):
            into = ""
        elif word in _TABLES and into:
            into = word
        self._group = replace(self._group, into=into, begins=False)

    def _about(self, word: str, value: int) -> None:
        """Take what the tables of fonts and colors and the dates hold."""
        if word == "f":
            self._font = value
        elif word == "fcharset":
            self._fonts[self._font] = charset_map.get(value, "cp1252")
        elif word in ("red", "green", "blue"):
            self._page.colors[-1].append(value)
        elif word in ("yr", "mo", "dy"):
            self._dates[f"{self._group.into} {word}"] = value

    def _encoding(self, word: str, value: int) -> None:
        """Take what says how bytes and characters are written."""
        if word == "uc":
            self._group = replace(self._group, skipped=min(value, 100))
            return
        if word == "f":
            known = self._fonts.get(value, self._codec)
            self._group = replace(self._group, codec=self._codec if known == "cp1252" else known)
        elif value in _OLD_CODE_PAGES or 1250 <= value <= 1258:
            self._codec = f"cp{value}"
            self._group = replace(self._group, codec=self._codec)

    def _format(self, word: str, value: int | None) -> bool:
        """Take what a character is formatted as; tell whether the word was such a one."""
        on, group = value != 0, self._group
        if word == "plain":
            self._group = replace(group, place="", hidden=False, color=0)
        elif word in ("super", "up"):
            self._group = replace(group, place=UP if on else "")
        elif word in ("sub", "dn"):
            self._group = replace(group, place=DOWN if on else "")
        elif word == "nosupersub":
            self._group = replace(group, place="")
        elif word in ("v", "deleted"):
            self._group = replace(group, hidden=on)
        elif word == "cf":
            self._group = replace(group, color=value or 0)
        else:
            return False
        return True

    def _structure(self, word: str, value: int) -> None:
        """Take what makes paragraphs and tables."""
        page = self._page
        if word in _ENDS and self._group.into == "footnote":
            self._write(" ")
        elif word in _ENDS:
            page.end_paragraph()
        elif word == "pard":
            page.layout = Layout()
        elif word == "intbl":
            page.layout.in_table = True
        elif word == "outlinelevel":
            page.layout.level = min(6, value + 1) if 0 <= value < 9 else 0
        elif word in ("cell", "nestcell"):
            page.end_cell()
        elif word in ("row", "nestrow"):
            page.end_row()

    def _take(self, raw: bytes) -> None:
        """Keep bytes until it is known that no further one belongs to the same character."""
        dropped = min(self._skip, len(raw))
        self._skip -= dropped
        if dropped < len(raw):
            self._pending += raw[dropped:]

    def _flush(self) -> None:
        """Decode the bytes that were kept."""
        raw, self._pending = bytes(self._pending), bytearray()
        if raw and self._group.into == "colortbl":
            self._page.colors += [[] for _ in range(min(raw.count(b";"), 1_000))]
        elif raw:
            self._write(raw.decode(self._group.codec, "replace"))

    def _write(self, text: str) -> None:
        """Add text to where it goes, unless nobody sees it."""
        self._flush()
        group = self._group
        unseen = group.hidden or (not self._shaded and self._page.is_white(group.color))
        if group.into and not unseen:
            self._page.write(group.into, marked(text, group.place))
