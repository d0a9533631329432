"""The gate as a whole: what it refuses, in which order, and what it lets pass."""

import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from services.synthesizer.gate.codes import misplaced_codes
from services.synthesizer.gate.context import GateContext, gate_context
from services.synthesizer.gate.judge import judge, judge_aligned, judge_all, unverified
from services.synthesizer.rules.sentences import sentences_of
from shared.contracts.evidence import Evidence, Fetch, Source
from shared.contracts.report import Statement, VerdictRow
from shared.domain.text import clean
from tests.factories.research import (
    make_document,
    make_evidence,
    make_fetch,
    make_snapshot,
    make_source,
    make_statement,
)

TEXT = (
    "Annual report 2021\n"
    "The authority counted 412,600 cubic metres from the Cray Basin in 2021. The figure covers the inner basin only. "
    "It is not true that the lock opened in 2022.\n"
    "Barge | Voyages\nIda Thorsby | 64\n"
)
FIRST = "The authority counted 412,600 cubic metres from the Cray Basin in 2021."
SECOND = "The figure covers the inner basin only."
SNAPSHOT = make_snapshot(TEXT)
SOURCE = make_source("src_1", SNAPSHOT, independence_cluster="src_1")
FETCH = make_fetch(SOURCE)
BOTH = make_evidence("ev_both", SOURCE, SNAPSHOT, f"{FIRST} {SECOND}")
ONE = make_evidence("ev_one", SOURCE, SNAPSHOT, FIRST)
TWO = make_evidence("ev_two", SOURCE, SNAPSHOT, SECOND)


def context(
    evidence: tuple[Evidence, ...] = (BOTH, ONE, TWO),
    sources: tuple[Source, ...] = (SOURCE,),
    fetches: tuple[Fetch, ...] = (FETCH,),
    **changes: Any,
) -> GateContext:
    """Return the material of a small run."""
    return gate_context(
        evidence, changes.get("snapshots", {SNAPSHOT.sha256: TEXT}), sources, fetches, changes.get("findings")
    )


def check(text: str, *evidence_ids: str, **changes: Any) -> VerdictRow:
    """Judge a finding against the small run."""
    return judge(make_statement("stm_1", text, evidence_ids), context(**changes))


def test_a_verbatim_sentence_is_supported() -> None:
    """A whole sentence of the cited excerpt passes every check and is emitted."""
    row = check(FIRST, "ev_one")
    assert (row.verdict, row.emitted, row.evidence_ids) == ("supported", True, ("ev_one",))
    assert row.checks == {"exists": "pass", "numbers": "pass", "support": "pass"}
    assert (row.verifier, row.verifier_version, row.repeatable, row.text) == ("containment", "1", True, FIRST)


def test_invisible_differences_do_not_matter() -> None:
    """White space, quotes, dashes and invisible characters are folded on both sides."""
    snapshot = make_snapshot("He said “it’s a well–known  lock” in\u00a02021.")
    source = make_source("src_1", snapshot)
    evidence = make_evidence("ev_1", source, snapshot)
    run = context((evidence,), (source,), (make_fetch(source),), snapshots={snapshot.sha256: snapshot.text})
    statement = make_statement("stm_1", 'He said "it\'s a well-known lock"\u200b in 2021.', ["ev_1"])
    assert judge(statement, run).verdict == "supported"


@pytest.mark.parametrize(
    "text",
    [
        "the lock opened in 2022.",
        "The authority counted 412,600 cubic metres from the Cray Basin",
        "The figure covers the inner basin",
        "basin only.",
    ],
)
def test_a_part_of_a_sentence_is_not_supported(text: str) -> None:
    """A clause that stands in the excerpt may say the opposite of its sentence, so it does not pass."""
    evidence = make_evidence("ev_all", SOURCE, SNAPSHOT, TEXT[TEXT.index(FIRST) : TEXT.index("\nBarge")])
    assert check(text, "ev_all", evidence=(evidence,)).verdict == "unsupported"


