"""The book of model calls over real Postgres: limits hold across workers, orphans are charged, receipts spare calls."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from shared.adapters.model.providers import Models, Records
from shared.contracts.events import Event
from shared.contracts.runs import ControlRequest
from shared.db.engine import Transactions
from shared.db.model_calls import PostgresCallBook, wanted_by
from shared.db.model_usage import load_booked, load_by_phase
from shared.domain.errors import BudgetExhausted, Permanent, RateLimited, Transient
from shared.domain.ids import LOCAL_OWNER, RunId
from shared.domain.phases import MODEL_PHASES, RESEARCH_PHASES, Phase
from shared.domain.prices import Price, PriceTable
from shared.domain.spending import Spend, allowance
from shared.ports.completions import Call, Message, Reply
from shared.ports.ledger import Lease, Outcome
from shared.ports.model import ModelRequest, TokenUsage
from tests.support.stage import ALL_KINDS, Stage, plan

WORKERS = 4
BUDGET = {"model_calls": 8, "verification_calls": 4, "input_tokens": 3000, "output_tokens": 1500, "cost_usd": 0.012}
PRICES = PriceTable({"openai:m": Price(3.0, 15.0, 0.3), "openai:other": Price(30.0, 150.0)})


@pytest.fixture
def stage(transactions: Transactions) -> Stage:
    """A ledger."""
    return Stage(transactions)


@pytest.fixture
def book(transactions: Transactions) -> PostgresCallBook:
    """The book of calls over the same database."""
    return PostgresCallBook(transactions)


def working(stage: Stage, **budget: float) -> Lease:
    """Return the lease of the first search of a new run."""
    _, started = stage.researching(budget=budget)
    return stage.claim(started.wake_ups[0].step_id)


def call(phase: Phase = Phase.EXTRACTOR, text: str = "What?", most: int = 100) -> Call:
    """Return a call."""
    return Call(phase, "m", (Message("user", text),), "Answer", None, most, 10.0)


def reply(given: int, output: int, cached: int = 0) -> Reply:
    """Return the reply to a call that used so many tokens."""
    return Reply("{}", "stop", TokenUsage(given, output, cached), "m-1", 0.25)


def booked(stage: Stage, run_id: RunId) -> tuple[Spend, Spend]:
    """Return what a run has used, and what is under way."""
    found = stage.transactions.run(lambda session: load_booked(session, run_id))
    return found.settled, found.under_way


def test_a_call_is_reserved_and_then_settled(stage: Stage, book: PostgresCallBook) -> None:
    """The worst case stands until the call is settled, then what it used; people see both by phase."""
    lease = working(stage)
    call_id = book.reserve(lease, call())
    settled, under_way = booked(stage, lease.run_id)
    assert settled == Spend()
    assert under_way == wanted_by(call())
    book.settle(call_id, reply(7, 3, cached=2))
    assert booked(stage, lease.run_id) == (Spend(1, 0, 7, 3), Spend())
    usage = stage.reads.run(LOCAL_OWNER, lease.run_id).usage
    assert (usage.model_calls, usage.input_tokens, usage.output_tokens, usage.cached_tokens) == (1, 7, 3, 2)
    assert usage.by_phase == {"extractor": {"calls": 1, "input_tokens": 7, "output_tokens": 3, "cached_tokens": 2}}
    assert usage.cost_usd is None
    [row] = stage.rows("select requested_model, served_model, outcome, latency_ms, price_usd from model_calls")
    assert tuple(row) == ("m", "m-1", "stop", 250, None)


def test_missing_usage_settles_at_the_bound(stage: Stage, book: PostgresCallBook) -> None:
    """An endpoint that does not count is charged what was set aside."""
    lease = working(stage)
    book.settle(book.reserve(lease, call()), replace(reply(0, 0), usage=None))
    assert booked(stage, lease.run_id)[0] == wanted_by(call())


def test_a_refused_call_costs_nothing_and_a_lost_one_everything(stage: Stage, book: PostgresCallBook) -> None:
    """A 429 did no work; a call that timed out may have been paid."""
    lease = working(stage)
    book.fail(book.reserve(lease, call()), "model:rate_limited", charged=False)
    assert booked(stage, lease.run_id) == (Spend(), Spend())
    book.fail(book.reserve(lease, call()), "model:timeout", charged=True)
    assert booked(stage, lease.run_id)[0] == wanted_by(call())
    assert [r.outcome for r in stage.rows("select outcome from model_calls order by id")] == [
        "model:rate_limited",
        "model:timeout",
    ]


def test_an_orphan_is_charged_in_full(stage: Stage, book: PostgresCallBook) -> None:
    """A call whose worker died counts as made, and holds back nobody who could be served."""
    lease = working(stage, output_tokens=1000)
    book.reserve(lease, call(Phase.WRITER, most=600))
    with pytest.raises(RateLimited):
        book.reserve(lease, call(Phase.WRITER, most=600))
    stage.scalar(
        "update steps set leased_until = clock_timestamp() - interval '1 second' where id = :id returning 1",
        id=lease.step_id,
    )
    again = stage.claim(lease.step_id)
    with pytest.raises(BudgetExhausted) as caught:
        book.reserve(again, call(Phase.WRITER, most=600))
    assert caught.value.code == "budget:output_tokens"
    book.reserve(again, call(Phase.WRITER, most=400))
    assert stage.rows("select outcome from model_calls order by id")[0].outcome == "interrupted"


def test_a_worker_that_lost_its_lease_calls_nothing(stage: Stage, book: PostgresCallBook) -> None:
    """After a cancel, no reservation and so no call; what was under way is still booked."""
    lease = working(stage)
    call_id = book.reserve(lease, call())
    stage.controls.act(LOCAL_OWNER, lease.run_id, ControlRequest(action="cancel"))
    with pytest.raises(Transient, match="taken away"):
        book.reserve(lease, call())
    before = stage.reads.run(LOCAL_OWNER, lease.run_id).last_seq
    book.settle(call_id, reply(7, 3))
    run = stage.reads.run(LOCAL_OWNER, lease.run_id)
    assert (run.usage.output_tokens, run.last_seq) == (3, before)


def test_research_leaves_room_for_synthesis(stage: Stage, book: PostgresCallBook) -> None:
    """Extraction is stopped while writing still may call."""
    lease = working(stage, model_calls=4)
    for _ in range(3):
        book.settle(book.reserve(lease, call()), reply(1, 1))
    with pytest.raises(BudgetExhausted, match="model_calls"):
        book.reserve(lease, call())
    book.reserve(lease, call(Phase.WRITER))


def test_marks_are_told(stage: Stage, book: PostgresCallBook) -> None:
    """Half of a limit, four fifths of it and all of it are events."""
    lease = working(stage, verification_calls=4)
    for _ in range(4):
        book.settle(book.reserve(lease, call(Phase.VERIFIER)), reply(1, 1))
    events = stage.reads.events(LOCAL_OWNER, lease.run_id, 0, 1000)
    told = [e.payload for e in events if e.type == "budget" and e.payload["limit"] == "verification_calls"]
    assert [t["used"] for t in told] == [2, 4]
    assert [e.seq for e in events] == list(range(1, len(events) + 1))


def test_a_call_costs_what_its_price_says(stage: Stage, transactions: Transactions) -> None:
    """Reserved at the most that it can cost, settled at what it used, the cache's share at its own price."""
    book, lease = PostgresCallBook(transactions, PRICES), working(stage)
    call_id = book.reserve(lease, call(most=1000))
    bound = wanted_by(call(most=1000))
    assert booked(stage, lease.run_id)[1].cost_usd == pytest.approx((bound.input_tokens * 3 + 1000 * 15) / 1e6)
    book.settle(call_id, replace(reply(1000, 200, cached=400), served_model="m-2026-01"))
    usage = stage.reads.run(LOCAL_OWNER, lease.run_id).usage
    assert usage.cost_usd == pytest.approx((600 * 3 + 400 * 0.3 + 200 * 15) / 1e6)
    assert usage.by_phase["extractor"]["cost_usd"] == usage.cost_usd


