"""What is drawn in Word files: text boxes, charts, diagrams, images. Compared with the XML that Word writes."""

from __future__ import annotations

import re
from dataclasses import replace

from office_files import pack, paragraph, relations, run, texts, translate, unpack, word

BOLD = "<w:b/>"


def body(data: bytes) -> str:
    return unpack(data)["word/document.xml"].decode()


def test_text_boxes_are_translated_once_and_written_twice() -> None:
    inside = f"<w:txbxContent>{paragraph(run('In a '), run('box', BOLD))}</w:txbxContent>"
    shape = '<wp:docPr id="1" name="Box 1" descr="A &quot;box&quot;"/><a:graphic><a:graphicData>'
    shape += f"<wps:wsp><wps:txbx>{inside}</wps:txbx></wps:wsp></a:graphicData></a:graphic>"
    old = f"<w:pict><v:shape><v:textbox>{inside}</v:textbox></v:shape></w:pict>"
    box = (
        f'<w:r><mc:AlternateContent><mc:Choice Requires="wps"><w:drawing><wp:inline>{shape}</wp:inline></w:drawing>'
        f"</mc:Choice><mc:Fallback>{old}</mc:Fallback></mc:AlternateContent></w:r>"
    )
    data = word(paragraph(run("Around "), box, run("it")))
    assert texts(data) == ["Around it", 'A "box"', "In a box"]
    written = body(translate(data))
    assert written.count(run("BOX", BOLD)) == 2
    assert 'name="Box 1" descr="A &quot;BOX&quot;"' in written
    # Only the box changes: what is around it stays as it is.
    boxed = body(translate(data, change=lambda one: replace(one, text="IN A BOX") if one.text == "In a box" else one))
    assert boxed == body(data).replace("In a ", "IN A ").replace(">box<", ">BOX<")


def test_charts() -> None:
    chart = (
        '<c:chartSpace xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" '
        'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><c:title><a:p><a:r><a:t>Sales</a:t></a:r></a:p>'
        "</c:title>%s</c:chartSpace>"
    )
    series = "<c:cat><c:strCache><c:pt><c:v>East</c:v></c:pt><c:pt><c:v>2020</c:v></c:pt></c:strCache></c:cat>"
    data = word(paragraph(run("Body")), chart=chart % (series * 2))
    assert texts(data) == ["Body", "Sales", "East"]
    out = unpack(translate(data))["word/chart1.xml"].decode()
    assert re.findall("<(?:a:t|c:v)>([^<]*)", out) == ["SALES", "EAST", "2020", "EAST", "2020"]


def test_diagrams_are_translated_once_and_written_twice() -> None:
    parts: dict[str, str | bytes] = dict(unpack(word(paragraph(run("Body")))))
    shape = '<a:p><a:r><a:rPr lang="en-US"/><a:t>A step</a:t></a:r></a:p>'
    drawing = shape.replace('lang="en-US"', 'sz="1200"')
    a = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    parts["word/data.xml"], parts["word/drawing.xml"] = f"<d {a}>{shape}</d>", f"<d {a}>{drawing}</d>"
    parts["word/_rels/document.xml.rels"] = relations("x/diagramDrawing drawing.xml", "y/diagramData data.xml")
    assert texts(pack(parts)) == ["Body", "A step"]
    out = unpack(translate(pack(parts)))
    assert out["word/data.xml"].decode() == f"<d {a}>{shape}</d>".replace("A step", "A STEP")
    assert out["word/drawing.xml"].decode() == f"<d {a}>{drawing}</d>".replace("A step", "A STEP")


def test_images_and_watermarks() -> None:
    image = '<w:drawing><wp:docPr descr="%s"/><a:graphic><pic:cNvPr descr="%s"/></a:graphic></w:drawing>'
    mark = "<w:pict><v:shape><v:textpath string='DON&apos;T'/></v:shape></w:pict>"
    body_ = "".join(paragraph(f"<w:r>{image.replace('%s', text)}</w:r>") for text in ("A cat", "IMG_1.png"))
    data = word(body_, header=paragraph(f"<w:r>{mark}</w:r>"))
    assert texts(data) == ["DON'T", "A cat"]
    out = unpack(translate(data, change=lambda one: replace(one, text=one.text + "'s")))
    assert re.findall('descr="([^"]*)', out["word/document.xml"].decode()) == ["A cat&apos;s"] * 2 + ["IMG_1.png"] * 2
    assert b"string='DON&apos;T&apos;s'" in out["word/header1.xml"]
