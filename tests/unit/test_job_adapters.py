"""Research jobs over HTTP: both formats, each thing that can go wrong, and what is certain not to have left."""

from collections.abc import Iterator

import pytest

from shared.adapters.model.endpoint import Endpoint
from shared.adapters.model.job_providers import JOB_PROVIDERS, JobsOnDemand
from shared.domain.errors import InvalidAnswer, NotSent, Permanent, RateLimited, RequestRejected, Transient
from shared.domain.managed import JobState
from shared.ports.managed import JobRequest
from tests.support.job_server import GOOGLE, JOB_KEY, OPENAI, JobServer, Said, Script, job_server

WIRES = (GOOGLE, OPENAI)
REQUEST = JobRequest("Cite pages.", "How deep is it?", 5000, "run_1")
PAGE = "https://port.test/basin"
REPORT = [Said("Größe zählt: the basin is 14 m deep.", PAGE), Said("Nobody dug it.")]


@pytest.fixture(scope="module")
def server() -> Iterator[JobServer]:
    """Both providers on loopback."""
    with job_server() as running:
        yield running


def opened(server: JobServer, wire: str, key: str = JOB_KEY) -> JobsOnDemand:
    """Return the adapter for one of them."""
    base = server.address if wire == GOOGLE else server.openai_url
    return JobsOnDemand(wire, Endpoint(base, key, "THE_KEY", "THE_URL"), "deep-research-test")


@pytest.fixture(params=WIRES)
def jobs(server: JobServer, request: pytest.FixtureRequest) -> Iterator[JobsOnDemand]:
    """The adapter for each of them; the server starts afresh."""
    server.reset(Script(REPORT))
    made = opened(server, request.param)
    yield made
    made.close()


def test_every_managed_engine_has_an_adapter() -> None:
    """The table of providers is that of the engines."""
    assert tuple(JOB_PROVIDERS) == WIRES


def test_a_job_is_submitted_looked_at_and_read(server: JobServer, jobs: JobsOnDemand) -> None:
    """The handle comes first; the report has its text, who it cites for which words, and what it used."""
    begun = jobs.submit(REQUEST)
    assert begun.state is JobState.RUNNING
    assert jobs.look(begun.handle).state is JobState.RUNNING
    seen = jobs.look(begun.handle)
    assert (seen.state, seen.searches, seen.handle) == (JobState.COMPLETED, 2, begun.handle)
    assert seen.usage is not None
    assert (seen.usage.input, seen.usage.output, seen.usage.cached) == (120_000, 9_000, 20_000)
    [mark] = seen.marks
    assert (mark.url, mark.title) == (PAGE, "a page")
    assert "(http" not in seen.text
    assert "(https" not in seen.text
    cited = seen.text[: mark.end].rsplit("\n", 1)[-1]
    assert cited.strip().rstrip(".") == REPORT[0].text.rstrip(".")
    [body] = server.bodies
    assert body["background"] is body["store"] is True
    assert "How deep is it?" in body["input"]


def test_the_requests_are_those_of_the_providers(server: JobServer) -> None:
    """Google is given an agent; OpenAI a model, its tool and a bound on what it writes."""
    for wire in WIRES:
        server.reset(Script())
        adapter = opened(server, wire)
        adapter.submit(REQUEST)
        adapter.close()
        [body] = server.bodies
        if wire == GOOGLE:
            assert body["agent"] == "deep-research-test"
            assert body["agent_config"]["type"] == "deep-research"
        else:
            assert (body["model"], body["max_output_tokens"]) == ("deep-research-test", 5000)
            assert body["tools"] == [{"type": "web_search_preview"}]
            assert body["metadata"] == {"leadline_run": "run_1"}


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("submit-400", RequestRejected),
        ("submit-429", RateLimited),
        ("submit-500", Transient),
        ("submit-junk", InvalidAnswer),
        ("lost", Transient),
    ],
)
def test_submissions_that_go_wrong(server: JobServer, jobs: JobsOnDemand, mode: str, expected: type[Exception]) -> None:
    """Each has its type; none is repeated, and none claims that nothing has left."""
    server.script.mode = mode
    with pytest.raises(expected) as caught:
        jobs.submit(REQUEST)
    assert not isinstance(caught.value, NotSent)
    assert server.asked["submit"] == 1
    if isinstance(caught.value, RateLimited):
        assert caught.value.after_s == 7


