"""`leadline inspect` line by line: duplicates, addresses, robots.txt; one line out for each line in."""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from services.extractor.inspect import inspect_duplicates
from services.fetcher.inspect import inspect_addresses, inspect_robots, inspect_urls

Inspect = Callable[[Iterable[str]], Iterator[str]]


def ask(inspect: Inspect, *rows: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the answers to rows."""
    return [json.loads(line) for line in inspect(json.dumps(row) for row in rows)]


def test_copies_share_a_cluster() -> None:
    """Named after the smallest id, in the order of the lines; one canonical address makes one page."""
    text = " ".join(f"word{number}" for number in range(200))
    rows = [
        {"id": "b", "text": text},
        {"id": "a", "text": f"Menu. {text} Imprint."},
        {"id": 7, "text": "else", "url": "http://a.test/?utm_source=x"},
        {"id": 8, "text": "entirely other words", "url": "http://a.test/"},
        {"id": "c", "text": ""},
    ]
    answers = ask(inspect_duplicates, *rows)
    assert [answer["id"] for answer in answers] == ["b", "a", 7, 8, "c"]
    assert [answer["cluster"] for answer in answers] == ["a", "a", 7, 7, "c"]


def test_two_lines_of_one_id_stay_two() -> None:
    """Each has its answer; they are one only if their texts are."""
    answers = ask(inspect_duplicates, {"id": "x", "text": "one two three"}, {"id": "x", "text": "four five"})
    assert [answer["cluster"] for answer in answers] == ["x", "x"]


def test_much_text_is_sketched_in_several_processes() -> None:
    """The clusters are the same."""
    texts = [" ".join(f"w{seed}x{number}" for number in range(30_000)) for seed in range(25)]
    rows = [{"id": number, "text": text} for number, text in enumerate([*texts, texts[3]])]
    answers = ask(inspect_duplicates, *rows)
    assert answers[-1] == {"id": 25, "cluster": 25 if "25" < "3" else 3}
    assert len({answer["cluster"] for answer in answers}) == 25


def test_addresses_are_read_and_resolved() -> None:
    """Canonical form and site, or the code of what is wrong."""
    answers = ask(
        inspect_urls,
        {"input": "HTTP://Www.Example.org:80/a/../b?utm_source=x&q=1#top"},
        {"input": "../c", "base": "http://a.github.io/x/y/z"},
        {"input": "ftp://a.test/"},
        {"input": "c", "base": "no address"},
    )
    assert answers[0]["canonical"] == "http://www.example.org/b?q=1"
    assert [answer["site_key"] for answer in answers] == ["example.org", "a.github.io", None, None]
    assert [answer["error"] for answer in answers] == [None, None, "url_scheme", "url_scheme"]


def test_robots_are_asked() -> None:
    """By address or by path; robots.txt itself may always be read."""
    rules = "User-agent: *\nDisallow: /x\n"
    urls = ("http://a.test/x/1", "/x", "/y", "http://a.test/robots.txt")
    answers = ask(inspect_robots, *({"robots": rules, "agent": "Leadline", "url": url} for url in urls))
    assert [answer["allowed"] for answer in answers] == [False, False, True, True]
    closed = ask(
        inspect_robots, {"robots": "User-agent: *\nDisallow: /", "agent": "L", "url": "http://a.test/robots.txt"}
    )
    assert closed == [{"allowed": True}]


@pytest.mark.parametrize(
    ("given", "leads_to", "code"),
    [
        ("8.8.8.8", None, None),
        ("2606:2800:220:1::1", None, None),
        ("10.0.0.1", None, "ip_private"),
        ("http://0x7f.1/", None, "url_ip_form"),
        ("http://a.test@127.0.0.1/", None, "url_userinfo"),
        ("localhost", None, "host_private"),
        ("a.example.org", None, None),
        ("a.example.org:8080", None, "port_forbidden"),
        ("//a.example.org/x", ["93.184.216.34"], None),
        ("http://a.example.org/", ["93.184.216.34", "127.0.0.1"], "ip_loopback"),
        ("http://a.example.org/", ["nonsense"], "ip_malformed"),
    ],
)
def test_addresses_are_judged(given: str, leads_to: list[str] | None, code: str | None) -> None:
    """An address, a host or a URL, with what its name leads to; nothing is looked up."""
    row = {"input": given} if leads_to is None else {"input": given, "resolves_to": leads_to}
    assert ask(inspect_addresses, row) == [{"verdict": "allow" if code is None else "block", "code": code}]


@pytest.mark.parametrize("inspect", [inspect_duplicates, inspect_urls, inspect_robots, inspect_addresses])
def test_a_line_that_cannot_be_read_has_its_line(inspect: Inspect) -> None:
    """No JSON, no object, no such field, too deep: each gives status and reason in its place."""
    wrong = ["", "nope", "[]", "{}", '{"id": 1}', "[" * 100_000, '{"id": true, "text": "", "input": 7}']
    answers = [json.loads(line) for line in inspect(wrong)]
    assert len(answers) == len(wrong)
    assert all(answer["status"] == "invalid" and answer["reason"].endswith(".") for answer in answers)
