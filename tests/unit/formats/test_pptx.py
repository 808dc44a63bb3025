"""PowerPoint files: what is found and what is written. python-pptx builds them and reads them back."""

from __future__ import annotations

import io

import pytest
from office_files import read, texts, translate


@pytest.fixture
def slides() -> bytes:
    pptx = pytest.importorskip("pptx")
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE

    made = pptx.Presentation()
    made.core_properties.title = "The talk"
    slide = made.slides.add_slide(made.slide_layouts[5])
    slide.shapes.title.text = "A title\vin two lines"
    frame = slide.shapes.add_textbox(0, 0, 100, 100).text_frame
    for text, bold in (("Some ", None), ("bo", True), ("ld", True), (" words", None)):
        part = frame.paragraphs[0].add_run()
        part.text, part.font.bold = text, bold
    link = frame.paragraphs[0].add_run()
    link.text = " and a link"
    link.hyperlink.address = "http://x.y"
    code = slide.shapes.add_textbox(0, 0, 9, 9).text_frame.paragraphs[0].add_run()
    code.text, code.font.name = "print(x)", "Consolas"
    table = slide.shapes.add_table(1, 2, 0, 0, 100, 100).table
    table.cell(0, 0).text, table.cell(0, 1).text = "Left\tcell", "42"
    group = slide.shapes.add_group_shape()
    group.shapes.add_textbox(0, 0, 9, 9).text_frame.text = "Grouped"
    chart = CategoryChartData()
    chart.categories = ["East", "West"]
    chart.add_series("Sales", (1, 2))
    slide.shapes.add_chart(XL_CHART_TYPE.PIE, 0, 0, 100, 100, chart)
    slide.notes_slide.notes_text_frame.text = "Say this"
    second = made.slides.add_slide(made.slide_layouts[6])
    second.shapes.add_textbox(0, 0, 9, 9).text_frame.text = "The end"
    # The second slide is shown first.
    order = made.slides._sldIdLst
    order.insert(0, order[1])
    made.slide_layouts[6].shapes._spTree.append(second.shapes[0]._element.__copy__())
    out = io.BytesIO()
    made.save(out)
    return out.getvalue()


def test_slides(slides: bytes) -> None:
    import pptx

    assert texts(slides, "x.pptx") == [
        "The talk",
        "The end",
        "A title\u2028in two lines",
        "Some bold words and a link",
        "Left",
        "cell",
        "42",
        "Grouped",
        "Sales",
        "East",
        "West",
        "Say this",
        "The end",  # of the layout, which has it as a plain shape; its placeholders are not read
    ]
    parsed = read(slides, "x.pptx")
    assert parsed.render(parsed.segments) == slides
    out = pptx.Presentation(io.BytesIO(translate(slides, "x.pptx")))
    last, slide = out.slides
    assert last.shapes[0].text_frame.text == "THE END"
    assert slide.shapes.title.text == "A TITLE\vIN TWO LINES"
    assert slide.shapes[2].text_frame.text == "print(x)"
    runs = slide.shapes[1].text_frame.paragraphs[0].runs
    assert [(one.text, one.font.bold, one.hyperlink.address) for one in runs] == [
        ("SOME ", None, None),
        ("BOLD", True, None),
        (" WORDS ", None, None),
        ("AND A LINK", None, "http://x.y"),
    ]
    assert [cell.text for cell in slide.shapes[3].table.iter_cells()] == ["LEFT\tCELL", "42"]
    assert slide.shapes[4].shapes[0].text_frame.text == "GROUPED"
    plot = slide.shapes[5].chart.plots[0]
    assert (list(plot.categories), plot.series[0].name) == (["EAST", "WEST"], "SALES")
    assert slide.notes_slide.notes_text_frame.text == "SAY THIS"
    assert out.slide_layouts[6].shapes[-1].text_frame.text == "THE END"
    assert out.slide_layouts[0].shapes[0].text_frame.text == "Click to edit Master title style"
