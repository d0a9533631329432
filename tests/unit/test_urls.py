"""Addresses of the web: what is refused, how references resolve, one canonical form, domains and sites."""

import json
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.errors import NotAllowed
from shared.domain.urls import (
    MAX_URL_CHARS,
    canonical_url,
    domain_allowed,
    host_name,
    is_private_name,
    parse_url,
    resolve,
    within,
)
from shared.guards.sites import site_key
from tests.conftest import TEST_DATA

LISTS = TEST_DATA / "lists" / "url"

REFUSED = {
    "file:///etc/passwd": "url_scheme",
    "javascript:alert(1)": "url_scheme",
    "//good.test/": "url_scheme",
    "good.test/page": "url_scheme",
    "http:///path": "url_host_missing",
    "http:good.test": "url_host_missing",
    "http://user@good.test/": "url_userinfo",
    "http://good.test@127.0.0.1/": "url_userinfo",
    "http://good.test\\@127.0.0.1/": "url_backslash",
    "http://good.test/a\\b": "url_backslash",
    "http://127%2e0%2e0%2e1/": "url_host_escape",
    "http://good.test:99999/": "url_port",
    "http://good.test:0/": "url_port",
    "http://good.test:8o/": "url_port",
    "http://2130706433/": "url_ip_form",
    "http://0x7f000001/": "url_ip_form",
    "http://127.1/": "url_ip_form",
    "http://0177.0.0.1/": "url_ip_form",
    "http://127.0.0.01/": "url_ip_form",
    "http://good.test.1/": "url_ip_form",
    "http://[::1/": "url_host",
    "http://[fe80::1%25lo]/": "url_host_escape",
    "http://[::1]x/": "url_host",
    "http://good..test/": "url_host",
    "http://-good.test/": "url_host",
    "http://good test/": "url_host",
    "http://xn--a-ecp.ru.xn--zzzzzz-/": "url_host",
    "http://good.test/\r\nHost: evil.test": "url_control_character",
    "http://127.0.0.1\x00.good.test/": "url_control_character",
    "http://good.test/\ud800": "url_control_character",
    "http://good.test/" + "a" * 9000: "url_too_long",
    "http://good.test/" + "é" * 1000: "url_too_long",
}


@pytest.mark.parametrize(("text", "code"), REFUSED.items())
def test_what_is_no_plain_address_is_refused(text: str, code: str) -> None:
    """Each kind of trick has a name."""
    with pytest.raises(NotAllowed) as caught:
        parse_url(text)
    assert caught.value.code == code


FORMS = {
    "  HTTP://Good.Test:80  ": "http://good.test/",
    "https://good.test:443/a/../b/./c": "https://good.test/b/c",
    "https://good.test.:8443/": "https://good.test:8443/",
    "http://good.test/%7euser/%e2%82%ac?q=%2f#part": "http://good.test/~user/%E2%82%AC?q=%2F",
    'http://good.test/a b|c[d]?e="f"': "http://good.test/a%20b%7Cc%5Bd%5D?e=%22f%22",
    "http://good.test/100%": "http://good.test/100%25",
    "http://good.test?": "http://good.test/",
    "http://good.test/%2e%2e/x": "http://good.test/x",
    "http://good.test/a//b/": "http://good.test/a//b/",
    "http://bücher.test/ü": "http://xn--bcher-kva.test/%C3%BC",
    "http://１２７．０．０．１/": "http://127.0.0.1/",
    "http://[2001:DB8:0::1]:81/": "http://[2001:db8::1]:81/",
    "http://under_score.good.test/": "http://under_score.good.test/",
    "http://good.test/?a\\b": "http://good.test/?a%5Cb",
}


@pytest.mark.parametrize(("text", "form"), FORMS.items())
def test_addresses_come_into_normal_form(text: str, form: str) -> None:
    """Case, default ports, dot segments, escapes and names beyond ASCII have one spelling each."""
    assert str(parse_url(text)) == form
    assert str(parse_url(form)) == form


CANONICAL = {
    "http://good.test/p?utm_source=x&id=7&UTM_Medium=y&b=2&a=1&fbclid=z": "http://good.test/p?id=7&b=2&a=1",
    "http://good.test/p?utm%5Fsource=x": "http://good.test/p",
    "http://good.test/p?gclid": "http://good.test/p",
    "http://good.test/p?ref=12&source=x&utm=1": "http://good.test/p?ref=12&source=x&utm=1",
    "http://good.test/p?a=1&a=2&&b": "http://good.test/p?a=1&a=2&&b",
    "HTTP://good.test:80/p#utm_source=x": "http://good.test/p",
}


@pytest.mark.parametrize(("text", "canonical"), CANONICAL.items())
def test_tracking_is_dropped_and_meaning_kept(text: str, canonical: str) -> None:
    """Parameters that only tell where a visitor came from go; all others stay, in their order."""
    assert canonical_url(text) == canonical


_TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=40)


@given(st.sampled_from(["http://good.test", "https://a.b.test:81"]), _TEXT, _TEXT)
def test_a_canonical_address_is_its_own_canonical_form(origin: str, path: str, query: str) -> None:
    """Applied twice it changes nothing, whatever stands in path and query."""
    text = f"{origin}/{path}?{query}"
    try:
        once = canonical_url(text)
    except NotAllowed:
        return
    assert canonical_url(once) == once
    assert once.isascii()
    assert not re.search(r"[\s\"<>\\^`{|}]", once)


