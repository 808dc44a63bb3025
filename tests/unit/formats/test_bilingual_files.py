"""Qt's .ts, TMX, .stringsdict, SDLXLIFF, SubStation: what other readers find in what we wrote."""

from __future__ import annotations

import plistlib
from dataclasses import replace
from typing import Any

import pytest

from docflat.formats import find_format
from docflat.formats.segments import ParsedFile, Segment
from docflat.support.errors import InputError


def read(text: str, name: str, **options: Any) -> ParsedFile:
    return find_format(name, **options).read(text.encode(), name)


def shout(text: str, name: str, **options: Any) -> str:
    parsed = read(text, name, **options)
    assert parsed.render(parsed.segments) == text.encode()
    return parsed.render([one if one.skip_reason else capitals(one) for one in parsed.segments]).decode()


def capitals(segment: Segment) -> Segment:
    return replace(segment, text=segment.text.upper())


TS = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1">
<context>
    <name>Window</name>
    <message>
        <source>Open &amp;a file</source>
        <translation type="unfinished"></translation>
    </message>
    <message numerus="yes">
        <source>%n file(s)</source>
        <translation type="unfinished">
            <numerusform></numerusform>
            <numerusform/>
        </translation>
    </message>
    <message><source>Done</source><translation>Fertig</translation></message>
    <message><source>Perhaps</source><translation type="unfinished">Vielleicht</translation></message>
    <message><source>Gone</source><translation type="vanished">Weg</translation></message>
</context>
</TS>
"""


def test_messages_of_qt_get_translations_that_stay_unfinished() -> None:
    pytest.importorskip("translate.storage.ts2")
    from translate.storage.ts2 import tsfile

    assert [one.skip_reason for one in read(TS, "x.ts").segments] == [
        "", "", "already translated", "to be reviewed", "no longer used",
    ]  # fmt: skip
    text = shout(TS, "x.ts", target_language="de")
    assert '<TS version="2.1" language="de">' in text
    units = {str(unit.source): unit for unit in tsfile.parsestring(text.encode()).units}
    assert str(units["Open &a file"].target) == "OPEN &A FILE"
    assert [str(one) for one in units["%n file(s)"].target.strings] == ["%N FILE(S)"] * 2
    assert str(units["Done"].target) == "Fertig"
    assert text.count('type="unfinished"') == 3
    assert [one.skip_reason for one in read(TS, "x.ts", redo="fuzzy").segments][3] == ""


TMX = """<?xml version="1.0"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en-US" segtype="sentence"/><body>
  <tu>
    <tuv xml:lang="en-US"><seg>A <bpt i="1">&lt;b></bpt>red<ept i="1">&lt;/b></ept> house &amp; more<ph/></seg></tuv>
  </tu>
  <tu><tuv xml:lang="en"><seg>Yes</seg></tuv><tuv xml:lang="de-DE"><seg>Ja</seg></tuv></tu>
  <tu><tuv xml:lang="de"><seg></seg></tuv><tuv xml:lang="en"><seg>No</seg></tuv></tu>
</body></tmx>
"""


def test_units_of_tmx_get_a_variant_in_the_target_language() -> None:
    pytest.importorskip("translate.storage.tmx")
    from translate.storage.tmx import tmxfile

    assert [one.skip_reason for one in read(TMX, "x.tmx", target_language="de").segments] == [
        "",
        "already translated",
        "",
    ]
    text = shout(TMX, "x.tmx", target_language="de")
    assert '\n    <tuv xml:lang="de"><seg>A <bpt i="1">&lt;b></bpt>RED<ept i="1">&lt;/b></ept> HOUSE &amp; MORE' in text
    store = tmxfile.parsestring(text.encode())
    assert [unit.xmlelement.findall("tuv").__len__() for unit in store.units] == [2, 2, 2]
    assert '<tuv xml:lang="de"><seg>NO</seg></tuv><tuv xml:lang="en"><seg>No</seg>' in text
    with pytest.raises(InputError, match="--target-language"):
        read(TMX, "x.tmx")


STRINGSDICT = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
	<key>days</key>
	<dict>
		<key>NSStringLocalizedFormatKey</key>
		<string>See you in %#@days@</string>
		<key>days</key>
		<dict>
			<key>NSStringFormatSpecTypeKey</key>
			<string>NSStringPluralRuleType</string>
			<key>NSStringFormatValueTypeKey</key>
			<string>d</string>
			<key>one</key>
			<string>%d day</string>
			<key>other</key>
			<string>%d days &amp; more</string>
		</dict>
	</dict>
	<key>only</key>
	<dict>
		<key>NSStringLocalizedFormatKey</key>
		<string>%#@days@</string>
		<key>NSStringVariableWidthRuleType</key>
		<dict>
			<key>20</key>
			<string>A short one</string>
		</dict>
	</dict>
</dict>
</plist>
"""