def test_an_unknown_price_makes_the_whole_unknown(stage: Stage, transactions: Transactions) -> None:
    """A sum with a hole in it is not told; what another model answered costs what that model costs."""
    book, lease = PostgresCallBook(transactions, PRICES), working(stage)
    book.settle(book.reserve(lease, call()), replace(reply(1000, 0), served_model="other"))
    assert stage.reads.run(LOCAL_OWNER, lease.run_id).usage.cost_usd == pytest.approx(0.03)
    book.settle(book.reserve(lease, call()), replace(reply(1000, 0), served_model="nobody-knows"))
    usage = stage.reads.run(LOCAL_OWNER, lease.run_id).usage
    assert usage.cost_usd is None
    assert "cost_usd" not in usage.by_phase["extractor"]


def test_another_model_than_asked_is_told(stage: Stage, book: PostgresCallBook) -> None:
    """A silent switch stands in the run's usage; a version of the model that was asked for is none."""
    lease = working(stage)
    book.settle(book.reserve(lease, call()), replace(reply(1, 1), served_model="m-2026-01-31"))
    assert stage.reads.run(LOCAL_OWNER, lease.run_id).usage.switched_models == {}
    book.settle(book.reserve(lease, call()), replace(reply(1, 1), served_model="cheaper"))
    assert stage.reads.run(LOCAL_OWNER, lease.run_id).usage.switched_models == {"m": ("cheaper",)}


