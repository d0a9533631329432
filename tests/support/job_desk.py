"""Managed runs over a real ledger and providers on loopback; a test lets each step have its turn."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from services.planner import jobs
from services.planner.jobs import JobDeps
from shared.adapters.model.endpoint import Endpoint
from shared.adapters.model.job_providers import JobsOnDemand
from shared.contracts.events import Event
from shared.contracts.runs import Budget, CreateRun, Run
from shared.db.engine import Transactions
from shared.db.managed_jobs import PostgresJobs
from shared.db.model_calls import PostgresCallBook
from shared.domain.errors import StepError
from shared.domain.ids import LOCAL_OWNER, OwnerId, RunId
from shared.domain.prices import PriceTable
from shared.ports.ledger import Lease, Outcome
from shared.ports.managed import Managed
from tests.support.job_server import GOOGLE, JOB_KEY, JobServer
from tests.support.stage import Stage, plan

AGENT = "deep-research-test"
HANDLERS = {"managed": jobs.research, "cancel_job": jobs.cancel_job}
LONG_S = 3600.0


@dataclass
class JobDesk:
    """A ledger with managed runs, and what the planner's worker has."""

    transactions: Transactions
    server: JobServer
    wire: str = GOOGLE
    prices: Mapping[str, Any] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Open the adapters."""
        self.stage = Stage(self.transactions)
        self.jobs = PostgresJobs(self.transactions, self.events.extend)
        self.book = PostgresCallBook(self.transactions, PriceTable(self.prices))
        self.provider = self.with_key(JOB_KEY)

    def with_key(self, key: str) -> JobsOnDemand:
        """Return the provider as a worker with this key has it."""
        base = self.server.address if self.wire == GOOGLE else self.server.openai_url
        return JobsOnDemand(self.wire, Endpoint(base, key, "THE_KEY", "THE_URL"), AGENT)

    @property
    def deps(self) -> JobDeps:
        """What the handlers are given."""
        return JobDeps(self.stage.materials, Managed(self.jobs, self.book, {self.wire: self.provider}))

    def start(self, owner: OwnerId = LOCAL_OWNER, **budget: float) -> RunId:
        """Create a run and bring it to where its job is to be submitted."""
        request = CreateRun(objective="How deep is it?", auto_approve=True, budget=Budget(**budget))
        run_id, created = self.stage.controls.create_run(owner, request, None, f"managed:{self.wire}")
        made = plan().model_copy(update={"search_tasks": ()})
        self.stage.finish(created.wake_ups[0].step_id, Outcome("planned", plan=made))
        self.stage.ledger.admit(owner)
        return run_id

    def claim(self, run_id: RunId, kind: str = "managed") -> Lease:
        """Lease the pending step of a run, however long it was put off."""
        self.stage.lapse(LONG_S)
        [step_id] = self.stage.pending(run_id, kind)
        return self.stage.claim(step_id)

    def turn(self, run_id: RunId, kind: str = "managed") -> Outcome | StepError:
        """Let the pending step of a run have its turn, as a worker would; return what came of it."""
        return self.work(self.claim(run_id, kind))

    def work(self, lease: Lease) -> Outcome | StepError:
        """Do the work of a lease and commit or fail it."""
        try:
            outcome = HANDLERS[lease.kind](self.deps, lease)
        except StepError as error:
            self.stage.ledger.fail(lease, error)
            return error
        self.stage.ledger.commit(lease, outcome)
        return outcome

    def submitted(self, **budget: float) -> RunId:
        """Start a run whose job has been submitted."""
        run_id = self.start(**budget)
        self.turn(run_id)
        return run_id

    def cancelling(self) -> RunId:
        """Do what the sweeper does about jobs that nobody waits for; return the one run that cancels."""
        for job_id in self.stage.sweep.orphaned_jobs(100):
            self.stage.sweep.cancel_job(job_id)
        [row] = self.stage.rows("select id from runs where kind = 'cancel_job'")
        return RunId(row.id)

    def grow_old(self) -> None:
        """Let the jobs be older than any worker that could still wait for their submission."""
        self.stage.rows("update managed_jobs set created_at = created_at - interval '10 minutes' returning 1")

    def run(self, run_id: RunId) -> Run:
        """Return the run object."""
        return self.stage.reads.run(LOCAL_OWNER, run_id)

    def state(self) -> str | None:
        """Return the state of the one job that there is."""
        rows = self.stage.rows("select state from managed_jobs")
        return rows[0].state if rows else None

    def calls(self) -> list[tuple[str, str | None]]:
        """Return how the calls at the provider are booked."""
        return [tuple(r) for r in self.stage.rows("select status, outcome from model_calls order by id")]

    def close(self) -> None:
        """Close connections."""
        self.provider.close()


@contextmanager
def job_desk(transactions: Transactions, server: JobServer, wire: str = GOOGLE, **prices: Any) -> Iterator[JobDesk]:
    """Yield a desk and close what it opened."""
    desk = JobDesk(transactions, server, wire, prices)
    try:
        yield desk
    finally:
        desk.close()
