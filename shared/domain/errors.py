"""The errors of the system; each says what happened and what to do, and carries its facts as data.

LeadlineError
├── Refused                 a request that cannot be met as it stands (the gateway answers 4xx)
│   ├── NotFound            404
│   ├── Invalid             422
│   ├── Conflict            409
│   │   ├── IllegalAction
│   │   ├── StaleVersion
│   │   └── KeyReused
│   └── TooLarge            413
├── IllegalTransition       a bug: the workflow tried a step that the lifecycle forbids
└── StepError               a step could not do its work
    ├── Transient           try again soon
    │   └── NotSent         a request that has not left for sure
    ├── RateLimited         try again not before a given delay
    │   ├── PutOff          our own schedule says when
    │   │   ├── NoPlace     nothing was begun: every place for such work is taken
    │   │   └── SlowSite    the schedule is the site's own: it asks for more time than we would leave it
    │   └── NewerRun        a newer version has moved the run on, and has to go on with it
    ├── Permanent           trying again is useless
    │   ├── InvalidAnswer   a model gave no usable answer, also when told what is wrong with it
    │   ├── TextRefused     a model's provider does not take this text; it may take others
    │   │   └── RequestRejected  it does not take the request as it is; another form of it may do
    │   ├── BudgetExhausted a limit of the run leaves no room for the work
    │   ├── NotAllowed      refused for safety or by policy; the code names the rule
    │   └── Unconfirmed     a paid job was asked for, and nobody knows whether it was begun
    ├── Held                a person has to see to something before the run can go on
    └── LimitExceeded       the work went past its time, memory or size
"""

from collections.abc import Sequence

MODEL_REFUSED = "model:"
"""How the code of an error begins that comes from a model's provider: without a model the run cannot go on."""

OF_ONE_TEXT = frozenset(MODEL_REFUSED + what for what in ("context", "rejected", "unavailable", "no_reply", "timeout"))
"""Those among them that may be due to one text: it is too long, or refused, or the server fails over it each time."""

UNUSABLE_ANSWER = "model_answer"
"""The code of an error that tells that a model gave no usable answer."""

OVER_BUDGET = "budget:"
"""How the code of an error begins that tells which limit of the run is used up."""


class LeadlineError(Exception):
    """Base of every error that the system raises on purpose."""


class Refused(LeadlineError):
    """A request that cannot be met as it stands."""

    def __init__(self, detail: str, *, field: str | None = None) -> None:
        super().__init__(detail)
        self.detail, self.field = detail, field


class NotFound(Refused):
    """What was asked for does not exist, or belongs to somebody else."""


class Invalid(Refused):
    """The request was understood but cannot be carried out with these values."""


class TooLarge(Refused):
    """What was sent is over a size limit."""


class Conflict(Refused):
    """The request contradicts the present state."""


class IllegalAction(Conflict):
    """The run's status does not allow this action."""

    def __init__(self, action: str, status: str, allowed: Sequence[str]) -> None:
        can = ", ".join(allowed) or "nothing: the run has ended"
        super().__init__(f"A run that is {status} cannot take the action {action}; possible now: {can}.")
        self.status, self.allowed = status, tuple(allowed)


class StaleVersion(Conflict):
    """The plan changed since the caller read it."""

    def __init__(self, expected: int, current: int) -> None:
        super().__init__(f"The plan is at version {current}, not {expected}: read it again and repeat the change.")
        self.current = current


class KeyReused(Conflict):
    """An idempotency key came again with another body."""

    def __init__(self) -> None:
        super().__init__("This Idempotency-Key was used with another body: send a new key for a new request.")


class IllegalTransition(LeadlineError):
    """A run cannot go from one status to the other."""

    def __init__(self, before: str, after: str) -> None:
        super().__init__(f"a run cannot go from {before} to {after}")
        self.before, self.after = before, after


class StepError(LeadlineError):
    """A step could not do its work; ``code`` is stable, ``detail`` a sentence for people."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code, self.detail = code, detail
        self.log: tuple[object, ...] = ()
        """Rows of logs that the step has to show for itself although it failed."""


class Transient(StepError):
    """The same try may work soon."""


class NotSent(Transient):
    """A request did not leave: nothing can have come of it, so it may be made again."""


class RateLimited(StepError):
    """The same try may work after ``after_s`` seconds."""

    def __init__(self, code: str, detail: str, after_s: float) -> None:
        super().__init__(code, detail)
        self.after_s = after_s


class PutOff(RateLimited):
    """Our own schedule has no room now and knows when to come back: nobody outside has asked for a rest."""


class NoPlace(PutOff):
    """Every place for such work is taken, so nothing was begun: the try is none, and the step waits in a queue."""


class SlowSite(PutOff):
    """Our schedule has no room because the site asks for more time between requests than we would leave it."""


class NewerRun(RateLimited):
    """A newer version has given the run a step that this one does not know, so its rules cannot judge the run."""

    AFTER_S = 1.0

    def __init__(self, kind: str) -> None:
        super().__init__(
            "newer_run", f"The run has a step of the kind {kind}: a newer worker has to go on.", self.AFTER_S
        )


class Permanent(StepError):
    """The same try would fail again."""


class InvalidAnswer(Permanent):
    """A model gave no usable answer, also when told what is wrong with it."""

    def __init__(self, detail: str) -> None:
        super().__init__(UNUSABLE_ANSWER, detail)


class TextRefused(Permanent):
    """A model's provider does not take this text: it is too long for the model, or against the provider's rules."""


class RequestRejected(TextRefused):
    """A model's provider does not take the request as it is; another form of it may be taken."""

    def __init__(self, detail: str) -> None:
        super().__init__(f"{MODEL_REFUSED}rejected", detail)


class BudgetExhausted(Permanent):
    """A limit of the run leaves no room for the work; research or writing ends here, and what is there is kept."""

    def __init__(self, limit: str, most: float) -> None:
        super().__init__(f"{OVER_BUDGET}{limit}", f"The run's limit on {limit} ({most:,.10g}) leaves no room for this.")
        self.limit = limit


class NotAllowed(Permanent):
    """A safety rule or the run's policy forbids it; ``code`` names the rule."""


class Unconfirmed(Permanent):
    """A provider was asked for a job and its answer was lost: the job may run there, and is never asked for again."""

    def __init__(self, provider: str) -> None:
        super().__init__(
            "managed:indeterminate",
            f"Whether {provider} took the job is unknown: its answer was lost. Look in your account there, and cancel "
            "the job if it runs. It is not submitted again; if there is none, start a new run.",
        )


class Held(StepError):
    """The run pauses for ``reason``: ``detail`` says what a person has to do before it is resumed."""

    def __init__(self, reason: str, code: str, detail: str) -> None:
        super().__init__(code, detail)
        self.reason = reason


class LimitExceeded(StepError):
    """The work went past a limit of time, memory or size."""