def test_marks_are_published_after_their_commit(stage: Stage, transactions: Transactions) -> None:
    """Whoever listens on Redis hears of limits of models when the ledger has them."""
    sent: list[Event] = []
    book = PostgresCallBook(transactions, publish=sent.extend)
    lease = working(stage, verification_calls=2)
    for _ in range(2):
        book.settle(book.reserve(lease, call(Phase.VERIFIER)), reply(1, 1))
    assert [(e.type, e.payload["used"]) for e in sent] == [("budget", 1), ("budget", 2)]
    stored = {e.seq: e for e in stage.reads.events(LOCAL_OWNER, lease.run_id, 0, 1000)}
    assert all(stored[e.seq].payload == e.payload for e in sent)


def test_a_rate_limit_in_planning_has_an_end(stage: Stage) -> None:
    """The clock of a run does not run while it is planned, so its limit bounds the waits of the plan."""
    run_id, created = stage.create(budget={"elapsed_s": 30})
    step_id = created.wake_ups[0].step_id
    wait = RateLimited("model:rate_limited", "The provider asks to wait: slow down.", 5.0)
    stage.ledger.fail(stage.claim(step_id), wait)
    assert stage.reads.run(LOCAL_OWNER, run_id).status == "planning"
    stage.rows("update steps set started_at = started_at - interval '28 seconds', not_before = now() returning 1")
    stage.ledger.fail(stage.claim(step_id), wait)
    run = stage.reads.run(LOCAL_OWNER, run_id)
    assert (run.status, run.stop_reason) == ("failed", "failed:plan")
    assert "slow down. The run's time limit allows no longer wait." in (run.last_error or "")
    assert "retry" in run.allowed_actions


def test_a_limit_too_small_for_the_plan_names_itself(stage: Stage) -> None:
    """No failure of the run's: it says which limit and what to do, and plans once that is raised."""
    run_id, created = stage.create(budget={"cost_usd": 0.0001})
    stage.ledger.fail(stage.claim(created.wake_ups[0].step_id), BudgetExhausted("cost_usd", 0.0001))
    run = stage.reads.run(LOCAL_OWNER, run_id)
    assert (run.status, run.stop_reason, run.report_version) == ("budget_exhausted", "budget:cost_usd", 0)
    assert "limit on cost_usd (0.0001)" in (run.last_error or "")
    assert "increase_budget" in (run.last_error or "")
    stage.act(run_id, "increase_budget", limits={"cost_usd": 5.0})
    run = stage.reads.run(LOCAL_OWNER, run_id)
    assert (run.status, run.stop_reason, run.last_error) == ("planning", None, None)
    [step_id] = stage.pending(run_id, "plan")
    stage.finish(step_id, Outcome("planned", plan=plan()))
    assert stage.status(run_id) == "awaiting_plan_approval"


def test_a_change_of_the_plan_that_had_no_room_is_made_once_it_has(stage: Stage) -> None:
    """The instruction is not lost, whether the limit is raised or a failure retried."""
    for error, action, more in (
        (BudgetExhausted("cost_usd", 1.0), "increase_budget", {"limits": {"cost_usd": 5.0}}),
        (Permanent("model:key", "no"), "retry", {}),
    ):
        run_id, _ = stage.planned(budget={"cost_usd": 1.0})
        stage.act(run_id, "refine", instruction="Only the north.")
        stage.ledger.fail(stage.claim(stage.pending(run_id, "revise_plan")[0]), error)
        stage.act(run_id, action, **more)
        [step_id] = stage.pending(run_id, "revise_plan")
        assert stage.claim(step_id).inputs["instruction"] == "Only the north."


