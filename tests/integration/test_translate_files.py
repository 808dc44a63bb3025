"""`docflat translate` of files, with a stub or a tiny model in the place of a real one."""

from __future__ import annotations

import lzma
import re
import sys
import tracemalloc
import types
from collections.abc import Iterable, Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, ClassVar

import pytest

from docflat import Translator
from docflat.cli import dispatch as cli
from docflat.decoding.alignment import Weights
from docflat.decoding.settings import DecodingSettings
from docflat.translation.side_by_side import ShownDocument, ShownSentence, mark_changes, side_by_side

Capture = pytest.CaptureFixture[str]
MODEL = Path(__file__).parent.parent / "data" / "model-format-1"


class Shouter:
    """Shouts, and points with commas; without context it shouts "HE" where with it "SHE"."""

    first_pass = None
    edit_with = None
    languages: tuple[str, str] | None = None
    decoder = types.SimpleNamespace(settings=lambda **settings: DecodingSettings())
    loads: ClassVar[int] = 0

    @classmethod
    def load(cls, folder: Path, **given: Any) -> Shouter:
        Shouter.loads += 1
        return cls()

    def translate_documents(
        self, documents: Iterable[Sequence[str]], chunk: int = 2000, done: Any = lambda n: None, **settings: Any
    ) -> Iterator[list[str]]:
        it = "HE" if settings["mode"] == "sentence" else "SHE"
        for document in documents:
            done(len(document))
            shouted = (re.sub(r"\bIT\b", it, sentence.upper()) for sentence in document)
            yield [re.sub(r"(?<=\d)\.(?=\d)", ",", sentence) for sentence in shouted]

    def align(self, pairs: Sequence[tuple[str, str]]) -> list[Weights | None]:
        return [None] * len(pairs)


@pytest.fixture(autouse=True)
def stub(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("docflat.translation.translator")
    module.Translator = Shouter  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "docflat.translation.translator", module)
    Shouter.loads = 0


def translate(*arguments: str | Path) -> int:
    return cli.run(["translate", *map(str, arguments), "--model", "m"])


def test_a_file_gets_a_translation_beside_it(tmp_path: Path, capsys: Capture):
    file = tmp_path / "notes.md"
    file.write_text("# A title\n\nSome *words*, {name}.\n\n```\ncode\n```\n")
    assert translate(file, "--suffix", "de") == 0
    assert (tmp_path / "notes.de.md").read_text() == "# A TITLE\n\nSOME *WORDS*, {name}.\n\n```\ncode\n```\n"
    out, err = capsys.readouterr()
    assert err == ""
    assert out == (
        f"{file}: 2 of 3 segments translated; 1 kept: code; 1 of 2 sentences with stand-ins, "
        f"to keep placeholders, code or terms -> {tmp_path / 'notes.de.md'}\n"
    )


@pytest.mark.parametrize("suffix", ["", "../x", "a/b"])
def test_a_suffix_that_is_no_part_of_a_name(tmp_path: Path, capsys: Capture, suffix: str):
    (tmp_path / "a.md").write_text("One.")
    assert translate(tmp_path / "a.md", "--suffix", suffix) == 2
    assert f"expected a part of a file's name, such as de, found {suffix!r}" in capsys.readouterr().err


def test_terms_are_kept(tmp_path: Path, capsys: Capture):
    file, terms = tmp_path / "a.md", tmp_path / "terms.txt"
    file.write_text("We sell Red\nApple phones to Ann. Annual sales fell.")
    terms.write_text("\ufeffRed Apple\r\n\r\n Ann \n", encoding="utf-8")
    assert translate(file, "--keep-terms", terms) == 0
    assert (tmp_path / "a.translated.md").read_text() == "WE SELL Red\nApple PHONES TO Ann. ANNUAL SALES FELL."
    assert "1 of 2 sentences with stand-ins, to keep placeholders, code or terms" in capsys.readouterr().out


