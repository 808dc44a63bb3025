"""Which texts of a page stand by themselves: as a browser shows them, not as their tags stand in a line."""

from __future__ import annotations

import pytest
from test_plain_text import read, texts


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<div><span>Fast delivery</span><span>We ship at once.</span></div>", ["Fast delivery", "We ship at once."]),
        ("<p><b>Opening hours</b><span>Monday to Friday</span></p>", ["Opening hours", "Monday to Friday"]),
        ("<nav>v2 <a>AutoGen</a><a>Docs</a><a>API</a><a>blog</a></nav>", ["v2", "AutoGen", "Docs", "API", "blog"]),
        ("<div>Menu <a>Home</a> | <a>Blog</a></div>", ["Menu", "Home", "|", "Blog"]),
        ("<p>Follow us <a>Mastodon</a> <a>GitHub</a> <a>Feed</a></p>", ["Follow us", "Mastodon", "GitHub", "Feed"]),
        ('<p><i class="t">Python</i> <i class="t">Rust</i> <i class="t">C</i></p>', ["Python", "Rust", "C"]),
        ("<p><span>May 5</span> · <span>News</span></p>", ["May 5", "·", "News"]),
        ("<a href=x><h3>A card</h3>and its text</a> after", ["A card", "and its text", "after"]),
        ('<p>Our <span style="display: block">New shop</span> is open</p>', ["Our", "New shop", "is open"]),
        ('<p>Our <span class="d-block">New shop</span> is open</p>', ["Our", "New shop", "is open"]),
        ("<style>/* a */ .x, p .t { color: red; display:flex }</style><p>a <b class=t>c</b> b</p>", ["a", "c", "b"]),
        ("<p>See <b>line one<br>line two</b> <i>now</i></p>", ["See line one", "line two", "now"]),
    ],
)
def test_what_stands_apart(page: str, expected: list[str]):
    assert [text.strip() for text in texts("x.html", page)] == expected


@pytest.mark.parametrize(
    "page",
    [
        "<p>The <b>quick</b> <i>brown</i> fox.</p>",
        "<p><b>H</b><i>ello</i> <span>don</span><span>'t</span> go.</p>",
        "<p>The <a>United States</a> <a>President</a> spoke.</p>",
        "<p><span>You</span><span>Tube</span> and <b>i</b><b>Phone</b> words.</p>",
        '<p><span class="w">We</span> <span class="w">build</span> <span class="w">things</span></p>',
        "<p>See <a>docs</a>, <a>API</a> and <a>blog</a>.</p>",
        "<p><span>Hello</span> <span>world.</span></p>",
        "<style>.menu a { display: block }</style><p>See <a>this</a> now.</p>",
        "<p>H<sub>2</sub>O and E<sup>X</sup></p>",
        "<p>Note: <b>bold line<br>",
    ],
)
def test_what_stays_one_text(page: str):
    assert len(texts("x.html", page)) == 1


def test_texts_of_fields_and_frames():
    page = '<textarea placeholder="Your name">Mine</textarea><iframe title="A map" src="x">no</iframe>'
    page += '<meta itemprop="description" content="All of it"><meta property="og:image:alt" content="A cat">'
    assert texts("x.html", page) == ["Your name", "A map", "All of it", "A cat"]
    parsed = read("x.html", page)
    assert parsed.render(parsed.segments) == page.encode()
