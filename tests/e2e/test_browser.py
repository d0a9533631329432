"""The pages in Chromium, over the real stack and the harbor corpus: from a question to the sentence that answers it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from shared.db.engine import Transactions, open_engine
from shared.db.keys import PostgresKeys
from tests.support.api import Api
from tests.support.browser import Watched, chromium, watched_page
from tests.support.stack import Stack, wait_until

pytestmark = pytest.mark.slow

QUESTION = "How many cubic metres of material were dredged in the Deep Berth Project?"
BARGE = "Who built the Gannet Arm breakwater, where were its armour units cast, and which barge carried them?"
EVIL = "<script>document.title='pwned'</script><img src=/canary onerror=alert(1)>"
NARROW = {"width": 380, "height": 800}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for all tests."""
    with chromium() as started:
        yield started


@pytest.fixture
def watched(browser: Browser, stack: Stack) -> Iterator[Watched]:
    """A page that must show no dialog, report no error and reach no other machine."""
    with watched_page(browser, base_url=stack.address) as made:
        yield made


@pytest.fixture
def page(watched: Watched) -> Page:
    """The page itself."""
    return watched.page


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
    found: list[int] = page.eval_on_selector_all("#timeline li", "nodes => nodes.map(n => Number(n.dataset.seq))")
    return found[::-1]


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
    page.get_by_role("button", name="Save plan").click()
    expect(page.locator("#plan-tools")).to_contain_text("Version 2")
    page.get_by_role("button", name="Approve plan").click()
    settled(page)
    run_id = page.url.rpartition("/")[2]
    run = api.run(run_id)
    assert run["status"] == "completed"
    assert [t["query"] for t in run["plan"]["search_tasks"]][0] == "Deep Berth Project dredged cubic metres"
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


def test_a_stale_edit_is_told_when_saving_without_news(
    watched: Watched, api: Api, documents: list[str]
) -> None:
    """A page that hears no events learns of the other version from the refusal (409)."""
    watched.expected = ("409", "ERR_FAILED")
    page = watched.page
    page.route(re.compile(r"/events"), lambda route: route.abort())
    page.route(re.compile(r"/research-runs/run_[^/]+$"), FirstAnswer())
    run_id = stale_edit(page, api, documents)
    page.get_by_role("button", name="Save plan").click()
    expect(page.get_by_role("alert").filter(has_text="changed meanwhile")).to_contain_text("Their title")
    page.get_by_role("button", name="Drop my edits").click()
    expect(page.locator("[data-path='title']")).to_have_value("Their title")
    expect(page.locator("[data-path='writing_plan.0.title']")).not_to_have_value("My heading")
    assert api.run(run_id)["plan_version"] == 2


class FirstAnswer:
    """Lets requests pass until the first refusal has been seen; a run asked for in between is as it was at first."""

    def __init__(self) -> None:
        self.body: str | None = None
        self.used = 0

    def __call__(self, route: Route) -> None:
        """Answer with the run as it was first seen, until the plan was refused."""
        self.used += 1
        if self.body is None:
            answer = route.fetch()
            self.body = answer.text()
        route.fallback() if self.used > 1 else route.fulfill(body=self.body, content_type="application/json")


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


def test_an_action_that_came_too_late_says_what_is_possible(
    watched: Watched, api: Api, documents: list[str]
) -> None:
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
    expect(page.locator("#stream-state")).to_have_text("Every 2 s", timeout=30_000)
    page.get_by_role("button", name="Approve plan").click()
    settled(page)
    assert timeline(page) == list(range(1, api.run(run_id)["last_seq"] + 1))


def test_a_broken_stream_is_taken_up_where_it_broke(
    watched: Watched, stack: Stack, api: Api, documents: list[str]
) -> None:
    """The gateway is killed and started again while the page watches: every event is there once."""
    watched.expected = ("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION_RESET", "ERR_EMPTY")
    page = watched.page
    run_id = plan_ready(api, BARGE, documents)
    open_run(page, run_id)
    expect(page.locator("#stream-state")).to_have_text("Live")
    stack.kill("gateway")
    stack.start("gateway")
    expect(page.locator("#stream-state")).to_have_text("Live", timeout=30_000)
    page.get_by_role("button", name="Approve plan").click()
    settled(page)
    assert timeline(page) == list(range(1, api.run(run_id)["last_seq"] + 1))


