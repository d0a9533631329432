"""Six questions over the harbor corpus, end to end over HTTP: facts, conflicts, copies, orders, gaps, bundles."""

import json
from pathlib import Path

import pytest

from evals.graders.facts import Case, grade, load_cases
from services.synthesizer.verify import verify_bundle
from tests.support.api import Api
from tests.support.stack import Stack

CASES = load_cases(Path(__file__).parents[2] / "evals" / "cases" / "harbor.json")
EXIT_OF = {"completed": 0, "budget_exhausted": 3}


def exit_code(run: dict[str, object]) -> int:
    """Return the exit code that ``leadline ask`` would end with."""
    return 4 if run["stop_reason"] == "no_evidence" else EXIT_OF[str(run["status"])]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.id)
def test_the_reference_facts_are_in_the_report(case: Case, api: Api, documents: list[str], stack: Stack) -> None:
    """Each question is answered with its facts and nothing forbidden, and its bundle verifies offline."""
    run_id = api.ask(case.question, documents, as_of=case.as_of.isoformat() if case.as_of else None)
    run = api.finish(run_id)
    assert exit_code(run) == case.expect_exit, (run, stack.log("synthesizer")[-2000:])
    report = api.json(f"/research-runs/{run_id}/report")
    result = grade(case, report)
    assert result.passed, (result, json.dumps(report, indent=1)[:4000])
    bundle = api.call("GET", f"/research-runs/{run_id}/bundle").content
    checked = verify_bundle(bundle)
    assert checked.ok, checked.faults


def test_both_totals_of_the_conflict_are_shown(api: Api, documents: list[str]) -> None:
    """The contradiction names both figures, cites both sides, and the copy of one of them is not a side."""
    run_id = api.ask(next(c.question for c in CASES if c.kind == "conflict"), documents)
    api.finish(run_id)
    report = api.json(f"/research-runs/{run_id}/report")
    [conflict] = report["contradictions"]
    assert "412,600" in conflict["summary"]
    assert "1,184,000" in conflict["summary"]
    evidence = {e["evidence_id"]: e for e in api.json(f"/research-runs/{run_id}/evidence")["evidence"]}
    sources = {s["source_id"]: s for s in api.json(f"/research-runs/{run_id}/sources")["sources"]}
    sides = [sources[evidence[i]["source_id"]] for i in conflict["evidence_ids"]]
    assert len(sides) == 2
    copies = [s for s in sources.values() if s["duplicate_of"]]
    assert [s["status"] for s in copies] == ["duplicate"]
    assert not {s["source_id"] for s in copies} & {s["source_id"] for s in sides}


def test_every_citation_is_in_the_fetch_log(api: Api, documents: list[str]) -> None:
    """Every cited source has a fetch row of this run with the same content hash and no refusal."""
    run_id = api.ask(CASES[0].question, documents)
    api.finish(run_id)
    report = api.json(f"/research-runs/{run_id}/report")
    fetches = {f["source_id"]: f for f in api.json(f"/research-runs/{run_id}/fetches")["fetches"]}
    sources = {s["source_id"]: s for s in api.json(f"/research-runs/{run_id}/sources")["sources"]}
    assert report["citations"]
    for citation in report["citations"]:
        fetch, source = fetches[citation["source_id"]], sources[citation["source_id"]]
        assert fetch["refusal"] is None
        assert fetch["content_sha256"] == source["content_sha256"]


def test_a_fact_in_a_pdf_is_cited_by_page(api: Api, documents: list[str]) -> None:
    """The locator of the first case's answer names page 3."""
    run_id = api.ask(CASES[0].question, documents)
    api.finish(run_id)
    report = api.json(f"/research-runs/{run_id}/report")
    cited = report["short_answer"]["evidence_ids"]
    pages = {c["locator"]["page"] for c in report["citations"] if set(cited) & set(c["evidence_ids"])}
    assert pages == {3}


def test_the_same_question_gives_the_same_evidence(api: Api, documents: list[str]) -> None:
    """Same inputs, same run: evidence and the report's sentences do not depend on chance."""
    question = next(c.question for c in CASES if c.kind == "multi_document")
    runs = [api.ask(question, documents) for _ in range(2)]
    for run_id in runs:
        api.finish(run_id)
    assert api.evidence_spans(runs[0]) == api.evidence_spans(runs[1])
    texts = [json.dumps(_texts(api.json(f"/research-runs/{r}/report"))) for r in runs]
    assert texts[0] == texts[1]


def _texts(report: dict[str, object]) -> list[str]:
    found: list[str] = []

    def walk(value: object) -> None:
        if isinstance(value, dict):
            if "evidence_ids" in value and "text" in value:
                found.append(str(value["text"]))
            for child in value.values():
                walk(child)
        elif isinstance(value, list):
            for child in value:
                walk(child)

    walk(report)
    return found
