"""Addresses of the web: read strictly, resolved, brought into one canonical form, and matched with domains.

Reading follows the WHATWG URL Standard where it refuses, and is stricter where an address has no honest use for what
that standard would repair: credentials, escapes in the host, backslashes, control characters, numbers in disguise.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final

import idna

from shared.domain.errors import NotAllowed

MAX_URL_CHARS = 2048
DEFAULT_PORTS: Final = {"http": 80, "https": 443}

_PARTS = re.compile(r"(?:([^:/?#]+):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#.*)?", re.DOTALL)
"""RFC 3986, appendix B."""
_OUTER = "".join(map(chr, range(0x21)))
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_WRAPPING = re.compile(r"[\t\r\n]")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_PORT = re.compile(r"[0-9]{0,5}")
_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})|[^A-Za-z0-9\-._~!$&'()*+,;=:@/?]")
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_PRIVATE_SUFFIXES = frozenset(
    {"localhost", "local", "localdomain", "internal", "intranet", "lan", "home", "corp", "private", "arpa", "onion"}
)

_TRACKING_PREFIXES = ("utm_", "mtm_", "matomo_", "piwik_", "pk_", "hsa_", "itm_", "oly_", "vero_", "_bta_")
_TRACKING = frozenset(
    "gclid gclsrc dclid gbraid wbraid gad_source gad_campaignid srsltid fbclid fb_action_ids fb_action_types fb_ref "
    "fb_source msclkid yclid ysclid ymclid twclid ttclid li_fat_id igshid igsh mc_cid mc_eid mkt_tok _hsenc _hsmi "
    "__hssc __hstc __hsfp hsctatracking _openstat wickedid rb_clickid epik s_cid icid ncid cmpid ref_src ref_url "
    "_ga _gl ga_source ga_medium ga_term ga_content ga_campaign ga_place spm scm share_from share_source".split()
)
"""Query parameters that tell where a visitor came from and never what the page is, in lower case."""


@dataclass(frozen=True, slots=True)
class Url:
    """An http(s) address in normal form: host in lower case and punycode, valid escapes only, no dot segments."""

    scheme: str
    host: str
    """A name, or an IP address without brackets."""
    port: int
    path: str
    query: str | None = None

    @property
    def netloc(self) -> str:
        """Return the host as a Host header names it, with the port unless it is the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """Return scheme, host and port, which is what one robots.txt speaks for."""
        return f"{self.scheme}://{self.netloc}"

    @property
    def target(self) -> str:
        """Return path and query as a request line names them."""
        return self.path if self.query is None else f"{self.path}?{self.query}"

    @property
    def literal(self) -> IPv4Address | IPv6Address | None:
        """Return the address when the host is one, None for a name."""
        return _literal(self.host)

    def __str__(self) -> str:
        return f"{self.origin}{self.target}"


def parse_url(text: str) -> Url:
    """Read an absolute http(s) address, without its fragment; raise `NotAllowed` with a ``url_…`` code."""
    stripped = text.strip(_OUTER)
    if len(stripped) > MAX_URL_CHARS:
        raise NotAllowed("url_too_long", f"The address has {len(stripped)} characters; {MAX_URL_CHARS} are allowed.")
    if _CONTROL.search(stripped):
        raise NotAllowed("url_control_character", f"The address {stripped[:80]!r} holds a control character.")
    scheme, authority, path, query = _split(stripped)
    if scheme is None or scheme not in DEFAULT_PORTS:
        raise NotAllowed("url_scheme", f"{stripped[:80]!r} is no http or https address.")
    if not authority:
        raise NotAllowed("url_host_missing", f"The address {stripped[:80]!r} names no host.")
    _check_backslash(authority + path, stripped[:80])
    host, port = _host_and_port(authority)
    path = _without_dots(_escaped(path)) or "/"
    url = Url(scheme, host, DEFAULT_PORTS[scheme] if port is None else port, path, _escaped(query or "") or None)
    if len(str(url)) > MAX_URL_CHARS:
        raise NotAllowed("url_too_long", f"The address has over {MAX_URL_CHARS} characters once it is escaped.")
    return url


def _check_backslash(place: str, shown: str) -> None:
    if "\\" in place:
        raise NotAllowed("url_backslash", f"The address {shown!r} holds a backslash.")


def resolve(base: Url, reference: str) -> Url:
    """Return what a reference on the page at ``base`` leads to (RFC 3986, 5.2); raise `NotAllowed` as `parse_url`.

    As in browsers, line breaks inside the reference are dropped, and ``http:x`` on an http page is relative.
    """
    text = _WRAPPING.sub("", reference.strip(_OUTER))
    scheme, authority, path, query = _split(text)
    if scheme is not None and (scheme != base.scheme or authority is not None):
        return parse_url(text)
    if authority is not None:
        return parse_url(f"{base.scheme}:{text}")
    if not path:
        tail = base.path + (f"?{query}" if query is not None else f"?{base.query}" if base.query else "")
    else:
        merged = path if path.startswith("/") else f"{base.path.rpartition('/')[0]}/{path}"
        tail = merged if query is None else f"{merged}?{query}"
    return parse_url(base.origin + tail)


