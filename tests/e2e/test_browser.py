"""The pages in Chromium, over the real stack and the harbor corpus: from a question to the sentence that answers it."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.support.api import Api
from tests.support.browser import Watched
from tests.support.run_page import BARGE, QUESTION, open_run, plan_ready, settled, timeline
from tests.support.stack import Stack

pytestmark = pytest.mark.slow


def test_a_question_becomes_a_report_whose_citation_shows_the_sentence(
    page: Page, api: Api, documents: list[str]
) -> None:
    """Ask on the page, change the plan, approve, watch to the end, open a citation: its words lie in their text."""
    page.goto("/")
    page.get_by_label("Question", exact=True).fill(QUESTION)
    page.get_by_label("Quick").check()
    page.get_by_label("All in the library").check()
    page.get_by_role("button", name="Start", exact=True).click()
    page.wait_for_url("**/runs/run_*")
    page.get_by_role("button", name="Edit plan").click()
    heading = page.locator("[data-path='writing_plan.0.title']")
    heading.fill("What was dredged")
    page.get_by_role("button", name="Add search").click()
    page.locator("[data-path='search_tasks.1.query']").fill("Deep Berth Project dredged cubic metres")
    page.get_by_role("button", name="Move Search 2 up").click()
    page.get_by_role("spinbutton", name="Sources fetched").fill("9")
    page.get_by_role("button", name="Save plan").click()
    expect(page.locator("#plan-tools")).to_contain_text("Version 2")
    page.get_by_role("button", name="Approve plan").click()
    settled(page)
    run_id = page.url.rpartition("/")[2]
    run = api.run(run_id)
    assert (run["status"], run["budget"]["fetches"]) == ("completed", 9)
    assert run["plan"]["search_tasks"][0]["query"] == "Deep Berth Project dredged cubic metres"
    expect(page.locator("#status")).to_have_text("Completed")
    expect(page.locator("#report h3", has_text="What was dredged")).to_be_visible()
    assert timeline(page) == [e["seq"] for e in api.events(run_id)] == list(range(1, run["last_seq"] + 1))
    bar = page.get_by_role("meter", name="Sources fetched")
    expect(bar).to_have_attribute("aria-valuetext", f"{run['usage']['fetches']} of {run['budget']['fetches']}")
    sources = api.json(f"/research-runs/{run_id}/sources")["sources"]
    expect(page.locator("#sources tbody tr")).to_have_count(len(sources))
    expect(page.locator("#sources tr[data-status=duplicate]")).to_contain_text("Copy of")
    the_sentence_is_shown(page, api, run_id)


def the_sentence_is_shown(page: Page, api: Api, run_id: str) -> None:
    """Open the short answer's citation: the excerpt is marked inside the snapshot, and visible."""
    report = api.json(f"/research-runs/{run_id}/report")
    evidence = {e["evidence_id"]: e for e in api.json(f"/research-runs/{run_id}/evidence")["evidence"]}
    cited = evidence[report["short_answer"]["evidence_ids"][0]]
    page.locator("#report .answer .cite").click()
    mark = page.locator("#panel mark")
    expect(mark).to_have_text(cited["excerpt"])
    expect(mark).to_be_in_viewport()
    snapshot = api.call("GET", f"/research-runs/{run_id}/sources/{cited['source_id']}/snapshot")
    assert snapshot.content.decode()[cited["start"] : cited["end"]] == cited["excerpt"]
    shown = page.locator("#panel .snapshot").evaluate("node => node.textContent")
    assert shown == snapshot.content.decode()
    expect(page.locator("#panel .note.bad")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(page.locator("#panel")).to_be_hidden()
    expect(page.locator("#report .answer .cite")).to_be_focused()


def test_a_conflict_is_shown_with_both_sides(page: Page, api: Api, documents: list[str]) -> None:
    """Sentences that the sources contest are marked, lead to the conflict, and both sides open."""
    run_id = api.ask(QUESTION, documents)
    api.complete(run_id)
    open_run(page, run_id)
    expect(page.locator("#report .contested")).to_have_count(3)
    sides = page.locator("#conflicts li .cite")
    expect(sides).to_have_count(2)
    texts = []
    for side in sides.all():
        side.click()
        expect(page.locator("#panel h2")).to_contain_text(side.inner_text())
        texts.append(page.locator("#panel mark").inner_text())
    assert any("412,600" in text for text in texts)
    assert any("1,184,000" in text for text in texts)


def test_what_was_not_found_is_said(page: Page, api: Api, documents: list[str]) -> None:
    """A run without evidence shows its gap and offers to go on with a larger budget, which brings a new version."""
    run_id = api.ask("What insurance premium did the port authority pay for the Gannet Arm breakwater?", documents)
    assert api.finish(run_id)["status"] == "budget_exhausted"
    open_run(page, run_id)
    expect(page.locator("#report .gaps")).to_contain_text("insurance premium")
    expect(page.locator("#why")).to_contain_text("Nothing was found")
    page.get_by_role("button", name="Increase budget").click()
    page.get_by_role("button", name="Increase and go on").click()
    expect(page.get_by_role("alert").filter(has_text="Raise at least one limit")).to_be_visible()
    page.get_by_role("spinbutton", name="Searches").fill("12")
    page.get_by_role("button", name="Increase and go on").click()
    expect(page.locator("#report .downloads")).to_contain_text("Version 2", timeout=60_000)
    settled(page)
    assert api.run(run_id)["budget"]["searches"] == 12


def test_a_report_is_downloaded_in_each_format(page: Page, api: Api, documents: list[str]) -> None:
    """Each link brings a file."""
    run_id = api.ask(QUESTION, documents)
    api.complete(run_id)
    open_run(page, run_id)
    for label, ending in (("Markdown", "md"), ("HTML", "html"), ("JSON", "json"), ("Bundle", "zip")):
        with page.expect_download() as download:
            page.locator("#report .downloads").get_by_role("link", name=label).click()
        assert download.value.suggested_filename == f"{run_id}.{ending}"
        assert Path(download.value.path()).stat().st_size > 100


def stale_edit(page: Page, api: Api, documents: list[str]) -> str:
    """Edit a plan on the page while somebody else saves another version; return the run's id."""
    run_id = plan_ready(api, BARGE, documents)
    open_run(page, run_id)
    page.get_by_role("button", name="Edit plan").click()
    page.locator("[data-path='writing_plan.0.title']").fill("My heading")
    plan = api.run(run_id)["plan"]
    plan["title"], plan["questions"][1]["text"] = "Their title", "Their question?"
    answer = api.call("PATCH", f"/research-runs/{run_id}/plan", json={"expected_version": 1, "plan": plan})
    assert answer.status_code == 200
    return run_id


def test_a_stale_edit_shows_what_changed_and_loses_nothing(page: Page, api: Api, documents: list[str]) -> None:
    """The other version is told, my edits stay in the form; kept, they are saved on top of it."""
    run_id = stale_edit(page, api, documents)
    conflict = page.get_by_role("alert").filter(has_text="changed meanwhile")
    expect(conflict).to_contain_text("Their title")
    expect(conflict).to_contain_text("Their question?")
    expect(page.locator("[data-path='writing_plan.0.title']")).to_have_value("My heading")
    page.get_by_role("button", name="Keep my edits").click()
    expect(page.locator("[data-path='title']")).to_have_value("Their title")
    expect(page.locator("[data-path='writing_plan.0.title']")).to_have_value("My heading")
    page.get_by_role("button", name="Save plan").click()
    expect(page.locator("#plan-tools")).to_contain_text("Version 3")
    plan = api.run(run_id)["plan"]
    assert (plan["title"], plan["questions"][1]["text"]) == ("Their title", "Their question?")
    assert plan["writing_plan"][0]["title"] == "My heading"


def test_a_stale_edit_is_told_when_saving_without_news(watched: Watched, api: Api, documents: list[str]) -> None:
    """A page that hears no events learns of the other version from the refusal (409)."""
    watched.expected = ("409", "ERR_FAILED")
    page = watched.page
    page.route(re.compile(r"/events"), lambda route: route.abort())
    run_id = stale_edit(page, api, documents)
    page.get_by_role("button", name="Save plan").click()
    expect(page.get_by_role("alert").filter(has_text="changed meanwhile")).to_contain_text("Their title")
    page.get_by_role("button", name="Drop my edits").click()
    expect(page.locator("[data-path='title']")).to_have_value("Their title")
    expect(page.locator("[data-path='writing_plan.0.title']")).not_to_have_value("My heading")
    assert api.run(run_id)["plan_version"] == 2


def test_approving_saves_what_is_unsaved(page: Page, api: Api, documents: list[str]) -> None:
    """What is approved is what is seen; a plan that cannot be saved is not approved."""
    run_id = plan_ready(api, QUESTION, documents)
    open_run(page, run_id)
    page.get_by_role("button", name="Edit plan").click()
    question = page.locator("[data-path='questions.0.text']")
    question.fill(" ")
    page.get_by_role("button", name="Approve plan").click()
    expect(page.get_by_role("alert").filter(has_text="Question 1 is empty")).to_be_visible()
    expect(question).to_have_attribute("aria-invalid", "true")
    expect(question).to_be_focused()
    assert api.run(run_id)["status"] == "awaiting_plan_approval"
    question.fill(QUESTION)
    page.locator("[data-path='title']").fill("A title of mine")
    page.get_by_role("button", name="Approve plan").click()
    settled(page)
    run = api.run(run_id)
    assert (run["plan_version"], run["plan"]["title"], run["status"]) == (2, "A title of mine", "completed")


def test_a_run_is_paused_refined_and_cancelled(page: Page, api: Api, documents: list[str]) -> None:
    """Every action is a button while it is possible, and gone when it is not."""
    run_id = plan_ready(api, QUESTION, documents)
    open_run(page, run_id)
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#status")).to_have_text("Paused")
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("#status")).to_have_text("Awaiting plan approval")
    page.get_by_role("button", name="Refine").first.click()
    page.get_by_label("What is to change").fill("Who dredged it?")
    page.get_by_role("button", name="Refine", exact=True).click()
    expect(page.locator("#plan-tools")).to_contain_text("Version 2")
    expect(page.locator("#plan-body")).to_contain_text("Who dredged it?")
    page.get_by_role("button", name="Cancel run …").click()
    page.get_by_role("button", name="Back").click()
    assert api.run(run_id)["status"] == "awaiting_plan_approval"
    page.get_by_role("button", name="Cancel run …").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel run", exact=True).click()
    expect(page.locator("#status")).to_have_text("Cancelled")
    settled(page)
    expect(page.locator("#actions button")).to_have_count(1)
    page.get_by_role("button", name="Delete run").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete run", exact=True).click()
    page.wait_for_url("**/")
    assert api.call("GET", f"/research-runs/{run_id}").status_code == 404


