"""The one way out, against a real site on loopback: what is refused by name, and what every limit does."""

import gzip
import socket
import threading
import time
import zlib
from collections.abc import Iterator
from ipaddress import ip_network

import brotli
import pytest
from backports import zstd

from services.fetcher.net.messages import Fetched, FetchLimits, FetchRequest, OpenGate
from services.fetcher.net.resolver import parse_hosts, system_resolver, table_resolver
from services.fetcher.web import WayOut, fetch, user_agent
from shared.domain.errors import LimitExceeded, NotAllowed, Permanent, StepError, Transient
from shared.domain.urls import Url, parse_url
from shared.guards.addresses import Allowance
from tests.support.certificates import Authority
from tests.support.site import Handler, Reply, Site, running_site

HOST = "good.test"


@pytest.fixture
def site() -> Iterator[Site]:
    """A site on 127.0.0.1."""
    with running_site() as made:
        made.answer(HOST, "/", "home")
        yield made


class Resolver:
    """A name service for tests: answers by name, counted; the last of several answers is repeated."""

    def __init__(self, **zone: list[list[str]]) -> None:
        self.zone = {name.replace("_", "."): answers for name, answers in zone.items()}
        self.asked: list[str] = []

    def __call__(self, host: str, timeout_s: float) -> list[str]:
        """Answer."""
        self.asked.append(host)
        if host not in self.zone:
            raise Permanent("dns_unknown_host", f"There is no host {host}.")
        answers = self.zone[host]
        return answers.pop(0) if len(answers) > 1 else answers[0]


def way(site: Site | None = None, resolver: Resolver | None = None, opened: str = "127.0.0.1/32") -> WayOut:
    """Return a way out on which only the site's address is opened."""
    zone = Resolver()
    zone.zone = {host: [["127.0.0.1"]] for host in (site.hosts if site else {HOST})}
    networks = (ip_network(opened),) if opened else ()
    return WayOut(Allowance(networks), resolver or zone, user_agent=user_agent("0.1.0", "https://example.org/about"))


def get(url: str, out: WayOut, **limits: float) -> Fetched:
    """Fetch through an open gate."""
    return fetch(FetchRequest(parse_url(url), limits=FetchLimits(**limits)), OpenGate(), out)  # type: ignore[arg-type]


def refusal(url: str, out: WayOut, **limits: float) -> StepError:
    """Return the error that a fetch ends in."""
    with pytest.raises(StepError) as caught:
        get(url, out, **limits)
    return caught.value


def test_a_page_is_fetched_under_its_own_name(site: Site) -> None:
    """The site sees the name as Host and an honest user agent, although the address came from the resolver."""
    fetched = get(site.url(HOST), way(site))
    assert (fetched.status, fetched.body, fetched.ok) == (200, b"home", True)
    assert [(v.host, v.agent) for v in site.visits()] == [(HOST, "Leadline/0.1 (+https://example.org/about)")]


def test_names_are_sent_in_punycode(site: Site) -> None:
    """A name beyond ASCII is resolved and sent in its ASCII form."""
    site.answer("xn--bcher-kva.test", "/", "Bücher")
    assert get(f"http://bücher.test:{site.port}/", way(site)).body.decode() == "Bücher"
    assert site.visits()[-1].host == "xn--bcher-kva.test"


REFUSED = {
    "http://127.0.0.1/": "ip_loopback",
    "http://127.250.9.9/": "ip_loopback",
    "http://169.254.169.254/latest/meta-data/": "ip_metadata",
    "http://192.168.0.1/": "ip_private",
    "http://100.64.0.1/": "ip_shared",
    "http://[::1]/": "ip_loopback",
    "http://[::ffff:127.0.0.1]/": "ip_embedded",
    "http://[64:ff9b::7f00:1]/": "ip_embedded",
    "http://[fd00:ec2::254]/": "ip_metadata",
    "http://localhost/": "host_private",
    "http://redis:6379/": "host_private",
    "http://metadata.google.internal/": "host_private",
    "http://good.test:6379/": "port_forbidden",
}


@pytest.mark.parametrize(("url", "code"), REFUSED.items())
def test_dangerous_addresses_are_refused_by_name(url: str, code: str) -> None:
    """Nothing is resolved or connected to, and the code says which rule it was."""
    resolver = Resolver(good_test=[["93.184.216.34"]])
    error = refusal(url, way(resolver=resolver, opened=""))
    assert (type(error), error.code) == (NotAllowed, code)
    assert resolver.asked == []


