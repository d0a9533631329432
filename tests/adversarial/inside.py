"""Runs inside a network namespace: public-looking addresses on its loopback device, the policy of production, and a
listener on every forbidden address that counts who connects. ``python -m tests.adversarial.inside``, result as JSON.

Nothing is opened by an operator: what is public here is public to the judge of addresses as well.
"""

import asyncio
import json
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path

import httpx2

from services.fetcher.deps import Web
from services.fetcher.net.messages import FetchRequest, Gate, OpenGate
from services.fetcher.rendering.browser import Browser
from services.fetcher.visits import PageVisit, Permit
from services.fetcher.web import PRODUCT, WayOut, fetch
from shared.adapters.model.transport import OtherOrigin, open_client
from shared.contracts.runs import SourcePolicy
from shared.domain.errors import StepError
from shared.domain.urls import parse_url
from shared.guards.addresses import Allowance
from shared.ports.sites import RobotsEntry, Taken, Visitor
from tests.support.site import Site

PUBLIC, OTHER = "93.184.216.34", "151.101.1.6"
FORBIDDEN = ("169.254.169.254", "10.0.0.5", "192.168.1.1", "172.16.3.4", "100.64.0.9", "127.0.0.53")
PORTS = (80, 443, 6379)
METADATA = "http://169.254.169.254/latest/meta-data/"
NAMES = {
    "site.example.org": [PUBLIC],
    "other.example.net": [OTHER],
    "inner.example.org": ["10.0.0.5"],
    "meta.example.org": ["169.254.169.254"],
    "mixed.example.org": [PUBLIC, "192.168.1.1"],
    "mapped.example.org": ["::ffff:169.254.169.254"],
}


class Rebinder:
    """A name service; ``rebind.example.org`` leads to a public machine at first, and inside from then on."""

    def __init__(self) -> None:
        self._asked = count()

    def __call__(self, host: str, timeout_s: float) -> list[str]:
        """Answer."""
        if host == "rebind.example.org":
            return [PUBLIC if next(self._asked) == 0 else "169.254.169.254"]
        return NAMES.get(host, ["127.0.0.53"])


class Listeners:
    """Listens on every forbidden address and port, and notes each connection."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()
        for address in FORBIDDEN:
            for port in PORTS:
                server = socket.create_server((address, port))
                threading.Thread(target=self._accept, args=(server, f"{address}:{port}"), daemon=True).start()

    def _accept(self, server: socket.socket, name: str) -> None:
        while True:
            client, _ = server.accept()
            self.seen[name] += 1
            with client, suppress(OSError):
                client.settimeout(1)
                client.recv(100)
                client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret")


class FreeSlots:
    """Slots that are always free."""

    def take(self, site: str, visitor: Visitor, *, delay_s: float, hold_s: float) -> Taken:
        """Give it."""
        return Taken(0.0)

    def release(self, site: str, visitor: Visitor, *, delay_s: float, since_sent_s: float | None) -> None:
        """Take it back."""

    def penalise(self, site: str, seconds: float) -> None:
        """Do nothing."""


class Memory:
    """A cache of robots.txt."""

    def __init__(self) -> None:
        self._kept: dict[str, RobotsEntry] = {}

    def find(self, origin: str) -> RobotsEntry | None:
        """Return what is known."""
        return self._kept.get(origin)

    def keep(self, origin: str, entry: RobotsEntry) -> None:
        """Keep it."""
        self._kept[origin] = entry


def set_up_network() -> None:
    """Bring the loopback device up with all addresses."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    for address in (PUBLIC, OTHER, *(a for a in FORBIDDEN if not a.startswith("127."))):
        subprocess.run(["ip", "addr", "add", f"{address}/32", "dev", "lo"], check=True)


class World:
    """The public sites and the ways to them."""

    def __init__(self) -> None:
        self.site, self.other = Site(address=PUBLIC, port=80), Site(address=OTHER, port=80)
        self.resolver = Rebinder()
        self.way = WayOut(resolver=self.resolver, user_agent="Leadline/0.1")

    def ask(self, url: str, gate: Gate | None = None, way: WayOut | None = None) -> str:
        """Fetch; return the status or the code of the error."""
        try:
            return str(fetch(FetchRequest(parse_url(url)), gate or OpenGate(), way or self.way).status)
        except StepError as error:
            return error.code


