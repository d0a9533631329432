"""Searches of the fetcher over a real ledger and providers of the tests' own."""

from dataclasses import dataclass, field
from typing import Any

from services.fetcher import handlers
from services.fetcher.deps import Deps, RankingSeat, SearchDesk, SearchSeat, Web
from services.fetcher.net.messages import Fetch as FetchFunction
from services.fetcher.net.messages import Fetched, FetchRequest, Gate
from services.fetcher.search.contract import Account
from services.fetcher.search.providers import FACTORIES
from services.fetcher.search.reranking import Reranker
from services.fetcher.web import WayOut, fetch
from shared.contracts.plan import Plan, PlannedSection, Question, SearchTask
from shared.contracts.runs import CreateRun, SourcePolicy
from shared.db.controls import PostgresControls
from shared.db.services import PostgresServiceStates
from shared.db.sites import PostgresRobots, PostgresSites
from shared.domain.errors import StepError
from shared.domain.ids import LOCAL_OWNER, RunId, StepId
from shared.domain.urls import Url
from shared.guards.addresses import Allowance
from shared.ports.ledger import Lease, Outcome
from tests.support.search_apis import KEY, FakeApi
from tests.support.site import Site
from tests.support.stage import Stage


@dataclass
class SearchStage:
    """A ledger, and the providers and the reranker that are configured; ``slept`` is what was waited in place."""

    stage: Stage
    site: Site
    seats: list[SearchSeat] = field(default_factory=list)
    ranking: RankingSeat | None = None
    delay_s: float = 0.0
    slept: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Use controls that may search the web."""
        self.stage.controls = PostgresControls(self.stage.transactions, web_search=True)

    def provider(self, name: str) -> FakeApi:
        """Configure a provider; return its server."""
        api = FakeApi(self.site, name)
        provider = FACTORIES[name](Account(api.base_url, KEY))
        self.seats.append(SearchSeat(provider, self._way_to(provider.endpoint)))
        return api

    def reranker(self, name: str, url: str) -> None:
        """Configure a reranker at an address."""
        reranker = Reranker(name, Account(url, KEY))
        self.ranking = RankingSeat(reranker, self._way_to(reranker.endpoint))

    def deps(self) -> Deps:
        """Return the fetcher's dependencies."""
        stage = self.stage
        slots, robots = PostgresSites(stage.transactions), PostgresRobots(stage.transactions)
        web = Web(_no_pages, slots, robots, "Leadline", self.delay_s, self.slept.append)
        desk = SearchDesk(tuple(self.seats), self.ranking) if self.seats else None
        states = PostgresServiceStates(stage.transactions)
        return Deps(stage.materials, stage.index, stage.receipts, stage.blobs, web, desk, states=states)

    def run(
        self, endpoint: str = "web", query: str = "How deep is basin 7?", results: int = 10, **policy: Any
    ) -> RunId:
        """Create a run with one search and bring it to its research."""
        values = {"web": {"mode": "full_web"}, **policy}
        request = CreateRun(objective=query, source_policy=SourcePolicy.model_validate(values))
        run_id, created = self.stage.controls.create_run(LOCAL_OWNER, request, None, "extractive")
        task = SearchTask(question_ids=("q1",), query=query, endpoint=endpoint, result_count=results)  # type: ignore[arg-type]
        plan = Plan(
            title="Depth",
            objective="How deep?",
            questions=(Question(id="q1", text="How deep is the basin?"),),
            search_tasks=(task,),
            writing_plan=(PlannedSection(id="s1", title="Depth", question_ids=("q1",)),),
        )
        self.stage.finish(created.wake_ups[0].step_id, Outcome("planned", plan=plan))
        self.stage.act(run_id, "approve_plan")
        self.stage.ledger.admit(LOCAL_OWNER)
        return run_id

    def claim(self, run_id: RunId) -> Lease:
        """Lease the run's search, whenever it is due."""
        wanted = "select id from steps where run_id = :run and kind = 'search' and status <> 'completed' order by key"
        step_id = StepId(self.stage.rows(wanted, run=run_id)[0][0])
        self.stage.rows("update steps set not_before = clock_timestamp() where id = :id returning 1", id=step_id)
        return self.stage.claim(step_id)

    def attempt(self, run_id: RunId) -> Outcome:
        """Work on the run's search once; what comes of it is recorded in the ledger."""
        lease = self.claim(run_id)
        try:
            outcome = handlers.search(self.deps(), lease)
        except StepError as error:
            self.stage.ledger.fail(lease, error)
            raise
        assert self.stage.ledger.commit(lease, outcome) is not None
        return outcome

    def make_time_pass(self) -> None:
        """Let slots be free and places in the line be forgotten."""
        for table, change in (
            ("sites", "next_start = clock_timestamp(), held_until = clock_timestamp()"),
            ("site_waits", "at = clock_timestamp() - interval '2 minutes'"),
        ):
            self.stage.rows(f"update {table} set {change} returning 1")

    def _way_to(self, endpoint: Url) -> FetchFunction:
        allowance = Allowance(endpoints=frozenset({(endpoint.host, endpoint.port)}))
        way = WayOut(allowance, lambda host, timeout_s: ["127.0.0.1"], user_agent="Leadline/0.1")
        return lambda request, gate: fetch(request, gate, way)


def _no_pages(request: FetchRequest, gate: Gate) -> Fetched:
    raise AssertionError(f"a search reads no page, but {request.url} was asked for")
