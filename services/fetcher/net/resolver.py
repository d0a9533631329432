"""Names to addresses: the system's resolver with a deadline, or a table before it."""

import queue
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from ipaddress import ip_address

from shared.domain.errors import Permanent, Transient

Resolver = Callable[[str, float], Sequence[str]]
"""Returns every address of a host name, within so many seconds; raises Transient or Permanent."""

_Answer = tuple[str, ...] | OSError | UnicodeError


def system_resolver(host: str, timeout_s: float) -> Sequence[str]:
    """Ask the system; the question goes on in a thread of its own when the answer takes too long."""
    answers: queue.SimpleQueue[_Answer] = queue.SimpleQueue()
    threading.Thread(target=_ask, args=(host, answers), name="resolve", daemon=True).start()
    try:
        answer = answers.get(timeout=max(timeout_s, 0.01))
    except queue.Empty:
        raise Transient("dns_timeout", f"The name {host} was not resolved within {timeout_s:.0f} s.") from None
    if isinstance(answer, tuple):
        return answer
    if isinstance(answer, socket.gaierror) and answer.errno == socket.EAI_AGAIN:
        raise Transient("dns_failed", f"The name {host} cannot be resolved now.")
    raise Permanent("dns_unknown_host", f"There is no host {host}.")


def _ask(host: str, answers: "queue.SimpleQueue[_Answer]") -> None:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        answers.put(error)
    else:
        answers.put(tuple(dict.fromkeys(str(address[0]) for *_, address in found)))


def table_resolver(table: Mapping[str, Sequence[str]], other: Resolver = system_resolver) -> Resolver:
    """Return a resolver that knows some names by itself and asks another one for the rest."""

    def resolve(host: str, timeout_s: float) -> Sequence[str]:
        known = table.get(host)
        return known if known is not None else other(host, timeout_s)

    return resolve


def parse_hosts(text: str) -> dict[str, tuple[str, ...]]:
    """Read ``name=address,name=address``; a name given twice has both addresses. Raise ValueError."""
    table: dict[str, tuple[str, ...]] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        name, equals, address = (piece.strip() for piece in item.partition("="))
        if not equals or not name:
            raise ValueError(f"{item!r} is not of the form name=address")
        table[name.lower()] = (*table.get(name.lower(), ()), str(ip_address(address)))
    return table
