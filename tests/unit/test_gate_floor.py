"""What no model can overrule: made-up statements are refused, other wordings are not."""

import random
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.synthesizer.engines.verifying import ModelVerifier
from services.synthesizer.gate.alignment import assess
from services.synthesizer.gate.context import gate_context
from services.synthesizer.gate.floor import check_floor
from services.synthesizer.gate.quotes import misquoted
from services.synthesizer.gate.support import check_support
from tests.factories.research import make_document, make_evidence, make_fetch, make_snapshot, make_statement
from tests.fakes.materials import InlineCpu
from tests.fakes.model import ToldModel

SENTENCES = (
    "The Cray Basin was dredged to 14 metres by the Perpetua in the spring of 2021.",
    "Mayor Edda Holt opened the northern lock on 14 April 1866 before a large crowd.",
    "Grain exports from Norvik rose by 12 percent after the railway reached the quay.",
    "The keeper of the lighthouse at Skerry was paid 45 marks a year for oil and wicks.",
    "A storm destroyed the western pier, and the council rebuilt it with stone from Harlan.",
    "Ferries to Ostby carry about 3,200 passengers a day during the summer holidays.",
)
TEXT = make_snapshot(" ".join(SENTENCES))
SOURCE = make_document("src_1", TEXT, title="Harbour book")
CARDS = tuple(make_evidence(f"ev_{n}", SOURCE, TEXT, sentence) for n, sentence in enumerate(SENTENCES))
CONTEXT = gate_context(CARDS, {TEXT.sha256: TEXT.text}, [SOURCE], [make_fetch(SOURCE)])
WORDS = "purple council rockets section report write cards numbered each lunar sonnet velvet research gravel".split()
TAILS = (
    ", which experts called a disaster.",
    " amid angry protests.",
    ", and historians still praise this achievement.",
    ", a scandal nobody forgave.",
    " because investors demanded bigger profits.",
    ", sparking worldwide outrage",
)


def emitted(text: str, evidence_id: str) -> bool:
    """Tell whether a statement is emitted by a verifier whose model always says yes."""
    yes = {"verdicts": [{"sentence": 1, "verdict": "supported", "passages": [1]}]}
    verifier = ModelVerifier(InlineCpu(), ToldModel(lambda _: yes), CONTEXT, last_try=True)
    return verifier.verify([make_statement("st_1", text, [evidence_id])]).rows[0].emitted


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=14), st.integers(0, len(SENTENCES) - 1))
def test_random_words_never_pass(words: list[str], cited: int) -> None:
    """A writer that writes anything and a verifier that says yes bring nothing into a report."""
    words = [word for word in words if word not in SENTENCES[cited]]
    assert not emitted(" ".join(words).capitalize() + ".", f"ev_{cited}")


@given(st.integers(0, len(SENTENCES) - 1), st.randoms(use_true_random=False))
def test_shuffled_words_of_other_spans_never_pass(cited: int, rng: random.Random) -> None:
    """Words of the report's own evidence are no help where the cited span does not have them."""
    others = list(chain.from_iterable(s.strip(".").split() for n, s in enumerate(SENTENCES) if n != cited))
    text = " ".join(rng.sample(others, rng.randint(4, 14)))
    assert not emitted(f"{text}.", f"ev_{cited}")


@given(st.integers(0, len(SENTENCES) - 1), st.sampled_from(TAILS))
def test_a_true_sentence_with_an_invented_tail_never_passes(cited: int, tail: str) -> None:
    """Neither by a model's word nor without a model."""
    text = SENTENCES[cited].strip(".") + tail
    assert not emitted(text, f"ev_{cited}")
    assert not assess(text, (SENTENCES[cited],)).emitted


@given(st.permutations(range(len(SENTENCES))))
def test_a_sentence_of_another_span_never_passes(order: list[int]) -> None:
    """A true sentence needs the span that says it."""
    cited, told = order[:2]
    assert not emitted(SENTENCES[told], f"ev_{cited}")


