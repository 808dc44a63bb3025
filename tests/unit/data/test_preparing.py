from __future__ import annotations

import json
import lzma
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import docflat.data.preparing
from docflat.data.corpus import Corpus, Counts
from docflat.data.documents import Document, FilePair
from docflat.data.preparing import Prepared, choose_held_out, part_names, prepare
from docflat.data.subwords import Subwords
from docflat.support.errors import InputError

Text = list[list[tuple[str, str]]]  # documents of sentence pairs


def made_up(documents: int, seed: int = 1, longest: int = 12) -> Text:
    """Sentences that tell where they stand, so that none can be mistaken for another."""
    rng = random.Random(seed)

    def sentence(place: str, words: str) -> str:
        return f"{place} " + " ".join(rng.choices(words.split(), k=rng.randint(1, 8)))

    return [
        [
            (sentence(f"{d}.{i}", "the cat sat on a mat"), sentence(f"{d}:{i}", "die Katze saß auf der Matte"))
            for i in range(rng.randint(1, longest))
        ]
        for d in range(documents)
    ]


def write(folder: Path, name: str, text: Text) -> FilePair:
    files = folder / f"{name}.en", folder / f"{name}.de"
    for side, file in enumerate(files):
        lines = "\n\n".join("\n".join(pair[side] for pair in document) for document in text)
        file.write_text(lines + "\n", encoding="utf-8")
    return FilePair(*files)


def read(folder: Path) -> Text:
    """A prepared corpus as text again."""
    subwords = Subwords.load(folder.parent / "tokenizer.json")
    corpus = Corpus.open(folder)
    assert corpus.vocabulary == subwords.size
    return [
        [(subwords.decode(corpus.source[i], "source"), subwords.decode(corpus.target[i], "target")) for i in numbers]
        for numbers in (range(*corpus.documents[d : d + 2]) for d in range(len(corpus)))
    ]


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_text_comes_back(tmp_path: Path) -> None:
    train, more, valid = made_up(30), made_up(5, seed=2), made_up(4, seed=3)
    pairs = [write(tmp_path, "train", train), write(tmp_path, "more", more)]
    result = prepare(pairs, tmp_path / "out", [write(tmp_path, "valid", valid)], vocabulary=310, index_tokens=9)
    assert read(tmp_path / "out/train") == train + more
    assert read(tmp_path / "out/valid") == valid
    assert sorted(os.listdir(tmp_path / "out")) == ["tokenizer.json", "train", "valid"]
    subwords = Subwords.load(tmp_path / "out/tokenizer.json")
    tokens = [
        sum(len(subwords.encode(pair[side])) for document in train + more for pair in document) for side in (0, 1)
    ]
    sentences = sum(map(len, train + more))
    assert result.train == Counts(35, sentences, *tokens) == Corpus.open(tmp_path / "out/train").counts
    assert result.valid == Corpus.open(tmp_path / "out/valid").counts
    assert (result.folder, result.text_size, result.index_tokens) == (tmp_path / "out", 310, 9)
    assert result.notes == ()


def test_parts_are_called_by_their_files() -> None:
    names = part_names([Path("/a/europarl/train.en.xz"), Path("/a/web/talk.2012.en"), Path("/a/x/../memory.tmx.gz")])
    assert names == ["europarl/train", "web/talk.2012", "memory"]
    assert part_names([Path("/a/b/train.en")]) == ["train"]
    assert part_names([Path("b/train.en"), Path("b/train.fr"), Path("b/other.en")]) == ["train", "train#2", "other"]
    assert part_names([]) == []


def test_parts_have_what_is_left_of_their_files(tmp_path: Path) -> None:
    lines = [pair for document in made_up(40, seed=2) for pair in document]
    pairs = [write(tmp_path, "a", made_up(60)), write(tmp_path, "b", [lines])]
    result = prepare(pairs, tmp_path / "out", vocabulary=300, hold_out=10, loose=["b"])
    train, valid = (Corpus.open(tmp_path / "out" / split) for split in ("train", "valid"))
    assert result.parts == train.parts
    assert [part.name for part in train.parts] == ["a", "b"]
    documents = Counter[str]()
    for part in (*train.parts, *valid.parts):
        documents[part.name] += part.counts.documents
    assert documents == {"a": 60, "b": len(lines)}, "each line of b is a document"


