"""The troubles of a service outside, as typed errors with a sentence that says what to do."""

from dataclasses import dataclass

from services.fetcher.search.contract import Account
from shared.domain.errors import Permanent, RateLimited, StepError, Transient
from shared.domain.search import ServiceFacts

DEFAULT_REST_S = 30.0
"""How long to wait after a 429 that does not say."""

_OUT_OF_CREDIT = (402, 432, 433)
"""402 says so; 432 and 433 are Tavily's: the plan's limit, and the limit on what is paid by use."""


@dataclass(frozen=True, slots=True)
class Troubles:
    """Says what is wrong with one service; ``where`` names it with its address if the operator chose that."""

    facts: ServiceFacts
    where: str
    account: Account

    def of_status(self, status: int, after_s: float | None, message: str) -> StepError:
        """Return the error that a status stands for; ``message`` is what the service says about it."""
        said = self.said(status, message)
        if status in (202, 429) or (status == 503 and after_s is not None):
            return self.limited(after_s)
        if status in _OUT_OF_CREDIT:
            return self.out_of_credit(said)
        if status in (401, 403) and self.facts.needs_key:
            return self.wrong_key(said)
        if status in (408, 425) or status >= 500:
            return Transient("search_failed", f"{said}.")
        return self.refused(said)

    def said(self, status: int, message: str) -> str:
        """Say what the service answered."""
        shown = f" ({self.account.hidden(message)[:200].rstrip('.')})" if message else ""
        return f"{self.where} answers {status}{shown}"

    def limited(self, after_s: float | None) -> StepError:
        """Return the error of a service that asks to be left alone for so long, which it may not say."""
        rest_s = DEFAULT_REST_S if after_s is None else after_s
        detail = f"{self.where} asks to be left alone for {rest_s:.0f} s."
        return RateLimited("search_limited", detail, rest_s)

    def wrong_key(self, said: str) -> StepError:
        """Return the error of a service that does not know the key."""
        return Permanent("search_key", f"{said}: correct {self.facts.setting}.")

    def out_of_credit(self, said: str) -> StepError:
        """Return the error of a service whose account is used up."""
        detail = f"{said}: buy credit at {self.facts.label}, or unset {self.facts.setting}."
        return Permanent("search_out_of_credit", detail)

    def refused(self, said: str) -> StepError:
        """Return the error of a service that does not take the request."""
        return Permanent("search_refused", f"{said}: see what it says, or leave {self.facts.label} out.")

    def strange(self, what: str) -> StepError:
        """Return the error of an answer that is not what the service gives."""
        return Permanent("search_answer", f"{self.where} answers with {what}, which is not what its search gives.")