FORBIDDEN = (
    "10.0.0.5 169.254.169.254 ::ffff:127.0.0.1 64:ff9b::7f00:1 fd00::1 100.100.1.1 0.0.0.0 fec0::1 ::127.0.0.1 "
    "2002:7f00:1::1 fe80::1%lo"
)


@pytest.mark.parametrize("address", FORBIDDEN.split())
def test_names_that_lead_into_forbidden_space_are_refused(address: str) -> None:
    """A name is judged by every address it has; one bad one refuses it, whichever comes first."""
    for answer in ([address], ["93.184.216.34", address], [address, "93.184.216.34"]):
        error = refusal("http://good.test/", way(resolver=Resolver(good_test=[answer]), opened=""))
        assert isinstance(error, NotAllowed)
        assert error.code.startswith("ip_")


def test_a_name_that_changes_its_mind_is_judged_each_time(site: Site) -> None:
    """Each hop resolves once and connects to what was judged; a later answer that is forbidden is refused."""
    site.redirect("rebind.test", "/", "/again")
    resolver = Resolver(rebind_test=[["127.0.0.1"], ["127.0.0.2"]])
    error = refusal(site.url("rebind.test"), way(resolver=resolver))
    assert error.code == "ip_loopback"
    assert resolver.asked == ["rebind.test", "rebind.test"]
    assert site.paths() == ["/"]


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ("http://169.254.169.254/", "ip_metadata"),
        ("http://127.0.0.2/", "ip_loopback"),
        ("//127.0.0.2/", "ip_loopback"),
        ("http://2130706433/", "url_ip_form"),
        ("http://0x7f.1/", "url_ip_form"),
        ("file:///etc/passwd", "url_scheme"),
        ("gopher://127.0.0.1:6379/_FLUSHALL", "url_scheme"),
        ("http://user:secret@good.test/", "url_userinfo"),
        ("http://private.test/", "ip_private"),
    ],
)
def test_redirects_into_forbidden_space_are_refused(site: Site, target: str, code: str) -> None:
    """A redirect is judged like any other address."""
    url = site.redirect(HOST, "/away", target)
    resolver = Resolver(good_test=[["127.0.0.1"]], private_test=[["10.0.0.1"]])
    error = refusal(url, way(resolver=resolver))
    assert (isinstance(error, NotAllowed), error.code) == (True, code)


def test_redirects_are_followed_by_hand(site: Site) -> None:
    """The hops are told in order, and a body that comes with a redirect is never read."""
    packed = gzip.compress(b"\0" * (50 << 20))
    bomb = {"Location": "/end?x=1#part", "Content-Encoding": "gzip"}
    start = site.answer(HOST, "/start", Reply(packed, 301, bomb))
    site.answer(HOST, "/end", "here")
    fetched = get(start, way(site))
    assert fetched.body == b"here"
    assert [str(url) for url in fetched.hops] == [start, site.url(HOST, "/end?x=1")]


@pytest.mark.parametrize(
    ("location", "path"), [("/doc/مرفأ", "/doc/%D9%85%D8%B1%D9%81%D8%A3"), (b"/caf\xe9", "/caf%E9")]
)
def test_raw_bytes_in_a_location_are_asked_for_as_sent(site: Site, location: str | bytes, path: str) -> None:
    """Bytes beyond ASCII are escaped one by one, whatever encoding they are in."""
    raw = location.encode() if isinstance(location, str) else location

    def answer(handler: Handler) -> None:
        handler.wfile.write(b"HTTP/1.1 302 Found\r\nLocation: " + raw + b"\r\nContent-Length: 0\r\n\r\n")

    get(site.answer(HOST, "/odd", Reply(raw=answer)), way(site))
    assert site.paths()[-1] == path


def test_redirects_that_go_nowhere_end(site: Site) -> None:
    """A loop, a chain that is too long and a redirect without a target each have a name."""
    loop = site.redirect(HOST, "/loop", "/loop")
    for n in range(9):
        site.redirect(HOST, f"/chain{n}", f"/chain{n + 1}")
    nowhere = site.answer(HOST, "/nowhere", Reply(status=302))
    assert refusal(loop, way(site)).code == "redirect_loop"
    assert refusal(site.url(HOST, "/chain0"), way(site)).code == "redirect_too_many"
    assert refusal(nowhere, way(site)).code == "redirect_without_location"
    assert len([p for p in site.paths() if p.startswith("/chain")]) == 6


