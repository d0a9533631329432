"""Bytes to text: byte order mark, then HTTP header, then the page's own declaration, then detection."""

import re
from dataclasses import dataclass
from typing import Literal

from services.extractor.reading.alphabets import ALPHABETS, KANA
from services.extractor.reading.frequent import likings
from services.extractor.reading.labels import UTF_8, WINDOWS_1252, Encoding, encoding_of, encodings

EncodingSource = Literal["bom", "header", "meta", "detected", "guessed", "default"]

_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16le"), (b"\xfe\xff", "utf-16be"))
_HEADER = re.compile(r"charset\s*=\s*[\"']?\s*([^\s;\"',]+)", re.IGNORECASE)
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
_XML_DECLARATION = re.compile(rb"\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([^\"'>]{1,40})[\"']")
# Whatever the attribute before it is called, and in whichever order: <meta httpequiv=... content="...; charset=gbk">.
_META = re.compile(rb"<meta\b[^>]{0,2000}?char-?t?set\s*[=:]\s*[\"']?\s*([^\s\"'/>;]{1,40})", re.IGNORECASE)
_META_BYTES = 16_384  # the standard reads 1,024; real pages put scripts first
_TAGS = re.compile(rb"<[^<>]*>")
_DETECT_BYTES = 65_536
_MULTIBYTE = frozenset(("gb18030", "big5hkscs", "euc-jp", "iso2022-jp", "cp932", "cp949"))
# What charset-normalizer calls a codec that the standard has only in a wider form.
_ALIASES = {
    "gbk": "gb18030",
    "gb2312": "gb18030",
    "big5": "big5hkscs",
    "shiftjis": "cp932",
    "shiftjis2004": "cp932",
    "eucjis2004": "eucjp",
    "euckr": "cp949",
    "cp1125": "cp866",
    "latin1": "cp1252",
}
_JAPANESE = ("euc-jp", "cp932")
_MAX_BAD_SHARE = 0.02
_LITTLE = 40  # bytes that are not ASCII; fewer are a guess
_LIKELY, _SURE, _AHEAD, _ENOUGH = 1.0, 1.6, 0.4, 5  # scores of characters by their use, and how many they are
_NON_ASCII_BYTE = re.compile(rb"[^\x00-\x7f]")
_NON_ASCII_WORD = re.compile(r"[^\x00-\x7f]+")
_MIXED_WORD = re.compile(r"[A-Za-z][^\x00-\x7f]|[^\x00-\x7f][A-Za-z]")
_RUSSIAN = re.compile(r"[А-ЯЁ]?[а-яё]+|[А-ЯЁ]+")
_NON_ASCII = re.compile(r"[^\x00-\x7f]")


@dataclass(frozen=True, slots=True)
class Decoded:
    """Text, the standard's name of its encoding, and who said so.

    "guessed": too little of it is not ASCII to be sure. "default": only ASCII, or nothing fitted.
    """

    text: str
    encoding: str
    source: EncodingSource


def decode(data: bytes, content_type: str | None, *, markup: bool) -> Decoded:
    """Decode `data`; `markup` says whether to look for a declaration inside it.

    A declared encoding is believed unless the bytes contradict it: more than 2 % of what is not ASCII cannot be decoded
    by it, or it is a one-byte encoding and the bytes are valid UTF-8. Nothing raises; what cannot be decoded becomes
    U+FFFD.
    """
    for mark, label in _BOMS:
        if data.startswith(mark):
            encoding = encoding_of(label) or UTF_8
            return Decoded(data[len(mark) :].decode(encoding.codec, "replace"), encoding.name, "bom")
    utf_8 = None if data.isascii() else _strict(data, UTF_8)
    for declared, source in _declared(data, content_type, markup):
        if utf_8 is not None and declared.codec not in _MULTIBYTE and not declared.codec.startswith("utf-"):
            break
        text = _tolerant(data, declared)
        if text is not None:
            return Decoded(text, declared.name, source)
    if utf_8 is not None:
        return Decoded(utf_8, UTF_8.name, "detected")
    return _detected(data)


def _declared(data: bytes, content_type: str | None, markup: bool) -> list[tuple[Encoding, EncodingSource]]:
    """Return the known encodings that the header and the page declare, the stronger first."""
    found: list[tuple[Encoding, EncodingSource]] = []
    header = _HEADER.search(content_type or "")
    if header and (encoding := encoding_of(header.group(1))):
        found.append((encoding, "header"))
    if markup:
        head = _COMMENT.sub(b"", data[:_META_BYTES])
        declaration = _XML_DECLARATION.match(head)
        labels = [declaration.group(1)] if declaration else []
        labels += [match.group(1) for match in _META.finditer(head)]
        known = (encoding_of(label.decode("latin-1")) for label in labels)
        # A declaration that could be read as ASCII is not in UTF-16, whatever it says.
        found += [(UTF_8 if item.name.startswith("utf-16") else item, "meta") for item in known if item]
    return found


def _strict(data: bytes, encoding: Encoding) -> str | None:
    """Decode without error (but for a character cut at the very end), or return None."""
    try:
        return data.decode(encoding.codec)
    except UnicodeDecodeError as error:
        is_cut = error.start >= len(data) - 3 and error.reason.startswith(("unexpected end", "incomplete"))
        if not is_cut or data[: error.start].isascii():
            return None
    return data.decode(encoding.codec, "replace")


