"""Lines that say one thing of their document: "Author: …", "Target: 60,000 USD"."""

import re

_FIELD = re.compile(
    r"\W{0,4}(?P<name>[A-Z][\w/()&'’.-]*(?:\s[\w/()&'’.-]+){0,4})\W{0,2}:\W{0,2}\s+(?P<value>\S.*)", re.S
)
LONGEST_FIELD = 200


def field_of(line: str) -> tuple[str, str] | None:
    """Return name and value of a line such as "Target: 60,000 USD"; None where it is none."""
    match = _FIELD.fullmatch(line.strip()) if len(line) <= LONGEST_FIELD else None
    return (match["name"], match["value"]) if match else None
