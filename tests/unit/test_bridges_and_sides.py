"""Names that lead on, two sentences that answer together, sides of yes-or-no questions, and why sources differ."""

from services.planner.brief import Brief
from services.planner.engines.bridges import along_bridges
from services.planner.explaining import explanation
from services.planner.polarity import asks_what_holds_now, asks_yes_or_no, by_polarity
from services.synthesizer.rules.chains import answering_pair, without_the_unasked
from shared.contracts.evidence import Evidence, Source
from shared.domain.chains import all_names
from shared.domain.rank import CorpusStats
from tests.factories.research import make_evidence, make_plan, make_snapshot, make_source

COUNTED = CorpusStats(100, 50.0, {})
FIRST = "Orla Vask (born 1969) was a wrestler from Tarnby."
SECOND = "A Kestrel flying boat dropped the bomb on Tarnby in 1945."
QUESTION = "What kind of plane dropped the bomb on Orla Vask's birthplace?"


def material(*excerpts: str, question: str = QUESTION) -> tuple[list[Evidence], dict[str, Source]]:
    """Return a piece of evidence of a source of its own for each excerpt."""
    evidence, sources = [], {}
    for n, excerpt in enumerate(excerpts):
        snapshot = make_snapshot(excerpt)
        source = make_source(f"src_{n}", snapshot, title=f"Page {n}")
        sources[source.source_id] = source
        evidence.append(make_evidence(f"evd_{n}", source, snapshot, excerpt, stance="context"))
    return evidence, sources


def test_a_name_beside_what_was_found_opens_a_search_for_what_lacks() -> None:
    """The words beside the name that was found are left out: the birthplace is what the new name stands for."""
    evidence, sources = material(FIRST)
    brief = Brief(make_plan(QUESTION), frozenset(), tuple(evidence), (), (QUESTION,), sources, stats=COUNTED)
    assert [p.query for p in along_bridges(brief)] == ["Tarnby plane dropped"]


def test_a_name_is_followed_once() -> None:
    """A query that held the name is not made again in other words."""
    evidence, sources = material(FIRST)
    brief = Brief(make_plan(QUESTION), frozenset(), tuple(evidence), (), ("Tarnby plane",), sources, stats=COUNTED)
    assert list(along_bridges(brief)) == []


def test_names_are_no_months_and_no_single_word_that_opens_a_sentence() -> None:
    """Several words that open a sentence are a name, and one inside it."""
    names = all_names("Harbour of Brand Works. Instead she met Odile, in May.")
    assert names == ["Harbour of Brand Works", "Brand Works", "Odile"]


def test_a_search_starts_at_a_name_that_the_question_gives() -> None:
    """A sentence with more words of the question leads nowhere when it is about someone else."""
    other = "A Heron plane dropped the first bomb on the birthplace of Dalmark."
    evidence, sources = material(other, FIRST)
    brief = Brief(make_plan(QUESTION), frozenset(), tuple(evidence), (), (QUESTION,), sources, stats=COUNTED)
    assert next(along_bridges(brief)).query == "Tarnby plane dropped"


def test_two_linked_sentences_answer_together() -> None:
    """A name links them; a sentence that holds all of the question needs no other."""
    evidence, sources = material(SECOND, FIRST)
    question = make_plan(QUESTION).questions[0]
    assert set(answering_pair(question, evidence, sources, COUNTED)) == {"evd_0", "evd_1"}
    whole, of_one = material("A kind of plane dropped the bomb on Orla Vask's birthplace.")
    assert answering_pair(question, whole, of_one, COUNTED) == ()


def test_two_sentences_that_nothing_links_do_not_answer_together() -> None:
    """What two pages say by chance in words of the question is no answer, however many of them it holds."""
    evidence, sources = material("A Kestrel flying boat dropped the bomb in May.", "Orla Vask has a birthplace.")
    assert answering_pair(make_plan(QUESTION).questions[0], evidence, sources, COUNTED) == ()


def test_two_sentences_about_the_two_that_are_compared_answer_together() -> None:
    """The question itself links the names that it gives."""
    question = make_plan("Which barge is longer, Ida Thorsby or Perpetua Holm?").questions[0]
    evidence, sources = material("The barge Ida Thorsby has 40 metres.", "The barge Perpetua Holm has 60 metres.")
    assert set(answering_pair(question, evidence, sources, COUNTED)) == {"evd_0", "evd_1"}


def test_context_is_left_out_where_nothing_names_the_thing_asked_for() -> None:
    """What surrounds a premium that nobody mentions is no answer to a question for it."""
    plan = make_plan("What insurance premium did the port pay for the pier?")
    evidence, sources = material("The port paid for the pier in May.")
    assert without_the_unasked(plan, evidence, sources, COUNTED) == ()
    evidence, sources = material("The insurance premium of the pier was high, said the port.")
    assert len(without_the_unasked(plan, evidence, sources, COUNTED)) == 1


def test_yes_and_no_are_two_sides() -> None:
    """Questions are told apart by their first word, answers by whether they deny."""
    assert asks_yes_or_no("Do cameras reduce crime?")
    assert not asks_yes_or_no("Is it red or blue?")
    assert asks_what_holds_now("Where is the fair this year?")
    evidence, _ = material("Cameras reduce crime in car parks.", "Cameras did not reduce crime.")
    spoken = tuple((e.source_id, e) for e in evidence)
    assert {side: len(items) for side, items in by_polarity("Do cameras reduce crime?", spoken).items()} == {
        "yes": 1,
        "no": 1,
    }


def test_a_difference_is_explained_by_what_the_sides_name() -> None:
    """Years first, then places, then words of definition and of method; else nothing explains it."""
    for texts, reason in (
        (("In 2019 it was 4 m.", "In 2021 it was 5 m."), "one of date"),
        (("It is 4 m in Tarnby.", "It is 5 m in Holm."), "one of geography"),
        (("It is 4 m including the cap.", "It is 5 m."), "one of definition"),
        (("It is 4 m by a survey.", "It is 5 m."), "one of method"),
        (("It is 4 m.", "It is 5 m."), "genuine"),
    ):
        evidence, _ = material(*texts)
        assert reason in explanation({"a": evidence[:1], "b": evidence[1:]}, {})
