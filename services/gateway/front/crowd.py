"""Who is connected: how many at once, and how many of one address."""

from collections import Counter
from ipaddress import IPv6Address, ip_address

NETWORK_OF_ONE = 64
"""Bits of an IPv6 address that one customer shares: whoever has one such address has them all."""


def address_of(host: str) -> str:
    """Return what counts as one address: IPv4 as it is, IPv6 by its network, another name as it is."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if not isinstance(address, IPv6Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(IPv6Address(int(address) >> (128 - NETWORK_OF_ONE) << (128 - NETWORK_OF_ONE)))


class Crowd:
    """Places for connections: ``most`` in all and ``most_of_one`` for each address."""

    def __init__(self, most: int, most_of_one: int) -> None:
        self.most, self.most_of_one = most, most_of_one
        self._of: Counter[str] = Counter()

    def enter(self, address: str) -> bool:
        """Take a place; False when there is none for this address."""
        if self._of.total() >= self.most or self._of[address] >= self.most_of_one:
            return False
        self._of[address] += 1
        return True

    def leave(self, address: str) -> None:
        """Give a place back."""
        self._of[address] -= 1
        if not self._of[address]:
            del self._of[address]


class Room:
    """Room for large bodies that are being received: ``most`` bytes in all, and half of it for one key holder."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._of: Counter[tuple[bytes, ...]] = Counter()

    def take(self, holder: tuple[bytes, ...], size: int) -> bool:
        """Count bytes that have come; False when there is no room for them."""
        if self._of.total() + size > self.most or self._of[holder] + size > self.most // 2:
            return False
        self._of[holder] += size
        return True

    def free(self, holder: tuple[bytes, ...], size: int) -> None:
        """Count bytes that are gone."""
        self._of[holder] -= size
        if not self._of[holder]:
            del self._of[holder]
