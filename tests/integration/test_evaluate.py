"""`docflat evaluate` and `docflat compare` against the sacrebleu command, and COMET with a checkpoint made here."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from docflat.cli import dispatch as cli
from docflat.evaluation.metrics import Metrics
from docflat.evaluation.testsets import DocumentFile
from docflat.support.errors import InputError

Capture = pytest.CaptureFixture[str]
Documents = list[list[str]]
WORDS = [
    "der",
    "die",
    "das",
    "Hund",
    "Katze",
    "Straße",
    "über",
    "läuft,",
    "schläft.",
    "»ja«",
    "nein!",
    "3,5",
    "U.S.",
    "don't",
    "été",
    "猫",
    "мир",
]
ORACLES = {"bleu": "bleu", "dbleu": "bleu", "chrf": "chrf", "ter": "ter"}


def made_up(seed: int, noise: float, sizes: Sequence[int] = (1, 4, 7, 2, 9, 5)) -> Documents:
    """The same documents for each seed, with words replaced by others as the seed says."""
    text, chance = random.Random("text"), random.Random(seed)
    documents: Documents = []
    for size in sizes:
        documents.append([])
        for _ in range(size):
            words = [text.choice(WORDS) for _ in range(text.randint(1, 14))]
            changed = [chance.choice(WORDS) if chance.random() < noise else word for word in words]
            documents[-1].append(" ".join(changed if chance.random() > noise / 10 else changed[1:]))
    return documents


def write(folder: Path, name: str, documents: Documents) -> Path:
    """The file docflat reads; beside it, what sacrebleu reads: sentences alone, and a document a line."""
    (folder / name).write_text("<d>\n" + "\n<d>\n".join("\n".join(each) for each in documents) + "\n")
    (folder / f"{name}.sentences").write_text("".join(f"{text}\n" for each in documents for text in each))
    (folder / f"{name}.documents").write_text("".join(" ".join(each) + "\n" for each in documents))
    return folder / name


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("files")
    given = {"ref": made_up(0, 0), "a": made_up(1, 0.3), "b": made_up(2, 0.2), "c": made_up(3, 0.31)}
    given["a"][1][2] = ""  # a model that said nothing
    return {name: write(folder, name, documents) for name, documents in given.items()}


def docflat(capsys: Capture, *arguments: str | Path) -> Any:
    assert cli.run([str(each) for each in (*arguments, "--json")]) == 0
    return json.loads(capsys.readouterr().out)


def sacrebleu(metric: str, files: Sequence[Path], *options: str) -> str:
    """What the command prints of hypotheses; the last file is the reference."""
    unit = "documents" if metric == "dbleu" else "sentences"
    *systems, reference = [f"{file}.{unit}" for file in files]
    command = [sys.executable, "-m", "sacrebleu", reference, "-i", *systems, "-m", ORACLES[metric], "-w", "6", *options]
    environment = {**os.environ, "NO_COLOR": "1", "SACREBLEU_FORMAT": "latex" if len(systems) > 1 else "json"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("metric", ORACLES)
def test_scores_are_those_of_the_sacrebleu_command(capsys: Capture, files: dict[str, Path], metric: str):
    arguments = ["evaluate", "--hypothesis", files["a"], "--reference", files["ref"], "--metrics", metric]
    (sampled,) = docflat(capsys, *arguments, "--bootstrap", "300")
    wanted = json.loads(sacrebleu(metric, [files["a"], files["ref"]], "--confidence", "--confidence-n", "300"))
    assert 5 < wanted["score"] < 95
    assert round(sampled["score"], 6) == wanted["score"]
    assert round(sampled["mean"], 4) == pytest.approx(wanted["confidence_mean"], abs=1e-4)
    assert round(sampled["confidence"], 4) == pytest.approx(wanted["confidence_var"], abs=1e-4)
    assert sampled["signature"].replace("|segment:document", "") == wanted["signature"]
    assert ("|segment:document" in sampled["signature"]) is (metric == "dbleu")
    (plain,) = docflat(capsys, *arguments, "--bootstrap", "0")
    assert (plain["score"], plain["mean"], plain["confidence"]) == (sampled["score"], None, None)
    wanted = json.loads(sacrebleu(metric, [files["a"], files["ref"]]))
    assert plain["signature"].replace("|segment:document", "") == wanted["signature"]


def test_bleu_has_the_signature_of_the_paper(capsys: Capture, files: dict[str, Path]):
    arguments = ["--hypothesis", files["a"], "--reference", files["ref"], "--bootstrap", "0", "--metrics", "bleu"]
    (row,) = docflat(capsys, "evaluate", *arguments)
    # Footnote of the paper's section on metrics; its version was 2.2.0.
    assert re.sub("version.*", "", row["signature"]) == "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|"


def test_default_metrics_and_one_document(capsys: Capture, files: dict[str, Path]):
    rows = docflat(capsys, "evaluate", "--hypothesis", files["b"], "--reference", files["ref"], "--bootstrap", "20")
    assert [row["metric"] for row in rows] == ["bleu", "dbleu", "chrf", "ter"]
    sentences = [Path(f"{files[name]}.sentences") for name in ("b", "ref")]
    arguments = ["--hypothesis", sentences[0], "--reference", sentences[1], "--boundaries", "none"]
    (one,) = docflat(capsys, "evaluate", *arguments, "--metrics", "dbleu")
    assert one["confidence"] == 0


@pytest.mark.parametrize("metric", ORACLES)
def test_significance_is_that_of_the_sacrebleu_command(capsys: Capture, files: dict[str, Path], metric: str):
    systems = [files[name] for name in "abc"]
    arguments = ["--metrics", metric, "--bootstrap", "200", "--randomisation", "300", "--show", "0"]
    rows = docflat(capsys, "compare", *systems, "--reference", files["ref"], *arguments)["scores"]
    assert [row["system"] for row in rows] == [str(file) for file in systems]
    bootstrap = sacrebleu(metric, [*systems, files["ref"]], "--paired-bs", "--paired-bs-n", "200", "-w", "4")
    randomised = sacrebleu(metric, [*systems, files["ref"]], "--paired-ar", "--paired-ar-n", "300", "-w", "4")
    # The command rounds p-values to four digits.
    assert p_values(bootstrap) == [round(row["p_bootstrap"], 4) for row in rows[1:]]
    assert p_values(randomised) == [round(row["p_randomisation"], 4) for row in rows[1:]]
    assert (rows[0]["p_bootstrap"], rows[0]["p_randomisation"]) == (None, None)
    for row in rows:
        for value in (row["score"], row["mean"], row["confidence"]):
            assert re.search(rf"\b{value:.4f}", bootstrap), f"{value:.4f} is not in\n{bootstrap}"
    assert "bs:200|ar:300|seed:12345" in rows[0]["signature"]


def p_values(table: str) -> list[float]:
    return [float(value) for value in re.findall(r"p = ([0-9.]+)", table)]


def test_compare_shows_where_systems_differ(capsys: Capture, tmp_path: Path):
    reference = [["Der Hund ist hier.", "Er schläft fest."], ["Die Katze rennt.", "Sie ist schnell."]]
    better = [["Der Hund ist hier.", "Er schläft fest."], ["Die Katze lief.", "Sie ist schnell."]]
    worse = [["Der Hund ist hier.", "Man wacht auf."], ["Die Katze rennt.", "Es ist schnell."]]
    given = {"en": reference, "ref": reference, "worse": worse, "better": better}
    files = {name: write(tmp_path, name, documents) for name, documents in given.items()}
    arguments = [files["worse"], files["better"], "--reference", files["ref"], "--source", files["en"], "--show", "1"]
    found = docflat(capsys, "compare", *arguments, "--metrics", "bleu", "--bootstrap", "10", "--randomisation", "10")
    (sentence,), (document,) = found["sentences"], found["documents"]
    assert (sentence["document"], sentence["system_chrf"]) == (1, 100)
    assert [(text["side"], text["line"], text["text"]) for text in sentence["texts"]] == [
        ("source", 3, "Er schläft fest."),
        ("reference", 3, "Er schläft fest."),
        ("baseline", 3, "Man wacht auf."),
        ("system", 3, "Er schläft fest."),
    ]
    assert (document["document"], document["sentences"]) == (1, [sentence])
    assert cli.run([str(each) for each in ("compare", *arguments)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.split() == [f"{files['worse']}:3", "Man", "wacht", "auf."] for line in lines)
    assert any(line.startswith("bleu: nrefs:1|bs:1000|ar:10000|seed:12345|") for line in lines)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["evaluate", "--hypothesis", "short", "--reference", "ref"],
            "short:4: 2 sentences, but ref has 28: document 2 has 1 here and 4 there (line 4)",
        ),
        (["evaluate", "--hypothesis", "a", "--reference", "none"], "none: cannot be read"),
        (["compare", "a", "b", "--reference", "ref", "--bootstrap", "0"], "the paired test needs resamples"),
        (["compare", "a", "--reference", "ref"], "the following arguments are required: SYSTEM"),
        (
            ["compare", "a", "short", "--reference", "ref"],
            "short:4: 2 sentences, but ref has 28: document 2 has 1 here and 4 there (line 4)",
        ),
    ],
)
def test_bad_input_is_one_line(
    capsys: Capture, files: dict[str, Path], monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
):
    monkeypatch.chdir(files["ref"].parent)
    Path("short").write_text("<d>\na\n<d>\nb\n")
    assert cli.run(arguments) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"docflat: error: {message}")


def test_an_empty_translation_is_scored_with_a_warning(capsys: Capture, files: dict[str, Path]):
    arguments = ["evaluate", "--hypothesis", str(files["a"]), "--reference", str(files["ref"]), "--metrics", "bleu"]
    assert cli.run(arguments) == 0
    out, err = capsys.readouterr()
    assert err == f"docflat: warning: {files['a']}:6: 1 of 28 translations are empty, this one first\n"
    assert "bleu" in out


needs_comet = pytest.mark.skipif(not find_spec("comet"), reason="needs the extra: pip install 'docflat[comet]'")


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A COMET model as they are published, but tiny and random; with its encoder in a local folder."""
    import torch
    from comet.models import RegressionMetric
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, XLMRobertaConfig

    encoder = tmp_path_factory.mktemp("encoder")
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate([*special, *WORDS])}, "<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    names = dict(zip(("bos_token", "pad_token", "eos_token", "unk_token", "mask_token"), special, strict=True))
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, cls_token="<s>", sep_token="</s>", **names)
    fast.save_pretrained(encoder)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
    XLMRobertaConfig(vocab_size=len(special) + len(WORDS), **sizes, max_position_embeddings=64).save_pretrained(encoder)
    folder = tmp_path_factory.mktemp("comet")
    settings = {"pretrained_model": str(encoder), "hidden_sizes": [8], "layer_transformation": "softmax"}
    torch.manual_seed(1)
    model = RegressionMetric(**settings, load_pretrained_weights=False)
    (folder / "checkpoints").mkdir()
    kept = {"state_dict": model.state_dict(), "hyper_parameters": dict(model.hparams), "pytorch-lightning_version": "2"}
    torch.save(kept, folder / "checkpoints" / "model.ckpt")
    (folder / "hparams.yaml").write_text("class_identifier: regression_metric\n")
    return folder


