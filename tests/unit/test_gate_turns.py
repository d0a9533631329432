"""Statements that keep the words of their evidence and say something else are not emitted; other wordings are."""

import pytest

from services.synthesizer.gate.alignment import assess
from services.synthesizer.gate.turns import check_turns

DENIED = "one of them denies what the other says"
CERTAIN = "it tells as a fact what the evidence calls possible"
WHOLE = "it tells of all or always what the evidence tells of some or sometimes"


@pytest.mark.parametrize(
    ("statement", "evidence", "told"),
    [
        ("All patients of the harbour clinic improved.", "Most patients of the harbour clinic improved.", WHOLE),
        ("The ferry always arrives late in winter.", "The ferry often arrives late in winter.", WHOLE),
        ("The drug reduces mortality in adults.", "The drug may reduce mortality in adults.", CERTAIN),
        ("The fire started in the engine room.", "Reportedly, the fire started in the engine room.", CERTAIN),
        (
            "The study shows that dredging harms eelgrass.",
            "The study suggests that dredging harms eelgrass.",
            CERTAIN,
        ),
        ("The lock opens to barges at night.", "The lock does not open to barges at night.", DENIED),
        ("The lock does not open to barges at night.", "The lock opens to barges at night.", DENIED),
        (
            "The dog bit the man on the quay.",
            "The man bit the dog on the quay.",
            "“dog” and “man” stand the other way round in the evidence",
        ),
        (
            "Norvik bought Harlan in 2019.",
            "Harlan bought Norvik in 2019.",
            "“norvik” and “harlan” stand the other way round in the evidence",
        ),
        (
            "The Hollin dredged the basin in 2021.",
            "The Perpetua dredged the basin in 2021. The Hollin carried the silt to sea.",
            "it says of “hollin” what the evidence says of “perpetua”",
        ),
    ],
)
def test_a_turned_statement_is_told_and_not_emitted(statement: str, evidence: str, told: str) -> None:
    """Each rule names what it sees, and the statement stays out of a report."""
    assert check_turns(statement, (evidence,)).reasons == (told,)
    assert not assess(statement, (evidence,)).emitted


@pytest.mark.parametrize(
    ("statement", "evidence"),
    [
        ("Most patients improved in spring.", "All patients improved in spring."),
        ("The drug may reduce mortality in adults.", "The drug reduces mortality in adults."),
        ("Every patient improved in spring.", "All patients improved in spring."),
        ("The drug might reduce mortality.", "The drug could reduce mortality, one trial found."),
        ("He sent a letter to the board.", "He did not attend, but sent a letter to the board."),
        ("Norvik was bought by Harlan in 2019.", "Harlan bought Norvik in 2019."),
        ("Iran, Russia and Syria met in Sochi.", "Syria, Iran and Russia met in Sochi."),
        ("In 2019 Harlan bought the northern quay.", "Harlan bought the northern quay in 2019."),
        ("Norvik bought the northern quay.", "Norvik is a shipping line. It bought the northern quay."),
        ("Harlan and Norvik bid for the quay.", "Harlan bid for the quay. So did Norvik."),
        ("The lock never opens at night.", "At night the lock does not open."),
        ("", "The lock opens."),
        ("The lock opens.", ""),
    ],
)
def test_saying_less_or_the_same_in_other_words_is_no_turn(statement: str, evidence: str) -> None:
    """A weaker claim, another order, a passive and a denial in another clause are left to the alignment."""
    assert check_turns(statement, (evidence,)).reasons == ()


def test_a_denial_is_looked_for_in_the_sentence_nearest_to_the_statement() -> None:
    """A denial somewhere else in the excerpt turns nothing."""
    evidence = "The basin is not dredged in winter. The lock opens to barges at night."
    assert check_turns("The lock opens to barges at night.", (evidence,)).reasons == ()
