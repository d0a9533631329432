"""Nothing but the fetcher's net and the model adapters can reach an address that came from outside."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]

ALLOWED = {
    "http.client": {"services/fetcher/net", "shared/observability/probe.py", "infra/standalone/supervision.py"},
    "socket": {
        "services/fetcher/net",
        "shared/queues/worker.py",
        "services/gateway/wsgi.py",
        "services/gateway/front",
        "infra",
    },
    "ssl": {"services/fetcher/net", "services/fetcher/web.py"},
    "requests": {"shared/client"},
    "httpx2": {"shared/adapters/model"},
}
"""Who may use what opens connections: to the outside the first, to our own servers the others."""

NEVER = {
    "urllib.request", "urllib3", "httpx", "aiohttp", "ftplib", "smtplib", "imaplib", "poplib", "telnetlib", "nntplib",
    "xmlrpc.client", "websocket", "websockets", "pycurl", "paramiko", "socks", "asyncio.streams",
}  # fmt: skip


def imported(path: Path) -> Iterator[str]:
    """Yield the modules that a file imports, at any depth."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_connections_are_opened_in_few_places() -> None:
    """Every import of what opens connections stands in the table, and nothing in the table is stale."""
    used: dict[str, set[str]] = {name: set() for name in ALLOWED}
    for top in ("services", "shared", "infra"):
        for path in sorted((ROOT / top).rglob("*.py")):
            where = str(path.relative_to(ROOT))
            names = set(imported(path))
            assert not names & NEVER, where
            for name in names & set(ALLOWED):
                places = {p for p in ALLOWED[name] if where == p or where.startswith(f"{p}/")}
                assert places, f"{where} imports {name}"
                used[name] |= places
    assert used == ALLOWED


def test_only_one_function_connects() -> None:
    """In the fetcher a socket is connected in one place, behind the judge of addresses."""
    calls = [
        f"{path.relative_to(ROOT)}:{node.func.attr}"
        for path in sorted((ROOT / "services" / "fetcher").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("create_connection", "connect_ex", "sendto", "connect", "open_socket")
    ]
    assert calls == ["services/fetcher/net/connection.py:connect", "services/fetcher/net/transfer.py:connect"]