def test_sentences_of_several_excerpts_may_be_joined() -> None:
    """A statement that is the concatenation of whole cited sentences is supported by them together."""
    row = check(f"{SECOND} {FIRST}", "ev_one", "ev_two")
    assert (row.verdict, row.evidence_ids) == ("supported", ("ev_one", "ev_two"))


def test_a_partly_supported_statement_is_not_emitted() -> None:
    """One whole sentence that stands in the excerpt beside one that does not makes it partial."""
    row = check(f"{FIRST} The figure covers the approach channel too.", "ev_one")
    assert (row.verdict, row.emitted, row.checks["support"]) == ("partially_supported", False, "partial")


def test_citations_that_add_nothing_are_removed() -> None:
    """An excerpt without a sentence of the statement goes, and so does a second one of the same source."""
    assert check(FIRST, "ev_two", "ev_one", "ev_both").evidence_ids == ("ev_one",)


def test_an_independent_source_of_the_same_words_stays() -> None:
    """The same sentence in a source of another cluster corroborates; in a copy it does not."""
    other = make_source("src_2", SNAPSHOT, independence_cluster="src_2")
    copy = make_source("src_3", SNAPSHOT, status="duplicate", duplicate_of="src_1", independence_cluster="src_1")
    evidence = (ONE, make_evidence("ev_2", other, SNAPSHOT, FIRST), make_evidence("ev_3", copy, SNAPSHOT, FIRST))
    run = context(evidence, (SOURCE, other, copy), tuple(map(make_fetch, (SOURCE, other, copy))))
    row = judge(make_statement("stm_1", FIRST, ["ev_one", "ev_3", "ev_2"]), run)
    assert row.evidence_ids == ("ev_one", "ev_2")


def test_a_wrong_figure_is_refused_before_support_is_asked() -> None:
    """The numbers check is final where it refuses, and names the figure."""
    row = check(FIRST.replace("412,600", "412,700"), "ev_one")
    assert (row.verdict, row.checks["numbers"], row.checks["support"]) == ("unsupported", "fail", "not_run")
    assert any("412,700" in reason for reason in row.reasons)


def test_a_wrong_name_is_refused() -> None:
    """A proper name that the excerpt does not hold is refused by the numbers check."""
    row = check(FIRST.replace("Cray", "Mill"), "ev_one")
    assert (row.verdict, row.checks["numbers"]) == ("unsupported", "fail")
    assert any("Mill" in reason for reason in row.reasons)


@pytest.mark.parametrize("statement", [make_statement("stm_1", FIRST), make_statement("stm_1", FIRST, ["ev_unknown"])])
def test_a_statement_needs_evidence_of_this_run(statement: Statement) -> None:
    """Without a citation, or with an unknown one, nothing is supported."""
    row = judge(statement, context())
    assert (row.verdict, row.checks["exists"], row.emitted) == ("unsupported", "fail", False)


Alter = Callable[[Evidence], Evidence]


@pytest.mark.parametrize(
    "alter",
    [
        lambda e: e.model_copy(update={"start": e.start + 1, "end": e.end + 1}),
        lambda e: e.model_copy(update={"excerpt": e.excerpt.replace("412", "413")}),
        lambda e: e.model_copy(update={"sha256": "0" * 64}),
        lambda e: e.model_copy(update={"locator": e.locator.model_copy(update={"start": 0})}),
        lambda e: e.model_copy(update={"source_id": "src_9"}),
        lambda e: e.model_copy(update={"start": -len(TEXT) + e.start, "end": -len(TEXT) + e.end}),
    ],
)
def test_evidence_has_to_stand_where_it_says(alter: Alter) -> None:
    """A moved, altered or foreign excerpt fails the first check, and nothing after it is asked."""
    row = check(FIRST, "ev_one", evidence=(alter(ONE),))
    assert (row.verdict, row.checks) == ("unsupported", {"exists": "fail", "numbers": "not_run", "support": "not_run"})


