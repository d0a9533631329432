"""The engine `baseline`: one question, one round, one prompt, the same gate."""

from dataclasses import replace

from services.planner.engines import engine_of
from services.synthesizer.verify import verify_bundle
from shared.contracts.runs import CreateRun, SourcePolicy
from tests.fakes.model import RuleModel
from tests.support.harbour_run import harbour_run, synthesize


def test_the_plan_is_the_question_itself() -> None:
    """A question of two parts stays one; each place is searched once, and nothing is decided after it."""
    run, _ = harbour_run()
    objective = "How deep is the basin and when does the lock open?"
    policy = SourcePolicy(documents_all=True)
    run.request = CreateRun(objective=objective, source_policy=policy)
    planner = engine_of("baseline", RuleModel())
    plan = planner.plan(run.facts("run"))  # type: ignore[arg-type]
    assert [q.text for q in plan.questions] == [objective]
    assert [(t.endpoint, t.query) for t in plan.search_tasks] == [("documents", objective.rstrip("?"))]
    assert len(plan.writing_plan) == 1
    revised = planner.revise(run.facts("run"), "Add the cost.")  # type: ignore[arg-type]
    assert revised.questions[0].text == f"{objective} Add the cost."


def test_the_report_passes_the_same_gate() -> None:
    """No summary is written by a call of its own, and the bundle verifies."""
    run, deps = harbour_run()
    run.engine = "baseline"
    model = RuleModel()
    synthesize(run, replace(deps, model_of=lambda _: model))
    assert {request.output.__name__ for request in model.asked} <= {"SectionText", "Verdicts", "Shortening"}
    [report] = run.reports
    assert report.engine == "baseline"
    assert report.verification.emitted > 0
    checked = verify_bundle(run.files["bundle"].data)
    assert checked.ok, checked.faults
