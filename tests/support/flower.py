"""A real Flower as a process of its own, and its API."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from infra.standalone.system import free_port
from tests.support.stack import ROOT, wait_until

AUTH = ("watch", "0123456789abcdef")


@dataclass(frozen=True, slots=True)
class Flower:
    """A running Flower."""

    address: str

    def call(self, method: str, path: str, **options: Any) -> requests.Response:
        """Ask its API with name and password."""
        return requests.request(method, f"{self.address}{path}", auth=AUTH, timeout=30, **options)

    def json(self, path: str) -> Any:
        """Get a JSON answer that has to be 200."""
        answer = self.call("GET", path)
        assert answer.status_code == 200, answer.text
        return answer.json()


@contextmanager
def running_flower(broker_url: str, log: Path) -> Iterator[Flower]:
    """Yield a Flower that is ended afterwards."""
    port = free_port()
    ours = {
        "LEADLINE_BROKER_URL": broker_url,
        "LEADLINE_FLOWER_PORT": str(port),
        "LEADLINE_FLOWER_AUTH": ":".join(AUTH),
    }
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "shared.flower_process"],
            cwd=ROOT,
            env={**os.environ, **ours},
            stdout=output,
            stderr=output,
        )
    flower = Flower(f"http://127.0.0.1:{port}")
    try:
        wait_until(lambda: _answers(flower, process), "Flower answers")
        yield flower
    finally:
        process.terminate()
        process.wait(15)


def _answers(flower: Flower, process: subprocess.Popen[bytes]) -> bool:
    assert process.poll() is None, "Flower ended"
    try:
        return flower.call("GET", "/healthcheck").ok
    except requests.ConnectionError:
        return False
