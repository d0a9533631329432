"""Synthesis with a model: sentences from cards, verdicts by batch, the mechanical gate first and final."""

import re
from dataclasses import replace
from typing import Any

import pytest

from services.synthesizer import handlers
from services.synthesizer.engines.baseline import BaselineSynthesis
from services.synthesizer.engines.extractive import ExtractiveSynthesis
from services.synthesizer.engines.llm import LlmSynthesis
from services.synthesizer.engines.managed import ManagedSynthesis
from services.synthesizer.gate.again import judge_again
from services.synthesizer.gate.context import GateContext, gate_context
from services.synthesizer.gate.judge import judge_all
from services.synthesizer.prompts.cards import card
from services.synthesizer.prompts.shorten import Shortening
from services.synthesizer.prompts.verify import Verdicts
from services.synthesizer.prompts.write import SectionText, SummaryText
from services.synthesizer.rules.cards import fitted, tokens_of
from services.synthesizer.rules.citing import statements_of
from services.synthesizer.rules.methodology import counted
from services.synthesizer.rules.prose import SUMMARY, section_drafts, summary_drafts
from services.synthesizer.rules.verdicts import BATCH
from services.synthesizer.rules.writing import ROUND_PLACES, SectionTask, WritingBrief
from services.synthesizer.verify import verify_bundle
from shared.contracts.report import Derived, Statement
from shared.domain.budget import Depth
from shared.domain.errors import BudgetExhausted, InvalidAnswer, Permanent, RateLimited, Transient
from shared.domain.phases import Phase
from shared.domain.states import StepKind
from shared.ports.cpu import CpuLimitExceeded
from tests.factories.research import (
    RUN_ID,
    make_document,
    make_evidence,
    make_fetch,
    make_plan,
    make_snapshot,
    make_statement,
)
from tests.fakes.materials import InlineCpu, make_lease
from tests.fakes.model import RuleModel, ToldModel
from tests.support.harbour_run import harbour_run, synthesize

TEXT = make_snapshot("The basin was dredged to 14 metres in 2021. The dredger was the Perpetua. Rain fell.")
SOURCE = make_document("src_1", TEXT, title="Survey")
DEPTH = make_evidence("ev_depth", SOURCE, TEXT, "The basin was dredged to 14 metres in 2021.")
SHIP = make_evidence("ev_ship", SOURCE, TEXT, "The dredger was the Perpetua.")
RAIN = make_evidence("ev_rain", SOURCE, TEXT, "Rain fell.")
CARDS = (DEPTH, SHIP, RAIN)
TASK = SectionTask(RUN_ID, 1, "s1", CARDS)
BRIEF = WritingBrief(make_plan(), {SOURCE.source_id: SOURCE}, Depth.STANDARD, None, None)


def context() -> GateContext:
    """Return what the gate knows of the cards."""
    return gate_context(CARDS, {TEXT.sha256: TEXT.text}, [SOURCE], [make_fetch(SOURCE)])


def verify(model: Any, *statements: Statement, last_try: bool = False) -> Any:
    """Judge statements with a model."""
    return LlmSynthesis(InlineCpu(), model).verify(statements, context(), last_try=last_try)


def verdicts(*rows: tuple[int, str, list[int]]) -> dict[str, Any]:
    """Return a model's answer."""
    return {"verdicts": [{"sentence": n, "verdict": v, "passages": p} for n, v, p in rows]}


VERBATIM = make_statement("st_1", DEPTH.excerpt, ["ev_depth"])
REWORDED = make_statement("st_2", "In 2021 the basin was dredged to 14 metres.", ["ev_depth", "ev_rain"])
WRONG = make_statement("st_3", "The basin was dredged to 15 metres in 2021.", ["ev_depth"])
UNCITED = make_statement("st_4", "The basin was dredged.", [])


def test_what_a_rule_can_decide_never_asks_a_model() -> None:
    """Verbatim sentences pass, wrong figures and missing citations fail, all without a call and repeatably."""
    model = ToldModel(lambda _: pytest.fail("the model was asked"))
    rows = verify(model, VERBATIM, WRONG, UNCITED).rows
    assert [(r.verdict, r.repeatable) for r in rows] == [
        ("supported", True),
        ("unsupported", True),
        ("unsupported", True),
    ]
    assert model.asked == []


