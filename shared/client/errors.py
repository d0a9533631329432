"""What can go wrong between a client and a gateway.

LeadlineError
├── ClientError      the gateway answered that it will not do it, and why
└── Unreachable      no answer came
"""

from shared.contracts.runs import Problem
from shared.domain.errors import LeadlineError


class ClientError(LeadlineError):
    """The gateway refused or failed; ``problem`` is its answer."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


class Unreachable(LeadlineError):
    """The gateway did not answer, or broke off its answer."""

    def __init__(self, address: str, cause: str) -> None:
        super().__init__(f"The gateway at {address} cannot be reached ({cause}): see that it runs there.")
        self.address = address
