"""Which addresses may be connected to: by block, in every spelling, with what the operator opened."""

import json
from ipaddress import IPv4Address, IPv6Address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.errors import NotAllowed
from shared.domain.urls import parse_url
from shared.guards.addresses import Allowance, judge_address, parse_networks
from tests.conftest import TEST_DATA

CASES = TEST_DATA / "lists" / "ssrf" / "ssrf_cases.jsonl"

JUDGED = {
    "127.0.0.1": "ip_loopback",
    "127.255.255.254": "ip_loopback",
    "::1": "ip_loopback",
    "0.0.0.0": "ip_unspecified",
    "::": "ip_unspecified",
    "10.255.0.1": "ip_private",
    "172.31.0.1": "ip_private",
    "192.168.1.1": "ip_private",
    "fd12::1": "ip_private",
    "fec0::1": "ip_private",
    "100.64.0.1": "ip_shared",
    "169.254.1.1": "ip_link_local",
    "169.254.169.254": "ip_metadata",
    "100.100.100.200": "ip_metadata",
    "fd00:ec2::254": "ip_metadata",
    "fe80::1": "ip_link_local",
    "fe80::1%eth0": "ip_link_local",
    "224.0.0.1": "ip_multicast",
    "ff02::1": "ip_multicast",
    "255.255.255.255": "ip_reserved",
    "192.88.99.1": "ip_reserved",
    "198.18.0.1": "ip_benchmark",
    "203.0.113.5": "ip_documentation",
    "2001:db8::1": "ip_documentation",
    "3fff::1": "ip_documentation",
    "::ffff:93.184.216.34": "ip_embedded",
    "::ffff:127.0.0.1": "ip_embedded",
    "::ffff:0:127.0.0.1": "ip_embedded",
    "::127.0.0.1": "ip_embedded",
    "64:ff9b::7f00:1": "ip_embedded",
    "64:ff9b:1::1": "ip_embedded",
    "2002:7f00:1::1": "ip_embedded",
    "2001:0:7f00:1::": "ip_embedded",
    "2001:20::1": "ip_reserved",
    "4000::1": "ip_reserved",
    "no address": "ip_malformed",
    "93.184.216.34": None,
    "172.32.0.1": None,
    "192.0.1.1": None,
    "2606:2800:220:1::1": None,
}


@pytest.mark.parametrize(("address", "code"), JUDGED.items())
def test_addresses_are_judged_by_block(address: str, code: str | None) -> None:
    """Every kind of address that leads inside has a name, and what is public passes."""
    assert judge_address(address) == code


@given(st.integers(0, 2**128 - 1))
def test_nothing_outside_global_unicast_passes(number: int) -> None:
    """Whatever passes in IPv6 lies in 2000::/3 and is no IPv4 address in another form."""
    ip = IPv6Address(number)
    if judge_address(ip) is None:
        assert ip in ip_network("2000::/3")
        assert ip.ipv4_mapped is None
        assert ip.sixtofour is None
        assert ip.teredo is None


@given(st.integers(0, 2**32 - 1))
def test_what_python_calls_private_never_passes(number: int) -> None:
    """The standard library's own opinion is a lower bound."""
    ip = IPv4Address(number)
    if judge_address(ip) is None:
        assert ip.is_global
        assert not ip.is_multicast


def test_an_operator_opens_networks_and_nothing_more() -> None:
    """What was opened passes on any port; a mapped form of it does not, and the rest stays as it was."""
    opened = Allowance(parse_networks("127.0.0.1, 10.1.0.0/16,"))
    opened.judge_url(parse_url("http://127.0.0.1:8080/"))
    opened.judge_url(parse_url("http://wiki:8080/"))
    opened.judge_endpoint(parse_url("http://wiki:8080/"), "10.1.2.3")
    for address in ("127.0.0.2", "10.2.0.1", "169.254.169.254", "::ffff:10.1.2.3"):
        with pytest.raises(NotAllowed, match="ip_"):
            opened.judge_endpoint(parse_url("http://wiki/"), address)
    with pytest.raises(NotAllowed, match="port_forbidden"):
        opened.judge_endpoint(parse_url("http://public.test:8080/"), "93.184.216.34")


def test_networks_that_are_none_are_refused() -> None:
    """A typing slip is told and not taken for something else."""
    for wrong in ("localhost", "10.0.0.1/8", "10.0.0.0/33"):
        with pytest.raises(ValueError, match=r".+"):
            parse_networks(wrong)


def test_an_endpoint_is_a_host_with_its_port() -> None:
    """What is allowed for a provider is its own host and port only."""
    opened = Allowance(endpoints=frozenset({("localhost", 8888)}))
    opened.judge_url(parse_url("http://localhost:8888/search"))
    opened.judge_endpoint(parse_url("http://localhost:8888/search"), "127.0.0.1")
    for url in ("http://localhost:8889/", "http://127.0.0.1:8888/", "http://localhost/"):
        with pytest.raises(NotAllowed):
            opened.judge_url(parse_url(url))


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.5", "fd12::1", "100.64.0.1", "93.184.216.34"])
def test_an_endpoint_may_stand_inside(address: str) -> None:
    """An operator's own machine is where the operator says."""
    Allowance(endpoints=frozenset({("engine.test", 8888)})).judge_endpoint(
        parse_url("http://engine.test:8888/"), address
    )


@pytest.mark.parametrize(
    "address",
    ["169.254.169.254", "169.254.1.1", "fd00:ec2::254", "224.0.0.1", "0.0.0.0", "::ffff:10.0.0.1", "nonsense"],
)
def test_an_endpoint_is_no_metadata_service(address: str) -> None:
    """Whatever the name of an endpoint leads to, these are never connected to."""
    opened = Allowance(endpoints=frozenset({("engine.test", 8888)}))
    with pytest.raises(NotAllowed, match="ip_"):
        opened.judge_endpoint(parse_url("http://engine.test:8888/"), address)


@pytest.mark.skipif(not CASES.exists(), reason="needs the published lists of cases (LEADLINE_TEST_DATA)")
def test_published_tricks() -> None:
    """Everything that the lists say must be blocked is, without asking any name service; what is public passes."""
    rows = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    needs_a_name_service = ("nip.io", "localdomain.pw", "1u.ms", "r3dir.me")
    for row in rows:
        text = row["input"]
        if row["expect"] in ("block", "block_or_reject") and not any(n in text for n in needs_a_name_service):
            assert not passes(text, row["kind"]), row
        if row["expect"] == "allow":
            assert passes(f"http://[{text}]/" if text.count(":") > 1 else f"http://{text}/", "url"), row


def passes(text: str, kind: str) -> bool:
    """Tell whether an input would be let through before any name is looked up."""
    if kind == "ip":
        return judge_address(text) is None
    try:
        Allowance().judge_url(parse_url(text))
    except NotAllowed:
        return False
    return True
