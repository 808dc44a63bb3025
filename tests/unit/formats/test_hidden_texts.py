"""Texts of office files that do not stand in a paragraph: choices, help, tooltips, entries of an index."""

from __future__ import annotations

import io

import docx
from docx.oxml.ns import qn
from office_files import capitals, odt, paragraph, read, run, texts, translate, unpack, word

CHOICES = (
    '<w:sdt><w:sdtPr><w:dropDownList><w:listItem w:displayText="Red wine" w:value="r1"/>'
    '<w:listItem w:displayText="White wine" w:value="w1"/></w:dropDownList></w:sdtPr><w:sdtContent>'
    + run("Red wine")
    + "</w:sdtContent></w:sdt>"
)
FORM = (
    '<w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:helpText w:type="text" w:val="Say your name"/>'
    '<w:statusText w:type="autoText" w:val="Standard text"/><w:ddList><w:listEntry w:val="Some tea"/></w:ddList>'
    "</w:ffData></w:fldChar></w:r><w:r><w:instrText> FORMDROPDOWN </w:instrText></w:r>"
    '<w:r><w:fldChar w:fldCharType="end"/></w:r>'
)
LINK = '<w:hyperlink w:anchor="x" w:tooltip="Go to the &quot;end&quot;">' + run("the link") + "</w:hyperlink>"
ENTRY = (
    '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText xml:space="preserve"> XE "Cats:white ones" \\t '
    '"see Dogs" \\b </w:instrText></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r>'
)
BODY = paragraph(run("Choose a "), CHOICES, run(" or "), LINK, run(", please."), ENTRY) + paragraph(run("Old: "), FORM)


def test_choices_help_tooltips_and_entries_are_texts():
    data = word(BODY)
    found = set(texts(data))
    assert found >= {"Red wine", "White wine", "Some tea", "Say your name", 'Go to the "end"'}
    assert found >= {"Cats", "white ones", "see Dogs"}
    assert "Standard text" not in found
    assert read(data, "x.docx").render(read(data, "x.docx").segments) == data


def test_they_are_written_where_word_looks_for_them():
    document = docx.Document(io.BytesIO(translate(word(BODY))))
    items = document.element.body.iter(qn("w:listItem"))
    assert [(one.get(qn("w:displayText")), one.get(qn("w:value"))) for one in items] == [
        ("RED WINE", "r1"),
        ("WHITE WINE", "w1"),
    ]
    (link,) = document.element.body.iter(qn("w:hyperlink"))
    assert link.get(qn("w:tooltip")) == 'GO TO THE "END"'
    codes = ["".join(one.itertext()) for one in document.element.body.iter(qn("w:instrText"))]
    assert codes == [' XE "CATS:WHITE ONES" \\t "SEE DOGS" \\b ', " FORMDROPDOWN "]
    assert document.paragraphs[0].text == "CHOOSE A  OR THE LINK, PLEASE."  # python-docx shows no content controls


def test_signs_that_mean_something_in_an_entry_are_none_of_its_text():
    parsed = read(word(paragraph(run("One."), ENTRY)), "x.docx")
    new = [capitals(one) for one in parsed.segments]
    where = [one.text for one in parsed.segments].index("Cats")
    new[where] = type(new[where])('A "cat": \\b')
    body = unpack(parsed.render(new))["word/document.xml"].decode()
    assert """ XE "A 'cat', b:WHITE ONES" """ in body


def test_a_file_that_is_mostly_in_a_style_of_code_is_text():
    lines = "".join(paragraph(run(f"This is line {n} of a letter."), style="SourceCode") for n in range(5))
    assert len(texts(word(lines + paragraph(run("A short end."))))) == 6
    code = paragraph(run("int x = 1;"), style="SourceCode")
    assert texts(word(code + paragraph(run("This says more than code.")))) == ["This says more than code."]


def test_an_odt_that_is_mostly_preformatted_is_text():
    styled = '<text:p text:style-name="Preformatted_20_Text">This is a line of a letter.</text:p>'
    assert texts(odt(styled * 3), "x.odt") == ["This is a line of a letter."] * 3