def test_a_glossary(tmp_path: Path, capsys: Capture):
    """The model shouts, but for stand-ins."""
    file, terms, kept = tmp_path / "a.md", tmp_path / "terms.tsv", tmp_path / "kept.txt"
    file.write_text("We sell a **red\napple** to Ann. Red apples fell.")
    terms.write_text("\ufeffred apple\tRoter Apfel\r\n\r\nAnn \t Anna\n", encoding="utf-16-le")  # as Excel writes it
    kept.write_text("Ann\n")
    assert translate(file, "--glossary", terms, "--keep-terms", kept) == 0
    assert (tmp_path / "a.translated.md").read_text() == "WE SELL A **Roter Apfel** TO Ann. RED APPLES FELL."
    assert (
        "; 1 of 2 sentences with terms of the glossary: 0 as the model has them, 1 put in, 0 translated otherwise -> "
        in capsys.readouterr().out
    )
    file.write_text("We sell XQ and a red apple.")
    assert translate(file, "--glossary", terms, "--force") == 0
    warning = "not as the glossary says: We sell XQ and a red apple. -> WE SELL XQ AND A RED APPLE."
    assert capsys.readouterr().err == f"docflat: warning: {file}: {warning}\n"


def test_a_bad_glossary(tmp_path: Path, capsys: Capture):
    file, terms = tmp_path / "a.txt", tmp_path / "terms"
    file.write_text("One.")
    letters = "a term and its translation have a letter each, at least"
    for data, message in (
        (None, "terms: cannot be read: No such file or directory"),
        (b" \n", "terms: there are no terms in this file"),
        (b"a\tb\n\xff\n", "terms:2: not UTF-8; save it as UTF-8"),
        (b"a\tb\n\none two\n", "terms:3: 0 tabs; a line is a term, a tab and its translation"),
        (b"a\tb\tc\n", "terms:1: 2 tabs; a line is a term, a tab and its translation"),
        (b"a\tb\na\t \n", f"terms:2: {letters}"),
        (b"a b\tb\nc\td\na  b\te\n", "terms:3: another translation of 'a b' than in line 1"),
        (b"x\ty\n\tb\n", f"terms:2: {letters}"),
        (b"x\t\x01y\n", "terms:1: a control character in a translation"),
    ):
        if data is not None:
            terms.write_bytes(data)
        assert translate(file, "--glossary", terms) == 2
        assert capsys.readouterr().err == f"docflat: error: {tmp_path}/{message}\n"
    assert translate(file, "--lines", "--glossary", terms) == 2
    assert "not for text of a sentence a line" in capsys.readouterr().err
    assert Shouter.loads == 0


def test_other_numbers_are_said(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch):
    def translate_documents(
        self: Shouter, documents: Iterable[Sequence[str]], chunk: int = 0, done: Any = None, **settings: Any
    ) -> Iterator[list[str]]:
        yield from ([sentence.upper().replace("7", "8") for sentence in document] for document in documents)

    monkeypatch.setattr(Shouter, "translate_documents", translate_documents)
    file, lines = tmp_path / "a.txt", tmp_path / "a.en"
    file.write_text("Take 7 of them.\n\nTake 3 of them.")
    lines.write_text("take 7\n" * 12)
    assert translate(file) == 0
    printed = capsys.readouterr()
    assert printed.err == (
        f"docflat: warning: {file}: other numbers than in the source: Take 7 of them. -> TAKE 8 OF THEM.\n"
    )
    assert "1 of 2 sentences have other numbers than the source" in printed.out
    assert translate(lines) == 0
    printed = capsys.readouterr()
    assert printed.out == "TAKE 8\n" * 12
    warning = f"docflat: warning: {lines}: other numbers than in the source: "
    assert printed.err.splitlines() == [*[f"{warning}take 7 -> TAKE 8"] * 10, f"{warning}2 more sentences"]


def test_a_language_that_the_model_does_not_speak(tmp_path: Path, capsys: Capture):
    (tmp_path / "a.po").write_text('msgid "one"\nmsgstr ""\n')
    assert cli.run(["translate", str(tmp_path / "a.po"), "--target-language", "fr"]) == 2
    assert capsys.readouterr().err.startswith("docflat: error: there is no model from en to fr (there are en-de)")
    assert cli.run(["translate", str(tmp_path / "a.po"), "--target-language", "de_AT"]) == 0


