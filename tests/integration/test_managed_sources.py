"""What a managed run may be given: the web alone, and no search of its own in the plan."""

import pytest

from shared.contracts.plan import SearchTask
from shared.contracts.runs import CreateRun, SourcePolicy, WebPolicy
from shared.db.engine import Transactions
from shared.domain.errors import Invalid
from shared.domain.ids import LOCAL_OWNER, RunId
from shared.ports.gateway import PlanEdit
from shared.ports.ledger import Outcome
from tests.support.stage import Stage, plan


@pytest.fixture
def stage(transactions: Transactions) -> Stage:
    """A ledger where no search provider is configured."""
    return Stage(transactions)


def created(stage: Stage, policy: SourcePolicy) -> RunId:
    """Create a managed run with this policy."""
    request = CreateRun(objective="How deep is it?", source_policy=policy)
    run_id, committed = stage.controls.create_run(LOCAL_OWNER, request, None, "managed:google")
    made = plan().model_copy(update={"search_tasks": ()})
    stage.finish(committed.wake_ups[0].step_id, Outcome("planned", plan=made))
    return run_id


def test_no_search_provider_is_needed(stage: Stage) -> None:
    """The provider searches; domains still bind what this run reads."""
    created(stage, SourcePolicy())
    created(stage, SourcePolicy(web=WebPolicy(mode="only_domains", domains=("port.test",))))


@pytest.mark.parametrize(
    ("policy", "field"),
    [
        (SourcePolicy(documents_all=True), "source_policy.document_ids"),
        (SourcePolicy(document_ids=("doc_1",), web=WebPolicy(mode="full_web")), "source_policy.document_ids"),
        (SourcePolicy(urls=("https://port.test/",)), "source_policy.urls"),
        (SourcePolicy(web=WebPolicy(mode="none")), "source_policy.web.mode"),
        (SourcePolicy(web=WebPolicy(mode="only_domains")), "source_policy.web.domains"),
    ],
)
def test_what_the_provider_cannot_use_is_refused(stage: Stage, policy: SourcePolicy, field: str) -> None:
    """Private documents never leave for a provider, and nothing is passed over in silence."""
    with pytest.raises(Invalid) as caught:
        created(stage, policy)
    assert caught.value.field == field


def test_an_edited_plan_makes_no_search_and_keeps_to_the_web(stage: Stage) -> None:
    """The same rules hold when the plan is changed."""
    run_id = created(stage, SourcePolicy())
    made = plan(2).model_copy(update={"search_tasks": ()})
    stage.controls.edit_plan(LOCAL_OWNER, run_id, PlanEdit(1, made, None, {}))
    task = SearchTask(question_ids=("q1",), query="depth", endpoint="web")
    searching = made.model_copy(update={"search_tasks": (task,)})
    with pytest.raises(Invalid, match="searches by itself"):
        stage.controls.edit_plan(LOCAL_OWNER, run_id, PlanEdit(2, searching, None, {}))
    with pytest.raises(Invalid, match="cannot read documents"):
        stage.controls.edit_plan(LOCAL_OWNER, run_id, PlanEdit(2, made, SourcePolicy(documents_all=True), {}))
