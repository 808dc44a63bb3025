"""Small whole files of each kind, and pieces that mean something in it: what mutations start from."""

from __future__ import annotations

OOXML = "http://schemas.openxmlformats.org/"
OFFICE = f"{OOXML}officeDocument/2006/relationships"
OASIS = "urn:oasis:names:tc:opendocument:xmlns:"


def relations(*entries: tuple[str, str]) -> str:
    inside = "".join(
        f'<Relationship Id="rId{i}" Type="{OFFICE}/{kind}" Target="{to}"/>' for i, (kind, to) in enumerate(entries)
    )
    return f'<Relationships xmlns="{OOXML}package/2006/relationships">{inside}</Relationships>'


WORD = f'xmlns:w="{OOXML}wordprocessingml/2006/main" xmlns:r="{OFFICE}" xmlns:v="urn:schemas-microsoft-com:vml"'
WORD += f' xmlns:m="{OOXML}officeDocument/2006/math" xmlns:mc="{OOXML}markup-compatibility/2006"'
SLIDES = f'xmlns:p="{OOXML}presentationml/2006/main" xmlns:a="{OOXML}drawingml/2006/main" xmlns:r="{OFFICE}"'
ODT = " ".join(f'xmlns:{name}="{OASIS}{name}:1.0"' for name in ("office", "text", "style", "table", "manifest"))
ODT += (
    f' xmlns:draw="{OASIS}drawing:1.0" xmlns:svg="{OASIS}svg-compatible:1.0" xmlns:xlink="http://www.w3.org/1999/xlink"'
)

