from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from docflat.data.corpus import Corpus, CorpusWriter, Counts
from docflat.support.atomic import whole_folder
from docflat.support.errors import InputError

Sentences = list[list[int]]
DOCUMENTS: list[tuple[Sentences, Sentences]] = [
    ([[5, 6, 7], [8]], [[9, 10], [11, 12, 13]]),
    ([[], [1, 2]], [[3], []]),  # empty sentences keep their places
    ([[4]], [[299]]),
]


def write(folder: Path, documents: list[tuple[Sentences, Sentences]] = DOCUMENTS, vocabulary: int = 300) -> None:
    with CorpusWriter(folder, vocabulary, {"files": ["train.en"]}) as writer:
        for source, target in documents:
            writer.add(source, target)


def contents(corpus: Corpus) -> list[tuple[Sentences, Sentences]]:
    """All of a corpus, by the definition of its arrays."""
    documents = []
    for d in range(len(corpus.documents) - 1):
        numbers = range(corpus.documents[d], corpus.documents[d + 1])
        source, target = (
            [list(side.tokens[side.ends[i] : side.ends[i + 1]]) for i in numbers]
            for side in (corpus.source, corpus.target)
        )
        documents.append((source, target))
    return documents


def test_what_is_written_is_read(tmp_path: Path) -> None:
    write(tmp_path / "train")
    corpus = Corpus.open(tmp_path / "train")
    assert contents(corpus) == DOCUMENTS
    assert corpus.counts == Counts(documents=3, sentences=5, source_tokens=7, target_tokens=7)
    assert len(corpus) == 3
    assert len(corpus.source) == len(corpus.target) == 5
    assert [list(corpus.target[i]) for i in range(5)] == [[9, 10], [11, 12, 13], [3], [], [299]]
    assert list(corpus.source[-1]) == [4]
    with pytest.raises(IndexError):
        corpus.source[5]
    assert (corpus.name, corpus.vocabulary, corpus.about) == ("train", 300, {"files": ["train.en"]})


