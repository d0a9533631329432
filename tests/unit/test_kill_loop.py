"""What the kill loop judges by: politeness from a log, likeness of two runs, the spread of takeovers."""

from evals.bench.faults.checks import impolite, unfinished
from evals.bench.faults.loop import p95, within_lease
from evals.bench.faults.sameness import NormalForm, _spelled
from evals.bench.faults.work import inputs, jobs
from evals.bench.faults.world import host, number_of, search_of
from tests.support.site import Visit


def visit(path: str, start: float, end: float, name: str = "a001.test") -> Visit:
    """Return a request in a site's log."""
    return Visit(name, path, "Leadline/0.1", start, end, 200)


def test_a_polite_log_is_not_complained_of() -> None:
    """robots.txt first, one request at a time, the delay between them; other sites do not count."""
    log = [visit("/robots.txt", 0.0, 0.1), visit("/x", 1.0, 1.1), visit("/robots.txt", 1.05, 1.2, "b001.test")]
    assert impolite(log, 0.5) == []


def test_each_kind_of_impoliteness_is_seen() -> None:
    """Overlaps, short gaps and a page before robots.txt are all told."""
    told = impolite([visit("/x", 0.0, 1.0), visit("/robots.txt", 0.2, 0.4)], 0.5)
    assert [line.split(": ")[1][:10] for line in told] == ["1 requests", "1 requests", "/x was ask"]


def test_ids_times_and_hosts_make_no_difference() -> None:
    """Two rows that differ in nothing else are spelled the same; another text is another row."""
    one = {"source_id": "src_" + "0" * 26, "at": "2026", "url": "http://a001.test:1/x", "text": "deep"}
    two = {"source_id": "src_" + "1" * 26, "at": "2027", "url": "http://a002.test:1/x", "text": "deep"}
    names = {one["source_id"]: "source x", two["source_id"]: "source x"}
    assert _spelled(one, names) == _spelled(two, names)
    assert _spelled(one, names) != _spelled({**one, "text": "shallow"}, names)


def test_what_is_there_twice_is_a_difference() -> None:
    """The rows of a part are compared with their number."""
    once, twice = NormalForm({"events": ("a", "b")}), NormalForm({"events": ("a", "b", "b")})
    assert once.differences(once) == {}
    assert once.differences(twice) == {"events": ([], ["b"])}
    assert twice.differences(once) == {"events": (["b"], [])}


def test_every_run_has_sites_of_its_own() -> None:
    """The number in a site's name leads back to the run, from a page's host and from a search."""
    assert number_of(host("c", 17)) == "017"
    assert search_of("/search?q=how+deep+(site%3Aa017.test+OR+site%3Ab017.test)&format=json") == ("017", "how deep")
    assert search_of("/search?q=how+deep") is None
    assert len({job.number for job in jobs(5, 30)}) == 30
    assert {job.input for job in jobs(1, len(inputs()))} == {job.input for job in jobs(40, len(inputs()))}


def test_the_spread_of_takeovers() -> None:
    """The 95th percentile is by nearest rank; a lease and two seconds are allowed."""
    assert p95([float(n) for n in range(1, 101)]) == 95.0
    assert p95([3.0]) == 3.0
    assert within_lease(6.0)
    assert not within_lease(6.1)
    assert within_lease(None)
    assert unfinished({"a": ("completed", None), "b": ("failed", "poison")}) == ["b: failed (poison)"]
