"""Exit codes, and the error that ends a command with a sentence."""

COMPLETED = 0
FAULTS = 1
"""`verify` found faults, or `doctor` a failure."""
WRONG_USE = 2
PARTIAL = 3
NOTHING_FOUND = 4
FAILED = 5
NOT_CHECKED = 6
"""`verify` found no fault, but could not make the renderings again: it does not say that the bundle holds."""
INTERRUPTED = 130


class CliError(Exception):
    """The command cannot go on; the message is one sentence that says what is wrong and what to do."""

    def __init__(self, message: str, code: int = WRONG_USE) -> None:
        super().__init__(message)
        self.code = code


def code_of(status: str, stop_reason: str | None) -> int:
    """Return the exit code for how a run ended."""
    if status == "completed":
        return COMPLETED
    if status == "budget_exhausted":
        return NOTHING_FOUND if stop_reason == "no_evidence" else PARTIAL
    return FAILED