@pytest.mark.parametrize(("mode", "expected"), [("look-500", Transient), ("look-junk", InvalidAnswer)])
def test_looks_that_go_wrong(server: JobServer, jobs: JobsOnDemand, mode: str, expected: type[Exception]) -> None:
    """A look that fails says nothing about the job."""
    handle = jobs.submit(REQUEST).handle
    server.script.mode = mode
    with pytest.raises(expected):
        jobs.look(handle)


def test_an_answer_that_is_too_large_is_cut_off(server: JobServer, jobs: JobsOnDemand) -> None:
    """Memory is bounded whatever a provider sends."""
    handle = jobs.submit(REQUEST).handle
    server.script.mode = "look-huge"
    with pytest.raises(InvalidAnswer, match="larger than"):
        jobs.look(handle)


def test_a_wrong_key_is_told_and_never_shown(server: JobServer) -> None:
    """The setting is named and the provider's reason told, without the key."""
    for wire in WIRES:
        adapter = opened(server, wire, "wrong-key-of-mine")
        with pytest.raises(Permanent, match="THE_KEY") as caught:
            adapter.submit(REQUEST)
        adapter.close()
        assert caught.value.code == "model:key"
        assert "wrong-key-of-mine" not in str(caught.value)


def test_what_cannot_have_left_says_so() -> None:
    """Nobody listens: the request may be made again."""
    adapter = JobsOnDemand(GOOGLE, Endpoint("http://127.0.0.1:1", JOB_KEY), "a")
    with pytest.raises(NotSent):
        adapter.submit(REQUEST)
    adapter.close()


def test_a_forbidden_address_is_not_connected_to() -> None:
    """Jobs leave by the same judged way as models: no metadata service answers for a provider."""
    adapter = JobsOnDemand(GOOGLE, Endpoint("http://169.254.169.254", JOB_KEY), "a")
    with pytest.raises(Permanent) as caught:
        adapter.submit(REQUEST)
    adapter.close()
    assert caught.value.code == "model:endpoint"


def test_failed_cancelled_and_incomplete_jobs_are_told_apart(server: JobServer, jobs: JobsOnDemand) -> None:
    """Each ends in a state of its own, with the provider's reason where it has one."""
    for mode, state in (
        ("failed", JobState.FAILED),
        ("cancelled", JobState.CANCELLED),
        ("incomplete", JobState.INCOMPLETE),
    ):
        server.reset(Script(REPORT, mode, looks=0))
        seen = jobs.look(jobs.submit(REQUEST).handle)
        assert seen.state is state
        assert (seen.reason is not None) is (mode != "cancelled")


def test_cancelling_is_confirmed_by_the_state_alone(server: JobServer, jobs: JobsOnDemand) -> None:
    """A 200 to the request proves nothing: the job runs until a look finds it cancelled."""
    server.script.looks = 5
    handle = jobs.submit(REQUEST).handle
    assert jobs.cancel(handle).state is JobState.RUNNING
    assert jobs.look(handle).state is JobState.CANCELLED


def test_a_handle_that_would_change_the_address_is_refused(jobs: JobsOnDemand) -> None:
    """Handles become parts of addresses, so only names are sent."""
    for handle in ("../models", "a/b", "", "..", "x?y"):
        with pytest.raises(Permanent, match="no handle"):
            jobs.look(handle)


def test_the_credential_stands_for_key_and_address() -> None:
    """Another key or another address is another credential; the key cannot be read from it."""
    made = {
        JobsOnDemand(GOOGLE, Endpoint(url, key), "a").credential
        for url in ("https://a.test", "https://b.test")
        for key in ("k1", "k2")
    }
    assert len(made) == 4
    assert all("k1" not in credential for credential in made)
