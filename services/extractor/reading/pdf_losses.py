"""What of a PDF was not read, in sentences: never a silent "ok" for a document of which little could be read."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from services.extractor.reading.layout import Line
from services.extractor.reading.painted import SCAN
from services.extractor.reading.pdf_port import PdfPage
from services.extractor.reading.result import Unreadable

_NEXT_TO_NOTHING = 100  # characters of a page that is a picture, with a stamp or a number on it
_FEW = 50  # characters a page
_FEW_PAGES = 3
_SCANNED = 0.8  # share of the pages
_NO_MEANING = re.compile("[\ufffd\ue000-\uf8ff\U000f0000-\U0010ffff]")
_UNREADABLE = 0.5  # share of the characters without a meaning
_TOLD = 0.003


@dataclass(frozen=True, slots=True)
class Losses:
    """How many of the pages failed, were too much work, and came too late; `cut`: the text was cut at the limit."""

    pages: int
    failed: int = 0
    refused: int = 0
    late: int = 0
    beyond: int = 0
    cut: bool = False

    def is_cut(self) -> bool:
        """Tell whether a part of the document is missing."""
        return self.cut or bool(self.failed or self.refused or self.late or self.beyond)

    def sentences(self) -> list[str]:
        """Say what is missing."""
        said = []
        if self.failed:
            said.append(f"{self.failed} of {self.pages} pages could not be read.")
        if self.refused:
            said.append(f"{self.refused} of {self.pages} pages draw too much to be read.")
        if self.late:
            said.append(f"It took too long: the last {self.late} of {self.pages} pages were not read.")
        if self.beyond:
            said.append(f"Only the first {self.pages - self.beyond} of {self.pages} pages were read.")
        if self.cut:
            said.append("The text was cut at the limit.")
        return said


def unseen(pages: Sequence[PdfPage], shown: Sequence[Sequence[Line]]) -> list[str]:
    """Say that text was left out because no reader sees it."""
    letters = sum(len(line.text) for page in pages for line in page.lines)
    left_out = letters - sum(len(line.text) for lines in shown for line in lines)
    return [f"Text that the pages do not show was left out ({left_out} characters)."] if left_out else []


def little(pages: Sequence[PdfPage], text: str) -> list[str]:
    """Say what there is little of: pages that are pictures, few characters, codes without a meaning.

    Raises `Unreadable` where what is left is not the text of the document.
    """
    total = len(pages)
    pictures = sum(page.pictures >= SCAN and _letters(page) < _NEXT_TO_NOTHING for page in pages)
    few = len(text) < _FEW * total
    if total > 1 and few and pictures >= _SCANNED * total:
        raise Unreadable("scanned", f"{pictures} of {total} pages are pictures; there is next to no text to quote.")
    without = len(_NO_MEANING.findall(text))
    if without >= _UNREADABLE * len("".join(text.split())):
        raise Unreadable("unsupported", "The fonts of the PDF do not say which letters its signs stand for.")
    said = []
    if pictures:
        said.append(f"{pictures} of {total} pages are pictures with next to no text; what they show was not read.")
    elif few and total >= _FEW_PAGES:
        said.append(f"There are only {len(text)} characters on {total} pages; the rest of what they show is no text.")
    if without > _TOLD * len(text):
        share = 100 * without / len(text)
        said.append(f"The fonts do not say what {share:.1f} % of the characters stand for; figures may lack digits.")
    return said


def _letters(page: PdfPage) -> int:
    """Count the characters of a page."""
    return sum(len(line.text) for line in page.lines)
