"""Documents come back as they were written."""

from __future__ import annotations

import bz2
import dataclasses
import gzip
import json
import lzma
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docflat.data.documents import FilePair, read_documents, read_source
from document_files import pair_in, sides, write


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("round-trip")


COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "": lambda data: data,
    ".xz": lzma.compress,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
}


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
