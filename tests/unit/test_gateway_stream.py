"""Event streams in one process: replay, following, gaps, slow clients, ends."""

import json
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from services.gateway.deps import Deps, Limits
from services.gateway.hub import Feed, Hub, Notice, Topic
from services.gateway.sse import Listener, stream
from shared.contracts.events import Event
from shared.contracts.runs import CreateRun
from shared.domain.ids import LOCAL_OWNER, RunId
from shared.domain.states import RunStatus
from tests.fakes.gateway import EPOCH, Desk, FakeReads, fake_deps
from tests.support.waiting import wait_until

QUICK = Limits(ping_s=0.05, poll_s=0.05, queued_events=5)


@pytest.fixture
def desk() -> Desk:
    """The state behind the gateway."""
    return Desk()


@pytest.fixture
def run_id(desk: Desk) -> RunId:
    """A run with one event."""
    return desk.add_run(LOCAL_OWNER, CreateRun(objective="x"))


@pytest.fixture
def deps(desk: Desk) -> Deps:
    """The gateway's ports, with short times."""
    return fake_deps(desk, QUICK)


@pytest.fixture
def hub(deps: Deps) -> Iterator[Hub]:
    """A register of streams that is closed afterwards."""
    made = Hub(deps)
    yield made
    made.close()


def follow(deps: Deps, hub: Hub, run_id: RunId, after: int = 0) -> Iterator[bytes]:
    """Open a stream as the route does."""
    position = deps.reads.run(LOCAL_OWNER, run_id).last_seq
    return stream(deps, hub, Listener(Topic(LOCAL_OWNER, run_id), after), position)


def parsed(frames: list[bytes]) -> list[tuple[str, int]]:
    """Return name and sequence number of every frame that carries data."""
    named = [frame.decode().splitlines() for frame in frames if b"data: " in frame]
    return [
        (next(line[7:] for line in lines if line.startswith("event: ")), data.get("seq", data.get("last_seq")))
        for lines in named
        for data in [json.loads(next(line[6:] for line in lines if line.startswith("data: ")))]
    ]


def until(frames: Iterator[bytes], seq: int) -> list[bytes]:
    """Take frames up to the event of this sequence number."""
    taken = []
    for frame in frames:
        taken.append(frame)
        if frame.startswith(f"id: {seq}\n".encode()):
            break
    return taken


def test_an_ended_run_is_replayed_and_closed(desk: Desk, deps: Deps, hub: Hub, run_id: RunId) -> None:
    """Every event once and in order, then the end; nobody listens afterwards."""
    desk.end(run_id, RunStatus.COMPLETED, "finished")
    frames = parsed(list(follow(deps, hub, run_id)))
    last = desk.runs[run_id].last_seq
    assert [seq for _, seq in frames] == [*range(1, last + 1), last]
    assert frames[-1] == ("end", last)
    wait_until(lambda: hub.clients() == {}, "the reader to leave")


def test_a_stream_begins_after_the_last_event_seen(desk: Desk, deps: Deps, hub: Hub, run_id: RunId) -> None:
    """Also when that is the last one of all, or beyond it."""
    desk.end(run_id, RunStatus.COMPLETED, "finished")
    last = desk.runs[run_id].last_seq
    assert parsed(list(follow(deps, hub, run_id, last - 1))) == [("status_changed", last), ("end", last)]
    assert parsed(list(follow(deps, hub, run_id, last))) == [("end", last)]
    assert parsed(list(follow(deps, hub, run_id, 999))) == [("end", 999)]


def test_what_happens_while_following_arrives(desk: Desk, deps: Deps, hub: Hub, run_id: RunId) -> None:
    """Old events are replayed, new ones follow, and a quiet time is filled with comments."""
    frames = follow(deps, hub, run_id)
    assert next(frames).startswith(b"retry: ")
    assert parsed([next(frames)]) == [("run_created", 1)]
    assert next(frames) == b": ping\n\n"
    desk.happen(run_id, "progress", phase="searching")
    assert parsed(until(frames, 2)) == [("progress", 2)]
    desk.end(run_id, RunStatus.CANCELLED, "cancelled")
    assert parsed(list(frames))[-1][0] == "end"


def test_clients_of_a_run_share_one_reader(desk: Desk, deps: Deps, hub: Hub, run_id: RunId) -> None:
    """Two clients see the same; the table is not read once for each."""
    streams = [follow(deps, hub, run_id) for _ in range(3)]
    for frames in streams:
        until(frames, 1)
    assert hub.clients() == {run_id: 3}
    threads = [thread for thread in threading.enumerate() if thread.name == f"events-{run_id}"]
    assert len(threads) == 1
    for _ in range(3):
        desk.happen(run_id, "progress")
    assert [parsed(until(frames, 4)) for frames in streams] == [[("progress", seq) for seq in (2, 3, 4)]] * 3
    for frames in streams:
        frames.close()  # type: ignore[attr-defined]
    assert hub.clients() == {}
    wait_until(lambda: not threads[0].is_alive(), "the reader's thread to end")


def test_a_stream_that_was_never_read_leaves_nothing(deps: Deps, hub: Hub, run_id: RunId) -> None:
    """A client that goes before the first byte is never on the register."""
    follow(deps, hub, run_id).close()  # type: ignore[attr-defined]
    assert hub.clients() == {}