def test_texts_by_number_are_translated_and_what_says_how_is_not() -> None:
    parsed = read(STRINGSDICT, "x.stringsdict")
    assert [(one.text, one.skip_reason) for one in parsed.segments] == [
        ("See you in %#@days@", ""), ("%d day", ""), ("%d days & more", ""), ("%#@days@", "only a variable"),
        ("A short one", ""),
    ]  # fmt: skip
    assert [parsed.segments[0].text[one.start : one.end] for one in parsed.segments[0].spans] == ["%#@days@"]
    own = plistlib.loads(STRINGSDICT.encode())
    new = plistlib.loads(shout(STRINGSDICT, "x.stringsdict").encode())
    own["days"]["NSStringLocalizedFormatKey"] = "SEE YOU IN %#@DAYS@"  # capitals() knows of no placeholders
    own["days"]["days"] |= {"one": "%D DAY", "other": "%D DAYS & MORE"}
    own["only"]["NSStringVariableWidthRuleType"]["20"] = "A SHORT ONE"
    assert new == own


SDLXLIFF = """<?xml version="1.0" encoding="utf-8"?>
<xliff xmlns:sdl="http://sdl.com/FileTypes/SdlXliff/1.0" xmlns="urn:oasis:names:tc:xliff:document:1.2" version="1.2">
<file original="a.docx" source-language="en-US" target-language="de-DE"><body>
<trans-unit id="1"><source>One. Two.</source><seg-source><mrk mtype="seg" mid="1">One.</mrk> <mrk mtype="seg"
mid="2">Two.</mrk></seg-source><target><mrk mtype="seg" mid="1"/> <mrk mtype="seg" mid="2"/></target>
<sdl:seg-defs><sdl:seg id="1"/><sdl:seg id="2"/></sdl:seg-defs></trans-unit>
<trans-unit id="2"><source>Yes</source><seg-source><mrk mtype="seg" mid="3">Yes</mrk></seg-source><target><mrk
mtype="seg" mid="3">Ja</mrk></target></trans-unit>
</body></file></xliff>
"""


@pytest.mark.parametrize("name", ["x.sdlxliff", "x.mqxliff"])
def test_parts_of_a_target_without_words_are_translated(name: str) -> None:
    assert [one.skip_reason for one in read(SDLXLIFF, name).segments] == ["", "", "already translated"]
    text = shout(SDLXLIFF, name)
    assert '<mrk mtype="seg" mid="1">ONE.</mrk> <mrk mtype="seg"\nmid="2">TWO.</mrk></target>' in text
    assert 'mid="3">Ja</mrk></target>' in text
    assert "<sdl:seg-defs>" in text


ASS = r"""[Script Info]
Title: A film

[V4+ Styles]
Format: Name, Fontname
Style: Default,Arial

[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
Dialogue: 0,0:00:01.00,0:00:02.50,Default,,0,0,0,,I thought that you would
Dialogue: 0,0:00:02.60,0:00:04.00,Default,,0,0,0,,{\an8}come to the party,\Nof my {\i1}sister{\i0}, Anna.
Dialogue: 0,0:00:05.00,0:00:06.00,Default,,0,0,0,,{\p1}m 0 0 l 100 0{\p0}
Dialogue: 0,0:00:05.00,0:00:06.00,Default,,0,0,0,,{\k20}la {\k30}la
Comment: 0,0:00:05.00,0:00:06.00,Default,,0,0,0,,Not shown
"""


def test_a_long_drawing_or_song_is_no_reason_to_refuse_a_film() -> None:
    for code in ("{\\p1}", "{\\r\\k23}"):
        line = f"Dialogue: 0,0:00:05.00,0:00:06.00,Default,,0,0,0,,{code}{'m 0 0 ' * 3000}\n"
        texts = [one.text for one in read(ASS + line, "x.ass").segments]
        assert texts == ["I thought that you would", "come to the party, of my sister, Anna."]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_dialogues_of_substation(ending: str) -> None:
    pysubs2 = pytest.importorskip("pysubs2")
    text = ASS.replace("\n", ending)
    texts = [one.text for one in read(text, "x.ass").segments]
    assert texts == ["I thought that you would", "come to the party, of my sister, Anna."]
    written = shout(text, "x.ass")
    own, new = (pysubs2.SSAFile.from_string(one, format_="ass") for one in (text, written))
    assert [(one.start, one.end, one.style, one.type) for one in own] == [
        (one.start, one.end, one.style, one.type) for one in new
    ]
    assert new[1].text == r"{\an8}COME TO THE PARTY,\NOF MY {\i1}SISTER{\i0}, ANNA."
    assert [one.text for one in new[2:]] == [one.text for one in own[2:]]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.ts", "const a = 1;", "is not XML"),
        ("x.ts", "<a/>", "is not Qt's .ts"),
        ("x.ts", "<TS/>", "has no <message>"),
        ("x.tmx", "<a/>", "is no TMX"),
        ("x.stringsdict", "<plist/>", "is no property list"),
        ("x.stringsdict", "<plist><dict/></plist>", "has no texts by number"),
        ("x.stringsdict", '<!DOCTYPE a [<!ENTITY b "c">]><plist/>', "document type declaration"),
        ("x.ass", "[Script Info]\n", "no subtitles"),
        ("x.ass", "[Events]\nDialogue: 0,1\n", "x.ass:2: a dialogue before"),
        ("x.ass", "[Events]\nFormat: Start, End, Text\nDialogue: 0:00:01.00,1,a\n", "x.ass:3: not two times"),
        ("x.ass", "[Events]\nFormat: Start, End, Text\nDialogue: 0:00:01.00\n", "x.ass:3: a dialogue of 1 fields"),
    ],
)
def test_what_is_broken_is_refused(name: str, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        read(text, name, **({"target_language": "de"} if name == "x.tmx" else {}))
