"""Paragraphs as a Word file: headings, items of lists, bold and italic words; headers once."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Sequence

from docflat.formats.pdf.paragraphs import Paragraph
from docflat.formats.positioned_xml import write_text

_OFFICE = "http://schemas.openxmlformats.org/"
_W = f'xmlns:w="{_OFFICE}wordprocessingml/2006/main" xmlns:r="{_OFFICE}officeDocument/2006/relationships"'
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml"
_PARTS = ("document", "styles", "numbering", "header")
_STYLES = "".join(
    f'<w:style w:type="paragraph" w:styleId="{key}"{default}><w:name w:val="{name}"/>{based}<w:pPr>{paragraph}</w:pPr>'
    f"<w:rPr>{look}</w:rPr></w:style>"
    for key, name, default, based, paragraph, look in (
        ("Normal", "Normal", ' w:default="1"', "", '<w:spacing w:after="120"/>', '<w:sz w:val="22"/>'),
        *(
            (
                f"Heading{level}", f"heading {level}", "", '<w:basedOn w:val="Normal"/><w:next w:val="Normal"/>',
                f'<w:keepNext/><w:spacing w:before="240" w:after="120"/><w:outlineLvl w:val="{level - 1}"/>',
                f'<w:b/><w:sz w:val="{size}"/>',
            )
            for level, size in ((1, 32), (2, 28), (3, 24))
        ),
        (
            "ListBullet", "List Bullet", "", '<w:basedOn w:val="Normal"/>',
            '<w:numPr><w:numId w:val="1"/></w:numPr><w:spacing w:after="60"/>', "",
        ),
    )
)  # fmt: skip
_NUMBERING = (
    '<w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/><w:lvlText w:val="•"/>'
    '<w:pPr><w:ind w:left="720" w:hanging="360"/></w:pPr></w:lvl></w:abstractNum>'
    '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
)
_KEYS = {f"heading {level}": f"Heading{level}" for level in (1, 2, 3)} | {"item": "ListBullet"}
_TIME = (1980, 1, 1, 0, 0, 0)  # the same file comes out each time


def write_word_file(paragraphs: Iterable[Paragraph], headers: Sequence[str], title: str) -> bytes:
    body = "".join(map(_paragraph, paragraphs))
    header = "".join(f"<w:p>{_run(text)}</w:p>" for text in headers)
    named = '<w:headerReference w:type="default" r:id="rId3"/>' if headers else ""
    content = {
        "document": f"<w:document {_W}><w:body>{body}<w:sectPr>{named}</w:sectPr></w:body></w:document>",
        "styles": f"<w:styles {_W}>{_STYLES}</w:styles>",
        "numbering": f"<w:numbering {_W}>{_NUMBERING}</w:numbering>",
        "header": f"<w:hdr {_W}>{header}</w:hdr>" if headers else "",
    }
    kinds = {name: name for name in _PARTS} | {"document": "document.main"}
    types = "".join(
        f'<Override PartName="/word/{name}.xml" ContentType="{_TYPE}.{kinds[name]}+xml"/>'
        for name in _PARTS
        if content[name]
    )
    core = f"{_OFFICE}package/2006/metadata/core-properties"
    members = {
        "[Content_Types].xml": f'<Types xmlns="{_OFFICE}package/2006/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Default Extension="xml" ContentType="application/xml"/>{types}<Override PartName="/docProps/core.xml" '
        'ContentType="application/vnd.openxmlformats-package.core-properties+xml"/></Types>',
        "_rels/.rels": _relations(
            (
                (f"{_OFFICE}officeDocument/2006/relationships/officeDocument", "word/document.xml"),
                (f"{_OFFICE}package/2006/relationships/metadata/core-properties", "docProps/core.xml"),
            )
        ),
        "docProps/core.xml": f'<cp:coreProperties xmlns:cp="{core}" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title>{write_text(title).decode()}</dc:title></cp:coreProperties>",
        "word/_rels/document.xml.rels": _relations(
            (f"{_OFFICE}officeDocument/2006/relationships/{name}", f"{name}.xml")
            for name in _PARTS[1:]
            if content[name]
        ),
        **{f"word/{name}.xml": content[name] for name in _PARTS if content[name]},
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            info = zipfile.ZipInfo(name, _TIME)
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, _HEAD + text)
    return out.getvalue()


def _relations(parts: Iterable[tuple[str, str]]) -> str:
    listed = "".join(
        f'<Relationship Id="rId{number}" Type="{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(parts, 1)
    )
    return f'<Relationships xmlns="{_OFFICE}package/2006/relationships">{listed}</Relationships>'


def _paragraph(paragraph: Paragraph) -> str:
    style = _KEYS.get(paragraph.kind)
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    mark = _run(f"{paragraph.mark}\t") if paragraph.mark else ""
    return f"<w:p>{properties}{mark}{''.join(_run(*run) for run in paragraph.runs)}</w:p>"


def _run(text: str, bold: bool = False, italic: bool = False) -> str:
    look = "<w:b/>" * bold + "<w:i/>" * italic
    said = "<w:tab/>".join(
        f'<w:t xml:space="preserve">{write_text(part).decode()}</w:t>' if part else "" for part in text.split("\t")
    )
    return f"<w:r>{f'<w:rPr>{look}</w:rPr>' if look else ''}{said}</w:r>"