def packed(data: bytes, coding: str, **more: str) -> Reply:
    """Return a reply with a coded body."""
    return Reply(data, headers={"Content-Encoding": coding, **more})


def test_packed_bodies_are_unpacked(site: Site) -> None:
    """gzip and zstd of one and several members, zlib, raw deflate and brotli all give the text."""
    text = b"Depth 14.2 m. " * 50
    raw = zlib.compressobj(wbits=-15)
    forms = {
        "/gzip": packed(gzip.compress(text), "gzip"),
        "/members": packed(gzip.compress(text[:70]) + gzip.compress(text[70:]), "x-gzip"),
        "/padded": packed(gzip.compress(text) + b"\0" * 40, "gzip"),
        "/zlib": packed(zlib.compress(text), "deflate"),
        "/raw": packed(raw.compress(text) + raw.flush(), "deflate"),
        "/empty": packed(b"", "gzip"),
        "/brotli": packed(brotli.compress(text), "br"),
        "/zstd": packed(zstd.compress(text), "zstd"),
        "/frames": packed(zstd.compress(text[:70]) + zstd.compress(text[70:]), "zstd"),
    }
    for path, reply in forms.items():
        assert get(site.answer(HOST, path, reply), way(site)).body == (b"" if path == "/empty" else text)


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (packed(gzip.compress(gzip.compress(b"x")), "gzip, gzip"), "encoding_chain"),
        (packed(b"\x0b", "compress"), "encoding_unknown"),
        (packed(b"\x0b", "br"), "encoding_corrupt"),
        (packed(b"<p>not packed at all", "br"), "encoding_corrupt"),
        (packed(b"<p>not packed at all", "zstd"), "encoding_corrupt"),
        (packed(zstd.compress(b"depth" * 1000)[:-5], "zstd"), "encoding_corrupt"),
        (packed(brotli.compress(b"depth" * 1000)[:-3], "br"), "encoding_corrupt"),
        (packed(b"<p>not packed at all", "gzip"), "encoding_corrupt"),
        (packed(gzip.compress(b"depth" * 1000)[:-12], "gzip"), "encoding_corrupt"),
    ],
)
def test_bodies_that_cannot_be_unpacked_are_told(site: Site, reply: Reply, code: str) -> None:
    """No error of the decoder ever comes through."""
    error = refusal(site.answer(HOST, "/x", reply), way(site))
    assert (type(error), error.code) == (Permanent, code)


def gzip_of_zeros(megabytes: int) -> bytes:
    """Return zeros as one member of gzip."""
    maker = zlib.compressobj(9, wbits=31)
    return b"".join(maker.compress(b"\0" * (1 << 20)) for _ in range(megabytes)) + maker.flush()


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_a_bomb_is_stopped_early(site: Site, coding: str) -> None:
    """A body of 300 MB in a few KB is refused by its ratio after a fraction of it, in every coding."""
    zeros = b"\0" * (300 << 20)
    bombs = {
        "gzip": lambda: gzip_of_zeros(300),
        "deflate": lambda: zlib.compress(zeros, 9),
        "br": lambda: brotli.compress(zeros, quality=3),
        "zstd": lambda: zstd.compress(zeros),
    }
    error = refusal(site.answer(HOST, "/bomb", packed(bombs[coding](), coding)), way(site))
    assert (type(error), error.code) == (LimitExceeded, "inflate_ratio")