def test_loose_names_a_part(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--loose: there is no part 'c'; the parts are a"):
        prepare([write(tmp_path, "a", made_up(6))], tmp_path / "out", loose=["c"])


def test_cleaning_leaves_sentences_out_and_documents_together(tmp_path: Path) -> None:
    good = [("Good morning.", "Guten Morgen."), ("We begin.", "Wir beginnen."), ("Goodbye.", "Auf Wiedersehen.")]
    bad = ("* * *", "* * *")
    known = ("This sentence is in the test set.", "Dieser Satz ist im Testset.")
    text = [[good[0], bad, good[1]], [bad, bad], [known, good[2]], [known]]
    (tmp_path / "test.en").write_text(known[0] + "\n")
    pairs = [write(tmp_path, "a", text), write(tmp_path, "b", [[good[1]]])]
    valid = [write(tmp_path, "valid", [[bad, known]])]
    result = prepare(pairs, tmp_path / "out", valid, vocabulary=300, clean=True, exclude=[tmp_path / "test.en"])
    assert read(tmp_path / "out/train") == [good[:2], [good[2]], [good[1]]]
    assert read(tmp_path / "out/valid") == [[bad, known]], "what is measured is not cleaned"
    assert result.dropped == {"a": {"signs": 3, "excluded": 2}, "b": {}}
    assert Corpus.open(tmp_path / "out/train").about["dropped"] == result.dropped
    with pytest.raises(InputError, match="cleaning leaves no sentence"):
        prepare([write(tmp_path, "c", [[bad]])], tmp_path / "none", clean=True)


def test_subwords_are_those_of_the_training_text(tmp_path: Path) -> None:
    train, valid = made_up(30), [[("zebra zebra zebra", "Zebra Zebra Zebra")] * 50]
    prepare([write(tmp_path, "train", train)], tmp_path / "out", [write(tmp_path, "valid", valid)], vocabulary=400)
    texts = [text for document in train for pair in document for text in pair]
    assert Subwords.load(tmp_path / "out/tokenizer.json").hash == Subwords.learn(texts, 400).hash


def test_subwords_are_not_learned_from_what_is_held_out(tmp_path: Path) -> None:
    text = made_up(100)
    prepare([write(tmp_path, "train", text)], tmp_path / "out", vocabulary=400, hold_out=10)
    kept = [t for document in read(tmp_path / "out/train") for pair in document for t in pair]
    assert Subwords.load(tmp_path / "out/tokenizer.json").hash == Subwords.learn(kept, 400).hash


@pytest.mark.parametrize(("most", "step"), [(10**6, 1), (300, 2), (200, 3), (1, 600)])
def test_learns_from_evenly_spread_sentences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, step: int
) -> None:
    text = [[(f"source {d * 6 + i}", f"target {d * 6 + i}") for i in range(6)] for d in range(100)]
    seen: list[str] = []
    learn = Subwords.learn

    def spy(texts: Iterator[str], *arguments: object, target_texts: Iterator[str]) -> Subwords:
        sources, targets = list(texts), list(target_texts)
        assert [t.replace("target", "source") for t in targets] == sources
        seen.extend(sources)
        return learn(sources, 300)

    monkeypatch.setattr(Subwords, "learn", spy)
    pair = write(tmp_path, "train", text)
    prepare([pair], tmp_path / "out", [pair], learn_from=most)
    places = [int(sentence.split()[1]) for sentence in seen]
    assert len(places) == min(most, 600)
    assert set(np.diff(places).tolist()) <= {step}


def test_held_out_documents_are_whole_and_nowhere_else(tmp_path: Path) -> None:
    text = made_up(400)
    result = prepare([write(tmp_path, "train", text)], tmp_path / "out", vocabulary=400)
    train, valid = read(tmp_path / "out/train"), read(tmp_path / "out/valid")
    assert len(valid) > 1
    assert [d for d in text if d not in valid] == train  # every sentence once, all in order
    assert [d for d in text if d in valid] == valid
    assert result.valid is not None
    assert result.valid.sentences <= 0.02 * sum(map(len, text))
    assert result.notes == ()


