"""The calls "write" and "summarise", version 3: from evidence cards to the sentences of a section or of the summary."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, Field, JsonValue

from services.synthesizer.prompts.cards import cards
from shared.contracts.evidence import Evidence, Source
from shared.guards.envelope import RULE, envelope_for

VERSION = "write/3"

MOST_COLUMNS, MOST_ROWS, MOST_INPUTS = 5, 12, 10

_SENTENCES = """\
- State only what the cards of a sentence state. Add nothing that you know from elsewhere; do not round or convert.
- cards: the numbers of the cards that the sentence rests on; every sentence has at least one. Every figure, date, unit
  and name in the sentence stands in one of these cards, written as it is there.
- Each sentence is checked by itself and may be dropped: it has to be understood without the one before it, so name
  what it is about instead of "it" or "this".
- Where cards do not agree, give each side a sentence of its own and say that they differ. Never average.
- Keep the doubt of a card: what it calls planned, estimated or claimed is not a fact.
- No headings, links, footnotes or card numbers in the text."""

INSTRUCTIONS = f"""\
You write one section of a research report from numbered cards; each card is a passage of a source. Answer the questions
of the section in plain, connected prose that reads well: what matters most first, paragraphs of two to five sentences,
a list only where things stand side by side, a table only where two or more things are compared by the same measures.

{_SENTENCES}
- kind: "finding" for what cards state. "analysis" for a conclusion that you draw yourself from sentences before it:
  rests_on then names those sentences by their places in the whole section, from 1, and cards stays empty. Few of them.
- derived: only where a figure stands in no card but follows from figures that do. Give its value, its unit or null, the
  formula over names with + - * / and parentheses, and each input with its name, value, unit and card. A ratio in per
  cent has the unit "%" and a formula without "* 100". The program computes it again and drops what does not agree.
- A table has columns, headings in words of the section and its questions, and rows with one cell a column. A cell is a
  sentence like any other: short, complete in itself, with cards of its own; its text is empty when nothing is known.
- missing: where a question of the section stays unanswered, at most three searches that could close the gap, each with
  the number of the question and a few words that would stand in a text which answers. Else none.
- Say nothing twice. Leave out what does not help to answer, and do not write about the cards or about what is missing.

{RULE}
"""

SUMMARY_INSTRUCTIONS = f"""\
You write the short answer and the summary of a research report from numbered cards; each card is a passage of a source.

- short_answer: one sentence that answers the request as directly as the cards allow, the figure, date or name first.
- summary: three to six sentences, at most two for each question, that a reader in a hurry needs, in plain prose.
{_SENTENCES}

{RULE}
"""


def _up_to(count: int) -> dict[str, JsonValue]:
    """Return what ends a list in a schema: else only its token limit would end a model that repeats itself.

    An answer with more, from a model that is not held to the schema, is read all the same.
    """
    return {"maxItems": count}


class Input(BaseModel):
    """A figure that another one was computed from, and the card that it stands in."""

    name: str
    value: float
    unit: str | None = None
    card: int


class Derivation(BaseModel):
    """How a figure follows from others."""

    value: float
    unit: str | None = None
    formula: str
    inputs: list[Input] = Field(json_schema_extra=_up_to(MOST_INPUTS))


class Sentence(BaseModel):
    """A sentence and the numbers of its cards, or of the sentences that it rests on."""

    text: str
    cards: list[int] = Field(default_factory=list, json_schema_extra=_up_to(6))
    kind: Literal["finding", "analysis"] = "finding"
    rests_on: list[int] = Field(default_factory=list, json_schema_extra=_up_to(6))
    derived: Derivation | None = None


class Block(BaseModel):
    """Sentences that are read in one go, the items of a list, or a table with its columns and rows."""

    form: Literal["paragraph", "list", "table"] = "paragraph"
    sentences: list[Sentence] = Field(default_factory=list, json_schema_extra=_up_to(6))
    columns: list[str] = Field(default_factory=list, json_schema_extra=_up_to(MOST_COLUMNS))
    rows: list[Annotated[list[Sentence], Field(json_schema_extra=_up_to(MOST_COLUMNS))]] = Field(
        default_factory=list, json_schema_extra=_up_to(MOST_ROWS)
    )


class Missing(BaseModel):
    """A search that could close a gap of a section."""

    question: int
    query: str


class SectionText(BaseModel):
    """The answer to the call for a section."""

    blocks: list[Block] = Field(json_schema_extra=_up_to(6))
    missing: list[Missing] = Field(default_factory=list, json_schema_extra=_up_to(3))


class SummaryText(BaseModel):
    """The answer to the call for the summary."""

    short_answer: Sentence | None = None
    summary: list[Sentence] = Field(json_schema_extra=_up_to(6))


@dataclass(frozen=True, slots=True)
class WriteData:
    """What the writer knows of a section; ``language`` None means that of the questions."""

    report: str
    heading: str
    guidance: str
    questions: Sequence[str]
    language: str | None
    as_of: str | None
    sentences: int
    """How many sentences it may have."""


def write_input(instructions: str, data: WriteData, evidence: Sequence[Evidence], sources: Mapping[str, Source]) -> str:
    """Return the data of the call: what the program knows, then the cards in an envelope."""
    head = _head(data)
    shown = cards(evidence, sources)
    return f"{head}\n\nCards:\n{envelope_for(instructions, head, shown).wrap(shown)}\n"


def _head(data: WriteData) -> str:
    questions = "\n".join(f"{n}. {text}" for n, text in enumerate(data.questions, start=1))
    lines = (
        f"Report: {data.report}",
        f"Section: {data.heading}",
        f"Guidance: {data.guidance or 'none'}",
        f"Language: {data.language or 'that of the questions'}",
        f"As of: {data.as_of or 'now'}",
        f"At most: {data.sentences} sentences",
        f"Questions:\n{questions}",
    )
    return "\n".join(lines)
