"""Office files built by hand, part by part, for the tests of their formats."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from dataclasses import replace

from docflat.formats import find_format
from docflat.formats.segments import ParsedFile, Segment

OOXML = "http://schemas.openxmlformats.org/"
RELATIONS = f"{OOXML}officeDocument/2006/relationships"
W = (
    f'xmlns:w="{OOXML}wordprocessingml/2006/main" xmlns:r="{RELATIONS}" '
    f'xmlns:a="{OOXML}drawingml/2006/main" xmlns:wp="{OOXML}drawingml/2006/wordprocessingDrawing" '
    f'xmlns:pic="{OOXML}drawingml/2006/picture" xmlns:mc="{OOXML}markup-compatibility/2006" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" '
    f'xmlns:m="{OOXML}officeDocument/2006/math" '
    'xmlns:v="urn:schemas-microsoft-com:vml"'
)
MAIN = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
DECLARATION = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\r\n'
STYLES = (
    '<w:style w:type="paragraph" w:styleId="SourceCode"><w:name w:val="Source Code"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="Mine"><w:name w:val="Mine"/><w:basedOn w:val="SourceCode"/></w:style>'
    '<w:style w:type="character" w:styleId="VerbatimChar"><w:name w:val="Verbatim Char"/></w:style>'
    '<w:style w:type="character" w:styleId="Secret"><w:name w:val="Secret"/><w:rPr><w:vanish/></w:rPr></w:style>'
)


def pack(parts: dict[str, str | bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in parts.items():
            info = zipfile.ZipInfo(name, (2020, 2, 20, 20, 20, 20))
            info.compress_type = zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED
            archive.writestr(info, content)
    return out.getvalue()


def unpack(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def word(body: str, main: str = MAIN, **parts: str) -> bytes:
    """A .docx file; other parts by their kind: `header`, `footnotes`, ... as the inside of their root, or as a root."""
    roots = {"header": "hdr", "footer": "ftr", "footnotes": "footnotes", "comments": "comments", "styles": "styles"}
    parts = {"styles": STYLES, **parts}
    written = {
        f"word/{kind}1.xml": DECLARATION
        + (content if content.startswith("<c:") else f"<w:{roots[kind]} {W}>{content}</w:{roots[kind]}>")
        for kind, content in parts.items()
        if kind != "title"
    }
    title = parts.get("title", "")
    types = "".join(
        f'<Override PartName="/word/{kind}1.xml" '
        f'ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.{kind}+xml"/>'
        for kind in parts
        if kind != "title"
    )
    return pack(
        {
            "[Content_Types].xml": DECLARATION + f'<Types xmlns="{OOXML}package/2006/content-types">'
            '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            '<Default Extension="xml" ContentType="application/xml"/>'
            f'<Override PartName="/word/document.xml" ContentType="{main}"/>'
            '<Override PartName="/docProps/core.xml" '
            f'ContentType="application/vnd.openxmlformats-package.core-properties+xml"/>{types}</Types>',
            "_rels/.rels": relations(
                f"{RELATIONS}/officeDocument word/document.xml",
                f"{OOXML}package/2006/relationships/metadata/core-properties docProps/core.xml",
            ),
            "docProps/core.xml": DECLARATION
            + f'<cp:coreProperties xmlns:cp="{OOXML}package/2006/metadata/core-properties" '
            f'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title></cp:coreProperties>',
            "word/document.xml": DECLARATION + f"<w:document {W}><w:body>{body}<w:sectPr/></w:body></w:document>",
            "word/_rels/document.xml.rels": relations(
                *(f"{RELATIONS}/{kind} {kind}1.xml" for kind in parts if kind != "title")
            ),
            **written,
        }
    )


def relations(*entries: str) -> str:
    listed = (entry.split() for entry in entries)
    inside = "".join(f'<Relationship Id="rId{i}" Type="{kind}" Target="{to}"/>' for i, (kind, to) in enumerate(listed))
    return DECLARATION + f'<Relationships xmlns="{OOXML}package/2006/relationships">{inside}</Relationships>'


def run(text: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def paragraph(*inside: str, style: str = "") -> str:
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{properties}{''.join(inside)}</w:p>"


def field(code: str, result: str) -> str:
    mark = '<w:r><w:fldChar w:fldCharType="%s"/></w:r>'
    code = f'<w:r><w:instrText xml:space="preserve"> {code} </w:instrText></w:r>'
    return f"{mark % 'begin'}{code}{mark % 'separate'}{result}{mark % 'end'}"


OASIS = "urn:oasis:names:tc:opendocument:xmlns:"
ODT = " ".join(f'xmlns:{name}="{OASIS}{name}:1.0"' for name in ("office", "text", "style", "table")) + (
    f' xmlns:draw="{OASIS}drawing:1.0" xmlns:svg="{OASIS}svg-compatible:1.0" xmlns:fo="{OASIS}xsl-fo-compatible:1.0" '
    'xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:x="http://openoffice.org/2009/office"'
)
ODT_TYPE = "application/vnd.oasis.opendocument.text"
ODT_AUTOMATIC = "".join(
    f'<style:style style:name="{name}" style:family="{family}" {parent}><style:text-properties {looks}/></style:style>'
    for name, family, parent, looks in (
        ("T1", "text", "", 'fo:font-weight="bold" x:rsid="0001"'),
        ("T2", "text", "", 'fo:font-weight="bold" x:rsid="0002" fo:language="en"'),
        ("T3", "text", "", 'x:rsid="0003"'),
        ("T4", "text", "", 'text:display="none"'),
        ("T5", "text", "", 'style:font-name="Liberation Mono1"'),
        ("P1", "paragraph", 'style:parent-style-name="Preformatted_20_Text"', 'x:rsid="0004"'),
    )
)
ODT_STYLES = (
    '<style:style style:name="Preformatted_20_Text" style:display-name="Preformatted Text" style:family="paragraph"/>'
    '<style:style style:name="Source_20_Text" style:display-name="Source Text" style:family="text"/>'
)


def odt(body: str, header: str = "", manifest: str = "", mimetype: str = ODT_TYPE) -> bytes:
    """An .odt file; `manifest` is what its manifest says besides."""
    headers = f'<style:master-page style:name="S"><style:header>{header}</style:header></style:master-page>'
    entry = '<manifest:file-entry manifest:full-path="{}" manifest:media-type="{}"/>'.format
    entries = entry("/", ODT_TYPE) + entry("content.xml", "text/xml") + entry("styles.xml", "text/xml") + manifest
    return pack(
        {
            "mimetype": mimetype,
            "content.xml": f"<office:document-content {ODT}>"
            f"<office:automatic-styles>{ODT_AUTOMATIC}</office:automatic-styles>"
            f"<office:body><office:text>{body}</office:text></office:body></office:document-content>",
            "styles.xml": f"<office:document-styles {ODT}><office:styles>{ODT_STYLES}</office:styles>"
            f"<office:master-styles>{headers}</office:master-styles></office:document-styles>",
            "META-INF/manifest.xml": f'<manifest:manifest xmlns:manifest="{OASIS}manifest:1.0">{entries}'
            "</manifest:manifest>",
        }
    )


def read(data: bytes, name: str) -> ParsedFile:
    return find_format(name).read(data, name)


def capitals(segment: Segment) -> Segment:
    return replace(segment, text=segment.text.upper())


def translate(data: bytes, name: str = "x.docx", change: Callable[[Segment], Segment] = capitals) -> bytes:
    parsed = read(data, name)
    return parsed.render([change(one) for one in parsed.segments])


def texts(data: bytes, name: str = "x.docx") -> list[str]:
    return [segment.text for segment in read(data, name).segments if not segment.skip_reason]
