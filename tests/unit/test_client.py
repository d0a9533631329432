"""The client against the gateway's application in this process, over connections that break."""

from io import BytesIO
from itertools import islice

import pytest
import requests

from services.gateway.app import create_app
from services.gateway.deps import Limits
from shared.client.client import LeadlineClient
from shared.client.errors import ClientError, Unreachable
from shared.client.following import PATIENCE, follow
from shared.client.wire import Wire
from shared.contracts.runs import ControlRequest, CreateRun, SourcePolicy
from shared.domain.ids import RunId
from shared.domain.states import RunStatus
from tests.factories.reports import a_plan
from tests.fakes.gateway import Desk, fake_deps
from tests.support.app_session import AppSession

ADDRESS = "http://localhost:1"
REQUEST = CreateRun(objective="When was the channel dredged?", source_policy=SourcePolicy(documents_all=True))
BROKEN = requests.ConnectionError("broken")


@pytest.fixture
def desk() -> Desk:
    """The state behind the gateway; runs complete as soon as they are approved."""
    return Desk(ending=(RunStatus.COMPLETED, "finished"))


@pytest.fixture
def session(desk: Desk) -> AppSession:
    """A session whose requests can be made to fail."""
    return AppSession(create_app(fake_deps(desk, Limits(ping_s=0.05, poll_s=0.05))))


@pytest.fixture
def client(session: AppSession, monkeypatch: pytest.MonkeyPatch) -> LeadlineClient:
    """A client that does not pause between tries."""
    made = LeadlineClient(ADDRESS, session=session)
    made._wire.pause = lambda _: None
    return made


def test_a_run_goes_from_request_to_report(client: LeadlineClient) -> None:
    """Create, change the plan, approve, wait, read the report in each form."""
    run = client.create_run(REQUEST)
    assert run.status == "awaiting_plan_approval"
    assert client.edit_plan(run.run_id, 1, a_plan("Another?")).plan_version == 2
    client.act(run.run_id, ControlRequest(action="approve_plan", expected_version=2))
    assert client.wait(run.run_id).status == "completed"
    assert client.report(run.run_id).title == "The channel"
    assert client.rendered(run.run_id, "md") == b"# The channel\n"
    assert client.rendered(run.run_id, "bundle").startswith(b"PK")


def test_lists_are_read_to_their_end(client: LeadlineClient, desk: Desk) -> None:
    """Pages are asked for as they are needed; a limit ends earlier."""
    made = [client.create_run(REQUEST).run_id for _ in range(103)]
    assert [run.run_id for run in client.runs(limit=1000)] == made[::-1]
    assert [run.run_id for run in client.runs(limit=2)] == made[:-3:-1]
    assert list(client.runs(status="completed")) == []
    client.upload([(f"{number}.txt", b"%d" % number) for number in range(201)])
    assert len(list(client.documents())) == 201


def test_files_are_sent_from_memory_and_from_streams(client: LeadlineClient) -> None:
    """The ids come in the order of the files."""
    ingest = client.upload([("a.txt", b"one"), ("sub/b.md", BytesIO(b"two"))])
    assert client.wait(ingest.run_id).status == "completed"
    assert [client.document(i).name for i in ingest.document_ids] == ["a.txt", "sub/b.md"]


def test_a_refusal_carries_its_problem(client: LeadlineClient, session: AppSession) -> None:
    """The gateway's answer is there as data, its detail as the message; it is not asked again."""
    run = client.create_run(REQUEST)
    session.asked.clear()
    with pytest.raises(ClientError, match="version 1, not 7") as caught:
        client.act(run.run_id, ControlRequest(action="approve_plan", expected_version=7))
    assert (caught.value.problem.status, caught.value.problem.current_version) == (409, 1)
    assert len(session.asked) == 1


def test_a_server_that_is_no_gateway_is_told_from_one() -> None:
    """An error without problem details still says what happened."""
    session = AppSession(create_app(fake_deps(Desk())))
    session.request = lambda *_, **__: _answer(502, b"<html>")  # type: ignore[method-assign,assignment]
    with pytest.raises(ClientError, match="answered 502 Bad Gateway"):
        LeadlineClient(ADDRESS, session=session).run("x")


def _answer(status: int, body: bytes) -> requests.Response:
    answer = requests.Response()
    answer.status_code, answer._content, answer.reason, answer.url = status, body, "Bad Gateway", ADDRESS
    return answer


def test_a_lost_request_is_sent_again(client: LeadlineClient, session: AppSession, desk: Desk) -> None:
    """A connection that breaks before the gateway heard of it costs a try, not the call."""
    session.faults.extend([BROKEN, BROKEN])
    client.create_run(REQUEST)
    assert len(session.asked) == 3
    assert len(desk.runs) == 1


