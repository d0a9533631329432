"""CSV and its kin to text: rows that stand alone, each with its cells."""

import csv
import re
from collections.abc import Iterator

from services.extractor.reading import plain
from services.extractor.reading.blocks import assemble, squeeze
from services.extractor.reading.charset import decode
from services.extractor.reading.mime import CSV, TSV
from services.extractor.reading.result import Reading
from services.extractor.reading.rows import SheetRow, Value, ValueKind, row_blocks
from shared.domain.text import clean

_DELIMITERS = ",;\t|"
_SAMPLE_LINES = 50
_NUMBER = re.compile(r"[-+(]?\s*[$€£¥]?\s*\d[\d., '’]*(?:[eE][-+]?\d+)?\s*(?:%|[$€£¥])?\)?")
_DATE = re.compile(r"\d{4}[-/.]\d{1,2}(?:[-/.]\d{1,2}(?:[T ]\d{1,2}:\d{2}\S*)?)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}")


def read(data: bytes, content_type: str | None) -> Reading:
    """Read text whose values commas, semicolons, tabs or bars part."""
    return _read(data, content_type, CSV)


def read_tabbed(data: bytes, content_type: str | None) -> Reading:
    """Read text whose values tabs part."""
    return _read(data, content_type, TSV)


def _read(data: bytes, content_type: str | None, mime: str) -> Reading:
    decoded = decode(data, content_type, markup=False)
    text = clean(decoded.text)
    delimiter = "\t" if mime == TSV else delimiter_of(text)
    try:
        made = assemble(row_blocks(_rows(text, delimiter)))
    except csv.Error:
        return plain.read(data, content_type)
    return Reading(
        status="ok" if made.text else "empty",
        reason="The text was cut at the limit." if made.truncated else None if made.text else "The file holds no text.",
        mime=mime,
        reader="delimited",
        encoding=decoded.encoding,
        encoding_source=decoded.source,
        text=made.text,
        rows=made.rows,
        truncated=made.truncated,
    )


def delimiter_of(text: str) -> str:
    """Return the character that parts the first lines into most columns, equally many in most of them."""
    first, _, rest = text.partition("\n")
    if first.casefold().startswith("sep=") and len(first.strip()) == 5:
        return first[4]
    sample = [line for line in (first, *rest[:100_000].split("\n", _SAMPLE_LINES)[:_SAMPLE_LINES]) if line.strip()]

    def steadiness(delimiter: str) -> tuple[int, int]:
        counts = [line.count(delimiter) for line in sample]
        usual = max(set(counts), key=lambda count: (counts.count(count), count), default=0)
        return (counts.count(usual) if usual else 0), usual

    return max(_DELIMITERS, key=steadiness)


def _rows(text: str, delimiter: str) -> Iterator[SheetRow]:
    """Yield the rows; the numbers are those that a program for sheets shows."""
    lines = text.split("\n")
    begin = 1 if lines[0].casefold().startswith("sep=") and len(lines[0].strip()) == 5 else 0
    reader = csv.reader((f"{line}\n" for line in lines[begin:]), delimiter=delimiter, skipinitialspace=True)
    for number, row in enumerate(reader, start=1):
        cells = ((column, squeeze(cell)) for column, cell in enumerate(row, start=1))
        yield SheetRow(number, [Value(column, words, _kind(words)) for column, words in cells if words])


def _kind(words: str) -> ValueKind:
    """Tell figures and dates from words."""
    if _DATE.fullmatch(words):
        return "date"
    return "number" if _NUMBER.fullmatch(words) else "text"