def test_a_run_is_made_with_the_keyboard_alone(page: Page, api: Api, documents: list[str]) -> None:
    """Tab, arrows, space and enter lead from the address to a started run and its approval."""
    page.goto("/")
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    tab_to(page, "#objective")
    page.keyboard.type(QUESTION)
    tab_to(page, "[name=depth]")
    page.keyboard.press("ArrowUp")
    tab_to(page, "[name=documents]")
    tab_to(page, "#start")
    page.keyboard.press("Enter")
    page.wait_for_url("**/runs/run_*")
    expect(page.get_by_role("button", name="Approve plan")).to_be_visible()
    tab_to(page, "[data-action=approve_plan]")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.keyboard.press("Enter")
    settled(page)
    tab_to(page, "#report .answer .cite")
    page.keyboard.press("Enter")
    expect(page.locator("#panel h2")).to_be_focused()
    expect(page.locator("#panel mark")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#report .answer .cite")).to_be_focused()
    run = api.run(page.url.rpartition("/")[2])
    assert (run["depth"], run["status"], run["objective"]) == ("quick", "completed", QUESTION)


def tab_to(page: Page, selector: str) -> None:
    """Press Tab until the focus lies on what the selector means."""
    for _ in range(60):
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"the focus does not come to {selector}")


def test_documents_are_added_on_the_form_and_used(page: Page, api: Api, documents: list[str]) -> None:
    """Files are read, chosen at once, and the run uses them alone; those that cannot be read say why."""
    page.goto("/")
    page.set_input_files(
        "#files",
        [
            {"name": "quay.txt", "mimeType": "text/plain", "buffer": b"The Amber Quay was opened on 3 May 1961 by the mayor."},
            {"name": "empty.txt", "mimeType": "text/plain", "buffer": b""},
            {"name": "picture.png", "mimeType": "image/png", "buffer": b"\x89PNG\r\n\x1a\n" + bytes(64)},
        ],
    )
    expect(page.locator(".upload-state")).to_have_text("1 document is in the library.")
    faults = page.locator(".upload-faults")
    expect(faults).to_contain_text("empty.txt: It is empty.")
    expect(faults).to_contain_text("picture.png")
    expect(page.get_by_label("Chosen ones")).to_be_checked()
    expect(page.locator("#library-count")).to_contain_text("1 chosen of")
    page.get_by_label("Find in the library").fill("quay.txt")
    expect(page.locator(".library-list input:checked")).to_have_count(1)
    page.get_by_label("Question", exact=True).fill("When was the Amber Quay opened?")
    page.get_by_label("Start without showing me the plan first").check()
    page.get_by_role("button", name="Start", exact=True).click()
    page.wait_for_url("**/runs/run_*")
    settled(page)
    expect(page.locator("#report .answer")).to_contain_text("3 May 1961")
    run = api.run(page.url.rpartition("/")[2])
    assert len(run["source_policy"]["document_ids"]) == 1


def test_files_are_dropped_and_documents_deleted(page: Page, api: Api) -> None:
    """A file that is dropped on the library appears in it; deleting asks first."""
    page.goto("/documents")
    data = page.evaluate_handle(
        "() => { const t = new DataTransfer();"
        "t.items.add(new File(['A dropped note about tides.'], 'dropped.txt', {type: 'text/plain'})); return t; }"
    )
    page.dispatch_event(".drop", "drop", {"dataTransfer": data})
    row = page.locator("#documents-table tr", has_text="dropped.txt")
    expect(row.locator(".badge")).to_have_text("Ready")
    row.get_by_role("button", name="Delete dropped.txt").click()
    page.get_by_role("dialog").get_by_role("button", name="Back").click()
    expect(row).to_be_visible()
    row.get_by_role("button", name="Delete dropped.txt").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(row).to_have_count(0)
    assert "dropped.txt" not in [d["name"] for d in api.json("/documents")["documents"]]


def test_what_the_form_lacks_is_said_where_it_is(watched: Watched, documents: list[str]) -> None:
    """An empty question, no source and an impossible date: the field is marked and focused, nothing is sent twice."""
    watched.expected = ("422",)
    page = watched.page
    page.goto("/")
    start, problem = page.get_by_role("button", name="Start", exact=True), page.locator("#new-run-problem")
    start.click()
    expect(page.locator("#objective")).to_be_focused()
    expect(problem).to_contain_text("Write what is to be found out")
    page.get_by_label("Question", exact=True).fill(QUESTION)
    page.get_by_label("None").check()
    start.click()
    expect(problem).to_contain_text("no sources")
    page.get_by_label("All in the library").check()
    page.get_by_text("More options").click()
    page.get_by_label("As of").fill("2023-13")
    page.get_by_text("More options").click()
    start.click()
    expect(page.get_by_label("As of")).to_be_focused()
    expect(page.get_by_label("As of")).to_have_attribute("aria-invalid", "true")
    expect(problem).to_contain_text("2023-13")


