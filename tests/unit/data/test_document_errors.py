"""Every kind of bad input is named by file and line, and streams are read no further than needed."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
from pathlib import Path

import pytest

from docflat.data.documents import Document, FilePair, read_documents, read_source
from docflat.support.errors import InputError
from document_files import pair_in, sides, write

A3, B3 = "A\nB\nC\n", "a\nb\nc\n"  # one document of three sentences


AB = {"source": "a", "target": "b"}


XZ = lzma.compress(b"A\nB\n" * 1000)


GZ = gzip.compress(b"A\nB\n" * 1000)


# name, files, what FilePair is told, the file and line the message must begin with, words it must have
ERRORS: list[tuple[str, dict[str, str | bytes], dict[str, str], str, list[str]]] = [
    (
        "source longer",
        {"a": A3, "b": "a\nb\n"},
        AB,
        "b:3",
        ["source file goes on", "target file has ended", "2 lines"],
    ),
    (
        "target longer",
        {"a": "A\nB\n", "b": B3},
        AB,
        "a:3",
        ["target file goes on", "source file has ended", "2 lines"],
    ),
    ("target empty", {"a": A3, "b": ""}, AB, "b:1", ["source file goes on", "0 lines"]),
    (
        "empty line in the source",
        {"a": "A\n\nC\n", "b": B3},
        AB,
        "a:2",
        ["empty line", "source but not in the target"],
    ),
    (
        "blank line in the target",
        {"a": A3, "b": "a\nb\n \n"},
        AB,
        "b:3",
        ["empty line", "target but not in the source"],
    ),
    (
        "empty lines at the start",
        {"a": "\nA\n", "b": "a\n\n"},
        AB,
        "a:1",
        ["empty line", "source but not in the target"],
    ),
    (
        "<d> in the source",
        {"a": "<d>\nA\n<d>\n", "b": "<d>\na\nb\n"},
        AB,
        "a:3",
        ["<d>", "source but not in the target"],
    ),
    (
        "<d> in the target",
        {"a": "<d>\nA\nB\n", "b": "<d>\n<d>\nb\n"},
        AB,
        "b:2",
        ["<d>", "target but not in the source"],
    ),
    (
        "first <d> in the target only",
        {"a": "A\nB\n", "b": "<d>\nb\n"},
        AB,
        "b:1",
        ["<d>", "target but not in the source"],
    ),
    (
        "one side of TSV empty",
        {"a.tsv": "A\ta\nB\t\n"},
        {"source": "a.tsv"},
        "a.tsv:2",
        ["empty", "target but not in the source"],
    ),
    (
        "docids shorter",
        {"a": A3, "b": B3, "ids": "x\nx\n"},
        {**AB, "docids": "ids"},
        "ids:3",
        ["source file goes on", "docids file has ended", "2 lines"],
    ),
    (
        "docids longer",
        {"a": A3, "ids": "x\nx\ny\ny\n"},
        {"source": "a", "docids": "ids"},
        "a:4",
        ["docids file goes on", "source file has ended", "3 lines"],
    ),
    (
        "empty docid",
        {"a": "A\n\nC\n", "ids": "x\n\ny\n"},
        {"source": "a", "docids": "ids"},
        "ids:2",
        ["no docid"],
    ),
    (
        "starts do not begin at 1",
        {"a": A3, "starts": "2\n3\n"},
        {"source": "a", "starts": "starts"},
        "starts:1",
        ["first", "line 1", "not 2"],
    ),
    (
        "starts repeat",
        {"a": A3, "starts": "1\n2\n2\n"},
        {"source": "a", "starts": "starts"},
        "starts:3",
        ["ascend", "2 follows 2"],
    ),
    (
        "starts descend",
        {"a": A3, "starts": "1\n3\n2\n"},
        {"source": "a", "starts": "starts"},
        "starts:3",
        ["ascend", "2 follows 3"],
    ),
    (
        "starts beyond the end",
        {"a": A3, "starts": "1\n2\n4\n"},
        {"source": "a", "starts": "starts"},
        "starts:3",
        ["line 4", "beyond the end", "3 lines"],
    ),
    (
        "starts empty",
        {"a": A3, "starts": ""},
        {"source": "a", "starts": "starts"},
        "starts",
        ["no start lines"],
    ),
    ("not UTF-8", {"a": b"A\nB\xc3\xa4\xe4C\n"}, {"source": "a"}, "a:2", ["not UTF-8", "byte 4", "0xe4"]),
    ("not UTF-8 on the other side", {"a": A3, "b": b"\xff\n"}, AB, "b:1", ["not UTF-8", "byte 1", "0xff"]),
    (
        "not UTF-8 after a byte-order mark",
        {"a": b"\xef\xbb\xbfA\xff\n"},
        {"source": "a"},
        "a:1",
        ["not UTF-8", "byte 5 of the line", "0xff"],
    ),
    ("a character cut off", {"a": b"A\xe2\x82"}, {"source": "a"}, "a:1", ["not UTF-8", "byte 2", "0xe2"]),
    ("UTF-16", {"a": "A\n".encode("utf-16")}, {"source": "a"}, "a:1", ["not UTF-8", "byte 1"]),
    ("encoded surrogate", {"a": b"A\n\xed\xa0\x80\n"}, {"source": "a"}, "a:2", ["not UTF-8", "byte 1"]),
    (
        "docids not UTF-8",
        {"a": "A\n", "ids": b"\xff\n"},
        {"source": "a", "docids": "ids"},
        "ids:1",
        ["not UTF-8"],
    ),
    ("empty file", {"a": "", "b": ""}, AB, "a", ["no sentences"]),
    ("byte-order mark only", {"a": "\ufeff"}, {"source": "a", "boundaries": "none"}, "a", ["no sentences"]),
    ("empty lines only", {"a": "\n \n", "b": "\n\n"}, AB, "a", ["no sentences"]),
    ("<d> lines only", {"a": "<d>\n<d>\n"}, {"source": "a"}, "a", ["no sentences"]),
    ("empty TSV", {"a.tsv": ""}, {"source": "a.tsv"}, "a.tsv", ["no sentences"]),
    ("empty JSONL", {"a.jsonl": ""}, {"source": "a.jsonl"}, "a.jsonl", ["no sentences"]),
    (
        "empty file with start lines",
        {"a": "", "starts": "1\n"},
        {"source": "a", "starts": "starts"},
        "a",
        ["no sentences"],
    ),
    ("missing source", {}, {"source": "a"}, "a", ["cannot be read", "No such file"]),
    ("missing target", {"a": A3}, AB, "b", ["cannot be read", "No such file"]),
    ("missing .xz", {}, {"source": "a.xz"}, "a.xz", ["cannot be read", "No such file"]),
    (
        "missing docids",
        {"a": A3},
        {"source": "a", "docids": "ids"},
        "ids",
        ["cannot be read", "No such file"],
    ),
    ("missing starts", {"a": A3}, {"source": "a", "starts": "s"}, "s", ["cannot be read", "No such file"]),
    ("a directory", {}, {"source": "."}, "", ["cannot be read", "Is a directory"]),
    ("cut .xz", {"a.xz": XZ[:-20]}, {"source": "a.xz"}, r"a.xz:\d+", ["truncated or corrupt"]),
    ("cut .gz", {"a.gz": GZ[:-9]}, {"source": "a.gz"}, r"a.gz:\d+", ["truncated or corrupt"]),
    (
        "cut .bz2",
        {"a.bz2": bz2.compress(b"A\nB\n" * 99)[:-9]},
        {"source": "a.bz2"},
        r"a.bz2:\d+",
        ["truncated or corrupt"],
    ),
    ("empty .xz", {"a.xz": ""}, {"source": "a.xz"}, "a.xz:1", ["truncated or corrupt"]),
    (
        "wrong checksum",
        {"a.gz": GZ[:-8] + b"\0" * 8},
        {"source": "a.gz"},
        r"a.gz:\d+",
        ["truncated or corrupt", "CRC"],
    ),
    ("text called .xz", {"a.xz": A3}, {"source": "a.xz"}, "a.xz:1", ["truncated or corrupt"]),
    ("text called .gz", {"a.gz": A3}, {"source": "a.gz"}, "a.gz:1", ["truncated or corrupt", "gzip"]),
    ("text called .bz2", {"a.bz2": A3}, {"source": "a.bz2"}, "a.bz2:1", ["truncated or corrupt"]),
    (
        "broken deflate data",
        {"a.gz": GZ[:10] + b"\xff" * 20},
        {"source": "a.gz"},
        "a.gz:1",
        ["truncated or corrupt"],
    ),
    (
        "TSV of one column",
        {"a.tsv": "A\nB\n"},
        {"source": "a.tsv"},
        "a.tsv:1",
        ["columns: 1,", "source, target"],
    ),
    ("TSV of four columns", {"a.tsv": "A\ta\tx\ty\n"}, {"source": "a.tsv"}, "a.tsv:1", ["columns: 4,"]),
    (
        "TSV column missing",
        {"a.tsv": "\nA\ta\nB\n"},
        {"source": "a.tsv"},
        "a.tsv:3",
        ["columns: 1,", "line 2 has 2"],
    ),
    (
        "TSV column too many",
        {"a.tsv": "A\ta\nB\tb\tx\n"},
        {"source": "a.tsv"},
        "a.tsv:2",
        ["columns: 3,", "line 1 has 2"],
    ),
    (
        "empty line in TSV with docids",
        {"a.tsv": "A\ta\tx\n\nB\tb\ty\n"},
        {"source": "a.tsv"},
        "a.tsv:2",
        ["columns: 1,", "line 1 has 3"],
    ),
    (
        "empty line first in TSV with docids",
        {"a.tsv": "\nA\ta\tx\nB\tb\ty\n"},
        {"source": "a.tsv"},
        "a.tsv:1",
        ["columns: 1,"],
    ),
    (
        "empty docid in TSV",
        {"a.tsv": "A\ta\tx\nB\tb\t\n"},
        {"source": "a.tsv"},
        "a.tsv:2",
        ["no docid"],
    ),
    (
        "TSV without the docid column",
        {"a.tsv": "A\ta\n"},
        {"source": "a.tsv", "boundaries": "docids"},
        "a.tsv:1",
        ["no docid"],
    ),
]


JSON_ERRORS: list[tuple[str, str, int, list[str]]] = [
    ("no JSON", '{"source": ["A"]}\n{"source": [A]}\n', 2, ["not JSON", "column 13"]),
    ("empty line", '{"source": ["A"]}\n\n', 2, ["not JSON", "column 1"]),
    ("two objects", '{"source": ["A"]} {"source": ["A"]}', 1, ["not JSON", "Extra data", "column 19"]),
    ("cut", '{"source": ["A"', 1, ["not JSON", "column 16"]),
    ("deep", '{"source": ["A"]}\n' + "[" * 100_000, 2, ["not JSON", "recursion"]),
    ("huge number", '{"source": ["A"], "name": ' + "9" * 5000 + "}", 1, ["not JSON", "digits"]),
    ("no object", '["A"]\n', 1, ["not a JSON object", '["A"]']),
    ("no source", '{"source": ["A"]}\n{"target": ["A"]}\n', 2, ['"source" must be a string', "null"]),
    ("source is a number", '{"source": 5}\n', 1, ['"source" must be a string', "5"]),
    ("sentence is a number", '{"source": ["A", 5]}\n', 1, ['"source" must be a list of strings', '["A", 5]']),
    (
        "target is no list",
        '{"source": ["A"], "target": "a"}\n',
        1,
        ['"target" must be a list of strings', '"a"'],
    ),
    (
        "target is a list",
        '{"source": "A", "target": ["a"]}\n',
        1,
        ['"target" must be a string', '["a"]'],
    ),
    (
        "sides of different length",
        '{"source": ["A"], "target": ["a"]}\n{"source": ["A", "B"], "target": ["a"]}\n',
        2,
        ["2 sentences in the source", "1 in the target"],
    ),
    (
        "target empty",
        '{"source": ["A"], "target": []}\n',
        1,
        ["1 sentences in the source", "0 in the target"],
    ),
    ("no sentences", '{"source": ["A"]}\n{"source": []}\n', 2, ["without sentences"]),
    (
        "target missing",
        '{"source": ["A"], "target": ["a"]}\n{"source": ["B"]}\n',
        2,
        ["a document without a target", "line 1 is a document with a target"],
    ),
    (
        "target too many",
        '{"source": "A", "docid": "x"}\n{"source": "B", "target": "b", "docid": "x"}\n',
        2,
        ["a sentence with a target", "line 1 is a sentence without a target"],
    ),
    (
        "document among sentences",
        '{"source": "A", "docid": "x"}\n{"source": ["B"]}\n',
        2,
        ["a document", "line 1 is a sentence"],
    ),
    ("no docid", '{"source": "A", "docid": "x"}\n{"source": "B"}\n', 2, ["no docid", 'as "docid"']),
    ("docid is a list", '{"source": "A", "docid": ["x"]}\n', 1, ['"docid" must be a string', '["x"]']),
    ("name is an object", '{"source": ["A"], "name": {}}\n', 1, ['"name" must be a string', "{}"]),
    (
        "name of half a pair",
        '{"source": ["A"], "name": "\\ud83d"}\n',
        1,
        ['"name" must be a string', "ud83d"],
    ),
    ("line break", '{"source": ["A", "B\\nC"]}\n', 1, ["line break", 'sentence 2 of "source"']),
    (
        "half a surrogate pair",
        '{"source": ["A"], "target": ["\\ud83d"]}\n',
        1,
        ["surrogate", 'sentence 1 of "target"'],
    ),
]


ERRORS += [
    (
        f"start {bad[:9]!r}",
        {"a": A3, "starts": f"1\n{bad}\n"},
        {"source": "a", "starts": "starts"},
        "starts:2",
        ["not a line number", repr(bad[:40])],
    )
    for bad in ("x", "", "-2", "+2", "2.0", "1_0", "²", "٣", "9" * 5000)
]


ERRORS += [
    (f"JSON: {name}", {"a.jsonl": text}, {"source": "a.jsonl"}, f"a.jsonl:{line}", words)
    for name, text, line, words in JSON_ERRORS
]


@pytest.mark.parametrize(("files", "names", "place", "words"), [pytest.param(*case[1:], id=case[0]) for case in ERRORS])
def test_bad_input_is_named(
    tmp_path: Path, files: dict[str, str | bytes], names: dict[str, str], place: str, words: list[str]
) -> None:
    write(tmp_path, files)
    with pytest.raises(InputError) as caught:
        list(read_documents(pair_in(tmp_path, names)))
    message = str(caught.value)
    # Of broken compressed data, \d+ leaves open how many lines can still be read.
    beginning = re.match(re.escape(str(tmp_path)) + (f"/{place}: " if place else ": "), message)
    assert beginning, message
    rest = message[beginning.end() :]
    assert [word for word in words if word not in rest] == []
    assert "\n" not in message
    assert len(rest) < 200


# what FilePair is told, the file it complains of, words
PAIR_ERRORS: list[tuple[dict[str, str], str, list[str]]] = [
    ({"source": "a", "docids": "i", "starts": "s"}, "a", ["docids", "starts", "at once"]),
    ({"source": "a", "boundaries": "paragraphs"}, "a", ["'paragraphs'", "one of auto, empty-lines"]),
    ({"source": "a", "boundaries": "docids"}, "a", ["need a file of docids"]),
    ({"source": "a", "boundaries": "starts"}, "a", ["need a file of start lines"]),
    ({"source": "a.tsv", "boundaries": "starts"}, "a.tsv", ["need a file of start lines"]),
    ({"source": "a", "boundaries": "none", "docids": "i"}, "a", ["'none'", "file of docids"]),
    ({"source": "a", "boundaries": "docids", "starts": "s"}, "a", ["'docids'", "file of starts"]),
    ({"source": "a.jsonl.gz", "boundaries": "d-lines"}, "a.jsonl.gz", ["'d-lines'", "JSON lines"]),
    ({"source": "a.tsv", "target": "b"}, "a.tsv", ["both sides"]),
    ({"source": "a", "target": "b.jsonl.xz"}, "b.jsonl.xz", ["both sides"]),
]


@pytest.mark.parametrize(("names", "file", "words"), PAIR_ERRORS)
def test_pairs_that_cannot_be(tmp_path: Path, names: dict[str, str], file: str, words: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        pair_in(tmp_path, names)
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / file}: ")
    assert [word for word in words if word not in message] == []


@pytest.mark.parametrize("mode", ["none", "starts", "docids"])
def test_json_documents_need_no_boundaries(tmp_path: Path, mode: str) -> None:
    write(tmp_path, {"a.jsonl": '{"source": ["A"]}\n', "starts": "1\n"})
    names = {"source": "a.jsonl", "boundaries": mode, **({"starts": "starts"} if mode == "starts" else {})}
    with pytest.raises(InputError, match=f"a.jsonl:1: each line is a document here: boundaries '{mode}'"):
        list(read_documents(pair_in(tmp_path, names)))


def test_no_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(file: Path, mode: str) -> None:
        raise PermissionError(13, "Permission denied", str(file))

    # Not chmod: root, who runs CI, may read everything.
    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(InputError) as caught:
        list(read_documents(FilePair(tmp_path / "a")))
    assert str(caught.value) == f"{tmp_path / 'a'}: cannot be read: Permission denied"


def test_documents_before_an_error_come_first(tmp_path: Path) -> None:
    write(tmp_path, {"a": b"A\n\nB\n\n\xff\n"})
    documents = read_documents(FilePair(tmp_path / "a"))
    assert [next(documents).source, next(documents).source] == [["A"], ["B"]]
    with pytest.raises(InputError, match="a:5: not UTF-8"):
        next(documents)


class Typed(io.BytesIO):
    """A terminal: counts the lines asked for."""

    name = "<stdin>"
    asked = 0

    def readline(self, size: int | None = -1, /) -> bytes:
        self.asked += 1
        return super().readline(size)


@pytest.mark.parametrize(("text", "asked"), [("A\nB\n\nC\n\nD\n", [3, 5, 7]), ("<d>\nA\n<d>\nC\nD\n", [3, 6])])
def test_a_stream_is_read_no_further_than_needed(text: str, asked: list[int]) -> None:
    stream = Typed(text.encode())
    assert [stream.asked for _ in read_source(stream)] == asked
    assert not stream.closed


def test_stream_with_docids(tmp_path: Path) -> None:
    write(tmp_path, {"ids": "x\ny\n"})
    documents = list(read_source(io.BytesIO(b"\nB\n"), docids=tmp_path / "ids"))
    assert documents == [Document([""], None, "x", 1), Document(["B"], None, "y", 2)]


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        (Typed(b"A\n\xff\n"), "<stdin>:2: not UTF-8"),
        (Typed(b""), "<stdin>: no sentences"),
        (io.BytesIO(b"\n"), "<stream>: no sentences"),
    ],
)
def test_stream_errors(stream: io.BytesIO, message: str) -> None:
    with pytest.raises(InputError, match=message):
        list(read_source(stream))


def test_read_source_does_not_look_at_targets(tmp_path: Path) -> None:
    lines = '{"source": ["A"], "target": ["a"]}\n{"source": ["B"], "target": []}\n{"source": ["C"]}\n'
    write(tmp_path, {"a.jsonl": lines, "a.tsv": "A\ta\nB\t\n\nC\tc\n"})
    assert sides(read_source(tmp_path / "a.jsonl")) == [(["A"], None), (["B"], None), (["C"], None)]
    assert sides(read_source(str(tmp_path / "a.tsv"))) == [(["A", "B"], None), (["C"], None)]


def test_long_sentence(tmp_path: Path) -> None:
    sentence = "word " * 5000
    write(tmp_path, {"a": f"{sentence}\n\nA\n"})
    assert sides(read_documents(FilePair(tmp_path / "a"))) == [([sentence], None), (["A"], None)]
