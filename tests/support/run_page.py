"""The page of a run in a browser: opening it, waiting for its end, reading its timeline."""

from typing import Any

from playwright.sync_api import Page, expect

from tests.support.api import Api
from tests.support.stack import wait_until

QUESTION = "How many cubic metres of material were dredged in the Deep Berth Project?"
BARGE = "Who built the Gannet Arm breakwater, where were its armour units cast, and which barge carried them?"


def plan_ready(api: Api, question: str, documents: list[str], **changes: Any) -> str:
    """Create a run and wait until its plan waits for approval."""
    run_id = api.ask(question, documents, auto_approve=False, **changes)
    wait_until(lambda: api.run(run_id)["status"] == "awaiting_plan_approval", "the plan is ready")
    return run_id


def open_run(page: Page, run_id: str) -> None:
    """Open the page of a run and wait until it shows the plan and follows the events."""
    page.goto(f"/runs/{run_id}")
    expect(page.locator("#run[data-stream]")).to_be_attached()


def settled(page: Page) -> None:
    """Wait until the run has ended and the page knows."""
    expect(page.locator("#run[data-stream='ended']")).to_be_attached(timeout=90_000)


def timeline(page: Page) -> list[int]:
    """Return the sequence numbers of the whole timeline, oldest first."""
    page.check("#every-step")
    if page.locator("#timeline-more").is_visible():
        page.click("#timeline-more")
    found: list[int] = page.eval_on_selector_all("#timeline li", "nodes => nodes.map(n => Number(n.dataset.seq))")
    return found[::-1]