def test_markup_in_documents_stays_text(watched: Watched, api: Api) -> None:
    """A name, a title and sentences full of markup are shown word for word and do nothing."""
    page = watched.page
    escaped = EVIL.replace("&", "&amp;").replace("<", "&lt;")
    sentence = f"The Crimson Buoy was moored in 1987 {EVIL} by the tender Osprey."
    body = f"<html><head><title>{escaped} Crimson Buoy</title></head><body><p>{sentence.replace('<', '&lt;')}</p></body></html>"
    name = f"{EVIL} crimson.html".replace("/", "-")
    answer = api.call("POST", "/documents", files=[("files", (name, body.encode()))])
    assert api.finish(answer.json()["run_id"])["status"] == "completed"
    page.goto("/documents")
    expect(page.locator("#documents-table")).to_contain_text("<img src=-canary onerror=alert(1)>")
    run_id = api.ask("When was the Crimson Buoy moored?", answer.json()["document_ids"])
    api.finish(run_id)
    open_run(page, run_id)
    expect(page.locator("#report .answer")).to_contain_text("<img src=/canary onerror=alert(1)>")
    expect(page.locator("#sources tbody")).to_contain_text("<script>document.title='pwned'</script>")
    page.locator("#report .answer .cite").click()
    expect(page.locator("#panel mark")).to_contain_text("<img src=/canary onerror=alert(1)>")
    expect(page.locator("#panel h2")).to_contain_text("<script>")
    page.goto("/")
    page.get_by_label("Chosen ones").check()
    expect(page.locator(".library-list")).to_contain_text("<img src=-canary")
    assert page.title() != "pwned"
    assert not [r for r in watched.requests if "canary" in r]
    assert page.locator("img[onerror], #main script").count() == 0


def test_the_browser_itself_refuses_markup_from_text(watched: Watched, documents: list[str]) -> None:
    """Even a script of ours could not turn text into markup, nor run anything inline or from elsewhere."""
    watched.expected = ("Trusted", "Content Security Policy")
    page = watched.page
    page.goto("/")
    refused = page.evaluate("() => { try { document.body.innerHTML = '<p>x</p>'; return false; } catch { return true; } }")
    assert refused
    page.evaluate(
        "() => { for (const f of [s => { s.textContent = 'window.pwned = 1' }]) {"
        "const s = document.createElement('script'); try { f(s); document.body.append(s); } catch {} } }"
    )
    assert page.evaluate("() => window.pwned") is None


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [NARROW, {"width": 1280, "height": 900}], ids=["narrow", "wide"])
def test_pages_fit_and_can_be_read(
    browser: Browser, stack: Stack, api: Api, documents: list[str], scheme: str, viewport: dict[str, int]
) -> None:
    """No page is wider than the screen, every field and button has a name, every text stands out from its ground."""
    done, waiting = api.ask(QUESTION, documents), plan_ready(api, QUESTION, documents)
    api.complete(done)
    with watched_page(browser, base_url=stack.address, color_scheme=scheme, viewport=viewport) as watched:
        page = watched.page
        for path, ready in (("/", ".run-card"), ("/documents", "tr"), (f"/runs/{done}", "#report .cite")):
            page.goto(path)
            page.wait_for_selector(ready)
            can_be_read(page, path)
        page.locator("#report .answer .cite").click()
        page.wait_for_selector("#panel mark")
        can_be_read(page, "panel")
        page.goto(f"/runs/{waiting}")
        page.get_by_role("button", name="Edit plan").click()
        can_be_read(page, "editor")
        page.get_by_role("button", name="Refine").click()
        can_be_read(page, "dialog")


def can_be_read(page: Page, where: str) -> None:
    """Check width, names and contrast (WCAG 2.2: 1.4.3, 1.4.10, 4.1.2) of what is shown now."""
    width = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert width <= 0, f"{where} is {width} pixels too wide"
    assert page.evaluate(NAMELESS) == [], where
    assert page.evaluate(PALE) == [], where
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(n => n.id)")
    assert len(ids) == len(set(ids)), where
    assert page.locator("h1").count() == 1
    assert page.locator("main").count() == 1