DOCX = {
    "[Content_Types].xml": f'<Types xmlns="{OOXML}package/2006/content-types"/>',
    "_rels/.rels": relations(("officeDocument", "word/document.xml")),
    "word/_rels/document.xml.rels": relations(("styles", "styles.xml"), ("footnotes", "footnotes.xml")),
    "word/styles.xml": f'<w:styles {WORD}><w:style w:type="paragraph" w:styleId="A"><w:name w:val="A"/>'
    '<w:basedOn w:val="Code"/></w:style><w:style w:type="character" w:styleId="Code"><w:name w:val="Source Code"/>'
    "<w:rPr><w:vanish/></w:rPr></w:style></w:styles>",
    "word/footnotes.xml": f'<w:footnotes {WORD}><w:footnote w:id="1"><w:p><w:r><w:t>A note.</w:t></w:r></w:p>'
    "</w:footnote></w:footnotes>",
    "word/document.xml": f'<w:document {WORD}><w:body><w:p><w:pPr><w:pStyle w:val="A"/></w:pPr><w:bookmarkStart '
    'w:id="1"/><w:r><w:rPr><w:b/></w:rPr><w:t xml:space="preserve">One bold </w:t></w:r><w:r><w:t>word, 3 times.'
    '</w:t><w:br/><w:tab/></w:r><w:bookmarkEnd w:id="1"/><w:hyperlink r:id="rId9"><w:r><w:t>A link</w:t></w:r>'
    "</w:hyperlink></w:p><w:tbl><w:tr><w:tc><w:p><w:r><w:t>Cell</w:t></w:r></w:p></w:tc></w:tr></w:tbl><w:p><w:r>"
    '<w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText> HYPERLINK "x" </w:instrText></w:r><w:r><w:fldChar '
    'w:fldCharType="separate"/></w:r><w:r><w:t>There it is.</w:t></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r>'
    '<w:ins w:id="2"><w:r><w:t> Added.</w:t></w:r></w:ins><w:del w:id="3"><w:r><w:delText>Gone</w:delText></w:r>'
    '</w:del><m:oMath><m:r><m:t>x=1</m:t></m:r></m:oMath><w:r><w:footnoteReference w:id="1"/></w:r></w:p>'
    "<w:sectPr/></w:body></w:document>",
}
PPTX = {
    "[Content_Types].xml": f'<Types xmlns="{OOXML}package/2006/content-types"/>',
    "_rels/.rels": relations(("officeDocument", "ppt/presentation.xml")),
    "ppt/presentation.xml": f'<p:presentation {SLIDES}><p:sldIdLst><p:sldId id="256" r:id="rId0"/></p:sldIdLst>'
    "</p:presentation>",
    "ppt/_rels/presentation.xml.rels": relations(("slide", "slides/slide1.xml")),
    "ppt/slides/_rels/slide1.xml.rels": relations(("notesSlide", "../notes1.xml")),
    "ppt/notes1.xml": f"<p:notes {SLIDES}><a:p><a:r><a:t>Say it.</a:t></a:r></a:p></p:notes>",
    "ppt/slides/slide1.xml": f'<p:sld {SLIDES}><p:cSld><p:spTree><p:sp><p:nvSpPr><p:cNvPr id="1" descr="A cat"/>'
    '<p:nvPr><p:ph/></p:nvPr></p:nvSpPr><p:txBody><a:p><a:pPr lvl="1"/><a:r><a:rPr b="1" lang="en"/><a:t>A title</a:t>'
    '</a:r><a:br/><a:r><a:t> in two lines</a:t></a:r><a:fld type="slidenum"><a:t>3</a:t></a:fld><a:endParaRPr/></a:p>'
    "<a:p/></p:txBody></p:sp></p:spTree></p:cSld></p:sld>",
}
OPEN_DOCUMENT = {
    "mimetype": "application/vnd.oasis.opendocument.text",
    "content.xml": f"<office:document-content {ODT}><office:automatic-styles><style:style style:name='T1' "
    'style:family="text" style:parent-style-name="T2"><style:text-properties text:display="none"/></style:style>'
    "</office:automatic-styles><office:body><office:text><text:h>A head</text:h><text:p>One <text:span "
    'text:style-name="T1">bold</text:span> word<text:s text:c="3"/>and<text:tab/>more.<text:line-break/><text:a '
    'xlink:href="x">A link</text:a><text:note><text:note-body><text:p>A note.</text:p></text:note-body></text:note>'
    "</text:p><table:table><table:table-row><table:table-cell><text:p>Cell 4</text:p></table:table-cell>"
    "</table:table-row></table:table><draw:frame><draw:text-box><text:p>In a box</text:p></draw:text-box><svg:desc>"
    "A cat</svg:desc></draw:frame><text:list><text:list-item><text:p>Item</text:p></text:list-item></text:list>"
    "</office:text></office:body></office:document-content>",
    "META-INF/manifest.xml": f'<manifest:manifest {ODT}><manifest:file-entry manifest:full-path="/" '
    'manifest:media-type="x"/></manifest:manifest>',
}
SHEETS = f'xmlns="{OOXML}spreadsheetml/2006/main" xmlns:r="{OFFICE}"'
XLSX = {
    "_rels/.rels": relations(("officeDocument", "xl/workbook.xml")),
    "xl/workbook.xml": f'<workbook {SHEETS}><sheets><sheet name="A" r:id="rId0"/><sheet name="B" state="hidden" '
    'r:id="rId1"/></sheets><definedNames><definedName name="N">"No"</definedName></definedNames></workbook>',
    "xl/_rels/workbook.xml.rels": relations(
        ("worksheet", "sheet1.xml"), ("worksheet", "sheet2.xml"), ("sharedStrings", "sharedStrings.xml")
    ),
    "xl/_rels/sheet1.xml.rels": relations(("table", "table1.xml"), ("comments", "comments1.xml")),
    "xl/table1.xml": f'<table {SHEETS} ref="A1:B2"><tableColumns count="2"><tableColumn id="1" name="A word"/>'
    '<tableColumn id="2" name="Two words"/></tableColumns></table>',
    "xl/comments1.xml": f'<comments {SHEETS}><authors><author>Ann</author></authors><commentList><comment ref="A1" '
    'authorId="0"><text><r><t>Ask her.</t></r></text></comment></commentList></comments>',
    "xl/sharedStrings.xml": f"<sst {SHEETS}><si><t>A word</t></si><si><r><t>Two </t></r><r><rPr><b/></rPr><t>words</t>"
    "</r></si><si><t>No</t><rPh><t>no</t></rPh></si></sst>",
    "xl/sheet1.xml": f'<worksheet {SHEETS}><sheetData><row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v>'
    '</c></row><row r="2"><c r="A2" t="s"><v>2</v></c><c r="B2" t="inlineStr"><is><t>In it\nself</t></is></c><c r="C2" '
    't="str"><f>IF(A1="No",1,"x")</f><v>x</v></c></row></sheetData><dataValidations><dataValidation prompt="Choose" '
    'sqref="A1"><formula1>"No,Yes"</formula1></dataValidation></dataValidations></worksheet>',
    "xl/sheet2.xml": f'<worksheet {SHEETS}><sheetData><row><c t="s"><v>0</v></c></row></sheetData></worksheet>',
}
SPREADSHEET = {
    "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
    "content.xml": f"<office:document-content {ODT}><office:body><office:spreadsheet><table:table><table:table-row>"
    '<table:table-cell office:value-type="string"><text:p>A <text:span>cell</text:span></text:p></table:table-cell>'
    '<table:table-cell office:value-type="float" office:value="1"><text:p>1 Euro</text:p></table:table-cell>'
    "<table:table-cell table:formula='of:=IF([.A1]=&quot;No&quot;;1;2)'><text:p>1</text:p></table:table-cell>"
    '<table:table-cell office:value-type="string" office:string-value="No"><office:annotation><text:p>Note</text:p>'
    "</office:annotation><text:p>No</text:p></table:table-cell></table:table-row></table:table></office:spreadsheet>"
    "</office:body></office:document-content>",
}
PRESENTATION = {
    "mimetype": "application/vnd.oasis.opendocument.presentation",
    "content.xml": f"<office:document-content {ODT}><office:body><office:presentation><draw:page><draw:frame>"
    "<draw:text-box><text:p>A title</text:p></draw:text-box></draw:frame></draw:page></office:presentation>"
    "</office:body></office:document-content>",
}
EPUB = {
    "mimetype": "application/epub+zip",
    "META-INF/container.xml": f'<container xmlns="{OASIS}container"><rootfiles><rootfile full-path="a.opf"/>'
    "</rootfiles></container>",
    "a.opf": '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>'
    "<dc:title>A book</dc:title><dc:language>en</dc:language></metadata><manifest><item id='a' href='a.xhtml' "
    "media-type='application/xhtml+xml'/><item id='n' href='n.xhtml' properties='nav' "
    "media-type='application/xhtml+xml'/><item id='x' href='x.ncx' media-type='application/x-dtbncx+xml'/></manifest>"
    "<spine><itemref idref='a'/></spine>"
    "</package>",
    "a.xhtml": '<html xmlns="http://www.w3.org/1999/xhtml" lang="en"><head><title/></head><body><h1>A head</h1><p>One '
    "<i>word</i> more.</p></body></html>",
    "n.xhtml": '<html><body><nav><a href="a.xhtml">A head</a></nav></body></html>',
    "x.ncx": '<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap><navPoint><navLabel><text>A head</text>'
    "</navLabel></navPoint></navMap></ncx>",
}
PARTS = {
    "epub": EPUB,
    "docx": DOCX,
    "pptx": PPTX,
    "odt": OPEN_DOCUMENT,
    "xlsx": XLSX,
    "ods": SPREADSHEET,
    "odp": PRESENTATION,
}
# Of each, the members that mutations change most.
MAIN = {
    "docx": "word/document.xml",
    "pptx": "ppt/slides/slide1.xml",
    "odt": "content.xml",
    "xlsx": "xl/sharedStrings.xml",
}
MAIN |= {"ods": "content.xml", "odp": "content.xml", "epub": "a.xhtml"}

