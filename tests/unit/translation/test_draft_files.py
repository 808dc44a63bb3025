"""Files of drafts: all but the edited words stays, to the byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from docflat.editing.revisions import Edit, Revision
from docflat.editing.variants import Change
from docflat.formats.segments import Segment, Span
from docflat.support.errors import InputError
from docflat.translation.draft_files import DraftFile, change_segment, read_drafts

ENGLISH_GERMAN = ("en", "de")


def read(source: Path, draft: Path | None = None, lines: bool = False) -> DraftFile:
    return read_drafts(source, draft, "auto", lines, ENGLISH_GERMAN)


def edit_all(file: DraftFile, old: str, new: str) -> bytes:
    """The file with the first of these words in each draft changed."""

    def revision(source: str, draft: str) -> Revision:
        if old not in draft:
            return Revision(source, draft)
        start = draft.index(old)
        change = Change((start, start + len(old)), old, new, "it")
        return Revision(source, draft, (Edit("pronouns", (change,), "", {}),))

    return file.render([[revision(*pair) for pair in document.pairs] for document in file.documents])


def test_lines_stay_where_they_are(tmp_path: Path) -> None:
    source, draft = tmp_path / "a.en", tmp_path / "a.de"
    source.write_bytes(b"The machine.\nIt works.\n\nThe letter.\nIt came.\n")
    data = "\ufeffDie Maschine.\r\n Es läuft.\t\r\n\r\nDer Brief.\r\nEs kam.".encode()
    draft.write_bytes(data)
    file = read(source, draft)
    assert [len(document.pairs) for document in file.documents] == [2, 2]
    assert file.documents[1].places == [f"{draft}:4", f"{draft}:5"]
    assert edit_all(file, "Nichts", "?") == data
    assert edit_all(file, "Es", "Sie") == data.replace(b"Es", b"Sie")


def test_paragraphs_are_edited_sentence_by_sentence(tmp_path: Path) -> None:
    source, draft = tmp_path / "a.md", tmp_path / "b.md"
    source.write_text("# The machine\n\nIt is **new**. It works.\n\n- It hums.\n", encoding="utf-8")
    data = "# Die Maschine\n\nEs ist **neu**. Es läuft.\n\n- Es summt.\n"
    draft.write_text(data, encoding="utf-8")
    file = read(source, draft)
    (document,) = file.documents
    assert document.pairs == [
        ("The machine", "Die Maschine"),
        ("It is new.", "Es ist neu."),
        ("It works.", "Es läuft."),
        ("It hums.", "Es summt."),
    ]
    assert edit_all(file, "Nichts", "?").decode() == data
    assert edit_all(file, "Es", "Sie").decode() == data.replace("Es", "Sie")


def test_a_translation_with_other_paragraphs_is_refused(tmp_path: Path) -> None:
    source, draft = tmp_path / "a.md", tmp_path / "b.md"
    source.write_text("One.\n\nTwo.\n", encoding="utf-8")
    draft.write_text("Eins. Zwei.\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"b.md: has 1 texts, but .*a.md has 2"):
        read(source, draft)
    with pytest.raises(InputError, match=r"the translation of a .md file is no .html file"):
        read(source, draft.with_suffix(".html"))
    with pytest.raises(InputError, match="no file of two languages"):
        read(source)


def test_formatting_stays_on_its_words() -> None:
    segment = Segment(
        "Es ist neu, und es läuft.", (Span(0, 10, "b"), Span(3, 6, "i"), Span(16, 18, "u"), Span(18, 18, "x"))
    )
    changes = [Change((0, 2), "Es", "Sie", "it"), Change((16, 18), "es", "sie", "it")]
    changed = change_segment(segment, changes)
    assert changed.text == "Sie ist neu, und sie läuft."
    assert [changed.text[span.start : span.end] for span in changed.spans] == ["Sie ist neu", "ist", "sie", ""]
    assert changed.spans[3].start == changed.text.index(" läuft")


PO = r"""# Kopf
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"

#: a.c:1
msgid "The machine is new. It works."
msgstr "Die Maschine "
"ist neu. Es läuft."

#, fuzzy
msgid "It hums."
msgstr "Es summt."