@given(st.lists(st.integers(1, 60), min_size=2, max_size=300), st.integers(1, 100))
def test_choice_of_held_out(sizes: list[int], sentences: int) -> None:
    held = choose_held_out(np.array(sizes), sentences)
    chosen = [size for size, out in zip(sizes, held, strict=True) if out]
    most = min(sentences, 0.02 * sum(sizes))
    assert 1 <= len(chosen) < len(sizes)
    assert sum(chosen) <= most or chosen == [min(sizes)]
    # Evenly spread: of any stretch of documents, as many as of any other equally long one, or one more.
    counts = np.concatenate([[0], np.cumsum(held)])
    for length in {1, len(sizes) // 3 + 1, len(sizes) // 2}:
        within = counts[length:] - counts[:-length]
        assert len(chosen) == 1 or within.max() - within.min() <= 1


def test_choice_of_held_out_comes_close() -> None:
    sizes = np.random.default_rng(0).geometric(0.1, 160_000)  # as many and as long as Europarl's
    held = choose_held_out(sizes, 2000)
    assert 1700 <= sizes[held].sum() <= 2000
    assert abs(sizes[held].mean() - sizes.mean()) < 1.5  # documents like the others
    ones = np.ones(1000, np.int64)
    assert choose_held_out(ones, 2000).sum() == 20
    assert choose_held_out(ones, 7).sum() == 7
    assert not choose_held_out(ones, 0).any()


def test_a_single_document_is_not_held_out(tmp_path: Path) -> None:
    text = [[("a b", "c d")] * 7]
    result = prepare([write(tmp_path, "train", text)], tmp_path / "out", vocabulary=300)
    assert result.valid is None
    assert "only one document" in result.notes[0]
    assert sorted(os.listdir(tmp_path / "out")) == ["tokenizer.json", "train"]
    assert read(tmp_path / "out/train") == text


def test_few_documents_are_told_of(tmp_path: Path) -> None:
    text = [[("a b", "c d")] * 6, [("e f", "g h")] * 4]
    result = prepare([write(tmp_path, "train", text)], tmp_path / "out", vocabulary=300)
    assert read(tmp_path / "out/valid") == text[1:]
    assert "40%" in result.notes[0]
    assert f"only {result.text_size} subwords, not 300" in result.notes[1]


def test_holding_out_can_be_switched_off(tmp_path: Path) -> None:
    result = prepare([write(tmp_path, "train", made_up(50))], tmp_path / "out", vocabulary=300, hold_out=0)
    assert result.valid is None
    assert result.train.documents == 50
    assert result.notes == ()


def test_reuses_a_tokenizer(tmp_path: Path) -> None:
    first = write(tmp_path, "first", made_up(50))
    second = write(tmp_path, "second", [[("a zebra", "ein Zebra")] * 3] * 2)
    prepare([first], tmp_path / "one", vocabulary=320, index_tokens=5)
    tokenizer = tmp_path / "one/tokenizer.json"
    result = prepare([second], tmp_path / "two", tokenizer=tokenizer, hold_out=0)
    assert (tmp_path / "two/tokenizer.json").read_bytes() == tokenizer.read_bytes()
    assert (result.text_size, result.index_tokens) == (320, 5)
    assert read(tmp_path / "two/train") == [[("a zebra", "ein Zebra")] * 3] * 2
    about = Corpus.open(tmp_path / "two/train").about
    assert about["tokenizer"] == "tokenizer.json"
    assert about["subwords"] == Corpus.open(tmp_path / "one/train").about["subwords"]
    with pytest.raises(InputError, match=r"tokenizer\.json: was not learned with Moses for en and de"):
        prepare([second], tmp_path / "three", tokenizer=tokenizer, moses=("en", "de"))
    with pytest.raises(InputError, match="nowhere"):
        prepare([second], tmp_path / "three", tokenizer=tmp_path / "nowhere")
    assert not (tmp_path / "three").exists()


def test_moses(tmp_path: Path) -> None:
    pytest.importorskip("sacremoses")
    pair = write(tmp_path, "train", [[("It's a cat, Tom.", "Es ist's, Tom.")] * 3] * 4)
    prepare([pair], tmp_path / "out", vocabulary=400, moses=("en", "de"), hold_out=0)
    subwords = Subwords.load(tmp_path / "out/tokenizer.json")
    assert subwords.moses == ("en", "de")
    corpus = Corpus.open(tmp_path / "out/train")
    assert corpus.source[0].tolist() == subwords.encode("It's a cat, Tom.", "source")
    assert corpus.target[0].tolist() == subwords.encode("Es ist's, Tom.", "target")


def test_result_is_deterministic(tmp_path: Path) -> None:
    pair = write(tmp_path, "train", made_up(80))
    script = """
import sys
from pathlib import Path
from docflat.data.documents import FilePair
from docflat.data.preparing import prepare
prepare([FilePair(Path(sys.argv[1]), Path(sys.argv[2]))], sys.argv[3], vocabulary=350, learn_from=200)
"""
    assert pair.target is not None
    subprocess.run([sys.executable, "-c", script, pair.source, pair.target, tmp_path / "there"], check=True)
    prepare([pair], tmp_path / "here", vocabulary=350, learn_from=200)
    assert files_of(tmp_path / "here") == files_of(tmp_path / "there")


def test_chunks_do_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pair = write(tmp_path, "train", made_up(80))
    prepare([pair], tmp_path / "whole", vocabulary=350)
    monkeypatch.setattr(docflat.data.preparing, "CHUNK", 5)  # shorter than some documents
    prepare([pair], tmp_path / "parts", vocabulary=350)
    assert files_of(tmp_path / "whole") == files_of(tmp_path / "parts")


def test_compressed_and_empty_lines_within_documents(tmp_path: Path) -> None:
    with lzma.open(tmp_path / "train.tsv.xz", "wt", encoding="utf-8") as file:
        file.write("a b\tc d\tone\n\tx\tone\ny\t\ttwo\n")
    prepare([FilePair(tmp_path / "train.tsv.xz")], tmp_path / "out", vocabulary=300, hold_out=0)
    assert read(tmp_path / "out/train") == [[("a b", "c d"), ("", "x")], [("y", "")]]


def test_index_says_where_it_came_from(tmp_path: Path) -> None:
    pair = write(tmp_path, "train", made_up(60))
    prepare([pair], tmp_path / "out", vocabulary=300, learn_from=50, hold_out=10)
    for part in ("train", "valid"):
        about = Corpus.open(tmp_path / "out" / part).about
        assert about["files"][0]["source"] == {"name": "train.en", "bytes": pair.source.stat().st_size}
        assert (about["learn_from"], about["hold_out"], about["moses"]) == (50, 10, None)
        assert str(tmp_path) not in json.dumps(about)


def test_an_error_late_in_the_input_leaves_nothing_behind(tmp_path: Path) -> None:
    pair = write(tmp_path, "train", made_up(50))
    with open(pair.source, "ab") as file:
        file.write(b"one line more \xff\n")
    lines = pair.source.read_bytes().count(b"\n")
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(InputError, match=rf"train\.en:{lines}: not UTF-8"):
        prepare([pair], tmp_path / "out", vocabulary=300)
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize("failing_pass", [1, 2, 3])
@pytest.mark.parametrize("error", [InputError("late"), KeyboardInterrupt(), MemoryError()])
def test_an_error_in_any_pass_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing_pass: int, error: BaseException
) -> None:
    pair = write(tmp_path, "train", made_up(50))
    passes = 0
    reader = docflat.data.preparing.read_documents

    def failing(pair: FilePair) -> Iterator[Document]:
        nonlocal passes
        passes += 1
        yield from reader(pair)
        if passes == failing_pass:
            raise error

    monkeypatch.setattr(docflat.data.preparing, "read_documents", failing)
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(type(error)):
        prepare([pair], tmp_path / "out", vocabulary=300)
    assert passes == failing_pass
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize("change", [made_up(49), made_up(51), made_up(50, seed=7)])
def test_files_that_change_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Text) -> None:
    pair = write(tmp_path, "train", made_up(50))
    learn = Subwords.learn

    def learn_and_change(*arguments: object, **keywords: object) -> Subwords:
        subwords = learn(*arguments, **keywords)  # type: ignore[arg-type]
        write(tmp_path, "train", change)
        return subwords

    monkeypatch.setattr(Subwords, "learn", learn_and_change)
    with pytest.raises(InputError, match="changed"):
        prepare([pair], tmp_path / "out", vocabulary=300)
    assert not (tmp_path / "out").exists()


