"""Managed runs over a real ledger: submitted once, looked at in persisted turns, never asked for twice."""

from collections.abc import Iterator

import pytest

from services.planner.jobs import research
from shared.db.engine import Transactions
from shared.domain.errors import Held, NotAllowed, Permanent, PutOff, RateLimited, Unconfirmed
from shared.domain.ids import LOCAL_OWNER, OwnerId
from shared.domain.managed import POLL_FAILURES
from shared.domain.prices import Price
from shared.ports.ledger import Outcome
from shared.ports.managed import JobRequest, NewJob
from tests.support.job_desk import AGENT, JobDesk, job_desk
from tests.support.job_server import GOOGLE, JOB_KEY, OPENAI, JobServer, Said, Script, job_server

PAGE = "https://port.test/basin"
REQUEST = JobRequest("Cite.", "How deep?", 1000, "run_1")
REPORT = [Said("The basin is 14 metres deep.", PAGE), Said("It was dug by the city's own barges.")]


@pytest.fixture(scope="module")
def server() -> Iterator[JobServer]:
    """The providers."""
    with job_server() as running:
        yield running


@pytest.fixture
def desk(transactions: Transactions, server: JobServer) -> Iterator[JobDesk]:
    """A ledger and a provider that starts afresh."""
    server.reset(Script(REPORT))
    with job_desk(transactions, server) as made:
        yield made


@pytest.mark.parametrize("wire", [GOOGLE, OPENAI])
def test_a_job_ends_in_sentences_and_candidates(transactions: Transactions, server: JobServer, wire: str) -> None:
    """One submission, a look for each turn, and a report in sentences with the pages that have to be read."""
    server.reset(Script(REPORT))
    with job_desk(transactions, server, wire) as desk:
        run_id = desk.submitted()
        job = desk.run(run_id).provider_job
        assert job is not None
        assert (job.provider, job.agent, job.state, job.handle) == (wire, AGENT, "running", next(iter(server.jobs)))
        assert isinstance(desk.turn(run_id), PutOff)
        outcome = desk.turn(run_id)
        assert isinstance(outcome, Outcome)
        assert dict(server.asked) == {"submit": 1, "look": 2}
        told = [(s["text"], len(s["source_ids"])) for s in outcome.result["sentences"]]
        assert told == [(REPORT[0].text, 1), (REPORT[1].text, 0)]
        assert [(item.source.url, item.search_key) for item in outcome.found] == [(PAGE, "managed")]
        assert [s.kind for s in desk.stage.reads.steps(LOCAL_OWNER, run_id)] == ["plan", "managed", "read_source"]
        used = desk.run(run_id).usage
        assert used.by_phase["managed"]["input_tokens"] == 120_000
        assert (used.model_calls, used.input_tokens, used.cost_usd) == (1, 0, None)
        assert desk.state() == "completed"


def test_waiting_is_told_and_costs_no_time(desk: JobDesk) -> None:
    """Each look that finds the job running is an event; the clock of the elapsed limit stands still meanwhile."""
    desk.server.script.looks = 3
    run_id = desk.submitted()
    for _ in range(3):
        desk.turn(run_id)
    told = [e.payload["message"] for e in desk.events if e.type == "progress"]
    assert told == [f"google is researching: {n} so far." for n in ("1 search", "2 searches", "3 searches")]
    assert desk.run(run_id).usage.elapsed_s < 60
    desk.stage.look()
    assert desk.stage.look() == []
    desk.turn(run_id)
    assert desk.stage.scalar("select active_since is not null from runs where id = :id", id=run_id)


def test_a_crash_after_the_submission_submits_nothing_again(desk: JobDesk) -> None:
    """The handle is kept before anything else, so the next try looks at the job that there is."""
    run_id = desk.start()
    lease = desk.claim(run_id)
    with pytest.raises(PutOff):
        research(desk.deps, lease)
    desk.stage.expire(lease)
    assert isinstance(desk.work(desk.stage.claim(lease.step_id)), PutOff)
    assert isinstance(desk.turn(run_id), Outcome)
    assert desk.server.asked["submit"] == 1


