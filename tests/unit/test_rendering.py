"""Markdown and HTML of a report: complete, and inert whatever the sources wrote."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from services.synthesizer.rendering.html import render_html
from services.synthesizer.rendering.markdown import escape, render_markdown
from services.synthesizer.rendering.parts import deep_link, safe_url, without_marks
from services.synthesizer.rules.citing import cited_ids, number
from shared.contracts.evidence import Evidence, Source
from shared.contracts.report import ContradictionRow, Gap, ListBlock, Paragraph, Report, Section, Statement, Table
from shared.domain.text import clean
from tests.factories.research import (
    make_document,
    make_evidence,
    make_report,
    make_snapshot,
    make_source,
    make_statement,
)
from tests.support.harbour_run import harbour_run, synthesize

HOSTILE = [
    "[click](https://evil.example/x) and ![pixel](https://evil.example/p.png)",
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "# Heading",
    "1. one",
    "- item",
    "> quote",
    "```code``` and `code`",
    "*bold* __bold__ _it_ ~~gone~~",
    "See [1], [2][3], [^4] and [12–14].",
    "[1]: https://evil.example",
    "https://evil.example/a and www.evil.example and evil.example and //evil.example and a@evil.example",
    "<https://evil.example>",
    "&lt;script&gt; &#60;b&#62; &copy;",
    "--- \n===\n***",
    "a | b\n--- | ---",
    "\\[not](https://evil.example)",
    "</style><style>*{display:none}</style>",
    "\"><a href='javascript:alert(1)'>x</a>",
    "{{ 7*7 }} {% raw %}",
    "![[embed]] $x$ :smile:",
]


def hostile_report(text: str) -> tuple[Report, list[Evidence], list[Source]]:
    """Return a report into which the text has been put wherever text from outside can stand."""
    snapshot = make_snapshot(f"Before.\n{text}\nAfter.")
    source = make_source("src_1", snapshot, title=text, publisher=text, final_url="https://good.example/page")
    document = make_document("src_2", snapshot, title=None)
    one = make_evidence("ev_1", source, snapshot, text)
    two = make_evidence("ev_2", document, snapshot, text)
    named = two.locator.model_copy(update={"document_name": text, "heading": text})
    two = two.model_copy(update={"locator": named})
    found = make_statement("stm_1", text, ["ev_1", "ev_2"], confidence="low")
    blocks = (
        Paragraph(statements=(found,)),
        ListBlock(items=((found,), (found, found))),
        Table(columns=(text, "b"), rows=(((found,), (found,)),)),
    )
    report = make_report(
        title=text,
        question=text,
        short_answer=found,
        executive_summary=(found,),
        sections=(Section(id="s1", title=text, blocks=blocks),),
        contradictions=(ContradictionRow(summary=text, evidence_ids=("ev_1", "ev_2"), resolution="unresolved"),),
        gaps=(Gap(question_id=None, description=text),),
        methodology=(text,),
    )
    citations = number(cited_ids(report), {"ev_1": one, "ev_2": two})
    return report.model_copy(update={"citations": citations}), [one, two], [source, document]


class Collector(HTMLParser):
    """Collects tags, links and visible text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.handlers: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag, where it leads, and anything that would run or load."""
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name == "href"]
        self.handlers += [name for name, _ in attrs if name.startswith("on") or name in ("src", "style", "srcset")]


def collected(html: str) -> Collector:
    """Parse a document."""
    collector = Collector()
    collector.feed(html)
    return collector


ALLOWED_TAGS = set(
    "html head meta title style body a header h1 h2 h3 p strong em main section ul ol li q table thead tbody tr th td "
    "article blockquote span mark footer code".split()
)


def check_markdown(text: str) -> None:
    """Assert that the text has become no structure of the document."""
    markdown = render_markdown(*hostile_report(text))
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    plain = parser.parse(render_markdown(*hostile_report("Words.")))
    tokens = parser.parse(markdown)
    assert [t.type for t in tokens] == [t.type for t in plain]
    allowed = {"text", "strong_open", "strong_close", "em_open", "em_close", "link_open", "link_close", "text_special"}
    inline = [child for t in tokens for child in t.children or ()]
    assert {t.type for t in inline} <= allowed
    assert {t.attrs["href"] for t in inline if t.type == "link_open"} <= {"https://good.example/page"}
    assert sum(t.type == "em_open" for t in inline) == sum(t.type == "em_open" for p in plain for t in p.children or ())


def check_html(text: str) -> None:
    """Assert that the text has become no markup of the document."""
    found = collected(render_html(*hostile_report(text)))
    plain = collected(render_html(*hostile_report("Words.")))
    assert found.tags == plain.tags
    assert found.handlers == []
    assert all(link.startswith(("#", "https://good.example/page")) for link in found.links)


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_from_outside_becomes_markdown(text: str) -> None:
    """Links, images, headings, lists, HTML, code and citation markers of a source stay words."""
    check_markdown(text)


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_from_outside_becomes_html(text: str) -> None:
    """The same holds for the HTML, whose tags are always the template's own."""
    check_html(text)


PIECES = st.lists(
    st.sampled_from(
        [
            *HOSTILE,
            "[",
            "]",
            "(",
            ")",
            "<",
            ">",
            "*",
            "_",
            "`",
            "#",
            "1.",
            "\n",
            "\\",
            "|",
            "&",
            "~",
            "!",
            " ",
            "word",
            "é",
            "港",
        ]
    ),
    min_size=1,
    max_size=8,
).map("".join)