def test_arrays_are_as_promised(tmp_path: Path) -> None:
    write(tmp_path / "train")
    corpus = Corpus.open(str(tmp_path / "train"))
    for side in (corpus.source, corpus.target):
        assert side.tokens.dtype == np.uint16
        assert side.ends.dtype == np.int64
        assert side.ends[0] == 0
    assert np.diff(corpus.source.ends).tolist() == [3, 1, 0, 2, 1]
    assert corpus.documents.dtype == np.int64
    assert corpus.documents.tolist() == [0, 2, 4, 5]
    assert isinstance(corpus.source.tokens.base, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        corpus.source.tokens[0] = 1


def test_files_are_plain(tmp_path: Path) -> None:
    # Readable without docflat: little-endian numbers, npy, JSON.
    write(tmp_path / "train")
    assert sorted(os.listdir(tmp_path / "train")) == FILES
    assert (tmp_path / "train/source.bin").read_bytes() == bytes([5, 0, 6, 0, 7, 0, 8, 0, 1, 0, 2, 0, 4, 0])
    assert np.load(tmp_path / "train/target.ends.npy").tolist() == [0, 2, 5, 6, 6, 7]
    facts = json.loads((tmp_path / "train/corpus.json").read_text())
    assert facts["format"] == 1
    assert facts["dtype"] == "uint16"
    assert str(tmp_path) not in json.dumps(facts)


@pytest.mark.parametrize(("vocabulary", "dtype"), [(65536, np.uint16), (65537, np.uint32)])
def test_large_ids(tmp_path: Path, vocabulary: int, dtype: type) -> None:
    documents = [([[0, vocabulary - 1]], [[vocabulary - 1]])]
    write(tmp_path / "train", documents, vocabulary)
    corpus = Corpus.open(tmp_path / "train")
    assert corpus.source.tokens.dtype == dtype
    assert contents(corpus) == documents


sentence = st.lists(st.integers(0, 99_999), max_size=5)
document = st.lists(st.tuples(sentence, sentence), min_size=1, max_size=4)


@given(documents=st.lists(document, max_size=5))
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_corpus(tmp_path: Path, documents: list[list[tuple[list[int], list[int]]]]) -> None:
    shutil.rmtree(tmp_path / "train", ignore_errors=True)
    both = [([s for s, _ in pairs], [t for _, t in pairs]) for pairs in documents]
    write(tmp_path / "train", both, 100_000)
    assert contents(Corpus.open(tmp_path / "train")) == both


def test_all_sentences_empty(tmp_path: Path) -> None:
    write(tmp_path / "train", [([[]], [[]])])  # an empty file cannot be mapped
    assert contents(Corpus.open(tmp_path / "train")) == [([[]], [[]])]


def test_documents_in_parts(tmp_path: Path) -> None:
    write(tmp_path / "whole")
    with CorpusWriter(tmp_path / "parts", 300) as writer:
        for source, target in DOCUMENTS:
            for s, t in zip(source, target, strict=True):
                writer.extend([s], [t])
            writer.end_document()
        assert writer.counts == Counts(3, 5, 7, 7)
    parts, whole = Corpus.open(tmp_path / "parts"), Corpus.open(tmp_path / "whole")
    assert contents(parts) == DOCUMENTS
    assert parts.hash == whole.hash  # of the contents, not of how or where they were written


def test_parts_are_noted(tmp_path: Path) -> None:
    with CorpusWriter(tmp_path / "train", 300) as writer:
        for (source, target), part in zip(DOCUMENTS, ("web/a", "web/a", "b"), strict=True):
            writer.add(source, target, part)
    parts = Corpus.open(tmp_path / "train").parts
    assert [part.name for part in parts] == ["web/a", "b"]
    for part, documents in zip(parts, (DOCUMENTS[:2], DOCUMENTS[2:]), strict=True):
        sides = [[sentence for document in documents for sentence in document[side]] for side in (0, 1)]
        assert part.counts == Counts(len(documents), len(sides[0]), *(sum(map(len, side)) for side in sides))


def test_documents_of_a_part_follow_each_other(tmp_path: Path) -> None:
    with CorpusWriter(tmp_path / "train", 300) as writer:
        writer.add([[4]], [[5]], "a")
        writer.add([[4]], [[5]], "b")
        writer.extend([[4]], [[5]])
        with pytest.raises(ValueError, match="'a' before and after"):
            writer.end_document("a")
        writer.end_document("b")


@pytest.mark.parametrize(
    ("sampling", "times"),
    [
        ({}, [1, 1, 1]),
        ({"b": 2.5}, [1, 1, 2.5]),
        ({"web/a": 0, "b": 3}, [0, 0, 3]),
        ({"web/*": 0.5}, [0.5, 0.5, 1]),
        ({"*": 4, "web/*": 2, "b": 3}, [4, 4, 3]),  # the first glob, but a name before all globs
    ],
)
def test_times_of_documents(tmp_path: Path, sampling: dict[str, float], times: list[float]) -> None:
    with CorpusWriter(tmp_path / "train", 300) as writer:
        for part in ("web/a", "web/a", "b"):
            writer.add([[4]], [[5]], part)
    assert Corpus.open(tmp_path / "train").times(sampling).tolist() == times


def test_times_of_parts_that_are_not_there(tmp_path: Path) -> None:
    with CorpusWriter(tmp_path / "train", 300) as writer:
        writer.add([[4]], [[5]], "web/a")
        writer.add([[4]], [[5]], "b")
    corpus = Corpus.open(tmp_path / "train")
    with pytest.raises(InputError, match=r"stages\[0\]: there is no part 'c\*'; the parts are web/a, b"):
        corpus.times({"b": 1, "c*": 2}, "stages[0]")
    with pytest.raises(InputError, match="nothing to learn from"):
        corpus.times({"*": 0})


def test_a_corpus_of_an_earlier_docflat_has_no_parts(tmp_path: Path) -> None:
    write(tmp_path / "train")
    path = tmp_path / "train/corpus.json"
    facts = json.loads(path.read_text())
    del facts["parts"]
    path.write_text(json.dumps(facts))
    corpus = Corpus.open(tmp_path / "train")
    assert (contents(corpus), corpus.parts) == (DOCUMENTS, ())
    with pytest.raises(InputError, match="run docflat prepare again"):
        corpus.times({"a": 2})


def test_hash_tells_contents_apart(tmp_path: Path) -> None:
    variants = [
        DOCUMENTS,
        DOCUMENTS[::-1],
        [(source, target[::-1]) for source, target in DOCUMENTS],
        [(target, source) for source, target in DOCUMENTS],
        [
            (DOCUMENTS[0][0] + DOCUMENTS[1][0], DOCUMENTS[0][1] + DOCUMENTS[1][1]),
            DOCUMENTS[2],
        ],  # a boundary less
        [([[5, 6], [7, 8]], DOCUMENTS[0][1]), *DOCUMENTS[1:]],  # a token in the other sentence
    ]
    hashes = set()
    for number, documents in enumerate(variants):
        write(tmp_path / str(number), documents)
        hashes.add(Corpus.open(tmp_path / str(number)).hash)
    write(tmp_path / "wide", DOCUMENTS, 70_000)
    hashes.add(Corpus.open(tmp_path / "wide").hash)
    assert len(hashes) == len(variants) + 1


def test_an_exception_leaves_nothing_behind(tmp_path: Path) -> None:
    def interrupted() -> None:
        with CorpusWriter(tmp_path / "train", 300) as writer:
            writer.add(*DOCUMENTS[0])
            (name,) = os.listdir(tmp_path)
            assert name.endswith(".partial")  # not under its name before it is whole
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "document", [([[1]], [[1], [2]]), ([[300]], [[1]]), ([[1]], [[-1]]), ([[1]], [[65536 + 1]]), ([], [])]
)
def test_what_cannot_be_written_leaves_nothing_behind(tmp_path: Path, document: tuple[Sentences, Sentences]) -> None:
    with pytest.raises(ValueError):
        write(tmp_path / "train", [*DOCUMENTS, document])
    assert os.listdir(tmp_path) == []


