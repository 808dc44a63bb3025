"""Word files: what is found, what is kept, what is written. python-docx reads back what was written."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest
from office_files import field, pack, paragraph, relations, run, texts, translate, unpack, word

from docflat.formats.office.docx import Docx
from docflat.formats.segments import Segment, Span
from docflat.translation.files import translate_segments
from stubs import Stub

docx = pytest.importorskip("docx")

BOLD, ITALIC = "<w:b/>", "<w:i/>"


def runs(data: bytes, number: int = 0) -> list[tuple[str, bool, bool]]:
    """Text, bold and italic of the runs of a paragraph; runs without text left out."""
    found = docx.Document(io.BytesIO(data)).paragraphs[number].runs
    return [(one.text, bool(one.bold), bool(one.italic)) for one in found if one.text]


def body(data: bytes) -> str:
    return unpack(data)["word/document.xml"].decode()


def shown(xml: str) -> str:
    return "".join(re.findall(r"<w:t[ >][^<]*", xml)).replace('<w:t xml:space="preserve">', "").replace("<w:t>", "")


def test_runs_of_one_look_are_one() -> None:
    data = word(
        paragraph(
            '<w:r w:rsidR="00A"><w:t>Spl</w:t></w:r><w:proofErr w:type="spellStart"/><w:r w:rsidR="00B"><w:rPr>'
            '<w:lang w:val="en-US"/></w:rPr><w:t xml:space="preserve">it words and </w:t></w:r>',
            run("bo", BOLD),
            run("ld", BOLD + '<w:lang w:val="de-DE"/>'),
            run(" ", ITALIC),
            run("text", BOLD),
            run("."),
        )
    )
    (segment,) = Docx().read(data, "x.docx").segments
    assert segment.text == "Split words and bold text."
    assert [(span.start, span.end) for span in segment.spans] == [(16, 25)]
    assert runs(translate(data)) == [
        ("SPLIT WORDS AND ", False, False),
        ("BOLD TEXT", True, False),
        (".", False, False),
    ]


def test_formatting_follows_moved_spans() -> None:
    data = word(paragraph(run("The "), run("red", BOLD), run(" house "), run("burns", ITALIC), run(" now.")))

    def change(segment: Segment) -> Segment:
        bold, italic = segment.spans
        text = "Jetzt brennt das sehr rote Haus."
        return Segment(text, (replace(italic, start=6, end=12), replace(bold, start=22, end=26)))

    assert runs(translate(data, change=change)) == [
        ("Jetzt ", False, False),
        ("brennt", False, True),
        (" das sehr ", False, False),
        ("rote", True, False),
        (" Haus.", False, False),
    ]


@pytest.mark.parametrize("text", ["", "x", "Ein sehr viel längerer Satz & <mehr> als vorher.\x00\x0b"])
def test_any_text_and_no_spans(text: str) -> None:
    data = word(paragraph(run("The "), run("red", BOLD), run(" house.")))
    expected = re.sub("[\x00\x0b]", "", text)
    read = docx.Document(io.BytesIO(translate(data, change=lambda _: Segment(text))))
    assert read.paragraphs[0].text == expected


def test_spans_that_cross_or_reach_out() -> None:
    data = word(paragraph(run("aa "), run("bb", BOLD), run(" cc "), run("dd", ITALIC), run(" ee")))

    def change(segment: Segment) -> Segment:
        bold, italic = segment.spans
        return Segment("one two three", (replace(bold, start=0, end=7), replace(italic, start=4, end=99)))

    assert [text for text, *_ in runs(translate(data, change=change))] == ["one two", " three"]


def test_what_is_whole_comes_back_byte_for_byte() -> None:
    first, second = paragraph(run("Only this one.")), paragraph("<w:r ><w:t  >And &#65;mp; that</w:t></w:r >")
    data = word(first + second, header=paragraph(run("Head")), title="Title")
    parsed = Docx().read(data, "x.docx")
    assert parsed.render(parsed.segments) == data
    changed = [replace(one, text="Neu.") if one.text == "Only this one." else one for one in parsed.segments]
    new, old = unpack(parsed.render(changed)), unpack(data)
    assert list(new) == list(old)
    assert {name for name in new if new[name] != old[name]} == {"word/document.xml"}
    assert new["word/document.xml"].decode() == body(data).replace("Only this one.", "Neu.")
    assert parsed.render(parsed.segments) == data  # again, after a change


def test_parts_in_the_order_of_reading() -> None:
    data = word(
        paragraph(run("Body")) + f"<w:tbl><w:tr><w:tc>{paragraph(run('Cell'))}</w:tc></w:tr></w:tbl>",
        title="Title",
        header=paragraph(run("Header")),
        footer=paragraph(run("Page "), field("PAGE", run("3"))),
        footnotes=f'<w:footnote w:id="1">{paragraph("<w:r><w:footnoteRef/></w:r>", run(" A note."))}</w:footnote>',
        comments=f'<w:comment w:id="0">{paragraph(run("A comment"))}</w:comment>',
    )
    assert texts(data) == ["Title", "Header", "Body", "Cell", "Page 3", "A note.", "A comment"]
    out = unpack(translate(data))
    assert b'<w:footnoteRef/></w:r><w:r><w:rPr></w:rPr><w:t xml:space="preserve"> </w:t>' in out["word/footnotes1.xml"]
    assert shown(out["word/footnotes1.xml"].decode()) == " A NOTE."
    assert b" PAGE " in out["word/footer1.xml"]
    assert docx.Document(io.BytesIO(translate(data))).core_properties.title == "TITLE"


def test_headers_of_many_sections_are_translated_once() -> None:
    parts: dict[str, str | bytes] = dict(unpack(word(paragraph(run("Body")), header=paragraph(run("Header")))))
    parts["word/header2.xml"] = parts["word/header1.xml"]
    parts["word/_rels/document.xml.rels"] = relations("x/header header1.xml", "x/header header2.xml")
    assert texts(pack(parts)) == ["Header", "Body"]
    out = unpack(translate(pack(parts)))
    assert [shown(out[f"word/header{i}.xml"].decode()) for i in (1, 2)] == ["HEADER", "HEADER"]


def test_hyperlinks_keep_their_target_and_their_words() -> None:
    link = f'<w:hyperlink r:id="rId9" w:history="1">{run("the manual", "<w:u/>")}</w:hyperlink>'
    data = word(paragraph(run("See "), link, run(" first.")))
    (segment,) = Docx().read(data, "x.docx").segments
    assert [(segment.text[span.start : span.end]) for span in segment.spans] == ["the manual"]
    moved = Segment("Das Handbuch zuerst.", (replace(segment.spans[0], start=0, end=12),))
    written = body(translate(data, change=lambda _: moved))
    assert f'<w:hyperlink r:id="rId9" w:history="1">{run("Das Handbuch", "<w:u/>")}</w:hyperlink>' in written
    linked = docx.Document(io.BytesIO(translate(data))).paragraphs[0].hyperlinks
    assert [link.text for link in linked] == ["THE MANUAL"]


def test_fields() -> None:
    data = word(
        paragraph(
            run("As "), field("REF fig1", run("Figure ") + run("2")), run(" on page "), field("PAGEREF x", run("7"))
        )
        + paragraph(field('HYPERLINK "http://x.y"', run("a link")), run(" here"))
        + paragraph(run("On "), f'<w:fldSimple w:instr=" DATE ">{run("3 May")}</w:fldSimple>', run(" it was"))
    )
    read = Docx().read(data, "x.docx").segments
    assert [one.text for one in read] == ["As Figure 2 on page 7", "a link here", "On 3 May it was"]
    assert [[one.text[s.start : s.end] for s in one.spans if s.opaque] for one in read] == [["7"], [], ["3 May"]]
    written = body(translate(data))
    assert shown(written) == "AS FIGURE 2 ON PAGE 7A LINK HEREON 3 May IT WAS"
    assert re.findall("<w:instrText[^>]*> (\\w+)", written) == ["REF", "PAGEREF", "HYPERLINK"]
    assert re.findall('fldCharType="(\\w+)"', written) == ["begin", "separate", "end"] * 3


def test_a_table_of_contents() -> None:
    begin = '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>TOC</w:instrText></w:r>'
    begin += '<w:r><w:fldChar w:fldCharType="separate"/></w:r>'
    page = f"<w:r><w:tab/></w:r>{field('PAGEREF', run('3'))}"
    entry = f'<w:hyperlink w:anchor="_Toc1">{run("Beginnings")}{page}</w:hyperlink>'
    data = word(paragraph(begin, entry) + paragraph('<w:r><w:fldChar w:fldCharType="end"/></w:r>'))
    assert texts(data) == ["Beginnings"]
    written = body(translate(data))
    assert written.replace("BEGINNINGS", "Beginnings").count("Beginnings") == 1
    read = docx.Document(io.BytesIO(translate(data))).paragraphs[0]
    assert read.hyperlinks[0].text == "BEGINNINGS\t3"
    assert re.findall('fldCharType="(\\w+)"', written) == ["begin", "separate", "begin", "separate", "end", "end"]


def test_tracked_changes() -> None:
    inserted = f'<w:ins w:id="1" w:author="A">{run("very ")}</w:ins>'
    deleted = '<w:del w:id="2" w:author="A"><w:r><w:delText>quite </w:delText></w:r></w:del>'
    data = word(paragraph(run("A "), deleted, inserted, run("good day")))
    assert texts(data) == ["A very good day"]
    written = body(translate(data))
    assert deleted in written
    assert shown(re.search("<w:ins.*</w:ins>", written)[0]).strip() == "VERY"


def test_content_controls() -> None:
    properties = '<w:sdtPr><w:alias w:val="Name"/></w:sdtPr>'
    inline = f"<w:sdt>{properties}<w:sdtContent>{run('some words')}</w:sdtContent></w:sdt>"
    block = f"<w:sdt>{properties}<w:sdtContent>{paragraph(run('A block'))}</w:sdtContent></w:sdt>"
    data = word(paragraph(run("Here are "), inline, run(" in a sentence")) + block)
    assert texts(data) == ["Here are some words in a sentence", "A block"]
    written = body(translate(data))
    assert f"<w:sdt>{properties}<w:sdtContent>{run('SOME WORDS')}</w:sdtContent></w:sdt>" in written
    assert block.replace("A block", "A BLOCK").replace("<w:rPr></w:rPr>", "") in written.replace("<w:rPr></w:rPr>", "")


def test_breaks_tabs_and_hyphens() -> None:
    data = word(
        paragraph(
            "<w:r><w:t>First line</w:t><w:br/><w:t>second</w:t><w:tab/><w:t>cell</w:t>"
            "<w:noBreakHyphen/><w:t>like</w:t></w:r>"
        )
        + paragraph('<w:r><w:t>Page</w:t><w:br w:type="page"/><w:t>next</w:t></w:r>')
    )
    assert texts(data) == ["First line\u2028second", "cell\u2011like", "Page", "next"]
    read = docx.Document(io.BytesIO(translate(data)))
    assert [one.text for one in read.paragraphs] == [
        "FIRST LINE\nSECOND\tCELL-LIKE",
        "PAGENEXT",
    ]  # a page break is no text
    assert '<w:br w:type="page"/>' in body(translate(data))


def test_lines_of_an_address_are_texts_of_their_own() -> None:
    """A sentence goes on after a break; the lines of an address are no sentence, and a model loses words of one."""
    lines = ["Call ", "Ann Lee", "12 Long Street", "The road to", "Leeds, and"]
    breaks = "<w:br/>".join(f'<w:t xml:space="preserve">{line}</w:t>' for line in lines)
    stub = Stub(lambda text: " ".join(reversed(text.split())))
    parsed = Docx().read(word(paragraph(f"<w:r>{breaks}<w:br/><w:br/><w:t>so on.</w:t></w:r>")), "x.docx")
    written = parsed.render(translate_segments(parsed.segments, stub)[0])
    assert stub.documents == [["Call", "Ann Lee", "12 Long Street", "The road to Leeds, and so on."]]
    assert docx.Document(io.BytesIO(written)).paragraphs[0].text.split("\n")[:3] == [
        "Call ",
        "Lee Ann",
        "Street Long 12",
    ]
    assert docx.Document(io.BytesIO(written)).paragraphs[0].text.count("\n") == 6


def test_a_break_does_not_cut_a_word() -> None:
    data = word(paragraph("<w:r><w:t>First line</w:t><w:br/><w:t>second</w:t></w:r>"))
    moved = translate(data, change=lambda one: Segment("Die Zeile danach", (Span(6, 6, one.spans[0].tag),)))
    assert docx.Document(io.BytesIO(moved)).paragraphs[0].text == "Die Zeile\ndanach"


def test_objects_survive_whoever_loses_them() -> None:
    note = '<w:r><w:rPr><w:rStyle w:val="FootnoteReference"/></w:rPr><w:footnoteReference w:id="1"/></w:r>'
    marks = '<w:bookmarkStart w:id="0" w:name="b"/>', '<w:bookmarkEnd w:id="0"/>'
    data = word(paragraph(run("Some "), marks[0], run("words"), note, run(" and "), marks[1], run("more")))
    for change in (lambda one: Segment("Kurz"), lambda one: replace(one, spans=one.spans[::-1])):
        written = body(translate(data, change=change))
        assert [written.count(one) for one in (note, *marks)] == [1, 1, 1]
        assert written.index(marks[0]) < written.index(marks[1])


def test_formulas_are_words_that_stay() -> None:
    formula = "<m:oMath><m:r><m:t>x+y</m:t></m:r></m:oMath>"
    data = word(paragraph(run("where "), formula, run(" is co\u00adordi\u00adnated")))
    (segment,) = Docx().read(data, "x.docx").segments
    assert segment.text == "where x+y is coordinated"
    assert [(span.start, span.end, span.opaque) for span in segment.spans] == [(6, 9, True)]
    assert formula in body(translate(data))


def test_code_and_hidden_text_are_kept() -> None:
    data = word(
        paragraph(run("int main() {}"), style="SourceCode")
        + paragraph(run("for x in y:"), style="Mine")
        + paragraph(
            run("Call "),
            run("os.", '<w:rStyle w:val="VerbatimChar"/>'),
            run("fork", '<w:rStyle w:val="VerbatimChar"/>'),
            run(" twice"),
        )
        + paragraph(run("Shown"), run("hidden", "<w:vanish/>"), run(" here"))
        + paragraph(run("all secret", '<w:rStyle w:val="Secret"/>'))
        + paragraph(run("12.50"))
    )
    read = Docx().read(data, "x.docx").segments
    assert [(one.text, one.skip_reason) for one in read] == [
        ("int main() {}", "code"),
        ("for x in y:", "code"),
        ("Call os.fork twice", ""),
        ("Shown here", ""),
        ("all secret", "hidden"),
        ("12.50", ""),  # no words, but perhaps another way of writing it
    ]
    assert [(span.start, span.end, span.opaque) for span in read[2].spans] == [(5, 12, True)]
    assert shown(body(translate(data))) == "int main() {}for x in y:CALL os.fork TWICESHOWNhidden HEREall secret12.50"


def test_fonts_of_typewriters_are_code_unless_all_is() -> None:
    font = '<w:rFonts w:ascii="Courier New"/>'
    block, inline = paragraph(run("x = y", font)), paragraph(run("Call "), run("it ", font), run("now"))
    prose = paragraph(run("A long enough text in another font"))
    read = Docx().read(word(block + inline + prose), "x.docx").segments
    assert [one.skip_reason for one in read] == ["code", "", ""]
    assert [(span.start, span.end) for span in read[1].spans if span.opaque] == [(5, 7)]
    assert shown(body(translate(word(block + inline + prose)))).startswith("x = yCALL it NOWA LONG")
    assert texts(word(block + paragraph(run("All typed", font)))) == ["x = y", "All typed"]


def test_macros_and_strict_files() -> None:
    data = word(paragraph(run("Text")), main="application/vnd.ms-word.document.macroEnabled.main+xml")
    parts: dict[str, str | bytes] = dict(unpack(data))
    parts["word/vbaProject.bin"] = b"macros"
    assert unpack(translate(pack(parts)))["word/vbaProject.bin"] == b"macros"
    strict = "http://purl.oclc.org/ooxml/wordprocessingml/main"
    parts["word/document.xml"] = f'<x:document xmlns:x="{strict}"><x:p><x:r><x:t>Text</x:t></x:r></x:p></x:document>'
    assert b'<x:r><x:t xml:space="preserve">TEXT</x:t></x:r>' in unpack(translate(pack(parts)))["word/document.xml"]


def test_a_file_of_python_docx() -> None:
    made = docx.Document()
    made.add_heading("A heading", 1)
    made.add_paragraph("A list item", style="List Bullet").add_run(" in bold").bold = True
    made.add_table(1, 2).cell(0, 1).text = "A cell"
    made.add_picture(io.BytesIO(PNG))
    out = io.BytesIO()
    made.save(out)
    read = docx.Document(io.BytesIO(translate(out.getvalue())))
    assert [(one.text, one.style.name) for one in read.paragraphs[:2]] == [
        ("A HEADING", "Heading 1"),
        ("A LIST ITEM IN BOLD", "List Bullet"),
    ]
    assert read.tables[0].cell(0, 1).text == "A CELL"
    assert len(read.inline_shapes) == 1


PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108000000003a7e9b550000000a49444154789c63600000000200014873"
    "750b0000000049454e44ae426082"
)