def pages(world: World) -> dict[str, str]:
    """Fetch pages, public ones and those that lead inside by address, by name and by redirect."""
    host = "site.example.org"
    world.site.answer(host, "/", "home")
    world.site.redirect(host, "/abroad", "http://other.example.net/")
    world.other.answer("other.example.net", "/", "abroad")
    targets = {
        "metadata": METADATA,
        "private": "http://10.0.0.5/",
        "port": "http://10.0.0.5:6379/",
        "name": "http://inner.example.org/",
        "mapped": "http://[::ffff:10.0.0.5]/",
        "relative": "//192.168.1.1/",
        "secure": "https://172.16.3.4/",
        "decimal": "http://2852039166/",
    }
    found = {"public": world.ask(f"http://{host}/"), "redirect abroad": world.ask(f"http://{host}/abroad")}
    for name, target in targets.items():
        world.site.redirect(host, f"/{name}", target)
        found[f"redirect to {name}"] = world.ask(f"http://{host}/{name}")
        found[f"direct {name}"] = world.ask(target if target.startswith("http") else f"http:{target}")
    for name in ("inner", "meta", "mixed", "mapped"):
        found[f"named {name}"] = world.ask(f"http://{name}.example.org/")
    return found


def rebinding(world: World) -> dict[str, str]:
    """Ask a name that changes its mind between two connections, and within one page by a redirect to itself."""
    world.site.redirect("rebind.example.org", "/", "http://rebind.example.org/again")
    return {"rebind": world.ask("http://rebind.example.org/"), "rebind later": world.ask("http://rebind.example.org/x")}


def robots(world: World) -> dict[str, str]:
    """Read pages whose robots.txt leads inside."""
    web = Web(lambda r, g: fetch(r, g, world.way), FreeSlots(), Memory(), PRODUCT, 0.0, lambda s: None)  # type: ignore[arg-type]
    world.site.redirect("robots.example.org", "/robots.txt", METADATA)
    NAMES["robots.example.org"] = [PUBLIC]
    world.site.answer("robots.example.org", "/", "page")

    def visit() -> PageVisit:
        return PageVisit(web, Visitor("step", "token"), Permit(SourcePolicy()), lambda hops: None)

    return {f"robots {n}": world.ask("http://robots.example.org/", visit()) for n in range(3)}


def endpoints(world: World) -> dict[str, str]:
    """Ask search providers and models whose endpoint, or whose redirect, leads to where none may."""
    NAMES["engine.example.org"] = [OTHER]
    world.other.redirect("engine.example.org", "/search", METADATA)
    allowance = Allowance(
        endpoints=frozenset({("engine.example.org", 80), ("meta.example.org", 80), ("169.254.169.254", 80)})
    )
    way = WayOut(allowance, world.resolver)
    found = {
        "provider redirects": world.ask("http://engine.example.org/search", way=way),
        "provider by name": world.ask("http://meta.example.org/search", way=way),
        "provider by address": world.ask(METADATA, way=way),
    }
    for name, url in {"model by address": METADATA, "model redirects": f"http://{OTHER}/v1"}.items():
        found[name] = asyncio.run(_post(url))
    return found


async def _post(url: str) -> str:
    async with open_client(url) as client:
        try:
            return str((await client.get(url)).status_code)
        except OtherOrigin:
            return "refused"
        except httpx2.TransportError as error:
            return type(error).__name__


def browser(world: World, program: str) -> dict[str, str]:
    """Read a page in a browser that tries every forbidden address in several ways."""
    asks = []
    for address in (*FORBIDDEN, "inner.example.org", "meta.example.org", "localhost", "rebind.example.org"):
        for scheme, port in (("http", 80), ("https", 443), ("http", 6379)):
            asks.append(f"fetch('{scheme}://{address}:{port}/x', {{mode: 'no-cors'}}).catch(() => 0)")
        asks.append(f"new WebSocket('ws://{address}/x')")
        asks.append(
            f"document.body.append(Object.assign(document.createElement('iframe'), {{src: 'http://{address}/'}}))"
        )
    tries = "\n".join(f"try {{ {ask} }} catch (error) {{}}" for ask in asks)
    last = f"setTimeout(() => {{ location.href = '{METADATA}' }}, 500)"
    fill = "document.getElementById('root').textContent = 'The page was read.'"
    page = f"<!doctype html><body><div id=root></div><script>{fill};\n{tries}\n{last}</script>"
    world.site.answer("site.example.org", "/app", page)
    rendered = Browser(Path(program), world.way).render(parse_url("http://site.example.org/app"), "", lambda host: None)
    codes = Counter(code for _, code in rendered.traffic.refused)
    return {"browser read": str("The page was read." in rendered.result.html), "browser refused": json.dumps(codes)}


def main() -> None:
    """Set up, try everything, and tell."""
    set_up_network()
    listeners, world = Listeners(), World()
    results: dict[str, str] = {}
    suites: list[Callable[[World], dict[str, str]]] = [pages, rebinding, robots, endpoints]
    for suite in suites:
        results |= suite(world)
    for program in sys.argv[1:]:
        results |= browser(world, program)
    seen = dict(listeners.seen)
    with socket.create_connection(("10.0.0.5", 80), timeout=5) as control:
        control.sendall(b"GET / HTTP/1.1\r\n\r\n")
        control.recv(1)
    public = len(world.site.visits()) + len(world.other.visits())
    told = {"escapes": seen, "control": listeners.seen["10.0.0.5:80"], "public": public, "results": results}
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main()
