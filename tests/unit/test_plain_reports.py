"""What a reader of a report sees: one source a statement, few marks, no tags, own documents called own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from evals.inprocess.library import Library
from evals.inprocess.play import play
from services.extractor.parsing import parse_bytes
from services.fetcher.documents import candidate
from services.synthesizer.rendering.markdown import escape
from services.synthesizer.rendering.parts import without_marks
from services.synthesizer.rules.chains import answering_pair
from services.synthesizer.rules.citing import all_statements
from services.synthesizer.rules.writing import MOST_CITED, SUMMARY, SectionTask, answer_drafts, verbatim_drafts
from shared.contracts.evidence import Evidence, Source
from shared.domain.rank import CorpusStats
from shared.domain.text import clean
from shared.ports.materials import DocumentHit
from tests.factories.research import make_evidence, make_plan, make_snapshot, make_source

COUNTED = CorpusStats(100, 50.0, {})


def cited(*excerpts: tuple[str, str]) -> tuple[list[Evidence], dict[str, Source]]:
    """Return a piece of evidence for each source and text."""
    evidence, sources = [], {}
    for n, (name, text) in enumerate(excerpts):
        snapshot = make_snapshot(text)
        sources[name] = sources.get(name) or make_source(name, snapshot, title=f"Page {name}")
        evidence.append(make_evidence(f"evd_{n}", sources[name], snapshot, text, stance="context"))
    return evidence, sources


def test_sentences_of_two_sources_are_two_statements() -> None:
    """What leads to the answer stands before it, each with its own citation; one source stays one statement."""
    two, _ = cited(("src_a", "Orla Vask was from Tarnby."), ("src_b", "A Kestrel dropped the bomb on Tarnby."))
    lead, answer = answer_drafts(SectionTask("run_1", 1, SUMMARY, tuple(two)))
    assert (lead.statement.evidence_ids, answer.statement.evidence_ids) == (("evd_0",), ("evd_1",))
    one, _ = cited(("src_a", "Orla Vask was from Tarnby."), ("src_a", "Tarnby was bombed in 1945."))
    [whole] = answer_drafts(SectionTask("run_1", 1, SUMMARY, tuple(one)))
    assert whole.statement.evidence_ids == ("evd_0", "evd_1")


@pytest.mark.parametrize(
    "leaning",
    [
        "A majority wanted to drop the proposal of the Kestrel bomb plane and the proposal altogether on Tarnby.",
        "It dropped the bomb from a kind of Kestrel plane on Tarnby.",
        "This plane of a Kestrel kind dropped the bomb on Tarnby.",
    ],
)
def test_what_points_into_its_own_text_is_joined_to_no_other(leaning: str) -> None:
    """Beside a sentence of another source "it", "this" and "the proposal" would mean something else."""
    question = make_plan("What kind of plane dropped the bomb on Orla Vask's birthplace?").questions[0]
    first = "Orla Vask (born 1969) was a wrestler from Tarnby."
    evidence, sources = cited(("src_a", first), ("src_b", leaning))
    assert answering_pair(question, evidence, sources, COUNTED) == ()
    evidence, sources = cited(("src_a", first), ("src_a", leaning))
    assert len(answering_pair(question, evidence, sources, COUNTED)) in (0, 2)


def test_no_statement_of_a_report_has_two_sources_with_different_words() -> None:
    """A question that takes two documents is answered by two statements, each of one."""
    library = Library()
    library.add("a.md", b"# Orla Vask\n\nOrla Vask (born 1969) was a wrestler from Tarnby.\n")
    library.add("b.md", b"# Raids\n\nA Kestrel plane dropped the bomb on Tarnby in 1945.\n")
    world = play("What kind of plane dropped the bomb on Orla Vask's birthplace?", library)
    report = world.reports[-1]
    assert report.short_answer is not None
    assert len(report.answer_lead) == 1
    source_of = {e.evidence_id: e.source_id for e in world.evidence_.values()}
    assert all(len({source_of[i] for i in s.evidence_ids}) == 1 for s in all_statements(report))


@pytest.mark.parametrize(
    "text",
    [
        "Call f(x) [see below], 4 * 5 > 3 < 9 | ~7 #2 - or + more.",
        "A [note] of 3. May | with a bar, 50% ~ and #hash.",
        "1.5 metres [sic] = 59 inches > 4 feet.",
    ],
)
def test_what_changes_nothing_is_not_escaped(text: str) -> None:
    """The Markdown has no backslash, and is read as the same text."""
    assert "\\" not in escape(text)
    [line] = [t for t in MarkdownIt("gfm-like", {"linkify": False}).parse(f"- {escape(text)}") if t.type == "inline"]
    assert "".join(c.content for c in line.children or ()) == text


@given(st.text(alphabet="ab1 .*_[]()<>#~|`!\\-+&:", min_size=1, max_size=30).map(clean).filter(str.strip))
def test_any_text_reads_as_itself(text: str) -> None:
    """Whatever marks it is made of, a reader sees its characters, but for a list mark that it begins with."""
    line = " ".join(text.split())
    tokens = MarkdownIt("commonmark").parse(f"- x {escape('x ' + line)} [1]")
    inline = [t for t in tokens if t.type == "inline"]
    assert "".join(c.content for t in inline for c in t.children or ()) in (
        f"x x {line} [1]",
        f"x x {without_marks(line)} [1]",
    )


def test_the_mark_of_a_list_item_is_left_out() -> None:
    """In a list of ours it would stand twice."""
    assert [escape(t) for t in ("- Hotels", "• Hotels", "* Hotels", "– Hotels")] == ["Hotels"] * 4
    assert escape("-5 degrees") == "-5 degrees"


def test_a_sentence_of_many_sources_cites_a_few() -> None:
    """Seventeen numbers in a row tell nothing."""
    evidence, _ = cited(*((f"src_{n}", "It rained all day.") for n in range(17)))
    [draft] = verbatim_drafts(SectionTask("run_1", 1, "s1", tuple(evidence)))
    assert len(draft.statement.evidence_ids) == MOST_CITED


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ('See [the leave page]({% page "/leave" %}) first.', "See the leave page first."),
        ('Tell {% slack_channel "equipment" %} at once.', "Tell equipment at once."),
        ('{% include head.html title="x" %}\n\nWords.', "Words."),
        ("A tag is `{% raw %}` in code.", "A tag is {% raw %} in code."),
    ],
)
def test_tags_of_site_generators_are_not_read(source: str, shown: str) -> None:
    """A link keeps its words, code its tags."""
    _, snapshot = parse_bytes(f"---\ntitle: T\n---\n\n{source}\n".encode(), "page.md")
    assert snapshot is not None
    assert snapshot.text.strip() == shown


def test_documents_of_the_user_are_called_own() -> None:
    """Whether one is a primary source nobody has told."""
    assert candidate("run_1", DocumentHit("doc_1", "a.md", "A", 1.0)).source_class == "own"
