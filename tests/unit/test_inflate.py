"""Content codings: any body, cut anywhere, decodes to itself; nothing grows past its limit."""

import gzip
import zlib

import brotli
import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

from services.fetcher.net.inflate import ACCEPTED, Inflater, coding_of
from shared.domain.errors import LimitExceeded, Permanent

PACKED = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstd.compress,
}


def inflated(coding: str | None, data: bytes, size: int, limit: int = 1_000_000) -> bytes:
    """Decode a body that comes in pieces of a size."""
    inflater = Inflater(coding, limit, 200)
    feed(inflater, data, size)
    inflater.finish()
    return bytes(inflater.body)


@given(st.sampled_from(sorted(PACKED)), st.binary(max_size=3000), st.integers(1, 64))
def test_every_coding_gives_the_body_back(coding: str, body: bytes, size: int) -> None:
    """However the network cuts it."""
    assert inflated(coding, PACKED[coding](body), size) == body


@given(st.sampled_from(["gzip", "zstd"]), st.lists(st.binary(max_size=200), max_size=4), st.integers(1, 9))
def test_members_follow_on_each_other(coding: str, parts: list[bytes], size: int) -> None:
    """Several members are one body, wherever the pieces end."""
    data = b"".join(PACKED[coding](part) for part in parts)
    assert inflated(coding, data, size) == b"".join(parts)


@given(st.sampled_from(sorted(PACKED)), st.binary(max_size=300), st.integers(1, 64))
def test_nonsense_is_told_and_never_raised_as_it_is(coding: str, data: bytes, size: int) -> None:
    """A body that is none, or breaks off, is a typed error."""
    codes: list[str | None] = [None]
    try:
        inflated(coding, data, size)
    except Permanent as error:
        codes.append(error.code)
    assert codes[-1] in (None, "encoding_corrupt")


@pytest.mark.parametrize("coding", sorted(PACKED))
def test_a_body_stops_one_byte_past_its_limit(coding: str) -> None:
    """Enough to know that there is more, and no byte beyond."""
    data = PACKED[coding](bytes(range(256)) * 40)
    inflater = Inflater(coding, 5000, 10_000)
    inflater.feed(data)
    assert inflater.full
    assert len(inflater.body) == 5001


@pytest.mark.parametrize("coding", sorted(PACKED))
def test_a_bomb_is_refused_by_its_ratio(coding: str) -> None:
    """Long before its own limit."""
    inflater = Inflater(coding, 500_000_000, 200)
    data = PACKED[coding](b"\0" * (64 << 20))
    with pytest.raises(LimitExceeded, match="inflate_ratio"):
        feed(inflater, data, 1024)
    assert len(inflater.body) <= max(64 * 1024, inflater.received * 200) + 1


def feed(inflater: Inflater, data: bytes, size: int) -> None:
    """Feed a body in pieces."""
    for start in range(0, len(data), size):
        inflater.feed(data[start : start + size])


def test_a_frame_that_asks_for_much_memory_is_refused() -> None:
    """A window over 8 MiB is more than the coding may ask for."""
    options = {zstd.CompressionParameter.window_log: 27}
    maker = zstd.ZstdCompressor(options=options)
    data = maker.compress(b"depth" * 1000) + maker.flush()
    with pytest.raises(Permanent, match="encoding_corrupt"):
        inflated("zstd", data, 1 << 16)


def test_what_is_asked_for_is_what_is_known() -> None:
    """Each coding of the header that is sent is decoded; anything else is refused by name."""
    assert [coding_of(name) for name in ACCEPTED.split(", ")] == ["gzip", "deflate", "br", "zstd"]
    assert coding_of("") is coding_of("identity") is None
    for header, code in (("gzip, br", "encoding_chain"), ("compress", "encoding_unknown")):
        with pytest.raises(Permanent, match=code):
            coding_of(header)
