"""CTranslate2 as an outside oracle: the exported model translates as ours does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from docflat.cli.dispatch import run
from docflat.data.rows import Ids, Rows, SentenceList
from docflat.decoding.passes import Passes
from docflat.decoding.scoring import Scorer
from docflat.decoding.settings import DecodingSettings
from docflat.engines.torch.engine import TorchEngine, on_torch
from docflat.model.batch import make_side
from docflat.weights.folders import load_model

from .conftest import run_training, stage

ctranslate2 = pytest.importorskip("ctranslate2", reason="the extra docflat[ctranslate2] is not installed")


@pytest.fixture(scope="module")
def models(data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    out = tmp_path_factory.mktemp("models")
    run_training(data, out, stage(max_steps=60), stage("doc2doc", max_steps=20))
    return {"sent2sent": out / "stage-1" / "model", "doc2doc": out / "model"}


@pytest.mark.parametrize("name", ["sent2sent", "doc2doc"])
def test_the_exported_model_translates_and_scores_as_ours(models: dict[str, Path], name: str, tmp_path: Path) -> None:
    arguments = ["--to", "ctranslate2", "--quantization", "float32", "-o", str(tmp_path / "out")]
    assert run(["export", "--model", str(models[name]), *arguments]) == 0
    folder = load_model(models[name])
    names, rows = folder.subwords.names(), folder.config.rows
    layout = folder.system.layout(rows, folder.model.vocabulary)
    rng = np.random.default_rng(0)
    document, first = ([rng.integers(4, folder.subwords.text_size, 6).tolist() for _ in range(5)] for _ in range(2))
    numbers = np.arange(5)
    given = Rows(numbers, np.minimum(rows.context or 0, numbers), numbers, numbers, numbers)

    def by_row(sentences: list[Ids], close: bool) -> list[list[str]]:
        side = make_side(SentenceList(sentences), given, layout, close=close, prefix_only=not close)
        return [[names[token] for token in part.tolist()] for part in side.tokens.split(side.rows.lengths.tolist())]

    passes = Passes(TorchEngine(folder.model), layout, rows, DecodingSettings(beam=1, window=1))
    if name == "sent2sent":
        ours = passes.sentence_by_sentence([document], lambda n: None)[0]
    else:
        ours = passes.second_pass([document], [first], lambda n: None)[0]
    theirs = ctranslate2.Translator(str(tmp_path / "out"), compute_type="float32", intra_threads=1)
    # CTranslate2 puts the start symbol of a sentence model there itself.
    prefixes = [[] if name == "sent2sent" else prefix for prefix in by_row(first, close=False)]
    found = theirs.translate_batch(
        by_row(document, close=True),
        target_prefix=None if name == "sent2sent" else prefixes,
        beam_size=1,
        max_decoding_length=30,  # beyond which ours may still go on
    )
    compared = 0
    for ids, one, prefix in zip(ours, found, prefixes, strict=True):
        text = one.hypotheses[0][len(prefix) :]
        # Where theirs ends at once, ours, which never gives nothing, says something.
        assert text == [names[token] for token in ids][: len(text)]
        compared += len(text)
    assert compared > 20
    if name == "sent2sent":
        scores = theirs.score_batch(by_row(document, close=True), [[names[token] for token in ids] for ids in first])
        (scored,) = Scorer(on_torch(folder)).documents([document], [first])
        for mine, other in zip(scored, scores, strict=True):
            assert mine.log_probabilities == pytest.approx(other.log_probs, abs=1e-4)


def test_a_system_it_has_no_architecture_for_is_refused(
    models: dict[str, Path], data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_training(data, tmp_path / "x", {**stage("docflat-c", max_steps=1), "start": str(models["sent2sent"])})
    assert run(["export", "--model", str(tmp_path / "x/model"), "--to", "ctranslate2", "-o", str(tmp_path / "y")]) == 2
    assert "no architecture for docflat-c" in capsys.readouterr().err
    assert not (tmp_path / "y").exists()
