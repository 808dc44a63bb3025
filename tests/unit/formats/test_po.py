"""PO files: polib and gettext read what we write, and all that was not translated is as it was, byte for byte."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docflat.formats.catalogues.messages import read_message, write_message
from docflat.formats.catalogues.po import Po
from docflat.formats.segments import Segment, Span
from docflat.support.errors import InputError

polib = pytest.importorskip("polib")

HEADER = r"""# A program.
#, fuzzy
msgid ""
msgstr ""
"Project-Id-Version: x\n"
"Language: \n"
"MIME-Version: 1.0\n"
"Content-Type: text/plain; charset=UTF-8\n"
"Content-Transfer-Encoding: 8bit\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\n"
"""
BODY = r"""
#. To translators
#: a.c:1
#, c-format
msgid "Cannot open \"%s\": %d%%\n"
msgstr ""

msgctxt "menu"
msgid "Open"
msgstr "Öffnen"

#, fuzzy, c-format
#| msgid "%d old file"
msgid "%d new file"
msgid_plural "%d new files"
msgstr[0] "%d alte Datei"
msgstr[1] "%d alte Dateien"

msgid ""
"The first line of a long paragraph that was wrapped by somebody at\n"
"some column.\n"
"\n"
"  -x  A second one"
msgstr   ""

msgid "%d day"
msgid_plural "%d days"
msgstr[0] ""
msgstr[1] ""

