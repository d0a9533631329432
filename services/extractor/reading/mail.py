"""Mails and mailboxes to text: who wrote what when, and the words; what hangs on them is read by `attached`.

A mail is read with the oldest interface of the standard library, which decodes nothing by itself and so stumbles over
nothing; every part is decoded as any other file is.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from email import message_from_bytes
from email.errors import HeaderParseError, MessageError
from email.header import decode_header, make_header
from email.message import Message

from services.extractor.reading import plain
from services.extractor.reading.blocks import Block, assemble, on_part, parts_of, squeeze
from services.extractor.reading.charset import decode
from services.extractor.reading.dates import iso_date
from services.extractor.reading.hidden import prune
from services.extractor.reading.mime import MAIL, MBOX
from services.extractor.reading.result import MAX_TEXT, Reading, Unreadable
from services.extractor.reading.serialize import blocks_of
from services.extractor.reading.tree import parse

MAX_MESSAGES = 20_000
MAX_PARTS = 1_000
MAX_DEPTH = 20
_MAX_HEADER = 1_000
_FROM_LINE = re.compile(rb"^From \S+[^\n]*\d{4}[^\n]{0,20}\n", re.MULTILINE)
_STUFFED = re.compile(rb"^>(>*From )", re.MULTILINE)
_SLIPS = (MessageError, HeaderParseError, LookupError, UnicodeError, ValueError, AttributeError, TypeError)


@dataclass(frozen=True, slots=True)
class Attached:
    """A file that hangs on a mail: its name, the type that the mail gives it, and its bytes."""

    name: str
    content_type: str
    data: bytes


def read(data: bytes, content_type: str | None) -> Reading:
    """Read one mail; what has no sender and no subject is read as plain text."""
    message = _parsed(data)
    if message["From"] is None and message["Subject"] is None:
        return plain.read(data, content_type)
    made = assemble(_blocks(message))
    return Reading(
        status="ok" if made.text else "empty",
        reason="The text was cut at the limit." if made.truncated else None,
        mime=MAIL,
        reader="mail",
        title=header(message, "Subject") or None,
        author=header(message, "From") or None,
        published_at=iso_date(header(message, "Date")),
        text=made.text,
        headings=made.headings,
        truncated=made.truncated,
    )


def read_box(data: bytes, content_type: str | None) -> Reading:
    """Read a mailbox: each message a part of the text that names its sender and date."""
    names: list[str] = []
    blocks: list[Block] = []
    length = 0
    for number, raw in enumerate(messages_of(data), start=1):
        message = _parsed(raw)
        told = [header(message, name) for name in ("From", "Date")]
        names.append(", ".join(filter(None, (header(message, "Subject"), *told))) or f"Message {number}")
        written = _blocks(message)
        if any(told):
            written.insert(
                1 if written and written[0].kind == "heading" else 0, Block("line", ", ".join(filter(None, told)))
            )
        blocks += on_part(written, number)
        length += sum(len(block.text) for block in written)
        if length > MAX_TEXT:
            break
    if not names:
        return plain.read(data, content_type)
    made = assemble(blocks, page_count=len(names))
    return Reading(
        status="ok" if made.text else "empty",
        reason="The text was cut at the limit." if made.truncated else None,
        mime=MBOX,
        reader="mail",
        text=made.text,
        headings=made.headings,
        parts=parts_of(made, "message", names),
        truncated=made.truncated,
    )


def messages_of(data: bytes) -> Iterator[bytes]:
    """Yield the messages of a mailbox; one line that begins with "From " stands before each."""
    data = data.replace(b"\r\n", b"\n")
    marks = [
        found
        for found in _FROM_LINE.finditer(data)
        if data[max(0, found.start() - 2) : found.start()] in (b"", b"\n\n")
    ]
    if len(marks) > MAX_MESSAGES:
        raise Unreadable("too_large", f"The mailbox has more than {MAX_MESSAGES:,} messages.")
    ends = [*(mark.start() for mark in marks[1:]), len(data)][: len(marks)]
    for mark, end in zip(marks, ends, strict=True):
        yield _STUFFED.sub(rb"\1", data[mark.end() : end])


def attachments(data: bytes, mime: str) -> tuple[Attached, ...]:
    """Return the files that hang on a mail or on the mails of a mailbox."""
    raw = messages_of(data) if mime == MBOX else (data,)
    return tuple(item for one in raw for item in attached_to(_parsed(one)))


def _parsed(data: bytes) -> Message:
    try:
        return message_from_bytes(data)
    except RecursionError:
        raise Unreadable("too_large", "The parts of the mail nest too deeply.") from None


def header(message: Message, name: str) -> str:
    """Return a header in words; one that cannot be decoded as it is written."""
    raw = next((str(value) for key, value in message.raw_items() if key.lower() == name.lower()), "")[:_MAX_HEADER]
    value = decode(raw.encode("utf-8", "surrogateescape"), None, markup=False).text
    with suppress(*_SLIPS):
        value = str(make_header(decode_header(value)))
    return squeeze(value)


def _blocks(message: Message) -> list[Block]:
    """Return the blocks of a mail: its subject as a heading, then its words."""
    subject = header(message, "Subject")
    blocks = [Block("heading", subject, 1)] if subject else []
    for part in _bodies(message):
        blocks += _words(part)
    return blocks


def _walk(message: Message) -> Iterator[tuple[Message, bool]]:
    """Yield the parts that hold something, each with whether a better version of it is also there.

    Of alternatives the plain text is taken, else the last one that is text. Mails within a mail are not entered.
    """
    waiting: list[tuple[Message, int, bool]] = [(message, 0, False)]
    seen = 0
    while waiting:
        part, depth, spare = waiting.pop()
        seen += 1
        if seen > MAX_PARTS or depth > MAX_DEPTH:
            raise Unreadable("too_large", "The mail has too many parts, or they nest too deeply.")
        kind = part.get_content_type()
        below = part.get_payload() if part.is_multipart() and kind != MAIL else None
        if not isinstance(below, list):
            yield part, spare
            continue
        inner = [one for one in below if isinstance(one, Message)]
        best = _best(inner) if kind == "multipart/alternative" else None
        waiting += reversed([(one, depth + 1, spare or (best is not None and one is not best)) for one in inner])


def _best(versions: list[Message]) -> Message | None:
    """Return the version of a text that is read."""
    text = [one for one in versions if one.get_content_type() == "text/plain" and _bytes(one).strip()]
    return text[0] if text else versions[-1] if versions else None


def _bodies(message: Message) -> Iterator[Message]:
    return (part for part, spare in _walk(message) if not spare and _is_body(part))


def _is_body(part: Message) -> bool:
    """Tell whether a part is words of the mail itself."""
    return part.get_content_type() in ("text/plain", "text/html") and not _is_attached(part)


def _is_attached(part: Message) -> bool:
    return part.get_content_disposition() == "attachment" or bool(_name_of(part))


def attached_to(message: Message) -> tuple[Attached, ...]:
    """Return what hangs on a mail: named files and mails; pictures within its text and signatures are left out."""
    found: list[Attached] = []
    for part, spare in _walk(message):
        kind = part.get_content_type()
        if spare or _is_body(part) or (part["Content-ID"] is not None and kind.startswith("image/")):
            continue
        if kind in ("application/pgp-signature", "application/pkcs7-signature", "message/delivery-status"):
            continue
        data = _bytes(part)
        if data.strip():
            found.append(Attached(_name_of(part) or _unnamed(kind, len(found) + 1), kind, data))
    return tuple(found)


def _unnamed(kind: str, number: int) -> str:
    ending = {MAIL: ".eml", "text/plain": ".txt", "text/html": ".html", "text/csv": ".csv", "application/pdf": ".pdf"}
    return f"attachment {number}{ending.get(kind, '')}"


def _name_of(part: Message) -> str:
    """Return the file name of a part, without any folder."""
    try:
        name = part.get_filename() or ""
        name = str(make_header(decode_header(name)))
    except _SLIPS:
        return ""
    return squeeze(name.replace("\\", "/").rpartition("/")[2])[:200]


def _bytes(part: Message) -> bytes:
    """Return what a part holds, decoded from its transfer encoding; a mail within the mail as it is written."""
    try:
        if part.get_content_type() == MAIL:
            inner = part.get_payload()
            first = inner[0] if isinstance(inner, list) and inner else None
            return first.as_bytes() if isinstance(first, Message) else b""
        data = part.get_payload(decode=True)
    except (*_SLIPS, RecursionError):
        return b""
    return data if isinstance(data, bytes) else b""


def _words(part: Message) -> list[Block]:
    """Return the blocks of a part that is text."""
    charset = part.get_param("charset")
    declared = f"text/plain; charset={charset}" if isinstance(charset, str) else None
    is_html = part.get_content_type() == "text/html"
    text = decode(_bytes(part), declared, markup=is_html).text
    if not is_html:
        return plain.blocks_of(text)
    tree, _ = parse(text)
    if tree is None:
        return []
    prune(tree)
    return blocks_of(tree)
