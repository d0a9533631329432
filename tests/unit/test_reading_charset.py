"""Which encoding some bytes are in, and what kind of file they are."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.extractor.reading.charset import decode
from services.extractor.reading.labels import encoding_of, encodings
from services.extractor.reading.mime import DOCX, sniff

JAPANESE = "沿岸のすべての港を調べ、毎年の春に同じ班が数えました。船は千二百隻です。"
CHINESE = "每年春天由同一组人员清点港口的船只，因此总数可以比较。"


def page(body: str, head: str = "") -> str:
    """Return a small page."""
    return f"<html><head>{head}<title>x</title></head><body><p>{body}</p></body></html>"


def test_a_byte_order_mark_wins() -> None:
    """The mark decides against header and meta, and does not stay in the text."""
    data = b"\xef\xbb\xbf" + page("café", "<meta content='text/html; charset=koi8-r' http-equiv=Content-Type>").encode()
    decoded = decode(data, "text/html; charset=windows-1251", markup=True)
    assert (decoded.encoding, decoded.source) == ("utf-8", "bom")
    assert "\ufeff" not in decoded.text
    assert "café" in decoded.text


@pytest.mark.parametrize(("mark", "codec"), [(b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")])
def test_utf_16_by_its_mark_and_without(mark: bytes, codec: str) -> None:
    """UTF-16 is read with a mark, and recognised by its zeros without one."""
    data = page("plain words").encode(codec)
    assert decode(mark + data, None, markup=True).source == "bom"
    assert decode(data, None, markup=True).text == page("plain words")


def test_the_header_goes_before_the_meta_element() -> None:
    """A page that is right about nothing but its header is read by it."""
    data = page(JAPANESE, "<meta charset=utf-8>").encode("cp932")
    decoded = decode(data, "text/html; charset=Shift_JIS", markup=True)
    assert (decoded.encoding, decoded.source) == ("shift_jis", "header")
    assert JAPANESE in decoded.text


@pytest.mark.parametrize(
    "meta",
    [
        '<meta charset="gbk">',
        "<META CHARSET=gb2312>",
        '<meta http-equiv="Content-Type" content="text/html; charset=gb2312">',
        "<meta content='text/html; charset=GBK' http-equiv=Content-Type>",
        '<meta httpequiv="ContentType" content="text/html; charset=gbk">',
        '<meta chartset="gbk">',
    ],
)
def test_the_meta_element_is_read_leniently(meta: str) -> None:
    """Order, quotes and spelling of the attributes do not matter; a short page would give a detector nothing."""
    decoded = decode(page("数据来源", meta).encode("gbk"), "text/html", markup=True)
    assert (decoded.encoding, decoded.source) == ("gbk", "meta")
    assert "数据来源" in decoded.text


def test_a_declaration_in_a_comment_does_not_count() -> None:
    """A commented-out meta element declares nothing."""
    decoded = decode(page("Größe", "<!-- <meta charset=koi8-r> -->").encode("cp1252"), None, markup=True)
    assert (decoded.encoding, decoded.source) == ("windows-1252", "detected")


def test_the_xml_declaration_counts() -> None:
    """XHTML may declare its encoding in its first line."""
    data = ('<?xml version="1.0" encoding="windows-1251"?>' + page("Гавань")).encode("cp1251")
    assert decode(data, None, markup=True).encoding == "windows-1251"


@pytest.mark.parametrize(
    "label", ["x-klingon", "rot13", "zlib", "idna", "utf-7", "unicode_escape", "hz-gb-2312", "undefined"]
)
def test_labels_outside_the_standard_are_ignored(label: str) -> None:
    """No word of a page reaches Python's codecs; the text is read as if nothing were declared."""
    assert encoding_of(label) is None
    text = page("plain ascii text +AGE-", f"<meta charset={label}>")
    decoded = decode(text.encode(), f"text/html; charset={label}", markup=True)
    assert (decoded.text, decoded.encoding, decoded.source) == (text, "utf-8", "default")


@pytest.mark.parametrize(
    ("label", "name"),
    [("ISO-8859-1", "windows-1252"), (" latin1 ", "windows-1252"), ("GB2312", "gbk"), ("ks_c_5601-1987", "euc-kr")],
)
def test_labels_mean_what_browsers_mean(label: str, name: str) -> None:
    """The standard's table, not the names' literal sense."""
    found = encoding_of(label)
    assert found is not None
    assert found.name == name


def test_every_encoding_has_a_codec() -> None:
    """Each name of the table decodes text."""
    assert len(encodings()) == 38
    for encoding in encodings():
        assert codecs.lookup(encoding.codec).name