def test_a_model_s_verdict_names_the_model() -> None:
    """It is no repeatable one, and citations that add nothing are removed."""
    [row] = verify(ToldModel(lambda _: verdicts((1, "supported", [1]))), REWORDED).rows
    assert (row.verdict, row.emitted, row.repeatable) == ("supported", True, False)
    assert (row.verifier, row.verifier_version) == ("told", "told-1")
    assert row.evidence_ids == ("ev_depth",)
    assert row.checks == {"exists": "pass", "numbers": "pass", "support": "pass"}


def test_a_citation_that_a_figure_needs_is_not_removed() -> None:
    """Had the model kept only the rain, the year would stand in no citation."""
    [row] = verify(ToldModel(lambda _: verdicts((1, "supported", [2]))), REWORDED).rows
    assert row.evidence_ids == ("ev_depth", "ev_rain")


def test_what_a_statement_turns_stays_out_whatever_a_model_says() -> None:
    """A model that takes a denied sentence for supported does not bring it into the report."""
    turned = make_statement("st_5", "The dredger was never the Perpetua.", ["ev_ship"])
    [row] = verify(ToldModel(lambda _: verdicts((1, "supported", [1]))), turned).rows
    assert (row.verdict, row.emitted, row.checks["support"]) == ("unsupported", False, "fail")
    assert row.reasons == ("one of them denies what the other says",)


def test_an_old_verdict_does_not_bring_it_into_the_report_either() -> None:
    """Judged a second time, what a model once let pass is refused; what it let pass rightly stays."""
    turned = make_statement("st_5", "The dredger was never the Perpetua.", ["ev_ship"])
    [right] = verify(ToldModel(lambda _: verdicts((1, "supported", [1]))), REWORDED).rows
    wrong = right.model_copy(update={"statement_id": "st_5", "text": turned.text, "evidence_ids": ("ev_ship",)})
    stands = {"st_2": REWORDED, "st_5": turned}
    kept, refused = judge_again((right, wrong), stands, context(), align=False)
    assert kept == right
    assert (refused.verdict, refused.emitted, refused.checks["support"]) == ("unsupported", False, "fail")
    assert refused.reasons == ("one of them denies what the other says",)


@pytest.mark.parametrize("verdict", ["partially_supported", "unsupported"])
def test_less_than_support_is_dropped(verdict: str) -> None:
    """Nothing is softened: the sentence does not stand, and the record says why."""
    [row] = verify(judging(verdict), REWORDED).rows
    assert (row.verdict, row.emitted) == (verdict, False)
    assert row.reasons


def judging(verdict: str, *shortened: str) -> ToldModel:
    """Return a model that gives the first call one verdict, and shortens what it is shown to these texts."""
    given = iter((verdict, "supported"))

    def tell(asked: Any) -> Any:
        if asked.output is Shortening:
            return {"sentences": [{"sentence": n, "text": text} for n, text in enumerate(shortened, start=1)]}
        return verdicts((1, next(given, "unsupported"), [1]))

    return ToldModel(tell)


LONGER = make_statement("st_5", "In 2021 the basin was dredged to 14 metres at great expense.", ["ev_depth"])


@pytest.mark.parametrize("left", ["In 2021 the basin was dredged to 14 metres.", DEPTH.excerpt])
def test_what_is_supported_in_part_is_shortened_once(left: str) -> None:
    """The supported part stands in the place of the whole, judged like anything else; the record keeps both."""
    [row] = verify(judging("partially_supported", left), LONGER).rows
    assert (row.verdict, row.emitted, row.text) == ("supported", True, left)
    assert any("at great expense" in reason for reason in row.reasons)


@pytest.mark.parametrize(
    "left",
    [
        "",
        "The basin was dredged to 15 metres.",
        "It is deep. It is wide.",
        LONGER.text,
        "The basin was dredged to 14 metres in 2021 and that at an expense that was never told.",
    ],
    ids=["nothing", "another figure", "two sentences", "the same", "longer"],
)
def test_a_repair_that_is_none_drops_the_sentence(left: str) -> None:
    """Only one shorter sentence that passes the whole gate takes the place of another."""
    model = judging("partially_supported", left)
    [row] = verify(model, LONGER).rows
    assert (row.verdict, row.emitted, row.text) == ("partially_supported", False, LONGER.text)
    assert sum(asked.output is Shortening for asked in model.asked) == 1


