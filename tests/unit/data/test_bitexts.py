"""TMX, PO and XLIFF become aligned documents; what is broken or hostile is named by file and line."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import shutil
import subprocess
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from docflat.cli.dispatch import run
from docflat.data import bitexts, tmx
from docflat.data.corpus import Corpus
from docflat.data.documents import Document, FilePair, read_documents, read_source
from docflat.data.subwords import Subwords
from docflat.support.errors import InputError

TMX = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4">
  <header creationtool="x" segtype="sentence" srclang="en" datatype="xml"/>
  <body>
    <tu>
      <tuv xml:lang="en-GB"><seg>Good
        morning &amp; <bpt i="1">&lt;b></bpt>welcome<ept i="1">&lt;/b></ept>.</seg></tuv>
      <tuv xml:lang="de"><note>no</note><seg>Guten Morgen und <hi>willkommen</hi>.</seg></tuv>
    </tu>
    <tu><tuv xml:lang="en-GB"><seg>Only English.</seg></tuv></tu>
    <tu><tuv xml:lang="de"><seg></seg></tuv><tuv xml:lang="en-GB"><seg>Empty.</seg></tuv></tu>
    <tu><tuv lang="DE"><seg>Wir beginnen.</seg></tuv><tuv lang="EN-gb"><seg>We begin.</seg></tuv></tu>
  </body>
</tmx>
"""
PAIRS = (["Good morning & welcome.", "We begin."], ["Guten Morgen und willkommen.", "Wir beginnen."])
PO = r"""msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\nLanguage: de_AT\n"

msgctxt "menu"
msgid "Open %s\n"
msgstr "%s öffnen\n"

msgid "Untranslated"
msgstr ""

#, fuzzy
msgid "Guess"
msgstr "Vermutung"

msgid "%d day"
msgid_plural "%d days"
msgstr[0] "%d Tag"
msgstr[1] "%d Tage"

#~ msgid "Gone"
#~ msgstr "Weg"
"""
XLIFF = """<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
<file original="a.txt" source-language="en" target-language="de"><body>
  <trans-unit id="1"><source>Click <g id="1">here</g><ph id="2">%s</ph>.</source><target>Klick hier.</target>
  </trans-unit>
  <trans-unit id="2"><source>New</source><target state="new">New</target></trans-unit>
  <trans-unit id="3"><source>Look</source><target state="needs-review-translation">Schau</target></trans-unit>
  <trans-unit id="4"><source>One. Two.</source>
    <seg-source><mrk mtype="seg" mid="1">One.</mrk> <mrk mtype="seg" mid="2">Two.</mrk></seg-source>
    <target><mrk mtype="seg" mid="1">Eins.</mrk> <mrk mtype="seg" mid="2">Zwei.</mrk></target></trans-unit>
</body></file>
<file original="b.txt" source-language="en" target-language="de"><body>
  <trans-unit id="1"><source>B</source><target>Be</target><alt-trans><source>X</source><target>Y</target></alt-trans>
  </trans-unit>
</body></file>
</xliff>
"""
XLIFF2 = """<xliff version="2.0" xmlns="urn:oasis:names:tc:xliff:document:2.0" srcLang="en" trgLang="de"><file id="f">
<unit id="1"><segment state="final"><source>A <pc id="1">b</pc>.</source><target>Ein b.</target></segment>
<segment state="initial"><source>C</source><target>C</target></segment></unit>
</file></xliff>
"""
COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
}


def read(
    folder: Path, name: str, text: str | bytes, languages: tuple[str, str] | None = None, **options: str
) -> list[Document]:
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return list(read_documents(FilePair(folder / name, languages=languages, **options)))  # type: ignore[arg-type]


