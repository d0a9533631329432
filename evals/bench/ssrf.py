"""Addresses that lead inside, in every spelling: how many get a connection (none), and how many honest ones do not.

``python -m evals.bench.ssrf``. Each row goes through the whole fetch twice: once with a name service that sends every
name to the metadata service of a cloud, once with one that sends it to a public machine. Connections are noted and
refused before they leave the process. Own rows: `evals/cases/ssrf.jsonl`; the published ones where they are.
"""

import json
import socket
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any

from evals.bench.outcome import Bar, end, ratio
from evals.truth.sets import DATA, ROOT, rows
from services.fetcher.net.messages import FetchRequest, OpenGate
from services.fetcher.web import WayOut, fetch
from shared.domain.errors import StepError
from shared.domain.urls import Url, parse_url, resolve

OWN = ROOT / "evals" / "cases" / "ssrf.jsonl"
PUBLISHED = "lists/ssrf/ssrf_cases.jsonl"
INSIDE, PUBLIC = "169.254.169.254", "93.184.216.34"
BASE = "http://whitelisteddomain.tld/page"
"""The page from which the rows that are redirects lead on."""

MUST_BE_REFUSED = frozenset({"block", "block_or_reject", "never_connect_internal"})
MAY_PASS = frozenset({"allow"})
_SERVICES = ("nip.io", "localdomain.pw", "1u.ms", "r3dir.me")
"""Names that are harmless in themselves: what refuses them is the address that they lead to."""
_DISGUISES = tuple(ip_network(n) for n in ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32", "fec0::/10"))


@dataclass(slots=True)
class Figures:
    """What became of the rows."""

    rows: int = 0
    connects: int = 0
    escapes: list[str] = field(default_factory=list)
    """Rows that got a connection into a network that is not public."""
    passed: list[str] = field(default_factory=list)
    """Rows that had to be refused whatever the name service says, and were not."""
    lost: list[str] = field(default_factory=list)
    """Rows that are public addresses, and were refused."""
    allowed: int = 0
    refused: int = 0
    codes: Counter[str] = field(default_factory=Counter)


def all_rows() -> list[dict[str, Any]]:
    """Return our own rows and the published ones, if they are there."""
    own = [json.loads(line) for line in OWN.read_text("utf-8").splitlines()]
    return [*own, *(rows(PUBLISHED) if (DATA / PUBLISHED).exists() else ())]


@contextmanager
def watched() -> Iterator[list[str]]:
    """Yield the addresses that this process tries to connect to; every try is refused."""
    seen: list[str] = []

    def note(_: socket.socket, address: Any) -> None:
        seen.append(str(address[0]))
        raise ConnectionRefusedError("watched")

    socket.socket.connect = note  # type: ignore[method-assign]
    try:
        yield seen
    finally:
        del socket.socket.connect


def is_public(address: str) -> bool:
    """Tell whether an address is public by the standard library's opinion and what that opinion is known to miss."""
    ip = ip_address(address)
    if isinstance(ip, IPv6Address) and (ip.ipv4_mapped or ip < IPv6Address("::1:0:0") or "%" in address):
        return False
    return ip.is_global and not ip.is_multicast and not any(ip in n for n in _DISGUISES if n.version == ip.version)


def measure(cases: Sequence[dict[str, Any]]) -> Figures:
    """Let every row be fetched, with both name services."""
    figures = Figures(len(cases))
    with watched() as seen:
        for row in cases:
            inside = _connects(row, row.get("resolves_to") or [INSIDE], seen, figures)
            public = _connects(row, row.get("resolves_to") or [PUBLIC], seen, figures)
            if not all(map(is_public, (*inside, *public))):
                figures.escapes.append(row["id"])
            _judge(row, bool(public), figures)
    return figures


def _judge(row: dict[str, Any], connected: bool, figures: Figures) -> None:
    if row["expect"] in MUST_BE_REFUSED:
        figures.refused += 1
        if connected and not any(name in row["input"] for name in _SERVICES) and not _is_harmless(row):
            figures.passed.append(row["id"])
    elif row["expect"] in MAY_PASS:
        figures.allowed += 1
        if not connected:
            figures.lost.append(row["id"])


def _is_harmless(row: dict[str, Any]) -> bool:
    """Tell whether a trick fails by itself: its row asks that the inside is not reached, not that all is refused."""
    return bool(row["expect"] == "never_connect_internal")


def _connects(row: dict[str, Any], leads_to: Sequence[str], seen: list[str], figures: Figures) -> list[str]:
    """Return the addresses that fetching a row tried to connect to."""
    seen.clear()
    way = WayOut(resolver=lambda _host, _timeout_s: leads_to)
    try:
        fetch(FetchRequest(_reader(row)(row["input"])), OpenGate(), way)
    except StepError as error:
        figures.codes[error.code] += 1
    figures.connects += len(seen)
    return list(seen)


def _reader(row: dict[str, Any]) -> Callable[[str], Url]:
    if row["kind"] == "redirect_location":
        return lambda text: resolve(parse_url(BASE), text)
    if "://" in row["input"] or row["expect"] not in MAY_PASS:
        return parse_url
    return lambda text: parse_url(f"http://[{text}]/" if text.count(":") > 1 else f"http://{text}/")


def main() -> None:
    """Count and print."""
    cases = all_rows()
    figures = measure(cases)
    print(f"{figures.rows} rows, each with two name services; {figures.connects} tries to connect to public machines")
    print("refused by: " + ", ".join(f"{code} {count}" for code, count in figures.codes.most_common()))
    for name, found in (("escaped", figures.escapes), ("passed", figures.passed), ("lost", figures.lost)):
        print(f"{name}: {len(found)} {' '.join(found[:20])}")
    bars = [
        Bar("rows without an escape", 1 - ratio(len(figures.escapes), figures.rows), 1.0),
        Bar("rows refused that must be", 1 - ratio(len(figures.passed), figures.refused), 1.0),
    ]
    if figures.allowed:
        bars.append(Bar("public addresses let through", 1 - ratio(len(figures.lost), figures.allowed), 1.0))
    end("bench_ssrf", bars, {"rows": figures.rows, "escapes": figures.escapes, "codes": dict(figures.codes)})


if __name__ == "__main__":
    main()
