"""Pages that are none, readers' comments, and dates that cannot be."""

import pytest

from services.extractor.parsing import parse_bytes
from services.extractor.reading.dates import iso_date
from services.extractor.reading.html import read
from tests.support.cases import CASES, needs_cases

LONG = "The survey covered every harbour on the coast and was repeated each spring by the same crew. "
SECOND = CASES / "second"


def page(body: str, head: str = "") -> bytes:
    """Return a page."""
    return f"<html><head><meta charset=utf-8>{head}</head><body>{body}</body></html>".encode()


TEASERS = '<ul><li><a href="/a">The basin is 12 metres deep: the survey</a></li><li><a href="/b">Dues</a></li></ul>'


@pytest.mark.parametrize(
    ("title", "heading", "text"),
    [
        ("Page not found | Port", "Page not found", "Sorry, the page you are looking for does not exist."),
        ("404 - Port of Hallsund", "Oops!", "We cannot find the page that you asked for."),
        ("Port of Hallsund", "404", "The page could not be found. It may have been moved."),
        ("Seite nicht gefunden – Hafen", "Seite nicht gefunden", "Die gewünschte Seite existiert leider nicht."),
        ("Page introuvable | Port", "Erreur 404", "La page que vous cherchez n’existe pas."),
        ("页面不存在 - 港口", "页面不存在", "您访问的页面不存在。"),
    ],
)
def test_a_page_that_says_that_there_is_none(title: str, heading: str, text: str) -> None:
    """A found page's status over the words of a missing one: nothing of it is read, teasers neither."""
    body = f"<main><h1>{heading}</h1><p>{text}</p><h2>Popular</h2>{TEASERS}</main>"
    parse, snapshot = parse_bytes(page(body, f"<title>{title}</title>"), "x", "text/html", "https://coast.test/")
    assert (parse.status, snapshot) == ("not_found", None)


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("How to design a page for errors: 404 and others", "A page that was not found should say what to do."),
        ("Not found: the ship that left in 1821", f"{LONG} It was never seen again by anybody on the coast."),
        ("Route 404", f"{LONG} The road leads along the coast."),
    ],
)
def test_a_page_about_what_is_missing_is_read(title: str, text: str) -> None:
    """The words alone make no missing page."""
    assert read(page(f"<h1>{title}</h1><p>{text}</p>", f"<title>{title}</title>"), "text/html", None).status == "ok"


@needs_cases
def test_the_case_of_the_missing_page() -> None:
    """s12."""
    assert read((SECOND / "soft-404.html").read_bytes(), "text/html", "https://coast.test/x").status == "not_found"


@pytest.mark.parametrize(
    "comments",
    [
        '<div class="comments"><p>COMMENT: first!</p></div>',
        '<section id="disqus_thread"><p>COMMENT: first!</p></section>',
        '<ol class="commentlist"><li><p>COMMENT: first!</p></li></ol>',
        "<h2>12 Comments</h2><div><p>COMMENT: first!</p></div>",
        "<h3>Kommentare (3)</h3><p>COMMENT: erster!</p>",
        '<div itemscope itemtype="https://schema.org/Comment"><p>COMMENT: first!</p></div>',
    ],
)
def test_comments_are_left_out(comments: str) -> None:
    """By name, type or heading, inside the article's own container too."""
    text = read(
        page(f"<main><article><h1>Study</h1><p>{LONG * 4}</p></article>{comments}</main>"), "text/html", None
    ).text
    assert "COMMENT" not in text
    assert "The survey" in text


def test_a_page_of_comments_keeps_them() -> None:
    """Where there is nothing else, they are the content."""
    assert (
        "The survey" in read(page(f'<h1>Ask</h1><div class="comments"><p>{LONG * 4}</p></div>'), "text/html", None).text
    )


@needs_cases
def test_the_case_of_comments() -> None:
    """s06: the date of the metadata, no comment."""
    reading = read((SECOND / "comments-below-article.html").read_bytes(), "text/html", "https://coast.test/x")
    assert reading.published_at == "2023-01-02"
    assert "first!" not in reading.text


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (
            '<meta name="citation_publication_date" content="2027/12"><meta name="dc.date" content="2026-01-02">',
            "2026-01-02",
        ),
        (
            '<meta name="citation_publication_date" content="2023/12"><meta name="dc.date" content="2023-01-02">',
            "2023-01-02",
        ),
        ('<meta property="article:published_time" content="2031-01-01T10:00:00Z">', None),
        ('<meta name="citation_date" content="2019"><meta name="date" content="2019-05">', "2019-05"),
        ('<script type="application/ld+json">{"datePublished": "2024-03-05"}</script>', "2024-03-05"),
        (
            '<script type="application/ld+json">[{"@type": "Article"}, {"datePublished": "2024-03-05"}]</script>',
            "2024-03-05",
        ),
        ('<meta name="date" content="4. März 2024">', "2024-03-04"),
    ],
)
def test_the_most_exact_date_that_can_be(head: str, expected: str | None) -> None:
    """None after the fetch; a day beats a month or a year."""
    assert read(page(f"<p>{LONG}</p>", head), "text/html", None, "2026-12-01").published_at == expected


@needs_cases
@pytest.mark.parametrize(("name", "expected"), [("w2-dates.html", "2023-01-02"), ("w9-future.html", "2026-01-02")])
def test_the_cases_of_dates(name: str, expected: str) -> None:
    """s14."""
    assert read((SECOND / name).read_bytes(), "text/html", None, "2026-12-01").published_at == expected


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("4. März 2024", "2024-03-04"),
        ("4 août 2024", "2024-08-04"),
        ("1er juillet 2024", "2024-07-01"),
        ("4 de octubre de 2024", "2024-10-04"),
        ("4 dicembre 2024", "2024-12-04"),
        ("4 de fevereiro de 2024", "2024-02-04"),
        ("4 mei 2024", "2024-05-04"),
        ("4 мая 2024", "2024-05-04"),
        ("4 października 2024", "2024-10-04"),
        ("4 maj 2024", "2024-05-04"),
        ("2024年5月4日", "2024-05-04"),
        ("2024년 5월 4일", "2024-05-04"),
        ("Marble 4, 2024", None),
    ],
)
def test_months_by_their_names(written: str, expected: str | None) -> None:
    """In the common languages; a word that only begins like a month is none."""
    assert iso_date(written) == expected


@pytest.mark.parametrize("content", ["noindex, nosnippet", "NOINDEX,NOSNIPPET", "none"])
def test_what_a_page_asks_of_search_engines_is_told(content: str) -> None:
    """It is read, and the reader of the report knows."""
    reading = read(page(f"<p>{LONG}</p>", f'<meta name="robots" content="{content}">'), "text/html", None)
    assert (reading.status, reading.reason) == ("ok", "The page asks search engines: noindex, nosnippet.")