def canonical_url(url: Url | str) -> str:
    """Return the address by which a page is known: in normal form and without tracking parameters, in their order.

    Applied to its own result it changes nothing.
    """
    parsed = parse_url(url) if isinstance(url, str) else url
    kept = [p for p in (parsed.query or "").split("&") if not _tracks(p.partition("=")[0])]
    return str(replace(parsed, query="&".join(kept) or None))


def host_name(text: str) -> str:
    """Return a host in normal form; a leading ``*.`` or dot is dropped. Raise `NotAllowed` for what is no host."""
    name = text.strip().removeprefix("*.").removeprefix(".")
    host, port = _host_and_port(name)
    if port is not None:
        raise NotAllowed("url_host", f"{text[:80]!r} names a port; give the host alone.")
    return host


def is_private_name(host: str) -> bool:
    """Tell whether a host name can only mean something on a private network: one label, or a suffix kept for that."""
    if _literal(host) is not None:
        return False
    head, dot, last = host.rpartition(".")
    return not dot or not head or last in _PRIVATE_SUFFIXES


def within(host: str, domains: Sequence[str]) -> bool:
    """Tell whether a host is one of the domains or below one; both are in normal form."""
    return any(host == domain or host.endswith(f".{domain}") for domain in domains)


def domain_allowed(host: str, only: Sequence[str], excluded: Sequence[str]) -> bool:
    """Tell whether a policy allows a host: not under an excluded domain, and under one of ``only`` if there are any."""
    return not within(host, excluded) and (not only or within(host, only))


def _split(text: str) -> tuple[str | None, str | None, str, str | None]:
    match = _PARTS.fullmatch(text)
    if match is None:
        raise AssertionError("the pattern matches every text")
    scheme, authority, path, query = match.groups()
    return scheme.lower() if scheme is not None else None, authority, path, query


def _host_and_port(authority: str) -> tuple[str, int | None]:
    if "@" in authority:
        raise NotAllowed("url_userinfo", "The address holds a user name or password; those are never sent.")
    if "%" in authority:
        raise NotAllowed("url_host_escape", f"The host {authority[:80]!r} is written with escapes.")
    if authority.startswith("["):
        inner, bracket, rest = authority[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise NotAllowed("url_host", f"{authority[:80]!r} is no host.")
        return _ipv6(inner), _port(rest[1:])
    name, _, port = authority.partition(":")
    return _name(name), _port(port)


def _port(text: str) -> int | None:
    if not _PORT.fullmatch(text) or (text and not 0 < int(text) < 65536):
        raise NotAllowed("url_port", f"{text[:20]!r} is no port.")
    return int(text) if text else None


def _ipv6(text: str) -> str:
    try:
        return str(IPv6Address(text))
    except ValueError:
        raise NotAllowed("url_host", f"[{text[:80]}] is no IPv6 address.") from None


def _name(text: str) -> str:
    name = text
    if not text.isascii() or "xn--" in text.lower():
        try:
            name = idna.encode(text, uts46=True, transitional=False).decode("ascii")
        except UnicodeError:
            raise NotAllowed("url_host", f"{text[:80]!r} is no host name.") from None
    name = name.lower().removesuffix(".")
    labels = name.split(".")
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise NotAllowed("url_host", f"{text[:80]!r} is no host name.")
    if _NUMBER.fullmatch(labels[-1]) and not isinstance(_literal(name), IPv4Address):
        raise NotAllowed("url_ip_form", f"{text[:80]!r} is an IP address in disguise; use four decimal numbers.")
    return name


def _literal(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


def _escaped(text: str) -> str:
    """Return a path or query with valid escapes only: in upper case, and none for unreserved characters."""

    def repair(match: re.Match[bytes]) -> bytes:
        if match[1] is None:
            return b"%%%02X" % match[0][0]
        value = int(match[1], 16)
        return bytes([value]) if value in _UNRESERVED else match[0].upper()

    return _ESCAPE.sub(repair, text.encode()).decode("ascii")


def _without_dots(path: str) -> str:
    """Return an absolute path without ``.`` and ``..`` segments (RFC 3986, 5.2.4)."""
    kept: list[str] = []
    segments = path.split("/")[1:]
    for place, segment in enumerate(segments, start=1):
        if segment == "..":
            del kept[-1:]
        if segment not in (".", ".."):
            kept.append(segment)
        elif place == len(segments):
            kept.append("")
    return "".join(f"/{segment}" for segment in kept)


def _tracks(name: str) -> bool:
    lower = name.lower()
    return lower in _TRACKING or lower.startswith(_TRACKING_PREFIXES)
