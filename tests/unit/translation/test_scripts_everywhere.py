"""Every kind of file takes every script: only its sentences change, and in files of two sides only the other side."""

from __future__ import annotations

import html
import re
import zipfile
from pathlib import Path

import pytest
from test_scripts import FILES, TEXTS, change, changed

from docflat.formats import FORMATS, PACKED, find_format
from docflat.translation.files import translate_file
from fuzz.seeds import PARTS
from stubs import Stub

PLIST = '<plist version="1.0"><dict><key>a</key><dict><key>NSStringLocalizedFormatKey</key><string>%#@n@</string>'
ONE_SIDED = {
    **{name: content for name, content in FILES.items() if name != "a.xliff"},
    "a.jsonl": '{{"text": "{0}"}}\n{{"text": "{1}"}}\n',
    "a.yaml": 'en:\n  first: "{0}"\n  second: {1}\n',
    "a.csv": 'id,note\n1,"{0}"\n2,"{1}"\n',
    "a.arb": '{{"@@locale": "en", "a": "{0}", "b": "{1}"}}\n',
    "a.properties": "a = {0}\nb = {1}\n",
    "a.strings": '"a" = "{0}";\n"b" = "{1}";\n',
    "a.resx": '<root><data name="A" xml:space="preserve"><value>{0}</value></data><data name="B"><value>{1}</value>'
    "</data></root>\n",
    "a.xml": '<resources><string name="a">{0}</string><string name="b"><b>{1}</b></string></resources>\n',
    "a.stringsdict": PLIST + "<key>n</key><dict><key>NSStringFormatSpecTypeKey</key>"
    "<string>NSStringPluralRuleType</string><key>NSStringFormatValueTypeKey</key><string>d</string>"
    "<key>one</key><string>{0}</string><key>other</key><string>{1}</string></dict></dict></dict></plist>\n",
    "a.ass": "[Events]\nFormat: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\n"
    "Dialogue: 0,0:00:01.00,0:00:04.00,Default,,0,0,0,,{0}\nDialogue: 0,0:00:05.00,0:00:09.00,Default,,0,0,0,,{1}\n",
}
TWO_SIDED = {  # and where the translation is
    "a.po": (
        'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n'
        'msgid "{0}"\nmsgstr ""\n\nmsgid "{1}"\nmsgstr ""\n',
        r'(?<!^)\nmsgstr "([^"\n\\]+)"',
    ),
    "a.ts": (
        '<TS version="2.1"><context><name>A</name><message><source>{0}</source><translation type="unfinished">'
        '</translation></message><message><source>{1}</source><translation type="unfinished"/></message></context>'
        "</TS>",
        r"<translation[^>]*>([^<]+)</translation>",
    ),
    "a.tmx": (
        '<tmx version="1.4"><header srclang="en"/><body><tu><tuv xml:lang="en"><seg>{0}</seg></tuv></tu><tu>'
        '<tuv xml:lang="en"><seg>{1}</seg></tuv></tu></body></tmx>',
        r'<tuv xml:lang="xx"[^>]*><seg>([^<]+)</seg>',
    ),
    **{
        f"a.{kind}": (
            '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file source-language="en" '
            'target-language="xx" original="a" datatype="plaintext"><body><trans-unit id="1"><source>{0}</source>'
            '</trans-unit><trans-unit id="2"><source>{1}</source></trans-unit></body></file></xliff>',
            r"<target[^>]*>(.*?)</target>",
        )
        for kind in ("xliff", "sdlxliff", "mqxliff")
    },
}
PLACES = {  # in the files that tests of chance start from: a member, and a text of it
    "docx": ("word/document.xml", "<w:t>Cell</w:t>"),
    "pptx": ("ppt/notes1.xml", "<a:t>Say it.</a:t>"),
    "xlsx": ("xl/sharedStrings.xml", "<t>A word</t>"),
    "odt": ("content.xml", "<text:p>Item</text:p>"),
    "odp": ("content.xml", "<text:p>A title</text:p>"),
    "ods": ("content.xml", "<text:p>Note</text:p>"),
    "epub": ("a.xhtml", "<h1>A head</h1>"),
}


def in_its_script(sentence: str) -> str:
    """The other texts of a file are English, and stay."""
    return sentence if re.search("[A-Za-z]", sentence) else change(sentence)


def translated(folder: Path, name: str, language: str, **options: str) -> Path:
    translate_file(
        folder / name, folder / f"out-{name}", find_format(folder / name, **options), Stub(in_its_script), language
    )
    return folder / f"out-{name}"


def test_no_kind_of_file_is_forgotten() -> None:
    suffixes = {Path(name).suffix for name in (*ONE_SIDED, *TWO_SIDED)} | {f".{kind}" for kind in PLACES}
    suffixes.add(".pdf")  # its text is written as a Word file, whose case stands here
    assert {FORMATS[suffix] for suffix in suffixes} == set(FORMATS.values())
    assert {f".{kind}" for kind in PLACES} <= set(PACKED)


@pytest.mark.parametrize("language", TEXTS)
@pytest.mark.parametrize("name", ONE_SIDED)
def test_only_the_sentences_change(tmp_path: Path, name: str, language: str) -> None:
    content = ONE_SIDED[name].format(*TEXTS[language])
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert translated(tmp_path, name, language).read_text(encoding="utf-8") == changed(content, language)


@pytest.mark.parametrize("language", TEXTS)
@pytest.mark.parametrize("name", TWO_SIDED)
def test_only_the_other_side_changes(tmp_path: Path, name: str, language: str) -> None:
    content, pattern = TWO_SIDED[name]
    content = content.format(*TEXTS[language])
    (tmp_path / name).write_text(content, encoding="utf-8")
    written = translated(tmp_path, name, language, target_language="xx").read_text(encoding="utf-8")
    expected = [changed(text, language) for text in TEXTS[language]]
    assert list(map(html.unescape, re.findall(pattern, written))) == expected
    for text in TEXTS[language]:
        assert written.count(text) == 1


@pytest.mark.parametrize("language", TEXTS)
@pytest.mark.parametrize("kind", PLACES)
def test_in_packed_files_only_the_sentences_change(tmp_path: Path, kind: str, language: str) -> None:
    member, place = PLACES[kind]
    for text in TEXTS[language]:
        here = re.sub(">[^<>]+<", f">{text}<", place)
        assert place in PARTS[kind][member]
        source = PARTS[kind][member].replace('<w:t xml:space="preserve">', "<w:t>")  # which every text gets
        parts = {**PARTS[kind], member: source.replace(place, here)}
        with zipfile.ZipFile(tmp_path / f"a.{kind}", "w") as archive:
            for name, content in parts.items():
                archive.writestr(name, content)
        with zipfile.ZipFile(translated(tmp_path, f"a.{kind}", language)) as archive:
            written = archive.read(member).decode().replace('<w:t xml:space="preserve">', "<w:t>")
        assert written == parts[member].replace(here, re.sub(">[^<>]+<", f">{changed(text, language)}<", place))