CONCLUSION = Statement(id="st_6", kind="analysis", text="The dredger went deep.", statement_ids=("st_1", "st_2"))


def test_an_analysis_rests_on_findings_that_passed() -> None:
    """It is judged after them, against their evidence, and cites it."""
    rows = verify(ToldModel(lambda _: verdicts((1, "supported", [1]))), CONCLUSION, VERBATIM, REWORDED).rows
    assert [r.statement_id for r in rows] == ["st_6", "st_1", "st_2"]
    assert (rows[0].emitted, rows[0].evidence_ids, rows[0].repeatable) == (True, ("ev_depth",), False)


def test_an_analysis_on_a_dropped_finding_is_dropped() -> None:
    """Nothing is concluded from what does not stand, and the model is not asked about it."""
    model = judging("unsupported")
    rows = verify(model, VERBATIM, REWORDED, CONCLUSION).rows
    assert [r.emitted for r in rows] == [True, False, False]
    assert len(model.asked) == 1


def derived(value: float, text: str) -> Statement:
    """Return a statement with a value computed from the two figures of its card."""
    inputs = [
        {"name": "deep", "value": 14, "unit": "m", "evidence_id": "ev_depth"},
        {"name": "more", "value": 14, "unit": "m", "evidence_id": "ev_depth"},
    ]
    told = {"value": value, "unit": "m", "formula": "deep + more", "inputs": inputs}
    return make_statement("st_7", text, ["ev_depth"]).model_copy(update={"derived": Derived.model_validate(told)})


def test_a_derived_value_is_computed_again() -> None:
    """The right one is shown to the verifier with its computation, a wrong one never reaches it."""
    model = ToldModel(lambda _: verdicts((1, "supported", [1])))
    [row] = verify(model, derived(28, "Twice the depth of the basin would be 28 metres.")).rows
    assert row.emitted
    assert "(computed: deep + more; deep = 14 m, more = 14 m)" in model.asked[0].input
    [wrong] = verify(model, derived(29, "Twice the depth of the basin would be 29 metres.")).rows
    assert (wrong.emitted, wrong.checks["numbers"]) == (False, "fail")
    assert len(model.asked) == 1


@pytest.mark.parametrize(
    "answer",
    [verdicts(), verdicts((2, "supported", [1])), verdicts((1, "supported", [1]), (1, "unsupported", []))],
    ids=["left out", "another sentence", "judged twice"],
)
def test_an_unclear_answer_verifies_nothing(answer: dict[str, Any]) -> None:
    """A sentence that the answer leaves out or judges twice is unverified."""
    [row] = verify(ToldModel(lambda _: answer), REWORDED).rows
    assert (row.verdict, row.emitted) == ("unverified", False)


