"""Two sentences that may answer a question together: read as one text, by the reader or by words alone."""

from dataclasses import dataclass

from shared.domain.certainty import READER, WORDS, Candidate, certainty, figures_of, reads, sought, with_reading
from shared.domain.rank import CorpusStats
from shared.ports.cpu import CpuLimits
from shared.ports.reader import Pair, Reader, ReaderUnavailable, Reading

PAIR_LIMITS = CpuLimits(wall_s=60, cpu_s=30, memory_bytes=2_000_000_000)


@dataclass(frozen=True, slots=True)
class PairRead:
    """How sure it is, 0 to 1, that two sentences answer together, and the words of them that do, if they are known."""

    certainty: float
    words: str | None


def read_pair(
    question: str, sentences: tuple[str, str], title: str, stats: CorpusStats, reader: Reader | None
) -> PairRead:
    """Read two sentences as one text under the title of the second one's source."""
    text = " ".join(sentences)
    figures = figures_of(Candidate(sentences[1], sentences[0], title), sought(question, stats))
    reading = _reading(question, text, title, reader)
    if reading is None:
        return PairRead(certainty(figures, WORDS), None)
    sure = certainty(with_reading(figures, reading.verdict, reading.margin, reading.margin), READER)
    return PairRead(sure, text[reading.start : reading.end] or None)


def _reading(question: str, text: str, title: str, reader: Reader | None) -> Reading | None:
    """Return what the reader says, or None where there is none that can read the question."""
    if reader is None or not reads(question):
        return None
    try:
        return reader.read([Pair(question, text, title)])[0]
    except ReaderUnavailable:
        return None
