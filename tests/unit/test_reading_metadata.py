"""What a page says about itself, and how dates are written."""

import json

import pytest
from lxml.html import document_fromstring

from services.extractor.reading.dates import iso_date
from services.extractor.reading.metadata import Metadata, metadata_of

URL = "https://coast.test/news/a?x=1"


def metadata(head: str, body: str = "", attributes: str = "") -> Metadata:
    """Return the metadata of a page with that head."""
    page = f"<html {attributes}><head>{head}</head><body>{body}<p>x</p></body></html>"
    return metadata_of(document_fromstring(page), URL)


def test_open_graph_and_article_marks() -> None:
    """The marks most sites have."""
    found = metadata(
        '<title>Harbours - Coast News</title><meta property="og:title" content="Harbours &amp; boats - Coast News">'
        '<meta property="og:site_name" content="Coast News"><meta name="author" content="Ada Port">'
        '<meta property="article:published_time" content="2019-05-04T10:30:00+02:00">'
        '<meta property="article:modified_time" content="2019-05-06"><link rel="canonical" href="/news/a">',
        attributes='lang="en-gb"',
    )
    assert found == Metadata(
        title="Harbours & boats",
        author="Ada Port",
        publisher="Coast News",
        published_at="2019-05-04T10:30:00+02:00",
        modified_at="2019-05-06",
        canonical_url="https://coast.test/news/a",
        language="en-GB",
    )


def test_linked_data() -> None:
    """JSON-LD of an article, however it is wrapped."""
    article = {
        "@type": ["NewsArticle"],
        "headline": "Harbours",
        "author": [{"@type": "Person", "name": "Ada Port"}, {"name": "Bo Quay"}],
        "publisher": {"name": "Coast News"},
        "datePublished": "2019-05-04",
        "dateModified": "2019-05-05T08:00:00Z",
    }
    for wrapped in (article, [article], {"@graph": [{"@type": "WebSite", "name": "Site"}, article]}):
        found = metadata(f'<script type="application/ld+json">{json.dumps(wrapped)}</script>')
        assert (found.title, found.author, found.publisher) == ("Harbours", "Ada Port; Bo Quay", "Coast News")
        assert (found.published_at, found.modified_at) == ("2019-05-04", "2019-05-05T08:00:00Z")


def test_marks_of_journals() -> None:
    """Several authors in elements of their own, and the form of date that journals write."""
    found = metadata(
        '<meta name="citation_title" content="On harbours"><meta name="citation_author" content="Port, Ada">'
        '<meta name="citation_author" content="Quay, Bo"><meta name="citation_publication_date" content="2019/05/04">'
    )
    assert (found.title, found.author, found.published_at) == ("On harbours", "Port, Ada; Quay, Bo", "2019-05-04")


def test_microdata_and_times() -> None:
    """Dates marked in the body count; other dates there do not."""
    assert metadata("", '<meta itemprop="datePublished" content="2019-05-04">').published_at == "2019-05-04"
    assert metadata("", '<time pubdate datetime="2019-05-04">May</time>').published_at == "2019-05-04"
    assert metadata("", '<time class="entry-date published" datetime="2019-05-04">').published_at == "2019-05-04"
    assert metadata("", '<time datetime="2019-05-04">another event</time><p>4 May 2019</p>').published_at is None
    assert metadata("", '<span itemprop="author">Ada Port</span>').author == "Ada Port"


def test_nothing_is_guessed() -> None:
    """Without marks everything stays unknown, but for the title element."""
    found = metadata("<title> Only  a title </title>", "<p>By Ada Port, 4 May 2019</p>")
    assert found == Metadata("Only a title", None, None, None, None, None, None)


@pytest.mark.parametrize(
    "broken",
    [
        '<script type="application/ld+json">{"@type": "Article", </script>',
        '<script type="application/ld+json">' + "[" * 100_000 + "</script>",
        '<script type="application/ld+json">[1, null, "x", {"author": 3, "headline": {"a": 1}, "@type": 5}]</script>',
        '<link rel="canonical" href="http://[broken"><link rel=canonical>',
        '<link rel="canonical" href="javascript:alert(1)">',
        '<meta name="author" content="https://social.test/ada"><meta name=date content="soon"><meta>',
    ],
)
def test_broken_marks_are_passed_over(broken: str) -> None:
    """No mark of a page can stop its reading."""
    found = metadata(broken, attributes='lang="$$"')
    assert found == Metadata(None, None, None, None, None, None, None)


@pytest.mark.parametrize(
    ("written", "iso"),
    [
        ("2019-05-04", "2019-05-04"),
        ("2019/5/4", "2019-05-04"),
        ("2019-05", "2019-05"),
        ("2019", "2019"),
        ("2019-05-04T10:30:00.123Z", "2019-05-04T10:30:00Z"),
        ("2019-05-04 10:30:15 +0200", "2019-05-04T10:30:15+02:00"),
        ("2019-05-04T10:30", "2019-05-04"),
        ("20190504", "2019-05-04"),
        ("D:20190504103000+02'00'", "2019-05-04T10:30:00+02:00"),
        ("D:20190504", "2019-05-04"),
        ("Sat, 04 May 2019 10:30:00 GMT", "2019-05-04T10:30:00Z"),
        ("May 4, 2019", "2019-05-04"),
        ("4th May 2019", "2019-05-04"),
        ("Sept. 2019", "2019-09"),
        ("4.5.2019", "2019-05-04"),
        ("25/12/2019", "2019-12-25"),
        ("12/25/2019", "2019-12-25"),
        ("04/05/2019", None),
        ("2019-02-30", None),
        ("0019-05-04", None),
        ("yesterday", None),
        ("1234567890", None),
        ("", None),
    ],
)
def test_dates_by_example(written: str, iso: str | None) -> None:
    """As precise as written; two possible days are none."""
    assert iso_date(written) == iso
