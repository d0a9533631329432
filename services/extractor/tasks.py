"""Which handler answers which kind of step."""

from services.extractor import handlers
from shared.domain.states import StepKind

TASKS = {StepKind.PARSE: handlers.parse, StepKind.EXTRACT: handlers.extract}
