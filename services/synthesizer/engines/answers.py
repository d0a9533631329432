"""What a synthesis engine gives back where rows alone do not say all."""

from dataclasses import dataclass

from services.synthesizer.rules.gaps import Wanted
from shared.contracts.report import Draft, VerdictRow


@dataclass(frozen=True, slots=True)
class Writing:
    """The drafted statements of a section, and the evidence that its writer had no room for.

    ``unwritten`` says why the writer's answer could not be used; drafts that there are all the same are the passages'
    own sentences.
    """

    drafts: tuple[Draft, ...]
    cut: tuple[str, ...] = ()
    wanted: tuple[Wanted, ...] = ()
    unwritten: str | None = None


@dataclass(frozen=True, slots=True)
class Verification:
    """One verdict for each statement, in their order; ``stopped`` names the limit that left some of them unverified."""

    rows: tuple[VerdictRow, ...]
    stopped: str | None = None