NAMELESS = """() => [...document.querySelectorAll('input, select, textarea, button, a[href], [role=meter], dialog[open]')]
  .filter(n => n.offsetParent !== null || n.matches('dialog'))
  .filter(n => !(n.labels && n.labels.length) && !n.getAttribute('aria-label') && !n.getAttribute('aria-labelledby')
    && !(n.matches('button, a') && n.textContent.trim()))
  .map(n => n.outerHTML.slice(0, 120))"""

PALE = """() => {
  const parse = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = node => {
    for (let n = node; n; n = n.parentElement) {
      const c = parse(getComputedStyle(n).backgroundColor);
      if (c.length === 3 || c[3] === 1) return c;
    }
    return parse(getComputedStyle(document.body).backgroundColor);
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !node.checkVisibility() || node.closest(':disabled, option')) continue;
    const [a, b] = [light(parse(getComputedStyle(node).color)), light(ground(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) found.push(`${ratio.toFixed(2)} ${node.className}: ${walker.currentNode.textContent.trim().slice(0, 40)}`);
  }
  return [...new Set(found)];
}"""


def test_the_list_of_runs_follows_them(page: Page, api: Api, documents: list[str]) -> None:
    """A run of the list that ends while the page is open is shown as it ended; the filter finds it."""
    run_id = plan_ready(api, QUESTION, documents)
    page.goto("/")
    card = page.locator(f"[data-run={run_id}]")
    expect(card.locator(".badge")).to_have_text("Awaiting plan approval")
    assert api.call("POST", f"/research-runs/{run_id}/actions", json={"action": "cancel"}).status_code == 200
    expect(card.locator(".badge")).to_have_text("Cancelled")
    page.get_by_label("Status").select_option("cancelled")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.locator(f"[data-run={run_id}]")).to_be_visible()
    assert set(page.locator(".run-list .badge").all_inner_texts()) == {"Cancelled"}


def test_an_unknown_run_has_a_page_that_says_so(watched: Watched) -> None:
    """A wrong address leads back to the runs."""
    watched.expected = ("404",)
    watched.page.goto("/runs/run_00000000000000000000000000")
    expect(watched.page.locator("h1")).to_have_text("Not found")
    watched.page.get_by_role("link", name="Go to the runs").click()
    expect(watched.page.get_by_role("heading", name="New run")).to_be_visible()


def test_a_key_opens_the_pages_and_their_stream(browser: Browser, stack: Stack) -> None:
    """With keys a browser signs in first; then lists, events and downloads work, until it signs out."""
    transactions = Transactions(open_engine(stack.database_url, pool_size=1))
    key = PostgresKeys(transactions).create("ada", "browser", None)
    transactions.close()
    locked = Stack(stack.database_url, stack.redis_url, stack.logs / "locked", {"LEADLINE_AUTH": "keys"})
    locked.logs.mkdir()
    try:
        locked.start("gateway")
        with watched_page(browser, base_url=locked.address) as watched:
            watched.expected = ("401",)
            sign_in_and_out(watched.page, key)
    finally:
        locked.stop()


def sign_in_and_out(page: Page, key: str) -> None:
    """Sign in with a wrong key and the right one, start a run, follow it, sign out."""
    page.goto("/")
    page.get_by_label("Key").fill("ldl_wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("unknown, expired or revoked")
    page.get_by_label("Key").fill(key)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="New run")).to_be_visible()
    note = {"name": "note.txt", "mimeType": "text/plain", "buffer": b"The Linnet beacon was lit in 1902 by the keeper."}
    page.set_input_files("#files", [note])
    expect(page.locator(".upload-state")).to_have_text("1 document is in the library.")
    page.get_by_label("Question", exact=True).fill("When was the Linnet beacon lit?")
    page.get_by_role("button", name="Start", exact=True).click()
    page.wait_for_url("**/runs/run_*")
    expect(page.locator("#stream-state")).to_have_text("Live")
    page.get_by_role("button", name="Approve plan").click()
    settled(page)
    expect(page.locator("#report .answer")).to_contain_text("1902")
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/login")
    page.goto("/documents")
    page.wait_for_url("**/login")
