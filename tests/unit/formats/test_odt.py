"""OpenDocument text: what is found, what is kept, what is written. odfpy reads back what was written."""

from __future__ import annotations

import io
import re

import pytest
from office_files import ODT, ODT_TYPE, odt, pack, read, texts, translate, unpack

from docflat.support.errors import InputError


def content(data: bytes) -> str:
    return re.sub(".*<office:text>(.*)</office:text>.*", r"\1", unpack(data)["content.xml"].decode(), flags=re.DOTALL)


def test_spans_of_one_look_are_one() -> None:
    span = '<text:span text:style-name="%s">%s</text:span>'
    inside = "".join(span % pair for pair in (("T3", "Typed later: "), ("T1", "bo"), ("T2", "ld"), ("T3", " words")))
    data = odt(f"<text:p>{inside}\n  here.</text:p>")
    (segment,) = read(data, "x.odt").segments
    assert segment.text == "Typed later: bold words here."
    assert [segment.text[span.start : span.end] for span in segment.spans] == ["bold"]
    assert content(translate(data, "x.odt")) == f"<text:p>TYPED LATER: {span % ('T1', 'BOLD')} WORDS HERE.</text:p>"


def test_fonts_of_typewriters_are_code() -> None:
    data = odt('<text:p>Call <text:span text:style-name="T5">it</text:span> now</text:p>')
    assert [(span.start, span.end) for span in read(data, "x.odt").segments[0].spans if span.opaque] == [(5, 7)]
    assert content(translate(data, "x.odt")) == content(data).replace("Call", "CALL").replace("now", "NOW")


def test_title_comments_and_charts() -> None:
    note = "<office:annotation><text:p>A comment</text:p></office:annotation>"
    chart = '<manifest:file-entry manifest:full-path="Object 1/" manifest:media-type="%s.chart"/>'
    parts: dict[str, str | bytes] = dict(
        unpack(odt(f"<text:p>Some{note} text</text:p>", manifest=chart.replace("%s", ODT_TYPE.removesuffix(".text"))))
    )
    parts["meta.xml"] = '<m xmlns:d="http://purl.org/dc/elements/1.1/"><n><d:title>Title</d:title></n></m>'
    inside = "<office:chart><text:p>A chart</text:p></office:chart>"
    parts["Object 1/content.xml"] = (
        f"<office:document-content {ODT}><office:body>{inside}</office:body></office:document-content>"
    )
    parts["Object 2/content.xml"] = "<!DOCTYPE math><math/>"  # a formula: not read
    assert texts(pack(parts), "x.odt") == ["Title", "Some text", "A comment", "A chart"]
    out = translate(pack(parts), "x.odt")
    assert content(out) == f"<text:p>SOME{note.replace('A comment', 'A COMMENT')} TEXT</text:p>"
    assert b"<text:p>A CHART</text:p>" in unpack(out)["Object 1/content.xml"]


def test_open_document_in_whole() -> None:
    load = pytest.importorskip("odf.opendocument").load
    extract = pytest.importorskip("odf.teletype").extractText
    tag = pytest.importorskip("odf.text")
    note = (
        '<text:note text:note-class="footnote"><text:note-citation>1</text:note-citation><text:note-body>'
        "<text:p>A note</text:p></text:note-body></text:note>"
    )
    frame = (
        "<draw:frame><draw:text-box><text:p>In a box</text:p></draw:text-box><svg:desc>A box</svg:desc></draw:frame>"
    )
    deleted = "<text:changed-region><text:deletion><text:p>Deleted</text:p></text:deletion></text:changed-region>"
    page = 'On page <text:page-number text:select-page="current">7</text:page-number>'
    link, code = '<text:a xlink:href="http://x.y">the site</text:a>', 'text:style-name="Source_20_Text"'
    data = odt(
        f"<text:tracked-changes>{deleted}</text:tracked-changes><text:h>A heading</text:h>"
        f"<text:p>See {link}{note} and<text:line-break/>so on{frame}</text:p>"
        f'<text:p>Two<text:s text:c="2"/>blanks<text:tab/>tab <text:span {code}>x = 1</text:span>'
        '<text:span text:style-name="T4">hidden</text:span></text:p><text:p text:style-name="P1">if x:</text:p>'
        "<table:table><table:table-row><table:table-cell><text:p>A cell</text:p></table:table-cell></table:table-row>"
        '</table:table><text:section text:display="none"><text:p>Not shown</text:p></text:section>',
        header=f"<text:p>{page}</text:p>",
    )
    assert [(one.text, one.skip_reason) for one in read(data, "x.odt").segments] == [
        ("A heading", ""),
        ("See the site and\u2028so on", ""),
        ("A note", ""),
        ("In a box", ""),
        ("A box", ""),
        ("Two  blanks", ""),
        ("tab x = 1", ""),
        ("if x:", "code"),
        ("A cell", ""),
        ("Not shown", "hidden"),
        ("On page 7", ""),
    ]
    out = translate(data, "x.odt")
    written = load(io.BytesIO(out))
    assert [extract(one) for one in written.getElementsByType(tag.H)] == ["A HEADING"]
    assert [extract(one) for one in written.getElementsByType(tag.A)] == ["THE SITE"]
    assert [extract(one) for one in written.getElementsByType(tag.P)] == [
        "Deleted",
        "SEE THE SITE1A NOTE AND\nSO ONIN A BOXA BOX",
        "A NOTE",
        "IN A BOX",
        "TWO  BLANKS\tTAB x = 1hidden",
        "if x:",
        "A CELL",
        "Not shown",
        "ON PAGE 7",
    ]
    assert unpack(out)["styles.xml"].decode().count("<text:page-number") == 1
    assert next(iter(unpack(out))) == "mimetype"
    parsed = read(data, "x.odt")
    assert parsed.render(parsed.segments) == data


def test_a_manifest_that_names_a_dtd_is_read_and_entities_are_not() -> None:
    parts = unpack(odt("<text:p>One</text:p>"))
    manifest = parts["META-INF/manifest.xml"].decode()
    start = manifest.index("?>") + 2 if manifest.startswith("<?xml") else 0
    for doctype, is_read in (('<!DOCTYPE m SYSTEM "Manifest.dtd">', True), ('<!DOCTYPE m [<!ENTITY a "b">]>', False)):
        parts["META-INF/manifest.xml"] = (manifest[:start] + doctype + manifest[start:]).encode()
        data = pack({name: bytes(part) for name, part in parts.items()})
        if is_read:
            assert texts(data, "x.odt") == ["One"]
        else:
            with pytest.raises(InputError, match="document type declaration"):
                texts(data, "x.odt")