def test_an_altered_snapshot_is_found() -> None:
    """A text that does not have the hash it is named by proves nothing."""
    row = check(FIRST, "ev_one", snapshots={SNAPSHOT.sha256: TEXT + " "})
    assert (row.verdict, row.checks["exists"]) == ("unsupported", "fail")


def test_a_missing_snapshot_makes_a_statement_unresolvable() -> None:
    """When retention removed the text, nobody can tell any more."""
    row = check(FIRST, "ev_one", snapshots={})
    assert (row.verdict, row.checks["exists"], row.emitted) == ("unresolvable", "unresolvable", False)


@pytest.mark.parametrize(
    "fetches",
    [
        (),
        (make_fetch(SOURCE, refusal="robots"),),
        (make_fetch(SOURCE, content_sha256="0" * 64),),
        (make_fetch(SOURCE, status=404),),
        (make_fetch(SOURCE, source_id="src_2"),),
        (make_fetch(SOURCE, source_id=None),),
    ],
)
def test_a_source_counts_only_when_this_run_fetched_it(fetches: tuple[Fetch, ...]) -> None:
    """A refused, failed, foreign or different fetch is none."""
    assert check(FIRST, "ev_one", fetches=fetches).checks["exists"] == "fail"


def test_one_good_fetch_among_bad_ones_is_enough() -> None:
    """Earlier tries that failed do not take away the one that worked."""
    fetches = (make_fetch(SOURCE, fetch_id="fet_0", status=503, content_sha256=None), FETCH)
    assert check(FIRST, "ev_one", fetches=fetches).verdict == "supported"


@pytest.mark.parametrize(
    "source",
    [
        SOURCE.model_copy(update={"status": "blocked"}),
        SOURCE.model_copy(update={"content_sha256": None}),
        SOURCE.model_copy(update={"snapshot_sha256": "0" * 64}),
    ],
)
def test_a_source_has_to_have_been_read_as_the_snapshot(source: Source) -> None:
    """A source that was blocked, has no bytes or another text supports nothing."""
    assert check(FIRST, "ev_one", sources=(source,)).checks["exists"] == "fail"


def test_a_document_has_no_http_status() -> None:
    """A file that the user supplied is fetched by reading it."""
    source = make_document("src_1", SNAPSHOT)
    evidence = make_evidence("ev_1", source, SNAPSHOT, FIRST)
    run = context((evidence,), (source,), (make_fetch(source),))
    assert judge(make_statement("stm_1", FIRST, ["ev_1"]), run).verdict == "supported"


def test_one_bad_citation_refuses_the_statement() -> None:
    """A good citation does not excuse a bad one beside it."""
    assert check(FIRST, "ev_one", "ev_unknown").verdict == "unsupported"


def test_an_analysis_rests_on_emitted_findings() -> None:
    """An analysis is checked against the spans of its findings, in whatever order they are judged."""
    finding = make_statement("stm_1", FIRST, ["ev_one"])
    analysis = make_statement("stm_2", FIRST, kind="analysis", statement_ids=("stm_1",))
    rows = judge_all((analysis, finding), context())
    assert [row.verdict for row in rows] == ["supported", "supported"]
    assert judge(analysis, context(findings={"stm_1": ("ev_one",)})).verdict == "supported"


@pytest.mark.parametrize("ids", [(), ("stm_9",)])
def test_an_analysis_without_a_finding_is_refused(ids: tuple[str, ...]) -> None:
    """What rests on nothing, or on a statement that was dropped, is dropped."""
    dropped = make_statement("stm_9", "The sea is dry.", ["ev_one"])
    analysis = make_statement("stm_2", FIRST, kind="analysis", statement_ids=ids)
    assert judge_all((dropped, analysis), context())[1].verdict == "unsupported"


def test_unverified_is_never_emitted() -> None:
    """A statement that was not checked keeps its citations and does not stand in the report."""
    row = unverified(make_statement("stm_1", FIRST, ["ev_one"]), "time ran out")
    assert (row.verdict, row.emitted, row.repeatable, row.reasons) == ("unverified", False, False, ("time ran out",))