def test_a_lost_answer_makes_no_second_run(desk: Desk) -> None:
    """The repeated request carries the same key, so that it finds the run of the first."""
    session = AppSession(create_app(fake_deps(desk)), after=True)
    client = LeadlineClient(ADDRESS, session=session)
    client._wire.pause = lambda _: None
    session.faults.append(BROKEN)
    run = client.create_run(REQUEST)
    assert list(desk.runs) == [run.run_id]


def test_a_gateway_that_never_answers_is_unreachable(client: LeadlineClient, session: AppSession) -> None:
    """After a few tries, in a sentence with the address; an upload is tried once."""
    session.faults.extend([BROKEN] * 4)
    with pytest.raises(Unreachable, match=ADDRESS):
        client.run("run_1")
    assert len(session.asked) == 4
    session.faults.append(requests.ReadTimeout())
    with pytest.raises(Unreachable, match="no answer in time"):
        client.upload([("a", b"b")])
    assert len(session.asked) == 5


@pytest.mark.parametrize("address", ["localhost:80", "ftp://x", "http://", "http://[", "nonsense", ""])
def test_an_address_that_is_none_is_unreachable(address: str) -> None:
    """A typing slip in a setting is an error of ours, not of the library."""
    client = LeadlineClient(address)
    client._wire.pause = lambda _: None
    with pytest.raises(Unreachable):
        client.run("run_1")


def test_events_come_once_and_in_order_over_broken_connections(
    client: LeadlineClient, session: AppSession, desk: Desk
) -> None:
    """Each connection is cut after a few frames, some cannot be made; nothing is missed or repeated."""
    run = client.create_run(REQUEST)
    for _ in range(20):
        desk.happen(RunId(run.run_id), "progress", phase="searching")
    client.act(run.run_id, ControlRequest(action="approve_plan"))
    session.faults.extend([3, 0, BROKEN, 1, 2, BROKEN, BROKEN, 9, 4, 2])
    seen = [event.seq for event in client.events(run.run_id)]
    assert seen == list(range(1, desk.runs[RunId(run.run_id)].last_seq + 1))
    assert not session.faults


def test_events_carry_their_payload(client: LeadlineClient) -> None:
    """What went flat over the wire is an event again."""
    run = client.create_run(REQUEST)
    first, second = islice(client.events(run.run_id), 2)
    assert (first.type, first.payload) == ("run_created", {"kind": "research"})
    assert second.payload == {"from": "created", "to": "planning", "reason": None}
    assert second.run_id == run.run_id


def test_events_may_begin_later(client: LeadlineClient, desk: Desk) -> None:
    """Those up to ``after`` are left out."""
    run = client.create_run(REQUEST)
    client.act(run.run_id, ControlRequest(action="approve_plan"))
    last = desk.runs[RunId(run.run_id)].last_seq
    assert [event.seq for event in client.events(run.run_id, last - 2)] == [last - 1, last]
    assert list(client.events(run.run_id, last)) == []


def test_following_is_given_up_when_nobody_answers_for_long(client: LeadlineClient, session: AppSession) -> None:
    """A gateway that is away for long is an error; so is a run that does not exist, at once."""
    session.faults.extend([BROKEN] * PATIENCE)
    with pytest.raises(Unreachable):
        list(client.events("run_1"))
    assert len(session.asked) == PATIENCE
    with pytest.raises(ClientError, match="no run_1"):
        list(client.events("run_1"))
    assert len(session.asked) == PATIENCE + 1


class Scripted(Wire):
    """A wire whose streams are given."""

    def __init__(self, *streams: bytes) -> None:
        super().__init__(ADDRESS, 1, pause=lambda _: None)
        self.streams = list(streams)
        self.asked: list[str] = []

    def _once(self, method: str, path: str, options: object) -> requests.Response:
        answer = requests.Response()
        answer.status_code, answer.raw = 200, BytesIO(self.streams.pop(0))
        self.asked.append(options["headers"]["Last-Event-ID"])  # type: ignore[index]
        return answer


def frame(seq: int) -> bytes:
    """Return an event as a frame."""
    data = f'{{"seq": {seq}, "run_id": "r", "at": "2026-01-01T00:00:00Z", "type": "progress"}}'
    return f"id: {seq}\nevent: progress\ndata: {data}\n\n".encode()


def test_gaps_repeats_and_half_frames_of_a_stream_do_no_harm() -> None:
    """An event too far ahead is not believed, a repeated one not passed on, a cut one asked for again."""
    end = b'event: end\ndata: {"last_seq": 5}\n\n'
    wire = Scripted(
        b": ping\n\n" + frame(1) + frame(3),
        frame(1) + frame(2) + frame(3) + frame(4)[:-1],
        b'event: resync\ndata: {"last_seq": 3}\n\n' + frame(9),
        frame(4) + frame(5) + end,
    )
    assert [event.seq for event in follow(wire, "/", 0)] == [1, 2, 3, 4, 5]
    assert wire.asked == ["0", "1", "3", "3"]
