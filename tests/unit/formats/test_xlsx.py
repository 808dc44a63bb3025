"""Excel: what of a workbook is translated, what stays. openpyxl wrote the workbooks, and reads back what we wrote."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest
from office_files import OOXML, RELATIONS, pack, read, texts, translate, unpack

from docflat.formats.segments import Segment
from docflat.support.errors import InputError

openpyxl = pytest.importorskip("openpyxl")


def saved(workbook: Any) -> bytes:
    out = io.BytesIO()
    workbook.save(out)
    return out.getvalue()


def loaded(data: bytes) -> Any:
    return openpyxl.load_workbook(io.BytesIO(data), rich_text=True)


def sales() -> Any:
    from openpyxl.cell.rich_text import CellRichText, TextBlock
    from openpyxl.cell.text import InlineFont
    from openpyxl.comments import Comment
    from openpyxl.worksheet.datavalidation import DataValidation

    workbook = openpyxl.Workbook()
    workbook.properties.title = "Annual sales"
    sheet = workbook.active
    sheet.title = "Sales"
    rows = [
        ["Region of sale", "Units sold", "In stock"],
        ["North of town", 12.5, "Yes"],
        ["South of town", 7, "No"],
        ["North of town", 1, "1,200"],
    ]
    for row in rows:
        sheet.append(row)
    sheet["A6"] = '=IF(C2="Yes","Go on","Stop here")'
    sheet["B6"] = "=SUM(B2:B4)"
    sheet["A7"] = CellRichText("Read the ", TextBlock(InlineFont(b=True), "small print"), " first")
    sheet["A8"] = "First line\nSecond line of it"
    sheet["A9"] = "=A1"
    sheet["A2"].comment = Comment("Ask the owner", "Ann")
    choice = DataValidation(type="list", formula1='"Small,Large"', prompt="Choose a size", promptTitle="The size")
    sheet.add_data_validation(choice)
    choice.add("D2")
    sheet["D2"] = "Small"
    lists = workbook.create_sheet("Lists")
    lists.sheet_state = "hidden"
    lists.append(["A secret word", "North of town"])
    return workbook


def test_cells_of_text_are_translated_in_order_and_what_they_share_once() -> None:
    assert [(one.text, one.skip_reason) for one in read(saved(sales()), "x.xlsx").segments] == [
        ("Annual sales", ""),
        ("Region of sale", ""),
        ("Units sold", ""),
        ("In stock", ""),
        ("North of town", ""),
        ("Yes", "used by a formula or filter"),
        ("Small", "used by a formula or filter"),
        ("South of town", ""),
        ("No", ""),
        ("1,200", "no letters"),
        ("Read the small print first", ""),
        ("First line\u2028Second line of it", ""),
        ("The size", ""),
        ("Choose a size", ""),
        ("Ask the owner", ""),
        ("A secret word", "hidden"),
    ]


def test_another_reader_finds_formulas_numbers_and_looks_as_they_were() -> None:
    data = saved(sales())
    written = loaded(translate(data, "x.xlsx"))
    own = loaded(data)
    assert written.sheetnames == own.sheetnames
    for cell in (one for row in own["Sales"].iter_rows() for one in row):
        new = written["Sales"][cell.coordinate]
        if cell.data_type == "f" or not isinstance(cell.value, str):
            assert str(new.value) == str(cell.value).upper() if cell.coordinate == "A7" else new.value == cell.value
        else:
            assert new.value == (cell.value if cell.value in ("Yes", "Small") else cell.value.upper())
        assert new._style == cell._style
    rich = written["Sales"]["A7"].value
    assert [str(part) for part in rich] == ["READ THE ", "SMALL PRINT", " FIRST"]
    assert rich[1].font.b
    assert written["Sales"]["A2"].comment.text == "ASK THE OWNER"
    (choice,) = written["Sales"].data_validations.dataValidation
    assert (choice.prompt, choice.promptTitle, choice.formula1) == ("CHOOSE A SIZE", "THE SIZE", '"Small,Large"')
    assert written["Lists"]["A1"].value == "A secret word"
    assert written["Lists"]["B1"].value == "NORTH OF TOWN"  # the same string as in a sheet that is seen


def test_own_segments_give_back_the_file_and_only_parts_with_text_change() -> None:
    data = saved(sales())
    parsed = read(data, "x.xlsx")
    assert parsed.render(parsed.segments) == data
    own, new = unpack(data), unpack(translate(data, "x.xlsx"))
    assert list(own) == list(new)
    changed = {name for name in own if own[name] != new[name]}
    assert {"xl/worksheets/sheet1.xml", "docProps/core.xml"} <= changed
    assert not {"xl/workbook.xml", "xl/styles.xml", "[Content_Types].xml"} & changed


def table_of(formula: str = "") -> bytes:
    from openpyxl.worksheet.table import Table

    workbook = openpyxl.Workbook()
    sheet = workbook.active
    for row in (["First name", "Last name", "Age"], ["Ann", "Lee", 3]):
        sheet.append(row)
    sheet.add_table(Table(displayName="People", ref="A1:C2"))
    if formula:
        sheet["E1"] = formula
    return saved(workbook)


def headers(data: bytes) -> tuple[list[str], list[str]]:
    """The first row, and what the table calls its columns: Excel calls a file broken where they differ."""
    sheet = loaded(data).active
    return [cell.value for cell in sheet[1][:3]], [one.name for one in sheet.tables["People"].tableColumns]


def test_columns_of_a_table_are_named_as_its_first_row() -> None:
    data = table_of()
    assert headers(translate(data, "x.xlsx")) == (["FIRST NAME", "LAST NAME", "AGE"],) * 2
    # No two columns may have one name.
    alike = translate(data, "x.xlsx", lambda one: replace(one, text="Name") if "name" in one.text else one)
    assert headers(alike) == (["Name", "Last name", "Age"],) * 2


def test_columns_that_a_formula_names_keep_their_names() -> None:
    data = translate(table_of("=SUM(People[Age])"), "x.xlsx")
    assert headers(data) == (["First name", "Last name", "Age"],) * 2
    assert loaded(data).active["A2"].value == "ANN"


def test_charts_show_the_translated_cells() -> None:
    from openpyxl.chart import BarChart, Reference

    workbook = openpyxl.Workbook()
    sheet = workbook.active
    for row in (["Town", "People"], ["Small town", 3], ["Large town", 4]):
        sheet.append(row)
    chart = BarChart()
    chart.title = "People of towns"
    chart.add_data(Reference(sheet, min_col=2, min_row=1, max_row=3), titles_from_data=True)
    sheet.add_chart(chart, "E2")
    data = saved(workbook)
    parts = {name: content.decode("latin-1") for name, content in unpack(data).items()}
    name = next(one for one in parts if "charts/chart" in one)
    cache = "</c:f><c:strCache><c:ptCount val='1'/><c:pt idx='0'><c:v>People</c:v></c:pt></c:strCache></c:strRef>"
    parts[name] = parts[name].replace("<c:", "<").replace("</c:", "</")
    closing = "</f></strRef>"
    assert closing in parts[name]
    parts[name] = parts[name].replace(closing, cache.replace("c:", ""), 1)
    data = pack({one: content.encode("latin-1") for one, content in parts.items()})
    assert texts(data, "x.xlsx").count("People") == 1
    written = unpack(translate(data, "x.xlsx"))[name]
    assert b"<v>PEOPLE</v>" in written
    assert b"PEOPLE OF TOWNS" in written


SHEET = (
    f'<x:worksheet xmlns:x="{OOXML}spreadsheetml/2006/main"><x:sheetData><x:row r="1">'
    '<x:c r="A1" t="inlineStr"><x:is><x:t>Written here</x:t></x:is></x:c>'
    '<x:c r="B1" t="inlineStr"><x:is><x:r><x:t xml:space="preserve">In these </x:t></x:r><x:r><x:rPr><x:b/></x:rPr>'
    "<x:t>runs</x:t></x:r></x:is></x:c>"
    '<x:c r="C1" t="str"><x:v>A value</x:v></x:c>'
    '<x:c r="D1" t="str"><x:f>A1</x:f><x:v>A result</x:v></x:c>'
    '<x:c r="E1" t="s"><x:v>7</x:v></x:c><x:c r="F1" t="b"><x:v>1</x:v></x:c>'
    '<x:c r="G1" t="inlineStr"><x:is><x:t>東京</x:t><x:rPh sb="0" eb="2"><x:t>トウキョウ</x:t></x:rPh></x:is></x:c>'
    "</x:row></x:sheetData></x:worksheet>"
)


def by_hand(sheet: str = SHEET) -> bytes:
    parts = unpack(saved(openpyxl.Workbook()))
    return pack({**parts, "xl/worksheets/sheet1.xml": sheet})


def shouted(segment: Segment) -> Segment:
    spans = tuple(replace(one, start=one.start + 1, end=one.end + 1) for one in segment.spans)
    return replace(segment, text="!" + segment.text.upper(), spans=spans)


def test_strings_inside_of_cells_with_a_prefix() -> None:
    data = by_hand()
    assert texts(data, "x.xlsx") == ["Written here", "In these runs", "A value", "東京"]
    written = unpack(translate(data, "x.xlsx", shouted))
    sheet = written["xl/worksheets/sheet1.xml"].decode()
    assert "<x:t>!WRITTEN HERE</x:t>" in sheet
    assert '<x:r><x:rPr><x:b/></x:rPr><x:t xml:space="preserve">RUNS</x:t></x:r>' in sheet
    assert "<x:v>!A VALUE</x:v>" in sheet
    assert "<x:v>A result</x:v>" in sheet
    assert "トウキョウ" not in sheet
    assert '<x:t xml:space="preserve">!東京</x:t>' in sheet


SHARED = (
    f'<sst xmlns="{OOXML}spreadsheetml/2006/main"><si><t>Later in the sheet</t></si><si><r>'
    '<t xml:space="preserve">A most </t></r><r><rPr><i/></rPr><t>askew</t></r><r><t xml:space="preserve"> word</t></r>'
    "</si><si><t>Used by nobody</t></si><si><t>One_x000D_\nTwo</t></si></sst>"
)


def test_shared_strings_are_texts_in_the_order_of_the_cells() -> None:
    parts = unpack(by_hand())
    cells = "".join(f'<c r="{name}" t="s"><v>{n}</v></c>' for name, n in (("A1", 1), ("B1", 0), ("C1", 1), ("D1", 3)))
    sheet = (
        f'<worksheet xmlns="{OOXML}spreadsheetml/2006/main"><sheetData><row r="1">{cells}</row></sheetData></worksheet>'
    )
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
    entry = f'<Override PartName="/xl/sharedStrings.xml" ContentType="{kind}"/>'
    link = f'<Relationship Id="s" Type="{RELATIONS}/sharedStrings" Target="sharedStrings.xml"/>'
    types = parts["[Content_Types].xml"].decode().replace(entry, "").replace("</Types>", f"{entry}</Types>")
    links = parts["xl/_rels/workbook.xml.rels"].decode()
    links = links.replace("</Relationships>", f"{'' if 'sharedStrings' in links else link}</Relationships>")
    data = pack(
        {
            **parts,
            "[Content_Types].xml": types,
            "xl/_rels/workbook.xml.rels": links,
            "xl/worksheets/sheet1.xml": sheet,
            "xl/sharedStrings.xml": SHARED,
        }
    )
    assert texts(data, "x.xlsx") == ["A most askew word", "Later in the sheet", "One\u2028Two"]
    out = translate(data, "x.xlsx")
    assert unpack(out)["xl/worksheets/sheet1.xml"].decode() == sheet
    row = [str(cell.value) for cell in loaded(out).active[1]]
    assert row == ["A MOST ASKEW WORD", "LATER IN THE SHEET", "A MOST ASKEW WORD", "ONE_x000D_\nTWO"]
    shared = unpack(out)["xl/sharedStrings.xml"].decode()
    assert '<i/></rPr><t xml:space="preserve">ASKEW</t></r>' in shared
    assert "<t>Used by nobody</t>" in shared


def test_what_is_no_workbook_is_refused() -> None:
    with pytest.raises(InputError, match=r"x\.xlsx: is no Excel file"):
        read(pack({"a.xml": "<a/>"}), "x.xlsx")
    with pytest.raises(InputError, match=r"x\.xlsx: is broken"):
        read(b"PK\x03\x04", "x.xlsx")
    doctype = '<!DOCTYPE a [<!ENTITY b "c">]>'
    with pytest.raises(InputError, match="document type declaration"):
        read(by_hand(doctype + SHEET), "x.xlsx")
