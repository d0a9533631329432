"""Connections to a model's endpoint over judged addresses: resolved once for each request, judged, and connected to.

The endpoint is the operator's, so it may stand inside: on this machine or on a private network. It never stands for a
metadata service, a multicast group or an address in disguise, whatever its name leads to today. Redirects are not
followed at all, and no user of the API can name an endpoint.
"""

import asyncio
from collections.abc import Sequence
from ipaddress import ip_address

import httpx2

from shared.guards.addresses import address_detail, judge_own_endpoint

RESOLVE_S = 10.0
ADDRESSES_TRIED = 4


class RefusedAddress(httpx2.TransportError):
    """The endpoint leads to an address that is not connected to."""

    def __init__(self, host: str, address: str, code: str) -> None:
        super().__init__(address_detail(host, address, code))
        self.code = code


class JudgedTransport(httpx2.AsyncBaseTransport):
    """Hands requests to ``inner`` with an address in place of the name; header, server name and certificate keep it."""

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; raises `RefusedAddress` when any address of the host is refused."""
        host = request.url.host
        addresses = await _resolve(host)
        for address in addresses:
            code = judge_own_endpoint(address)
            if code is not None:
                raise RefusedAddress(host, address, code)
        failed: httpx2.ConnectError | None = None
        for address in addresses[:ADDRESSES_TRIED]:
            try:
                return await self._inner.handle_async_request(_pinned(request, address))
            except httpx2.ConnectError as error:
                failed = error
        raise failed or httpx2.ConnectError(f"{host} has no address.")

    async def aclose(self) -> None:
        """Close all connections."""
        await self._inner.aclose()


async def _resolve(host: str) -> Sequence[str]:
    """Return the addresses of a host, or the host when it is one."""
    try:
        return (str(ip_address(host)),)
    except ValueError:
        asked = asyncio.get_running_loop().getaddrinfo(host, None)
    try:
        found = await asyncio.wait_for(asked, RESOLVE_S)
    except (OSError, UnicodeError) as error:
        raise httpx2.ConnectError(f"The name {host} cannot be resolved.") from error
    return tuple(dict.fromkeys(str(address[0]) for *_, address in found))


def _pinned(request: httpx2.Request, address: str) -> httpx2.Request:
    url = request.url
    if url.host == address:
        return request
    return httpx2.Request(
        request.method,
        url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": url.host},
    )
