"""The pages in Chromium beside the main path: keyboard, documents, refusals, hostile texts, sizes and colours, keys."""

import pytest
from playwright.sync_api import Browser, Page, expect

from shared.db.engine import Transactions, open_engine
from shared.db.keys import PostgresKeys
from tests.support.api import Api
from tests.support.browser import Watched, watched_page
from tests.support.readable import can_be_read
from tests.support.run_page import QUESTION, open_run, plan_ready, settled
from tests.support.stack import Stack

pytestmark = pytest.mark.slow

EVIL = "<script>document.title='pwned'</script><img src=/canary onerror=alert(1)>"
NARROW = {"width": 380, "height": 800}


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
    expect(page.locator("#report .answer .cite")).to_be_visible()
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
    for _ in range(200):
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
            {
                "name": "quay.txt",
                "mimeType": "text/plain",
                "buffer": b"The Amber Quay was opened on 3 May 1961 by the mayor.",
            },
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
    head = f"<head><title>{escaped} Crimson Buoy</title></head>"
    body = f"<html>{head}<body><p>{sentence.replace('<', '&lt;')}</p></body></html>"
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
    refused = page.evaluate(
        "() => { try { document.body.innerHTML = '<p>x</p>'; return false; } catch { return true; } }"
    )
    assert refused
    page.evaluate(
        "() => { for (const f of [s => { s.textContent = 'window.pwned = 1' }]) {"
        "const s = document.createElement('script'); try { f(s); document.body.append(s); } catch {} } }"
    )
    assert page.evaluate("() => window.pwned") is None


def test_offsets_count_code_points(page: Page, documents: list[str]) -> None:
    """A position of evidence is found behind characters that take two units of a string; overlaps become one mark."""
    page.goto("/")
    script = """async (base) => {
      const { places, unitsOf, allStand } = await import(`${base}/excerpt.js`);
      const text = "𝛑𝛑 is not 3. So.";
      const marks = places(text, [{start: 6, end: 9}, {start: 0, end: 2}, {start: 8, end: 11}]);
      const stands = allStand(text, [{start: 3, end: 5, excerpt: "is"}]);
      const moved = allStand(text, [{start: 4, end: 6, excerpt: "is"}]);
      return [unitsOf(text, [0, 1, 2, 99]), marks.map(m => text.slice(m.start, m.end)), stands, moved];
    }"""
    assert page.evaluate(script, base_of(page)) == [[0, 2, 4, 18], ["𝛑𝛑", "not 3"], True, False]


def test_changes_of_two_people_go_together(page: Page, documents: list[str]) -> None:
    """Parts that I changed are mine, others theirs; no part refers to a question that is gone."""
    page.goto("/")
    script = """async (base) => {
      const { merged, differences, faults, nextId } = await import(`${base}/plan.js`);
      const q = (id, text) => ({id, text, priority: "required"});
      const plan = {title: "t", objective: "o", questions: [q("q1", "One?"), q("q2", "Two?")],
        search_tasks: [{question_ids: ["q1", "q2"], query: "a"}],
        writing_plan: [{id: "s1", title: "One", question_ids: ["q2"]}]};
      const mine = structuredClone(plan), theirs = structuredClone(plan);
      mine.writing_plan[0].title = "Mine";
      theirs.title = "Theirs";
      theirs.questions = [q("q1", "One!"), q("q3", "Three?")];
      theirs.search_tasks[0].question_ids = ["q1"];
      const both = merged(plan, mine, theirs);
      const told = differences(plan, theirs).map(d => `${d.what}: ${d.before} > ${d.after}`);
      const ids = both.questions.map(x => x.id);
      return [both.title, both.writing_plan, ids, told, faults(both), nextId(both.questions, "q")];
    }"""
    title, sections, questions, told, faults, fresh = page.evaluate(script, base_of(page))
    assert (title, questions, faults, fresh) == ("Theirs", ["q1", "q3"], [], "q4")
    assert sections == [{"id": "s1", "title": "Mine", "question_ids": []}]
    assert told[:3] == ["Title: t > Theirs", "Question removed: Two? > null", "Question changed: One? > One!"]
    assert "Question added: null > Three?" in told


def test_uploads_are_sent_in_bearable_parts(page: Page, documents: list[str]) -> None:
    """No request is larger than the server takes, and no file is left out."""
    page.goto("/")
    script = """async (base) => {
      const { groups } = await import(`${base}/uploads.js`);
      const sizes = [400, 400, 400, 90000, 10, ...Array(60).fill(1)];
      return groups(sizes.map(size => ({size})), 100000).map(group => group.map(file => file.size));
    }"""
    parts = page.evaluate(script, base_of(page))
    assert [size for part in parts for size in part] == [400, 400, 400, 90000, 10, *[1] * 60]
    assert all(sum(size + 1000 for size in part) <= 100_000 and len(part) <= 50 for part in parts)


def base_of(page: Page) -> str:
    """Return the folder of the page's scripts."""
    address: str = page.eval_on_selector("script[src]", "node => node.src")
    return address.rpartition("/")[0]


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
        page.locator("[data-path='questions.0.text']").fill("")
        page.get_by_role("button", name="Save plan").click()
        can_be_read(page, "fault")
        change = {"expected_version": 1, "plan": {**api.run(waiting)["plan"], "title": "Theirs"}}
        assert api.call("PATCH", f"/research-runs/{waiting}/plan", json=change).status_code == 200
        expect(page.get_by_role("button", name="Keep my edits")).to_be_visible()
        can_be_read(page, "conflict")
        page.get_by_role("button", name="Refine").click()
        can_be_read(page, "dialog")


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
    keys = {"LEADLINE_AUTH": "keys"}
    locked = Stack(stack.database_url, stack.redis_url, stack.logs / "locked", keys, broker_url=stack.broker_url)
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
