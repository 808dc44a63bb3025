"""`docflat contrast` and `docflat context` with models trained here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from docflat import Translator
from docflat.cli import dispatch as cli
from docflat.evaluation.contrastive.examples import read_contrastive

from .conftest import made_up_documents, run_training, stage, write_corpus

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def out(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """sent2sent in stage-1/model, docflat-c in model."""
    out = tmp_path_factory.mktemp("contrast") / "out"
    rows = {"max_tokens": 60, "context": 2, "context_free": 0.25}
    calm = {"dropout": 0.0, "word_dropout": 0.0, "accumulate": 1, "validation_sample": 0, "batch_tokens": 400}
    first = stage(**calm, learning_rate=1e-2, max_steps=300, validate_every=300)
    second = stage("docflat-c", **calm, rows=rows, learning_rate=3e-3, max_steps=60, validate_every=60)
    sizes = {"dim": 32, "heads": 2, "feed_forward": 64, "encoder_layers": 1, "decoder_layers": 1}
    run_training(data, out, first, second, model=sizes)
    return out


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An example for each sentence of some documents; the contrastives swap its last word. Odd text in the last two."""
    documents = made_up_documents(12, "contrast")
    words = sorted({word for document in documents for _, target in document for word in target.split()})
    records: list[dict[str, Any]] = []
    for document in documents:
        for place, (source, target) in enumerate(document):
            *others, last = target.split()
            wrong = [word for word in words if word != last][place : place + 2]
            records.append(
                {
                    "source": source,
                    "reference": target,
                    "contrastives": [" ".join([*others, word]) for word in wrong],
                    "source_context": [x for x, _ in document[:place]],
                    "target_context": [y for _, y in document[:place]],
                    "pronoun": last[0],
                    "distance": place,
                }
            )
    odd = {"source": "it  IS 'ß’ …", "reference": "ES ist\u00a0猫", "contrastives": ["Er ist\u00a0猫"]}
    records += [odd, {**odd, "source_context": ["-"], "target_context": [" "], "pronoun": "es"}]
    file = tmp_path_factory.mktemp("set") / "set.jsonl"
    file.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return file


def docflat(*arguments: str | Path) -> int:
    return cli.run([str(argument) for argument in arguments])


def as_json(capsys: Capture, *arguments: str | Path) -> Any:
    assert docflat(*arguments, "--json", "--device", "cpu") == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    return json.loads(printed.out)


