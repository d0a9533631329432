"""Extraction with a model: it points at numbered sentences; the program checks, cuts and measures."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from services.extractor.engines.spans import ExtractRequest, Picked
from services.extractor.prompts.extract import INSTRUCTIONS, Extraction, Finding, extraction_input
from services.extractor.windows import SHOWN_CHARS, Reading, Window, window_groups
from shared.domain.claims import claim_key
from shared.domain.errors import BudgetExhausted, InvalidAnswer, TextRefused
from shared.domain.evidence import MAX_EXCERPT_CHARS, gives_orders
from shared.domain.numbers import Quantity, quantities
from shared.domain.phases import Phase
from shared.domain.rank import coverage
from shared.domain.text import content_terms
from shared.ports.cpu import Cpu, CpuLimits
from shared.ports.model import Model, ModelRequest

EXTRACT_TOKENS = 4000
DEADLINE_S = 150.0
"""Time for an answer and its repair; ranking, and waiting for a process to do it, need the rest of the step's."""

RANK_LIMITS = CpuLimits(wall_s=60, cpu_s=45, memory_bytes=1_000_000_000)
MAX_PICKS = 12
MAX_SEGMENTS = 6
"""Sentences that one finding may take in a row."""

Groups = Sequence[Sequence[Window]]

_BEARING = {"answers": 0.9, "partly": 0.6, "context": 0.4}
"""Relevance, 0 to 1, by what a model says of a finding; how much of the question stands there tells equals apart."""

_SPREAD = 0.05


class LlmExtraction:
    """See `services.extractor.engines.ExtractEngine`."""

    def __init__(self, cpu: Cpu, model: Model) -> None:
        self._cpu, self._model = cpu, model

    def extract(self, request: ExtractRequest) -> tuple[Picked, ...]:
        """Show the best-ranked parts of the source to the model and keep what it points at."""
        questions = [text for _, text in request.questions]
        ranked_by = (*questions, request.query)
        reading = Reading(request.max_calls)
        groups = self._cpu.run(
            window_groups, request.text, request.segments, ranked_by, request.stats, reading, limits=RANK_LIMITS
        )
        found = self._found(request, groups)
        picked = (pick for group, findings in found for pick in _picks(findings[:MAX_PICKS], request, group))
        return tuple({(p.question_id, p.segment_start, p.segment_end): p for p in picked}.values())

    def _found(self, request: ExtractRequest, groups: Groups) -> list[tuple[Sequence[Window], list[Finding]]]:
        """Ask about every group at once; one that cannot be asked about, or gives nothing, ends nothing."""
        if len(groups) < 2:
            return [(group, self._ask(request, group)) for group in groups]
        with ThreadPoolExecutor(len(groups), thread_name_prefix="extract") as pool:
            asked = [pool.submit(self._ask, request, group) for group in groups]
        found, refused = [], []
        for group, answer in zip(groups, asked, strict=True):
            try:
                found.append((group, answer.result()))
            except (BudgetExhausted, InvalidAnswer, TextRefused) as error:  # what other groups give is kept
                refused.append(error)
        if not found:
            raise refused[0]
        return found

    def most_chars(self, request: ExtractRequest) -> int:
        """Return how many characters of a long source are shown to the model."""
        return SHOWN_CHARS * request.max_calls

    def _ask(self, request: ExtractRequest, windows: Sequence[Window]) -> list[Finding]:
        questions = [text for _, text in request.questions]
        asked = ModelRequest(
            phase=Phase.EXTRACTOR,
            instructions=INSTRUCTIONS,
            input=extraction_input(questions, request.query, request.title, _shown(request, windows)),
            output=Extraction,
            max_output_tokens=EXTRACT_TOKENS,
            deadline_s=DEADLINE_S,
        )
        return self._model.ask(asked).value.findings


def _shown(request: ExtractRequest, windows: Sequence[Window]) -> Iterator[list[tuple[int, str]]]:
    for first, last in windows:
        yield [(n, _text(request, n, n + 1)) for n in range(first, last)]


def _picks(findings: Sequence[Finding], request: ExtractRequest, windows: Sequence[Window]) -> Iterator[Picked]:
    """Yield the findings that point at sentences the model was shown; the program has the last word on each."""
    seen: set[tuple[int, int, int]] = set()
    for finding in findings:
        span = _span(finding, request, windows)
        if span is None or not 1 <= finding.question <= len(request.questions):
            continue
        if (finding.question, *span) not in seen:
            seen.add((finding.question, *span))
            yield _picked(finding, span, request)


def _span(finding: Finding, request: ExtractRequest, windows: Sequence[Window]) -> Window | None:
    """Return the range of segments of a finding, shortened to what an excerpt holds; None when it may not stand."""
    first, end = finding.first, min(finding.last + 1, finding.first + MAX_SEGMENTS)
    if first >= end or not any(low <= first and end <= high for low, high in windows):
        return None
    while end > first + 1 and request.segments[end - 1][1] - request.segments[first][0] > MAX_EXCERPT_CHARS:
        end -= 1
    headings = {(h.start, h.end) for h in request.headings}
    if all(request.segments[n] in headings for n in range(first, end)) or gives_orders(_text(request, first, end)):
        return None
    return first, end


def _picked(finding: Finding, span: Window, request: ExtractRequest) -> Picked:
    question_id, question = request.questions[finding.question - 1]
    text = _text(request, *span)
    held = coverage(content_terms(question), content_terms(text), request.stats)
    value = _value(finding.value, text)
    is_date = value is not None and value.kind == "date"
    return Picked(
        question_id=question_id,
        segment_start=span[0],
        segment_end=span[1],
        relevance=_BEARING[finding.bearing] + _SPREAD * held,
        number=float(value.value) if value is not None and not is_date else None,
        unit=value.unit if value is not None and not is_date else None,
        date=value.date if value is not None else None,
        stance="context" if finding.bearing == "context" else finding.stance,
        claim_key=claim_key(finding.subject, finding.measure, finding.scope),
    )


def _value(told: str, text: str) -> Quantity | None:
    """Return the figure or date of the text that a model named; what does not stand there does not count."""
    named = {(q.kind, q.value, q.date) for q in quantities(told)}
    return next((q for q in quantities(text) if (q.kind, q.value, q.date) in named), None)


def _text(request: ExtractRequest, first: int, end: int) -> str:
    return request.text[request.segments[first][0] : request.segments[end - 1][1]]
