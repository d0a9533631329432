"""What a synthesis engine gives back where rows alone do not say all."""

from dataclasses import dataclass

from shared.contracts.report import VerdictRow


@dataclass(frozen=True, slots=True)
class Verification:
    """One verdict for each statement, in their order; ``stopped`` names the limit that left some of them unverified."""

    rows: tuple[VerdictRow, ...]
    stopped: str | None = None
