"""XLIFF: translate-toolkit and lxml read what we write, and all around the targets is as it was, byte for byte."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from docflat.formats.catalogues.xliff import Translations, Xliff
from docflat.formats.segments import Segment
from docflat.support.errors import InputError
from docflat.translation.files import translate_segments
from stubs import Stub

V1 = """<?xml version='1.0'  encoding="UTF-8"?>
<!-- a <remark> -->
<xliff version="1.2" xmlns='urn:oasis:names:tc:xliff:document:1.2'
       xmlns:my="urn:mine">
  <file source-language="en" original='a "b".txt' datatype="plaintext" my:x="1" >
    <header><note>Not me</note></header>
    <body>
      <trans-unit id="1">
        <source>Click <g id="1">here &amp; <x id="2"/>now</g>, then go.</source>
        <note>Nor me</note>
      </trans-unit>
      <trans-unit id="2" approved="yes"><source>Done</source><target>Fertig</target></trans-unit>
      <group translate="no"><trans-unit id="3"><source>Docflat</source></trans-unit></group>
      <trans-unit id="4"><source>New</source><target  state='new'/><alt-trans>
        <source>Old</source><target>Alt</target></alt-trans></trans-unit>
      <trans-unit id="5"><source>Look</source><target state="needs-review-translation">Schau</target></trans-unit>
      <trans-unit id="6" translate="yes">
        <source>One. Two.</source>
        <seg-source><mrk mtype="seg" mid="1">One.</mrk> <mrk mtype="seg" mid="2">Two.</mrk></seg-source>
      </trans-unit>
      <trans-unit id="7"><source><bpt id="1">&lt;b></bpt>Bold<ept id="1">&lt;/b></ept> <bx id="2"/>x<mrk
        mtype="protected">Key</mrk><ph id="3">%s</ph></source></trans-unit>
      <trans-unit id="8"><source><![CDATA[<raw>]]> 12</source></trans-unit>
      <trans-unit id="9"><source>100 %</source></trans-unit>
    </body>
  </file>
</xliff>
"""
V2 = """<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en">
 <file id="f" translate="no">
  <unit id="0"><segment><source>Kept</source></segment></unit>
  <group id="g" translate="yes">
   <unit id="1">
    <originalData><data id="d1">&lt;b></data></originalData>
    <segment id="a" state="initial">
     <source><pc id="1" dataRefStart="d1">Bold</pc> text<ph id="2"/> and <sc id="3"/>more<ec startRef="3"/>.</source>
     <target>stale</target>
    </segment>
    <ignorable><source> </source></ignorable>
    <segment><source>See <mrk id="m" translate="no">Docflat</mrk>.</source></segment>
    <segment state="final"><source>Final</source><target>Endlich</target></segment>
   </unit>
  </group>
 </file>