def test_a_slow_client_is_dropped_and_others_are_unhurt(desk: Desk, deps: Deps, hub: Hub, run_id: RunId) -> None:
    """It leaves the register at once and, when it comes to read, is told to come back with its last id."""
    slow, quick = follow(deps, hub, run_id), follow(deps, hub, run_id)
    until(slow, 1)
    until(quick, 1)
    for number in range(QUICK.queued_events + 2):
        seq = desk.happen(run_id, "progress", number=number).seq
        until(quick, seq)
    assert hub.clients() == {run_id: 1}
    assert parsed(list(slow)) == [("resync", 1)]
    desk.end(run_id, RunStatus.CANCELLED, "cancelled")
    assert parsed(list(quick))[-1][0] == "end"
    assert [seq for _, seq in parsed(list(follow(deps, hub, run_id, 1)))][:8] == list(range(2, 10))


def test_a_stalled_client_is_dropped_before_its_queue_is_full(desk: Desk, deps: Deps, hub: Hub, run_id: RunId) -> None:
    """One that takes nothing for two pings while something waits is gone."""
    frames = follow(deps, hub, run_id)
    until(frames, 1)
    desk.happen(run_id, "progress")
    wait_until(lambda: hub.clients().get(run_id, 0) == 0, "the stalled client to be dropped")
    assert parsed(list(frames)) == [("resync", 1)]


class Holed(FakeReads):
    """Reads that hide an event from the reader, as a replica or a bug might."""

    def __init__(self, desk: Desk, hidden: int) -> None:
        super().__init__(desk)
        self.hidden = hidden

    def events(self, owner_id: str, run_id: RunId, after: int, limit: int) -> tuple[Event, ...]:
        """Leave out the hidden event for whoever reads on the reader's thread."""
        found = super().events(LOCAL_OWNER, run_id, after, limit)
        if threading.current_thread().name.startswith("events-"):
            return tuple(event for event in found if event.seq != self.hidden)
        return found


def test_a_gap_is_closed_from_the_table(desk: Desk, run_id: RunId) -> None:
    """An event that the reader did not hand over is read before the next one is sent."""
    deps = replace(fake_deps(desk, QUICK), reads=Holed(desk, hidden=3))
    hub = Hub(deps)
    frames = follow(deps, hub, run_id)
    until(frames, 1)
    for _ in range(3):
        desk.happen(run_id, "progress")
    assert [seq for _, seq in parsed(until(frames, 4))] == [2, 3, 4]
    hub.close()


def test_a_run_deleted_under_way_ends_its_streams(desk: Desk, deps: Deps, hub: Hub, run_id: RunId) -> None:
    """There is nothing to come back for."""
    frames = follow(deps, hub, run_id)
    until(frames, 1)
    del desk.owners[run_id]
    desk.happen(run_id, "progress")
    assert parsed(list(frames)) == [("end", 1)]


def test_an_outage_delays_a_stream_and_loses_nothing(desk: Desk, deps: Deps, hub: Hub, run_id: RunId) -> None:
    """The reader goes on when the database is back."""
    frames = follow(deps, hub, run_id)
    until(frames, 1)
    desk.down = True
    reads = desk.reads
    wait_until(lambda: desk.reads > reads + 1, "the reader to fail")
    desk.down = False
    desk.happen(run_id, "progress")
    assert parsed(until(frames, 2)) == [("progress", 2)]


def test_an_outage_at_the_replay_asks_the_client_to_come_back(desk: Desk, deps: Deps, hub: Hub, run_id: RunId) -> None:
    """The stream has begun, so that no status can tell."""
    frames = follow(deps, hub, run_id)
    desk.down = True
    assert parsed(list(frames)) == [("resync", 0)]


def test_a_stream_that_is_old_enough_asks_its_client_to_come_back(desk: Desk, run_id: RunId) -> None:
    """No connection lives for ever."""
    deps = fake_deps(desk, replace(QUICK, stream_age_s=0.1))
    hub = Hub(deps)
    assert parsed(list(follow(deps, hub, run_id))) == [("run_created", 1), ("resync", 1)]
    hub.close()


def test_closing_ends_every_stream_at_once(deps: Deps, desk: Desk, run_id: RunId) -> None:
    """Those that are open, and those that come later."""
    deps = replace(deps, limits=replace(QUICK, ping_s=60.0))
    hub = Hub(deps)
    frames = follow(deps, hub, run_id)
    until(frames, 1)
    threading.Timer(0.05, hub.close).start()
    assert parsed(list(frames)) == []
    assert parsed(list(follow(deps, hub, run_id))) == [("run_created", 1)]
    assert hub.clients() == {}


def test_a_full_register_has_no_room(deps: Deps, run_id: RunId) -> None:
    """Streams leave threads to requests."""
    hub = Hub(replace(deps, limits=replace(QUICK, max_streams=1)))
    assert hub.has_room()
    frames = follow(deps, hub, run_id)
    next(frames)
    next(frames)
    assert not hub.has_room()
    frames.close()  # type: ignore[attr-defined]
    assert hub.has_room()


def event(seq: int) -> Event:
    """Return any event."""
    return Event(seq=seq, run_id="r", at=EPOCH, type="progress", payload={})


def test_a_feed_says_its_first_last_words_only() -> None:
    """Queued events come before an end, and not before anything else that ends a feed."""
    ended, dropped = Feed(2), Feed(2)
    for feed in (ended, dropped):
        assert feed.put(event(1))
    ended.finish(Notice.ENDED)
    ended.finish(Notice.CLOSED)
    dropped.finish(Notice.RESYNC)
    assert ended.take(0) == event(1)
    assert ended.take(0) is Notice.ENDED
    assert dropped.take(0) is Notice.RESYNC