def sides(documents: list[Document]) -> list[tuple[list[str], list[str] | None]]:
    return [(document.source, document.target) for document in documents]


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_tmx(tmp_path: Path, suffix: str, encoding: str) -> None:
    data = COMPRESS[suffix](TMX.replace("UTF-8", encoding.removesuffix("-sig")).encode(encoding))
    (document,) = read(tmp_path, f"a.tmx{suffix}", data)
    assert (document.source, document.target, document.line) == (*PAIRS, 6)


def test_tmx_that_translate_toolkit_wrote(tmp_path: Path) -> None:
    store = pytest.importorskip("translate.storage.tmx").tmxfile()
    store.setsourcelanguage("en")
    pairs = [("Tom & <Jerry>", "Tom und <Jerry>"), ('"Quoted" – 你好', "'Zitiert'"), ("Last.", "Ende.")]
    for source, target in pairs:
        store.addtranslation(source, "en", target, "de", comment="a note")
    assert sides(read(tmp_path, "a.tmx", bytes(store), ("en", "de"))) == [tuple(map(list, zip(*pairs, strict=True)))]


def test_languages_of_tmx(tmp_path: Path) -> None:
    assert sides(read(tmp_path, "a.tmx", TMX, ("de", "en"))) == [PAIRS[::-1]]
    assert sides(read(tmp_path, "a.tmx", TMX, ("EN", "de"))) == [PAIRS]
    with pytest.raises(InputError, match="no sentences in this file"):
        read(tmp_path, "a.tmx", TMX, ("en", "fr"))
    french = TMX.replace("</tu>\n  </body>", '<tuv lang="fr"><seg>Bon.</seg></tuv></tu>\n  </body>')
    with pytest.raises(InputError, match=r"a.tmx:13: has the languages .*fr: say which two"):
        read(tmp_path, "a.tmx", french)
    assert sides(read(tmp_path, "a.tmx", french, ("en", "de"))) == [PAIRS]
    assert sides(read(tmp_path, "a.tmx", french, ("fr", "de"))) == [(["Bon."], ["Wir beginnen."])]
    with pytest.raises(InputError, match=r"a.tmx:6: has the languages de, en-GB: say which two"):
        read(tmp_path, "a.tmx", TMX.replace('srclang="en"', 'srclang="*all*"'))


def test_documents_of_tmx(tmp_path: Path) -> None:
    units = "".join(
        f'<tu><prop type="x-other">z</prop>{prop}<tuv xml:lang="en"><seg>e{i}</seg></tuv>'
        f'<tuv xml:lang="de"><seg>d{i}</seg></tuv></tu>\n'
        for i, prop in enumerate(
            f'<prop type="Txt::Doc. No.">{name}</prop>' if name else "" for name in ("a", "a", "", "b", "a")
        )
    )
    text = f'<tmx><header srclang="en"/><body>\n{units}</body></tmx>'
    documents = read(tmp_path, "a.tmx", text)
    assert [(each.name, each.source, each.line) for each in documents] == [
        ("a", ["e0", "e1", "e2"], 2),
        ("b", ["e3"], 5),
        ("a", ["e4"], 6),
    ]
    (document,) = read(tmp_path, "a.tmx", text, boundaries="none")
    assert (document.source, document.name) == (["e0", "e1", "e2", "e3", "e4"], "")


def test_po(tmp_path: Path) -> None:
    expected = (["Open %s", "%d day", "%d days"], ["%s öffnen", "%d Tag", "%d Tage"])
    (document,) = read(tmp_path, "a.po", PO)
    assert (document.source, document.target, document.line) == (*expected, 5)
    assert sides(read(tmp_path, "a.po.gz", gzip.compress(PO.encode()), ("en", "de"))) == [expected]
    assert sides(read(tmp_path, "a.po", PO, ("de", "en"))) == [expected[::-1]]
    with pytest.raises(InputError, match=r"a.po:1: is from \? to de_AT, and not of en and fr"):
        read(tmp_path, "a.po", PO, ("en", "fr"))
    one = PO.replace('msgstr[1] "%d Tage"\n', "")
    assert sides(read(tmp_path, "a.po", one)) == [(["Open %s", "%d days"], ["%s öffnen", "%d Tag"])]