def test_an_action_that_came_too_late_says_what_is_possible(watched: Watched, api: Api, documents: list[str]) -> None:
    """A page that shows an old state tells the refusal and shows the present one."""
    watched.expected = ("409", "ERR_FAILED")
    page = watched.page
    page.route(re.compile(r"/events"), lambda route: route.abort())
    run_id = plan_ready(api, QUESTION, documents)
    open_run(page, run_id)
    expect(page.get_by_role("button", name="Refine")).to_be_visible()
    assert api.call("POST", f"/research-runs/{run_id}/actions", json={"action": "cancel"}).status_code == 200
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#run-problem")).to_contain_text("cannot take the action pause")
    expect(page.locator("#status")).to_have_text("Cancelled")


def test_without_a_stream_the_page_asks_for_events(watched: Watched, api: Api, documents: list[str]) -> None:
    """Where no event stream can be had the list is asked, and nothing is missed or doubled."""
    watched.expected = ("ERR_FAILED",)
    page = watched.page
    streams = re.compile(r"/events\?after=\d+$")
    page.route(streams, lambda route: route.abort())
    run_id = plan_ready(api, BARGE, documents)
    open_run(page, run_id)
    expect(page.locator("#stream-state")).to_have_text("Every 2 s")
    page.get_by_role("button", name="Approve plan").click()
    settled(page)
    assert timeline(page) == list(range(1, api.run(run_id)["last_seq"] + 1))


def test_a_broken_stream_is_taken_up_where_it_broke(
    watched: Watched, stack: Stack, api: Api, documents: list[str]
) -> None:
    """The gateway is killed and started again while the page watches: every event is there once."""
    watched.expected = (
        "ERR_CONNECTION_REFUSED",
        "ERR_INCOMPLETE_CHUNKED_ENCODING",
        "ERR_CONNECTION_RESET",
        "ERR_EMPTY",
    )
    page = watched.page
    run_id = plan_ready(api, BARGE, documents)
    open_run(page, run_id)
    expect(page.locator("#stream-state")).to_have_text("Live")
    stack.kill("gateway")
    stack.start("gateway")
    expect(page.locator("#stream-state")).to_have_text("Live")
    page.get_by_role("button", name="Approve plan").click()
    settled(page)
    assert timeline(page) == list(range(1, api.run(run_id)["last_seq"] + 1))
