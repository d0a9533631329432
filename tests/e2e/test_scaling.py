"""More workers: a queue of runs gets shorter while it is worked on, and no result changes."""

from sqlalchemy import create_engine, text

from evals.graders.facts import load_cases
from tests.support.api import Api
from tests.support.harbor_site import CASES_FILE
from tests.support.stack import Stack

QUESTION = next(c.question for c in load_cases(CASES_FILE) if c.kind == "multi_document")
WORKERS = ("planner", "fetcher", "extractor", "synthesizer")
RUNS = 6


def test_workers_added_while_runs_go_share_the_work(api: Api, documents: list[str], stack: Stack) -> None:
    """A second worker of each kind, started while runs wait, takes steps of them; every run ends with the same."""
    alone = api.ask(QUESTION, documents)
    api.complete(alone)
    wanted = api.evidence_spans(alone)
    runs = [api.ask(QUESTION, documents) for _ in range(RUNS)]
    stack.start(*(f"{name}-2" for name in WORKERS))
    later = [api.ask(QUESTION, documents) for _ in range(RUNS)]
    for run_id in (*runs, *later):
        api.complete(run_id)
        assert api.evidence_spans(run_id) == wanted
    assert workers_of(stack, "extractor") == 2


def workers_of(stack: Stack, queue: str) -> int:
    """Return how many processes of a queue have ended steps, from the ledger's own attempts."""
    engine = create_engine(stack.database_url)
    try:
        with engine.connect() as connection:
            found = connection.execute(
                text("select count(distinct worker) from attempts where outcome = 'done' and worker like :queue"),
                {"queue": f"{queue}.%"},
            )
            return int(found.scalar_one())
    finally:
        engine.dispose()
