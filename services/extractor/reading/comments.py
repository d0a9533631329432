"""Readers' comments: taken out of a page that has something else to say."""

import re

from lxml.etree import _Element
from lxml.html import HtmlElement

from services.extractor.reading.blocks import squeeze
from services.extractor.reading.markup import HEADINGS, inline_text, tag_of

_NAMES = re.compile(
    r"(?:(?:post|user|reader|article|blog|page)[-_]?)?comments?(?:[-_](?:list|area|section|wrapper|container|thread|block|box"
    r"|content|body|form|respond))?|comment-?list|disqus_thread|fb-comments|respond|kommentare|leserkommentare"
    r"|commentaires|comentarios|comentários|commenti|talkback|wpd-threads|livefyre|isso-thread|giscus|utterances",
    re.IGNORECASE,
)
_HEADING = re.compile(
    r"\(?\d{1,5}\)? (?:(?:readers?['’]? )?comments?|replies|responses|kommentare?|commentaires?|comentarios?|commenti)"
    r"(?: .{0,60})?"
    r"|(?:readers?['’]? )comments|leave a (?:reply|comment).{0,30}"
    r"|(?:comments|kommentare|leserkommentare|commentaires|comentarios|commenti)"
    r" ?\(\d{1,5}\)|leserkommentare|post a comment|join the (?:discussion|conversation)",
    re.IGNORECASE,
)
_TAGS = frozenset("div section ol ul dl aside article li form table details footer".split())
_ENOUGH = 200  # code points of other text: with less, the comments are what the page is about


def drop_comments(tree: HtmlElement) -> None:
    """Remove, in place, sections of readers' comments by their name, type or heading, unless little else stays."""
    sections = _sections(tree)
    if not sections:
        return
    body = tree.find(".//body")
    whole = tree if body is None else body
    if _length(whole) - sum(map(_length, sections)) < _ENOUGH:
        return
    for node in sections:
        if isinstance(node, HtmlElement) and node.getparent() is not None:
            node.drop_tree()


def _sections(tree: HtmlElement) -> list[_Element]:
    """Return the elements that hold comments, each once, none that stands in another of them."""
    found = [node for node in tree.iter() if tag_of(node) in _TAGS and _is_comments(node)]
    for node in tree.iter(*HEADINGS):
        if _HEADING.fullmatch(inline_text(node)[:200]):
            found += _below(node)
    doomed = set(found)
    return [node for node in dict.fromkeys(found) if not any(above in doomed for above in node.iterancestors())]


def _is_comments(node: _Element) -> bool:
    """Tell whether an element says that it holds comments, and holds no article."""
    names = [*(node.get("class") or "").split(), *(node.get("id") or "").split()]
    typed = "schema.org/Comment" in (node.get("itemtype") or "") or node.get("itemprop") == "comment"
    if not typed and not any(_NAMES.fullmatch(name) for name in names):
        return False
    return not any(tag_of(inner) in ("h1", "main") or inner.get("itemprop") == "articleBody" for inner in node.iter())


def _below(heading: _Element) -> list[_Element]:
    """Return a heading and what follows it up to the next one of its rank."""
    found, level = [heading], HEADINGS[tag_of(heading)]
    for following in heading.itersiblings():
        if HEADINGS.get(tag_of(following), 7) <= level or tag_of(following) in ("main", "article"):
            break
        found.append(following)
    return found


def _length(node: _Element) -> int:
    return len(squeeze("".join(map(str, node.itertext()))))