def endless(handler: Handler) -> None:
    """Send a body without end."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
    while not handler.server.site.closing.is_set():
        handler.wfile.write(b"A" * 65536)


def test_a_body_may_have_only_so_many_bytes(site: Site) -> None:
    """A body without end is refused at the limit, or cut there when the start is enough."""
    url = parse_url(site.answer(HOST, "/endless", Reply(raw=endless)))
    limits = FetchLimits(body_bytes=200_000)
    with pytest.raises(LimitExceeded, match="body_too_large"):
        fetch(FetchRequest(url, limits=limits), OpenGate(), way(site))
    fetched = fetch(FetchRequest(url, limits=limits, cut=True), OpenGate(), way(site))
    assert (fetched.cut, len(fetched.body)) == (True, 200_000)


def drip(begin: bytes, pace_s: float = 0.02) -> Reply:
    """Return a reply that sends its beginning and then one byte at a time."""

    def send(handler: Handler) -> None:
        handler.wfile.write(begin)
        while not handler.server.site.closing.wait(pace_s):
            handler.wfile.write(b"x")
            handler.wfile.flush()

    return Reply(raw=send)


@pytest.mark.parametrize(
    "begin", [b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", b"HTTP/1.1 200 OK\r\nX-Slow: "]
)
def test_slow_answers_end_at_the_total_deadline(site: Site, begin: bytes) -> None:
    """Single bytes, in the body or in the header, do not keep a fetch alive."""
    before = time.monotonic()
    error = refusal(site.answer(HOST, "/drip", drip(begin)), way(site), total_s=0.5)
    assert (type(error), error.code) == (LimitExceeded, "deadline")
    assert time.monotonic() - before < 30


def test_silence_ends_a_fetch(site: Site) -> None:
    """A site that says nothing is given up, and may be tried again."""
    url = site.answer(HOST, "/silent", drip(b"", pace_s=60))
    error = refusal(url, way(site), silence_s=0.2)
    assert (type(error), error.code) == (Transient, "timeout")


def headers(count: int, size: int = 1) -> Reply:
    """Return a reply with many headers or large ones."""
    lines = b"".join(b"X-%d: %s\r\n" % (n, b"a" * size) for n in range(count))
    return Reply(raw=lambda h: h.wfile.write(b"HTTP/1.1 200 OK\r\n" + lines + b"Content-Length: 1\r\n\r\nx") and None)


@pytest.mark.parametrize(("count", "size"), [(300, 1), (1, 70_000), (90, 2_000)])
def test_headers_have_limits(site: Site, count: int, size: int) -> None:
    """Too many lines, one that is too long and too many bytes in all are refused."""
    error = refusal(site.answer(HOST, "/headers", headers(count, size)), way(site))
    assert (type(error), error.code) == (LimitExceeded, "header_too_large")


def raw(data: bytes) -> Reply:
    """Return a reply of exactly these bytes."""
    return Reply(raw=lambda handler: handler.wfile.write(data) and None)


@pytest.mark.parametrize(
    ("data", "kind", "code"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nshort", Transient, "truncated"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", Transient, "truncated"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n", Transient, "truncated"),
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", Permanent, "bad_answer"),
        (b"", Transient, "connection_lost"),
        (b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: 9\r\n\r\n", Permanent, "unsupported_type"),
    ],
)
def test_broken_answers_have_names(site: Site, data: bytes, kind: type, code: str) -> None:
    """What breaks off may work again, what is no HTTP will not."""
    url = parse_url(site.answer(HOST, "/broken", raw(data)))
    with pytest.raises(StepError) as caught:
        fetch(FetchRequest(url, unwanted=("video/",)), OpenGate(), way(site))
    assert (type(caught.value), caught.value.code) == (kind, code)


def test_a_port_that_nobody_listens_on(site: Site) -> None:
    """A refused connection may be tried again."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        error = refusal(f"http://{HOST}:{probe.getsockname()[1]}/", way(site))
    assert (type(error), error.code) == (Transient, "connect_failed")


def test_tls_towards_a_port_that_speaks_none(site: Site) -> None:
    """An https address whose port answers in plain text is refused."""
    error = refusal(f"https://{HOST}:{site.port}/", way(site), silence_s=2, connect_s=2)
    assert error.code in ("tls_failed", "connection_lost", "timeout")


