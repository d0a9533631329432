"""robots.txt by RFC 9309: groups, matching, delays, encodings, and what an answer means."""

import json
import tarfile
import time

import pytest

from services.fetcher.robots import (
    MAX_CRAWL_DELAY_S,
    MAX_ROBOTS_BYTES,
    Meaning,
    RobotsRules,
    group_for,
    meaning_of,
    text_of,
)
from shared.domain.urls import parse_url
from tests.conftest import TEST_DATA

LISTS = TEST_DATA / "lists" / "robots"
ALL = "User-agent: *\n"

CASES = {
    "byte order mark": ("\ufeffUser-agent: *\nDisallow: /", "/x", False),
    "longest match allows": (ALL + "Disallow: /a\nAllow: /a/b", "/a/b/c", True),
    "longest match forbids": (ALL + "Allow: /a\nDisallow: /a/b", "/a/b/c", False),
    "allow wins a tie": (ALL + "Disallow: /a\nAllow: /a", "/a", True),
    "order does not matter": (ALL + "Allow: /a/b\nDisallow: /a", "/a/b", True),
    "wildcard": (ALL + "Disallow: /*.pdf$", "/x/y.pdf", False),
    "end of the path": (ALL + "Disallow: /*.pdf$", "/y.pdf?x", True),
    "agents in any case": ("User-agent: lEADLINE\nDisallow: /", "/x", False),
    "own group before the one for all": (ALL + "Disallow: /\n\nUser-agent: leadline\nAllow: /", "/x", True),
    "own groups merged": ("User-agent: leadline\nDisallow: /a\n\nUser-agent: leadline\nDisallow: /b", "/a", False),
    "own groups merged too": ("User-agent: leadline\nDisallow: /a\n\nUser-agent: leadline\nDisallow: /b", "/b", False),
    "several agents in one group": ("User-agent: other\nUser-agent: leadline\nDisallow: /", "/x", False),
    "blank line in a group": ("User-agent: leadline\n\nDisallow: /", "/x", False),
    "empty rule": (ALL + "Disallow:", "/x", True),
    "robots.txt itself": (ALL + "Disallow: /", "/robots.txt", True),
    "escaped letters": (ALL + "Disallow: /caf%C3%A9", "/café", False),
    "escapes in any case": (ALL + "Disallow: /%7euser", "/%7Euser", False),
    "raw letters in the rule": (ALL + "Disallow: /café", "/caf%C3%A9", False),
    "query": (ALL + "Disallow: /s?q=", "/s?q=1", False),
    "comments": ("User-agent: * # all\nDisallow: /a # no", "/a", False),
    "carriage returns": ("User-agent: *\r\nDisallow: /a\r\n", "/a", False),
    "carriage returns alone": ("User-agent: *\rDisallow: /a\r", "/a", False),
    "a page in its place": ("<html><body>Disallow: /</body></html>", "/a", True),
    "longer agent": ("User-agent: leadlinebot\nDisallow: /", "/x", True),
    "shorter agent": ("User-agent: lead\nDisallow: /", "/x", True),
    "version behind the agent": ("User-agent: Leadline/2.0\nDisallow: /", "/x", False),
    "sitemap inside a group": ("User-agent: leadline\nSitemap: http://a.test/s.xml\nDisallow: /", "/x", False),
    "delay between agents": ("User-agent: leadline\nCrawl-delay: 5\nUser-agent: b\nDisallow: /", "/x", False),
    "slip in the field": (ALL + "Dissallow: /a", "/a", False),
    "no colon": ("User-agent *\nDisallow /a", "/a", False),
    "rules before any agent": ("Disallow: /\nUser-agent: *\nAllow: /", "/x", True),
    "many stars": (ALL + "Disallow: /" + "*a" * 60 + "$", "/" + "a" * 1900 + "b", True),
}


@pytest.mark.parametrize(("text", "path", "allowed"), CASES.values(), ids=CASES)
def test_paths_are_judged_by_the_standard(text: str, path: str, allowed: bool) -> None:
    """One case for each corner of the standard and each slip of a well-known parser."""
    assert RobotsRules(text.encode(), "Leadline").allows(parse_url(f"http://a.test{path}")) is allowed


def test_bytes_that_are_no_text_forbid_nothing_by_accident() -> None:
    """Other encodings and zeros are read as far as they can be."""
    body = b"\xef\xbb\xbfUser-agent: *\nDisallow: /\xff\xfe\nDisallow: /b\n\0\0"
    rules = RobotsRules(body, "Leadline")
    assert not rules.allows(parse_url("http://a.test/b"))
    assert rules.allows(parse_url("http://a.test/c"))


def test_a_long_file_is_cut_at_the_end_of_a_line() -> None:
    """What stands in the first 500 KiB counts, and half a line never does."""
    early = b"User-agent: *\nDisallow: /early\n"
    filler = b"# " + b"x" * 97 + b"\n"
    body = early + filler * 5200 + b"Disallow: /late\n"
    assert len(body) > MAX_ROBOTS_BYTES
    rules = RobotsRules(body, "Leadline")
    assert not rules.allows(parse_url("http://a.test/early"))
    assert rules.allows(parse_url("http://a.test/late"))
    assert text_of(body).endswith("\n")
    assert text_of(b"User-agent: *\nDisallow: /" + b"a" * MAX_ROBOTS_BYTES) == "User-agent: *\n"