XLIFF_1 = """<?xml version="1.0" encoding="UTF-8"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file source-language="en" target-language="de"
original="a.txt" datatype="plaintext"><body><trans-unit id="1"><source>Click <g id="1">here &amp; <x id="2"/>now</g>,
then go.</source><target state="new"/></trans-unit><trans-unit id="2" approved="yes"><source>Done</source><target>Fertig
</target></trans-unit><group translate="no"><trans-unit id="3"><source>Kept</source></trans-unit></group>
<trans-unit id="6"><source>One. Two.</source><seg-source><mrk mtype="seg" mid="1">One.</mrk> <mrk mtype="seg"
mid="2">Two.</mrk></seg-source></trans-unit>
<trans-unit id="7"><source><bpt id="1">&lt;b></bpt>Bold<ept id="1">&lt;/b></ept> <bx
id="2"/>x<mrk mtype="protected">Key</mrk><ph id="3">%s</ph><ex id="2"/></source></trans-unit></body></file></xliff>"""
XLIFF_2 = """<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en"><file id="f"><group id="g">
<unit id="1"><originalData><data id="d1">&lt;b></data></originalData><segment id="a" state="initial"><source><pc id="1"
dataRefStart="d1">Bold</pc> text<ph id="2"/> and <sc id="3"/>more<ec startRef="3"/>.</source><target>stale</target>
</segment><segment state="translated"><source>It is here.</source><target>Es ist hier.</target>
</segment><ignorable><source> </source></ignorable></unit></group></file></xliff>"""
TMX = """<?xml version="1.0"?><tmx version="1.4"><header srclang="en"/><body><tu><prop type="document">a</prop>
<tuv xml:lang="en"><seg>The house <bpt i="1">&lt;b></bpt>is<ept i="1">x</ept> big. It is red.</seg></tuv><tuv
xml:lang="de"><seg>Das Haus ist gross. Es ist rot.</seg></tuv></tu><tu>
<tuv xml:lang="en"><seg>Yes &amp; no</seg></tuv><tuv xml:lang="de">
<seg>Ja</seg></tuv></tu></body></tmx>"""
RESX = """<?xml version="1.0" encoding="utf-8"?><root><resheader name="version"><value>2.0</value></resheader>
<data name="A" xml:space="preserve"><value>Good &amp; morning {0}</value><comment>To all</comment></data><data name="I"
type="System.Drawing.Bitmap"><value>Icon</value></data><data name="E"><value></value></data></root>"""
ANDROID = """<?xml version="1.0" encoding="utf-8"?><resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2">
<string name="a">Good \\'morning\\' %1$s\\n <b>you</b>\\u00e9</string><string name="b" translatable="false">No</string>
<string name="r">@string/a</string><plurals name="p"><item quantity="one">%d day</item><item quantity="other">%d days
</item></plurals><string-array name="s"><item>"Quoted  text"</item><item>Open <xliff:g id="x">it</xliff:g></item>
</string-array></resources>"""
HTML = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>A page</title><meta name="description"
content="What it is"><script>var a = "<p>";</script><style>p {}</style></head><body><!-- note --><h1>A
<b>bold</b> head</h1>
<p>Some <a href="x" title="A link">linked <i>text</i></a>, <code>code()</code> and <wbr>more&nbsp;&amp; less.<br>
New line.</p><ul><li>One<li>Two</ul><table><tr><td>12</td><td>Cell</td></tr></table><img alt="A cat" src=x>
<pre>  kept </pre>
<svg><text>x</text></svg><form><button>Save</button><input placeholder='Your name'></form></body></html>"""
SITE_MARKDOWN = """---
title: "A `page`"
---
import A from './a';