def test_no_proxy_is_ever_asked(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proxies of the environment are not looked at."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert get(site.url(HOST), way(site)).ok


class Recorder:
    """A gate that notes what passes it and refuses some hosts."""

    def __init__(self, *refused: str) -> None:
        self.refused, self.entered, self.left = refused, list[tuple[str, int]](), list[tuple[str, bool]]()

    def enter(self, url: Url, earlier: tuple[Url, ...]) -> None:
        """Note the hop, or refuse it."""
        if url.host in self.refused:
            raise NotAllowed("not_here", "This host is not asked.")
        self.entered.append((url.host, len(earlier)))

    def leave(self, url: Url, since_sent_s: float | None) -> None:
        """Note the end of the hop."""
        self.left.append((url.host, since_sent_s is not None and 0 <= since_sent_s < 5))


def test_every_hop_passes_the_gate(site: Site) -> None:
    """The gate hears of each hop before it begins and when it ends, and can refuse the next one."""
    start = site.redirect(HOST, "/on", site.url("other.test", "/"))
    gate = Recorder("other.test")
    with pytest.raises(NotAllowed, match="not_here"):
        fetch(FetchRequest(parse_url(start)), gate, way(site))
    assert (gate.entered, gate.left) == ([(HOST, 0)], [(HOST, True)])
    assert site.paths() == ["/on"]
    gone = Recorder()
    with pytest.raises(StepError):
        fetch(FetchRequest(parse_url("http://unknown.test/")), gone, way(site))
    assert gone.left == [("unknown.test", False)]


def test_a_fetch_goes_on_where_it_was_put_off(site: Site) -> None:
    """Hops that were followed before count, and lead to the same chain of addresses."""
    first, second = (parse_url(site.url(HOST, path)) for path in ("/on", "/"))
    fetched = fetch(FetchRequest(second, earlier=(first,)), OpenGate(), way(site))
    assert fetched.hops == (first, second)
    with pytest.raises(Permanent, match="redirect_loop"):
        fetch(FetchRequest(first, earlier=(first,)), OpenGate(), way(site))


def test_an_operators_endpoint_is_reached_whatever_its_address(site: Site) -> None:
    """One host and port that the operator named is allowed, and nothing beside it."""
    out = WayOut(Allowance(endpoints=frozenset({("localhost", site.port)})), Resolver(localhost=[["127.0.0.1"]]))
    site.answer("localhost", "/", "engine")
    assert get(f"http://localhost:{site.port}/", out).body == b"engine"
    assert refusal(f"http://localhost:{site.port + 1}/", out).code == "host_private"


def test_the_systems_resolver_answers_in_time() -> None:
    """An address is its own answer, a name that cannot exist has none, and nothing waits longer than asked."""
    assert system_resolver("127.0.0.1", 5.0) == ("127.0.0.1",)
    with pytest.raises(StepError):
        system_resolver("a..b", 5.0)
    threads = [t for t in threading.enumerate() if t.name == "resolve"]
    assert len(threads) <= 1


def test_a_table_of_names_comes_before_the_resolver() -> None:
    """The setting for private installations is read, and asked first."""
    table = parse_hosts("a.test=127.0.0.1, a.test=::1,B.test=127.0.0.2")
    resolver = table_resolver(table, lambda host, timeout_s: [host])
    assert (resolver("a.test", 1), resolver("b.test", 1)) == (("127.0.0.1", "::1"), ("127.0.0.2",))
    assert resolver("c.test", 1) == ["c.test"]
    for wrong in ("a.test", "a.test=nowhere", "=127.0.0.1"):
        with pytest.raises(ValueError, match=r".+"):
            parse_hosts(wrong)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """An authority that only these tests trust."""
    return Authority(tmp_path_factory.mktemp("tls"))


def secure(site: Site, authority: Authority) -> WayOut:
    """Return a way out that trusts the authority."""
    plain = way(site)
    return WayOut(plain.allowance, plain.resolver, authority.trusted(), plain.user_agent)


def test_certificates_are_checked_against_the_name(authority: Authority) -> None:
    """The server name, the Host header and the check of the certificate all see the name, not the address."""
    names: list[str] = []
    context = authority.signed(HOST).server()
    context.sni_callback = lambda sock, name, ctx: names.append(name)
    with running_site(context) as site:
        site.answer(HOST, "/", "secret")
        assert get(site.url(HOST), secure(site, authority)).body == b"secret"
        assert names == [HOST]
        assert site.visits()[-1].host == HOST
        site.answer("other.test", "/", "secret")
        mismatch = refusal(site.url("other.test"), secure(site, authority))
        assert (type(mismatch), mismatch.code) == (Permanent, "tls_certificate")
        untrusted = refusal(site.url(HOST), way(site))
        assert (type(untrusted), untrusted.code) == (Permanent, "tls_certificate")
    assert site.paths("other.test") == []


@pytest.mark.parametrize("kind", ["expired", "self-signed"])
def test_certificates_that_do_not_hold_are_refused(authority: Authority, kind: str) -> None:
    """An expired certificate and one that signs itself end the fetch before a request is sent."""
    pair = authority.self_signed(HOST) if kind == "self-signed" else authority.signed(HOST, expired=True)
    with running_site(pair.server()) as site:
        site.answer(HOST, "/", "secret")
        error = refusal(site.url(HOST), secure(site, authority))
        assert (type(error), error.code) == (Permanent, "tls_certificate")
        assert site.visits() == []