@given(_TEXT)
def test_any_text_is_read_or_refused(text: str) -> None:
    """Nothing but a refusal ever comes out, and what is read stays below the limit."""
    base = parse_url("http://good.test/a")
    assert outcome(lambda: str(parse_url(text))).startswith(("http", "url_"))
    assert outcome(lambda: str(resolve(base, text))).startswith(("http", "url_"))


def outcome(read: Callable[[], str]) -> str:
    """Return what a reading gave: the address, or the code of its refusal."""
    try:
        found = read()
    except NotAllowed as error:
        return error.code
    return found if len(found) <= MAX_URL_CHARS else "too long"


RESOLVED = {
    "c": "http://good.test/dir/c",
    "/fine": "http://good.test/fine",
    "//other.test/x": "http://other.test/x",
    "?q=2": "http://good.test/dir/page?q=2",
    "#part": "http://good.test/dir/page?q=1",
    "": "http://good.test/dir/page?q=1",
    "../../../up": "http://good.test/up",
    " https://other.test/a ": "https://other.test/a",
    "http:sub": "http://good.test/dir/sub",
    "a\n b": "http://good.test/dir/a%20b",
    "a:b": None,
    "mailto:x@y.test": None,
    "http://[broken": None,
}


@pytest.mark.parametrize(("reference", "url"), RESOLVED.items())
def test_references_resolve_against_their_page(reference: str, url: str | None) -> None:
    """Relative references follow RFC 3986; what leads to no web page is refused and not raised as anything else."""
    base = parse_url("http://good.test/dir/page?q=1#old")
    if url is None:
        with pytest.raises(NotAllowed):
            resolve(base, reference)
    else:
        assert str(resolve(base, reference)) == url


def test_domains_include_what_lies_below_them() -> None:
    """A domain stands for itself and its subdomains, never for a name that only ends alike; excluding wins."""
    assert within("a.example.org", ["example.org"])
    assert not within("badexample.org", ["example.org"])
    assert domain_allowed("x.test", (), ())
    assert not domain_allowed("x.test", ("example.org",), ())
    assert domain_allowed("www.example.org", ("example.org",), ("shop.example.org",))
    assert not domain_allowed("a.shop.example.org", ("example.org",), ("shop.example.org",))


def test_domains_are_read_as_people_write_them() -> None:
    """Case, a leading star or dot and letters beyond ASCII are understood; an address is not a domain."""
    assert [host_name(t) for t in ("Example.org", "*.example.org", ".example.org.", "bücher.test")] == [
        "example.org",
        "example.org",
        "example.org",
        "xn--bcher-kva.test",
    ]
    for wrong in ("http://example.org", "example.org:80", "a b", "", "me@example.org"):
        with pytest.raises(NotAllowed):
            host_name(wrong)


@pytest.mark.parametrize("host", ["localhost", "redis", "a.localhost", "printer.local", "metadata.google.internal"])
def test_private_names_are_known(host: str) -> None:
    """Names that mean something on a private network only."""
    assert is_private_name(host)
    assert not is_private_name(f"{host}.example.org")
    assert not is_private_name("10.0.0.1")


SITES = {
    "www.bbc.co.uk": "bbc.co.uk",
    "a.b.example.org": "example.org",
    "someone.github.io": "someone.github.io",
    "a.someone.github.io": "someone.github.io",
    "github.io": "github.io",
    "127.0.0.1": "127.0.0.1",
    "2001:db8::1": "2001:db8::1",
    "a.b.farm.test": "farm.test",
    "localhost": "localhost",
    "xn--85x722f.com.cn": "xn--85x722f.com.cn",
}


@pytest.mark.parametrize(("host", "site"), SITES.items())
def test_sites_are_registrable_domains(host: str, site: str) -> None:
    """Private suffixes separate sites; addresses and suffixes stand for themselves."""
    assert site_key(host) == site


@pytest.mark.skipif(not LISTS.exists(), reason="needs the published lists of cases (LEADLINE_TEST_DATA)")
class TestPublishedCases:
    """Suites that others publish, where they are at hand."""

    def test_rfc_3986_resolution(self) -> None:
        """All examples of section 5.4."""
        cases = json.loads((LISTS / "rfc3986_5_4_reference_resolution.json").read_text())
        base = parse_url(cases["base"])
        for reference, wanted in cases["cases"]:
            assert str(resolve(base, reference)) == str(parse_url(wanted)), reference

    def test_web_platform_failures(self) -> None:
        """Whatever the URL Standard's suite refuses is refused."""
        rows = [r for r in json.loads((LISTS / "urltestdata.json").read_text()) if isinstance(r, dict)]
        failures = [r for r in rows if r.get("failure")]
        assert failures
        for row in failures:
            with pytest.raises(NotAllowed):
                read(row)

    def test_public_suffixes(self) -> None:
        """The list's own checks, as far as their names are host names."""
        for line in (LISTS / "test_psl.txt").read_text(encoding="utf-8").splitlines():
            match = re.match(r"checkPublicSuffix\('?(.*?)'?, '?(.*?)'?\);", line)
            if match and match[1] != "null" and not match[1].startswith("."):
                host = host_name(match[1])
                assert site_key(host) == (host if match[2] == "null" else host_name(match[2])), match[1]


def read(row: dict[str, str]) -> None:
    """Read a row of the suite as a browser would."""
    base = row.get("base")
    if base and base != "about:blank":
        resolve(parse_url(base), row["input"])
    else:
        parse_url(row["input"])
