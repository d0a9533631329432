"""What the fetcher makes of addresses and of robots.txt, from outside, and whether the search providers answer.

Nothing is looked up and nothing is asked but by `inspect_search`.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from services.fetcher.probing import Probed, probe
from services.fetcher.robots import RobotsRules
from shared.config.settings import Settings
from shared.domain.errors import NotAllowed
from shared.domain.urls import Url, canonical_url, parse_url, resolve
from shared.guards.addresses import Allowance, judge_address
from shared.guards.sites import site_key

__all__ = ["Probed", "inspect_addresses", "inspect_robots", "inspect_search", "inspect_urls"]

MAX_LINE_CHARS = 2_000_000
Row = Mapping[str, Any]


def inspect_urls(lines: Iterable[str]) -> Iterator[str]:
    """Yield ``{"input", "canonical", "site_key", "error"}`` for each line ``{"input", "base"?}``."""
    return _each(lines, _url, {"input": None, "canonical": None, "site_key": None, "error": "invalid_line"})


def inspect_robots(lines: Iterable[str]) -> Iterator[str]:
    """Yield ``{"allowed"}`` for each line ``{"robots", "agent", "url"}``."""
    return _each(lines, _robots, {"allowed": None})


def inspect_addresses(lines: Iterable[str]) -> Iterator[str]:
    """Yield ``{"verdict", "code"}`` for each line ``{"input", "resolves_to"?}``: an address, a host or a URL."""
    return _each(lines, _address, {"verdict": "block", "code": "invalid_line"})


def inspect_search(settings: Settings) -> Iterator[Probed]:
    """Yield whether each configured search provider and the reranker answers; nothing when none is configured."""
    return probe(settings)


def _each(lines: Iterable[str], judge: Callable[[Row], dict[str, Any]], without: Row) -> Iterator[str]:
    """Yield one line of JSON for each line, in the same order; one that cannot be read gives status and reason."""
    for line in lines:
        try:
            answer = judge(_row(line))
        except (ValueError, RecursionError) as error:
            answer = {**without, "status": "invalid", "reason": f"{error}."}
        yield json.dumps(answer, ensure_ascii=False)


def _row(line: str) -> Row:
    if len(line) > MAX_LINE_CHARS:
        raise ValueError(f"The line is longer than {MAX_LINE_CHARS:,} characters")
    try:
        row = json.loads(line)
    except json.JSONDecodeError:
        raise ValueError("The line is no JSON") from None
    if not isinstance(row, dict):
        raise ValueError("The line is no JSON object")
    return row


def _text(row: Row, name: str) -> str:
    value = row.get(name)
    if not isinstance(value, str):
        raise ValueError(f'"{name}" has to be a text')
    return value


def _url(row: Row) -> dict[str, Any]:
    """Return the canonical address, or the code of what is wrong with it."""
    given = _text(row, "input")
    try:
        url = parse_url(given) if row.get("base") is None else resolve(parse_url(_text(row, "base")), given)
        return {"input": given, "canonical": canonical_url(url), "site_key": site_key(url.host), "error": None}
    except NotAllowed as error:
        return {"input": given, "canonical": None, "site_key": None, "error": error.code}


def _robots(row: Row) -> dict[str, Any]:
    """Tell whether an agent may read an address, or a path with its query, as somebody wrote it."""
    rules = RobotsRules(_text(row, "robots").encode("utf-8", "replace"), _text(row, "agent"))
    target = _text(row, "url").encode("utf-8", "replace").decode()
    return {"allowed": _is_robots_file(target) or rules.allows_target(target)}


def _is_robots_file(target: str) -> bool:
    """Tell whether a target is robots.txt itself, which may always be read."""
    try:
        return urlsplit(target).path == "/robots.txt"
    except ValueError:
        return False


def _address(row: Row) -> dict[str, Any]:
    """Judge an address, and what its name leads to."""
    given = _text(row, "input")
    leads_to = row.get("resolves_to") or []
    if not isinstance(leads_to, list) or not all(isinstance(address, str) for address in leads_to):
        raise ValueError('"resolves_to" has to be a list of addresses')
    code = judge_address(given.strip())
    if code == "ip_malformed":
        code = _judged(given, leads_to)
    return {"verdict": "allow" if code is None else "block", "code": code}


def _judged(given: str, leads_to: list[str]) -> str | None:
    """Return the code by which a URL or host is refused, or one of the addresses that it leads to; None for neither."""
    allowance = Allowance()
    try:
        url = _as_url(given)
        allowance.judge_url(url)
        if url.literal is None:
            for address in leads_to:
                allowance.judge_endpoint(url, address)
    except NotAllowed as error:
        return error.code
    return None


def _as_url(given: str) -> Url:
    """Read a URL, one without a scheme, or a host with or without a port."""
    text = given.strip()
    return parse_url(text if "://" in text else f"http:{text}" if text.startswith("//") else f"http://{text}")