def test_needs_a_target(tmp_path: Path) -> None:
    pair = write(tmp_path, "train", made_up(5))
    with pytest.raises(InputError, match=r"train\.en:1: there is no target"):
        prepare([FilePair(pair.source)], tmp_path / "out")
    with pytest.raises(InputError, match=r"train\.en:1: there is no target"):
        prepare([pair], tmp_path / "out", [FilePair(pair.source)])
    assert not (tmp_path / "out").exists()


def test_needs_files_that_can_be_read_again(tmp_path: Path) -> None:
    pair = write(tmp_path, "train", made_up(5))
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="pipe: must be an ordinary file"):
        prepare([FilePair(pair.source, tmp_path / "pipe")], tmp_path / "out")
    with pytest.raises(InputError, match="nowhere"):
        prepare([FilePair(pair.source, tmp_path / "nowhere")], tmp_path / "out")


@pytest.mark.parametrize("wrong", [{"learn_from": 0}, {"hold_out": -1}, {"vocabulary": 10}, {"index_tokens": 0}])
def test_impossible_settings(tmp_path: Path, wrong: dict[str, int]) -> None:
    pair = write(tmp_path, "train", made_up(5))
    with pytest.raises(InputError):
        prepare([pair], tmp_path / "out", **wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="nothing to prepare"):
        prepare([], tmp_path / "out")
    assert not (tmp_path / "out").exists()