@pytest.mark.parametrize(
    ("text", "codec", "name"),
    [
        (JAPANESE, "cp932", "shift_jis"),
        (JAPANESE, "euc-jp", "euc-jp"),
        (JAPANESE, "iso2022-jp", "iso-2022-jp"),
        (CHINESE * 3, "gb18030", "gbk"),
        ("Промеры охватили все гавани побережья и повторялись каждую весну.", "cp1251", "windows-1251"),
        ("Промеры охватили все гавани побережья и повторялись каждую весну.", "koi8-r", "koi8-r"),
        ("L’enquête a couvert tous les ports de la côte.", "cp1252", "windows-1252"),
        ("La encuesta abarcó todos los puertos; el señor García añadió más.", "cp1252", "windows-1252"),
        ("Źródło: żółta łódź na wybrzeżu, powtarzane każdej wiosny.", "iso8859-2", "iso-8859-2"),
        ("Průzkum zahrnoval každý přístav na pobřeží a žlutý kůň.", "cp1250", "windows-1250"),
        ("Araştırma kıyıdaki her limanı kapsadı ve böylece karşılaştırılabilir.", "cp1254", "windows-1254"),
        ("naïve café", "utf-8", "utf-8"),
    ],
)
def test_undeclared_text_is_detected(text: str, codec: str, name: str) -> None:
    """The commonest encodings are told apart by their letters."""
    decoded = decode(page(text).encode(codec), None, markup=True)
    wanted = {"gbk": ("gbk", "gb18030")}.get(name, (name,))
    assert decoded.encoding in wanted
    assert decoded.source == "detected"
    assert text in decoded.text


def test_a_declaration_that_the_bytes_contradict_is_dropped() -> None:
    """UTF-8 under a Latin-1 label is UTF-8; Latin-1 under a UTF-8 label is Latin-1."""
    assert decode("café au lait".encode(), "text/html; charset=iso-8859-1", markup=True).text == "café au lait"
    assert decode("café au lait".encode("cp1252"), "text/html; charset=utf-8", markup=True).text == "café au lait"


def test_a_few_damaged_bytes_do_not_change_the_encoding() -> None:
    """One bad byte in a long declared page becomes U+FFFD."""
    data = (page(JAPANESE * 20) + "\x00").encode("cp932").replace(b"\x00", b"\xff")
    decoded = decode(data, "text/html; charset=shift_jis", markup=True)
    assert decoded.encoding == "shift_jis"
    assert JAPANESE in decoded.text


def test_letters_only_inside_a_tag() -> None:
    """An attribute may hold the only letters that are not ASCII."""
    assert decode(b"<p title='caf\xe9'>plain</p>", None, markup=True).text == "<p title='café'>plain</p>"


def test_plain_text_has_no_meta_elements() -> None:
    """A text file that quotes markup is not read by it."""
    assert (
        decode("Write <meta charset=koi8-r> für Text".encode(), None, markup=False).text
        == "Write <meta charset=koi8-r> für Text"
    )


@given(
    st.binary(max_size=300), st.sampled_from([None, "text/html", "text/html; charset=utf-16", "text/html; charset=gbk"])
)
def test_decoding_never_fails(data: bytes, content_type: str | None) -> None:
    """Any bytes become some text."""
    assert isinstance(decode(data, content_type, markup=True).text, str)


@pytest.mark.parametrize(
    ("data", "name", "content_type", "mime"),
    [
        (b"%PDF-1.7\n", None, "text/html; charset=utf-8", "application/pdf"),
        (b"\n\njunk %PDF-1.4", None, None, "application/pdf"),
        (b"<html><body>Files begin with %PDF-</body></html>", None, None, "text/html"),
        (b"\xef\xbb\xbf <!-- x --><!DOCTYPE html><p>", "a.txt", "text/plain", "text/html"),
        (b"<?xml version='1.0'?><html xmlns='x'><body/></html>", None, "application/xhtml+xml", "text/html"),
        (b"<?xml version='1.0'?><rss><channel/></rss>", None, "application/xml", "application/xml"),
        (b"# Title\n\ntext", "readme.md", None, "text/markdown"),
        (b"<p align=center>logo</p>\n\n# Title", "README.md", None, "text/markdown"),
        (b"# Title\n\ntext", "notes.txt", None, "text/plain"),
        (b"<p>fragment</p>", None, None, "text/html"),
        (b"just words", None, "text/html", "text/html"),
        (b"just words", None, None, "text/plain"),
        ("große Häfen".encode("utf-16-le") * 9, None, None, "text/plain"),
        (b"PK\x03\x04rest", "a.bin", None, "application/zip"),
        (b"PK\x03\x04rest", "a.docx", None, DOCX),
        (b"\x89PNG\r\n\x1a\nrest", "a.html", "text/html", "image/png"),
        (b"\x1f\x8b\x08rest", None, None, "application/gzip"),
        (bytes(range(256)) * 4, None, None, "application/octet-stream"),
        (b"", None, None, "text/plain"),
    ],
)
def test_the_bytes_tell_the_kind(data: bytes, name: str | None, content_type: str | None, mime: str) -> None:
    """Marks in the bytes decide; names and headers only tell kinds of text apart."""
    assert sniff(data, name=name, content_type=content_type) == mime
