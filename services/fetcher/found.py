"""What a search found, wherever it was made."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shared.contracts.evidence import Fetch, Source


@dataclass(frozen=True, slots=True)
class Found:
    """The candidates of a search, the best first.

    ``told`` is kept with the step's result, ``remarks`` are sentences about what went otherwise than planned, and
    ``rows`` go to the fetch log.
    """

    sources: tuple[Source, ...]
    told: Mapping[str, Any] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    rows: tuple[Fetch, ...] = ()
