"""Exit codes, and the error that ends a command with a sentence."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # loading it takes a while, and most commands never need it
    from shared.contracts.report import Report

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


def code_of_answers(code: int, report: "Report") -> int:
    """Return the exit code for what a report answers: 4 where no question is answered, 3 where only some are."""
    asked = {q for section in report.sections for q in section.question_ids}
    missing = {gap.question_id for gap in report.gaps if gap.kind == "not_found"}
    if code not in (COMPLETED, PARTIAL) or not missing:
        return code
    return PARTIAL if report.short_answer is not None or asked - missing else NOTHING_FOUND
