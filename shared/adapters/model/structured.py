"""`Model` over `Completions`: which model answers, in which form it is asked, and the one repair."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from shared.adapters.model.answers import Unreadable, read_answer
from shared.adapters.model.wording import ONLY_JSON, REPAIR
from shared.domain.errors import BudgetExhausted, InvalidAnswer, RequestRejected, TextRefused
from shared.domain.phases import Phase
from shared.ports.completions import Call, Completions, Message, Reply
from shared.ports.model import Answer, ModelAnswer, ModelRequest, TokenUsage

REPAIRED_CHARS = 20_000
"""How much of a bad answer is shown to the model again."""

MORE_ROOM = 3
"""By what the room of an answer is multiplied that was cut off."""

SHORTEST_REPAIR_S = 5.0
"""With less time than this left, no second call is made."""


@dataclass(frozen=True, slots=True)
class Names:
    """The model of each phase, and models with the names of those schemas that their endpoint was found to refuse."""

    by_phase: Mapping[Phase, str]
    without_schema: set[tuple[str, str]]


class StructuredModel:
    """See `shared.ports.model.Model`."""

    def __init__(self, completions: Completions, names: Names) -> None:
        self._completions, self._names = completions, names

    def name(self, phase: Phase) -> str:
        """Return the name of the model that answers in this phase."""
        return self._names.by_phase[phase]

    def ask(self, request: ModelRequest[Answer]) -> ModelAnswer[Answer]:
        """Return a validated answer, repaired at most once."""
        ends = time.monotonic() + request.deadline_s
        call, first = self._complete(self._call(request))
        call, replies = self._with_room(replace(call, deadline_s=ends - time.monotonic()), first)
        try:
            value = _value(replies[-1], call, request)
        except Unreadable as fault:
            return self._repaired(request, replace(call, deadline_s=ends - time.monotonic()), replies, fault)
        return _answer(value, call, replies)

    def _with_room(self, call: Call, reply: Reply) -> tuple[Call, tuple[Reply, ...]]:
        """Ask once more with more room where an answer was cut off: a model may have spent it all on its thoughts.

        Where there is no time or budget for more, or the endpoint gives no more room, the cut one is what there is.
        """
        if reply.finish != "length" or call.deadline_s < SHORTEST_REPAIR_S:
            return call, (reply,)
        roomier = replace(call, max_output_tokens=call.max_output_tokens * MORE_ROOM)
        try:
            return roomier, (reply, self._completions.complete(roomier))
        except (BudgetExhausted, TextRefused):
            return call, (reply,)

    def _repaired(
        self, request: ModelRequest[Answer], call: Call, replies: tuple[Reply, ...], fault: Unreadable
    ) -> ModelAnswer[Answer]:
        """Ask again, showing the bad answer and what is wrong with it; whatever comes then is final."""
        if call.deadline_s < SHORTEST_REPAIR_S:
            raise InvalidAnswer(f"The answer of {call.model} cannot be used ({fault}), and its time is up.") from fault
        shown = Message("assistant", replies[-1].text[:REPAIRED_CHARS] or "(nothing)")
        repair = Message("user", REPAIR.format(fault=fault))
        again = replace(call, messages=(*call.messages, shown, repair))
        second = self._completions.complete(again)
        try:
            value = _value(second, call, request)
        except Unreadable as error:
            raise InvalidAnswer(f"The answer of {call.model} cannot be used, repaired neither: {error}.") from error
        return _answer(value, call, (*replies, second), repaired=True)

    def _call(self, request: ModelRequest[Answer]) -> Call:
        model = self.name(request.phase)
        call = Call(
            phase=request.phase,
            model=model,
            messages=(Message("system", request.instructions), Message("user", request.input)),
            schema_name=request.output.__name__,
            schema=request.output.model_json_schema(),
            max_output_tokens=request.max_output_tokens,
            deadline_s=request.deadline_s,
        )
        return in_prompt(call) if (model, call.schema_name) in self._names.without_schema else call

    def _complete(self, call: Call) -> tuple[Call, Reply]:
        """Make the call; where the endpoint refuses a schema, put the schema into the instructions instead."""
        try:
            return call, self._completions.complete(call)
        except RequestRejected:
            if call.schema is None:
                raise
        plain = in_prompt(call)
        reply = self._completions.complete(plain)
        self._names.without_schema.add((call.model, call.schema_name))
        return plain, reply


def in_prompt(call: Call) -> Call:
    """Return the call with its schema in the instructions; what does not change still comes first."""
    schema = json.dumps(dict(call.schema or {}), sort_keys=True, separators=(",", ":"))
    system, *rest = call.messages
    told = Message("system", f"{system.text}\n\n{ONLY_JSON.format(schema=schema)}")
    return replace(call, messages=(told, *rest), schema=None)


def _value(reply: Reply, call: Call, request: ModelRequest[Answer]) -> Answer:
    """Return the answer in a reply; how it ended counts before what it says."""
    if reply.finish == "length":
        raise InvalidAnswer(f"The answer of {reply.served_model} was cut off at {call.max_output_tokens:,} tokens.")
    if reply.finish == "refused":
        raise InvalidAnswer(f"The model {reply.served_model} refused to answer.")
    return read_answer(reply.text, request.output)


def _answer(value: Answer, call: Call, replies: tuple[Reply, ...], *, repaired: bool = False) -> ModelAnswer[Answer]:
    return ModelAnswer(
        value=value,
        usage=sum((r.usage for r in replies if r.usage is not None), TokenUsage()),
        requested_model=call.model,
        served_model=replies[-1].served_model,
        latency_s=sum(r.latency_s for r in replies),
        repaired=repaired,
    )