def test_the_context_can_be_sent_to_another_process() -> None:
    """The gate's arguments and results survive pickling."""
    statements = (make_statement("stm_1", FIRST, ["ev_one"]),)
    there = pickle.loads(pickle.dumps((statements, context())))
    assert judge_all(*there) == judge_all(statements, context())


LINES = st.lists(
    st.sampled_from(
        [
            "The lock is 5 m deep. It was built in 2021.",
            "Mr. Aske paid £5m, or about a third, for No. 5 and 200 others.",
            "Sizes: 1 200 mm – 3.5 m; see Fig. 2. The rest is silt.",
            "3. May 2024 was dry. 5 boats came.",
            "Barge | 64 | 17,280",
            "“It came through the keyhole,” she said. “Twice!”",
            "港口於2021年挖了412,600立方米。水深5米。",
            "  It ended in 5.  March 2024 was wet.",
            "A heading",
            "He said no… Then yes. e.g. 5 or 6 [1] times.[2] Next",
        ]
    ),
    min_size=1,
    max_size=4,
).map("\n".join)


@given(st.one_of(LINES, st.text(max_size=200)))
@example("0A0A")
def test_every_verbatim_sentence_passes_its_own_gate(text: str) -> None:
    """Whatever an excerpt looks like, the sentences taken from it word for word are supported, a lone code excepted."""
    text = clean(text)
    snapshot = make_snapshot(text)
    source = make_source("src_1", snapshot)
    if not snapshot.segments:
        return
    excerpt = text[snapshot.segments[0][0] : snapshot.segments[-1][1]]
    evidence = make_evidence("ev_1", source, snapshot, excerpt)
    run = context((evidence,), (source,), (make_fetch(source),), snapshots={snapshot.sha256: text})
    sentences = sentences_of(excerpt)
    rows = judge_all([make_statement(f"s{n}", s, ["ev_1"]) for n, s in enumerate(sentences)], run)
    refused = {s for s, row in zip(sentences, rows, strict=True) if row.verdict != "supported"}
    assert refused == {s for s in sentences if misplaced_codes(s, (s,))}, [row.reasons for row in rows]


@given(st.permutations(["ev_both", "ev_one", "ev_two"]), st.sampled_from([FIRST, SECOND, f"{FIRST} {SECOND}"]))
def test_judging_what_was_kept_keeps_it(ids: list[str], text: str) -> None:
    """The citations that the gate keeps are those that it would keep again."""
    row = check(text, *ids)
    assert row.verdict == "supported"
    assert check(text, *row.evidence_ids) == row


def test_other_words_are_aligned_only_when_no_model_is_asked() -> None:
    """A close paraphrase is left to the model by one and decided by the other, repeatably."""
    text = "The authority has counted 412,600 cubic metres from Cray Basin in 2021."
    statement = make_statement("stm_1", text, ["ev_one"])
    by_words, aligned = judge_all((statement,), context())[0], judge_aligned((statement,), context())[0]
    assert (by_words.verdict, by_words.verifier) == ("unsupported", "containment")
    assert (aligned.verdict, aligned.verifier, aligned.repeatable) == ("supported", "alignment", True)
    assert judge_aligned((statement,), context())[0] == aligned


@pytest.mark.parametrize(
    "text",
    [
        "The authority has counted 412,600 cubic metres from Cray Basin in 2020.",
        "The authority has not counted 412,600 cubic metres from Cray Basin in 2021.",
        f"{FIRST} The sea is dry.",
        "Gulls nest on the northern cliff.",
    ],
)
def test_alignment_does_not_excuse_what_is_wrong(text: str) -> None:
    """Another figure, a denial, a foreign sentence and another matter are refused."""
    row = judge_aligned((make_statement("stm_1", text, ["ev_one"]),), context())[0]
    assert not row.emitted
    assert row.reasons
