"""Rules of the synthesizer: independence, selection, writing, confidence, answers, methodology."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.synthesizer.rules.answers import Known, answer_fit, best_finding, executive_summary, short_answer
from services.synthesizer.rules.confidence import confidence_of
from services.synthesizer.rules.independence import changed, with_duplicates
from services.synthesizer.rules.methodology import Course, methodology, stop_in_words
from services.synthesizer.rules.selection import outline, published_after, section_questions, shared_room, usable
from services.synthesizer.rules.sentences import gist_of, near_identical, sentences_of
from services.synthesizer.rules.writing import SectionTask, verbatim_drafts
from shared.contracts.evidence import Evidence, Source
from shared.contracts.plan import PlannedSection, Question
from shared.contracts.report import VerificationSummary
from shared.domain.budget import Depth
from shared.domain.questions import asked
from tests.factories.research import (
    RUN_ID,
    make_contradiction,
    make_document,
    make_evidence,
    make_plan,
    make_snapshot,
    make_source,
    make_statement,
)

ROOM = 14
ONE = "Two dredgers worked in the harbour and lifted 412,600 cubic metres of mud in the year 2021."
OTHER = "The contractor built a new lock of concrete and steel, which opened to ships on 17 April 2024."


def source(source_id: str, text: str = ONE, **changes: Any) -> Source:
    """Return a source that was read as this text."""
    return make_source(source_id, make_snapshot(text), **changes)


def settle(*sources: Source) -> dict[str, Source]:
    """Return the sources after their copies were found."""
    sketches = {
        s.source_id: make_snapshot(OTHER if s.snapshot_sha256 == make_snapshot(OTHER).sha256 else ONE).signature
        for s in sources
        if s.snapshot_sha256
    }
    return {s.source_id: s for s in with_duplicates(sources, sketches)}


def piece(evidence_id: str, text: str, source_: Source, **changes: Any) -> Evidence:
    """Return evidence whose excerpt is the whole text of its own snapshot."""
    return make_evidence(evidence_id, source_, make_snapshot(text), text, **changes)


# --- independence ---------------------------------------------------------------------------------------------


def test_the_earliest_published_stands_for_its_copies() -> None:
    """Copies become aliases of the one published first, and share its independence cluster."""
    known = settle(
        source("src_a", published_at="2022-05-02"), source("src_b", published_at="2022-05-01"), source("src_c")
    )
    assert [known[i].duplicate_of for i in ("src_a", "src_b", "src_c")] == ["src_b", None, "src_b"]
    assert [known[i].status for i in ("src_a", "src_b", "src_c")] == ["duplicate", "fetched", "duplicate"]
    assert len({s.independence_cluster for s in known.values()}) == 1


def test_a_page_that_names_another_as_canonical_is_the_copy() -> None:
    """A declared copy never stands for the page it names, whatever the dates say."""
    known = settle(
        source("src_a", canonical_url="https://origin.example/", published_at="2020-01-01"),
        source(
            "src_b", url="https://origin.example/", canonical_url="https://origin.example/", published_at="2022-01-01"
        ),
    )
    assert (known["src_a"].duplicate_of, known["src_b"].duplicate_of) == ("src_b", None)


def test_without_dates_the_first_found_stands() -> None:
    """Where nothing else tells copies apart, their position in the run does."""
    assert settle(source("src_z"), source("src_a"))["src_a"].duplicate_of == "src_z"


def test_one_publisher_is_one_voice_but_no_copy() -> None:
    """Different pages of one publisher or site share a cluster and stay sources of their own."""
    known = settle(
        source("src_a", publisher="Port Authority"),
        source("src_b", OTHER, publisher="port authority "),
        source("src_c", OTHER, domain="b.example"),
    )
    assert known["src_b"].duplicate_of is None
    assert (
        known["src_a"].independence_cluster
        == known["src_b"].independence_cluster
        == known["src_c"].independence_cluster
    )


def test_sources_without_a_text_are_left_alone() -> None:
    """What was not read is no copy of anything; a former alias that lost its twin stands alone again."""
    waiting, dead = make_source("src_a"), make_source("src_b", status="failed")
    alias = source("src_c", status="duplicate", duplicate_of="src_gone")
    before = (waiting, dead, alias)
    after = with_duplicates(before, {"src_c": make_snapshot(ONE).signature})
    assert after[:2] == (waiting, dead)
    assert (after[2].status, after[2].duplicate_of) == ("fetched", None)
    assert changed(before, after) == (after[2],)


@given(st.permutations(["src_a", "src_b", "src_c", "src_d"]))
def test_copies_do_not_depend_on_order(ids: list[str]) -> None:
    """With dates to go by, the order in which sources were found changes nothing."""
    dates = {"src_a": "2021", "src_b": "2020", "src_c": "2022", "src_d": "2019"}
    known = settle(*(source(i, OTHER if i == "src_d" else ONE, published_at=dates[i]) for i in ids))
    assert {i: s.duplicate_of for i, s in known.items()} == {
        "src_a": "src_b",
        "src_b": None,
        "src_c": "src_b",
        "src_d": None,
    }


# --- sentences ------------------------------------------------------------------------------------------------


def test_headings_are_no_sentences_but_a_lone_fragment_is_kept() -> None:
    """A heading above a sentence is left out; where there is nothing else, it is better than nothing."""
    assert sentences_of("Maintenance\nThe dock was  dredged. It took\ta week.") == (
        "The dock was dredged.",
        "It took a week.",
    )
    assert sentences_of("Maintenance") == ("Maintenance",)


def test_rows_of_a_table_stay_together() -> None:
    """A header and its row make one statement, since a row alone may not tell what its figures are."""
    assert sentences_of("Barge | Voyages\nIda | 64\nIn 2018.") == ("Barge | Voyages\nIda | 64", "In 2018.")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("The lock is 5 m deep and wide.", "The lock is 5 metres deep and wide.", False),
        (
            "The lock’s gates are made of dark green painted steel.",
            "The lock's gates are made of dark  green painted steel.",
            True,
        ),
        (
            "The gates of the new lock were all painted dark green in May.",
            "The gates of the new lock were painted dark green in May.",
            True,
        ),
        ("The lock opened with 12 gates in the north.", "The lock opened with 13 gates in the north.", False),
        (
            "The lock was opened by the harbour master in the north.",
            "The lock was not opened by the harbour master in the north.",
            False,
        ),
        ("The lock opened.", "The mole was repaired.", False),
    ],
)
def test_near_identical_sentences_agree_in_figures_and_negation(one: str, other: str, same: bool) -> None:
    """Nearly the same words count as one only with the same figures and negations."""
    assert near_identical(gist_of(one), gist_of(other)) is same


# --- selection ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("published", "as_of", "after"),
    [
        ("2024-02-01", "2024-01-31", True),
        ("2024-01-31T23:00:00+00:00", "2024-01-31", False),
        ("2024", "2024-01-31", False),
        ("2025", "2024-01-31", True),
        ("2024-06-01", "2024", False),
        ("2024-02", "2024-01-31", True),
        (None, "2024-01-31", False),
        ("2024-02-01", None, False),
        ("February", "2024-01-31", False),
    ],
)
def test_a_source_is_too_young_only_when_that_is_certain(published: str | None, as_of: str | None, after: bool) -> None:
    """Dates are compared at the precision that both have; unknown ones are kept."""
    assert published_after(published, as_of) is after


def test_unusable_evidence_is_left_out() -> None:
    """Out of scope, of an unknown source, or published after the as-of date."""
    old, new = source("src_a", published_at="2020"), source("src_b", published_at="2024")
    pieces = [
        piece("ev_1", ONE, old),
        piece("ev_2", ONE, new),
        piece("ev_3", ONE, old, in_scope=False),
        piece("ev_4", ONE, source("src_x")),
    ]
    found = usable(pieces, {"src_a": old, "src_b": new}, "2022-12-31")
    assert [e.evidence_id for e in found] == ["ev_1"]


def test_evidence_goes_to_the_section_of_its_question_once() -> None:
    """Each piece stands in the first section that asks for it, the most relevant source first."""
    plan = make_plan("What happened?", "And then?")
    a, b = source("src_a"), source("src_b", OTHER)
    pieces = [
        piece("ev_1", "The dredger came on Monday.", a, relevance_bp=6000),
        piece("ev_2", "The survey was made by launch.", b, relevance_bp=9000),
        piece("ev_3", "The lock was closed for repair.", a, question_ids=("q2", "q1"), relevance_bp=5000),
        piece("ev_4", "The mole was painted green.", a, question_ids=("q2",)),
    ]
    sections = outline(plan, pieces, {"src_a": a, "src_b": b}, ROOM)
    assert sections == {"s1": ("ev_2", "ev_1", "ev_3"), "s2": ("ev_4",)}


def test_what_a_copy_repeats_is_not_said_twice() -> None:
    """A copy's passage is dropped, an independent source's is cited beside the first, another figure is kept."""
    a = source("src_a", independence_cluster="src_a")
    copy = source("src_b", duplicate_of="src_a", status="duplicate", independence_cluster="src_a")
    other = source("src_c", independence_cluster="src_c")
    pieces = [
        piece("ev_copy", ONE, copy, relevance_bp=9900),
        piece("ev_orig", ONE, a),
        piece("ev_other", ONE, other, relevance_bp=5000),
        piece("ev_diff", ONE.replace("412", "413"), other, relevance_bp=4000),
    ]
    known = {s.source_id: s for s in (a, copy, other)}
    assert outline(make_plan(), pieces, known, ROOM) == {"s1": ("ev_orig", "ev_other", "ev_diff")}


def test_a_copy_may_say_what_its_original_does_not() -> None:
    """Evidence of an alias is used where nothing else has its words."""
    copy = source("src_b", duplicate_of="src_a", status="duplicate")
    assert outline(make_plan(), [piece("ev_1", ONE, copy)], {"src_b": copy}, ROOM) == {"s1": ("ev_1",)}


@pytest.mark.parametrize(
    ("sections", "depth", "room"),
    [(1, Depth.QUICK, 14), (1, Depth.STANDARD, 18), (2, Depth.THOROUGH, 12), (3, Depth.STANDARD, 10)],
)
def test_sections_share_the_room_of_one(sections: int, depth: Depth, room: int) -> None:
    """A report of many parts is no longer for each of them, but none goes short."""
    assert shared_room(make_plan(*(f"Question {n}?" for n in range(sections))), depth) == room


@pytest.mark.parametrize("room", [14, 18, 24])
def test_a_section_is_bounded_and_every_question_gets_its_turn(room: int) -> None:
    """The best of each question come first, so that a rich question cannot push out a poor one."""
    plan = make_plan("What?", "Who?", writing_plan=(PlannedSection(id="s1", title="All", question_ids=("q1", "q2")),))
    a = source("src_a")
    rich = [piece(f"ev_{n}", f"Boat number {n} has the name of tree {n}.", a, relevance_bp=9000) for n in range(40)]
    poor = piece("ev_poor", "The master was Odile.", a, question_ids=("q2",), relevance_bp=5000)
    (ids,) = outline(plan, [*rich, poor], {"src_a": a}, room).values()
    assert len(ids) == room
    assert "ev_poor" in ids


def test_a_long_passage_is_not_shut_out() -> None:
    """A passage of more sentences than a section holds may fill it alone."""
    text = " ".join(f"Boat {n} is called after tree {n}." for n in range(12))
    a = source("src_a")
    assert outline(make_plan(), [piece("ev_1", text, a)], {"src_a": a}, ROOM) == {"s1": ("ev_1",)}


def test_questions_that_no_section_names_are_answered_all_the_same() -> None:
    """They go to the first section without questions, or to the last."""
    free = make_plan(
        "A?",
        "B?",
        writing_plan=(PlannedSection(id="s1", title="x", question_ids=("q1",)), PlannedSection(id="s2", title="y")),
    )
    full = make_plan("A?", "B?", writing_plan=(PlannedSection(id="s1", title="x", question_ids=("q1",)),))
    assert section_questions(free) == {"s1": ("q1",), "s2": ("q2",)}
    assert section_questions(full) == {"s1": ("q1", "q2")}


# --- writing --------------------------------------------------------------------------------------------------


def test_drafts_are_verbatim_sentences_with_lasting_ids() -> None:
    """Writing a section twice gives the same drafts; another epoch or section gives other ids."""
    a, b = source("src_a"), source("src_b")
    pieces = (piece("ev_1", "It rained. It poured.", a), piece("ev_2", "It poured.", b), piece("ev_3", "It froze.", b))
    drafts = verbatim_drafts(SectionTask(RUN_ID, 1, "s1", pieces))
    assert [(d.statement.text, d.statement.evidence_ids, d.block) for d in drafts] == [
        ("It rained.", ("ev_1",), 0),
        ("It poured.", ("ev_1", "ev_2"), 0),
        ("It froze.", ("ev_3",), 1),
    ]
    assert drafts == verbatim_drafts(SectionTask(RUN_ID, 1, "s1", pieces))
    again = [verbatim_drafts(SectionTask(RUN_ID, e, s, pieces)) for e, s in ((2, "s1"), (1, "s2"))]
    ids = [d.statement.id for batch in (drafts, *again) for d in batch]
    assert len(set(ids)) == len(ids)


# --- confidence -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sources", "contested", "expected"),
    [
        ([{"source_class": "official"}], False, "high"),
        ([{"source_class": "official"}], True, "medium"),
        ([{"source_class": "reputable_secondary"}], False, "medium"),
        ([{"source_class": "reputable_secondary"}], True, "low"),
        ([{"source_class": "aggregator"}], False, "low"),
        ([{}, {}], False, "high"),
        ([{}, {}], True, "medium"),
        ([{"independence_cluster": "x"}, {"independence_cluster": "x"}], False, "medium"),
        ([{"kind": "document"}], False, "high"),
    ],
)
def test_confidence_follows_from_the_sources(sources: list[dict[str, Any]], contested: bool, expected: str) -> None:
    """First-hand or independently confirmed is high, contested never."""
    known = {f"src_{n}": source(f"src_{n}", **changes) for n, changes in enumerate(sources)}
    cited = [piece(f"ev_{i}", ONE, s) for i, s in known.items()]
    assert confidence_of(cited, known, frozenset({"ev_src_0"} if contested else ())) == expected


# --- answers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "text", "fit"),
    [
        ("How many cubic metres were dredged in 2021?", "They dredged 5,000 cubic metres.", 2),
        ("How many cubic metres were dredged in 2021?", "There were 5,000 of them.", 1),
        ("How many cubic metres were dredged in 2021?", "In 2021 they dredged cubic metres.", 0),
        ("When did the lock open?", "It opened on 17 April 2024.", 2),
        ("When did the lock open?", "It opened in 2024.", 1),
        ("When did the lock open?", "It opened late.", 0),
        ("Who built the lock?", "The lock was built by Corvanth.", 1),
        ("Who built the lock?", "The lock was built well.", 0),
        ("Why was it built?", "The river was too shallow.", 1),
    ],
)
def test_an_answer_holds_the_kind_of_thing_asked_for(question: str, text: str, fit: int) -> None:
    """A figure, a date or a name that the question does not already give."""
    assert answer_fit(text, question, asked(question)) == fit


def known_of(*pieces: Evidence, sources: tuple[Source, ...], opposed: tuple[str, ...] = ()) -> Known:
    """Return what findings are weighed with."""
    conflicts = (make_contradiction(opposed),) if opposed else ()
    return Known({e.evidence_id: e for e in pieces}, {s.source_id: s for s in sources}, conflicts)


def test_the_newest_side_of_a_contradiction_answers() -> None:
    """A correction is younger than what it corrects, even when the older page fits the words better."""
    old, new = source("src_a", published_at="2022-03-22"), source("src_b", published_at="2023-11-08")
    one = piece("ev_1", "The lock opens on 4 September 2023.", old, relevance_bp=9900)
    two = piece("ev_2", "The lock opens on 17 April 2024.", new, relevance_bp=7000)
    findings = [make_statement("stm_1", one.excerpt, ["ev_1"]), make_statement("stm_2", two.excerpt, ["ev_2"])]
    known = known_of(one, two, sources=(old, new), opposed=("ev_1", "ev_2"))
    question = Question(id="q1", text="When does the lock open?")
    assert best_finding(question, findings, known) == findings[1]
    assert best_finding(question, findings, known_of(one, two, sources=(old, new))) == findings[0]


def test_a_figure_beats_words_and_relevance_decides_the_rest() -> None:
    """What holds the kind of thing asked for comes first, then what is more relevant."""
    a = source("src_a")
    pieces = [
        piece("ev_1", "Cubic metres were dredged there.", a, relevance_bp=9900),
        piece("ev_2", "They took 5 cubic metres.", a, relevance_bp=6000),
        piece("ev_3", "They took 7 cubic metres.", a, relevance_bp=8000),
    ]
    findings = [make_statement(e.evidence_id, e.excerpt, [e.evidence_id]) for e in pieces]
    best = best_finding(make_plan().questions[0], findings, known_of(*pieces, sources=(a,)))
    assert best == findings[2]


def test_the_summary_is_left_out_when_it_repeats_the_answer() -> None:
    """One question with one finding has a short answer and no summary; a second question brings one."""
    a = source("src_a")
    one = piece("ev_1", ONE, a)
    two = piece("ev_2", OTHER, a, question_ids=("q2",))
    findings = [make_statement("stm_1", ONE, ["ev_1"]), make_statement("stm_2", OTHER, ["ev_2"])]
    plan, known = make_plan("What happened?", "And then?"), known_of(one, two, sources=(a,))
    answer = short_answer(plan, findings, known)
    assert answer == findings[0]
    assert executive_summary(plan, findings[:1], known, answer) == ()
    assert executive_summary(plan, findings, known, answer) == tuple(findings)


def test_only_a_required_question_gives_the_short_answer() -> None:
    """A supporting question that comes first does not; without a finding there is no answer."""
    plan = make_plan("What?", "Who?")
    plan = plan.model_copy(
        update={"questions": (plan.questions[0].model_copy(update={"priority": "supporting"}), plan.questions[1])}
    )
    a = source("src_a")
    one = piece("ev_1", ONE, a)
    assert short_answer(plan, [make_statement("stm_1", ONE, ["ev_1"])], known_of(one, sources=(a,))) is None


# --- methodology ----------------------------------------------------------------------------------------------

COURSE = Course("extractive", 1, 2, 3, 2, 1, 1, "2024-01-31", 1, 2, "budget:fetches", "containment 1")
SUMMARY = VerificationSummary(
    statements=3, emitted=2, dropped=1, sentence_support_rate=0.6667, citation_support_rate=0.5
)


def test_methodology_tells_the_figures_in_sentences() -> None:
    """Searches, sources, copies, dates, checks and the reason for stopping are all said."""
    text = " ".join(methodology(COURSE, SUMMARY))
    for part in (
        "1 question",
        "2 searches",
        "3 sources",
        "1 source is a copy",
        "2024-01-31",
        "1 source published later",
        "2 passed",
        "1 did not",
    ):
        assert part in text
    assert text.endswith("Research stopped because its limit on sources was reached.")


@pytest.mark.parametrize("reason", [None, "cancelled", "failed:verify"])
def test_some_reasons_are_not_worth_a_sentence(reason: str | None) -> None:
    """What a reader of a report cannot use is left out."""
    assert stop_in_words(reason) is None


def test_a_documents_class_does_not_matter() -> None:
    """A file of the user's counts as first-hand."""
    document = make_document("src_1", make_snapshot(ONE))
    assert confidence_of([piece("ev_1", ONE, document)], {"src_1": document}, frozenset()) == "high"