@pytest.mark.parametrize("suffix", ["xlf", "xliff", "xlf.xz"])
def test_xliff(tmp_path: Path, suffix: str) -> None:
    data = lzma.compress(XLIFF.encode()) if suffix.endswith("xz") else XLIFF.encode()
    documents = read(tmp_path, f"a.{suffix}", data)
    first = (["Click here.", "One.", "Two."], ["Klick hier.", "Eins.", "Zwei."])
    assert sides(documents) == [first, (["B"], ["Be"])]
    assert [(each.name, each.line) for each in documents] == [("1 a.txt", 2), ("2 b.txt", 11)]
    assert sides(read(tmp_path, "b.xlf", XLIFF2)) == [(["A b."], ["Ein b."])]


def test_languages_of_xliff(tmp_path: Path) -> None:
    assert sides(read(tmp_path, "a.xlf", XLIFF2, ("de", "en"))) == [(["Ein b."], ["A b."])]
    with pytest.raises(InputError, match=r"a\.xlf:1: is from en to de, and not of en and fr"):
        read(tmp_path, "a.xlf", XLIFF2, ("en", "fr"))


def test_prepare_takes_them_all(tmp_path: Path) -> None:
    for name, text in {"a.tmx": TMX, "b.po": PO, "c.xlf": XLIFF}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    files = [str(tmp_path / name) for name in ("a.tmx", "b.po", "c.xlf")]
    options = ["--languages", "de", "en", "--vocabulary", "300", "--hold-out", "0", "--out", str(tmp_path / "out")]
    assert run(["prepare", "--source", *files, *options]) == 0
    corpus = Corpus.open(tmp_path / "out" / "train")
    subwords = Subwords.load(tmp_path / "out" / "tokenizer.json")
    assert len(corpus) == 4
    assert subwords.decode(corpus.source[1], "source") == "Wir beginnen."
    assert subwords.decode(corpus.target[1], "target") == "We begin."


def test_source_sides_alone(tmp_path: Path) -> None:
    (tmp_path / "a.tmx").write_text(TMX)
    assert [(each.source, each.target) for each in read_source(tmp_path / "a.tmx")] == [(PAIRS[0], None)]


def test_what_does_not_go_with_them(tmp_path: Path) -> None:
    for name in ("a.tmx", "a.po.gz", "a.xlf"):
        with pytest.raises(InputError, match="boundaries 'empty-lines' do not go with a"):
            FilePair(tmp_path / name, boundaries="empty-lines")
        with pytest.raises(InputError, match="boundaries 'auto' do not go with a"):
            FilePair(tmp_path / name, docids=tmp_path / "ids")
        with pytest.raises(InputError, match=r"a \.\w+ file holds both sides"):
            FilePair(tmp_path / "a.en", tmp_path / name)