def test_a_limit_on_cost_ends_research_and_can_be_raised(stage: Stage, transactions: Transactions) -> None:
    """The call that does not fit is not made; the run writes what it has, and goes on once the limit is raised."""
    book, lease = PostgresCallBook(transactions, PRICES), working(stage, cost_usd=0.02)
    book.settle(book.reserve(lease, call(most=500)), replace(reply(1000, 600), served_model="m"))
    with pytest.raises(BudgetExhausted) as caught:
        book.reserve(lease, call(most=500))
    stage.ledger.fail(lease, caught.value)
    run = stage.reads.run(LOCAL_OWNER, lease.run_id)
    assert (run.status, run.stop_reason, run.budget["cost_usd"]) == ("synthesizing", "budget:cost_usd", 0.02)


def test_without_a_price_a_limit_on_cost_lets_nothing_through(stage: Stage, book: PostgresCallBook) -> None:
    """A worker that does not know the price makes no call rather than one that it cannot count."""
    lease = working(stage, cost_usd=1.0)
    with pytest.raises(Permanent, match="LEADLINE_MODEL_PRICES") as caught:
        book.reserve(lease, call())
    assert caught.value.code == "model:price"


@dataclass(frozen=True)
class Try:
    """One call of a schedule: what it asks for, and what becomes of it."""

    phase: Phase
    chars: int
    most: int
    used_input: float
    """Share of the input bound that it turns out to use; over 1 is an overrun."""
    used_output: float
    ending: str


TRIES = st.builds(
    Try,
    phase=st.sampled_from(MODEL_PHASES),
    chars=st.integers(1, 1500),
    most=st.integers(1, 600),
    used_input=st.floats(0, 1.3),
    used_output=st.floats(0, 1),
    ending=st.sampled_from(["settle", "settle", "settle", "refuse", "fail", "crash"]),
)


def play(book: PostgresCallBook, lease: Lease, tries: Sequence[Try], overruns: list[int]) -> None:
    """Make the calls of one worker; a refusal by the budget is an answer like any other."""
    for item in tries:
        wanted = call(item.phase, "x" * item.chars, item.most)
        try:
            call_id = book.reserve(lease, wanted)
        except (BudgetExhausted, RateLimited):
            continue
        if item.ending == "settle":
            bound = wanted_by(wanted).input_tokens
            used = int(bound * item.used_input)
            overruns.append(max(used - bound, 0))
            book.settle(call_id, reply(used, int(item.most * item.used_output)))
        elif item.ending != "crash":
            book.fail(call_id, item.ending, charged=item.ending == "fail")


@given(schedules=st.lists(st.lists(TRIES, max_size=4), min_size=WORKERS, max_size=WORKERS))
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_schedule_exceeds_a_limit(schedules: list[list[Try]], transactions: Transactions) -> None:
    """Four workers, any order, crashes and overruns: calls and output stay within, input up to booked overruns."""
    stage, book = Stage(transactions, max_running=10_000), PostgresCallBook(transactions, PRICES)
    lease = working(stage, **BUDGET)
    overruns: list[int] = []
    threads = [threading.Thread(target=play, args=(book, lease, s, overruns)) for s in schedules]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    settled, under_way = booked(stage, lease.run_id)
    total = settled + under_way
    assert total.model_calls <= BUDGET["model_calls"]
    assert total.verification_calls <= BUDGET["verification_calls"]
    assert total.output_tokens <= BUDGET["output_tokens"]
    assert total.input_tokens <= BUDGET["input_tokens"] + sum(overruns)
    dearest = PRICES.prices["openai:m"].cost(sum(overruns), 0) or 0.0
    assert total.cost_usd <= BUDGET["cost_usd"] + dearest + 1e-9
    phases = transactions.run(lambda session: load_by_phase(session, lease.run_id))
    limits = stage.materials.facts(lease.run_id).limits
    for name in ("input_tokens", "output_tokens"):
        assert sum(p[name] for p in phases.values()) == getattr(total, name)
        researched = sum(p[name] for phase, p in phases.items() if Phase(phase) in RESEARCH_PHASES)
        slack = sum(overruns) if name == "input_tokens" else 0
        assert researched <= allowance(limits, name, research=True) + slack
    if settled.input_tokens >= BUDGET["input_tokens"]:
        with pytest.raises((BudgetExhausted, RateLimited)):
            book.reserve(lease, call(Phase.WRITER, most=1))