def test_sentences_are_judged_in_batches() -> None:
    """Nine open sentences are two calls, each with the passages of its own sentences, in an envelope."""
    model = RuleModel()
    words = "again indeed alone there then here now still too".split()
    many = [make_statement(f"st_{n}", f"The dredger was the Perpetua {w}.", ["ev_ship"]) for n, w in enumerate(words)]
    rows = verify(model, *many).rows
    asked = [r for r in model.asked if r.output is Verdicts]
    assert len(asked) == -(-len(many) // BATCH)
    assert [r.statement_id for r in rows] == [s.id for s in many]
    assert all(request.phase is Phase.VERIFIER for request in model.asked)
    told = next(r.input for r in asked if "Sentence 1: The dredger was the Perpetua again." in r.input)
    assert "Sentence 1: The dredger was the Perpetua again.\n[1] (Survey) The dredger" in told
    assert told.count("<untrusted-") == 1


@pytest.mark.parametrize("error", [InvalidAnswer("Nonsense."), BudgetExhausted("verification_calls", 3)])
def test_a_verifier_that_cannot_judge_lets_nothing_pass(error: Exception) -> None:
    """The sentences are unverified; a limit that was reached is told to the workflow."""
    result = verify(ToldModel(lambda _: error), VERBATIM, REWORDED)
    assert [r.verdict for r in result.rows] == ["supported", "unverified"]
    assert result.stopped == ("budget:verification_calls" if isinstance(error, BudgetExhausted) else None)


def test_a_verifier_that_is_down_is_tried_again_and_then_given_up() -> None:
    """A failure that may pass is raised until the last try; a rate limit and a refusal always are."""
    down = ToldModel(lambda _: Transient("model:unavailable", "Down."))
    with pytest.raises(Transient):
        verify(down, REWORDED)
    assert [r.verdict for r in verify(down, REWORDED, last_try=True).rows] == ["unverified"]
    for error in (RateLimited("model:rate_limited", "Wait.", 3), Permanent("model:key", "No.")):
        with pytest.raises(type(error)):
            verify(ToldModel(lambda _, e=error: e), REWORDED, last_try=True)


@pytest.mark.parametrize("name", ["s1", SUMMARY])
def test_what_a_writer_cannot_write_is_told_in_the_cards_words(name: str) -> None:
    """A section has its cards' sentences, a summary is left to the findings; why is kept beside the drafts."""
    model = ToldModel(lambda _: InvalidAnswer("The answer was cut off."))
    written = LlmSynthesis(InlineCpu(), model).write(replace(TASK, section_id=name), BRIEF)
    assert written.unwritten == "The answer was cut off."
    assert [d.statement.text for d in written.drafts] == ([] if name == SUMMARY else [c.excerpt for c in CARDS])


def test_a_later_round_that_cannot_be_written_adds_its_cards_words() -> None:
    """Its cards are new ones; they are placed after everything that the first round can hold."""
    model = ToldModel(lambda _: InvalidAnswer("The answer was cut off."))
    drafts = LlmSynthesis(InlineCpu(), model).write(replace(TASK, round=1), BRIEF).drafts
    assert [d.statement.text for d in drafts] == [c.excerpt for c in CARDS]
    assert [d.ordinal for d in drafts] == [ROUND_PLACES, ROUND_PLACES + 1, ROUND_PLACES + 2]
    assert {d.block for d in drafts} == {ROUND_PLACES}
    first = LlmSynthesis(InlineCpu(), model).write(TASK, BRIEF).drafts
    assert not {d.statement.id for d in first} & {d.statement.id for d in drafts}


@pytest.mark.parametrize("error", [BudgetExhausted("model_calls", 3), Permanent("model:key", "No.")])
def test_only_an_unusable_answer_is_made_up_for(error: Exception) -> None:
    """A limit, a refused key and the like are for the workflow to deal with."""
    with pytest.raises(type(error)):
        LlmSynthesis(InlineCpu(), ToldModel(lambda _: error)).write(TASK, BRIEF)


def test_a_report_says_where_the_model_could_not_write() -> None:
    """Without one usable answer of its writer there is still a verified report, and its methodology says why."""
    rules = RuleModel()

    def tell(asked: Any) -> Any:
        return InvalidAnswer("Nonsense.") if asked.phase is Phase.WRITER else rules.ask(asked).value

    run, deps = harbour_run()
    run.engine = "llm"
    synthesize(run, replace(deps, model_of=lambda _: ToldModel(tell)))
    [report] = run.reports
    assert report.verification.emitted > 0
    assert report.short_answer is not None
    sections = len(set(run.results["outline"]["sections"]) - {SUMMARY})
    assert any(f"In {counted(sections, 'section')} sentences of" in told for told in report.methodology)
    checked = verify_bundle(run.files["bundle"].data)
    assert checked.ok, checked.faults


def test_a_section_of_which_nothing_stands_is_told_in_the_cards_words() -> None:
    """A writer that makes up its figures leaves no empty section: what it said is recorded as refused."""
    rules = RuleModel()

    def tell(asked: Any) -> Any:
        if asked.output is SectionText:
            return {"blocks": [{"sentences": [{"text": "It was 77 metres deep.", "cards": [1]}]}]}
        return rules.ask(asked).value

    run, deps = harbour_run()
    run.engine = "llm"
    synthesize(run, replace(deps, model_of=lambda _: ToldModel(tell)))
    [report] = run.reports
    known = {e.evidence_id: e.excerpt for e in run.pieces}
    told = [s for section in report.sections for block in section.blocks for s in statements_of(block)]
    assert told
    assert all(any(s.text in known[i] for i in s.evidence_ids) for s in told)
    refused = [row for row in run.judged.values() if not row.emitted]
    assert {row.text for row in refused} == {"It was 77 metres deep."}
    assert any("sentences of the sources stand word for word" in told for told in report.methodology)
    checked = verify_bundle(run.files["bundle"].data)
    assert checked.ok, checked.faults


def test_a_summary_that_cannot_be_written_is_not_told_as_a_section() -> None:
    """The sections are the model's own text, so the report does not say that sources stand in for it."""
    rules = RuleModel()

    def tell(asked: Any) -> Any:
        return InvalidAnswer("Nonsense.") if asked.output is SummaryText else rules.ask(asked).value

    run, deps = harbour_run()
    run.engine = "llm"
    synthesize(run, replace(deps, model_of=lambda _: ToldModel(tell)))
    [report] = run.reports
    assert report.short_answer is not None
    assert not any("word for word" in told for told in report.methodology)


@pytest.mark.parametrize(
    ("error", "why"),
    [(BudgetExhausted("verification_calls", 3), "could be checked"), (InvalidAnswer("Nonsense."), "could be checked")],
)
def test_what_nobody_could_check_is_not_called_refused(error: Exception, why: str) -> None:
    """The words of the sources need no model to pass; the step says what became of the others."""
    run, deps = harbour_run()
    run.engine = "llm"
    rules = RuleModel()

    def tell(asked: Any) -> Any:
        if asked.output is SectionText:
            return {"blocks": [{"sentences": [{"text": "It is said that the lock was dredged.", "cards": [1]}]}]}
        return error if asked.phase is Phase.VERIFIER else rules.ask(asked).value

    synthesize(run, replace(deps, model_of=lambda _: ToldModel(tell)))
    assert run.results["verify:s1"]["unwritten"] == f"nothing {why}"
    assert run.results["verify:s1"]["emitted"] > 0
    stopped = "budget:verification_calls" if isinstance(error, BudgetExhausted) else None
    assert run.results["verify:s1"]["stopped"] == stopped


def test_the_cards_words_are_not_drafted_twice() -> None:
    """Where neither the writer's answer can be used nor the check be done, they are counted once and not told."""

    class NoTime(InlineCpu):
        def run(self, work: Any, *given: Any, limits: Any) -> Any:
            if work is judge_all:
                raise CpuLimitExceeded("wall")
            return super().run(work, *given, limits=limits)

    rules = RuleModel()

    def tell(asked: Any) -> Any:
        return InvalidAnswer("Nonsense.") if asked.phase is Phase.WRITER else rules.ask(asked).value

    run, deps = harbour_run()
    run.engine = "llm"
    synthesize(run, replace(deps, cpu=NoTime(), model_of=lambda _: ToldModel(tell)))
    [report] = run.reports
    texts = [(d.section_id, d.statement.text) for d in run.drafted.values()]
    assert len(texts) == len(set(texts))
    assert (report.verification.emitted, run.results["verify:s1"]["unwritten"]) == (0, None)
    assert not any("word for word" in told for told in report.methodology)


@pytest.mark.parametrize("engine", [ExtractiveSynthesis(InlineCpu()), ManagedSynthesis(InlineCpu(), RuleModel())])
def test_engines_that_say_nothing_of_their_own_say_nothing_instead(engine: Any) -> None:
    """Every sentence of the evidence was drafted already, or only a provider's are wanted."""
    assert engine.instead(TASK, BRIEF, 3) == ()


def test_the_baseline_tells_its_cards_words_too() -> None:
    """After the drafts that were refused."""
    told = BaselineSynthesis(InlineCpu(), RuleModel()).instead(TASK, BRIEF, 2)
    assert [d.ordinal for d in told] == [2, 3, 4]


def section(*sentences: dict[str, Any], form: str = "paragraph") -> SectionText:
    """Return what a model wrote."""
    return SectionText.model_validate({"blocks": [{"form": form, "sentences": sentences}]})


def test_each_sentence_is_a_statement() -> None:
    """Two sentences in one text become two, each with the cards; markers and links of the model's own are dropped."""
    written = section(
        {"text": "The basin was dredged [1]. It was the Perpetua [2, 3], see https://x.example/a.", "cards": [2, 1, 9]},
        {"text": "The basin was dredged.", "cards": [1]},
        {"text": "x" * 700, "cards": [1]},
    )
    drafts = section_drafts(TASK, written, 10)
    assert [d.statement.text for d in drafts] == ["The basin was dredged.", "It was the Perpetua, see"]
    assert {d.statement.evidence_ids for d in drafts} == {("ev_ship", "ev_depth")}
    assert {d.form for d in drafts} == {"paragraph"}
    assert drafts == section_drafts(TASK, written, 10)
    assert len(section_drafts(TASK, written, 1)) == 1


def test_conclusions_and_derivations_name_what_they_rest_on() -> None:
    """Places of sentences and cards become ids; what does not exist is left out, a conclusion cites no card."""
    inputs = [{"name": "a", "value": 14, "unit": "m", "card": 1}]
    told = {"value": 28, "unit": "m", "formula": "a + a", "inputs": inputs}
    written = section(
        {"text": "The basin was dredged to 14 metres in 2021.", "cards": [1]},
        {"text": "Twice that is 28 metres.", "cards": [1], "derived": told},
        {"text": "Deep.", "kind": "analysis", "rests_on": [1, 2, 9], "cards": [1]},
        {"text": "So.", "cards": [1], "derived": {**told, "inputs": [{**inputs[0], "card": 7}]}},
    )
    first, second, third, fourth = (d.statement for d in section_drafts(TASK, written, 10))
    assert second.derived is not None
    assert second.derived.inputs[0].evidence_id == "ev_depth"
    assert (third.kind, third.evidence_ids, third.statement_ids) == ("analysis", (), (first.id, second.id))
    assert fourth.derived is None


def table(*columns: str) -> SectionText:
    """Return a section that is one table of two rows."""
    cell = {"text": "The basin was dredged to 14 metres in 2021.", "cards": [1]}
    other = {"text": "The dredger was the Perpetua.", "cards": [2]}
    rows = [[cell, other], [{"text": "Rain fell.", "cards": [3]}, {"text": ""}]]
    return SectionText.model_validate({"blocks": [{"form": "table", "columns": columns, "rows": rows}]})


def test_cells_of_a_table_are_statements() -> None:
    """Each has its place; headings are made of the plan's words, else the table is read as a list."""
    drafts = section_drafts(TASK, table("Depth", "Dredger"), 10, ("Which depth, which dredger?",))
    assert [(d.form, d.cell) for d in drafts] == [("table", (0, 0)), ("table", (0, 1)), ("table", (1, 0))]
    assert {d.columns for d in drafts} == {("Depth", "Dredger")}
    foreign = section_drafts(TASK, table("Depth", "Visit evil.example"), 10, ("Which depth, which dredger?",))
    assert {(d.form, d.cell, d.columns) for d in foreign} == {("list", None, ())}


def test_the_least_relevant_cards_are_cut_first() -> None:
    """What fits keeps its order, and what was cut is told."""
    ranked = [e.model_copy(update={"relevance_bp": bp}) for e, bp in zip(CARDS, (5000, 9000, 3000), strict=True)]
    most = sum(tokens_of(card(n, e, {})) for n, e in enumerate(ranked, start=1)) - 1
    fit = fitted(ranked, {}, most)
    assert [e.evidence_id for e in fit.evidence] == ["ev_depth", "ev_ship"]
    assert fit.cut == ("ev_rain",)
    assert fitted(ranked, {}, 0).evidence == ()
    assert fitted(ranked, {}).cut == ()


def test_a_summary_is_an_answer_and_some_sentences() -> None:
    """Only the first sentence of the answer is the answer."""
    written = SummaryText.model_validate(
        {"short_answer": {"text": "14 metres. Deep.", "cards": [1]}, "summary": [{"text": "Rain.", "cards": [3]}]}
    )
    task = replace(TASK, section_id=SUMMARY)
    assert [(d.block, d.statement.text) for d in summary_drafts(task, written, 5)] == [(0, "14 metres."), (1, "Rain.")]


def test_a_whole_report_is_written_and_checked() -> None:
    """Outline, prose, verdicts and bundle over the harbour: the short answer is the writer's, the bundle verifies."""
    run, deps = harbour_run()
    model = RuleModel()
    run.engine = "llm"
    synthesize(run, replace(deps, model_of=lambda _: model))
    [report] = run.reports
    assert SUMMARY in run.results["outline"]["sections"]
    assert report.short_answer is not None
    assert report.short_answer.id in {d.statement.id for d in run.drafted.values() if d.section_id == SUMMARY}
    assert {b.type for s in report.sections for b in s.blocks} == {"paragraph"}
    assert report.verification.emitted > 0
    assert any(not row.repeatable and row.emitted for row in run.judged.values())
    assert any("scripted scripted-1" in sentence for sentence in report.methodology)
    checked = verify_bundle(run.files["bundle"].data)
    assert checked.ok, checked.faults
    assert checked.summary["recorded"] > 0


def test_a_report_with_a_table_and_a_conclusion_verifies() -> None:
    """Cells carry citations, the conclusion is labelled and cites what its findings cite, the bundle holds."""
    rules = RuleModel()

    def tell(asked: Any) -> Any:
        if asked.output is not SectionText:
            return rules.ask(asked).value
        first = re.search(r"^\[1\] \(.*?\) (.+)$", asked.input, re.M)
        heading = re.search(r"^Section: (.+)$", asked.input, re.M)
        assert first is not None
        assert heading is not None
        said = {"text": first[1], "cards": [1]}
        conclusion = {"text": f"So it is said that {first[1]}", "kind": "analysis", "rests_on": [1]}
        word = heading[1].split()[-1].rstrip("?")
        rows = [[{"text": f"As a cell: {first[1]}", "cards": [1]}, {"text": ""}]]
        paragraph = {"sentences": [said, conclusion]}
        return {"blocks": [paragraph, {"form": "table", "columns": [word, word], "rows": rows}]}

    def judge(asked: Any) -> Any:
        if asked.output is not Verdicts:
            return tell(asked)
        count = int(asked.input.split("Sentences: ")[1].split()[0])
        return verdicts(*((n, "supported", []) for n in range(1, count + 1)))

    run, deps = harbour_run()
    run.engine = "llm"
    model = ToldModel(judge)
    synthesize(run, replace(deps, model_of=lambda _: model))
    [report] = run.reports
    blocks = [b for s in report.sections for b in s.blocks]
    assert {b.type for b in blocks} == {"paragraph", "table"}
    [cell, *_] = [s for b in blocks if b.type == "table" for row in b.rows for c in row for s in c]
    assert cell.evidence_ids
    conclusions = [s for b in blocks if b.type == "paragraph" for s in b.statements if s.kind == "analysis"]
    assert conclusions
    assert all(s.evidence_ids and s.statement_ids for s in conclusions)
    assert "*(analysis" in run.files["md"].data.decode()
    checked = verify_bundle(run.files["bundle"].data)
    assert checked.ok, checked.faults


def test_the_writer_sees_cards_and_not_pages() -> None:
    """Excerpts in an envelope, the plan's words outside it."""
    run, deps = harbour_run()
    model = RuleModel()
    run.engine = "llm"
    synthesize(run, replace(deps, model_of=lambda _: model))
    written = next(r for r in model.asked if r.phase is Phase.WRITER)
    head, _, inside = written.input.partition("<untrusted-")
    assert "Section: " in head
    assert "[1] (" in inside
    assert inside.rstrip().endswith(">")


def test_a_section_over_budget_is_told_by_its_verify_step() -> None:
    """The step completes with what passed and names the limit in its result."""
    run, deps = harbour_run()
    run.engine = "llm"
    rules = replace(deps, model_of=lambda _: RuleModel())
    for kind, handler in ((StepKind.OUTLINE, handlers.outline), (StepKind.WRITE_SECTION, handlers.write_section)):
        lease = make_lease(kind, "outline" if kind is StepKind.OUTLINE else "s1", section_id="s1")
        run.commit(lease, handler(rules, lease))
    broke = replace(deps, model_of=lambda _: ToldModel(lambda _: BudgetExhausted("verification_calls", 3)))
    outcome = handlers.verify(broke, make_lease(StepKind.VERIFY, "s1", section_id="s1"))
    assert outcome.result["stopped"] == "budget:verification_calls"
    assert {v.verdict for v in outcome.verdicts} == {"supported", "unverified"}
