"""What hangs on a mail, read as the file that it is, below the mail's own words: each a part that names its file."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from services.extractor.reading.mail import Attached
from services.extractor.reading.result import MAX_TEXT, Reading
from shared.domain.maps import Heading, Part, Row

MAX_DEPTH = 5
MAX_FILES = 200
MAX_BYTES_AT_ONCE = 40 * 1024 * 1024  # of all attachments on all levels, decoded
_TOLD = 5


class Hung:
    """What may still be read of the attachments of one file."""

    def __init__(self) -> None:
        self.files = MAX_FILES
        self.bytes = MAX_BYTES_AT_ONCE

    def takes(self, item: Attached) -> bool:
        """Tell whether an attachment is within the limits, and count it."""
        self.files -= 1
        self.bytes -= len(item.data)
        return self.files >= 0 and self.bytes >= 0


def with_attached(
    mail: Reading, items: Sequence[Attached], hung: Hung, read_one: Callable[[Attached], Reading]
) -> Reading:
    """Return a mail with its attachments below it; what cannot be read is named with the reason."""
    read: list[tuple[str, Reading]] = []
    lost: list[str] = []
    for item in items:
        if not hung.takes(item):
            lost.append("more attachments than are read with one mail")
            break
        one = read_one(item)
        if one.status == "ok":
            read.append((item.name, one))
        else:
            lost.append(f"{item.name} ({(one.reason or one.status).rstrip('.')})")
    made = _joined(mail, read)
    reasons = [made.reason] if made.reason else []
    if lost:
        more = f" and {len(lost) - _TOLD} more" if len(lost) > _TOLD else ""
        reasons.append(f"Attached and not read: {', '.join(lost[:_TOLD])}{more}.")
    return replace(made, reason=" ".join(reasons) or None)


def _parts(one: Reading, name: str, start: int, number: int) -> list[Part]:
    """Return the parts of an attachment whose text begins at `start`, or the one that it is as a whole."""
    inner = [part for part in one.parts if part.end > part.start]
    if not inner:
        return [Part("attachment", name, number, start, start + len(one.text))]
    return [
        Part("attachment", f"{name}, {part.name}" if part.name else name, place, part.start + start, part.end + start)
        for place, part in enumerate(inner, start=number)
    ]


def _joined(mail: Reading, read: Sequence[tuple[str, Reading]]) -> Reading:
    """Put the texts below each other, with all maps moved along."""
    text, truncated = mail.text, mail.truncated
    headings, rows = list(mail.headings), list(mail.rows)
    parts = list(mail.parts) or [Part("message", mail.title or "", 1, 0, len(text))]
    for name, one in read:
        start = len(text) + 2 if text else 0
        if start + len(one.text) > MAX_TEXT:
            truncated = True
            break
        text = f"{text}\n\n{one.text}" if text else one.text
        headings += [Heading(h.level, h.text, h.start + start, h.end + start) for h in one.headings]
        rows += [Row(r.start + start, r.number, r.first, r.last) for r in one.rows]
        parts += _parts(one, name, start, len(parts) + 1)
    return replace(
        mail,
        status="ok" if text else mail.status,
        text=text,
        headings=tuple(headings),
        rows=tuple(rows),
        parts=tuple(parts) if read else mail.parts,
        truncated=truncated,
        reason="The text was cut at the limit." if truncated else mail.reason,
    )
