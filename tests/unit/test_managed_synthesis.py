"""The report of a managed run: the provider's sentences, checked with a model or without one, never let through."""

from dataclasses import replace

import pytest

from services.synthesizer.verify import verify_bundle
from shared.adapters.model.providers import no_model
from shared.contracts.managed import ToldReport, ToldSentence
from shared.contracts.report import Report
from shared.domain.managed import MANAGED_KEY
from shared.ports.model import ModelOf
from tests.fakes.model import RuleModel
from tests.support.harbour_run import AUTHORITY_SENTENCE, harbour_run, synthesize

VERBATIM = AUTHORITY_SENTENCE
REPHRASED = "The authority counted 312,600 cubic metres for the Deep Basin Project in 2021."
WRONG = "For the Deep Basin Project the authority counted 412,600 cubic metres in the year 2021."
ELSEWHERE = "The new lock will open to ships on 4 September 2023."
UNCITED = "Everybody was pleased with the dredging."


def told() -> ToldReport:
    """Return a report of which two sentences are true of the page that they cite."""
    cited = (("src_authority", VERBATIM), ("src_authority", REPHRASED), ("src_authority", WRONG))
    sentences = [ToldSentence(text=text, question_id="q1", source_ids=(source,)) for source, text in cited]
    other = ToldSentence(text=ELSEWHERE, question_id="q2", source_ids=("src_authority",))
    uncited = ToldSentence(text=UNCITED, question_id="q2")
    return ToldReport(sentences=(*sentences, other, uncited), omitted=1, refused=("ftp://x.test/",))


def report_of(model_of: ModelOf) -> tuple[Report, dict[str, str]]:
    """Synthesize the run; return its report, whose bundle verifies, and the verdicts by text."""
    run, deps = harbour_run()
    run.engine = "managed:google"
    run.results[MANAGED_KEY] = told().model_dump(mode="json")
    synthesize(run, replace(deps, model_of=model_of))
    checked = verify_bundle(run.files["bundle"].data)
    assert checked.ok, checked.faults
    return run.reports[0], {row.text: row.verdict for row in run.judged.values()}


@pytest.mark.parametrize("with_model", [False, True])
def test_only_what_a_page_of_the_run_bears_out_stands(with_model: bool) -> None:
    """A wrong figure, another page's fact and a sentence without a page are dropped, whoever wrote them so well."""
    model = RuleModel()
    report, verdicts = report_of((lambda _: model) if with_model else no_model)
    blocks = [block for section in report.sections for block in section.blocks]
    texts = [s.text for block in blocks if block.type == "paragraph" for s in block.statements]
    assert VERBATIM in texts
    assert REPHRASED in texts
    assert {verdicts[text] for text in (WRONG, UNCITED)} == {"unsupported"}
    assert verdicts[ELSEWHERE] != "supported"
    assert report.verification.statements == len(verdicts) == 5
    assert bool(model.asked) is with_model
    assert {m.output.__name__ for m in model.asked} <= {"Verdicts", "Shortening"}


def test_what_was_left_out_is_told() -> None:
    """Gaps name the addresses that may not be read and the question that nothing answers."""
    report, _ = report_of(no_model)
    gaps = " ".join(gap.description for gap in report.gaps)
    assert "ftp://x.test/" in gaps
    assert "Not found" in gaps
    assert any("5 sentences" in line and "1 row or passage" in line for line in report.methodology)


def test_a_run_without_a_job_s_report_has_one_of_gaps() -> None:
    """A limit may end the run before the provider has told anything."""
    run, deps = harbour_run()
    run.engine = "managed:openai"
    synthesize(run, replace(deps, model_of=no_model), "budget_exhausted")
    assert run.reports[0].verification.statements == 0
    assert run.results["assemble"]["findings"] == 0