@settings(max_examples=60)
@given(st.one_of(PIECES, st.text(min_size=1, max_size=40)).map(clean).filter(str.strip))
def test_no_text_at_all_becomes_structure(text: str) -> None:
    """Whatever the words, the document has the structure that it has for harmless ones."""
    check_markdown(text.strip())
    check_html(text.strip())


@given(st.text(max_size=60).map(clean))
def test_escaped_text_reads_as_it_was(text: str) -> None:
    """What a reader of the Markdown sees is the text itself, white space and note marks apart."""
    tokens = MarkdownIt("commonmark").parseInline(f"x{escape(text)}x")
    shown = "".join(t.content for t in tokens[0].children or ())
    lines = filter(None, (" ".join(line.split()) for line in text.split("\n")))
    assert shown.replace("\\", "") == f"x{without_marks(' / '.join(lines))}x".replace("\\", "") or "\\" in text


@pytest.mark.parametrize("marker", ["[1]", "[12]", "[1, 2]", "[3–5]", "[^1]", "[^note]"])
def test_markers_of_a_source_are_never_ours(marker: str) -> None:
    """A number in square brackets leads to one of our sources, in every rendering."""
    report, evidence, sources = hostile_report(f"It rained{marker} twice.")
    text = render_markdown(report, evidence, sources)
    assert set(re.findall(r"\[[\d^][^\]]*\]", text)) == {"[1]", "[2]"}
    html = render_html(report, evidence, sources)
    assert set(re.findall(r"\[[\d^][^\]<]*\]", html)) == {"[1]", "[2]"}
    assert marker.strip("[]") in html


def test_markdown_of_a_whole_report() -> None:
    """Every part is there, each sentence with its numbers, and the sources with place and address."""
    run, deps = harbour_run()
    synthesize(run, deps)
    text = run.files["md"].data.decode()
    assert "## Short answer\n\nThe Deep Basin Project came to 984,000 cubic metres" in text
    assert "together. [1]\n" in text
    assert "- [3] Annual report 2021, Port Authority, 2022-02-18 — section “Annual report”, <https://" in text
    assert "- [4] Opening announced, 2022-03-22 — p. 3, src_old.pdf\n" in text
    assert "- Not found: no checked passage answers “What insurance premium was paid?”" in text
    assert "Sentence support rate 100 %, citation support rate 100 %." in text
    assert "This report is partial" not in text
    assert text.endswith("\n")


def test_html_of_a_whole_report() -> None:
    """Citations lead to cards that show the excerpt in its context; nothing is loaded and nothing may run."""
    run, deps = harbour_run()
    synthesize(run, deps)
    html = run.files["html"].data.decode()
    found = collected(html)
    assert set(found.tags) <= ALLOWED_TAGS
    anchors = set(re.findall(r'id="([^"]+)"', html))
    assert {link[1:] for link in found.links if link.startswith("#")} <= anchors
    assert "<mark>The Deep Basin Project came to 984,000 cubic metres" in html
    assert "Content-Security-Policy" in html
    assert "default-src &#39;none&#39;" in html or "default-src 'none'" in html
    assert 'lang="en"' in html


def test_statements_say_what_they_are() -> None:
    """Analyses, caveats and weak findings are labelled."""
    shown = {
        kind: render_markdown(
            make_report(short_answer=Statement(id="s", kind=kind, text="Words.", confidence="low")), [], []
        )
        for kind in ("finding", "analysis", "caveat")
    }
    assert "Words. *(low confidence)*" in shown["finding"]
    assert "Words. *(analysis, low confidence)*" in shown["analysis"]
    assert "Words. *(caveat, low confidence)*" in shown["caveat"]


def test_a_report_without_anything_renders() -> None:
    """No finding, no source: still a document that says so."""
    text, html = render_markdown(make_report(), [], []), render_html(make_report(), [], [])
    assert "Nothing was found that passed the check." in text
    assert "No source is cited." in text
    assert "Nothing was found that passed the check." in html
    assert "This report is partial" in html


@pytest.mark.parametrize(
    ("url", "safe"),
    [
        ("https://a.example/x y<z>", "https://a.example/x%20y%3Cz%3E"),
        ("https://a.example/%F0%9F%91%A9?q=1#top", "https://a.example/%F0%9F%91%A9?q=1#top"),
        ("https://a.example/\ud800", "https://a.example/?"),
        ("HTTP://a.example/", "HTTP://a.example/"),
        ("javascript:alert(1)", None),
        ("data:text/html,x", None),
        ("//a.example/", None),
        ("https://", None),
        ("https://[bad/", None),
        ("document:doc_1", None),
        (None, None),
    ],
)
def test_only_web_addresses_become_links(url: str | None, safe: str | None) -> None:
    """Other schemes and broken addresses are shown as text."""
    assert safe_url(url) == safe


def test_deep_links_quote_the_ends_of_an_excerpt() -> None:
    """A short excerpt is quoted whole, a long one by its first and last words; hyphens are encoded."""
    assert (
        deep_link("https://a.example/p#x", "A well-known lock, so")
        == "https://a.example/p#:~:text=A%20well%2Dknown%20lock%2C%20so"
    )
    words = " ".join(f"w{n}" for n in range(20))
    link = deep_link("https://a.example/p", words)
    assert (
        link
        == "https://a.example/p#:~:text=w0%20w1%20w2%20w3%20w4%20w5%20w6%20w7,w12%20w13%20w14%20w15%20w16%20w17%20w18%20w19"
    )
    assert deep_link("document:doc_1", words) is None
