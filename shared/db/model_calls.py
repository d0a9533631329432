"""The book of calls at model providers: each is reserved before it is made and settled after."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from shared.contracts.events import Event
from shared.db.engine import Transactions, new_id
from shared.db.ledger import database_now, lock_run
from shared.db.model_usage import DONE, FAILED, OPEN, PROMPT_CUT, REFUSED, load_booked
from shared.db.outbox import Outbox
from shared.db.progress import BUDGET_MARKS
from shared.db.tables import ModelCallRow, RunRow, StepRow
from shared.db.views import elapsed_s, load_limits
from shared.domain.errors import MODEL_REFUSED, BudgetExhausted, Permanent, RateLimited, Transient
from shared.domain.managed import JOB_INPUT_TOKENS
from shared.domain.model_names import ModelName, is_served_as, parse_model_name
from shared.domain.phases import RESEARCH_PHASES, Phase
from shared.domain.prices import PriceTable
from shared.domain.spending import SPEND_LIMITS, Spend, allowance, priced, room, worst_case
from shared.domain.states import RunStatus, StepStatus, is_final
from shared.ports.completions import Call, Reply
from shared.ports.ledger import Lease

NO_PRICES = PriceTable()

BUSY_S = 1.0
"""How long to put off a call that fits only when calls under way turn out smaller than feared."""


class PostgresCallBook:
    """See `shared.ports.completions.CallBook`. Reservations of one run are ordered by the lock on its row."""

    def __init__(
        self,
        transactions: Transactions,
        prices: PriceTable = NO_PRICES,
        publish: Callable[[Sequence[Event]], None] = lambda _: None,
    ) -> None:
        """Take ``publish`` as what sends events once their transaction has committed."""
        self._transactions, self._prices, self._publish = transactions, prices, publish

    def reserve(self, lease: Lease, call: Call) -> str:
        """Set the worst case of the call aside and return the id of its row."""
        call_id = new_id("mdl")

        def work(session: Session) -> str:
            run = lock_run(session, lease.run_id)
            step = session.get(StepRow, lease.step_id)
            if run is None or step is None or step.lease_token != lease.token or step.status != StepStatus.RUNNING:
                raise Transient("lease_lost", "The step was taken away from this worker, so it calls no model.")
            if session.get(ModelCallRow, call_id) is None:  # else an earlier commit worked and its answer was lost
                _end_orphans(session, lease)
                self._check(session, run, lease, call)
                session.add(_row(call_id, lease, call, self._most(call)))
            return call_id

        return self._transactions.run(work)

    def settle(self, call_id: str, reply: Reply, *, prompt_cut: bool = False) -> None:
        """Book what the call used; without usage, what was set aside."""
        usage = reply.usage
        values: dict[str, object] = {
            "status": DONE,
            "outcome": PROMPT_CUT if prompt_cut else reply.finish,
            "served_model": reply.served_model,
            "input_tokens": usage.input if usage else ModelCallRow.reserved_input,
            "output_tokens": usage.output if usage else ModelCallRow.reserved_output,
            "cached_tokens": usage.cached if usage else 0,
            "latency_ms": round(reply.latency_s * 1000),
        }
        self._end(call_id, lambda session: self._with_price(session, call_id, reply, values))

    def fail(self, call_id: str, outcome: str, *, charged: bool) -> None:
        """Book a call that gave nothing."""
        values = {"status": FAILED if charged else REFUSED, "outcome": outcome}
        self._end(call_id, lambda _: values)

    def _end(self, call_id: str, values: Callable[[Session], Mapping[str, object]]) -> None:
        """End a call, then send what the run has to say about it."""
        self._publish(self._transactions.run(lambda session: _end(session, call_id, values(session))))

    def _check(self, session: Session, run: RunRow, lease: Lease, call: Call) -> None:
        """Raise unless the call fits into what the run has left of its time and limits."""
        limits = load_limits(session, run.id)
        if elapsed_s(run, database_now(session)) >= limits.elapsed_s:
            raise BudgetExhausted("elapsed_s", limits.elapsed_s)
        booked = load_booked(session, lease.run_id)
        wanted = limited_by(call)
        if limits.cost_usd is not None:
            wanted = priced(wanted, self._most_known(call))
        refusal = room(limits, booked.settled, booked.under_way, wanted, research=call.phase in RESEARCH_PHASES)
        if refusal is None:
            return
        if refusal.for_now:
            detail = f"Other calls hold what is left of the run's limit on {refusal.limit}."
            raise RateLimited("model_budget_busy", detail, BUSY_S)
        raise BudgetExhausted(refusal.limit, refusal.most)

    def _most(self, call: Call) -> float | None:
        """Return the most that a call can cost, as far as its price is known."""
        price, bound = self._prices.of(call.model), wanted_by(call)
        return price.most(bound.input_tokens, bound.output_tokens) if price is not None else None

    def _most_known(self, call: Call) -> float:
        """Return the most that a call can cost; raise where a limit on cost could not be kept."""
        most = self._most(call)
        if most is None:
            detail = (
                f"The price of {call.model} is not known here (LEADLINE_MODEL_PRICES), so no cost limit can be kept."
            )
            raise Permanent(f"{MODEL_REFUSED}price", detail)
        return most

    def _with_price(
        self, session: Session, call_id: str, reply: Reply, values: Mapping[str, object]
    ) -> Mapping[str, object]:
        """Add what the call cost: by the model that was asked, or by the one that answered when that is another."""
        requested = session.scalar(select(ModelCallRow.requested_model).where(ModelCallRow.id == call_id))
        if requested is None:
            return values
        if reply.usage is None:
            return {**values, "price_usd": ModelCallRow.reserved_usd}
        answered = ModelName(parse_model_name(requested).provider, reply.served_model)
        name = requested if is_served_as(requested, reply.served_model) else str(answered)
        price = self._prices.of(name)
        cost = price.cost(reply.usage.input, reply.usage.output, reply.usage.cached) if price is not None else None
        return {**values, "price_usd": cost}


def wanted_by(call: Call) -> Spend:
    """Return the worst case of a call."""
    if call.phase is Phase.MANAGED:
        return Spend(1, 0, JOB_INPUT_TOKENS, call.max_output_tokens)
    texts = [message.text for message in call.messages]
    if call.schema is not None:
        texts.append(str(dict(call.schema)))
    return worst_case(texts, call.max_output_tokens, verifies=call.phase is Phase.VERIFIER)


def limited_by(call: Call) -> Spend:
    """Return what the limits of a run bind of a call: a provider's own job may read and write beyond them."""
    return Spend(model_calls=1) if call.phase is Phase.MANAGED else wanted_by(call)


