"""The head of an HTTP/1 request: read strictly, and written anew so that the application sees one plain request."""

import re
from dataclasses import dataclass

from services.gateway.problems import Malformed

LARGEST_HEAD = 64 * 1024
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_REQUEST_LINE = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+) ([\x21-\x7e\x80-\xff]+) HTTP/1\.([01])")
_FIELD = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*)")
_WHOLE = re.compile(rb"[0-9]{1,18}")
_OF_THE_CONNECTION = frozenset(
    {b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"upgrade", b"expect"}
)
_OF_THE_BODY = frozenset({b"content-length", b"transfer-encoding"})
_CREDENTIALS = frozenset({b"authorization", b"cookie"})


@dataclass(frozen=True, slots=True)
class Head:
    """Request line and fields; ``length`` is the declared one of the body, None without or in chunks."""

    method: bytes
    target: bytes
    minor: bytes
    fields: tuple[tuple[bytes, bytes], ...]
    length: int | None
    chunked: bool

    @property
    def path(self) -> str:
        """Return the path as it was sent, without the query."""
        return self.target.partition(b"?")[0].decode("latin-1")

    @property
    def expects_continue(self) -> bool:
        """Tell whether the client waits to be told that its body is wanted."""
        return self.minor == b"1" and any(n == b"expect" and v.lower() == b"100-continue" for n, v in self._lowered())

    @property
    def credentials(self) -> tuple[bytes, ...]:
        """Return what says whose request it is."""
        return tuple(value for name, value in self._lowered() if name in _CREDENTIALS)

    def written(self, length: int | None) -> bytes:
        """Return the head for the application: one request of a connection, with a body of ``length`` bytes if any."""
        named = {part.strip().lower() for name, v in self._lowered() if name == b"connection" for part in v.split(b",")}
        left_out = _OF_THE_CONNECTION | _OF_THE_BODY | named
        kept = [name + b": " + value for name, value in self.fields if _passes(name, left_out)]
        sized = [] if length is None else [b"Content-Length: %d" % length]
        line = self.method + b" " + self.target + b" HTTP/1." + self.minor
        return b"\r\n".join([line, *kept, *sized, b"Connection: close", b"", b""])

    def asking(self, target: bytes) -> bytes:
        """Return the head of a question by the same client that has no body and wants none."""
        kept = [name + b": " + value for name, value in self.fields if name.lower() in _CREDENTIALS | {b"host"}]
        return b"\r\n".join([b"HEAD " + target + b" HTTP/1.1", *kept, b"Connection: close", b"", b""])

    def _lowered(self) -> list[tuple[bytes, bytes]]:
        return [(name.lower(), value) for name, value in self.fields]


def _passes(name: bytes, left_out: frozenset[bytes]) -> bool:
    """Tell whether the application sees a field; one with a low line would look like one with a hyphen."""
    return name.lower() not in left_out and b"_" not in name


def parse(data: bytes) -> Head:
    """Return the head in ``data``, which ends with the empty line; raise `Malformed`."""
    first, *lines = data.removesuffix(b"\r\n\r\n").split(b"\r\n")
    found = _REQUEST_LINE.fullmatch(first)
    if found is None:
        raise Malformed("The request line is not one of HTTP/1.0 or HTTP/1.1.")
    fields = tuple(_field(line) for line in lines)
    length, chunked = _length(fields)
    if chunked and found[3] == b"0":
        raise Malformed("A body in chunks needs HTTP/1.1.")
    return Head(found[1], found[2], found[3], fields, length, chunked)


def _length(fields: tuple[tuple[bytes, bytes], ...]) -> tuple[int | None, bool]:
    """Return the declared length of the body, and whether it comes in chunks."""
    coded = [value.lower() for name, value in fields if name.lower() == b"transfer-encoding"]
    sizes = list({value for name, value in fields if name.lower() == b"content-length"})
    if coded and (coded != [b"chunked"] or sizes):
        raise Malformed("The body's length is told in two ways or in one that is not known: send Content-Length.")
    if not sizes:
        return None, bool(coded)
    if len(sizes) > 1 or _WHOLE.fullmatch(sizes[0]) is None:
        raise Malformed("The header Content-Length must be one whole number.")
    return int(sizes[0]), False


def _field(line: bytes) -> tuple[bytes, bytes]:
    found = _FIELD.fullmatch(line)
    if found is None:
        raise Malformed("A header line is not of the form `name: value`.")
    return found[1], found[2].rstrip(b" \t")
