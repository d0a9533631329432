"""The web pages as the server makes them: what they show and escape, what a browser is told, who may see them."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from services.gateway.app import create_app
from services.gateway.deps import Configured
from services.gateway.identity import COOKIE
from services.gateway.pages.assets import MEDIA_TYPES, STATIC, assets
from services.gateway.pages.rendering import TEMPLATES, minutes, size, words
from shared.contracts.events import EVENT_TYPES
from shared.contracts.plan import Plan
from shared.contracts.runs import CreateRun, SourcePolicy
from shared.domain.ids import LOCAL_OWNER, OwnerId, RunId
from shared.domain.states import Action, RunStatus
from shared.ports.keys import Holder
from tests.fakes.gateway import Desk, fake_deps

HTML = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>"
KEY = "ldl_right"
SCRIPTS = sorted(STATIC.glob("*.js"))
SOURCES = [*SCRIPTS, *sorted(TEMPLATES.glob("*.html"))]


class OneKey:
    """Knows one key; see `shared.ports.keys.Keys`."""

    def holder_of(self, key: str) -> Holder | None:
        """Return the local owner for it."""
        return Holder(LOCAL_OWNER, "right") if key == KEY else None

    def living(self, key_id: str) -> bool:
        """Tell that the key lives."""
        return key_id == "right"


@pytest.fixture
def desk() -> Desk:
    """The state behind the gateway."""
    return Desk()


@pytest.fixture
def http(desk: Desk) -> FlaskClient:
    """A client of a gateway without keys."""
    return create_app(fake_deps(desk)).test_client()


@pytest.fixture
def locked(desk: Desk) -> FlaskClient:
    """A client of a gateway that asks for keys."""
    return create_app(replace(fake_deps(desk), keys=OneKey())).test_client()


def add_run(desk: Desk, objective: str = "When was the channel dredged?", **changes: Any) -> RunId:
    """Add a run of the local owner, with changes to its object."""
    policy = SourcePolicy(documents_all=True)
    run_id = desk.add_run(LOCAL_OWNER, CreateRun(objective=objective, source_policy=policy))
    desk.runs[run_id] = desk.runs[run_id].model_copy(update=changes)
    return run_id


def page(http: FlaskClient, path: str, status: int = 200) -> str:
    """Open a page as a browser does, and return its text."""
    answer = http.get(path, headers=HTML)
    assert (answer.status_code, answer.mimetype) == (status, "text/html"), answer.text
    return answer.text


def test_runs_are_listed_newest_first_with_what_they_are(http: FlaskClient, desk: Desk) -> None:
    """Each run is a link with its question, status, depth and engine."""
    add_run(desk, "First?", status=RunStatus.COMPLETED)
    newest = add_run(desk, "Second?", status=RunStatus.RESEARCHING)
    text = page(http, "/")
    assert text.index("Second?") < text.index("First?")
    assert f'href="/runs/{newest}"' in text
    assert '<span class="badge researching">Researching</span>' in text
    assert "extractive" in text


def test_the_list_is_filtered_and_paged(http: FlaskClient, desk: Desk) -> None:
    """A status shows its runs alone; the link to older ones keeps it."""
    for n in range(23):
        add_run(desk, f"Completed {n}?", status=RunStatus.COMPLETED)
    add_run(desk, "Failed?", status=RunStatus.FAILED)
    assert "Completed 1?" not in page(http, "/?status=failed")
    text = page(http, "/?status=completed")
    assert "Failed?" not in text
    older = re.search(r'<a rel="next" href="(/\?status=completed&amp;cursor=[^"]+)">', text)
    assert older is not None
    second = page(http, older[1].replace("&amp;", "&"))
    assert re.findall(r"Completed (\d+)\?", second) == ["2", "1", "0"]
    assert 'href="/?status=completed">Newest' in second
    assert "No run is paused." in page(http, "/?status=paused")
    assert page(http, "/?status=") == page(http, "/")


def test_the_form_offers_what_is_configured(desk: Desk) -> None:
    """Engines and web searches that nothing is set up for cannot be chosen; later they can."""
    bare = page(create_app(fake_deps(desk)).test_client(), "/")
    assert re.search(r'<option value="llm" disabled>', bare)
    assert re.search(r'<option value="full_web" disabled>', bare)
    assert re.search(r'<option value="none">', bare)
    configured = Configured(models={"planner": "m"}, search_providers=("searxng",))
    full = page(create_app(replace(fake_deps(desk), has_model=True, configured=configured)).test_client(), "/")
    assert re.search(r'<option value="llm">', full)
    assert re.search(r'<option value="full_web">', full)
    assert "Automatic (llm)" in full


def test_a_run_has_a_page_and_an_unknown_one_has_none(http: FlaskClient, desk: Desk) -> None:
    """The page of a run names it; other ids, and those of others, get a page that says so."""
    run_id = add_run(desk)
    assert f'data-run="{run_id}"' in page(http, f"/runs/{run_id}")
    assert "Not found" in page(http, "/runs/run_0", 404)
    desk.owners[run_id] = OwnerId("own_other")
    assert "Not found" in page(http, f"/runs/{run_id}", 404)


def test_documents_are_listed_with_status_and_reason(http: FlaskClient, desk: Desk) -> None:
    """A document that could not be read says why."""
    desk.unreadable = ("scan.pdf",)
    http.post("/api/v1/documents", data={"f": [(STATIC.joinpath("icon.svg").open("rb"), "scan.pdf")]})
    text = page(http, "/documents")
    assert "scan.pdf" in text
    assert "no text in it" in text
    assert "There are no documents on this page." in page(http, "/documents?cursor=a")


@pytest.mark.parametrize("path", ["/", "/documents", "/runs/{run}", "/runs/{evil}", "/{evil}"])
def test_nothing_that_comes_from_outside_becomes_markup(http: FlaskClient, desk: Desk, path: str) -> None:
    """Questions, names and paths are shown as the text that they are."""
    run_id = add_run(desk, EVIL)
    http.post("/api/v1/documents", data={"f": [(STATIC.joinpath("icon.svg").open("rb"), EVIL)]})
    text = http.get(path.format(run=run_id, evil=EVIL.replace("/", "%2f")), headers=HTML).text
    assert "<script>alert" not in text
    assert "<img src=x" not in text
    assert "</html>" in text


def test_pages_tell_the_browser_to_run_our_files_alone(http: FlaskClient) -> None:
    """The policy of every page names only this origin, and lets no script make markup of text."""
    for path in ("/", "/documents", "/nothing"):
        policy = http.get(path, headers=HTML).headers["Content-Security-Policy"]
        assert "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'" in policy
        assert "require-trusted-types-for 'script'" in policy
        assert "unsafe" not in policy


def test_pages_hold_no_script_and_no_style(http: FlaskClient, desk: Desk) -> None:
    """Everything that a page loads is one of our files, by its present address; there is nothing inline."""
    run_id = add_run(desk)
    for path in ("/", "/documents", f"/runs/{run_id}", "/nothing"):
        text = http.get(path, headers=HTML).text
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|javascript:", text)
        loaded = re.findall(r'<(?:script|link|img)[^>]*\b(?:src|href)="([^"]+)"', text)
        assert loaded
        for address in loaded:
            assert address.startswith(f"/static/{assets().tag}/")
            answer = http.get(address)
            assert answer.status_code == 200
            assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"


def test_forms_wait_for_their_script(http: FlaskClient, locked: FlaskClient) -> None:
    """Neither a question nor a key can get into an address: forms post, and are off until their script runs."""
    for text, form in ((page(http, "/"), "new-run"), (page(locked, "/login"), "login")):
        start = text.index(f'<form id="{form}" method="post"')
        button = re.search(r'<button type="submit"[^>]*>', text[start:])
        assert button is not None
        assert " disabled" in button[0]


def test_files_are_given_by_name_and_kept_by_version(http: FlaskClient) -> None:
    """An old version gets the present file without keeping it; what is no file of ours is not found."""
    tag = assets().tag
    script = http.get(f"/static/{tag}/run.js")
    assert (script.mimetype, script.headers["X-Content-Type-Options"]) == ("text/javascript", "nosniff")
    assert http.get("/static/000000000000/run.js").headers["Cache-Control"] == "no-store"
    for name in ("nothing.js", "..%2fpages%2fviews.py", "..", ".", "README.md"):
        assert http.get(f"/static/{tag}/{name}").status_code == 404


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda p: p.name)
def test_scripts_make_no_markup_and_load_only_their_neighbours(path: Path) -> None:
    """No way from text to markup or code; every import is a file that there is."""
    text = path.read_text()
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc", text)
    assert not re.search(r"https?://(?!\$)", text)
    for name in re.findall(r'from "([^"]+)"', text):
        assert STATIC.joinpath(name.removeprefix("./")).is_file(), name


def test_the_style_sheet_loads_nothing() -> None:
    """No import, no font, no picture from elsewhere."""
    assert not re.search(r"@import|url\(", STATIC.joinpath("app.css").read_text())


def test_every_file_has_a_media_type() -> None:
    """Nothing lies in the folder that would not be served."""
    assert {path.suffix for path in STATIC.iterdir()} <= set(MEDIA_TYPES)


def test_scripts_know_what_the_contracts_know() -> None:
    """Event types, actions and the sizes of a plan are the same on both sides."""
    stream = STATIC.joinpath("stream.js").read_text()
    block = stream[stream.index("TYPES = [") : stream.index("];")]
    assert tuple(re.findall(r'"(\w+)"', block)) == EVENT_TYPES
    timeline = STATIC.joinpath("timeline.js").read_text()
    assert all(f"  {name}: " in timeline for name in EVENT_TYPES)
    actions = STATIC.joinpath("actions.js").read_text()
    assert all(f"  {action}: " in actions for action in Action if action is not Action.EDIT_PLAN)
    schema = Plan.model_json_schema()["properties"]
    most = {part: schema[part]["maxItems"] for part in ("questions", "search_tasks", "writing_plan")}
    text = ", ".join(f"{part}: {number}" for part, number in most.items())
    assert f"MOST = {{ {text} }}" in STATIC.joinpath("plan.js").read_text()


def test_a_problem_is_a_page_for_people_and_data_for_programs(http: FlaskClient) -> None:
    """Only a browser that opens a page gets one; the API answers problem details to everybody."""
    assert "There is no such run." in page(http, "/runs/%00", 404)
    assert "status" in page(http, "/?status=happy", 422)
    for path in ("/api/v1/nothing", "/api/v1/research-runs/x", "/static/x/y", "/openapi.json?x=1"):
        assert http.get(path, headers=HTML).mimetype == "application/problem+json"
    for headers in ({}, {"Accept": "*/*"}, {"Accept": "application/json"}):
        assert http.get("/nothing", headers=headers).mimetype == "application/problem+json"
    assert http.get("/nothing", headers=HTML).headers["X-Request-Id"]


def test_a_page_of_problems_needs_no_database(http: FlaskClient, desk: Desk) -> None:
    """While the database is away a page says so, and when to try again."""
    desk.down = True
    add_run(desk)
    answer = http.get("/runs/run_0", headers=HTML)
    assert (answer.status_code, answer.mimetype, answer.headers["Retry-After"]) == (503, "text/html", "2")


def test_without_a_key_pages_lead_to_signing_in(locked: FlaskClient) -> None:
    """A page redirects, the API refuses; the form and its files need no key."""
    for path in ("/", "/documents", "/runs/run_0"):
        answer = locked.get(path, headers=HTML)
        assert (answer.status_code, answer.headers["Location"]) == (303, "/login")
    assert locked.get("/api/v1/research-runs", headers=HTML).status_code == 401
    text = page(locked, "/login")
    assert 'type="password"' in text
    assert locked.get(f"{assets().base}/login.js").status_code == 200


def test_signing_in_makes_a_cookie_that_scripts_cannot_read(locked: FlaskClient) -> None:
    """A wrong key is refused; the right one opens pages and API until signing out."""
    assert locked.post("/login", json={"key": "ldl_wrong"}).status_code == 401
    answer = locked.post("/login", json={"key": f" {KEY} "})
    assert answer.status_code == 204
    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith(f"{COOKIE}={KEY};")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
    assert "Sign out" in page(locked, "/")
    assert locked.get("/api/v1/research-runs").status_code == 200
    assert locked.delete("/login").status_code == 204
    assert locked.get("/", headers=HTML).status_code == 303


def test_pages_of_other_sites_sign_nobody_in_or_out(locked: FlaskClient) -> None:
    """The check of the origin holds for signing in too."""
    for method in ("POST", "DELETE"):
        answer = locked.open("/login", method=method, json={"key": KEY}, headers={"Origin": "http://evil.example"})
        assert answer.status_code == 403
        assert "Set-Cookie" not in answer.headers


def test_without_keys_there_is_nothing_to_sign_in_to(http: FlaskClient) -> None:
    """The form leads home, and no cookie is made."""
    assert http.get("/login", headers=HTML).headers["Location"] == "/"
    assert "Set-Cookie" not in http.post("/login", json={"key": "x"}).headers


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (words("budget_exhausted"), "Budget exhausted"),
        (size(999), "999 B"),
        (size(12_345), "12 kB"),
        (size(20_000_000), "20 MB"),
        (size(1_460_000), "1.5 MB"),
        (minutes(90), "90 s"),
        (minutes(2700), "45 min"),
    ],
)
def test_values_are_written_for_people(made: str, expected: str) -> None:
    """Names, sizes and times as the templates show them."""
    assert made == expected
