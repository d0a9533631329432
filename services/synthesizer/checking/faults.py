"""What a check of a bundle finds wrong."""

from dataclasses import dataclass

BUNDLE = "bundle"
"""The name under which faults of the archive itself are reported."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong: the file it is in, a stable code, and a sentence for people."""

    file: str
    code: str
    detail: str
