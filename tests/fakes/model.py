"""Models in memory: one that answers by the rules of the scripted provider, and one that answers what a test says."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from shared.domain.phases import Phase
from shared.ports.model import Answer, ModelAnswer, ModelRequest, TokenUsage
from tests.support import scripted_model

USED = TokenUsage(10, 5, 0)


@dataclass
class RuleModel:
    """Answers as `tests.support.scripted_model` does, and remembers what it was asked."""

    asked: list[ModelRequest[Any]] = field(default_factory=list)

    def name(self, phase: Phase) -> str:
        """Return the same name for every phase."""
        return "scripted"

    def ask(self, request: ModelRequest[Answer]) -> ModelAnswer[Answer]:
        """Return the answer of the rules."""
        self.asked.append(request)
        value = request.output.model_validate_json(scripted_model.answer(request.output.__name__, request.input))
        return ModelAnswer(value, USED, "scripted", "scripted-1", 0.0, False)


@dataclass
class ToldModel:
    """Answers what ``tell`` returns for a request, or raises it."""

    tell: Callable[[ModelRequest[Any]], Any]
    asked: list[ModelRequest[Any]] = field(default_factory=list)

    def name(self, phase: Phase) -> str:
        """Return the same name for every phase."""
        return "told"

    def ask(self, request: ModelRequest[Answer]) -> ModelAnswer[Answer]:
        """Return or raise what the test says."""
        self.asked.append(request)
        told = self.tell(request)
        if isinstance(told, Exception):
            raise told
        return ModelAnswer(request.output.model_validate(told), USED, "told", "told-1", 0.0, False)
