"""What a document without metadata says of itself in its first lines, its title and its file's name."""

import re
from collections.abc import Mapping
from dataclasses import replace

from services.extractor.reading.dates import iso_date
from services.extractor.reading.result import Reading
from shared.domain.dates import dates_in
from shared.domain.fields import field_of

_LINES = 20
_DATED = ("date", "published", "publication date", "meeting date", "date of meeting", "held on", "issued", "created")
_SHORT_MONTH = re.compile(r"^(\d{1,2})-([A-Za-z]{3,9})-(\d{4})$")
_IN_NAME = re.compile(r"(?<!\d)((?:19|20)\d\d)[-_.]?(0[1-9]|1[0-2])(?:[-_.]?([0-2]\d|3[01]))?(?!\d)")
_SERIES = re.compile(r"\d{1,6}")
LEAST_FIELDS = 2
"""Fields that a header has; one line with a colon need not be one."""


def completed(reading: Reading, name: str) -> Reading:
    """Return the reading with the title and the date that its metadata lack and its header, title or name tell.

    ``name`` is the file's. A date is taken with its month at least: a year alone says more of what a document is about.
    """
    if reading.status != "ok" or (reading.title and reading.published_at):
        return reading
    fields = header_of(reading.text)
    title = reading.title or _title(fields)
    return replace(reading, title=title, published_at=reading.published_at or _date(fields, title or "", name))


def header_of(text: str) -> Mapping[str, str]:
    """Return the fields of the first lines by lower-case name; none where there are not several in a row."""
    fields: dict[str, str] = {}
    lines = [line for line in text[:4_000].split("\n")[:_LINES] if line.strip()]
    for number, line in enumerate(lines):
        found = field_of(line)
        if found is not None:
            fields.setdefault(found[0].lower().strip(" *_"), found[1].strip(" *_"))
        elif number > 0 and not line[0].isspace():
            break
    return fields if len(fields) >= LEAST_FIELDS else {}


def _title(fields: Mapping[str, str]) -> str | None:
    """Return the title of a header; where it opens with the number of a series ("PEP: 8"), with that."""
    title = fields.get("title") or fields.get("subject")
    if title is None:
        return None
    first, number = next(iter(fields.items()))
    return f"{first.upper()} {number}: {title}" if _SERIES.fullmatch(number) else title


def _date(fields: Mapping[str, str], title: str, name: str) -> str | None:
    for key in _DATED:
        written = _SHORT_MONTH.sub(r"\1 \2 \3", fields.get(key, ""))
        if (found := iso_date(written)) is not None:
            return found
    named = [d.iso for d in dates_in(title) if d.year and d.iso and len(d.iso) >= len("2024-05")]
    if len(named) == 1:
        return named[0]
    matches = list(_IN_NAME.finditer(name.rpartition("/")[2]))
    return iso_date("-".join(filter(None, matches[0].groups()))) if len(matches) == 1 else None
