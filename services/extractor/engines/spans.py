"""What an extract engine is given and what it gives back: segments in, references to segments out."""

from dataclasses import dataclass

from services.extractor.windows import best_segments
from shared.contracts.evidence import Stance
from shared.domain.maps import Heading
from shared.domain.rank import CorpusStats


@dataclass(frozen=True, slots=True)
class ExtractRequest:
    """A snapshot and the questions to it. Offsets count code points of ``text``; ``query`` found the source."""

    title: str
    text: str
    segments: tuple[tuple[int, int], ...]
    headings: tuple[Heading, ...]
    questions: tuple[tuple[str, str], ...]
    """Question ids and texts."""
    query: str
    stats: CorpusStats
    max_chars: int
    """How much of a long text is looked at: what ranks best for the questions, wherever it stands."""
    max_calls: int = 1
    """Calls that may be made to show a long source to a model."""
    claims: tuple[tuple[str, str], ...] = ()
    """Question ids and sentences that are said to come from this source."""


def looked_at(request: ExtractRequest) -> range | frozenset[int]:
    """Return the numbers of the segments that are looked at."""
    queries = (*(text for _, text in (*request.questions, *request.claims)), request.query)
    return best_segments(request.text, request.segments, queries, request.stats, request.max_chars)


@dataclass(frozen=True, slots=True)
class Picked:
    """A range of segments (end exclusive) that answers a question; ``relevance`` from 0 to 1."""

    question_id: str
    segment_start: int
    segment_end: int
    relevance: float
    number: float | None = None
    unit: str | None = None
    date: str | None = None
    stance: Stance = "supports"
    claim_key: str | None = None
    answer: tuple[int, int] | None = None
    """Code points of the text that answer, end exclusive."""
    certainty: float = 0.0
    """Probability, 0 to 1, that they do."""
    read_by: str | None = None
    """Who looked for answers."""
