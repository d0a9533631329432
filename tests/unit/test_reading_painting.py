"""Text of pages that is not painted, and panels that a reader opens."""

import pytest

from services.extractor.reading.html import read

LONG = "The survey covered every harbour on the coast and was repeated each spring by the same crew. "
STYLE = """<style>
.w { color: #ffffff } #pale { color: #fefefe } .dark { background: #222 } p.tiny { font-size: 1px }
.gone { position: absolute; left: -9999px } .cut { overflow: hidden; height: 0 }
</style>"""


def text_of(body: str, head: str = STYLE) -> str:
    """Return the text of a page with that in an article."""
    article = f"<article><p>{LONG * 4}</p>{body}<p>{LONG}</p></article>"
    page = f"<html lang=en><head>{head}</head><body>{article}</body></html>"
    return read(page.encode(), "text/html; charset=utf-8", "https://coast.test/a").text


@pytest.mark.parametrize(
    "secret",
    [
        '<p style="color:white">SECRET</p>',
        '<p style="color:#fff; background-color: rgb(255, 255, 255)">SECRET</p>',
        '<p style="color: hsl(0, 0%, 100%)">SECRET</p>',
        '<p style="color:rgba(0,0,0,0)">SECRET</p>',
        '<p><font color="#FFFFFF">SECRET</font></p>',
        '<p class="w">SECRET</p>',
        '<p id="pale">SECRET</p>',
        '<div class="dark"><p style="color:#222">SECRET</p></div>',
        '<table bgcolor="#123456"><tr><td><span style="color:#123456">SECRET</span></td><td>2</td></tr></table>',
        '<p class="tiny">SECRET</p>',
        '<div style="font-size:0"><span>SECRET</span></div>',
        '<p style="font-size:0.05em">SECRET</p>',
        '<p style="opacity:0.01">SECRET</p>',
        '<p style="opacity:0">SECRET</p>',
        '<p style="visibility:hidden">SECRET</p>',
        '<p class="gone">SECRET</p>',
        '<p class="cut">SECRET</p>',
        '<p style="position:absolute;width:1px;height:1px;overflow:hidden;clip:rect(1px,1px,1px,1px)">SECRET</p>',
        '<p style="clip-path: inset(50%)">SECRET</p>',
        '<p style="transform:scale(0)">SECRET</p>',
        '<p style="transform: translateX(-10000px)">SECRET</p>',
        '<p style="display/**/:none">SECRET</p>',
        '<p><span class="visually-hidden" aria-hidden="true">SECRET</span></p>',
        '<p class="sr-only">SECRET</p>',
    ],
)
def test_what_is_not_painted_is_not_read(secret: str) -> None:
    """By colour, size, place or opacity, from attributes, inline styles and plain rules."""
    assert "SECRET" not in text_of(secret)


@pytest.mark.parametrize(
    "shown",
    [
        '<div class="dark"><p style="color:white">SHOWN by its ground.</p></div>',
        '<div style="background-image:url(a.png)"><p style="color:white">SHOWN on a picture.</p></div>',
        '<div style="position:absolute"><p style="color:white">SHOWN over others.</p></div>',
        '<p style="font-size:0"><span style="font-size:16px">SHOWN at its size.</span></p>',
        '<div style="visibility:hidden"><p style="visibility:visible">SHOWN by itself.</p></div>',
        '<p style="color:white"><b style="color:black">SHOWN in black.</b></p>',
        '<p style="background:linear-gradient(red,blue);background-clip:text;color:transparent">SHOWN.</p>',
        '<p style="color:#777">SHOWN in gray.</p>',
        '<p style="color:var(--ink)">SHOWN in some colour.</p>',
    ],
)
def test_what_is_painted_stays(shown: str) -> None:
    """Light text on a dark or unknown ground, and what an element inside paints otherwise."""
    assert "SHOWN" in text_of(shown)


def test_an_unknown_stylesheet_may_paint_a_ground() -> None:
    """Where other rules may lay a ground, white text stays unless its own ground is known to be white."""
    head = '<link rel="stylesheet" href="a.css">'
    assert "SHOWN" in text_of('<div class="hero"><p style="color:#fff">SHOWN there.</p></div>', head)
    assert "SECRET" not in text_of('<div class="hero"><p style="color:#fff;background:#fff">SECRET</p></div>', head)


@pytest.mark.parametrize(
    "panel",
    [
        '<button aria-controls="p1" aria-expanded="false">Dues</button><div id="p1" hidden><p>PANEL dues.</p></div>',
        '<a role="tab" aria-controls="p1">Dues</a><div id="p1" style="display:none"><p>PANEL.</p></div>',
        '<a data-toggle="collapse" href="#p1">Dues</a><div id="p1" class="collapse hid"><p>PANEL dues.</p></div>',
        '<b data-bs-toggle="collapse" data-bs-target="#p1">More</b><div id="p1" hidden><p>PANEL.</p></div>',
    ],
)
def test_panels_that_a_reader_opens_are_read(panel: str) -> None:
    """Like the closed <details>: tabs, accordions and the like."""
    assert "PANEL" in text_of(panel, "<style>.hid { display: none }</style>")


@pytest.mark.parametrize(
    "menu",
    [
        '<button aria-controls="m1" aria-haspopup="true">Menu</button><div id="m1" hidden><p>MENU of all.</p></div>',
        '<button aria-controls="m1">Menu</button><div id="m1" role="dialog" hidden><p>MENU of all.</p></div>',
        '<nav><button aria-controls="m1">Menu</button></nav><div id="m1" hidden><p>MENU of all.</p></div>',
        '<button aria-controls="m1">Menu</button><div id="m1" hidden><a href="/a">MENU</a> <a href="/b">all</a></div>',
    ],
)
def test_menus_and_dialogs_stay_closed(menu: str) -> None:
    """What opens over the page or leads elsewhere is not its content."""
    assert "MENU" not in text_of(menu)