#~ msgid "Gone"
#~ msgstr "Weg"
"""
PO = HEADER + BODY


def shout(segment: Segment) -> Segment:
    """A "translation" that keeps what is opaque."""
    text = "".join(
        char if any(span.opaque and span.start <= i < span.end for span in segment.spans) else char.upper()
        for i, char in enumerate(segment.text)
    )
    return segment if segment.skip_reason else replace(segment, text=text)


def translate(data: str | bytes, **options: Any) -> str:
    parsed = Po(**options).read(data if isinstance(data, bytes) else data.encode(), "a.po")
    return parsed.render([shout(segment) for segment in parsed.segments]).decode()


def test_the_messages() -> None:
    parsed = Po().read(PO.encode(), "a.po")
    assert [(each.text, each.skip_reason) for each in parsed.segments] == [
        ('Cannot open "%s": %d%%', ""),
        ("Open", "already translated"),
        ("%d new file", "fuzzy"),
        ("%d new files", "fuzzy"),
        ("The first line of a long paragraph that was wrapped by somebody at some column.", ""),
        ("-x  A second one", ""),
        ("%d day", ""),
        ("%d days", ""),
    ]
    opaque = [(each.text[span.start : span.end]) for each in parsed.segments[:1] for span in each.spans if span.opaque]
    assert opaque == ["%s", "%d", "%%"]


def test_what_is_translated_and_nothing_else() -> None:
    expected = PO.replace('%d%%\\n"\nmsgstr ""', '%d%%\\n"\nmsgstr "CANNOT OPEN \\"%s\\": %d%%\\n"')
    expected = expected.replace(
        'msgstr   ""',
        'msgstr ""\n"THE FIRST LINE OF A LONG PARAGRAPH THAT WAS WRAPPED BY SOMEBODY AT\\n"\n"SOME COLUMN.\\n"\n'
        '"\\n"\n"  -X  A SECOND ONE"',
    ).replace('msgstr[0] ""\nmsgstr[1] ""', 'msgstr[0] "%D DAY"\nmsgstr[1] "%D DAYS"')
    assert translate(PO) == expected


def test_fuzzy_ones_and_all() -> None:
    old = '#, fuzzy, c-format\n#| msgid "%d old file"\n'
    forms = 'msgstr[0] "%d NEW FILE"\nmsgstr[1] "%d NEW FILES"'
    assert old not in translate(PO, redo="fuzzy")
    assert '#, c-format\nmsgid "%d new file"' in translate(PO, redo="fuzzy")
    assert forms in translate(PO, redo="fuzzy")
    assert 'msgstr "Öffnen"' in translate(PO, redo="fuzzy")
    assert 'msgid "Open"\nmsgstr "OPEN"' in translate(PO, redo="all")
    assert '"Language: de\\n"' in translate(PO, target_language="de")
    assert '#~ msgstr "Weg"' in translate(PO, redo="all")


@pytest.mark.parametrize("count", [1, 2, 3])
def test_plural_forms(count: int) -> None:
    text = translate(PO.replace("nplurals=2; plural=(n != 1)", f"nplurals={count}; plural=0"))
    (entry,) = (entry for entry in polib.pofile(text) if entry.msgid == "%d day")
    assert entry.msgstr_plural == dict(enumerate({1: ["%D DAYS"], 2: ["%D DAY", "%D DAYS"]}.get(
        count, ["%D DAY", "%D DAYS", "%D DAYS"]
    )))  # fmt: skip
    assert entry.fuzzy == (count == 3)  # few and many cannot be told from one English plural


def test_one_form_that_is_there_is_kept() -> None:
    text = translate(PO.replace('msgstr[0] ""', 'msgstr[0] "%d Tag"'))
    assert 'msgstr[0] "%d Tag"\nmsgstr[1] "%D DAYS"' in text


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("charset", ["UTF-8", "ISO-8859-1", "CP1252"])
@pytest.mark.parametrize("end", ["", "\n", "\n\n\n"])
def test_untranslated_it_is_the_same_file(newline: str, charset: str, end: str) -> None:
    text = PO.replace("UTF-8", charset).rstrip("\n").replace("\n", newline) + end
    data = text.encode(charset)
    parsed = Po("all").read(data, "a.po")
    assert parsed.render(parsed.segments) == data
    new = [Segment("Größe") if each.text == "Open" else each for each in parsed.segments]
    assert parsed.render(new) == text.replace("Öffnen", "Größe").encode(charset)
    # What its charset cannot hold makes it UTF-8.
    new = [Segment("開く") if each.text == "Open" else each for each in parsed.segments]
    assert parsed.render(new).decode() == text.replace("Öffnen", "開く").replace(charset, "UTF-8")


def test_a_template_without_charset() -> None:
    text = translate(PO.replace("UTF-8", "CHARSET").replace("Öffnen", "").replace("a.c:1", "ä.c:1"))
    assert "charset=UTF-8" in text


def test_a_translation_that_is_its_source_is_written() -> None:
    parsed = Po().read(b'msgid "OK"\nmsgstr ""\n', "a.po")
    assert parsed.render([replace(parsed.segments[0])]) == b'msgid "OK"\nmsgstr "OK"\n'
    assert parsed.render(parsed.segments) == b'msgid "OK"\nmsgstr ""\n'


@pytest.mark.parametrize(
    ("flag", "target", "written", "fuzzy"),
    [
        ("c-format", "%d%% von %s", "%2$d%% von %1$s", False),
        ("c-format", "%s hat %d%%", "%s hat %d%%", False),
        ("c-format", "%s hat", "%s hat", True),
        ("python-format", "%d%% von %s", "%d%% von %s", True),
        ("no-c-format", "%d%% von %s", "%d%% von %s", False),
    ],
)
def test_arguments_keep_their_order(tmp_path: Path, flag: str, target: str, written: str, fuzzy: bool) -> None:
    parsed = Po().read(f'{HEADER}\n#, {flag}\nmsgid "%s has %d%%"\nmsgstr ""\n'.encode(), "a.po")
    data = parsed.render([Segment(target)])
    (entry,) = polib.pofile(data.decode())
    assert (entry.msgstr, entry.fuzzy) == (written, fuzzy)
    if shutil.which("msgfmt"):
        (tmp_path / "a.po").write_bytes(data)
        subprocess.run(["msgfmt", "--check-format", "-o", tmp_path / "a.mo", tmp_path / "a.po"], check=True)


def test_keys_of_menus() -> None:
    message = read_message("_Open File")
    (own,) = message.segments
    assert own.text == "Open File"
    moved = (replace(own.spans[0], start=6, end=6),)
    assert write_message(message, [Segment("Datei öffnen", moved)]) == "Datei _öffnen"
    assert write_message(message, [Segment("Datei öffnen")]) == "_Datei öffnen"
    for text in ("my_file &amp; _x _y", "AT&T", "a & b"):
        assert read_message(text).segments[0].text == text


def test_tags_follow_their_words() -> None:
    message = read_message("Click <b>here</b><br/> or copy <file> to ``x.rst`` at {name}.", ["python-brace-format"])
    (own,) = message.segments
    assert own.text == "Click here or copy <file> to ``x.rst`` at {name}."
    assert [own.text[span.start : span.end] for span in own.spans if span.opaque] == ["<file>", "``x.rst``", "{name}"]
    words = "Oder kopiere <file> nach ``x.rst`` bei {name}, hier klicken."
    place = words.index("hier")
    bold = replace(own.spans[0], start=place, end=place + 4)
    assert write_message(message, [Segment(words, (bold,))]) == (
        "Oder kopiere<br/> <file> nach ``x.rst`` bei {name}, <b>hier</b> klicken."
    )


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("One.\nTwo.\n", ["One.", "Two."]),
        ("  one\n\n  two", ["one", "two"]),
        ("one and\ntwo", ["one and two"]),
        ("Usage:\n  x\n", ["Usage:", "x"]),
        ("Name\nValue", ["Name", "Value"]),
        ("\n", []),
    ],
)
def test_lines_of_a_message(text: str, parts: list[str]) -> None:
    message = read_message(text)
    assert [segment.text for segment in message.segments] == parts
    assert write_message(message, message.segments) == text


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'msgid "a"\n', "a.po:1: an entry without msgstr"),
        (b'\nmsgstr "a"\n', "a.po:2: an entry without msgid"),
        (b'msgid "a\nmsgstr ""\n', "a.po:1: not a line of a PO file"),
        (b"hello\n", "a.po:1: not a line"),
        (b'"a"\n', "a.po:1: not a line"),
        (b'msgid "a"\nmsgid "b"\nmsgstr ""\n', "a.po:2: a second msgid"),
        (b'msgid "a"\nmsgid_plural "b"\nmsgstr "c"\n', "a.po:1: msgid_plural goes with"),
        (b'msgid "a"\nmsgstr[0] ""\nmsgstr "c"\n', "a.po:1: msgid_plural goes with"),
        (b'msgid "a"\nmsgstr[0] ""\nmsgid_plural "b"\nmsgstr[1] ""\n', "a.po:3: a msgid_plural after a msgstr"),
        (b'msgid_plural "b"\nmsgid "a"\nmsgstr[0] ""\n', "a.po:1: an entry without msgid"),
        (b"#, fuzzy\n" * 20_000, "a.po:10001: more than 10000 lines of flags"),
        (b'msgid "a"\nmsgstr "\xe4"\n', "a.po:2: not UTF-8"),
        (b'msgid ""\nmsgstr "Content-Type: text/plain; charset=punycode\\n"\n', "charset that is not known: punycode"),
    ],
)
def test_what_is_no_po(data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        Po().read(data, "a.po")


def test_only_the_header_says_the_charset() -> None:
    text = 'msgid "Set charset=koi8-r in it"\nmsgstr "ä"\n'
    assert [one.text for one in Po("all").read(text.encode(), "x.po").segments] == ["Set charset=koi8-r in it"]


def test_long_messages_are_kept() -> None:
    parsed = Po().read(b'msgid "' + b"%<(" * 5_000_000 + b'"\nmsgstr ""\n', "a.po")
    assert parsed.segments[0].skip_reason == "longer than 10000 characters"


def catalogues(count: int) -> list[Path]:
    """Compiled catalogues of this machine, from small to large packages."""
    found = sorted(Path("/usr/share").glob("locale/*/LC_MESSAGES/*.mo"))
    return found[:: max(1, len(found) // count)][:count]


@pytest.mark.skipif(not shutil.which("msgunfmt") or not catalogues(1), reason="no gettext, or no catalogues")
@pytest.mark.parametrize("file", catalogues(12), ids=lambda file: f"{file.parts[-3]}-{file.stem}")
def test_real_catalogues(file: Path, tmp_path: Path) -> None:
    data = subprocess.run(["msgunfmt", file], check=True, capture_output=True).stdout
    check(data, tmp_path)


SOURCES = sorted(
    file for top in ("/usr/share", "/usr/lib/python3", "/usr/local/lib") for file in Path(top).rglob("*.po*")
    if file.suffix in (".po", ".pot")
)[:20]  # fmt: skip


@pytest.mark.parametrize("file", SOURCES or [pytest.param(None, marks=pytest.mark.skip("no PO files here"))])
def test_real_files(file: Path, tmp_path: Path) -> None:
    check(file.read_bytes(), tmp_path)


def check(data: bytes, folder: Path) -> None:
    """Read as polib reads it; the same if unchanged; and what gettext takes if translated."""
    (folder / "old.po").write_bytes(data)
    parsed = Po(redo="all").read(data, "old.po")
    assert parsed.render(parsed.segments) == data
    found = [(unit.entry.source, unit.entry.plural or "", unit.entry.translations) for unit in parsed.units]
    assert found == [
        (entry.msgid, entry.msgid_plural, [text for _, text in sorted(entry.msgstr_plural.items())] or [entry.msgstr])
        for entry in polib.pofile(str(folder / "old.po"))
        if not entry.obsolete
    ]
    (folder / "new.po").write_bytes(parsed.render([replace(each) for each in parsed.segments]))
    for old, new in zip(polib.pofile(str(folder / "old.po")), polib.pofile(str(folder / "new.po")), strict=True):
        got = [text for _, text in sorted(new.msgstr_plural.items())] or [new.msgstr]
        last = old.msgid_plural or old.msgid
        assert old.obsolete or got[-1].split() == last.split()
        assert (old.msgid, old.msgctxt, old.comment, old.tcomment) == (
            new.msgid,
            new.msgctxt,
            new.comment,
            new.tcomment,
        )
    if shutil.which("msgfmt"):
        subprocess.run(["msgfmt", "-o", folder / "new.mo", folder / "new.po"], check=True, capture_output=True)


KEYWORDS = [b'msgid "a"', b'msgid ""', b'msgid "w" "v"', b'msgid_plural "b"', b'msgctxt "c"']
FORMS = [b'msgstr ""', b'msgstr "x"', b'msgstr[0] ""', b'msgstr[1] "y"']
STRINGS = [
    b'"more\\n"',
    b'"a \\" \\\\ \\x41 \\101 \\q"',
    b'"<b>%s</b> {x} {{"',
    b'"charset=latin1 nplurals=9; \\n"',
    b'"',
]
COMMENTS = [b"#, fuzzy", b'#| msgid "z"', b'#~ msgid "o"', b"# note", b"", b" ", b"\xff"]
LINES = st.sampled_from([*KEYWORDS, *FORMS, *STRINGS, *COMMENTS])


@given(
    st.lists(LINES, max_size=30), st.sampled_from(["untranslated", "fuzzy", "all"]), st.sampled_from([b"\n", b"\r\n"])
)
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_read_or_refused(lines: list[bytes], redo: Any, newline: bytes) -> None:
    data = newline.join(lines)
    try:
        parsed = Po(redo).read(data, "a.po")
    except InputError:
        return
    assert parsed.render(parsed.segments) == data
    changed = parsed.render([shout(segment) for segment in parsed.segments])
    again = Po(redo).read(changed, "a.po")
    assert [unit.entry.source for unit in again.units] == [unit.entry.source for unit in parsed.units]


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=200))
@settings(max_examples=200, deadline=None)
def test_any_translation_is_read_again_by_polib(text: str) -> None:
    parsed = Po().read(HEADER.encode() + b'\nmsgid "a"\nmsgstr ""\n', "a.po")
    result = parsed.render([Segment(text, (Span(0, 0, "whatever"),))]).decode()
    lines = re.findall(r'^(?:msgstr )?"(.*)"$', result.split("\n\n")[-1], re.MULTILINE)
    assert "".join(polib.unescape(line) for line in lines) == text or not text.isprintable()
    assert Po().read(result.encode(), "a.po").units[0].entry.translations == [text]