class TestExisting:
    def prepare(self, folder: Path, out: str, **options: bool) -> Prepared:
        return prepare([write(folder, "train", made_up(60))], folder / out, vocabulary=300, **options)

    def test_folder_with_something_in_it(self, tmp_path: Path) -> None:
        self.prepare(tmp_path, "out")
        before = files_of(tmp_path / "out")
        with pytest.raises(InputError, match="out: exists already"):
            self.prepare(tmp_path, "out")
        assert files_of(tmp_path / "out") == before

    def test_empty_folder(self, tmp_path: Path) -> None:
        (tmp_path / "out").mkdir()
        self.prepare(tmp_path, "out")
        assert (tmp_path / "out/train").is_dir()

    def test_force_replaces_when_all_is_done(self, tmp_path: Path) -> None:
        prepare([write(tmp_path, "old", made_up(30, seed=9))], tmp_path / "out", vocabulary=300)
        before = files_of(tmp_path / "out")
        bad = write(tmp_path, "bad", [[("a", "b")]])
        bad.source.write_bytes(b"\xff\n")
        with pytest.raises(InputError, match="UTF-8"):
            prepare([bad], tmp_path / "out", vocabulary=300, force=True)
        assert files_of(tmp_path / "out") == before
        self.prepare(tmp_path, "out", force=True)
        self.prepare(tmp_path, "fresh", force=True)  # also where there is nothing to replace
        assert files_of(tmp_path / "out") == files_of(tmp_path / "fresh") != before
        assert not [name for name in os.listdir(tmp_path) if "out." in name]

    def test_force_replaces_nothing_else(self, tmp_path: Path) -> None:
        (tmp_path / "thesis").mkdir()
        (tmp_path / "thesis/chapter1.tex").write_text("years of work")
        with pytest.raises(InputError, match=r"thesis: is not replaced: it holds 'chapter1\.tex'"):
            self.prepare(tmp_path, "thesis", force=True)
        assert (tmp_path / "thesis/chapter1.tex").read_text() == "years of work"