def read_records(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def by_hand(records: list[dict[str, Any]]) -> list[bool]:
    return [all(record["scores"][0] > other for other in record["scores"][1:]) for record in records]


def test_scores_written_give_the_accuracies_printed(out: Path, examples: Path, tmp_path: Path, capsys: Capture):
    scores = tmp_path / "scores.jsonl"
    found = as_json(capsys, "contrast", examples, "--model", out / "model", "--scores", scores)
    records = read_records(scores)
    given = read_contrastive(examples)
    assert [record["candidates"] for record in records] == [list(example.candidates) for example in given]
    right = by_hand(records)
    assert [record["right"] for record in records] == right
    total, *parts = found["accuracies"]
    assert (total["by"], total["examples"], total["accuracy"]) == ("all", len(given), sum(right) / len(right))
    means = [[s / n for s, n in zip(r["scores"], r["tokens"], strict=True)] for r in records]
    assert total["accuracy by mean"] == sum(all(m[0] > x for x in m[1:]) for m in means) / len(means)
    assert {part["by"] for part in parts} == {"pronoun", "distance"}
    for part in parts:
        value = part["value"]
        same = [
            is_right
            for is_right, record in zip(right, records, strict=True)
            if (record.get(part["by"]) in (4, 5) if value == ">3" else record.get(part["by"]) == value)
        ]
        assert (part["examples"], part["accuracy"]) == (len(same), sum(same) / len(same))
    assert list(tmp_path.iterdir()) == [scores]


def test_a_sentence_model_scores_each_candidate_alone(out: Path, examples: Path, tmp_path: Path, capsys: Capture):
    model = out / "stage-1" / "model"
    arguments = ("contrast", examples, "--model", model, "--device", "cpu", "--scores", tmp_path / "a", "--limit", "20")
    assert docflat(*arguments) == 0
    assert "warning: sent2sent reads no local context" in capsys.readouterr().err
    translator = Translator.load(model, device="cpu")
    sources = {example.candidates: example.source for example in read_contrastive(examples)}
    records = read_records(tmp_path / "a")
    assert len(records) == 20
    for record in records:
        source = sources[tuple(record["candidates"])]
        expected = [translator.score([source], [candidate], context=False)[0] for candidate in record["candidates"]]
        assert record["scores"] == pytest.approx(expected, rel=1e-5)


def test_a_model_that_has_learned_is_right_more_often_than_chance(out: Path, examples: Path, capsys: Capture):
    found = as_json(capsys, "contrast", examples, "--model", out / "stage-1" / "model", "--context", "none")
    assert found["accuracies"][0]["accuracy"] > 0.5  # of three


@pytest.mark.parametrize("mode", [[], ["--generate"]])
def test_every_context_has_its_signature(out: Path, examples: Path, capsys: Capture, mode: list[str]):
    signatures = {}
    for context in ("gold", "none", "first-pass", "random"):
        arguments = ("contrast", examples, "--model", out / "model", "--context", context, "--beam", "2", *mode)
        found = as_json(capsys, *arguments)
        assert found == as_json(capsys, *arguments)
        parts = dict(part.split(":") for part in found["signature"].split("|"))
        assert parts["context"] == context
        assert parts["rule"] == ("generated" if mode else "strictly-best-sum")
        assert parts["version"].startswith("docflat-")
        assert ("beam" in parts) == bool(mode or context == "first-pass")
        assert ("seed" in parts) == (context == "random")
        signatures[context] = parts
    assert len({parts["set"] for parts in signatures.values()}) == 1
    assert len({parts.get("contexts") for parts in signatures.values()}) == 4


def test_generated_pronouns_are_counted(out: Path, examples: Path, tmp_path: Path, capsys: Capture):
    file = tmp_path / "translations.jsonl"
    found = as_json(capsys, "contrast", examples, "--model", out / "model", "--generate", "--scores", file)
    records = read_records(file)
    assert len(records) == len(read_contrastive(examples))
    total, *parts = found["accuracies"]
    for verdict in ("right", "wrong", "neither"):
        count = sum(record["verdict"] == verdict for record in records)
        assert total[verdict] == count == sum(part[verdict] for part in parts)
    assert total["right"] > 0
    for record in records[:-2]:  # the words of the made-up language are told apart by blanks
        reference, *wrong = (text.split()[-1] for text in record["candidates"])
        common = record["candidates"][0].split()[:-1]
        words = record["translation"].split()
        has = {word for word in (reference, *wrong) if words.count(word) > common.count(word)}
        expected = "wrong" if has & set(wrong) else "right" if reference in has else "neither"
        assert record["verdict"] == expected


@pytest.mark.parametrize("mode", ["edit", "two-pass", "stream", "sentence"])
def test_a_mode_translates_each_example_as_a_user_would_get_it(
    out: Path, examples: Path, tmp_path: Path, capsys: Capture, mode: str
):
    file = tmp_path / "translations.jsonl"
    arguments = ("contrast", examples, "--model", out / "model", "--generate", "--mode", mode, "--limit", "12")
    found = as_json(capsys, *arguments, "--scores", file)
    parts = dict(part.split(":") for part in found["signature"].split("|"))
    assert (parts["mode"], parts["beam"]) == (mode, "5")
    translator = Translator.load(out / "model", device="cpu")
    given = {example.candidates: example for example in read_contrastive(examples)}
    records = read_records(file)
    assert len(records) == 12
    for record in records:
        example = given[tuple(record["candidates"])]
        document = [*example.source_context, example.source]
        assert record["translation"] == translator.translate(document, mode=mode)[-1]


def test_as_text(out: Path, examples: Path, capsys: Capture):
    assert docflat("contrast", examples, "--model", out / "model", "--by", "distance", "--device", "cpu") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == str(examples)
    assert lines[1].split() == ["by", "value", "examples", "accuracy", "accuracy", "by", "mean"]
    assert [line.split()[:2] for line in lines[3:-2]] == [["distance", v] for v in ("0", "1", "2", "3", ">3", "-")]
    assert lines[-1].startswith("set:")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--by", "pronun"], "set.jsonl: no example has a field 'pronun'; did you mean 'pronoun'?"),
        (["--scores", "no/scores.jsonl"], "no/scores.jsonl: cannot be written: there is no folder no"),
        (["--scores", "s.jsonl.xz"], "s.jsonl.xz: is written as plain text: its name must not say otherwise"),
        (["--context", "gould"], "argument --context: invalid choice: 'gould'"),
        (["--mode", "edit"], "--mode says how to translate; it needs --generate"),
        (["--mode", "edit", "--generate", "--context", "first-pass"], "with --mode all of it is translated"),
        (["--limit", "1", "--context", "random"], "a random context needs at least two examples"),
    ],
)
def test_what_is_wrong_is_one_line(out: Path, examples: Path, capsys: Capture, options: list[str], expected: str):
    assert docflat("contrast", examples, "--model", out / "model", "--device", "cpu", *options) == 2
    printed = capsys.readouterr()
    assert expected in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""


