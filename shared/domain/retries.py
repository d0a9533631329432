"""What becomes of a step whose try failed: a decision made from the error and the tries so far."""

from dataclasses import dataclass

from shared.domain.errors import Held, LimitExceeded, Permanent, PutOff, RateLimited, SlowSite, StepError, Transient

FIRST_DELAY_S = 1.0
SHORTEST_WAIT_S = 0.2
"""A step that our own schedule puts off does not come back sooner."""
MAX_DELAY_S = 60.0
MAX_RATE_LIMIT_S = 600.0


@dataclass(frozen=True, slots=True)
class Tries:
    """How often a step has been tried: errors of its own, and tries that ended with their process."""

    errors: int
    interruptions: int


@dataclass(frozen=True, slots=True)
class Caps:
    """How many tries of each kind a step is given in all."""

    errors: int = 3
    interruptions: int = 5


@dataclass(frozen=True, slots=True)
class Retry:
    """Try again, not before ``after_s`` seconds; ``counts`` is false for a postponement.

    ``ours`` is true where the wait is our own doing, and says nothing about how slow the source is.
    """

    after_s: float
    counts: bool = True
    ours: bool = False


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The step has failed for this reason."""

    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class Hold:
    """The step stays as it is, and its run pauses for this reason until a person lets it go on."""

    reason: str
    detail: str


def is_last(errors: int, caps: Caps) -> bool:
    """Tell whether a step that has had so many errors is given up with the next one."""
    return errors + 1 >= caps.errors


def decide_retry(error: Exception, tries: Tries, caps: Caps, patience_s: float | None = None) -> Retry | GiveUp | Hold:
    """Decide about a try that ended with ``error``; ``tries.errors`` counts this one too.

    Delays double from 1 s to 60 s. A rate limit is a postponement: it costs no try, and waits at most 10 minutes.
    ``patience_s`` is for how much longer the step may be put off, where nothing else ends its waiting.
    """
    if isinstance(error, Held):
        return Hold(error.reason, error.detail)
    if isinstance(error, PutOff):
        after_s = min(max(error.after_s, SHORTEST_WAIT_S), MAX_RATE_LIMIT_S)
        return Retry(after_s, counts=False, ours=not isinstance(error, SlowSite))
    if isinstance(error, RateLimited):
        if patience_s is not None and error.after_s > patience_s:
            return GiveUp(error.code, f"{error.detail} The run's time limit allows no longer wait.")
        return Retry(min(max(error.after_s, FIRST_DELAY_S), MAX_RATE_LIMIT_S), counts=False)
    if isinstance(error, Permanent | LimitExceeded):
        return GiveUp(error.code, error.detail)
    code, detail = _describe(error)
    if tries.errors >= caps.errors:
        return GiveUp(code, detail)
    return Retry(min(FIRST_DELAY_S * 2.0 ** (tries.errors - 1), MAX_DELAY_S))


def decide_interrupted(tries: Tries, caps: Caps) -> Retry | GiveUp:
    """Decide about a step whose lease ran out; ``tries.interruptions`` counts this one too."""
    if tries.interruptions >= caps.interruptions:
        return GiveUp("poison", f"The step was interrupted {tries.interruptions} times; its worker died each time.")
    return Retry(0.0)


def _describe(error: Exception) -> tuple[str, str]:
    if isinstance(error, Transient | StepError):
        return error.code, error.detail
    return "bug", f"{type(error).__name__}: {error}"
