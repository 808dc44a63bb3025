"""Lining up files, what is said where they do not, and where systems differ; scores are in test_evaluate.py."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docflat.evaluation.metrics import METRICS, Metrics, SegmentMean, check_names, differences
from docflat.evaluation.testsets import DocumentFile, Marking, read_beside, read_reference
from docflat.support.errors import InputError

AUTO = Marking()
REFERENCE = "eins\nzwei\n\ndrei\nvier\nfünf\n"


def side(*documents: list[str], file: str = "x") -> DocumentFile:
    return DocumentFile(Path(file), list(documents), [list(range(1, len(document) + 1)) for document in documents])


def beside(folder: Path, data: str | bytes, name: str = "hyp", reference: str = REFERENCE) -> DocumentFile:
    (folder / "ref").write_text(reference, encoding="utf-8")
    (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    return read_beside(folder / name, read_reference(folder / "ref", AUTO), AUTO)


@pytest.mark.parametrize(
    ("data", "documents", "lines"),
    [
        ("a\nb\n\nc\nd\ne\n", [["a", "b"], ["c", "d", "e"]], [[1, 2], [4, 5, 6]]),
        ("a\r\nb\r\n\r\nc\r\nd\r\ne", [["a", "b"], ["c", "d", "e"]], [[1, 2], [4, 5, 6]]),
        ("\na\nb\n\n\nc\nd\ne\n\n", [["a", "b"], ["c", "d", "e"]], [[2, 3], [6, 7, 8]]),
        ("<d>\na\nb\n<d>\nc\nd\ne\n", [["a", "b"], ["c", "d", "e"]], [[2, 3], [5, 6, 7]]),
        ("a\nb\nc\nd\ne\n", [["a", "b"], ["c", "d", "e"]], [[1, 2], [3, 4, 5]]),
        ("a\n\n\nc\nd\ne\n", [["a", ""], ["c", "d", "e"]], [[1, 2], [4, 5, 6]]),
        ("a\nb\n\nc\n\ne\n", [["a", "b"], ["c", "", "e"]], [[1, 2], [4, 5, 6]]),
        ("a\nb\nc\n \ne\n", [["a", "b"], ["c", " ", "e"]], [[1, 2], [3, 4, 5]]),
        ("a\u2028\nb\x85\n\nc\nd\nẞ\n", [["a\u2028", "b\x85"], ["c", "d", "ẞ"]], [[1, 2], [4, 5, 6]]),
    ],
    ids=["same", "crlf", "more marks", "other marks", "no marks", "empty", "empty later", "empty, no marks", "unicode"],
)
def test_translations_line_up_with_the_reference(
    tmp_path: Path, data: str, documents: list[list[str]], lines: list[list[int]]
):
    found = beside(tmp_path, data)
    assert (found.documents, found.lines) == (documents, lines)
    assert found.joined == [" ".join(document) for document in documents]


def test_other_formats_have_the_translation_in_the_target(tmp_path: Path):
    wanted = [["a", "b"], ["c", "d", "e"]]
    records = [{"source": [t.upper() for t in document], "target": document} for document in wanted]
    whole = "".join(json.dumps(record) + "\n" for record in records)
    found = beside(tmp_path, whole, "hyp.jsonl")
    assert (found.documents, found.lines) == (wanted, [[1, 1], [2, 2, 2]])
    assert read_beside(tmp_path / "hyp.jsonl", found, AUTO, "source").documents == [["A", "B"], ["C", "D", "E"]]
    assert beside(tmp_path, "A\ta\nB\tb\n\t\nC\tc\nD\td\nE\te\n", "hyp.tsv").documents == wanted
    assert beside(tmp_path, gzip.compress(b"a\nb\n\nc\nd\ne\n"), "hyp.gz").documents == wanted
    with pytest.raises(InputError, match=r"hyp.jsonl:1: no target in this file"):
        beside(tmp_path, '{"source": ["A"]}\n', "hyp.jsonl")


@pytest.mark.parametrize(("option", "marks"), [("docids", "x\nx\ny\n"), ("starts", "1\n3\n")])
def test_marks_elsewhere_are_those_of_the_reference(tmp_path: Path, option: str, marks: str):
    for name, text in {"ref": "eins\n\ndrei\n", "hyp": "a\nb\nc\n", "marks": marks}.items():
        (tmp_path / name).write_text(text)
    marking = Marking(**{option: tmp_path / "marks"})
    reference = read_reference(tmp_path / "ref", marking)
    assert reference.documents == [["eins", ""], ["drei"]]
    assert read_beside(tmp_path / "hyp", reference, marking).documents == [["a", "b"], ["c"]]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("a\nb\n\nc\nd\n", "{hyp}:4: 4 sentences, but {ref} has 5: document 2 has 2 here and 3 there (line 4)"),
        ("a\n\nb\nc\nd\ne\n", "{hyp}:1: 5 sentences as in {ref}, but in other documents: document 1 has 1 here and 2"),
        ("a\nb\nc\n", "{hyp}: 3 sentences, but {ref} has 5"),
        ("a\nb\nc\nd\ne\nf\n", "{hyp}: 6 sentences, but {ref} has 5"),
        ("a\nb\n\nc\nd\ne\n\nf\n", "{hyp}:8: 6 sentences, but {ref} has 5, which ends after 2 documents"),
        ("<d>\na\nb\n<d>\n<d>\n<d>\n", "{hyp}: 2 sentences, but {ref} has 5"),
        ("", "{hyp}: no sentences in this file"),
        ("\n\n\n", "{hyp}: no sentences in this file"),
        ("a\nb\n\n\n\n\n", "{hyp}:4: document 2 is empty: there is no word in it"),
    ],
)
def test_files_that_do_not_line_up(tmp_path: Path, data: str, message: str):
    with pytest.raises(InputError) as caught:
        beside(tmp_path, data)
    assert str(caught.value).startswith(message.format(hyp=tmp_path / "hyp", ref=tmp_path / "ref"))


def test_a_file_that_ends_early_says_after_which_document(tmp_path: Path):
    with pytest.raises(InputError, match=r"hyp:4: 3 sentences, but .*ref has 4: this file ends after 2 documents"):
        beside(tmp_path, "a\nb\n\nc\n", reference="eins\nzwei\n\ndrei\n\nvier\n")


def test_an_empty_document_of_the_reference(tmp_path: Path):
    (tmp_path / "ref").write_text("<d>\na\n<d>\n\n \n")
    with pytest.raises(InputError, match=r"ref:4: document 2 is empty"):
        read_reference(tmp_path / "ref", AUTO)


sentence = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r"), min_size=1).filter(
    lambda text: text.strip() and text != "<d>" and not text.startswith("\ufeff")
)


@given(st.lists(st.lists(st.tuples(sentence, sentence), min_size=1), min_size=1), st.booleans())
def test_what_was_written_is_read(tmp_path_factory: pytest.TempPathFactory, documents: list, marked: bool):
    folder = tmp_path_factory.mktemp("x")
    reference, hypothesis = ([[pair[i] for pair in document] for document in documents] for i in (0, 1))
    between = "\n\n" if marked else "\n"
    text = between.join("\n".join(document) for document in hypothesis)
    marks = "\n\n".join("\n".join(document) for document in reference)
    assert beside(folder, text, reference=marks).documents == hypothesis


def test_unknown_metrics_and_what_comet_needs(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(InputError, match=r"unknown metric 'blue'; did you mean 'bleu'\?"):
        check_names(["blue"], False)
    with pytest.raises(InputError, match="comet reads the source too: --source FILE"):
        check_names(METRICS, False)
    monkeypatch.setattr("docflat.evaluation.metrics.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"not installed: pip install 'docflat\[comet\]'"):
        check_names(METRICS, True)


def test_a_seed_that_is_none(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SACREBLEU_SEED", "x")
    with pytest.raises(InputError, match="SACREBLEU_SEED must be a whole number or none, not 'x'"):
        Metrics(side(["a"]), ["bleu"])


def test_the_mean_of_a_score_by_sentence_is_resampled_by_sacrebleu():
    asked = []

    def lengths(translations: list[str]) -> list[float]:
        asked.append(translations)
        return [len(text) / 10 for text in translations]

    metrics = Metrics(side(["x"] * 50), [])
    metrics.metrics["comet"] = SegmentMean("COMET", lengths, {"model": "m", "version": "9"})
    worse, better = side(["a", "bb"] * 25), side(["aaaa", "bbb"] * 25)
    (alone,) = metrics.evaluate(worse)
    assert alone.score == pytest.approx(0.15)
    # The standard error of the mean of 50 such values is 0.05 / sqrt(50); 1.96 of them are half of the interval.
    assert alone.mean == pytest.approx(0.15, abs=1e-3)
    assert alone.confidence == pytest.approx(1.96 * 0.05 / 50**0.5, rel=0.15)
    assert alone.signature == "nrefs:1|bs:1000|seed:12345|model:m|version:9"
    first, second = metrics.compare([worse, better], randomisation=200)
    assert (first.p_bootstrap, second.p_bootstrap, second.p_randomisation) == (None, 1 / 1001, 1 / 201)
    assert len(asked) == 2  # a model is asked once for each system


def test_where_systems_differ():
    reference = side(["der Hund schläft", "er ist müde"], ["die Katze rennt"])
    baseline = side(["der Hund schläft", "sie war wach"], ["die Katze rannte"])
    system = side(["der Hund schläft", "er ist müde"], ["die Katze rennt"])
    sentences, documents = differences(reference, baseline, system)
    assert [(each.document, each.sentence) for each in sentences] == [(0, 1), (1, 0)]
    assert [(each.document, each.sentence) for each in documents] == [(0, None), (1, None)]
    assert sentences[0].system == 100 > sentences[0].baseline