@needs_comet
def test_comet_is_that_of_its_own_package(capsys: Capture, files: dict[str, Path], checkpoint: Path):
    import comet

    options = ["--source", files["c"], "--reference", files["ref"], "--metrics", "comet", "--comet-model", checkpoint]
    rows = docflat(capsys, "compare", files["b"], files["c"], *options, "--randomisation", "50")["scores"]
    model = comet.load_from_checkpoint(str(checkpoint / "checkpoints" / "model.ckpt"))
    sides = {name: Path(f"{files[name]}.sentences").read_text().splitlines() for name in ("b", "c", "ref")}
    for row, name in zip(rows, "bc", strict=True):
        triples = zip(sides["c"], sides[name], sides["ref"], strict=True)
        samples = [dict(zip(("src", "mt", "ref"), triple, strict=True)) for triple in triples]
        wanted = model.predict(samples, gpus=0, progress_bar=False)
        assert row["score"] == pytest.approx(wanted.system_score, abs=1e-5)
        assert row["mean"] == pytest.approx(row["score"], abs=row["confidence"])
        assert f"|model:{checkpoint}|version:2." in row["signature"]
    (alone,) = docflat(capsys, "evaluate", "--hypothesis", files["b"], *options)
    assert alone["score"] == pytest.approx(rows[0]["score"], abs=1e-6)


@needs_comet
def test_a_comet_checkpoint_that_would_run_code_is_refused(tmp_path: Path, checkpoint: Path):
    import torch

    class Bad:
        def __reduce__(self) -> tuple[Any, ...]:
            return (os.mkdir, (str(tmp_path / "ran"),))

    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "hparams.yaml").write_text("class_identifier: regression_metric\n")
    torch.save({"state_dict": {}, "more": Bad()}, tmp_path / "checkpoints" / "model.ckpt")
    side = DocumentFile(Path("x"), [["a"]], [[1]])
    with pytest.raises(InputError, match=r"model.ckpt: cannot be loaded as a COMET checkpoint: .*Weights only load"):
        Metrics(side, ["comet"], source=side, checkpoint=str(tmp_path))
    assert not (tmp_path / "ran").exists()


@needs_comet
@pytest.mark.parametrize("name", ["./here", "a/b/c", "/a"])
def test_a_comet_checkpoint_that_is_not_there(name: str):
    side = DocumentFile(Path("x"), [["a"]], [[1]])
    with pytest.raises(InputError, match="no COMET checkpoint here"):
        Metrics(side, ["comet"], source=side, checkpoint=name)