def test_contrapro_without_its_context_can_be_scored_without_it(out: Path, tmp_path: Path, capsys: Capture):
    record = {
        "src segment": "it was old .",
        "ref segment": "es war alt .",
        "errors": [{"contrastive": "er war alt .", "replacement": "er"}],
        "ref pronoun": "Es",
        "ante distance": 1,
        "document id": "1921_12806_3712161.de",
        "segment id": 1,
    }
    file = tmp_path / "contrapro.json"
    file.write_text(json.dumps([record]))
    assert docflat("contrast", file, "--model", out / "model", "--device", "cpu") == 2
    assert "contrapro.json: no context" in capsys.readouterr().err
    found = as_json(capsys, "contrast", file, "--model", out / "model", "--context", "none")
    assert [row["value"] for row in found["accuracies"]] == [None, "es", 1]


@pytest.fixture(scope="module")
def parallel(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    pair = write_corpus(tmp_path_factory.mktemp("parallel"), "test", made_up_documents(5, "context"))
    assert pair.target is not None
    return pair.source, pair.target


def test_context_of_tokens_words_and_sentences(out: Path, parallel: tuple[Path, Path], tmp_path: Path, capsys: Capture):
    source, reference = parallel
    given = ("context", "--model", out / "model", "--source", source, "--reference", reference)
    found = as_json(capsys, *given, "--tokens", tmp_path / "t", "--show", "3")
    tokens = read_records(tmp_path / "t")
    documents = [part.splitlines() for part in reference.read_text().strip().split("\n\n")]
    sources = [part.splitlines() for part in source.read_text().strip().split("\n\n")]
    translator = Translator.load(out / "model", device="cpu")
    sums: dict[int, list[float]] = {}
    for token in tokens:
        one = sums.setdefault(token["line"], [0.0, 0.0])
        one[0] += token["with_context"]
        one[1] += token["without"]
        assert token["cxmi"] == token["with_context"] - token["without"]
    pairs = list(zip(sources, documents, strict=True))
    for column, context in enumerate((True, False)):
        expected = [score for x, y in pairs for score in translator.score(x, y, context)]
        assert [one[column] for one in sums.values()] == pytest.approx(expected, rel=1e-5)
    lines = reference.read_text().splitlines()
    assert list(sums) == [number for number, line in enumerate(lines, 1) if line]
    for number in sums:
        spelled = "".join(token["token"] for token in tokens if token["line"] == number)
        assert spelled == f" {lines[number - 1]}</s>"
    per_token, per_sentence = found["means"]
    total = sum(token["cxmi"] for token in tokens)
    assert (per_token["number"], per_sentence["number"]) == (len(tokens), sum(map(len, documents)))
    assert per_token["P-CXMI"] == pytest.approx(total / len(tokens))
    assert per_sentence["P-CXMI"] == pytest.approx(total / per_sentence["number"])
    assert len(found["words"]) == 3
    values = [word["P-CXMI"] for word in found["words"]]
    assert values == sorted(values, reverse=True)
    for word in found["words"]:
        assert word["word"] in lines[word["line"] - 1].split()
        assert word["sentence"] == lines[word["line"] - 1]


def test_context_as_text(out: Path, parallel: tuple[Path, Path], capsys: Capture):
    source, reference = parallel
    model = out / "stage-1" / "model"
    given = ("context", "--model", model, "--source", source, "--reference", reference, "--device", "cpu")
    assert docflat(*given, "--show", "2") == 0
    printed = capsys.readouterr()
    assert printed.err == "docflat: warning: sent2sent sees no context: every P-CXMI is 0\n"
    lines = printed.out.splitlines()
    assert lines[0] == str(reference)
    assert lines[2].split()[-1] == lines[3].split()[-1] == "0.000"
    assert lines[5].split() == ["word", "P-CXMI", "document", "line", "sentence"]
    assert len(lines) == 10
    assert lines[-1].startswith("text:")
    shorter = reference.with_name("shorter")
    shorter.write_text("nur eine Zeile\n")
    assert docflat("context", "--model", model, "--source", shorter, "--reference", reference) == 2
    assert capsys.readouterr().err.startswith(f"docflat: error: {shorter}: 1 sentences, but {reference} has")