def test_documents_must_be_ended(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not ended"), CorpusWriter(tmp_path / "train", 300) as writer:
        writer.extend([[1]], [[1]])
    assert os.listdir(tmp_path) == []


def test_failure_at_the_end_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError("no space")

    monkeypatch.setattr(np, "save", fail)
    with pytest.raises(OSError, match="no space"):
        write(tmp_path / "train")
    assert os.listdir(tmp_path) == []


def test_existing_folders(tmp_path: Path) -> None:
    write(tmp_path / "train")
    before = Corpus.open(tmp_path / "train").hash
    with pytest.raises(InputError, match="train: exists already"):
        write(tmp_path / "train", DOCUMENTS[:1])
    assert Corpus.open(tmp_path / "train").hash == before
    (tmp_path / "empty").mkdir()
    write(tmp_path / "empty")
    assert contents(Corpus.open(tmp_path / "empty")) == DOCUMENTS
    (tmp_path / "file").write_text("precious")
    with pytest.raises(InputError, match="file: exists already"):
        write(tmp_path / "file")
    with pytest.raises(InputError, match="below: cannot be made"):
        write(tmp_path / "file" / "below")


def test_whole_folder_replaces_only_at_the_end(tmp_path: Path) -> None:
    old = tmp_path / "out"
    old.mkdir()
    (old / "a").write_text("old")
    (tmp_path / "link").symlink_to(old, target_is_directory=True)
    with pytest.raises(FileExistsError), whole_folder(old, force=True) as folder:
        folder.mkdir()  # any error
    assert (old / "a").read_text() == "old"
    with whole_folder(tmp_path / "link", force=True) as folder:
        (folder / "a").write_text("new")
        assert (old / "a").read_text() == "old"
    assert (old / "a").read_text() == "new"
    assert sorted(os.listdir(tmp_path)) == ["link", "out"]


def damage(folder: Path, name: str, how: str) -> None:
    file = folder / name
    data = file.read_bytes()
    if how == "missing":
        file.unlink()
    elif how == "empty":
        file.write_bytes(b"")
    elif how == "truncated":
        file.write_bytes(data[:-1])
    elif how == "longer":
        file.write_bytes(data + b"\0\0")
    elif how == "garbage":
        file.write_bytes(b"\xff\x00garbage" * 20)
    elif how == "a folder":
        file.unlink()
        file.mkdir()


FILES = ["corpus.json", "documents.npy", "source.bin", "source.ends.npy", "target.bin", "target.ends.npy"]
DAMAGE = ["missing", "empty", "truncated", "longer", "garbage", "a folder"]


@pytest.mark.parametrize(
    ("name", "how"),
    # npy says itself how long it is, and what follows does not matter.
    [(name, how) for name in FILES for how in DAMAGE if not (name.endswith(".npy") and how == "longer")],
)
def test_damaged_files_are_named(tmp_path: Path, name: str, how: str) -> None:
    write(tmp_path / "train")
    if (name, how) == ("corpus.json", "truncated"):
        damage(tmp_path / "train", name, how)  # the last character is a line break
    damage(tmp_path / "train", name, how)
    with pytest.raises(InputError, match=rf"train/{name}: "):
        Corpus.open(tmp_path / "train")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("format", 2),
        ("format", None),
        ("documents", 2),
        ("documents", -1),
        ("sentences", 4),
        ("sentences", "5"),
        ("source_tokens", 8),
        ("target_tokens", 6),
        ("target_tokens", True),
        ("vocabulary", 70_000),
        ("dtype", "float64"),
        ("hash", None),
        ("about", []),
        ("parts", None),
        ("parts", [{"name": "a"}]),
        ("parts", [{"name": "a", "documents": 2, "sentences": 5, "source_tokens": 7, "target_tokens": 7}]),
    ],
)
def test_index_that_does_not_fit(tmp_path: Path, key: str, value: object) -> None:
    write(tmp_path / "train")
    path = tmp_path / "train/corpus.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    with pytest.raises(InputError, match="train/"):
        Corpus.open(tmp_path / "train")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("documents", [0, 2, 2, 5]),
        ("documents", [0, 4, 2, 5]),
        ("documents", [1, 2, 4, 5]),
        ("source.ends", [0, 3, 2, 4, 6, 7]),
        ("source.ends", [0, 3, 4, 4, 6, 8]),
        ("target.ends", np.array([0, 2, 5, 6, 6, 7], np.int32)),
        ("target.ends", np.array([0, 2, 5, 6, 6, 7], np.float64)),
        ("target.ends", np.array([[0, 2, 5], [6, 6, 7]])),
        ("target.ends", np.array([{}], object)),
    ],
)
def test_ends_that_do_not_fit(tmp_path: Path, name: str, values: object) -> None:
    write(tmp_path / "train")
    np.save(tmp_path / f"train/{name}.npy", np.asarray(values))
    with pytest.raises(InputError, match=rf"train/{name}\.npy"):
        Corpus.open(tmp_path / "train")


def test_not_a_corpus(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere/corpus\.json: not an encoded corpus"):
        Corpus.open(tmp_path / "nowhere")
    (tmp_path / "corpus.json").write_text('{"name": "something else"}')
    with pytest.raises(InputError, match="not the index"):
        Corpus.open(tmp_path)
    (tmp_path / "corpus.json").write_text('{"format": 99}')
    with pytest.raises(InputError, match="has format 99, this docflat reads 1"):
        Corpus.open(tmp_path)