def test_how_numbers_are_written_is_no_work_of_context(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(Shouter, "languages", ("en", "de"))
    file = tmp_path / "a.txt"
    file.write_text("A car costs 1,200.50 here.")
    assert translate(file, "--changes") == 0
    assert (tmp_path / "a.translated.txt").read_text() == "A CAR COSTS 1.200,50 HERE."
    assert "[" not in capsys.readouterr().err


def test_bad_terms(tmp_path: Path, capsys: Capture):
    file, terms = tmp_path / "a.txt", tmp_path / "terms"
    file.write_text("One.")
    for data, message in (
        (None, "terms: cannot be read: No such file or directory"),
        (b" \n", "terms: there are no terms in this file"),
        (b"one\n\xff\n", "terms:2: not UTF-8; save it as UTF-8"),
    ):
        if data is not None:
            terms.write_bytes(data)
        assert translate(file, "--keep-terms", terms) == 2
        assert capsys.readouterr().err == f"docflat: error: {tmp_path}/{message}\n"
    assert translate(file, "--lines", "--keep-terms", terms) == 2
    assert "not in text of a sentence a line" in capsys.readouterr().err
    assert Shouter.loads == 0


def test_what_is_done_is_skipped_unless_forced(tmp_path: Path, capsys: Capture):
    file, out = tmp_path / "a.txt", tmp_path / "b.txt"
    file.write_text("one")
    out.write_text("before")
    assert translate(file, "-o", out, "--side-by-side", "page.html") == 2
    assert capsys.readouterr().err.splitlines() == [
        "docflat: warning: page.html is not written: nothing was translated this time",
        f"docflat: error: {out}: exists already (--force replaces it)",
    ]
    assert (out.read_text(), Shouter.loads) == ("before", 0)
    assert translate(file, "-o", out, "--force") == 0
    assert (out.read_text(), Shouter.loads) == ("ONE", 1)
    capsys.readouterr()
    assert translate(file, "-o", out) == 0
    same = f"{file}: nothing to do, {out} was made from the same source, model and options\n"
    assert capsys.readouterr() == (same, "")
    assert Shouter.loads == 2  # a wrong --device is said nevertheless


def test_folders_and_a_bad_file_among_good_ones(tmp_path: Path, capsys: Capture):
    source, out = tmp_path / "in", tmp_path / "out"
    (source / "deep").mkdir(parents=True)
    (source / "a.txt").write_text("one")
    (source / "deep" / "b.html").write_text("<p>two</p>")
    (source / "c.json").write_text("{")
    (source / "d.txt").write_text("123")
    (source / "photo.jpg").write_text("no format")
    (source / "pairs.tsv").write_text("one\teins\n")
    (source / "main.ts").write_text("const all: Array<TSource> = [];\n")
    (tmp_path / "lines.en").write_text("three\n\nfour\n")
    assert translate(source, tmp_path / "lines.en", "-o", out) == 1
    found = {str(file.relative_to(out)): file.read_text() for file in out.rglob("[!.]*") if file.is_file()}
    assert found == {"a.txt": "ONE", "deep/b.html": "<p>TWO</p>", "lines.en": "THREE\n\nFOUR\n"}
    printed = capsys.readouterr()
    assert printed.err.splitlines() == [
        f"docflat: error: {source / 'c.json'}:1: is not JSON: Expecting property name enclosed in double quotes",
        f"docflat: error: {source / 'd.txt'}: nothing to translate: no letters (1)",
        "docflat: error: 2 of 5 files were not translated",
    ]
    skipped, *reports = printed.out.splitlines()
    others = "1 .jpg, 1 .ts (not of Qt), 1 .tsv (read with --columns)"
    assert skipped == f"{source}: skipped, for these are files of no format that docflat reads: {others}"
    assert len(reports) == 3
    assert Shouter.loads == 1


def test_translations_beside_their_sources_are_not_translated_again(tmp_path: Path):
    (tmp_path / "a.txt").write_text("one")
    for _ in range(2):
        assert translate(tmp_path, "--suffix", "de", "--force") == 0
    assert sorted(file.name for file in tmp_path.glob("[!.]*")) == ["a.de.txt", "a.txt"]


def test_translations_beside_their_sources_are_no_sources_for_another_folder(tmp_path: Path, capsys: Capture):
    source, out = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    for name in ("a.txt", "a.de.txt", "a.pt-BR.txt", "a.translated.txt", "a.old.txt", "a.en.txt", "b.de.txt"):
        (source / name).write_text("one")
    assert translate(source, "-o", out) == 0
    assert sorted(file.name for file in out.glob("[!.]*")) == ["a.en.txt", "a.old.txt", "a.txt", "b.de.txt"]
    skipped = [line for line in capsys.readouterr().out.splitlines() if "skipped" in line]
    assert skipped == [
        f"{source / name}: skipped, for its name says that it is a translation of a.txt (name it to translate it)"
        for name in ("a.de.txt", "a.pt-BR.txt", "a.translated.txt")
    ]
    assert translate(source / "a.de.txt", "-o", f"{tmp_path}/named/") == 0
    assert (tmp_path / "named" / "a.de.txt").exists()


def test_no_option_is_passed_over_in_silence(tmp_path: Path, capsys: Capture):
    (tmp_path / "a.txt").write_text("one")
    (tmp_path / "a.po").write_text('msgid "one"\nmsgstr ""\n')
    options = ("--target-language", "de", "--redo", "all", "--keys", "x")
    assert translate(tmp_path / "a.txt", *options) == 0
    assert capsys.readouterr().err.splitlines() == [
        "docflat: warning: --keys is of JSON and YAML files, and there is none: it changes nothing",
        "docflat: warning: --redo is of PO, XLIFF, Qt and TMX files, and there is none: it changes nothing",
    ]
    assert translate(tmp_path / "a.txt", tmp_path / "a.po", *options[:4], "--force", "-o", f"{tmp_path}/out/") == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "suffix", [".txt", ".md", ".html", ".json", ".docx", ".pptx", ".odt", ".srt", ".vtt", ".po", ".xlf"]
)
def test_an_empty_file(tmp_path: Path, capsys: Capture, suffix: str):
    file = tmp_path / f"a{suffix}"
    file.touch()
    assert translate(file) == 2
    assert capsys.readouterr() == ("", f"docflat: error: {file}: is empty\n")