{{< figure src="a.png" title="A cat" >}}
{{% notice %}}
# Head {#head .x}
{{% /notice %}}
{{< highlight go >}}
x
{{< /highlight >}}
Words [of a link](x){: target="_blank" a=b} and <b style={{color: 'red'}}>red</b> {/* note */} ++ctrl+c++.
{: .lead}

````{tab-set}
```{tab-item} Some title
:sync: a
Text
```
````
!!! tip "A title"
    Inside.

:::note[Some title]
Inside.
:::
<Card title="A card" go={() => 1}>
Inside.
</Card>

*[HTML]: Some words
"""
MARKDOWN = """---
title: A page
tags: [a, b]
---
# A *head*

Some **bold** and `code`, a [link](http://x.y "Title"), ![image](x.png) and <b>HTML</b>.
A line  \nthat goes on.[^1] Not $x^2$ but **bo*l*d** ~~gone~~ <http://x.y>

> A quote
> - an item
>   1. one

- [ ] A task
* other

| A | B |
|---|:-:|
| one | `two` |

```py
code
```

    indented

Term\n: Meaning

[^1]: A note.
[ref]: http://x.y 'Title'

<div class="x">
A block
</div>

Setext\n===
"""
JSON = (
    '{"source": "One \\u00e9 word.", "text": ["Two <b>words</b>.", {"text": "Three\\n{name} %s"}], "n": 1e5, "o": null}'
)
JSON_LINES = '{"source": "One.", "docid": "a"}\n{"source": "Two.", "docid": "a"}\n{"source": "Four.", "docid": "b"}\n'
JSON_DOCUMENTS = (
    '{"source": ["One.", "Two."], "target": ["Eins.", "Zwei."], "n": 1}\n{"source": ["Three."], "target": ["Drei."]}\n'
)
ARB = """{"@@locale": "en", "title": "Good morning {name}", "@title": {"description": "x", "placeholders": {"name": {}}
},"count": "{n, plural, =0{none} one{one day} other{{n} days}}", "sel": "{g, select, male{He} other{They}} went"}"""
PO = r"""# A program.
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\n"

#. Note
#: a.c:1
#, c-format
msgctxt "menu"
msgid "Cannot open \"%s\": %d%%\n"
msgstr ""

#, fuzzy
#| msgid "old"
msgid "%d new file"
msgid_plural "%d new files"
msgstr[0] "%d neue Datei"
msgstr[1] ""

msgid "The house is red. It is big."
msgstr "Das Haus ist rot. Es ist gross."

msgid ""
"The first line of a long\n"
"  -x  <b>A second</b> one"
msgstr   ""
#~ msgid "gone"
#~ msgstr "weg"
"""
PROPERTIES = r"""# A comment
greeting = Good morning
long = A text that \
       goes on
path: C:\\Temp
empty =
caf\u00e9 = Caf\u00e9 open
  indented\ key   A value
message=Hello {0}, it''s late
"""
STRINGS = r"""/* A comment "x" = y; */
"greeting" = "Good morning";
// another
"quoted" = "He said \"no\".\nThen %1$@ left.\U00e9";
key.bare = "Open %@";
"alone";
"""
SRT = """1
00:00:01,000 --> 00:00:02,500
<i>Where is</i>
the dog?

2
00:00:03,000 --> 00:00:04,000 X1:1
- {\\an8}It ran
- away...

3
00:00:05,000 --> 00:00:06,000
...into the house.
"""
VTT = """WEBVTT - title

NOTE a note

STYLE
::cue { color: red }

id
00:01.000 --> 00:02.500 align:start line:0%
<v Bob>Where is <c.red>the</c> dog?</v>

00:00:03.000 --> 00:00:04.000
It <00:00:03.500>ran &amp; went
away.
"""
TXT = """A head

A paragraph that was wrapped to some width by whoever wrote
it, and goes on in a second line. With 3 numbers, 1,200.50 and
an address http://x.y/z?a=b that stays.

- an item
- another item

   indented %s {name}
"""
TSV = "One sentence.\tEin Satz.\ta\nAnother.\tNoch einer.\ta\nThird.\tDritter.\tb\n"
LINES = "One sentence.\nAnother at 3 p.m.\n\nNew document.\n<d>\nLast one!\n"
GLOSSARY = "report\tBericht\nlight house\tLeuchtturm\n\nCell\tZelle\n"
RECIPE = """model: {dim: 512, heads: 8, feed_forward: 2048, encoder_layers: 6, decoder_layers: 6}
data: runs/data
every_stage: {batch_tokens: 4096, learning_rate: 2.0e-4}
stages:
- system: sent2sent
  max_steps: 100
- system: docflat-c
  options: {decoder: false}
  rows: {context: 3}
"""
CONFIG = """{"system": "docflat-c", "sizes": {"dim": 512, "heads": 8, "feed_forward": 2048, "encoder_layers": 6,
"decoder_layers": 6}, "options": {}, "rows": {"context": 2, "mixed": 0.0, "window": 32}, "alignment": {"layer": 2,
"reading": true}, "model_type": "docflat", "format": 1}"""

QT_TS = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de"><context><name>A</name><message><source>Open &amp;file %1</source><translation
type="unfinished"></translation></message><message numerus="yes"><source>%n file(s)</source><translation><numerusform>
</numerusform><numerusform/></translation></message><message><source>Done</source><translation>Fertig</translation>
</message><message><source>Gone</source><translation type="vanished">Weg</translation></message></context></TS>"""
STRINGSDICT = """<?xml version="1.0"?><!DOCTYPE plist><plist version="1.0"><dict><key>a</key><dict>
<key>NSStringLocalizedFormatKey</key><string>In %#@days@ more</string><key>days</key><dict>
<key>NSStringFormatSpecTypeKey</key><string>NSStringPluralRuleType</string><key>NSStringFormatValueTypeKey</key>
<string>d</string><key>one</key><string>%d day</string><key>other</key><string>%d days</string></dict></dict></dict>
</plist>"""
ASS = """[Script Info]
Title: x

[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
Dialogue: 0,0:00:01.00,0:00:02.50,Default,,0,0,0,,{\\i1}I thought{\\i0} that you would
Dialogue: 0,0:00:02.60,0:00:04.00,Default,,0,0,0,,come to\\Nthe party, Anna.
Dialogue: 0,0:00:05.00,0:00:06.00,Default,,0,0,0,,{\\p1}m 0 0 l 1 1{\\p0}
Comment: 0,0:00:05.00,0:00:06.00,Default,,0,0,0,,Not shown
"""
YAML_MESSAGES = """en:
  plain: Some words   # a note
  quoted: "Hello %{name}\\n\\u00e9"
  single: 'It''s late'
  block: |
    One line
    and another

    more
  folded: >-
    Some words
    that go on
  list: [One, 'Two words', 3, &a {b: Four}]
  again: *a
  ? key
  : a value
"""
PDF = """%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F 4 0 R/B 5 0 R>>>>/Contents 6 0 R>>endobj
4 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj
5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica-Bold>>endobj
6 0 obj<</Length 298>>stream
BT /B 20 Tf 60 700 Td (A heading) Tj ET
BT /F 10 Tf 60 660 Td (Some words that are di-) Tj 0 -12 Td (vided, and a second line.) Tj ET
BT /F 10 Tf 300 660 Td (Words in a column that) Tj 0 -12 Td (stands beside the first.) Tj ET
BT /F 10 Tf 60 600 Td (- An item) Tj 0 -12 Td (2. A number) Tj 80 0 Td (A cell) Tj ET
endstream endobj
trailer<</Size 7/Root 1 0 R>>
%%EOF
"""
TABLE = 'id,"What it is",Name\r\n1,"A ""red"" chair, and\r\nmore",x\r\n2,A table of wood,"y"\r\n'
TEXTS: dict[str, tuple[str, ...]] = {
    "txt": (TXT,),
    "md": (MARKDOWN, SITE_MARKDOWN),
    "html": (HTML,),
    "pdf": (PDF,),
    "json": (JSON,),
    "jsonl": (JSON_LINES, JSON_DOCUMENTS),
    "arb": (ARB,),
    "po": (PO,),
    "properties": (PROPERTIES,),
    "yaml": (YAML_MESSAGES,),
    "ts": (QT_TS,),
    "stringsdict": (STRINGSDICT,),
    "ass": (ASS,),
    "csv": (TABLE,),
    "strings": (STRINGS,),
    "srt": (SRT,),
    "vtt": (VTT,),
    "xliff": (XLIFF_1, XLIFF_2),
    "resx": (RESX,),
    "xml": (ANDROID,),
    "tmx": (TMX,),
    "lines": (LINES,),
    "tsv": (TSV,),
    "glossary": (GLOSSARY,),
    "recipe": (RECIPE,),
    "config": (CONFIG,),
    "tagged": ('Some <b id="1">bold <x/>text</b>, &amp; <a href="y">more</a><br/>.\nNext {0} <keep>line</keep>',),
}
TREES = ("xliff", "resx", "xml", "tmx", "html", "ts", "stringsdict")  # text that is also changed as a tree of elements
