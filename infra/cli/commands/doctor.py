"""`leadline doctor`: whether everything that Leadline needs is there, one line each, and what to do where it is not."""

import argparse
import importlib.metadata
import json
import os
import platform
import re
import shutil
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlsplit

from infra.cli.console import Console
from infra.cli.exits import COMPLETED, FAULTS, CliError
from infra.cli.probes import gateway_answers, postgres_version, server_version
from infra.cli.setup import load, revealed
from infra.standalone import system
from infra.standalone.home import Home
from infra.standalone.info import StackInfo
from infra.standalone.plan import PROJECT
from infra.standalone.stack import running
from shared.config.browser import find_browser
from shared.config.settings import Settings
from shared.config.version import project_version
from shared.observability.targets import FOLDER, announced

OLDEST_PYTHON = (3, 11)
SPACE_NEEDED = 500_000_000
"""Bytes for an embedded database with some documents."""
STARTS_WITH_STACK = "embedded, starts with the stack"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at; ``advice`` says what to do when it is not ok."""

    name: str
    ok: bool
    detail: str
    advice: str = ""

    def line(self) -> str:
        """Return it in one line."""
        return f"{'ok  ' if self.ok else 'FAIL'}  {self.name:<10}  {self.detail}" + (
            f": {self.advice}" if not self.ok and self.advice else ""
        )


def run(args: argparse.Namespace, console: Console) -> int:
    """Print all checks; exit 1 when one failed."""
    console.status("Looking")
    checks = list(_checks())
    if args.json:
        console.print(json.dumps([asdict(check) for check in checks], indent=2))
    else:
        for check in checks:
            console.print(check.line())
    return COMPLETED if all(check.ok for check in checks) else FAULTS


def _checks() -> Iterator[Check]:
    yield Check("leadline", True, f"version {project_version()} in {PROJECT}")
    yield _python()
    yield _packages()
    try:
        settings = load()
    except CliError as error:
        yield Check("settings", False, str(error), "correct it or unset it")
        return
    yield Check("settings", True, "valid")
    yield _browser(settings)
    info = running(Home(settings.home))
    yield _home(settings.home)
    yield _port(settings, info)
    yield _gateway(settings, info)
    if info is not None:
        yield _figures(settings.home)
    yield _database(settings, info)
    yield _server("broker", info.broker_url if info else revealed(settings.broker_url), "LEADLINE_BROKER_URL")
    yield _server("redis", info.redis_url if info else revealed(settings.redis_url), "LEADLINE_REDIS_URL")
    yield from _search(settings)


def _python() -> Check:
    found = f"{platform.python_version()} at {sys.executable}"
    return Check("python", sys.version_info >= OLDEST_PYTHON, found, "install Python 3.11 or newer")


def _packages() -> Check:
    """Look for every package that the project names."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = [re.split(r"[^A-Za-z0-9._-]", requirement)[0] for requirement in project["dependencies"]]
    missing = [name for name in names if not _installed(name)]
    if missing:
        advice = f"`{sys.executable} -m pip install -r {PROJECT / 'requirements.lock'}`"
        return Check("packages", False, f"missing: {', '.join(missing)}", advice)
    return Check("packages", True, f"all {len(names)} that are needed are installed")


def _installed(name: str) -> bool:
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _browser(settings: Settings) -> Check:
    """Tell whether pages that need JavaScript can be read; a stack without a browser is a whole one."""
    found = find_browser(settings)
    if found is not None:
        return Check("browser", True, f"{found} reads pages that need JavaScript")
    if settings.browser == "on":
        return Check("browser", True, "a worker of its own reads pages that need JavaScript (LEADLINE_BROWSER=on)")
    if settings.browser == "off":
        return Check("browser", True, "turned off (LEADLINE_BROWSER=off): pages that need JavaScript are not read")
    how = f"install Chromium and `{sys.executable} -m pip install 'playwright>=1.50,<2'`"
    return Check("browser", True, f"none, so pages that need JavaScript are not read; to read them, {how}")


def _home(home: Path) -> Check:
    """Look whether the home, or the nearest folder above that is there, can be written to and has room."""
    place = next(folder for folder in (home, *home.parents) if folder.exists())
    if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
        return Check("home", False, f"{place} cannot be written to", "set LEADLINE_HOME to a folder of yours")
    free = shutil.disk_usage(place).free
    if free < SPACE_NEEDED:
        return Check("home", False, f"only {free:,} bytes are free at {place}", "make room or set LEADLINE_HOME")
    return Check("home", True, f"{home}" + ("" if home.exists() else " (will be made)"))


def _port(settings: Settings, info: StackInfo | None) -> Check:
    host, port = settings.gateway_host, settings.gateway_port
    if info is not None:
        return Check("port", True, f"{urlsplit(info.address).port} is ours")
    if port == 0:
        return Check("port", True, "any free one")
    advice = "it is taken, so stop what uses it or set LEADLINE_GATEWAY_PORT to another (0 takes a free one)"
    return Check("port", system.port_is_free(port, host), f"{port} on {host}", advice)


def _gateway(settings: Settings, info: StackInfo | None) -> Check:
    address = settings.address or (info.address if info else None)
    if address is None:
        return Check("stack", True, "not running; `leadline up` starts it, `leadline ask` does so by itself")
    fault = gateway_answers(address)
    advice = "see that it runs" if settings.address else f"see the logs in {settings.home / 'logs'}"
    return Check("stack", fault is None, f"runs at {address}" if fault is None else fault, advice)


def _figures(home: Path) -> Check:
    """Tell where Prometheus finds the processes of the running stack."""
    shown = announced(home)
    place = home / FOLDER / "*.json"
    return Check("figures", bool(shown), f"{len(shown)} processes show theirs, as told in {place}", "see the logs")


def _database(settings: Settings, info: StackInfo | None) -> Check:
    url = info.database_url if info else revealed(settings.database_url)
    if not url:
        return Check("database", True, STARTS_WITH_STACK)
    version, fault = postgres_version(url)
    advice = "see that it runs, and that LEADLINE_DATABASE_URL names it"
    return Check("database", fault is None, fault or f"PostgreSQL {version}", advice)


def _server(name: str, url: str | None, setting: str) -> Check:
    if not url:
        return Check(name, True, STARTS_WITH_STACK)
    version, fault = server_version(url)
    return Check(name, fault is None, fault or version, f"see that it runs, and that {setting} names it")


def _search(settings: Settings) -> Iterator[Check]:
    """Tell which search providers are configured and whether they answer; a web search needs one of them."""
    from services.fetcher.inspect import inspect_search  # loads what fetches, which the other checks do not need

    found = [Check(probed.name, probed.ok, probed.detail, probed.advice) for probed in inspect_search(settings)]
    if not found:
        how = "SEARXNG_URL, a key such as TAVILY_API_KEY, or LEADLINE_SEARCH=wikipedia"
        found = [Check("search", True, f"no provider for --web; set {how}")]
    yield from found