@pytest.mark.parametrize(
    ("cited", "old", "new"),
    [
        (0, "14 metres", "41 metres"),
        (0, "the Perpetua", "the Hollin"),
        (1, "14 April 1866", "14 May 1866"),
        (1, "Edda Holt", "Olav Brandt"),
        (2, "Norvik", "Harlan"),
        (2, "12 percent", "12 million"),
        (3, "Skerry", "Ostby"),
        (5, "3,200", "32,000"),
    ],
)
def test_exchanged_names_and_figures_never_pass(cited: int, old: str, new: str) -> None:
    """Names and figures stand in the cited span or the statement falls."""
    assert not emitted(SENTENCES[cited].replace(old, new), f"ev_{cited}")


@pytest.mark.parametrize("cited", range(len(SENTENCES)))
def test_what_a_span_holds_still_passes(cited: int) -> None:
    """The floor lies below a true sentence, and below the same in other words."""
    assert emitted(SENTENCES[cited], f"ev_{cited}")


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("In spring 2021 the Perpetua deepened the Cray Basin to 14 metres.", 0),
        ("The northern lock was opened by Mayor Edda Holt in April 1866.", 1),
        ("After the railway came to the quay, Norvik exported 12 percent more grain.", 2),
        ("The western pier was rebuilt in stone from Harlan once a storm had destroyed it.", 4),
        ("In summer about 3,200 people travel daily on the ferries to Ostby.", 5),
    ],
)
def test_other_wordings_stay_above_the_floor(text: str, cited: int) -> None:
    """Where a model says yes to a paraphrase, it is emitted as before."""
    assert emitted(text, f"ev_{cited}")


@pytest.mark.parametrize(
    "statement",
    [
        "Writing section research report from numbered cards each.",
        "The lighthouse of Skerry is the oldest in the country.",
        "Everyone agreed.",
    ],
)
def test_words_that_are_not_there_are_refused(statement: str) -> None:
    """One word in common is not enough for a long statement, and none is for any."""
    assert not check_floor(statement, (SENTENCES[2],)).passed


@pytest.mark.parametrize(
    ("statement", "wrong"),
    [
        ("He called it “a disaster for us all”.", ("a disaster for us all",)),
        ("He said: \"We won't pay a penny", ("We won't pay a penny",)),
        ("He called the pier ‘beyond all repair’.", ("beyond all repair",)),
        ("Er nannte es „ein großes Glück“.", ("ein großes Glück",)),
        ("他说「港口永远关闭」。", ("港口永远关闭",)),
        ('It was "rebuilt in marble".', ("rebuilt in marble",)),
        ('It was "rebuilt ... in granite".', ("rebuilt ... in granite",)),
        ('The "pie" was rebuilt.', ("pie",)),
    ],
)
def test_words_in_quotation_marks_stand_in_a_span(statement: str, wrong: tuple[str, ...]) -> None:
    """Whatever the kind of marks, what was never said is told."""
    assert (
        misquoted(statement, ("The pier was rebuilt it with stone; we won't pay, he said. 港口开放", "Glück")) == wrong
    )


@pytest.mark.parametrize(
    "statement",
    [
        'They "destroyed the western pier".',
        "They ‘rebuilt it with stone’, the book says.",
        "The “Western Pier” was destroyed.",
        'It says "a storm destroyed ... the council rebuilt it".',
        'It says "[the] council rebuilt it."',
        "The council's pier isn't the keeper's.",
        "A 6\" pipe and a 5' board.",
    ],
)
def test_what_was_said_so_may_be_quoted(statement: str) -> None:
    """Case, kinds of marks, a closing stop and what is marked as left out do not count."""
    assert misquoted(statement, SENTENCES) == ()


def test_no_model_makes_a_quotation_true() -> None:
    """A figure check refuses before a model is asked; without a model it is not emitted either."""
    text = "The western pier was destroyed by a storm, and the council called it “an act of God”."
    assert not emitted(text, "ev_4")
    assert not assess(text, (SENTENCES[4],)).emitted
    assert check_support(text, {"ev_4": SENTENCES[4]}, {"ev_4": "a"}).verdict != "supported"


@pytest.mark.parametrize("frame", ["The sources say that ", "According to the report, ", "This document notes that "])
def test_that_the_sources_say_so_is_no_invention(frame: str) -> None:
    """Whoever only says that the sources say it has made nothing up."""
    first = SENTENCES[0]
    assert check_floor(frame + first[0].lower() + first[1:], [first]).passed
    assert not check_floor(f"Furious experts {frame.lower()}" + first[0].lower() + first[1:], ["Nothing of it."]).passed