def _tolerant(data: bytes, encoding: Encoding) -> str | None:
    """Decode with few errors, measured against the characters that are not ASCII, or return None."""
    text = _strict(data, encoding)
    if text is None:
        text = data.decode(encoding.codec, "replace")
        others = sum(1 for _ in _NON_ASCII.finditer(text))
        if text.count("\ufffd") > others * _MAX_BAD_SHARE:
            return None
    return text


def _detected(data: bytes) -> Decoded:
    """Decode bytes that nothing declares and that are not UTF-8."""
    wide = _wide(data)
    if wide is not None:
        return Decoded(data.decode(wide.codec, "replace"), wide.name, "detected")
    if data.isascii():
        return _ascii(data)
    sample = _sample(data)
    common, is_sure = _by_common_characters(sample)
    sure = common if is_sure else None
    for guess in (_tolerable_utf_8(data), _japanese(sample), sure, _by_alphabet(sample)):
        if guess is not None:
            return Decoded(data.decode(guess.codec, "replace"), guess.name, "detected")
    is_little = len(_NON_ASCII_BYTE.findall(sample)) < _LITTLE
    guess = ((_cyrillic(sample) or common) if is_little else None) or _by_statistics(sample)
    if guess is not None:
        return Decoded(data.decode(guess.codec, "replace"), guess.name, "guessed" if is_little else "detected")
    return Decoded(data.decode(WINDOWS_1252.codec, "replace"), WINDOWS_1252.name, "default")


def _ascii(data: bytes) -> Decoded:
    """Decode bytes that are all ASCII; Japanese may be written with them, between escape sequences."""
    japanese = encoding_of("iso-2022-jp") if re.search(rb"\x1b\$[@B]|\x1b\(J", data) else None
    text = _strict(data, japanese) if japanese else None
    if text is not None and japanese is not None:
        return Decoded(text, japanese.name, "detected")
    return Decoded(data.decode("ascii"), UTF_8.name, "default")


def _sample(data: bytes) -> bytes:
    """Return the runs of text between tags that are not ASCII, from the first one on; never nothing."""
    first = _NON_ASCII_BYTE.search(data)
    start = max(0, first.start() - 1_000) if first else 0
    window = data[start : start + 4 * _DETECT_BYTES]
    runs = b" ".join(run for run in _TAGS.split(window) if not run.isascii())
    return (runs or window)[:_DETECT_BYTES]


def _wide(data: bytes) -> Encoding | None:
    """Recognise UTF-16 without a mark: nearly every second byte of a mostly Latin text is zero."""
    sample = data[:4096]
    for label, first in (("utf-16be", 0), ("utf-16le", 1)):
        if len(sample) >= 4 and sample[first::2].count(0) > len(sample) * 0.4 and sample[1 - first :: 2].count(0) == 0:
            return encoding_of(label)
    return None


def _tolerable_utf_8(data: bytes) -> Encoding | None:
    """Recognise UTF-8 that has been damaged in a few places."""
    return UTF_8 if _tolerant(data, UTF_8) is not None else None


def _japanese(sample: bytes) -> Encoding | None:
    """Recognise Japanese by its kana, which no other language has in such a share."""
    for codec in _JAPANESE:
        text = sample.decode(codec, "ignore")
        others = _NON_ASCII.findall(text)
        lost = 1 - len(text.encode(codec, "ignore")) / len(sample)
        if len(others) >= 4 and lost < _MAX_BAD_SHARE and sum(map(KANA.__contains__, others)) > len(others) * 0.2:
            return encoding_of({"cp932": "shift_jis"}.get(codec, codec))
    return None


def _by_common_characters(sample: bytes) -> tuple[Encoding | None, bool]:
    """Return the East Asian encoding in which the bytes are characters that are used, and whether that is sure."""
    found = likings(sample)
    if not found or found[0].score < _LIKELY:
        return None, False
    best, next_score = found[0], found[1].score if len(found) > 1 else 0.0
    is_sure = best.characters >= _ENOUGH and best.score >= _SURE and best.score - next_score >= _AHEAD
    return encoding_of(
        {"cp932": "shift_jis", "cp949": "euc-kr", "gb18030": "gbk", "big5hkscs": "big5"}.get(best.codec, best.codec)
    ), is_sure


def _cyrillic(sample: bytes) -> Encoding | None:
    """Recognise words that are Russian as they stand, small letters after at most one capital one."""
    text = sample.decode("cp1251", "replace")
    words = _NON_ASCII_WORD.findall(text)
    is_mixed = _MIXED_WORD.search(text) or max(map(len, words), default=0) < 3
    return encoding_of("windows-1251") if not is_mixed and all(map(_RUSSIAN.fullmatch, words)) else None


def _by_alphabet(sample: bytes) -> Encoding | None:
    """Recognise a Latin encoding in which every letter that is not ASCII belongs to one language's alphabet."""
    for label, alphabets in ALPHABETS:
        encoding = encoding_of(label)
        if encoding is None:
            continue
        found = _NON_ASCII.findall(sample.decode(encoding.codec, "replace"))
        letters = set(found)
        if len(found) * 2 < len(sample) and any(letters <= alphabet for alphabet in alphabets):
            return encoding
    return None


def _by_statistics(sample: bytes) -> Encoding | None:
    """Ask charset-normalizer, and take the best of its guesses that the standard knows."""
    from charset_normalizer import from_bytes

    known = {item.codec.replace("-", "").replace("_", ""): item for item in encodings()}
    for match in from_bytes(sample):
        name = match.encoding.replace("_", "").replace("-", "")
        found = known.get(_ALIASES.get(name, name))
        if found is not None:
            return found
    return None
