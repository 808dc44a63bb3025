"""Documents come back as they were written, and every kind of bad input is named by file and line."""

from __future__ import annotations

import bz2
import dataclasses
import gzip
import io
import json
import lzma
import re
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docflat.data.documents import Document, FilePair, read_documents, read_source
from docflat.support.errors import InputError

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "": lambda data: data,
    ".xz": lzma.compress,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
}


def write(folder: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        data = content.encode() if isinstance(content, str) else content
        (folder / name).write_bytes(data)


def pair_in(folder: Path, names: dict[str, str]) -> FilePair:
    """A FilePair whose file names are taken in `folder`."""
    return FilePair(**{key: name if key == "boundaries" else folder / name for key, name in names.items()})  # type: ignore[arg-type]


def sides(documents: Iterator[Document]) -> list[tuple[list[str], list[str] | None]]:
    return [(document.source, document.target) for document in documents]


# Two sides that hold the same documents, in every marking.
TEXT = {"source": "a.en", "target": "a.de"}
WANTED = [(["A b.", "C."], ["a B.", "c."]), (["D."], ["d."])]
MARKINGS: dict[str, tuple[dict[str, str | bytes], dict[str, str]]] = {
    "empty lines": ({"a.en": "A b.\nC.\n\nD.\n", "a.de": "a B.\nc.\n\nd.\n"}, TEXT),
    "no newline at the end": ({"a.en": "A b.\nC.\n\nD.", "a.de": "a B.\nc.\n\nd."}, TEXT),
    "newline at the end of one side": ({"a.en": "A b.\nC.\n\nD.\n", "a.de": "a B.\nc.\n\nd."}, TEXT),
    "many empty lines": ({"a.en": "\n\nA b.\nC.\n\n\nD.\n\n", "a.de": "\n\na B.\nc.\n\n\nd.\n\n"}, TEXT),
    "blank lines": ({"a.en": "A b.\nC.\n \nD.\n", "a.de": "a B.\nc.\n\t\u3000\nd.\n"}, TEXT),
    "CRLF": ({"a.en": "A b.\r\nC.\r\n\r\nD.\r\n", "a.de": "a B.\nc.\n\nd.\n"}, TEXT),
    "byte-order mark": ({"a.en": "\ufeffA b.\nC.\n\nD.\n", "a.de": "\ufeffa B.\nc.\n\nd.\n"}, TEXT),
    "d lines": ({"a.en": "<d>\nA b.\nC.\n<d>\nD.\n", "a.de": "<d>\na B.\nc.\n<d>\nd.\n"}, TEXT),
    "d lines after a byte-order mark": (
        {"a.en": "\ufeff<d>\r\nA b.\r\nC.\r\n<d>\r\nD.", "a.de": "<d>\na B.\nc.\n<d>\nd.\n"},
        TEXT,
    ),
    "d lines between": (
        {"a.en": "A b.\nC.\n<d>\nD.\n", "a.de": "a B.\nc.\n<d>\nd.\n"},
        {**TEXT, "boundaries": "d-lines"},
    ),
    "d lines in a row": (
        {
            "a.en": "<d>\n<d>\nA b.\nC.\n<d>\n<d>\nD.\n<d>\n",
            "a.de": "<d>\n<d>\na B.\nc.\n<d>\n<d>\nd.\n<d>\n",
        },
        TEXT,
    ),
    "docids": (
        {"a.en": "A b.\nC.\nD.\n", "a.de": "a B.\nc.\nd.\n", "ids": "x\nx\ny\n"},
        {**TEXT, "docids": "ids"},
    ),
    "starts": (
        {"a.en": "A b.\nC.\nD.\n", "a.de": "a B.\nc.\nd.\n", "starts": "1\n 3\r\n"},
        {**TEXT, "starts": "starts"},
    ),
    "TSV, docid column": ({"a.tsv": "A b.\ta B.\tx\nC.\tc.\tx\nD.\td.\ty\n"}, {"source": "a.tsv"}),
    "TSV, empty line": ({"a.tsv": "A b.\ta B.\nC.\tc.\n\nD.\td.\n"}, {"source": "a.tsv"}),
    "TSV, empty columns": ({"a.tsv": "A b.\ta B.\nC.\tc.\n\t\nD.\td.\n"}, {"source": "a.tsv"}),
    "TSV, empty line first": ({"a.tsv": "\nA b.\ta B.\nC.\tc.\n\nD.\td.\n"}, {"source": "a.tsv"}),
    "TSV, d lines": ({"a.tsv": "<d>\nA b.\ta B.\nC.\tc.\n<d>\nD.\td.\n"}, {"source": "a.tsv"}),
    "TSV, d columns": ({"a.tsv": "<d>\t<d>\nA b.\ta B.\nC.\tc.\n<d>\t<d>\nD.\td.\n"}, {"source": "a.tsv"}),
    "TSV, docid column overruled by empty lines": (
        {"a.tsv": "A b.\ta B.\tx\nC.\tc.\ty\n\nD.\td.\ty\n"},
        {"source": "a.tsv", "boundaries": "empty-lines"},
    ),
    "TSV, docid column overruled by docids": (
        {"a.tsv": "A b.\ta B.\tx\nC.\tc.\ty\nD.\td.\ty\n", "ids": "1\n1\n2\n"},
        {"source": "a.tsv", "docids": "ids"},
    ),
    "TSV, starts": (
        {"a.TSV": "A b.\ta B.\nC.\tc.\nD.\td.\n", "starts": "1\n3\n"},
        {"source": "a.TSV", "starts": "starts"},
    ),
    "JSON documents": (
        {
            "a.jsonl": '{"source": ["A b.", "C."], "target": ["a B.", "c."]}\n'
            '{"target": ["d."], "source": ["D."], "name": "y", "more": 1}\n'
        },
        {"source": "a.jsonl"},
    ),
    "JSON sentences": (
        {
            "a.jsonl": '{"source": "A b.", "target": "a B.", "docid": "x"}\n'
            '{"source": "C.", "target": "c.", "docid": "x"}\n{"source": "D.", "target": "d.", "docid": 7}\n'
        },
        {"source": "a.jsonl"},
    ),
    "JSON sentences, starts": (
        {
            "a.jsonl": '{"source": "A b.", "target": "a B."}\n'
            '{"source": "C.", "target": "c."}\n{"source": "D.", "target": "d."}\n',
            "starts": "1\n3",
        },
        {"source": "a.jsonl", "starts": "starts"},
    ),
}


@pytest.mark.parametrize("marking", MARKINGS)
def test_every_marking_gives_the_same_documents(tmp_path: Path, marking: str) -> None:
    files, names = MARKINGS[marking]
    write(tmp_path, files)
    pair = pair_in(tmp_path, names)
    assert sides(read_documents(pair)) == WANTED
    # The same file without its other side, as `docflat translate` reads it.
    alone = read_source(pair.source, pair.boundaries, pair.docids, pair.starts)
    assert sides(alone) == [(source, None) for source, _ in WANTED]


# name, files, names, (source, target, name, line) of each document
CASES: list[tuple[str, dict[str, str | bytes], dict[str, str], list[tuple[Any, ...]]]] = [
    ("source only", {"a": "A\n\nB\n"}, {"source": "a"}, [(["A"], None, "", 1), (["B"], None, "", 3)]),
    (
        "a document starts at its first sentence",
        {"a": "\n\nA\nB\n\n\nC\n"},
        {"source": "a"},
        [(["A", "B"], None, "", 3), (["C"], None, "", 7)],
    ),
    (
        "also after <d>",
        {"a": "<d>\nA\nB\n<d>\nC\n"},
        {"source": "a"},
        [(["A", "B"], None, "", 2), (["C"], None, "", 5)],
    ),
    (
        "docids become names, and a docid that comes back is a new document",
        {"a": "A\nB\nC\nD\n", "ids": "x 1\nx 1\ny\nx 1\n"},
        {"source": "a", "docids": "ids"},
        [(["A", "B"], None, "x 1", 1), (["C"], None, "y", 3), (["D"], None, "x 1", 4)],
    ),
    (
        "start lines give no names",
        {"a": "A\nB\nC\n", "starts": "1\n2\n"},
        {"source": "a", "starts": "starts"},
        [(["A"], None, "", 1), (["B", "C"], None, "", 2)],
    ),
    (
        "names in TSV",
        {"a.tsv": "A\tB\tx\nC\tD\ty\n"},
        {"source": "a.tsv"},
        [(["A"], ["B"], "x", 1), (["C"], ["D"], "y", 2)],
    ),
    (
        "a docid may be called <d>",
        {"a.tsv": "A\tB\t<d>\nC\tD\ty\n"},
        {"source": "a.tsv"},
        [(["A"], ["B"], "<d>", 1), (["C"], ["D"], "y", 2)],
    ),
    (
        "names in JSON",
        {"a.jsonl": '{"source": ["A", ""], "name": "x"}\n{"source": ["B"], "target": null, "name": 0}\n'},
        {"source": "a.jsonl"},
        [(["A", ""], None, "x", 1), (["B"], None, "0", 2)],
    ),
    (
        "none: empty lines and <d> lines are sentences",
        {"a": "<d>\n\nA\n  \n", "b": "\nB\n\n\n"},
        {"source": "a", "target": "b", "boundaries": "none"},
        [(["<d>", "", "A", "  "], ["", "B", "", ""], "", 1)],
    ),
    (
        "lines: each is a document, empty ones too",
        {"a": "A\n\n<d>\n", "b": "B\n\nC\n"},
        {"source": "a", "target": "b", "boundaries": "lines"},
        [(["A"], ["B"], "", 1), ([""], [""], "", 2), (["<d>"], ["C"], "", 3)],
    ),
    (
        "lines: of one side, docids are not looked at",
        {"a.tsv": "A\tB\tx\nC\tD\tx\n"},
        {"source": "a.tsv", "boundaries": "lines"},
        [(["A"], ["B"], "", 1), (["C"], ["D"], "", 2)],
    ),
    (
        "none: docids are not looked at",
        {"a.tsv": "A\tB\tx\nC\tD\ty\n"},
        {"source": "a.tsv", "boundaries": "none"},
        [(["A", "C"], ["B", "D"], "", 1)],
    ),
    (
        "<d> lines: an empty line is a sentence, and so is what only resembles <d>",
        {"a": "<d>\nA\n\n <d>\n<d> \n", "b": "<d>\n\nB\n<D>\n<d>x\n"},
        {"source": "a", "target": "b"},
        [(["A", "", " <d>", "<d> "], ["", "B", "<D>", "<d>x"], "", 2)],
    ),
    (
        "empty lines: <d> is a sentence",
        {"a": "<d>\n\nA\n"},
        {"source": "a", "boundaries": "empty-lines"},
        [(["<d>"], None, "", 1), (["A"], None, "", 3)],
    ),
    (
        "docids, starts: an empty line is a sentence",
        {"a": "A\n\n", "b": "\n\n", "starts": "1\n2\n"},
        {"source": "a", "target": "b", "starts": "starts"},
        [(["A"], [""], "", 1), ([""], [""], "", 2)],
    ),
    (
        "only \\n and \\r\\n end a line; other whitespace stays",
        {"a": " A\u2028B\x0bC\x85D\rE\x0cF \r\r\nG\r"},
        {"source": "a"},
        [([" A\u2028B\x0bC\x85D\rE\x0cF \r", "G\r"], None, "", 1)],
    ),
    (
        "a byte-order mark counts at the start of the file only",
        {"a": "\ufeff\ufeffA\n\ufeffB\n"},
        {"source": "a"},
        [(["\ufeffA", "\ufeffB"], None, "", 1)],
    ),
    (
        "the inner suffix tells the kind",
        {"a.tsv.xz": lzma.compress(b"A\tB\n"), "a.tsv.en": "A\tB\n"},
        {"source": "a.tsv.xz"},
        [(["A"], ["B"], "", 1)],
    ),
    (
        "text whose name has tsv in it",
        {"a.tsv.en": "A\tB\n"},
        {"source": "a.tsv.en"},
        [(["A\tB"], None, "", 1)],
    ),
    (
        "several compressed streams in one file",
        {"a.gz": gzip.compress(b"A\n") + gzip.compress(b"B\n")},
        {"source": "a.gz"},
        [(["A", "B"], None, "", 1)],
    ),
]


@pytest.mark.parametrize(("files", "names", "wanted"), [pytest.param(*case[1:], id=case[0]) for case in CASES])
def test_documents(
    tmp_path: Path, files: dict[str, str | bytes], names: dict[str, str], wanted: list[tuple[Any, ...]]
) -> None:
    write(tmp_path, files)
    found = [dataclasses.astuple(document) for document in read_documents(pair_in(tmp_path, names))]
    assert found == wanted


# What a line can hold, with characters that other readers take for line ends or for nothing.
ALPHABET = st.one_of(
    st.sampled_from("aß。 \x0b\x0c\x1c\x85\u2028\u2029\r\xa0\ufeff\x00😀<d>"),
    st.characters(exclude_categories=["Cs"], exclude_characters="\n\t"),
)
SENTENCE = st.text(ALPHABET, max_size=8).filter(
    # A final \r would be half of a CRLF; a mark would be a boundary; a first U+FEFF a byte-order mark.
    lambda text: not text.endswith("\r") and text != "<d>" and not text.startswith("\ufeff")
)
DOCUMENTS = st.lists(st.lists(st.tuples(SENTENCE, SENTENCE), min_size=1, max_size=4), min_size=1, max_size=4)
KINDS = ["empty-lines", "d-lines", "docids", "starts", "none", "tsv", "json documents", "json sentences"]


def marked(kind: str, documents: list[list[tuple[str, str]]]) -> tuple[dict[str, list[str]], dict[str, str]]:
    """The lines of each file in this marking, and what FilePair is to be told."""
    rows = [(s, t, str(n)) for n, document in enumerate(documents) for s, t in document]
    if kind == "tsv":
        return {"source": ["\t".join(row) for row in rows]}, {"source": "a.tsv"}
    if kind == "json sentences":
        lines = [json.dumps({"source": s, "target": t, "docid": n}) for s, t, n in rows]
        return {"source": lines}, {"source": "a.jsonl"}
    if kind == "json documents":
        objects = [{"source": [s for s, _ in each], "target": [t for _, t in each]} for each in documents]
        return {"source": [json.dumps(each, ensure_ascii=False) for each in objects]}, {"source": "a.jsonl"}
    files = {"source": [s for s, _, _ in rows], "target": [t for _, t, _ in rows]}
    names = {"source": "a.en", "target": "a.de"}
    if kind == "docids":
        return {**files, "docids": [n for _, _, n in rows]}, {**names, "docids": "a.ids"}
    if kind == "starts":
        starts = [sum(map(len, documents[:n])) + 1 for n in range(len(documents))]
        return {**files, "starts": [str(start) for start in starts]}, {**names, "starts": "a.starts"}
    if kind in ("empty-lines", "d-lines"):
        mark = "" if kind == "empty-lines" else "<d>"
        for side, name in enumerate(("source", "target")):
            files[name] = [line for each in documents for line in (mark, *(row[side] for row in each))]
    return files, {**names, "boundaries": kind}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("round-trip")


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60, deadline=None)
@given(
    documents=DOCUMENTS,
    suffix=st.sampled_from(list(COMPRESS)),
    end=st.sampled_from(["\n", "\r\n"]),
    final=st.booleans(),
    bom=st.booleans(),
)
def test_round_trip(
    folder: Path,
    kind: str,
    documents: list[list[tuple[str, str]]],
    suffix: str,
    end: str,
    final: bool,
    bom: bool,
) -> None:
    if kind == "empty-lines":  # which cannot hold an empty sentence
        documents = [[(s if s.strip() else "x", t if t.strip() else "y") for s, t in each] for each in documents]
    elif kind == "none":
        documents = [[row for each in documents for row in each]]
    files, names = marked(kind, documents)
    for key, lines in files.items():
        # Without a final newline a last empty line would not be there at all.
        text = end.join(lines) + (end if final or not lines[-1] else "")
        names[key] += suffix
        data = COMPRESS[suffix]((("\ufeff" if bom else "") + text).encode())
        (folder / names[key]).write_bytes(data)
    wanted = [([s for s, _ in each], [t for _, t in each]) for each in documents]
    assert sides(read_documents(pair_in(folder, names))) == wanted


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


def test_a_huge_line_costs_few_copies(tmp_path: Path) -> None:
    size = 16 << 20
    write(tmp_path, {"a": b"x" * size + b"\n"})
    tracemalloc.start()
    (document,) = read_documents(FilePair(tmp_path / "a"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(document.source[0]) == size
    assert peak < 4 * size


def test_only_a_document_at_a_time_is_in_memory(tmp_path: Path) -> None:
    size = 1 << 20
    document = b"word\n" * 50 + b"\n"
    write(tmp_path, {"a": document * (size // len(document))})
    tracemalloc.start()
    count = sum(1 for _ in read_documents(FilePair(tmp_path / "a", tmp_path / "a")))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == size // len(document)
    # All of it would be some 25 times its size, as strings of four letters.
    assert peak < size
