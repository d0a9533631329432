"""Output tokens of an extraction that points at numbered sentences, beside one that types its quotations.

``python -m evals.bench.tokens``. Both say the same of the same findings; the other form has the excerpt's words where
ours has two numbers. Tokens are counted by the rule of thumb of byte-pair vocabularies: four characters of a word, or a
sign.
"""

import json
import re
from collections.abc import Iterator

from evals.bench.outcome import Bar, end, ratio
from evals.graders.facts import load_cases
from services.extractor.engines.llm import LlmExtraction
from services.extractor.engines.spans import ExtractRequest
from services.extractor.parsing import parse_bytes
from services.extractor.prompts.extract import Extraction
from services.extractor.rules import headings_of
from shared.contracts.snapshot import Snapshot
from shared.domain.questions import split_question
from shared.domain.rank import stats_of
from shared.domain.text import content_terms
from tests.fakes.materials import InlineCpu
from tests.fakes.model import RuleModel
from tests.support import scripted_model
from tests.support.harbor_site import CASES_FILE, corpus_files

LEAST_SAVED = 0.1
_TOKEN = re.compile(r"\w{1,4}|[^\w\s]")


def tokens(text: str) -> int:
    """Return how many tokens a text is, roughly."""
    return len(_TOKEN.findall(text))


def snapshots() -> Iterator[Snapshot]:
    """Yield the texts of the harbor corpus."""
    for path in corpus_files():
        _, snapshot = parse_bytes(path.read_bytes(), path.name)
        if snapshot is not None:
            yield snapshot


def both(snapshot: Snapshot, questions: tuple[tuple[str, str], ...]) -> tuple[int, int, int]:
    """Return findings, output tokens by numbers and output tokens with typed quotations of one extraction."""
    model = RuleModel()
    terms = [content_terms(snapshot.text[a:b]) for a, b in snapshot.segments]
    request = ExtractRequest(
        "", snapshot.text, snapshot.segments, headings_of(snapshot), questions, "q", stats_of(terms), 200_000
    )
    LlmExtraction(InlineCpu(), model).extract(request)
    pointed = typed = found = 0
    for asked in model.asked:
        answer = scripted_model.answer("Extraction", asked.input)
        rows = []
        for finding in Extraction.model_validate_json(answer).findings:
            start, stop = snapshot.segments[finding.first][0], snapshot.segments[finding.last][1]
            rows.append({**finding.model_dump(exclude={"first", "last"}), "quote": snapshot.text[start:stop]})
        if not rows:
            continue  # nothing found is said alike in both
        found += len(rows)
        pointed += tokens(answer)
        typed += tokens(json.dumps({"findings": rows}, ensure_ascii=False))
    return found, pointed, typed


def main() -> None:
    """Measure, print and save."""
    cases = load_cases(CASES_FILE)
    found = pointed = typed = 0
    for snapshot in snapshots():
        for case in cases:
            asked = tuple((f"q{n}", text) for n, text in enumerate(split_question(case.question), start=1))
            one = both(snapshot, asked)
            found, pointed, typed = found + one[0], pointed + one[1], typed + one[2]
    print(f"{found} findings: {pointed:,} output tokens by numbers, {typed:,} with typed quotations")
    print(f"ratio {ratio(pointed, typed):.3f}")
    details = {"findings": found, "by_numbers": pointed, "typed": typed}
    end("tokens", [Bar("output tokens saved", 1 - ratio(pointed, typed), LEAST_SAVED)], details)


if __name__ == "__main__":
    main()
