"""Raised and lowered text of a page, put into the line so that it makes no figure longer."""

import re
from dataclasses import dataclass

from lxml.etree import _Element, iterwalk

from services.extractor.reading.blocks import squeeze
from services.extractor.reading.markup import BREAKS, INLINE, SKIPPED, inline_text, tag_of
from services.extractor.reading.mathml import formula
from services.extractor.reading.scripts import MARK, lowered, mixed, raised
from services.extractor.reading.styles import Declared, Sheet, declared

_SUPER = frozenset(("sup", "superscript", "supsc", "super"))
_FRACTION = frozenset(("frac", "sfrac", "fraction"))
_NOTE_CLASS = re.compile(r"\b(?:note-?ref|foot-?note(?:s|-?ref|-?link|-?anchor)?|end-?note|fn-?ref|cite_ref)\b", re.I)
_NOTE_TARGET = re.compile(
    r"#(?:_?ftn|_?fn|_?edn|foot-?note|end-?note|cite_note|cite-note|note-?ref|note|sdfootnote|sdendnote|rn)[-_:.]?\w*",
    re.I,
)
_NOTE_ROLES = frozenset(("doc-noteref", "noteref"))
_REFERENCES = frozenset(("reference", "footnote", "footnote-ref", "fn", "noteref", "endnote"))
_BACK_ROLES = frozenset(("doc-backlink", "backlink"))
_BACK = re.compile(r"[↩↑^⏎↵⤴︎\s]+|back|↩︎")
_HIGHER = re.compile(r"-\d*\.?\d+(?:em|px|ex|pt|%)")
_LENGTH = re.compile(r"-?\d*\.?\d+(?:em|px|ex|pt|%)")
_BAR = re.compile(r"\A\s*[⁄∕]\s*(?=\d|\Z)")
_KEPT = 40
_LONGEST = 80  # longer raised text is a remark, not a mark


def flatten_raised(tree: _Element, sheet: Sheet | None = None) -> None:
    """Replace, in place, raised and lowered text, formulas and marks of notes by what `scripts` makes of them."""
    made = _Walk(sheet).run(tree)
    for node, text in made:
        tail = node.tail
        node.clear()
        node.tag = "span"
        node.text, node.tail = text, _BAR.sub("/", tail) if tail else tail


@dataclass(slots=True)
class _Walk:
    """Walks a tree once with the end of the line before each element; what it decides is done afterwards."""

    sheet: Sheet | None
    line: str = ""

    def run(self, tree: _Element) -> list[tuple[_Element, str]]:
        """Return the elements to replace, each with its text."""
        made: list[tuple[_Element, str]] = []
        walk = iterwalk(tree, events=("start", "end"))
        for event, node in walk:
            tag = tag_of(node)
            if event == "start":
                text = self._text_for(node, tag) if node is not tree and tag else None
                if text is not None:
                    made.append((node, text))
                    self._add(text)
                    walk.skip_subtree()
                    continue
                if tag in SKIPPED and tag != "head":
                    walk.skip_subtree()
                    continue
                self._begin(tag)
                self._add(node.text)
            else:
                self._begin(tag)
                if node is not tree:
                    self._add(node.tail)
        return made

    def _begin(self, tag: str) -> None:
        """Begin a new line where an element does."""
        if tag not in INLINE or tag in BREAKS:
            self.line = ""

    def _add(self, text: str | None) -> None:
        if text:
            self.line = (self.line + text)[-_KEPT:]

    def _text_for(self, node: _Element, tag: str) -> str | None:
        """Return the text to put in an element's place; None where it stays as it is."""
        if tag == "math":
            return f" {squeeze(formula(node))} "
        if tag == "a":
            return "" if self._is_note_link(node) else None
        if _classes(node) & _FRACTION:
            return self._fraction(node)
        way = self._way(node, tag)
        if way == 0:
            return None
        text = inline_text(node)
        if not text:
            return ""
        if len(text) > _LONGEST:
            return f" {text} " if tag == "sup" else None
        if way < 0:
            return lowered(text, self.line)
        return raised(text, self.line, _after(node), linked=_leads_to_note(node, text))

    def _way(self, node: _Element, tag: str) -> int:
        """Return 1 for raised text, -1 for lowered text, 0 for text on the line."""
        if tag in ("sup", "sub"):
            return 1 if tag == "sup" else -1
        if tag not in ("span", "small", "a", "font", "i", "b", "em", "strong"):
            return 0
        if _classes(node) & _SUPER:
            return 1
        own = declared(node.get("style"))
        style = {**self.sheet.of(node, tag), **own} if self.sheet is not None else own
        return _shift(style)

    def _fraction(self, node: _Element) -> str | None:
        """Return a fraction that is made of two marked parts."""
        parts = {name: part for part in node.iter() for name in _classes(part) & {"num", "den"}}
        if len(parts) != 2:
            return None
        whole = squeeze(node.text or "")
        above, below = inline_text(parts["num"]), inline_text(parts["den"])
        before = f"{self.line}{' ' if whole and self.line[-1:].isalnum() else ''}{whole}"
        return before[len(self.line) :] + mixed(before, above, below)

    def _is_note_link(self, node: _Element) -> bool:
        """Tell whether a link is the mark of a note, or leads back from one."""
        roles, text, href = _roles(node), inline_text(node), node.get("href") or ""
        if roles & _BACK_ROLES or (_BACK.fullmatch(text) and href.startswith("#")):
            return True
        if not MARK.fullmatch(text):
            return False
        if roles & _NOTE_ROLES or _NOTE_CLASS.search(node.get("class") or ""):
            return True
        return href.startswith("#") and self._stands_as_mark(text, href)

    def _stands_as_mark(self, text: str, href: str) -> bool:
        """Tell whether a link inside the page that looks like the mark of a note also stands like one."""
        glued = self.line[-1:].isalnum() and text[0].isdigit()
        return glued or text.startswith("[") or (_NOTE_TARGET.fullmatch(href) is not None and bool(self.line.strip()))


def _classes(node: _Element) -> frozenset[str]:
    return frozenset((node.get("class") or "").lower().split())


def _roles(node: _Element) -> frozenset[str]:
    return frozenset((*(node.get("role") or "").split(), *(node.get("epub:type") or "").split()))


def _shift(style: Declared) -> int:
    """Return which way a style moves text off its line."""
    align = style.get("vertical-align", "")
    if align in ("super", "text-top"):
        return 1
    if align == "sub":
        return -1
    if _LENGTH.fullmatch(align) and align.strip("-0.empxt%"):
        return -1 if align.startswith("-") else 1
    small = "font-size" in style
    return 1 if small and style.get("position") == "relative" and _HIGHER.fullmatch(style.get("top", "")) else 0


def _after(node: _Element) -> str:
    """Return the beginning of what follows on the line: the tail, or at its end the next element's words."""
    tail = node.tail or ""
    following = node.getnext()
    if len(tail.strip()) <= 1 and following is not None and tag_of(following) in INLINE:
        return (tail + inline_text(following))[:_KEPT]
    return tail[:_KEPT]


def _leads_to_note(node: _Element, text: str) -> bool:
    """Tell whether raised text is a link, in it or around it, or is marked as a reference."""
    if _roles(node) & _NOTE_ROLES or _classes(node) & _REFERENCES:
        return True
    parent = node.getparent()
    around = parent is not None and tag_of(parent) == "a" and inline_text(parent) == text
    return around or (tag_of(node) == "a" and bool(node.get("href"))) or next(node.iter("a"), None) is not None
