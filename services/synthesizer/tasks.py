"""Which handler answers which kind of step."""

from services.synthesizer import handlers, rechecks
from shared.domain.states import StepKind

TASKS = {
    StepKind.OUTLINE: handlers.outline,
    StepKind.WRITE_SECTION: handlers.write_section,
    StepKind.VERIFY: handlers.verify,
    StepKind.ASSEMBLE: handlers.assemble,
    StepKind.REVERIFY: rechecks.reverify,
}
