"""What the Office formats (ECMA-376) have in common: the main part, and what a file says about itself."""

from dataclasses import dataclass

from services.extractor.reading.blocks import squeeze
from services.extractor.reading.dates import iso_date
from services.extractor.reading.package import Package, first_of
from services.extractor.reading.result import Unreadable
from services.extractor.reading.xml import local

_MAX_VALUE = 500
# What libraries that write files put into each of them, unless their caller says otherwise.
_LIBRARY_AUTHORS = frozenset(("python-docx", "openpyxl", "steve canny", "xlsxwriter", "apache poi", "phpoffice"))
_LIBRARY_DATES = frozenset(("2013-12-23", "2013-01-27"))
_LIBRARY_TITLES = frozenset(("word document", "powerpoint presentation", "untitled", "untitled spreadsheet"))


@dataclass(frozen=True, slots=True)
class Properties:
    """What a file says about itself."""

    title: str | None = None
    author: str | None = None
    published_at: str | None = None
    modified_at: str | None = None
    language: str | None = None


def main_part(package: Package) -> str:
    """Return the name of the part that holds the document, the workbook or the presentation."""
    name = first_of(package.relations(""), "officeDocument")
    if name is None:
        raise Unreadable("broken", "The archive does not say which of its parts is the document.")
    return name


def properties(package: Package) -> Properties:
    """Read the core properties; what the writing library filled in by itself counts as nothing."""
    name = first_of(package.relations(""), "core-properties")
    if name is None or not package.has(name):
        return Properties()
    try:
        root = package.xml(name)
    except Unreadable:
        return Properties()
    said = {local(node): squeeze(node.text or "")[:_MAX_VALUE] for node in root}
    return Properties(
        title=_own(said.get("title"), _LIBRARY_TITLES),
        author=_own(said.get("creator"), _LIBRARY_AUTHORS),
        published_at=_own_date(said.get("created")),
        modified_at=_own_date(said.get("modified")),
        language=said.get("language") or None,
    )


def _own(value: str | None, known: frozenset[str]) -> str | None:
    """Return a value, unless a library fills it in by itself."""
    return value if value and value.casefold() not in known else None


def _own_date(value: str | None) -> str | None:
    """Return a date, unless it is the birthday of a library's template."""
    date = iso_date(value or "")
    return date if date and date[:10] not in _LIBRARY_DATES else None
