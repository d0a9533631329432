"""What a run makes of its sources does not depend on which of its searches ended first."""

import pytest

from shared.contracts.evidence import Source
from shared.db.engine import Transactions
from shared.domain.ids import LOCAL_OWNER, StepId
from shared.ports.ledger import FoundSource, Outcome
from tests.support.stage import Stage, plan


def candidates(key: str, *names: str) -> tuple[FoundSource, ...]:
    """Return what a search finds, the best first."""
    return tuple(
        FoundSource(
            Source(
                source_id=f"src_{key[-2:]}{name}",
                kind="document",
                status="candidate",
                url=f"leadline:document/{name}",
                canonical_url=f"leadline:document/{name}",
                document_id=f"doc_{name}",
            ),
            key,
            rank,
        )
        for rank, name in enumerate(names)
    )


@pytest.mark.parametrize("backwards", [False, True])
def test_sources_stand_in_the_order_of_the_searches(transactions: Transactions, backwards: bool) -> None:
    """Two searches end in either order: the sources stand in the order of the plan, the best of each search first."""
    stage = Stage(transactions)
    run_id, created = stage.create()
    stage.finish(created.wake_ups[0].step_id, Outcome("planned", plan=plan(2)))
    stage.act(run_id, "approve_plan", expected_version=1)
    stage.ledger.admit(LOCAL_OWNER)
    found = {"i01:search:01": ("b", "a"), "i01:search:02": ("c", "a", "d")}
    steps = {row.key: StepId(row.id) for row in stage.rows("select id, key from steps where kind = 'search'")}
    for key in sorted(found, reverse=backwards):
        stage.finish(steps[key], Outcome("found", found=candidates(key, *found[key])))
    assert [s.document_id for s in stage.materials.sources(run_id)] == ["doc_b", "doc_a", "doc_c", "doc_d"]
