"""The best translations of each line, with their scores: `--n-best`, `--scores`, `Translator.candidates`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from docflat.cli.dispatch import run
from docflat.support.errors import InputError
from docflat.translation.translator import Translator

TEXT = ["The report is short.", "It was published today.", "", "A lamp stands in the hall.", "It is made of glass."]
SENTENCES = [line for line in TEXT if line]


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load(device="cpu", engine="onnx")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("".join(f"{line}\n" for line in TEXT), encoding="utf-8")
    return tmp_path / "a.txt"


@pytest.mark.parametrize("mode", ["edit", "two-pass", "sequential", "stream", "sentence"])
def test_the_first_is_what_is_translated(translator: Translator, mode: str) -> None:
    found = translator.candidates(SENTENCES, n_best=3, mode=mode)
    assert [candidates[0].text for candidates in found] == translator.translate(SENTENCES, mode=mode)
    for candidates in found:
        scores = [one.score for one in candidates]
        assert len(scores) == 3
        assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize(("engine", "precision"), [("onnx", "fp32"), ("torch", "fp32")])
def test_log_probabilities_are_those_of_the_translation_when_it_is_scored(engine: str, precision: str) -> None:
    """By the scorer, which reads a given translation as a whole and searches nothing."""
    translator = Translator.load(device="cpu", engine=engine, precision=precision)
    found = translator.candidates(SENTENCES, n_best=2, mode="sentence", repairs=False)
    for number in range(2):
        texts = [candidates[number].text for candidates in found]
        expected = translator.score(SENTENCES, texts, context=False)
        scored = translator.model.subwords.encode_batch(texts, "target")
        for one, total, ids in zip((candidates[number] for candidates in found), expected, scored, strict=True):
            assert one.log_probability == pytest.approx(total, abs=2e-3)
            assert one.score == pytest.approx(total / (len(ids) + 1), abs=2e-3)


def test_what_is_not_searched_has_no_score_and_what_is_cut_has_one_candidate(translator: Translator) -> None:
    long = " ".join(f"The report number {n} is short, and the lamp is new," for n in range(60))
    document = ["", SENTENCES[0], long]
    empty, whole, cut = translator.candidates(document, n_best=4, mode="sentence")
    assert [(one.text, one.log_probability, one.score) for one in empty] == [("", None, None)]
    assert len(whole) == 4
    assert len(cut) == 1
    assert cut[0].log_probability is not None
    assert cut[0].log_probability < -50
    assert cut[0].text == translator.translate(document, mode="sentence")[2]


def test_a_wider_list_needs_a_wider_beam(translator: Translator) -> None:
    assert len(translator.candidates(SENTENCES[:1], n_best=7)[0]) == 7
    with pytest.raises(InputError, match="5 translations of a sentence cannot be had of a beam of 2"):
        translator.candidates(SENTENCES[:1], n_best=5, beam=2)
    edited = Translator.load(device="cpu", edit_with="en-de")
    with pytest.raises(InputError, match="no candidates"):
        edited.candidates(SENTENCES)


def test_lines_are_those_of_moses(translator: Translator, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores = file.with_name("scores.jsonl")
    assert run(["translate", str(file), "--lines", "--n-best", "2", "--scores", str(scores), "-o", "-"]) == 0
    lines = [line.split(" ||| ") for line in capsys.readouterr().out.splitlines()]
    expected = [
        one
        for part in (SENTENCES[:2], SENTENCES[2:])
        for candidates in translator.candidates(part, n_best=2)
        for one in candidates
    ]
    assert [int(line[0]) for line in lines] == [0, 0, 1, 1, 3, 3, 4, 4], "numbers of lines, of marks too"
    for (_, text, feature, score), one in zip(lines, expected, strict=True):
        assert text == one.text
        assert float(feature.removeprefix("F0= ")) == pytest.approx(one.log_probability, abs=1e-6)
        assert float(score) == pytest.approx(one.score, abs=1e-6)
    records = [json.loads(line) for line in scores.read_text(encoding="utf-8").splitlines()]
    assert [(one["document"], one["sentence"]) for one in records] == [(1, 1), (1, 2), (2, 1), (2, 2)]
    assert [one["source"] for one in records] == SENTENCES
    assert [each["score"] for one in records for each in one["candidates"]] == [one.score for one in expected]


def test_scores_stand_beside_the_usual_translation(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["translate", str(file), "--lines", "-o", "-"]) == 0
    usual = capsys.readouterr().out
    scores = file.with_name("scores.jsonl")
    assert run(["translate", str(file), "--lines", "-o", "-", "--scores", str(scores)]) == 0
    assert capsys.readouterr().out == usual
    records = [json.loads(line) for line in scores.read_text(encoding="utf-8").splitlines()]
    assert [one["candidates"][0]["text"] for one in records] == [line for line in usual.splitlines() if line]
    assert run(["translate", str(file), "--lines", "-o", "-", "--scores", str(scores)]) == 2
    assert "exists already" in capsys.readouterr().err


def test_json_lines_get_candidates(translator: Translator, tmp_path: Path) -> None:
    records = [{"id": 7, "source": SENTENCES[:2]}, {"id": 8, "source": SENTENCES[2:]}]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    out = tmp_path / "b.jsonl"
    assert run(["translate", str(tmp_path / "a.jsonl"), "--n-best", "2", "-o", str(out)]) == 0
    for line, record in zip(out.read_text(encoding="utf-8").splitlines(), records, strict=True):
        made = json.loads(line)
        found = translator.candidates(record["source"], n_best=2)
        assert made["target"] == [candidates[0].text for candidates in found]
        assert [[each["text"] for each in one] for one in made["candidates"]] == [[c.text for c in f] for f in found]
        assert made["id"] == record["id"]


def test_what_cannot_be_had_is_refused(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = file.with_suffix(".md")
    page.write_text("A text.\n")
    for arguments, message in (
        ([str(page), "--n-best", "2"], "--n-best is of text, a sentence a line"),
        ([str(page), "--scores", str(file)], "--scores is of text, a sentence a line"),
        ([str(file), "--lines", "--n-best", "9", "--beam", "3"], "cannot be had of a beam of 3"),
        ([str(file), "--lines", "--n-best", "0"], "expected a whole number of at least 1"),
        ([str(file), "--lines", "--n-best", "2", "--edit-with", "en-de"], "does not go with --edit-with"),
        ([str(file), "--lines", "--scores", str(file), "--force"], "the scores would be written over a file"),
        ([str(file), str(page), "--lines", "--scores", str(file.with_name("s"))], "--scores is of one file"),
    ):
        assert run(["translate", *arguments]) == 2
        err = capsys.readouterr().err
        assert message in err
        assert len(err.splitlines()) == 1
    assert file.read_text(encoding="utf-8") == "".join(f"{line}\n" for line in TEXT)
