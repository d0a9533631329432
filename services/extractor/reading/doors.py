"""Pages that stand in front of a page: shells that scripts have to fill, and checks that ask who is there.

Neither is content. A rule is a name and what it looks at. It speaks only about pages that hold next to nothing besides
the words of such a door, so that an article about captchas or cookies stays an article. What each rule is worth is
measured by `evals/bench/doors.py`: which doors only it finds, and how many real pages it takes for one (none).
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from lxml.etree import _Element
from lxml.html import HtmlElement

from services.extractor.reading.markup import inline_text, tag_of

MOST_REST: Final = 200
"""Code points of a page that are not words of a door; with more of them there is something to quote."""
BANNER_REST: Final = 40
"""The same beside words of consent, which also stand on the banners of short pages."""
MOST_TEXT: Final = 2_500
"""Code points of the longest door; real ones have 30 to 1,500."""

Verdict = Literal["thin_content", "blocked", "not_found"]
_I = re.IGNORECASE

# Ordinary pages carry the detection scripts of the same firms (challenge-platform/scripts/jsd): those are no sign.
_CODE = re.compile(
    r"challenge-platform/\S*orchestrate|[_-]cf[_-]chl|captcha-delivery\.com|_Incapsula_Resource|/_sec/cp_challenge"
    r"|px-captcha|captcha\.px-cdn|awswaf\.com|sucuri_cloudproxy|/\.well-known/(?:ddos-guard|sgcaptcha)|anubis_challenge",
    _I,
)
_YOU = r"(?:that )?you(?:['’]re| are) (?:not )?(?:an? )?(?:human|robot|bot|real)"
_CHECK = re.compile(
    rf"(?:verify(?:ing)?|confirm|prove) {_YOU}|checking (?:if the site|your browser)|unusual (?:traffic|activity)"
    r"|are you an? (?:robot|human)|(?:like|not) an? (?:ro)?bot\b|automated (?:access|requests|queries)|robot check"
    r"|cookies to continue|you (?:have been|are being|were) (?:blocked|rate.limited)|press (?:&|and) hold"
    r"|(?:complete|solve|enter) the (?:captcha|characters|security check)|incapsula incident id|ddos protection"
    r"|(?:access|request) (?:to this page )?(?:is |was |has been )?(?:denied|blocked|rejected|unsuccessful)"
    r"|don['’]t have permission to access|review the security of your connection|\bjust a moment\b"
    r"|pardon our interruption|security check(?:point)?|attention required|too many requests|browser verification",
    _I,
)
_CHECK_WORDS = re.compile(
    r"captcha|robot|\bbots?\b|human|browser|javascript|cookies|security|ray id|reference|incident|\bip\b|blocked|denied"
    r"|permission|traffic|moment|support|contact|reload|refresh|server|cloudflare|forbidden|automated|network",
    _I,
)
_CONSENT = re.compile(
    r"before you continue to|(?:accept|reject|agree to) all\b|we (?:value|care about|respect) your privacy"
    r"|manage (?:your )?(?:cookie|privacy)|your privacy (?:choices|matters|settings)|cookies? (?:consent|preferences)"
    r"|(?:consent|agree) to (?:the use of |our use of )?cookies",
    _I,
)
_CONSENT_WORDS = re.compile(
    r"cookie|consent|privacy|partners?\b|personal|data\b|\bads?\b|advertis|vendors?|accept|reject|agree|settings|options"
    r"|services|statistics|measure|continue|content|sign in|terms",
    _I,
)
_LOGIN = re.compile(
    r"(?:log|sign) ?in (?:to|required|with)\b|(?:please|must|need to|have to) (?:log|sign) ?in|authentication required"
    r"|forgot(?:ten)? (?:your )?password|(?:subscribe|register|create an? (?:free )?account) to (?:continue|read|view)",
    _I,
)
_LOGIN_WORDS = re.compile(
    r"log ?in|sign ?(?:in|up)|password|account|regist|e-?mail|user ?name|remember|forgot|subscri|terms|privacy|continue"
    r"|authenticat|facebook|google|apple\b|sso\b|welcome|member",
    _I,
)
# What a page is called that says only that there is none, and the sentence with which it says so.
_GONE_NAME = re.compile(
    r"(?:(?:sorry|oops|whoops|ops|hoppla)\W+)?(?:(?:http |error |fehler |erreur )?(?:404|410)(?: error)?\W*)?"
    r"(?:(?:(?:we )?(?:can['’]?t|cannot|couldn['’]?t) find (?:th(?:e|at|is) )?page"
    r"|(?:the |this |that )?(?:page|file|article)"
    r"(?: (?:you .{0,30}))? ?"
    r"(?:was |is |could |can |has been |does )?(?:not (?:be )?(?:found|exist|available)|no longer"
    r" (?:exists?|available)|missing|removed)|not found"
    r"|(?:die )?seite (?:wurde )?nicht gefunden|page (?:introuvable|non trouvée)"
    r"|página no encontrada|pagina non trovata|página não encontrada|pagina niet gevonden|страница не найдена"
    r"|sidan (?:kunde inte hittas|hittades inte)|siden (?:ble|blev) ikke funnet|nie znaleziono strony"
    r"|strona nie (?:istnieje|została znaleziona)"
    r"|(?:页面|頁面)(?:不存在|未找到)|找不到(?:页面|頁面|网页)|ページが見つかりません(?:でした)?))?\W*",
    _I,
)
_GONE = re.compile(
    r"(?:page|file|article|content|document|address|url|link)\b.{0,60}?\b(?:does(?:n['’]t| not) exist|(?:could|can)"
    r"(?:not|n['’]t| not) be found|was(?:n['’]t| not) found|not found|no longer (?:exists|available)"
    r"|(?:been|was|were) (?:moved|removed|deleted))"
    r"|(?:can['’]?t|cannot|couldn['’]?t|could not|unable to) find (?:the|that|this|what)\b"
    r"|nothing (?:was|could be) found"
    r"|(?:existiert|gibt es) (?:leider )?(?:nicht|diese seite)|nicht (?:mehr )?(?:gefunden|vorhanden|verfügbar)"
    r"|n['’]existe (?:pas|plus)|introuvable|no existe|no encontrada|non esiste|non trovata|não (?:existe|encontrada)"
    r"|bestaat niet|niet gevonden|не (?:существует|найдена)|finns inte|hittades inte|nie (?:istnieje|znaleziono)"
    r"|不存在|未找到|找不到|見つかりません|存在しません",
    _I,
)
_PARTS = re.compile(r"\s+[-–—|·»]\s+|[|»·]")
_MOST_GONE = 4_000
_SAID_WITHIN = 600
_SCRIPTS = re.compile(r"java ?script", _I)
_NEEDS_SCRIPTS = re.compile(
    r"(?:enable|requires?|needs?|without|turn on|activate|supports?|allow) (?:to )?(?:have )?java ?script"
    r"|java ?script (?:to run|(?:is )?(?:required|disabled|not|needed|off)|must be|(?:to be |support )?enabled)"
    r"|java ?script (?:aktivieren|einschalten)|activer java ?script",
    _I,
)
_LOADING = re.compile(
    r"\W*(?:(?:the |this )?(?:page |app |site )?(?:is )?loading|please wait|redirecting)\b.{0,60}", _I
)
_MOUNTS = frozenset("root app __next __nuxt app-root main-app react-root application ___gatsby svelte q-app".split())
_NO_WORDS = frozenset(("script", "style", "noscript", "template", "svg", "link", "meta"))
_MAX_CODE = 50_000


@dataclass(frozen=True, slots=True)
class Page:
    """What the rules look at: text, title, the words for readers without scripts, and what stands in the markup."""

    text: str
    title: str
    heading: str
    noscript: str
    code: str
    has_scripts: bool
    has_password: bool
    has_mount: bool

    @property
    def names(self) -> tuple[str, str]:
        """What the page is called: its title and its first heading."""
        return self.title, self.heading

    def rest(self, words: re.Pattern[str]) -> int:
        """Return how many code points stand in lines without any of these words."""
        return sum(len(line) for line in self.text.split("\n") if not words.search(line))

    def is_all(self, sign: re.Pattern[str], words: re.Pattern[str], rest: int = MOST_REST) -> bool:
        """Tell whether the page shows a sign and holds next to nothing but such words."""
        if len(self.text) >= MOST_TEXT or self.rest(words) >= rest:
            return False
        return (sign.search(self.title) or sign.search(self.text)) is not None


@dataclass(frozen=True, slots=True)
class Rule:
    """A named rule, what it says of the pages that it fits, and the sentence for their reader."""

    name: str
    verdict: Verdict
    fits: Callable[[Page], bool]
    reason: str


def _is_check(page: Page) -> bool:
    return len(page.text) < MOST_REST and _CODE.search(page.code) is not None


def _is_gone(page: Page) -> bool:
    """Tell whether a page is called "not found" by its title or heading, whole, and says so in its first words."""
    if len(page.text) > _MOST_GONE:
        return False
    named = [any(part.strip() and _GONE_NAME.fullmatch(part.strip()) for part in _PARTS.split(t)) for t in page.names]
    if all(named):
        return True
    return any(named) and _GONE.search(page.text[:_SAID_WITHIN].replace(page.heading or "\0", "", 1)) is not None


def _asks_login(page: Page) -> bool:
    return (page.has_password or len(page.text) < MOST_REST) and page.is_all(_LOGIN, _LOGIN_WORDS)


def _is_shell(page: Page) -> bool:
    if page.has_mount and _NEEDS_SCRIPTS.search(page.noscript):
        return len(page.text) < 2 * MOST_REST
    nothing = not page.text or _LOADING.fullmatch(page.text) is not None
    return page.has_scripts and (nothing or (page.has_mount and len(page.text) < MOST_REST))


RULES: Final = (
    Rule("check_code", "blocked", _is_check, "The site checks for robots."),
    Rule("check_words", "blocked", lambda p: p.is_all(_CHECK, _CHECK_WORDS), "The site refused, or checks for robots."),
    Rule(
        "consent",
        "blocked",
        lambda p: p.is_all(_CONSENT, _CONSENT_WORDS, BANNER_REST),
        "The site asks for consent first.",
    ),
    Rule("gone", "not_found", _is_gone, "The site says that the page does not exist."),
    Rule("login", "blocked", _asks_login, "The site asks for a login first."),
    Rule("says_scripts", "thin_content", lambda p: p.is_all(_NEEDS_SCRIPTS, _SCRIPTS), "The page needs JavaScript."),
    Rule("shell", "thin_content", _is_shell, "Without its scripts the page holds next to no text."),
)


def door(page: Page) -> Rule | None:
    """Return the first rule that fits a page, None for one that may be content."""
    return next((rule for rule in RULES if rule.fits(page)), None)


def look(tree: HtmlElement) -> Page:
    """Look at the markup of a page before its scripts are taken out; its text is not known yet."""
    nodes: dict[str, list[HtmlElement]] = {}
    for node in tree.iter():
        nodes.setdefault(tag_of(node), []).append(node)
    loaded = (*nodes.get("script", ()), *nodes.get("form", ()), *nodes.get("iframe", ()))
    mounts = (node for kind, found in nodes.items() for node in found if _is_mount(kind, node))
    return Page(
        text="",
        title=inline_text(nodes["title"][0]) if "title" in nodes else "",
        heading=next(
            (words for name in ("h1", "h2") for node in nodes.get(name, ()) if (words := inline_text(node))), ""
        ),
        noscript=" ".join(" ".join(map(str, node.itertext())) for node in nodes.get("noscript", ()))[:_MAX_CODE],
        code="\n".join(map(_code_of, loaded)),
        has_scripts="script" in nodes,
        has_password=any(map(_asks_password, nodes.get("input", ()))),
        has_mount=any(not _has_words(node) for node in mounts),
    )


def _code_of(node: _Element) -> str:
    """Return where an element loads from or sends to, and the code in it."""
    return f"{node.get('src') or node.get('action')} {(node.text or '')[:_MAX_CODE]}"


def _asks_password(node: _Element) -> bool:
    """Tell whether a field is one for a password."""
    return (node.get("type") or "").lower() == "password"


def _is_mount(kind: str, node: _Element) -> bool:
    """Tell whether an element is one of those that scripts fill."""
    return (node.get("id") or "").lower() in _MOUNTS or kind in _MOUNTS


def _has_words(node: _Element) -> bool:
    """Tell whether anything in an element is shown without scripts."""
    return any((part.text or "").strip() for part in node.iter() if tag_of(part) not in _NO_WORDS)