@pytest.mark.parametrize("mode", ["lost", "submit-500", "submit-junk"])
def test_a_submission_without_an_answer_is_never_repeated(desk: JobDesk, mode: str) -> None:
    """The run fails with what to do; its job counts as paid, and a retry does not ask for another."""
    desk.server.script.mode = mode
    run_id = desk.start()
    assert isinstance(desk.turn(run_id), Unconfirmed)
    run = desk.run(run_id)
    assert (run.status, run.stop_reason) == ("failed", "failed:managed")
    assert "Look in your account" in (run.last_error or "")
    assert (desk.state(), desk.calls()) == ("indeterminate", [("failed", "managed:indeterminate")])
    desk.server.script.mode = "ok"
    desk.stage.act(run_id, "retry")
    desk.stage.ledger.admit(LOCAL_OWNER)
    assert isinstance(desk.turn(run_id), Unconfirmed)
    assert desk.server.asked["submit"] == 1
    assert [status for status, _ in desk.calls()] == ["failed", "refused"]


def test_a_crash_during_the_submission_is_an_unanswered_one(desk: JobDesk) -> None:
    """Nobody knows whether the request had left when the worker died."""
    run_id = desk.start()
    lease = desk.claim(run_id)
    desk.jobs.begin(lease, NewJob(GOOGLE, AGENT, desk.provider.credential, "0" * 64, "mdl_1"))
    desk.stage.expire(lease)
    assert isinstance(desk.work(desk.stage.claim(lease.step_id)), PutOff)
    assert desk.state() == "submitting"
    desk.grow_old()
    assert isinstance(desk.turn(run_id), Unconfirmed)
    assert desk.server.asked["submit"] == 0
    assert desk.state() == "indeterminate"


def test_a_handle_that_a_lost_worker_still_brings_is_used(desk: JobDesk) -> None:
    """A worker that lost its lease while it submitted keeps the handle all the same, and the next one goes on."""
    run_id = desk.start()
    lease = desk.claim(run_id)
    job = desk.jobs.begin(lease, NewJob(GOOGLE, AGENT, desk.provider.credential, "0" * 64, "mdl_1"))
    desk.stage.expire(lease)
    assert isinstance(desk.work(desk.stage.claim(lease.step_id)), PutOff)
    desk.jobs.accepted(job.job_id, desk.provider.submit(REQUEST).handle)
    desk.turn(run_id)
    assert isinstance(desk.turn(run_id), Outcome)
    assert desk.server.asked["submit"] == 1


def test_what_was_refused_may_be_asked_for_again(desk: JobDesk) -> None:
    """A rate limit puts the submission off; a refusal fails the run; neither costs anything."""
    desk.server.script.mode = "submit-429"
    run_id = desk.start()
    assert isinstance(desk.turn(run_id), RateLimited)
    assert (desk.state(), desk.calls()) == (None, [("refused", "model:rate_limited")])
    desk.server.script.mode = "submit-400"
    assert isinstance(desk.turn(run_id), Permanent)
    assert desk.run(run_id).status == "failed"
    desk.server.script.mode = "ok"
    desk.stage.act(run_id, "retry")
    desk.stage.ledger.admit(LOCAL_OWNER)
    assert isinstance(desk.turn(run_id), PutOff)
    assert len(desk.server.jobs) == 1


@pytest.mark.parametrize("mode", ["look-500", "look-junk", "look-huge"])
def test_five_failed_looks_in_a_row_pause_the_run(desk: JobDesk, mode: str) -> None:
    """Each waits longer than the one before; resumed, the run goes on with the same job."""
    run_id = desk.submitted()
    desk.server.script.mode = mode
    waits = []
    for _ in range(POLL_FAILURES - 1):
        assert isinstance(desk.turn(run_id), PutOff)
        wait = "select extract(epoch from not_before - clock_timestamp()) from steps where kind = 'managed'"
        waits.append(float(desk.stage.scalar(wait)))
    assert waits == sorted(waits)
    assert waits[-1] > 100
    assert isinstance(desk.turn(run_id), Held)
    run = desk.run(run_id)
    assert (run.status, run.allowed_actions) == ("paused", ("resume", "refine", "cancel"))
    assert "5 times in a row" in (run.last_error or "")
    reasons = [e.payload["reason"] for e in desk.stage.reads.events(LOCAL_OWNER, run_id, 0, 100) if "to" in e.payload]
    assert reasons[-1] == "provider"
    desk.server.script.mode = "ok"
    desk.stage.act(run_id, "resume")
    desk.turn(run_id)
    assert isinstance(desk.turn(run_id), Outcome)
    assert desk.run(run_id).last_error is None
    assert desk.server.asked["submit"] == 1


def test_a_look_that_works_forgives_the_failed_ones(desk: JobDesk) -> None:
    """Five failures count only in a row."""
    desk.server.script.looks = 99
    run_id = desk.submitted()
    for _ in range(3):
        for mode in ("look-500",) * (POLL_FAILURES - 1) + ("ok",):
            desk.server.script.mode = mode
            assert isinstance(desk.turn(run_id), PutOff)
    assert desk.run(run_id).status == "researching"