def test_an_endless_line(tmp_path: Path, capsys: Capture):
    """A file of kilobytes unpacks to a line of a gigabyte; neither is read whole."""
    file, out = tmp_path / "a.en", tmp_path / "b.en"
    file.write_text("one two\n" + "word " * 30_000)
    assert translate(file, "-o", out) == 2
    assert (
        capsys.readouterr().err
        == f"docflat: error: {file}:2: a sentence of 150000 characters; 100000 are the most (--max-line-length)\n"
    )
    packed = tmp_path / "a.xz"
    with lzma.open(packed, "wb", preset=0) as stream:
        for _ in range(1 << 10):
            stream.write(bytes(1 << 20))
    tracemalloc.start()
    assert translate(packed, "-o", out) == 2
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert capsys.readouterr().err == f"docflat: error: {packed}:1: a line of more than 64 MiB\n"
    assert peak < 300 << 20
    assert not out.exists()
    assert Shouter.loads == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.txt", "-", "-o", "x"], "stdin goes with no other file"),
        (["a.txt", "b/a.txt", "-o", "b"], "b/a.txt: would be written for both a.txt and b/a.txt"),
        (["a.txt", "b", "-o", "a.txt"], "a.txt: several files go into a folder, and this is none"),
        (["a.txt", "-o", "a.txt", "--force"], "a.txt: would be overwritten: this command has it twice"),
        (["empty", "-o", "x"], "empty: no files to translate; formats are .txt, "),
        (["a.txt", "b", "-o", "-"], "stdout: several files go into a folder, and this is none"),
        (["a.txt", "-o", "x.docx"], "x.docx: the translation of a .txt file is no .docx file"),
        (["a.txt", "-o", "a.txt/out/x.txt"], "a.txt/out: cannot be made: Not a directory"),
        (["a.txt", "--side-by-side", "a.txt"], "a.txt: the page would be written over a file of this translation"),
        (["a.txt", "-o", "x", "--side-by-side", "x"], "x: the page would be written over a file of this translation"),
        (["old.doc"], "old.doc: .doc is no format that docflat reads; save it as .docx (formats: .txt, "),
        (["a.rtf"], "a.rtf: .rtf is no format that docflat reads; save it as .docx (formats: .txt, "),
        (["none.docx"], "none.docx: cannot be read: No such file or directory"),
        (["none.md"], "none.md: cannot be read: No such file or directory"),
    ],
)
def test_wrong_files(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
):
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("one")
    for folder in ("b", "empty"):
        Path(folder).mkdir()
    Path("b/a.txt").write_text("one")
    assert translate(*arguments) == 2
    assert capsys.readouterr().err.startswith(f"docflat: error: {message}")
    assert Path("a.txt").read_text() == "one"


