"""Where a connection may lead: IP addresses judged by block, names and ports judged before they are looked up.

IPv4 has a list of what is refused. IPv6 has one of what is allowed (global unicast, 2000::/3) minus the special blocks
inside it: the rest of that space is private, link-local, multicast, reserved, or an IPv4 address in another form.
Blocks: the IANA special-purpose registries for IPv4 and IPv6.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from shared.domain.errors import NotAllowed
from shared.domain.urls import DEFAULT_PORTS, Url, is_private_name

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_WEB_PORTS = frozenset(DEFAULT_PORTS.values())

_BLOCKS: tuple[tuple[str, str], ...] = (
    ("ip_metadata", "169.254.169.254/32 100.100.100.200/32 fd00:ec2::254/128"),
    ("ip_unspecified", "0.0.0.0/8 ::/128"),
    ("ip_loopback", "127.0.0.0/8 ::1/128"),
    ("ip_private", "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7 fec0::/10"),
    ("ip_shared", "100.64.0.0/10"),
    ("ip_link_local", "169.254.0.0/16 fe80::/10"),
    ("ip_documentation", "192.0.2.0/24 198.51.100.0/24 203.0.113.0/24 2001:db8::/32 3fff::/20"),
    ("ip_benchmark", "198.18.0.0/15"),
    ("ip_multicast", "224.0.0.0/4 ff00::/8"),
    ("ip_embedded", "2001::/32 2002::/16 64:ff9b::/96 64:ff9b:1::/48 ::/96 ::ffff:0:0/96 ::ffff:0:0:0/96"),
    ("ip_reserved", "192.0.0.0/24 192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.175.48.0/24 240.0.0.0/4"),
    ("ip_reserved", "2001::/23 2620:4f:8000::/48"),
)
_REFUSED: tuple[tuple[Network, str], ...] = tuple(
    (ip_network(block), code) for code, blocks in _BLOCKS for block in blocks.split()
)
_INSIDE = frozenset({"ip_loopback", "ip_private", "ip_shared", "ip_benchmark"})
"""Where an operator's own machines are."""
_GLOBAL_UNICAST = ip_network("2000::/3")

_MEANING = {
    "ip_metadata": "the metadata service of a cloud machine",
    "ip_unspecified": "no particular machine",
    "ip_loopback": "this machine itself",
    "ip_private": "a private network",
    "ip_shared": "a provider's inner network",
    "ip_link_local": "the local link",
    "ip_documentation": "documentation only",
    "ip_benchmark": "benchmarks only",
    "ip_multicast": "a group of machines",
    "ip_embedded": "another address in disguise",
    "ip_reserved": "nothing public",
}


def judge_address(address: str | Address, allow: Sequence[Network] = ()) -> str | None:
    """Return the code of the rule by which an address is refused, or None when it may be connected to.

    ``allow`` are networks that the operator opened. A text that is no address is refused as ``ip_malformed``.
    """
    try:
        ip = ip_address(address) if isinstance(address, str) else address
    except ValueError:
        return "ip_malformed"
    if isinstance(ip, IPv6Address) and ip.scope_id is not None:
        return "ip_link_local"
    if any(ip in network for network in allow if network.version == ip.version):
        return None
    for network, code in _REFUSED:
        if network.version == ip.version and ip in network:
            return code
    if isinstance(ip, IPv6Address) and ip not in _GLOBAL_UNICAST:
        return "ip_reserved"
    return None


def judge_own_endpoint(address: str | Address, allow: Sequence[Network] = ()) -> str | None:
    """Return the code by which an address of an endpoint that the operator named is refused, or None.

    Such an endpoint may stand inside, since that is where the operator put it; it never is a metadata service, a
    multicast group, or an address in another form.
    """
    code = judge_address(address, allow)
    return None if code in _INSIDE else code


def address_detail(host: str, address: str, code: str) -> str:
    """Say in a sentence why an address was refused."""
    shown = host if host == address else f"{host} leads to {address}, which"
    return f"{shown} stands for {_MEANING.get(code, 'no address at all')} and is not connected to."


@dataclass(frozen=True, slots=True)
class Allowance:
    """What the operator opened beyond the public web: networks, and single hosts with their port."""

    networks: tuple[Network, ...] = ()
    endpoints: frozenset[tuple[str, int]] = frozenset()

    def judge_url(self, url: Url) -> None:
        """Raise `NotAllowed` for a host or port that is refused whatever its name leads to."""
        if (url.host, url.port) in self.endpoints:
            return  # its addresses are judged
        literal = url.literal
        if literal is not None:
            self.judge_endpoint(url, str(literal))
        elif not self.networks and is_private_name(url.host):
            raise NotAllowed("host_private", f"{url.host} is a name of a private network.")
        elif not self.networks:
            _judge_port(url)

    def judge_endpoint(self, url: Url, address: str) -> None:
        """Raise `NotAllowed` unless the address that the host of ``url`` leads to may be connected to."""
        own = (url.host, url.port) in self.endpoints
        judge = judge_own_endpoint if own else judge_address
        code = judge(address, self.networks)
        if code is not None:
            raise NotAllowed(code, address_detail(url.host, address, code))
        if not own and not self._opened(address):
            _judge_port(url)

    def _opened(self, address: str) -> bool:
        ip = ip_address(address)
        return any(ip in network for network in self.networks if network.version == ip.version)


def _judge_port(url: Url) -> None:
    if url.port not in _WEB_PORTS:
        raise NotAllowed("port_forbidden", f"{url.netloc} names a port other than 80 and 443.")


def parse_networks(text: str) -> tuple[Network, ...]:
    """Read networks such as ``10.0.0.0/8`` or single addresses, separated by commas; raise ValueError."""
    return tuple(ip_network(item.strip()) for item in text.split(",") if item.strip())
