"""What a document gets does not depend on what is translated beside it, on the size of a batch, or on threads.

Bit for bit: not only the words, but every log-probability that they were chosen by.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from docflat import Translator
from docflat.cli.dispatch import run
from docflat.data.rows import Ids

DOCUMENT = [
    "The keeper has a key to the tower.",
    "It is older than he is.",
    "Once he lost it in the snow, and his daughter found it in spring.",
    "",
    "There is a clock in the kitchen.",
    "It stopped in 1954.",
    "Nobody has repaired it, because it shows the right time twice a day.",
]
OTHERS = [
    ["The bridge to the mainland was closed last winter.", "It is too narrow for buses."],
    ["Good morning."],
    ["An engineer has written a report about the bridge, which everybody in the village wanted to read at once."] * 5,
]
SETTINGS = [{"mode": "sentence"}, {"mode": "two-pass", "window": 4}, {"mode": "sequential"}, {"mode": "edit"}]


@pytest.fixture(scope="module")
def translator() -> Translator:
    return load("int8")


def load(precision: str, threads: int = 1) -> Translator:
    return Translator.load(device="cpu", engine="onnx", precision=precision, threads=threads)


def numbers(translator: Translator, documents: list[list[str]], number: int, batch_size: int) -> list[object]:
    """Of one of the documents: its drafts with their log-probabilities, and what context makes of these."""
    encode = translator.model.subwords.encode_batch
    source: list[list[Ids]] = [encode(document) for document in documents]
    passes = translator.decoder.passes(translator.decoder.settings(mode="two-pass", window=4, batch_size=batch_size))
    drafts = passes.drafts(source, lambda sentences: None)
    scores = passes.score(source, [[draft.tokens for draft in document] for document in drafts])
    return [(draft.tokens, list(draft.log_probabilities)) for draft in drafts[number]] + [scores[number]]


@pytest.mark.parametrize("precision", ["int8", "fp32"])
def test_no_number_depends_on_other_documents_or_the_batch(precision: str) -> None:
    translator = load(precision)
    expected = numbers(translator, [DOCUMENT], 0, batch_size=64)
    assert numbers(translator, [*OTHERS, DOCUMENT], 3, batch_size=64) == expected
    for batch_size in (1, 3):
        assert numbers(translator, [DOCUMENT, *OTHERS], 0, batch_size) == expected


@pytest.mark.parametrize("precision", ["int8", "fp32"])
def test_no_number_depends_on_threads(precision: str) -> None:
    expected, *more = (numbers(load(precision, threads), [DOCUMENT], 0, 64) for threads in (1, 2, 4))
    assert more == [expected, expected]


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda settings: settings["mode"])
def test_no_word_depends_on_other_documents_or_the_batch(translator: Translator, settings: dict[str, object]) -> None:
    expected = translator.translate(DOCUMENT, **settings)
    assert all(text for text, source in zip(expected, DOCUMENT, strict=True) if source)
    for batch_size in (1, 64):
        together = list(translator.translate_documents([*OTHERS, DOCUMENT], batch_size=batch_size, **settings))
        assert together[3] == expected


@pytest.fixture
def texts() -> Iterator[str]:
    return ("\n\n".join(filter(None, document)) for document in (DOCUMENT, *OTHERS))


@pytest.mark.parametrize("suffix", ["md", "txt", "html"])
def test_no_file_depends_on_other_files(suffix: str, tmp_path: Path, texts: Iterator[str]) -> None:
    for number, text in enumerate(texts):
        text = text.replace("key", "**key**").replace("bridge", "**bridge**")  # by links of words
        body = f"<p>{text}</p>".replace("\n\n", "</p><p>") if suffix == "html" else text
        (tmp_path / f"{number}.{suffix}").write_text(body, encoding="utf-8")
    translate = ["translate", "--engine", "onnx", "--threads", "1"]
    assert run([*translate, str(tmp_path / f"0.{suffix}"), "-o", str(tmp_path / f"alone.{suffix}")]) == 0
    together = tmp_path / "together"
    files = [str(tmp_path / f"{number}.{suffix}") for number in (3, 0, 1, 2)]
    assert run([*translate, *files, "-o", str(together) + "/"]) == 0
    (found,) = together.glob(f"0*.{suffix}")
    assert found.read_bytes() == (tmp_path / f"alone.{suffix}").read_bytes()


def test_no_document_of_lines_depends_on_others(tmp_path: Path) -> None:
    documents = [[text for text in document if text] for document in (*OTHERS, DOCUMENT)]
    (tmp_path / "all.en").write_text("\n\n".join("\n".join(document) for document in documents) + "\n")
    (tmp_path / "one.en").write_text("\n".join(documents[-1]) + "\n")
    for name in ("all", "one"):
        files = [str(tmp_path / f"{name}.en"), "-o", str(tmp_path / f"{name}.de")]
        assert run(["translate", "--lines", "--engine", "onnx", "--threads", "1", *files]) == 0
    alone = (tmp_path / "one.de").read_text(encoding="utf-8")
    assert (tmp_path / "all.de").read_text(encoding="utf-8").split("\n\n")[-1] == alone


def test_no_document_of_a_bulk_run_depends_on_others(tmp_path: Path) -> None:
    targets = []
    for name, documents in (("one", [DOCUMENT]), ("all", [*OTHERS, DOCUMENT])):
        lines = "".join(json.dumps({"source": document}) + "\n" for document in documents)
        (tmp_path / f"{name}.jsonl").write_text(lines, encoding="utf-8")
        out = tmp_path / f"{name}.out"
        assert run(["bulk", str(tmp_path / f"{name}.jsonl"), "-o", str(out), "--workers", "1"]) == 0
        (part,) = (out / "parts").glob("*/*.jsonl")
        targets.append(json.loads(part.read_text(encoding="utf-8").splitlines()[-1])["target"])
    assert len(targets[0]) == len(DOCUMENT)
    assert targets[1] == targets[0]