def test_a_slash_names_a_folder(tmp_path: Path):
    file = tmp_path / "a.txt"
    file.write_text("one")
    assert translate(file, "-o", f"{tmp_path}/new/") == 0
    assert (tmp_path / "new" / "a.txt").read_text() == "ONE"
    (tmp_path / "b.en").write_text("two\n")
    assert translate(tmp_path / "b.en", "-o", f"{tmp_path}/other/") == 0
    assert (tmp_path / "other" / "b.en").read_text() == "TWO\n"


def test_a_txt_file_is_prose_unless_it_is_said_to_be_lines(tmp_path: Path):
    file, out = tmp_path / "a.txt", tmp_path / "out"
    file.write_text("some words that were wrapped at this\nwidth. and more\n\n123\n")
    assert translate(file, "-o", out, "--force") == 0
    assert out.read_text() == "SOME WORDS THAT WERE WRAPPED AT THIS\nWIDTH. AND MORE\n\n123\n"
    assert translate(file, "-o", out, "--lines") == 0
    assert out.read_text() == "SOME WORDS THAT WERE WRAPPED AT THIS\nWIDTH. AND MORE\n\n123\n"
    file.write_text("a\n")
    assert translate(file, "-o", out, "--boundaries", "none") == 0


def test_a_page_names_its_new_language(tmp_path: Path):
    page = '<!doctype html>\n<HTML class="x" lang=en-US xml:lang="en">\n<p lang="fr">one</p>'
    (tmp_path / "a.html").write_text(page)
    assert translate(tmp_path / "a.html", "--target-language", "de") == 0
    new = page.replace("en-US", "de").replace('"en"', '"de"').replace("one", "ONE")
    assert (tmp_path / "a.translated.html").read_text() == new
    assert translate(tmp_path / "a.html", "--force") == 0
    assert (tmp_path / "a.translated.html").read_text() == page.replace("one", "ONE")
    (tmp_path / "a.po").write_text('msgid ""\nmsgstr "Language: \\n"\n\nmsgid "one"\nmsgstr ""\n')
    for name in ("a.html", "a.po"):  # the model that comes with docflat knows its language
        assert cli.run(["translate", str(tmp_path / name), "--force"]) == 0
    assert (tmp_path / "a.translated.html").read_text() == new
    assert '"Language: de\\n"' in (tmp_path / "a.translated.po").read_text()


def test_keys_of_json(tmp_path: Path):
    (tmp_path / "a.jsonl").write_text('{"title": "one", "id": "two"}\n')
    assert translate(tmp_path / "a.jsonl", "--keys", "title,x") == 0
    assert (tmp_path / "a.translated.jsonl").read_text() == '{"title": "ONE", "id": "two"}\n'


