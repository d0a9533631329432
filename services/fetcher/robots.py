"""robots.txt by RFC 9309: what an answer means, which group speaks to us, and whether an address may be read.

Protego matches paths. The groups are picked here, where they end as Protego ends them: Protego takes a byte order mark
for part of a rule, lets a Crawl-delay end a list of agents, and compares agents by more than their product token.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from protego import Protego

from shared.domain.urls import Url

MAX_ROBOTS_BYTES = 500 * 1024
"""What is read of a file; the standard asks for at least this much."""

MAX_CRAWL_DELAY_S = 30.0
"""A longer Crawl-delay is taken for this."""

MAX_RULES = 20_000

_LINE = re.compile(r"\s*([^\s:#]+)\s*:\s*([^#\r\n]*)")
"""A field and its value."""
_WITHOUT_COLON = re.compile(r"\s*([A-Za-z-]+)\s+([^\s#]+)\s*(?:#.*)?")
"""The same without the colon, as it is sometimes written: a single word follows, else it is prose."""
_DISALLOW = ("disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw")
_RULES = {"allow": "allow", **dict.fromkeys(_DISALLOW, "disallow")}
"""The fields of rules, and the slips in writing one that other robots understand too."""
_BESIDE_GROUPS = frozenset({"crawl-delay", "sitemap", "host"})
"""Fields that end no list of agents: of the site, or written between two agents."""
_TOKEN = re.compile(r"[\w-]+")
"""An agent's name; letters of any script, though the standard has but those of ASCII."""
_NUMBER = re.compile(r"\d{1,6}(?:\.\d{1,6})?")


class Meaning(StrEnum):
    """What the answer to a request for robots.txt says about the whole site."""

    RULES = "rules"
    OPEN = "open"
    CLOSED = "closed"


def meaning_of(status: int | None) -> Meaning:
    """Return what an HTTP status means; None is an answer that never came.

    RFC 9309, 2.3.1: a file that is unavailable (4xx) forbids nothing, one that is unreachable forbids everything. 429
    is treated as the latter: the site asks to be left alone.
    """
    if status is None or status >= 500 or status == 429:
        return Meaning.CLOSED
    return Meaning.RULES if 200 <= status < 300 else Meaning.OPEN


@dataclass(frozen=True, slots=True)
class Group:
    """The rules that speak to one agent: ``allow`` or ``disallow`` with a path pattern, and the delay asked for."""

    rules: tuple[tuple[str, str], ...] = ()
    crawl_delay_s: float | None = None


class RobotsRules:
    """The rules of one robots.txt for one agent."""

    def __init__(self, body: bytes, agent: str) -> None:
        group = group_for(text_of(body), agent)
        self.crawl_delay_s = group.crawl_delay_s
        lines = ["User-agent: *", *(f"{field}: {pattern}" for field, pattern in group.rules)]
        self.text = "\n".join(lines)
        """The rules as a file for everybody, to be handed on."""
        self._matcher = Protego.parse(self.text)

    def allows(self, url: Url) -> bool:
        """Tell whether the address may be read; robots.txt itself always may."""
        return url.path == "/robots.txt" or self.allows_target(str(url))

    def allows_target(self, target: str) -> bool:
        """Tell whether a path with its query, or an address as somebody wrote it, may be read."""
        return bool(self._matcher.can_fetch(target, "*"))


def text_of(body: bytes) -> str:
    """Return the text of a file: UTF-8, whatever is not is replaced; a file that is too long is cut at a line's end."""
    if len(body) > MAX_ROBOTS_BYTES:
        body = body[:MAX_ROBOTS_BYTES]
        body = body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]
    return body.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace").removeprefix("\ufeff")


def group_for(text: str, agent: str) -> Group:
    """Return the rules for the product token ``agent``: those of all groups that name it, else those for everybody."""
    wanted = _token(agent)
    records = list(_records(text, frozenset({wanted, "*"})))
    speaks = wanted if any(wanted in record.agents for record in records) else "*"
    own = [record for record in records if speaks in record.agents]
    rules = tuple((r.field, r.value) for r in own if r.field in ("allow", "disallow"))
    return Group(rules[:MAX_RULES], _delay([r.value for r in own if r.field == "crawl-delay"]))


@dataclass(frozen=True, slots=True)
class _Record:
    """A line of a group, or its mere existence (field "group"), and which of the known tokens it speaks to."""

    agents: frozenset[str]
    field: str
    value: str


def _fields(text: str) -> Iterator[tuple[str, str]]:
    """Yield the fields of a file in order, names in lower case; lines that are none are passed over."""
    for line in re.split(r"\r\n|\r|\n", text):
        match = _LINE.match(line) or _WITHOUT_COLON.fullmatch(line)
        if match is not None:
            yield match[1].lower(), match[2].strip()


def _records(text: str, known: frozenset[str]) -> Iterator[_Record]:
    """Yield the lines of all groups that speak to a known product token.

    A rule speaks to all agents named since the group before ended: with a rule, or a field that is not known. A delay
    speaks to the agents named right before it, since that is how it is written where it stands between two agents.
    """
    agents: frozenset[str] = frozenset()
    beside: frozenset[str] = frozenset()
    ruled, last = False, ""
    for field, value in _fields(text):
        if field in _BESIDE_GROUPS:
            if field == "crawl-delay" and beside:
                yield _Record(beside, field, value)
        elif field == "user-agent":
            named = known & {_token(value)}
            agents = named if ruled else agents | named
            beside = beside | named if last == "user-agent" else named
            ruled = False
            yield _Record(named, "group", "")
        elif field in _RULES:
            ruled = True
            if value and agents:
                yield _Record(agents, _RULES[field], value)
        else:
            ruled = True
        last = field


def _token(value: str) -> str:
    """Return the product token of a User-agent line, without a version behind it."""
    if value.startswith("*"):
        return "*"
    match = _TOKEN.match(value)
    return match[0].lower() if match else ""


def _delay(values: list[str]) -> float | None:
    """Return the longest delay asked for, at most `MAX_CRAWL_DELAY_S`; what is no number is ignored."""
    asked = [float(value) for value in values if _NUMBER.fullmatch(value)]
    return min(max(asked), MAX_CRAWL_DELAY_S) if asked else None
