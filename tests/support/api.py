"""Plain HTTP calls to a gateway, as any client makes them; tests look at the wire and not at our own client."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from tests.support.stack import wait_until

FINAL = ("completed", "budget_exhausted", "failed", "cancelled")
NOT_DOCUMENTS = ("README.md", "make_pdfs.py", ".gitattributes")


@dataclass
class Api:
    """Calls to one gateway."""

    address: str

    def call(self, method: str, path: str, **options: Any) -> requests.Response:
        """Send a request to a path below the API's base."""
        return requests.request(method, f"{self.address}/api/v1{path}", timeout=30, **options)

    def json(self, path: str) -> Any:
        """Get a JSON answer that has to be 200."""
        answer = self.call("GET", path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def upload(self, folder: Path) -> list[str]:
        """Upload a corpus and wait until it is read; return the document ids."""
        names = [p for p in sorted(folder.iterdir()) if p.name not in NOT_DOCUMENTS]
        answer = self.call("POST", "/documents", files=[("files", (p.name, p.read_bytes())) for p in names])
        assert answer.status_code == 202, answer.text
        assert self.finish(answer.json()["run_id"])["status"] == "completed"
        return list(answer.json()["document_ids"])

    def ask(self, question: str, documents: list[str], **changes: Any) -> str:
        """Create a run that needs no approval; return its id."""
        body = {
            "objective": question,
            "depth": "quick",
            "auto_approve": True,
            "source_policy": {"document_ids": documents},
            **changes,
        }
        answer = self.call("POST", "/research-runs", json=body)
        assert answer.status_code == 202, answer.text
        return str(answer.json()["run_id"])

    def run(self, run_id: str) -> dict[str, Any]:
        """Return the run object; a gateway that is being restarted is asked again."""
        for _ in range(100):
            try:
                return dict(self.json(f"/research-runs/{run_id}"))
            except (requests.RequestException, AssertionError):
                time.sleep(0.1)
        raise AssertionError(f"run {run_id} cannot be read")

    def finish(self, run_id: str, deadline_s: float = 60.0) -> dict[str, Any]:
        """Wait until a run has ended and return it."""
        wait_until(lambda: self.run(run_id)["status"] in FINAL, f"run {run_id} ends", deadline_s)
        return self.run(run_id)

    def complete(self, run_id: str) -> None:
        """Wait until a run has ended and require that it completed; tell what failed otherwise."""
        run = self.finish(run_id, 90)
        failed = [s for s in self.json(f"/research-runs/{run_id}/steps")["steps"] if s["error"]]
        assert run["status"] == "completed", (run["status"], run["stop_reason"], run["last_error"], failed)

    def events(self, run_id: str) -> list[dict[str, Any]]:
        """Return all events of a run."""
        return list(self.json(f"/research-runs/{run_id}/events?after=0")["events"])

    def evidence_spans(self, run_id: str) -> set[tuple[str, int, int, tuple[str, ...]]]:
        """Return what was found, without ids: snapshot, offsets and questions of each piece of evidence."""
        rows = self.json(f"/research-runs/{run_id}/evidence")["evidence"]
        return {(e["snapshot_sha256"], e["start"], e["end"], tuple(e["question_ids"])) for e in rows}
