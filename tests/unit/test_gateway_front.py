"""The rules of the gateway's front: heads, pace, places."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.gateway.front.body import LEAST_RATE, Pace
from services.gateway.front.crowd import Crowd, Room, address_of
from services.gateway.front.head import parse
from services.gateway.problems import Malformed


def test_the_application_sees_one_plain_request() -> None:
    """Fields of the connection go, so do names that only look like others; the length is the counted one."""
    head = parse(
        b"POST /a?b=%20 HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\nX_Low: 1\r\n"
        b"Transfer-Encoding: Chunked\r\nExpect: 100-continue\r\nX-Name:  caf\xe9 \r\n\r\n"
    )
    assert (head.chunked, head.length, head.path, head.expects_continue) == (True, None, "/a", True)
    assert head.written(5) == (
        b"POST /a?b=%20 HTTP/1.1\r\nHost: x\r\nX-Name: caf\xe9\r\nContent-Length: 5\r\nConnection: close\r\n\r\n"
    )


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/3\r\n\r\n",
        b"GET /a b HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nA : b\r\n\r\n",
        b"GET / HTTP/1.1\r\nA: b\r\n folded\r\n\r\n",
        b"GET / HTTP/1.1\r\nA: b\nB: c\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: +1\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"GET / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        b"GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
    ],
)
def test_what_could_be_read_in_two_ways_is_refused(head: bytes) -> None:
    """No guess is handed on."""
    with pytest.raises(Malformed):
        parse(head)


@given(st.binary(max_size=300))
def test_any_bytes_are_a_head_or_refused(data: bytes) -> None:
    """And what is a head reads the same after it was written."""
    try:
        head = parse(b"GET / HTTP/1.1\r\n" + data + b"\r\n\r\n")
    except Malformed:
        return
    again = parse(head.written(head.length))
    assert (again.length, again.target, again.chunked) == (head.length, head.target, False)


def test_a_body_may_be_neither_silent_nor_slow() -> None:
    """A byte now and then does not put the end off; bytes that come fast enough do, up to the longest time."""
    pace = Pace(patience=10.0, begun=100.0)
    assert pace.left(100.0) == 10.0
    pace.received = 5
    assert pace.left(109.0) < 1.1
    assert pace.left(111.0) < 0
    pace.received = 60 * LEAST_RATE
    assert pace.left(150.0) == 10.0
    pace.received = 10_000 * LEAST_RATE
    assert pace.left(1001.0) < 0


def test_one_address_leaves_places_to_others() -> None:
    """IPv6 counts by network; a place that is given back can be taken again."""
    crowd = Crowd(most=4, most_of_one=2)
    assert [crowd.enter(address_of(a)) for a in ("2001:db8::1", "2001:db8::2", "2001:db8::3")] == [True, True, False]
    assert [crowd.enter(address_of(a)) for a in ("::ffff:10.0.0.1", "10.0.0.1", "10.0.0.1")] == [True, True, False]
    assert not crowd.enter("10.0.0.9")
    crowd.leave("10.0.0.1")
    assert crowd.enter("10.0.0.9")


def test_one_holder_leaves_room_to_others() -> None:
    """Half of the room is the most of one."""
    room = Room(100)
    assert [room.take((b"a",), size) for size in (40, 20, 10)] == [True, False, True]
    assert room.take((b"b",), 50)
    assert not room.take((b"c",), 1)
    room.free((b"a",), 50)
    assert room.take((b"c",), 1)
