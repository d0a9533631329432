"""Tags of site generators ("{% page "/leave" %}") in Markdown sources: no reader of the site ever sees them."""

import re

_FENCE = re.compile(r"^\s{0,3}(?:```|~~~)")
_CODE = re.compile(r"(`+)[^`]*?\1(?!`)")
_TARGET = re.compile(r"\]\(\s*(?:\{%.*?%\}|\{\{.*?\}\})[^)\s]*\s*\)")
_TAG = re.compile(r"\{%.*?%\}")
_ARGUMENT = re.compile(r"[\"']([^\"'/{}]{1,60})[\"']\s*-?%\}$")
_TAKEN_OUT = re.compile(r"\{%-?\s*(?:include|layout|block|endblock|extends|assign|raw|endraw|comment|endcomment)\b")


def without_tags(source: str) -> str:
    """Return Markdown without template tags: a link to one keeps its words, a tag in a sentence its quoted argument.

    Code is left as it is: there the tags are what is shown.
    """
    if "{%" not in source and "]({{" not in source:
        return source
    lines, in_code = [], False
    for line in source.split("\n"):
        in_code ^= _FENCE.match(line) is not None
        lines.append(line if in_code else _line(line))
    return "\n".join(lines)


def _line(line: str) -> str:
    parts, at = [], 0
    for code in _CODE.finditer(line):
        parts += [_plain(line[at : code.start()]), code.group()]
        at = code.end()
    return "".join((*parts, _plain(line[at:])))


def _plain(text: str) -> str:
    return _TAG.sub(_shown, _TARGET.sub("]()", text))


def _shown(match: re.Match[str]) -> str:
    argument = None if _TAKEN_OUT.match(match.group()) else _ARGUMENT.search(match.group())
    return argument.group(1) if argument else ""
