"""A "model" of plain rules that answers the project's calls honestly: the same prompt always gets the same answer.

It plans by splitting the question, picks the numbered sentences that share the most words with a question, writes by
copying its cards, and supports a sentence when its words stand in its passages.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from services.extractor.prompts.extract import Extraction
from services.planner.prompts.decide import Decision
from services.planner.prompts.plan import PlanProposal
from services.synthesizer.prompts.shorten import Shortening
from services.synthesizer.prompts.verify import Verdicts
from services.synthesizer.prompts.write import SectionText, SummaryText
from shared.domain.numbers import quantities
from shared.domain.questions import AnswerKind, asked, split_question
from shared.domain.text import content_terms

UNKNOWN = "unknown"
"""The name of an answer that none of the project's calls asks for."""

PICKS = 3
ENOUGH = 0.5
ANSWERS = 0.75
SAID_BY = "The sources say that "
"""Put before every second sentence, so that its words do not stand in a passage as they are."""

_NUMBERED = re.compile(r"^(\d+)\. (?:\[[^\]]*\] )?(.+)$", re.M)
_LINE = re.compile(r"^\[(\d+)\] (.+)$", re.M)
_CARD = re.compile(r"^\[(\d+)\] \((.*?)\) (.+)$", re.M)
_STATE = re.compile(r"^(\d+)\. \[([^\]]*)\] (.+)$", re.M)
_SENTENCE = re.compile(r"^Sentence (\d+): (.+)$", re.M)
_SOURCES = re.compile(r"^Sources: (.+)$", re.M)


def answer(schema_name: str, prompt: str) -> str:
    """Return the answer to a call, by the name of what it asks for."""
    made = _ANSWERS[schema_name](prompt) if schema_name in _ANSWERS else {}
    return json.dumps(made, ensure_ascii=False)


def known_schema(text: str) -> str:
    """Return the name of the answer that a schema in the text describes."""
    return next((name for name in _ANSWERS if f'"title":"{name}"' in text), UNKNOWN)


def schema_of(schema: Mapping[str, Any]) -> str:
    """Return the name of the answer that a schema describes; some providers' clients leave out its title."""
    return _BY_FIELDS.get(frozenset(schema["properties"]), UNKNOWN)


def _plan(prompt: str) -> dict[str, Any]:
    request = _between(prompt, "Request:\n", "\n\nPlan so far:").strip()
    change = _between(prompt, "Change:\n", None).strip()
    texts = [*split_question(request), *(split_question(change) if change else ())][:7]
    where = _first(_SOURCES, prompt, "documents").split(",")[0].strip()
    places = range(1, len(texts) + 1)
    return {
        "title": request[:80],
        "questions": [{"text": text, "required": True, "rationale": "It is a part of the request."} for text in texts],
        "searches": [
            {"questions": [n], "query": " ".join(_words(t)), "where": where} for n, t in zip(places, texts, strict=True)
        ],
        "sections": [
            {"title": t.rstrip("?"), "questions": [n], "guidance": ""} for n, t in zip(places, texts, strict=True)
        ],
        "assumptions": ["Figures are as the sources give them."],
        "audience": "",
    }


def _decision(prompt: str) -> dict[str, Any]:
    """Search for what is open, once for each question; then finish."""
    questions = [(int(n), state, text) for n, state, text in _STATE.findall(_between(prompt, "Questions:", "Searches"))]
    made = _between(prompt, "Searches made:\n", "\n\nProposals").count("- ")
    where = _first(_SOURCES, prompt, "documents").split(",")[0].strip()
    disputed = {int(n) for n in re.findall(r"^for (\d+)", _between(prompt, "Contradictions:\n", None), re.M)}
    open_ones = [(n, text) for n, state, text in questions if "nothing found" in state or n in disputed]
    if made >= 2 * len(questions) + 2 or not open_ones:
        return {"finish": True, "searches": []}
    searches = [
        {
            "questions": [n],
            "query": " ".join([*_words(text)[-4:], "correction" if n in disputed else "figure", "published"]),
            "where": where,
            "reason": "The sources differ." if n in disputed else "Nothing was found yet.",
        }
        for n, text in open_ones[:3]
    ]
    return {"finish": False, "searches": searches}