class Echo(BaseModel):
    """The answer of the scripted provider."""

    said: str


class CountingProvider:
    """Answers at once and counts; fails as often as it is told to."""

    def __init__(self, failures: int = 0) -> None:
        self.calls, self.failures, self.deadline_s = 0, failures, 0.0

    def complete(self, asked: Call) -> Reply:
        """Return the reply to one call."""
        self.calls += 1
        self.deadline_s = asked.deadline_s
        if self.calls <= self.failures:
            raise Transient("model:unavailable", "Down.")
        return Reply('{"said": "x"}', "stop", TokenUsage(5, 2, 1), "m-1", 0.0)


def asking(text: str = "Say.") -> ModelRequest[Echo]:
    """Return a question."""
    return ModelRequest(Phase.EXTRACTOR, "You echo.", text, Echo, 50, 10.0)


def models(stage: Stage, provider: Any, patience: float = 1.0) -> Models:
    """Return models over the book and the receipts of this database."""
    records = Records(stage.receipts, PostgresCallBook(stage.transactions))
    return Models(provider, dict.fromkeys(Phase, "m"), records, patience=patience)


@pytest.mark.parametrize("patience", [1.0, 4.0])
def test_a_slow_model_is_given_a_multiple_of_the_time(stage: Stage, patience: float) -> None:
    """The call's deadline is the request's, as often as the operator has patience."""
    provider = CountingProvider()
    models(stage, provider, patience).of(working(stage)).ask(asking())
    assert provider.deadline_s == pytest.approx(10 * patience)


def test_a_call_with_a_receipt_is_not_made_again(stage: Stage) -> None:
    """The next try of the step gets the kept reply; nothing is charged twice."""
    provider = CountingProvider()
    lease = working(stage)
    first = models(stage, provider).of(lease).ask(asking())
    stage.scalar(
        "update steps set leased_until = clock_timestamp() - interval '1 second' where id = :id returning 1",
        id=lease.step_id,
    )
    again = stage.claim(lease.step_id, "w2")
    second = models(stage, provider).of(again).ask(asking())
    assert (first.value, first.usage) == (second.value, second.usage)
    assert provider.calls == 1
    assert booked(stage, lease.run_id)[0] == Spend(1, 0, 5, 2)
    models(stage, provider).of(again).ask(asking("Say more."))
    assert provider.calls == 2


def test_a_failed_call_has_no_receipt(stage: Stage) -> None:
    """A typed retry is a new call, and both are in the book."""
    provider = CountingProvider(failures=1)
    lease = working(stage)
    model = models(stage, provider).of(lease)
    with pytest.raises(Transient):
        model.ask(asking())
    assert model.ask(asking()).value.said == "x"
    assert [r.status for r in stage.rows("select status from model_calls order by id")] == ["failed", "done"]


def test_a_step_over_budget_ends_research_with_what_there_is(stage: Stage, book: PostgresCallBook) -> None:
    """The run goes to synthesis and names the limit; it does not fail."""
    lease = working(stage, model_calls=2)
    book.settle(book.reserve(lease, call()), reply(1, 1))
    book.settle(book.reserve(lease, call()), reply(1, 1))
    with pytest.raises(BudgetExhausted) as caught:
        book.reserve(lease, call())
    stage.ledger.fail(lease, caught.value)
    run = stage.reads.run(LOCAL_OWNER, lease.run_id)
    assert (run.status, run.stop_reason) == ("synthesizing", "budget:model_calls")


def test_a_refused_key_fails_the_run_with_its_reason(stage: Stage) -> None:
    """No source is read without a model: the run stops at once and says why."""
    _, started = stage.researching()
    step_id = started.wake_ups[0].step_id
    lease = stage.claim(step_id)
    stage.ledger.fail(lease, Permanent("model:key", "The provider does not accept the key."))
    run = stage.reads.run(LOCAL_OWNER, lease.run_id)
    assert (run.status, run.last_error) == ("failed", "The provider does not accept the key.")
    assert stage.ledger.claim(step_id, ALL_KINDS, "w") is None