def test_a_job_is_looked_at_with_its_own_key_alone(desk: JobDesk) -> None:
    """Another key is told by name and asks nothing; the old one goes on."""
    run_id = desk.submitted()
    desk.provider = desk.with_key("another-key")
    error = desk.turn(run_id)
    assert isinstance(error, Held)
    assert error.code == "managed:other_key"
    assert desk.server.asked["look"] == 0
    run = desk.run(run_id)
    assert run.status == "paused"
    assert "THE_KEY" in (run.last_error or "")
    assert "another-key" not in (run.last_error or "")
    desk.provider = desk.with_key(JOB_KEY)
    desk.stage.act(run_id, "resume")
    assert isinstance(desk.turn(run_id), PutOff)


def test_a_job_of_another_owner_is_not_looked_at(desk: JobDesk) -> None:
    """A handle gives nobody a right to what it stands for."""
    desk.stage.other_owner("own_2")
    run_id = desk.start(OwnerId("own_2"))
    desk.turn(run_id)
    desk.stage.scalar("update managed_jobs set owner_id = 'own_local' returning 1")
    error = desk.turn(run_id)
    assert isinstance(error, NotAllowed)
    assert error.code == "managed:other_owner"
    assert desk.server.asked["look"] == 0


def test_a_key_that_is_refused_pauses_the_run(desk: JobDesk) -> None:
    """The job is not given up for a key that has been revoked or has run out of credit."""
    run_id = desk.submitted()
    desk.server.key = "the provider knows another key now"
    error = desk.turn(run_id)
    assert isinstance(error, Held)
    assert error.code == "model:key"
    assert desk.run(run_id).status == "paused"


@pytest.mark.parametrize(("mode", "booked"), [("failed", "failed"), ("cancelled", "failed"), ("empty", "done")])
def test_a_job_without_a_report_fails_the_run(desk: JobDesk, mode: str, booked: str) -> None:
    """The provider's reason is told, what was used is booked, and a retry asks for a job of its own."""
    desk.server.reset(Script(REPORT, mode, looks=0))
    run_id = desk.submitted()
    assert isinstance(desk.turn(run_id), Permanent)
    run = desk.run(run_id)
    assert (run.status, run.stop_reason) == ("failed", "failed:managed")
    assert "gave no report" in (run.last_error or "")
    if mode == "failed":
        assert "The agent gave up." in (run.last_error or "")
    assert desk.calls()[0][0] == booked
    assert desk.stage.sweep.orphaned_jobs(100) == ()
    desk.stage.act(run_id, "retry")
    desk.stage.ledger.admit(LOCAL_OWNER)
    desk.turn(run_id)
    assert desk.server.asked["submit"] == 2


def test_an_incomplete_report_is_used_and_told(desk: JobDesk) -> None:
    """What a job wrote before it ended early is checked like anything else."""
    desk.server.reset(Script(REPORT, "incomplete", looks=0))
    outcome = desk.turn(desk.submitted())
    assert isinstance(outcome, Outcome)
    assert "ended early" in outcome.summary


def test_a_limit_on_cost_reserves_the_worst_case(transactions: Transactions, server: JobServer) -> None:
    """What may cost more than is allowed is not submitted; what fits is booked at what it used."""
    server.reset(Script(REPORT, looks=0))
    price = Price(2.0, 8.0, 0.5)
    with job_desk(transactions, server, **{f"google:{AGENT}": price}) as desk:
        run_id = desk.start(cost_usd=5.0)
        desk.turn(run_id)
        run = desk.run(run_id)
        assert server.asked["submit"] == 0
        assert run.status == "synthesizing"
        assert (run.stop_reason, run.usage.model_calls) == ("budget:cost_usd", 0)
        assert "limit on cost_usd" in (run.last_error or "")
        again = desk.submitted(cost_usd=50.0)
        desk.turn(again)
        assert desk.run(again).usage.cost_usd == pytest.approx(price.cost(120_000, 9_000, 20_000))


def test_a_limit_on_cost_needs_a_known_price(desk: JobDesk) -> None:
    """A price that nobody has told is never guessed."""
    run_id = desk.start(cost_usd=50.0)
    error = desk.turn(run_id)
    assert isinstance(error, Permanent)
    assert error.code == "model:price"
    assert desk.server.asked["submit"] == 0