def _extraction(prompt: str) -> dict[str, Any]:
    questions = [(int(n), text) for n, text in _NUMBERED.findall(_between(prompt, "Questions:\n", "\n\nFound by"))]
    lines = [(int(n), text) for n, text in _LINE.findall(_between(prompt, "Source:\n", None))]
    findings = []
    for number, question in questions:
        wanted = set(content_terms(question))
        scored = sorted(((_share(wanted, text), -n, text) for n, text in lines), reverse=True)
        for share, place, text in scored[:PICKS]:
            if share >= ENOUGH and text.rstrip().endswith((".", "|")):
                findings.append(_finding(number, question, -place, text, share))
    return {"findings": findings}


def _finding(number: int, question: str, place: int, text: str, share: float) -> dict[str, Any]:
    kind = asked(question).answer
    kinds = {AnswerKind.DATE: ("date",), AnswerKind.QUANTITY: ("number", "money", "percent")}.get(kind, ())
    value = next((q.text for q in quantities(text) if q.kind in kinds), "")
    words = _words(question)
    return {
        "question": number,
        "first": place,
        "last": place,
        "bearing": "answers" if share >= ANSWERS else "partly",
        "stance": "supports",
        "subject": " ".join(words[:3]),
        "measure": " ".join(words[3:6]) or "what",
        "scope": "",
        "value": value,
    }


def _section(prompt: str) -> dict[str, Any]:
    cards = [(int(n), text) for n, _, text in _CARD.findall(prompt)]
    sentences = [{"text": text if n % 2 else SAID_BY + text[0].lower() + text[1:], "cards": [n]} for n, text in cards]
    return {"blocks": [{"form": "paragraph", "sentences": sentences}] if sentences else []}


def _summary(prompt: str) -> dict[str, Any]:
    cards = [(int(n), text) for n, _, text in _CARD.findall(prompt)]
    sentences = [{"text": text, "cards": [n]} for n, text in cards[:5]]
    return {"short_answer": sentences[0] if sentences else None, "summary": sentences[1:]}


def _verdicts(prompt: str) -> dict[str, Any]:
    """Support a sentence whose words stand in its passages; judge nothing by anything else."""
    verdicts = []
    for block in re.split(r"\n\n", prompt):
        found = _SENTENCE.search(block)
        if found is None:
            continue
        wanted = set(content_terms(found[2].removeprefix(SAID_BY)))
        passages = [(int(n), text) for n, _, text in _CARD.findall(block)]
        share = _share(wanted, " ".join(text for _, text in passages))
        verdict = "supported" if share >= 0.95 else "partially_supported" if share >= ENOUGH else "unsupported"
        needed = [n for n, text in passages if _share(wanted, text) >= ENOUGH]
        verdicts.append({"sentence": int(found[1]), "verdict": verdict, "passages": needed})
    return {"verdicts": verdicts}


def _shortening(prompt: str) -> dict[str, Any]:
    """Give the sentence's first passage instead, where it is the shorter one."""
    left = []
    for block in re.split(r"\n\n", prompt):
        found, passages = _SENTENCE.search(block), _CARD.findall(block)
        if found is not None:
            text = passages[0][2] if passages and len(passages[0][2]) < len(found[2]) else ""
            left.append({"sentence": int(found[1]), "text": text})
    return {"sentences": left}


_ANSWERS: dict[str, Callable[[str], dict[str, Any]]] = {
    "PlanProposal": _plan,
    "Decision": _decision,
    "Extraction": _extraction,
    "SectionText": _section,
    "SummaryText": _summary,
    "Shortening": _shortening,
    "Verdicts": _verdicts,
}


_BY_FIELDS = {
    frozenset(model.model_fields): model.__name__
    for model in (PlanProposal, Decision, Extraction, SectionText, SummaryText, Shortening, Verdicts)
}


def _words(text: str) -> list[str]:
    return [w.strip(".,;:?!()\"'") for w in text.split() if content_terms(w)]


def _share(wanted: set[str], text: str) -> float:
    held: Sequence[str] = content_terms(text)
    return len(wanted & set(held)) / len(wanted) if wanted else 0.0


def _between(text: str, start: str, end: str | None) -> str:
    _, found, rest = text.partition(start)
    if not found:
        return ""
    return rest.partition(end)[0] if end else rest


def _first(pattern: re.Pattern[str], text: str, default: str) -> str:
    found = pattern.search(text)
    return found[1] if found else default
