"""Server-Sent Events as values (WHATWG HTML, section 9.2.6), as far as the gateway uses them."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from shared.contracts.events import Event

_HEAD = ("seq", "run_id", "at", "type")


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a stream: its name and its data."""

    name: str
    data: dict[str, Any]

    def as_event(self) -> Event:
        """Return the run's event that this message carries."""
        payload = {name: value for name, value in self.data.items() if name not in _HEAD}
        return Event.model_validate({**{name: self.data[name] for name in _HEAD}, "payload": payload})


def messages(lines: Iterable[bytes]) -> Iterator[Message]:
    """Yield the messages in the lines of a stream; comments and a message that was cut off are left out."""
    name, data = "message", []
    for line in lines:
        field, _, value = line.decode().partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            name = value
        elif field == "data":
            data.append(value)
        elif not line:
            if data:
                yield Message(name, json.loads("\n".join(data)))
            name, data = "message", []