</xliff>
"""


def read(text: str, **options: Any) -> Translations:
    return Xliff(**options).read(text.encode(), "a.xlf")


def translate(text: str, **options: Any) -> str:
    parsed = read(text, **options)
    return parsed.render([shout(segment) for segment in parsed.segments]).decode()


def shout(segment: Segment) -> Segment:
    return segment if segment.skip_reason else replace(segment, text=segment.text.upper())


def test_the_segments_of_version_1() -> None:
    assert [(segment.text, segment.skip_reason) for segment in read(V1).segments] == [
        ("Click here & now, then go.", ""),
        ("Done", "already translated"),
        ("Docflat", 'translate="no"'),
        ("New", ""),
        ("Look", "to be reviewed"),
        ("One.", ""),
        ("Two.", ""),
        ("Bold xKey", ""),
        ("<raw> 12", ""),
        ("100 %", "no letters"),
    ]
    bold = read(V1).segments[7]
    assert [(span.start, span.end, span.opaque) for span in bold.spans] == [
        (0, 4, False),
        (5, 5, False),
        (6, 9, True),
        (9, 9, False),
    ]


def test_the_segments_of_version_2() -> None:
    assert [(segment.text, segment.skip_reason) for segment in read(V2).segments] == [
        ("Kept", 'translate="no"'),
        ("Bold text and more.", ""),
        ("See Docflat.", ""),
        ("Final", "already translated"),
    ]
    assert [(span.start, span.end, span.opaque) for span in read(V2).segments[1].spans] == [
        (0, 4, False),
        (9, 9, False),
        (14, 18, False),
    ]
    assert [span.opaque for span in read(V2).segments[2].spans] == [True]


def test_targets_of_version_1_and_nothing_else() -> None:
    state = 'state="needs-review-translation" state-qualifier="mt-suggestion"'
    seg = '<mrk mtype="seg" mid="1">ONE.</mrk> <mrk mtype="seg" mid="2">TWO.</mrk>'
    expected = V1.replace(
        "then go.</source>",
        f'then go.</source>\n        <target {state}>CLICK <g id="1">HERE &amp; <x id="2"/>NOW</g>, THEN GO.</target>',
    )
    expected = expected.replace("<target  state='new'/>", f"<target  {state}>NEW</target>")
    expected = expected.replace("</seg-source>", f"</seg-source>\n        <target {state}>{seg}</target>")
    bold = (
        '<bpt id="1">&lt;b></bpt>BOLD<ept id="1">&lt;/b></ept> <bx id="2"/>X<mrk\n        mtype="protected">KEY</mrk>'
    )
    expected = expected.replace(
        '<ph id="3">%s</ph></source>', f'<ph id="3">%s</ph></source><target {state}>{bold}<ph id="3">%s</ph></target>'
    )
    expected = expected.replace("]]> 12</source>", f"]]> 12</source><target {state}>&lt;RAW&gt; 12</target>")
    assert translate(V1) == expected
    with_language = translate(V1, target_language="de")
    assert with_language == expected.replace('my:x="1" >', 'my:x="1" target-language="de">')


def test_targets_of_version_2_and_nothing_else() -> None:
    expected = V2.replace('state="initial"', 'state="translated"').replace(
        "<target>stale</target>",
        '<target><pc id="1" dataRefStart="d1">BOLD</pc> TEXT<ph id="2"/> AND '
        '<sc id="3"/>MORE<ec startRef="3"/>.</target>',
    )
    see = '<source>See <mrk id="m" translate="no">Docflat</mrk>.</source>'
    new = '<target>SEE <mrk id="m" translate="no">DOCFLAT</mrk>.</target>'
    expected = expected.replace(f"<segment>{see}", f'<segment state="translated">{see}{new}')
    assert translate(V2) == expected
    assert translate(V2, target_language="de") == expected.replace('srcLang="en"', 'srcLang="en" trgLang="de"')


def test_translations_that_are_too_long_are_named(tmp_path: Path) -> None:
    unit = '<trans-unit id="{}" {}><source>Some words</source></trans-unit>'.format
    units = [
        unit(1, 'maxwidth="12" size-unit="char"'),
        unit(2, 'maxwidth="10" size-unit="char"'),
        unit(3, 'maxwidth="1"'),
    ]
    units += [unit(4, 'maxbytes="11"'), unit(5, "")]
    head = '<xliff xmlns="urn:oasis:names:tc:xliff:document:1.0" version="1.0"><file source-language="en"><body>'
    data = f"{head}{''.join(units)}</body></file></xliff>".encode()
    parsed = Xliff(target_language="de").read(data, "x.xlf")
    new = translate_segments(parsed.segments, Stub(lambda sentence: "Ein paar Ö"))[0]
    assert parsed.review(new) == []
    new = translate_segments(parsed.segments, Stub(lambda sentence: "Einige Öl."))[0]
    assert parsed.review(new) == []
    new = translate_segments(parsed.segments, Stub(lambda sentence: "Einige Wörter"))[0]
    assert parsed.review(new) == [
        "translations that are longer than their maxwidth or maxbytes: 3: 1 (13 of 12), 2 (13 of 10), 4 (14 of 11)"
    ]
    assert parsed.review(parsed.segments) == []


def test_what_is_done_again() -> None:
    assert ">LOOK</target>" in translate(V1, redo="fuzzy")
    assert ">Fertig</target>" in translate(V1, redo="fuzzy")
    assert ">DONE</target>" in translate(V1, redo="all")
    assert "DOCFLAT" not in translate(V1, redo="all")


def test_codes_move_with_their_words_and_none_is_lost() -> None:
    parsed = read(V1)
    own = parsed.segments[0]
    words = "Geh dann, aber klick jetzt hier."
    group, place = own.spans[0], words.index("jetzt")
    new = Segment(words, (replace(group, start=place, end=place + len("jetzt hier")),))
    text = parsed.render([new, *parsed.segments[1:]]).decode()
    assert '>Geh dann, aber<x id="2"/> klick <g id="1">jetzt hier</g>.</target>' in text
    text = parsed.render([Segment(words), *parsed.segments[1:]]).decode()
    (target,) = re.findall("<target.*?>(Geh .*)</target>", text)
    assert re.sub("<[^>]*>", "", target) == words
    assert re.findall("<[^>]*>", target) == ['<g id="1">', "</g>", '<x id="2"/>']


def test_crossing_codes_stay_well_formed() -> None:
    source = '<bpt id="1">(</bpt>a <g id="5">b <ept id="1">)</ept>c</g> d'
    text = V1.replace("New</source>", f"{source}</source>")
    changed = translate(text)
    assert (
        f">{source.replace('>a', '>A').replace('>b ', '>B ').replace('c<', 'C<').replace(' d', ' D')}</tar" in changed
    )
    etree.fromstring(changed.encode())


@pytest.mark.parametrize("text", [V1, V2], ids=["1.2", "2.0"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1"])
def test_untranslated_it_is_the_same_file(text: str, newline: str, encoding: str) -> None:
    text = text.replace("UTF-8", encoding.removesuffix("-sig"))
    if not text.startswith("<?xml"):
        text = f'<?xml version="1.0" encoding="{encoding.removesuffix("-sig")}"?>\n{text}'
    data = text.replace("\n", newline).encode(encoding)
    parsed = Xliff(redo="all").read(data, "a.xlf")
    assert parsed.render(parsed.segments) == data
    changed = parsed.render([Segment("Größe ☃") if not each.spans else each for each in parsed.segments])
    targets = [each.text for each in etree.fromstring(changed).iter("{*}target")]
    assert "Größe ☃" in targets


def test_prefixes_and_no_namespace() -> None:
    text = re.sub(r"<(/?)(?=[a-z])", r"<\1x:", V2).replace("xmlns=", "xmlns:x=")
    assert [segment.text for segment in read(text).segments] == [segment.text for segment in read(V2).segments]
    assert "<x:target>SEE <x:mrk" in translate(text)
    bare = V1.replace("xmlns='urn:oasis:names:tc:xliff:document:1.2'", "")
    assert [segment.text for segment in read(bare).segments] == [segment.text for segment in read(V1).segments]
    foreign = V1.replace("<trans-unit id=\"2\"", "<my:trans-unit id=\"2\"").replace(
        "Fertig</target></trans-unit>", "Fertig</target></my:trans-unit>"
    )  # fmt: skip
    assert len(read(foreign).segments) == len(read(V1).segments) - 1


def test_translate_toolkit_reads_the_targets() -> None:
    store = pytest.importorskip("translate.storage.xliff").xlifffile.parsestring(translate(V1).encode())
    found = {unit.xmlelement.get("id"): unit for unit in store.units}
    assert str(found["4"].target) == "NEW"
    assert found["4"].isfuzzy()
    assert str(found["2"].target) == "Fertig"
    store = pytest.importorskip("translate.storage.xliff2").Xliff2File.parsestring(
        translate(V2, target_language="de").encode()
    )
    assert [str(unit.target) for unit in store.units if str(unit.source) == "Final"] == ["Endlich"]
    assert store.targetlanguage == "de"


REAL = [
    Path(folder, name)
    for top in ("/usr/share", "/usr/lib")
    for folder, _, names in os.walk(top)
    for name in names
    if name.endswith((".xlf", ".xliff"))
]


@pytest.mark.parametrize("file", REAL or [pytest.param(None, marks=pytest.mark.skip("no XLIFF on this machine"))])
def test_real_files(file: Path) -> None:
    parsed = Xliff("all").read(file.read_bytes(), str(file))
    assert parsed.render(parsed.segments) == file.read_bytes()
    etree.fromstring(parsed.render([replace(segment) for segment in parsed.segments]))


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]>'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not XML"),
        ("hello", "is not XML"),
        (V1[:700], "is not XML"),
        ("<html/>", "is not XLIFF"),
        (V1.replace('version="1.2"', 'version="3.0"'), "is not XLIFF"),
        (V1.replace("<source>Done</source>", ""), "a.xlf:12: a trans-unit without a source"),
        (V1.replace("<!-- a <remark> -->", BOMB), "document type declaration"),
        (V1.replace("<!-- a <remark> -->", '<!DOCTYPE x SYSTEM "file:///etc/passwd">'), "document type declaration"),
        (V1.replace("New</source>", "<g id='1'>" * 300 + "</g>" * 300 + "</source>"), "elements in each other"),
    ],
)
def test_what_is_no_xliff(text: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        read(text)


MARKS = ['<g id="1">', "</g>", '<x id="2"/>', '<bx id="3"/>', '<ex id="3"/>', '<ph id="4">a</ph>', '<bpt id="5"/>']
MORE = [
    '<ept id="5"/>',
    "<mrk mtype='protected'>",
    "</mrk>",
    "a",
    " ",
    "&lt;",
    "é",
    "<!-- x -->",
    "<![CDATA[<]]>",
    "<?p?>",
]


@given(st.lists(st.sampled_from([*MARKS, *MORE]), max_size=20), st.text("ab <&", max_size=10), st.integers(0, 9))
@settings(max_examples=300, deadline=None)
def test_any_content_is_read_or_refused(parts: list[str], words: str, place: int) -> None:
    text = V1.replace("New</source>", f"{''.join(parts)}</source>")
    try:
        parsed = read(text)
    except InputError:
        return
    assert parsed.render(parsed.segments).decode() == text
    own = parsed.segments[3]
    spans = tuple(
        replace(span, start=min(span.start, place, len(words)), end=min(max(span.start, place), len(words)))
        for span in own.spans
        if span.start != place
    )
    changed = parsed.render([*parsed.segments[:3], Segment(words, spans), *parsed.segments[4:]])
    unit = etree.fromstring(changed).find(".//{*}trans-unit[@id='4']")
    assert unit is not None
    source, target = unit.find("{*}source"), unit.find("{*}target")
    assert source is not None
    assert target is not None
    names = [sorted(str(each.tag) for each in side.iterdescendants("{*}*")) for side in (source, target)]
    assert names[0] == names[1]


@given(st.binary(max_size=30), st.integers(0, len(V1)))
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_read_or_refused(data: bytes, place: int) -> None:
    whole = V1.encode()[:place] + data + V1.encode()[place + len(data) :]
    try:
        parsed = Xliff().read(whole, "a.xlf")
    except InputError:
        return
    assert parsed.render(parsed.segments) == whole
    parsed.render([shout(segment) for segment in parsed.segments])


@pytest.mark.parametrize(
    ("source", "seen", "said", "target"),
    [
        (
            "You have <ph id='7'/> new messages.",
            "You have {1} new messages.",
            "{1} Neue haben Sie.",
            "<ph id='7'/> Neue haben Sie.",
        ),
        (
            "File <ph id='1'>%s</ph>: {1} lost!",
            "File {2}: {1} lost!",
            "{1} in {2} weg!",
            "{1} in <ph id='1'>%s</ph> weg!",
        ),
        ("Hello, <x id='1'/>, and (<x id='2'/> here)", "Hello, {1}, and ({2} here)", "X", None),
        ("One <x id='1' ctype='lb'/> two", "One  two", "Eins zwei", "Eins <x id='1' ctype='lb'/>zwei"),
        ("One<ph id='1'/> and <x id='2'/>two", "One and two", "Eins und zwei", None),
    ],
)
def test_what_a_program_fills_in_is_a_word_to_the_model(source: str, seen: str, said: str, target: str | None):
    text = (
        '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file source-language="en"><body>'
        f'<trans-unit id="1"><source>{source}</source></trans-unit></body></file></xliff>'
    )
    parsed = Xliff().read(text.encode(), "x.xlf")
    assert [segment.text for segment in parsed.segments] == [seen]
    new = parsed.render(translate_segments(parsed.segments, Stub(lambda _: said))[0]).decode()
    found = re.search("<target[^>]*>(.*)</target>", new)
    assert found is not None
    assert target in (None, found[1])
    assert sorted(re.findall("<[^/][^>]*>", found[1])) == sorted(re.findall("<[^/][^>]*>", source))