ENTITIES = '<!DOCTYPE tmx [<!ENTITY a "b">]><tmx/>'


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.tmx", "", "a.tmx:1: is not XML: no element found"),
        ("a.tmx", TMX[:400], "a.tmx:9: is not XML: "),
        ("a.tmx", "<html/>", "a.tmx:1: is not TMX: its root is 'html'"),
        ("a.tmx", "<tmx/>", "a.tmx: no sentences in this file"),
        ("a.tmx", ENTITIES, "a.tmx:1: XML entities are not read"),
        ("a.tmx", TMX.replace("Empty.", "&nbsp;"), "a.tmx:12: XML entities are not read"),
        ("a.tmx", TMX.replace('encoding="UTF-8"', 'encoding="klingon"'), "a.tmx:1: is not XML: "),
        ("a.tmx", TMX.replace(' lang="DE"', ""), "a.tmx:13: a tuv without xml:lang"),
        ("a.tmx", "<tmx>" + "<a>" * 200, "a.tmx:1: more than 100 elements in each other"),
        ("a.tmx.gz", "no gzip", "a.tmx.gz: truncated or corrupt: "),
        ("a.po", "hello", "a.po:1: not a line of a PO file"),
        ("a.po", 'msgid "a"\nmsgstr ""\n', "a.po: no sentences in this file"),
        ("a.po", "", "a.po: no sentences in this file"),
        ("a.xlf", "", "is not XML"),
        ("a.xlf", "<tmx/>", "a.xlf: is not XLIFF 1.x or 2.x"),
        ("a.xlf", ENTITIES, "document type declaration"),
    ],
)
def test_what_is_broken_or_hostile(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        read(tmp_path, name, text)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.tmx: cannot be read: No such file"):
        list(read_documents(FilePair(tmp_path / "a.tmx")))


@pytest.mark.parametrize("kind", ["text", "attribute", "whole"])
def test_memory_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(tmx, "LARGEST_TAG", 1 << 20)
    monkeypatch.setattr(bitexts, "MOST_BYTES", 1 << 20)
    text = {"text": '<tmx><tuv xml:lang="x"><seg>', "attribute": '<tmx a="', "whole": "#"}[kind] + "a" * (40 << 20)
    data = gzip.compress(text.encode())
    tracemalloc.start()
    with pytest.raises(InputError, match=r"a segment of more|a tag of more|is larger than"):
        read(tmp_path, "a.po.gz" if kind == "whole" else "a.tmx.gz", data)
    assert tracemalloc.get_traced_memory()[1] < 20 << 20
    tracemalloc.stop()


def test_a_long_memory_is_a_stream(tmp_path: Path) -> None:
    """One document in memory, not the file."""
    sides = "".join(f'<tuv xml:lang="{language}"><seg>{"word " * 200}</seg></tuv>' for language in ("en", "de"))
    units = "".join(f'<tu><prop type="file">{i // 10}</prop>{sides}</tu>' for i in range(5000))
    (tmp_path / "a.tmx").write_text(f'<tmx><header srclang="en"/>{units}</tmx>')
    tracemalloc.start()
    count = sum(1 for _ in read_documents(FilePair(tmp_path / "a.tmx")))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (count, peak < 1 << 20) == (500, True)


@pytest.mark.skipif(not shutil.which("msgunfmt"), reason="no gettext")
def test_a_real_catalogue(tmp_path: Path) -> None:
    polib = pytest.importorskip("polib")
    files = sorted(Path("/usr/share/locale/de/LC_MESSAGES").glob("*.mo"), key=lambda file: file.stat().st_size)
    if not files:
        pytest.skip("no catalogues on this machine")
    data = subprocess.run(["msgunfmt", files[-1]], check=True, capture_output=True).stdout
    (document,) = read(tmp_path, "a.po", data)
    single = [entry for entry in polib.pofile(str(tmp_path / "a.po")) if not entry.msgid_plural]
    expected = {(" ".join(each.msgid.split()), " ".join(each.msgstr.split())) for each in single}
    found = {
        (" ".join(s.split()), " ".join(t.split())) for s, t in zip(document.source, document.target or [], strict=True)
    }
    assert expected - {("", "")} <= {*found, *((s, "") for s, _ in expected)}


@given(st.sampled_from([("a.tmx", TMX), ("a.po", PO), ("a.xlf", XLIFF)]), st.binary(max_size=12), st.floats(0, 1))
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_read_or_refused(tmp_path: Path, file: tuple[str, str], data: bytes, share: float) -> None:
    name, text = file
    place = round(share * len(text))
    whole = text.encode()[:place] + data + text.encode()[place + len(data) :]
    try:
        documents = read(tmp_path, name, whole)
    except InputError as error:
        assert name in str(error)  # noqa: PT017
        return
    for document in documents:
        assert document.target is not None
        assert len(document.source) == len(document.target) > 0
        assert not any("\n" in sentence for sentence in document.source + document.target)
