"""Office files built by hand, part by part, for the tests of their formats."""

from __future__ import annotations

import io
import zipfile

OOXML = "http://schemas.openxmlformats.org/"
RELATIONS = f"{OOXML}officeDocument/2006/relationships"
W = (
    f'xmlns:w="{OOXML}wordprocessingml/2006/main" xmlns:r="{RELATIONS}" '
    f'xmlns:a="{OOXML}drawingml/2006/main" xmlns:wp="{OOXML}drawingml/2006/wordprocessingDrawing" '
    f'xmlns:pic="{OOXML}drawingml/2006/picture" xmlns:mc="{OOXML}markup-compatibility/2006" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" '
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