def test_the_page_and_the_translation_make_their_new_folder_and_changes_stand_apart(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    (tmp_path / "a.md").write_text("A dog. I saw it.\n")
    new = tmp_path / "runs" / "demo"
    assert translate(tmp_path / "a.md", "-o", new / "a.md", "--changes", "--side-by-side", new / "page.html") == 0
    assert (new / "a.md").exists()
    assert (new / "page.html").exists()
    lines = capfd.readouterr().err.splitlines()
    assert "" in lines
    assert not any("\\x0a" in line for line in lines)


def test_side_by_side_marks_what_context_changed(tmp_path: Path):
    (tmp_path / "a.md").write_text("A <dog>. I saw it & left.\n")
    (tmp_path / "b.en").write_text("it\n\nno\n")
    page = tmp_path / "page.html"
    assert translate(tmp_path / "a.md", tmp_path / "b.en", "--side-by-side", page) == 0
    text = page.read_text()
    assert text.count("<mark tabindex") == 2
    assert '<mark tabindex="0">SHE<small> [without context: HE]</small></mark> &amp; LEFT.' in text
    assert "In 2 of them context changed the translation" in text
    # The same for a file of lines by itself.
    assert translate(tmp_path / "b.en", "-o", tmp_path / "c", "--side-by-side", page) == 2
    assert translate(tmp_path / "b.en", "-o", tmp_path / "c", "--side-by-side", page, "--force") == 0
    assert page.read_text().count("<mark tabindex") == 1


@pytest.mark.parametrize(
    ("target", "alone", "expected"),
    [
        ("a b c", "a b c", [("a b c", None)]),
        ("a she c", "a he c", [("a ", None), ("she", "he"), (" c", None)]),
        ("a b c", "a c", [("a ", None), ("b", ""), (" c", None)]),
        ("a c", "a b c", [("a c", None)]),
        ("x", None, [("x", None)]),
        ("", "x", []),
    ],
)
def test_changes(target: str, alone: str | None, expected: list[tuple[str, str | None]]):
    assert list(mark_changes(target, alone)) == expected


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.links: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.links += [(name, value) for name, value in attrs if name in ("src", "href", "onclick")]


def test_the_page_is_escaped_and_loads_nothing():
    bad = "<script src='x'>alert(1)</script>\"'&"
    tags = Tags()
    tags.feed(side_by_side([ShownDocument(bad, [ShownSentence(bad, f"{bad} a", f"{bad} b")])]))
    assert "script" not in tags.seen
    assert not tags.links


def test_a_real_model_translates_a_file(tmp_path: Path):
    """Its words make no sense; markup, code and placeholders are all there."""
    file, out = tmp_path / "a.html", tmp_path / "b.html"
    file.write_text("<p>mozi <b>tuzes</b> suma. Call <code>x()</code> <i>now</i>, {name}.</p>\n<p>123</p>")
    report = Translator.load(MODEL, device="cpu").translate_file(file, out, beam=1)
    written = out.read_text()
    for part in ("<b>", "</b>", "<code>x()</code>", "<i>", "</i>", "{name}", "</p>\n<p>123</p>"):
        assert written.count(part) == 1
    assert (report.segments, report.translated, report.sentences) == (2, 1, 2)


def test_a_file_is_read_once_unless_there_are_too_many_to_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from docflat.cli import translate_files
    from docflat.translation import files

    reads: list[str] = []

    def read_file(path: Path) -> bytes:
        reads.append(path.name)
        return path.read_bytes()

    monkeypatch.setattr(files, "read_file", read_file)
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("One two. Three.")
    assert translate(tmp_path / "a.txt", tmp_path / "b.txt", "-o", f"{tmp_path}/out/") == 0
    assert reads == ["a.txt", "b.txt"]
    reads.clear()
    monkeypatch.setattr(translate_files, "MOST_HELD", 20)
    assert translate(tmp_path / "a.txt", tmp_path / "b.txt", "-o", f"{tmp_path}/again/") == 0
    assert reads == ["a.txt", "b.txt", "b.txt"]
    assert (tmp_path / "again/b.txt").read_text() == "ONE TWO. THREE."
