"""The policy of production in a network of its own: no connection to a forbidden address, by its listeners' log."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from shared.config.browser import find_browser
from shared.config.settings import Settings

ROOT = Path(__file__).parents[2]
UNSHARE = ("unshare", "--net") if os.geteuid() == 0 else ("unshare", "--net", "--map-root-user")


def _why_not() -> str | None:
    """Return why there can be no namespace here, None when there can."""
    if not sys.platform.startswith("linux") or not shutil.which("unshare") or not shutil.which("ip"):
        return "needs Linux with the commands unshare and ip"
    tried = subprocess.run([*UNSHARE, "ip", "link", "set", "lo", "up"], capture_output=True, text=True, timeout=20)
    return f"network namespaces are not permitted here: {tried.stderr.strip()}" if tried.returncode else None


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    """What happened inside."""
    reason = _why_not()
    if reason is not None:
        pytest.skip(reason)
    program = find_browser(Settings())
    ran = subprocess.run(
        [*UNSHARE, sys.executable, "-m", "tests.adversarial.inside", *([str(program)] if program else [])],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=180,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": os.environ.get("HOME", "/")},
    )
    assert ran.returncode == 0, ran.stderr[-4000:]
    return dict(json.loads(ran.stdout))


def test_nothing_forbidden_is_connected_to(told: dict[str, Any]) -> None:
    """No listener on a forbidden address has heard anything, and the control shows that it would have."""
    assert told["escapes"] == {}
    assert told["control"] == 1


def test_what_is_public_is_read(told: dict[str, Any]) -> None:
    """The same policy reads public pages on ports 80, over redirects between sites."""
    assert told["public"] >= 10
    results = told["results"]
    assert (results["public"], results["redirect abroad"]) == ("200", "200")


def test_every_way_inside_is_refused_by_name(told: dict[str, Any]) -> None:
    """Pages, redirects, names, rebinding, robots.txt, providers and models: each with the code of its rule."""
    results = told["results"]
    ways = [name for name in results if name.startswith(("redirect to", "direct", "named", "rebind", "provider"))]
    assert len(ways) >= 24
    odd = {name: results[name] for name in ways if not results[name].startswith(("ip_", "url_ip_form", "port_"))}
    assert odd == {}
    assert {results[f"robots {n}"] for n in range(3)} <= {"robots_unreachable"}
    assert results["model by address"] == "refused"


def test_a_page_in_a_browser_gets_nowhere_else(told: dict[str, Any]) -> None:
    """Its requests to forbidden addresses are refused by the proxy, and the page is read."""
    if "browser read" not in told["results"]:
        pytest.skip("no Chromium is installed")
    assert told["results"]["browser read"] == "True"
    codes = json.loads(told["results"]["browser refused"])
    assert {"ip_metadata", "ip_private", "ip_loopback", "ip_shared"} <= set(codes)