def _end_orphans(session: Session, lease: Lease) -> None:
    """Book the calls of earlier tries of the step that nobody will settle any more: in full."""
    session.execute(
        update(ModelCallRow)
        .where(ModelCallRow.step_id == lease.step_id, ModelCallRow.status == OPEN, ModelCallRow.attempt < lease.attempt)
        .values(status=FAILED, outcome="interrupted", ended_at=func.clock_timestamp())
    )


def _row(call_id: str, lease: Lease, call: Call, most_usd: float | None) -> ModelCallRow:
    bound = wanted_by(call)
    return ModelCallRow(
        id=call_id,
        run_id=lease.run_id,
        step_id=lease.step_id,
        epoch=lease.epoch,
        attempt=lease.attempt,
        phase=call.phase,
        request_sha256=call.sha256,
        requested_model=call.model,
        status=OPEN,
        reserved_input=bound.input_tokens,
        reserved_output=bound.output_tokens,
        reserved_usd=most_usd,
    )


def _end(session: Session, call_id: str, values: Mapping[str, object]) -> tuple[Event, ...]:
    """End an open call; return the events that tell when the run's use of a limit goes over one of its marks."""
    run_id = session.scalar(select(ModelCallRow.run_id).where(ModelCallRow.id == call_id))
    run = lock_run(session, run_id) if run_id is not None else None
    if run is None:
        return ()
    now = database_now(session)
    before = load_booked(session, run.id).settled
    ended = session.scalar(
        update(ModelCallRow)
        .where(ModelCallRow.id == call_id, ModelCallRow.status == OPEN)
        .values(**values, ended_at=now)
        .returning(ModelCallRow.id)
    )
    if ended is None or is_final(RunStatus(run.status)):
        return ()
    outbox = Outbox(session, run, now)
    _say_marks(session, run, before, load_booked(session, run.id).settled, outbox)
    return outbox.committed().events


def _say_marks(session: Session, run: RunRow, before: Spend, after: Spend, outbox: Outbox) -> None:
    limits = load_limits(session, run.id)
    used_before, used_after = asdict(before), asdict(after)
    for name in SPEND_LIMITS:
        most = allowance(limits, name, research=False)
        if not math.isfinite(most):
            continue
        if any(used_before[name] * 100 < mark * most <= used_after[name] * 100 for mark in BUDGET_MARKS):
            outbox.event("budget", limit=name, used=used_after[name], of=most)