msgid "It has %d part."
msgid_plural "It has %d parts."
msgstr[0] "Es hat %d Teil."
msgstr[1] "Es hat %d Teile."
"""


def test_po(tmp_path: Path) -> None:
    path = tmp_path / "a.po"
    path.write_text(PO, encoding="utf-8")
    file = read(path)
    (document,) = file.documents
    assert document.pairs == [
        ("The machine is new.", "Die Maschine ist neu."),
        ("It works.", "Es läuft."),
        ("It has %d part.", "Es hat %d Teil."),
        ("It has %d parts.", "Es hat %d Teile."),
    ]
    assert document.places[1] == f"{path}:7"
    assert edit_all(file, "Nichts", "?").decode() == PO
    wanted = PO.replace('"Die Maschine "\n"ist neu. Es läuft."', '"Die Maschine ist neu. Sie läuft."')
    assert edit_all(file, "Es", "Sie").decode() == wanted.replace('"Es hat', '"Sie hat')


XLIFF = """<?xml version="1.0"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
<file original="a" source-language="en" target-language="de" datatype="plaintext"><body>
<trans-unit id="1"><source>The machine &amp; more.</source>
  <target state='translated'>Die Maschine &amp; mehr.</target></trans-unit>
<trans-unit id="2"><source><g id="1">It</g> is new.<x id="2"/></source>
  <target><g id="1">E<x id="3"/>s</g> ist n&#228;u.</target>
</trans-unit>
<trans-unit id="3"><source>It hums.</source></trans-unit>
</body></file></xliff>
"""


def test_xliff(tmp_path: Path) -> None:
    path = tmp_path / "a.xlf"
    path.write_text(XLIFF, encoding="utf-8")
    file = read(path)
    (document,) = file.documents
    assert document.pairs == [("The machine & more.", "Die Maschine & mehr."), ("It is new.", "Es ist näu.")]
    assert document.places == [f"{path}:5", f"{path}:7"]
    assert edit_all(file, "Nichts", "?").decode() == XLIFF
    assert edit_all(file, "Es", "Sie").decode() == XLIFF.replace('E<x id="3"/>s', 'Sie<x id="3"/>')


TMX = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en"/><body>
<tu><prop type="x-document">a</prop><tuv xml:lang="en-GB"><seg>The machine.</seg></tuv>
<tuv xml:lang="de-DE"><seg>Die Maschine.</seg></tuv></tu>
<tu><prop type="x-document">a</prop>
<tuv xml:lang="de-DE"><seg><bpt i="1">&lt;b></bpt>Es<ept i="1">&lt;/b></ept> läuft.</seg></tuv>
<tuv xml:lang="en-GB"><seg>It works.</seg></tuv></tu>
<tu><prop type="x-document">b</prop><tuv xml:lang="en-GB"><seg>It.</seg></tuv>
<tuv xml:lang="fr"><seg>Il.</seg></tuv></tu>
<tu><prop type="x-document">b</prop><tuv xml:lang="en"><seg>It came.</seg></tuv>
<tuv xml:lang="de"><seg><![CDATA[Es]]> <!-- Es -->kam.</seg></tuv></tu>
</body></tmx>
"""


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_tmx(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.tmx"
    text = TMX.replace("UTF-8", encoding)
    path.write_bytes(text.encode(encoding))
    file = read(path)
    assert [document.pairs for document in file.documents] == [
        [("The machine.", "Die Maschine."), ("It works.", "Es läuft.")],
        [("It came.", "Es kam.")],
    ]
    assert edit_all(file, "Nichts", "?") == text.encode(encoding)
    wanted = text.replace("</bpt>Es", "</bpt>Sie").replace("[Es]", "[Sie]")
    assert edit_all(file, "Es", "Sie").decode(encoding) == wanted


def test_what_no_bilingual_file_is(tmp_path: Path) -> None:
    path = tmp_path / "a.tmx"
    path.write_text('<tmx version="1.4"><body/></tmx>', encoding="utf-8")
    with pytest.raises(InputError, match="has no translations from en to de"):
        read(path)
    path.write_text('<!DOCTYPE tmx [<!ENTITY a "b">]><tmx/>', encoding="utf-8")
    with pytest.raises(InputError, match="document type declaration"):
        read(path)
    with pytest.raises(InputError, match="holds both sides"):
        read(tmp_path / "a.po", tmp_path / "b.po")
