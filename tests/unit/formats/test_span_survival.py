"""No span gets lost and none changes its parent, whatever a model writes: in all formats that have spans."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Callable
from xml.etree import ElementTree

import lxml.html
import pptx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lxml import etree
from markdown_it import MarkdownIt
from office_files import odt, paragraph, run, unpack, word

from docflat.formats import find_format
from docflat.translation.files import translate_segments
from stubs import Stub

MODELS: dict[str, Callable[[str], str]] = {
    "nothing": lambda text: "",
    "one word": lambda text: "X",
    "reversed": lambda text: " ".join(reversed(text.split())),
    "marked": lambda text: " ".join(f"«{word}»" for word in text.split()),
    "longer": lambda text: f"{text} and {text.lower()}",
    "the first half": lambda text: text[: len(text) // 2],
}


def translate(name: str, data: bytes, model: Callable[[str], str]) -> bytes:
    parsed = find_format(name).read(data, name)
    return parsed.render(translate_segments(parsed.segments, Stub(model))[0])


def html_paths(page: bytes) -> Counter[tuple[str, ...]]:
    """Each element with those it is in, as libxml2 reads the page."""
    root = lxml.html.document_fromstring(page)
    steps = {
        element: f"{element.tag}#{element.get('id', '')}" for element in root.iter() if isinstance(element.tag, str)
    }
    return Counter((steps[element], *(steps[outer] for outer in element.iterancestors())) for element in steps)


PAGES = [
    '<p>Read <a id="1">the text <img id="2" src="x"></a> now, <b id="3">all</b> of it.</p>',
    '<p>Go <a id="1">home<svg id="2"></svg></a> and <i id="3">stay</i> there.</p>',
    '<p>See <a id="1">\n<img id="2" src="x"></a> and <b id="3">more</b> words.</p>',
    '<a id="1"><div id="2"><img id="3" src="x"></div><b id="4">Our brand</b> wins</a> always.',
    '<p>We <b id="1">see <i id="2">line one<br>line two</i> of</b> it <img id="3" src="x"> here.</p>',
    '<p>One <b id="1">two <img id="2" src="x"> three <i id="3">four</i></p><p>five <u id="4">six</u></p>',
    '<p><a id="1"><span id="2"><img id="3" src="x"></span> Buy now <i id="4"></i></a><a id="5">Or later</a></p>',
]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("page", PAGES)
def test_nothing_of_a_page_changes_its_parent(page: str, model: str):
    new = translate("x.html", page.encode(), MODELS[model])
    assert html_paths(new) == html_paths(page.encode())


NAMES = st.sampled_from(["b", "i", "a", "span", "em", "u"])
PIECES = st.sampled_from(
    ["One ", "two", " three.", "Four, ", "<img>", "5 ", "{x}", " ", "<br>", "<code>c d</code>", "six"]
)


def numbered(markup: str) -> str:
    """Each tag that starts an element with a number of its own."""
    count = iter(range(10_000))
    return re.sub(r"<(\w+)", lambda tag: f'<{tag[1]} id="{next(count)}"', markup)


@st.composite
def inline(draw: st.DrawFn, depth: int = 3) -> str:
    """Text with elements in each other."""
    parts = []
    for _ in range(draw(st.integers(0, 4))):
        if depth and draw(st.booleans()):
            name = draw(NAMES)
            # A link in a link is none to a browser.
            inside = re.sub(r"</?a>", "", draw(inline(depth - 1)))
            parts.append(f"<{name}>{inside}</{name}>")
        else:
            parts.append(draw(PIECES))
    return "".join(parts)


@given(inline(), st.sampled_from(list(MODELS)))
@example("<b><b><b>One </b><b>One One </b>two</b><b> three.One One One </b>One One </b>", "one word")
@settings(max_examples=300, deadline=None)
def test_nothing_of_any_page_changes_its_parent(content: str, model: str):
    page = numbered(f"<p>{content}</p>").encode()
    assert html_paths(translate("x.html", page, MODELS[model])) == html_paths(page)


def xml_paths(data: bytes, kept: Callable[[etree._Element], bool]) -> Counter[tuple[str, ...]]:
    """Each element that is not to be lost, with those of its kind that it is in."""
    root = etree.fromstring(data)
    paths: Counter[tuple[str, ...]] = Counter()
    for element in root.iter():
        if isinstance(element.tag, str) and kept(element):
            line = [element, *(outer for outer in element.iterancestors() if kept(outer))]
            paths[tuple(f"{one.tag}{sorted(one.attrib.items())}" for one in line)] += 1
    return paths


def local(element: etree._Element) -> str:
    return etree.QName(element).localname


WORD_KEPT = {"hyperlink", "ins", "sdt", "drawing", "footnoteReference", "p"}
DRAWING = '<w:drawing><wp:inline><wp:docPr id="1" name="a"/></wp:inline></w:drawing>'
LINK = '<w:hyperlink r:id="rId{}">{}</w:hyperlink>'
INSERTION = '<w:ins w:id="{}" w:author="a">{}</w:ins>'
CONTROL = '<w:sdt><w:sdtPr><w:id w:val="{}"/></w:sdtPr><w:sdtContent>{}</w:sdtContent></w:sdt>'


@st.composite
def word_inline(draw: st.DrawFn, depth: int = 2) -> str:
    parts = []
    for _ in range(draw(st.integers(1, 4))):
        wrap = draw(st.sampled_from(["", "", LINK, INSERTION, CONTROL])) if depth else ""
        if wrap:
            parts.append(wrap.format(draw(st.integers(1, 99)), draw(word_inline(depth - 1))))
        else:
            text = run(
                draw(st.sampled_from(["One ", "two", " three.", "Four, ", " "])), draw(st.sampled_from(["", "<w:b/>"]))
            )
            note = f'<w:r><w:footnoteReference w:id="{draw(st.integers(1, 9))}"/></w:r>'
            parts.append(draw(st.sampled_from([text, text, note, f"<w:r>{DRAWING}</w:r>"])))
    return "".join(parts)


@given(word_inline(), st.sampled_from(list(MODELS)))
@settings(max_examples=200, deadline=None)
def test_links_controls_and_insertions_of_word_survive(content: str, model: str):
    data = word(paragraph(content))
    before, after = (
        xml_paths(unpack(each)["word/document.xml"], lambda element: local(element) in WORD_KEPT)
        for each in (data, translate("x.docx", data, MODELS[model]))
    )
    assert after == before


@pytest.mark.parametrize("model", MODELS)
def test_a_link_keeps_a_word_while_there_is_one(model: str):
    data = word(
        paragraph(run("Read "), LINK.format(1, run("this page")), run(" and "), LINK.format(2, run("that one")))
    )
    new = unpack(translate("x.docx", data, MODELS[model]))["word/document.xml"]
    links = [element for element in ElementTree.fromstring(new).iter() if element.tag.endswith("}hyperlink")]
    words = "".join(ElementTree.fromstring(new).itertext()).split()
    assert len(links) == 2
    assert sum(any(map(str.strip, link.itertext())) for link in links) >= min(2, len(words))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("alone", [True, False])
def test_links_of_slides_survive(model: str, alone: bool):
    made = pptx.Presentation()
    frame = made.slides.add_slide(made.slide_layouts[6]).shapes.add_textbox(0, 0, 9, 9).text_frame
    for text in ("this page",) if alone else ("Read ", "this page", " now"):
        part = frame.paragraphs[0].add_run()
        part.text = text
        if text == "this page":
            part.hyperlink.address = "http://x.y"
    out = io.BytesIO()
    made.save(out)
    new = unpack(translate("x.pptx", out.getvalue(), MODELS[model]))["ppt/slides/slide1.xml"]
    assert new.count(b"<a:hlinkClick ") >= 1


@given(inline(), st.sampled_from(list(MODELS)))
@settings(max_examples=100, deadline=None)
def test_links_and_notes_of_opendocument_survive(content: str, model: str):
    markup = re.sub(r"<(/?)(?:b|i|span|em|u)>", lambda tag: f"<{tag[1]}text:span>", content)
    markup = re.sub(r"<(/?)a>", lambda tag: f"<{tag[1]}text:a>", markup).replace("<img>", "<draw:frame/>")
    markup = markup.replace("<br>", "<text:line-break/>").replace("<code>c d</code>", "<text:bookmark/>")
    data = odt(f"<text:p>{markup.replace('{x}', '')}</text:p>")

    def kept(element: etree._Element) -> bool:
        return local(element) in ("a", "frame", "bookmark")

    before, after = (
        xml_paths(unpack(each)["content.xml"], kept) for each in (data, translate("x.odt", data, MODELS[model]))
    )
    assert Counter(path[0] for path in after.elements()) == Counter(path[0] for path in before.elements())
    assert {path for path in after if "frame" in path[0]} == {path for path in before if "frame" in path[0]}


CODES = ("g", "x", "ph")


@given(inline(), st.sampled_from(list(MODELS)))
@settings(max_examples=200, deadline=None)
def test_codes_of_xliff_survive_in_their_elements(content: str, model: str):
    markup = re.sub(r"<(/?)(?:b|i|a|span|em|u)>", lambda tag: f"<{tag[1]}g>", content)
    markup = re.sub(r"<(?:img|br)>", "<x/>", markup).replace("<code>c d</code>", "<ph/>")
    count = iter(range(999))
    source = re.sub(r"<(g|x|ph)", lambda tag: f'<{tag[1]} id="{next(count)}"', markup)
    data = (
        '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file source-language="en" original="a" '
        f'datatype="plaintext"><body><trans-unit id="1"><source>{source}</source></trans-unit></body></file></xliff>'
    ).encode()
    root = etree.fromstring(translate("x.xlf", data, MODELS[model]))
    elements = {local(element): element for element in root.iter() if local(element) in ("source", "target")}
    if "target" not in elements:  # it has no words
        return
    paths = [
        Counter(
            tuple((local(one), one.get("id")) for one in (each, *each.iterancestors()) if local(one) in CODES)
            for each in element.iter()
        )
        for element in elements.values()
    ]
    assert paths[0] == paths[1]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.md", "Read [the text ![](x.png)](y) now, **all *of* it** `at` once[^1].\n"),
        ("x.json", '{"text": "Read <a><b>the</b> text <img/></a> now, <i>all</i> of it."}'),
        (
            "x.po",
            'msgid ""\nmsgstr ""\n\nmsgid "Read <a><b>the</b> text <img/></a> now, <i>all</i> of it."\nmsgstr ""\n',
        ),
        ("x.vtt", "WEBVTT\n\n00:01.000 --> 00:04.000\n<v Ann>Read <i>the <b>text</b></i> <00:02.000><c>now</c>.\n"),
        ("x.srt", "1\n00:00:01,000 --> 00:00:04,000\n<i>Read <b>the</b></i> <u>text</u> now.\n"),
        (
            "x.xml",
            '<resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2"><string name="a">Read <b>the '
            "<i>text</i></b> <xliff:g>%s</xliff:g> now.</string></resources>",
        ),
    ],
)
def test_marks_of_other_formats_survive(name: str, text: str, model: str):
    parsed = find_format(name).read(text.encode(), name)
    new = parsed.render(translate_segments(parsed.segments, Stub(MODELS[model]))[0]).decode()
    marks = re.compile(r"</?\w+[^<>]*>|`|\]\(y\)|!\[\]\(x\.png\)|\[\^1\]")
    translated = new[new.rindex("msgstr") :] if name == "x.po" else new
    assert Counter(marks.findall(translated)) == Counter(marks.findall(text))
    if name == "x.md":  # marks around nothing would be stars
        assert "*" not in MarkdownIt("commonmark").render(new)


@pytest.mark.parametrize("model", [name for name in MODELS if name != "nothing"])
@pytest.mark.parametrize(
    "text",
    [
        '**No "click"**: "select"',
        '~~No "click"~~: "select"',
        "**Always wrap in `:where()`**: do it now.",
        "- **Explicit:** Use the skill to...",
        "# *Read first:* all of (it)",
        "| **Read first:** a file |\n| --- |\n| *(all)* of it. |",
    ],
)
def test_marks_of_markdown_are_read_as_marks_wherever_they_stand(text: str, model: str):
    """Beside a letter, stars that have a sign on their other side are no marks: the page would show them."""
    before, after = (
        lxml.html.document_fromstring(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(one))
        for one in (text, translate("a.md", text.encode(), MODELS[model]).decode())
    )
    for name in ("em", "strong", "s", "code"):
        assert len(after.findall(f".//{name}")) == len(before.findall(f".//{name}"))
    assert not re.search("[*~]", after.text_content())
