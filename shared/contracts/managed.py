"""What a provider's research job told: sentences, and the pages that they are said to come from. Nothing is checked."""

from shared.contracts.base import Stored


class ToldSentence(Stored):
    """One sentence of a provider's report; ``block`` numbers its paragraph or list."""

    text: str
    question_id: str
    source_ids: tuple[str, ...] = ()
    block: int = 0


class ToldReport(Stored):
    """A provider's report in sentences.

    ``omitted`` counts rows of tables, sentences that give orders and those past the limits, ``refused`` are cited
    addresses that may not be read.
    """

    sentences: tuple[ToldSentence, ...] = ()
    omitted: int = 0
    refused: tuple[str, ...] = ()