def test_a_file_made_to_be_slow_is_read_fast() -> None:
    """Tens of thousands of agents and rules take no more than moments."""
    before = time.process_time()
    RobotsRules(b"User-agent: a\n" * 38_000, "Leadline")
    rules = RobotsRules(b"User-agent: *\n" + b"Disallow: /*a*a*a*b\n" * 25_000, "Leadline")
    rules.allows(parse_url("http://a.test/" + "a" * 2000))
    assert time.process_time() - before < 5


@pytest.mark.parametrize(
    ("text", "delay"),
    [
        ("User-agent: leadline\nCrawl-delay: 5\nDisallow: /a", 5.0),
        ("User-agent: leadline\nDisallow: /a\nCrawl-delay: 2.5", 2.5),
        ("User-agent: *\nCrawl-delay: 3", 3.0),
        ("User-agent: *\nCrawl-delay: 3\n\nUser-agent: leadline\nDisallow:", None),
        ("User-agent: *\nCrawl-delay: 3600", MAX_CRAWL_DELAY_S),
        ("User-agent: *\nCrawl-delay: soon", None),
        ("User-agent: *\nCrawl-delay: -1", None),
        ("User-agent: other\nCrawl-delay: 9\nUser-agent: leadline\nCrawl-delay: 1", 1.0),
    ],
)
def test_delays_are_read_within_reason(text: str, delay: float | None) -> None:
    """The delay of our own group counts, as a number of seconds and never longer than half a minute."""
    assert group_for(text, "Leadline").crawl_delay_s == delay


def test_what_an_answer_means() -> None:
    """A file forbids what it says, a missing one nothing, one that cannot be had everything."""
    meanings = {status: meaning_of(status) for status in (200, 204, 301, 401, 403, 404, 410, 429, 500, 503, None)}
    assert [s for s, m in meanings.items() if m is Meaning.CLOSED] == [429, 500, 503, None]
    assert [s for s, m in meanings.items() if m is Meaning.RULES] == [200, 204]


@pytest.mark.skipif(not LISTS.exists(), reason="needs the published lists of cases (LEADLINE_TEST_DATA)")
class TestPublishedCases:
    """Suites that others publish, where they are at hand."""

    def test_uncontested_cases(self) -> None:
        """At least 99 of 100 of those that all parsers are to agree on."""
        rows = [json.loads(line) for line in (LISTS / "robots_cases.jsonl").read_text(encoding="utf-8").splitlines()]
        agreed = [r for r in rows if r["protego_agrees"] and not r["google_specific"]]
        right = [r for r in agreed if judged(r) == r["allowed"]]
        assert len(right) >= 0.99 * len(agreed), [r["id"] for r in agreed if r not in right]

    def test_published_delays(self) -> None:
        """Every delay is that of the suite, capped as ours are."""
        path = LISTS / "robots_crawl_delay_sitemap_cases.jsonl"
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        asked = [r for r in rows if r["fn"] == "getCrawlDelay" and r["args"]]
        assert [group_for(r["robots"], r["args"][0]).crawl_delay_s for r in asked] == [r["expected"] for r in asked]

    def test_real_files(self) -> None:
        """Files of real sites are all read."""
        with tarfile.open(LISTS / "real_robots_sample.tar.gz") as archive:
            bodies = [f.read() for m in archive if m.isfile() and (f := archive.extractfile(m))]
        for body in bodies:
            RobotsRules(body, "Leadline").allows(parse_url("http://a.test/page?q=1"))
        assert len(bodies) > 200


def judged(row: dict[str, str]) -> bool:
    """Judge a published case, whose addresses may be paths alone."""
    rules = RobotsRules(row["robots"].encode("utf-8", "surrogatepass"), row["agent"])
    return "robots.txt" in row["url"] or rules.allows_target(row["url"].encode("utf-8", "replace").decode())


@pytest.mark.parametrize(
    ("body", "agent", "allowed"),
    [
        ("User-agent: *\nNo-such-field: /a\nUser-agent: other\nDisallow: /", "leadline", True),
        ("User-agent: leadline\nClean-param: x\n\nUser-agent: other\nDisallow: /", "leadline", True),
        ("User-agent: *\nSitemap: http://a.test/s.xml\nUser-agent: other\nDisallow: /", "leadline", False),
        ("User-agent: *\nDisallow: /\nUser-agent: ünibot\nAllow: /", "ünibot", True),
        ("User-agent: *\nAllow: /\nUser-agent: робот\nDisallow: /", "робот", False),
        ("User-agent: *\nAllow: /\nUser-agent: робот\nDisallow: /", "leadline", True),
        ("User-agent: *\nDisallow everything that is private\nDisallow: /private", "leadline", True),
        ("User-agent: *\nDisallow /", "leadline", False),
    ],
)
def test_groups_end_and_agents_are_named_as_protego_reads_them(body: str, agent: str, allowed: bool) -> None:
    """Fields that are not known, names in any script, and prose without a colon."""
    url = parse_url("http://a.test/page")
    assert RobotsRules(body.encode(), agent).allows(url) is allowed
