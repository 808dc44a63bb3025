"""OpenDocument presentations and tables. odfpy wrote the files, and reads back what we wrote."""

from __future__ import annotations

import io
from typing import Any

import pytest
from office_files import OASIS, ODT, pack, read, translate, unpack

from docflat.support.errors import InputError

opendocument = pytest.importorskip("odf.opendocument")


def saved(document: Any) -> bytes:
    out = io.BytesIO()
    document.write(out)
    return out.getvalue()


def talk() -> bytes:
    from odf.draw import Frame, Page, TextBox
    from odf.presentation import Notes
    from odf.style import MasterPage, PageLayout
    from odf.text import P

    document = opendocument.OpenDocumentPresentation()
    document.automaticstyles.addElement(PageLayout(name="L"))
    document.masterstyles.addElement(MasterPage(name="M", pagelayoutname="L"))
    for title in ("The first slide", "The second slide"):
        page = Page(masterpagename="M", name=title)
        frame = Frame(width="1cm", height="1cm")
        box = TextBox()
        box.addElement(P(text=title))
        frame.addElement(box)
        page.addElement(frame)
        notes = Notes()
        said = Frame(width="1cm", height="1cm")
        inner = TextBox()
        inner.addElement(P(text=f"Say this about {title[4:]}"))
        said.addElement(inner)
        notes.addElement(said)
        page.addElement(notes)
        document.presentation.addElement(page)
    return saved(document)


def paragraphs(data: bytes) -> list[str]:
    from odf.teletype import extractText
    from odf.text import P

    return [extractText(one) for one in opendocument.load(io.BytesIO(data)).getElementsByType(P)]


def test_slides_each_with_its_notes() -> None:
    data = talk()
    shown = [
        "The first slide",
        "Say this about first slide",
        "The second slide",
        "Say this about second slide",
    ]
    parsed = read(data, "x.odp")
    assert [one.text for one in parsed.segments] == shown
    assert parsed.render(parsed.segments) == data
    assert paragraphs(translate(data, "x.odp")) == [text.upper() for text in shown]


def table(cells: str, besides: str = "") -> bytes:
    inside = f'<table:table table:name="Sheet"><table:table-row>{cells}</table:table-row></table:table>{besides}'
    return pack(
        {
            "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
            "content.xml": f'<office:document-content {ODT} xmlns:of="{OASIS}of:1.2"><office:body><office:spreadsheet>'
            f"{inside}</office:spreadsheet></office:body></office:document-content>",
            "META-INF/manifest.xml": f'<manifest:manifest xmlns:manifest="{OASIS}manifest:1.0">'
            '<manifest:file-entry manifest:full-path="/" '
            'manifest:media-type="application/vnd.oasis.opendocument.spreadsheet"/><manifest:file-entry '
            'manifest:full-path="content.xml" manifest:media-type="text/xml"/></manifest:manifest>',
        }
    )


def cell(text: str, kind: str = "string", more: str = "") -> str:
    return f'<table:table-cell office:value-type="{kind}" {more}><text:p>{text}</text:p></table:table-cell>'


def test_cells_of_text_are_translated_and_numbers_formulas_and_what_they_look_for_are_not() -> None:
    data = table(
        cell("Name of town")
        + cell("12.50 Euro", "float", 'office:value="12.5"')
        + cell("Result of it", "string", "table:formula='of:=IF([.A1]=&quot;Open&quot;;1;2)'")
        + cell("Open")
        + cell("Name of town")
        + cell("1,200")
        + cell("A value", more='office:string-value="A value"')
        + cell("A value", more='office:string-value="Another"')
        + "<table:table-cell><office:annotation><text:p>A note</text:p></office:annotation><text:p>Two</text:p>"
        "<text:p>lines</text:p></table:table-cell>"
    )
    assert [(one.text, one.skip_reason) for one in read(data, "x.ods").segments] == [
        ("Name of town", ""),
        ("Open", "used by a formula"),
        ("1,200", "no letters"),
        ("A value", ""),
        ("A value", "a value besides its text"),
        ("A note", ""),
        ("Two", ""),
        ("lines", ""),
    ]
    parsed = read(data, "x.ods")
    assert parsed.render(parsed.segments) == data
    out = translate(data, "x.ods")
    shown = ["NAME OF TOWN", "12.50 Euro", "Result of it", "Open", "NAME OF TOWN", "1,200", "A VALUE", "A value"]
    assert paragraphs(out) == [*shown, "A NOTE", "TWO", "LINES"]
    content = unpack(out)["content.xml"].decode()
    assert 'office:string-value="A VALUE"' in content
    assert 'office:string-value="Another"' in content
    assert "IF([.A1]=&quot;Open&quot;;1;2)" in content


def test_choices_and_filters_find_their_texts() -> None:
    lists = (
        '<table:content-validations><table:content-validation table:condition="of:cell-content-is-in-list('
        '&quot;Small&quot;;&quot;Large&quot;)"/></table:content-validations>'
        '<table:filter><table:filter-condition table:value="North"/></table:filter>'
    )
    data = table(cell("small") + cell("North") + cell("South"), lists)
    assert [one.skip_reason for one in read(data, "x.ods").segments] == ["used by a formula", "used by a formula", ""]


@pytest.mark.parametrize("name", ["x.odp", "x.odt", "x.otp"])
def test_a_file_of_another_kind_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="is not an OpenDocument"):
        read(table(cell("Text")), name)
    assert [one.text for one in read(table(cell("Text")), "x.ots").segments] == ["Text"]
