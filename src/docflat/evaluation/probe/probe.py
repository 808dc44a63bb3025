"""The probe: trains systems on a made-up language and shows which context each of them uses.

Same data, sizes and steps for all; only the system differs. Accuracy is that of the translated references
(see language.py), by the distance of what they refer to.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from docflat.data.documents import FilePair
from docflat.data.preparing import prepare
from docflat.data.row_settings import RowSettings
from docflat.evaluation.probe.language import PRONOUNS, Language, ProbeDocument
from docflat.model.sizes import ModelSizes
from docflat.support.atomic import write_whole
from docflat.support.errors import InputError
from docflat.systems import SYSTEMS, find_system
from docflat.training.loop import train
from docflat.training.recipe import Recipe, Stage
from docflat.translation.translator import Translator

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Probe:
    """What is measured: the same for every system."""

    language: Language
    context: int = 3  # sentences of local context, for systems that leave it open
    training_documents: int = 4000
    test_documents: int = 200
    batch_tokens: int = 2048
    first_steps: int = 300  # of stage I, which all systems share
    steps: int = 2200  # of stage II
    sizes: ModelSizes = ModelSizes(dim=64, heads=4, feed_forward=128, encoder_layers=2, decoder_layers=2)  # noqa: RUF009

    def test(self) -> list[ProbeDocument]:
        return self.language.documents(self.test_documents, "test")


DEMO_STEPS = 1500  # enough for docflat-c, which learns fastest


def run(probe: Probe, out: Path, systems: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Train and measure; one row for each system, with its accuracy at every distance in per cent.

    out: keeps the data, the models, probe.json and probe.png; what is there already is not trained again.
    """
    names = list(systems or SYSTEMS)
    for name in names:
        find_system(name)
    with ExitStack() as stack:
        # At this size threads spend more time waiting for each other than they save, above all on a busy machine.
        stack.callback(torch.set_num_threads, torch.get_num_threads())
        torch.set_num_threads(1)
        data = prepared_data(probe, out)
        train(recipe(probe, out, data, "sent2sent", probe.first_steps, start=None))
        test = probe.test()
        rows = []
        for name in names:
            train(recipe(probe, out, data, name, probe.steps, start=first_model(out)))
            rows.append({"system": name, **accuracies(test, translate(load(out, name), test))})
        rows.append({"system": "chance", **{key: 100 / len(PRONOUNS) for key in rows[0] if key != "system"}})
        write_whole(out / "probe.json", json.dumps(rows, indent=2) + "\n")
        plot(rows, probe.context, out / "probe.png")
    return rows


def first_model(folder: Path) -> Path:
    """The sentence model that all systems start from."""
    return folder / "models" / "sent2sent-first" / "model"


def load(folder: Path, system: str) -> Translator:
    first_pass = None if find_system(system).sentence_level else first_model(folder)
    return Translator.load(folder / "models" / system / "model", device="cpu", first_pass=first_pass, engine="torch")


def prepared_data(probe: Probe, folder: Path) -> Path:
    """Write the language's documents and prepare them, as a user would theirs."""
    prepared = folder / "prepared"
    if prepared.exists():
        return prepared
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("probe.json", "probe.png"):  # which come last
        _refuse(folder / name, "")
    pairs = []
    for split, number in (("train", probe.training_documents), ("valid", 20)):
        documents = probe.language.documents(number, split)
        for side in ("source", "target"):
            text = "\n\n".join("\n".join(getattr(one.document, side)) for one in documents)
            file = folder / f"{split}.{side}"
            _refuse(file, text + "\n")
            write_whole(file, text + "\n")
        pairs.append(FilePair(folder / f"{split}.source", folder / f"{split}.target"))
    # More subwords than the language has words: every word becomes one.
    prepare(pairs[:1], prepared, valid_pairs=pairs[1:], vocabulary=2000, index_tokens=16)
    return prepared


def _refuse(file: Path, text: str) -> None:
    """A file that is there already, unless a run that was cut off left it."""
    if file.exists() and not (text and file.is_file() and file.read_bytes() == text.encode()):
        raise InputError("would be replaced, and is not of this probe; choose another --out", file)


def recipe(probe: Probe, folder: Path, data: Path, system: str, steps: int, start: Path | None) -> Recipe:
    stage = Stage(
        system,
        # Some systems have a local context of their own, or none.
        rows=RowSettings(
            context=None if "context" in find_system(system).rows else probe.context, max_tokens=64, index_shift=0.0
        ),
        start=start,
        batch_tokens=probe.batch_tokens,
        accumulate=1,
        learning_rate=2e-3,
        warmup_steps=200,
        dropout=0.0,
        label_smoothing=0.0,
        max_steps=steps,
        patience=0,
        average=1,
        validate_every=steps,
        validation_sample=0,
    )
    return Recipe(
        data,
        folder / "models" / (system if start else f"{system}-first"),
        (stage,),
        model=probe.sizes,
        seed=probe.language.seed,
        device="cpu",
        log_every=max(1, steps // 5),
        tensorboard=False,
    )


def translate(translator: Translator, documents: Sequence[ProbeDocument]) -> list[list[str]]:
    sources = [one.document.source for one in documents]
    return list(translator.translate_documents(sources, beam=1))


def accuracies(documents: Sequence[ProbeDocument], translations: Sequence[Sequence[str]]) -> dict[str, float]:
    """Per cent of references with the right pronoun and no other, by distance."""
    farthest = max(distance for document in documents for distance in document.distances)
    right, all_ = [0] * (farthest + 1), [0] * (farthest + 1)
    for document, translation in zip(documents, translations, strict=True):
        for distance, pronoun, text in zip(document.distances, document.pronouns, translation, strict=True):
            all_[distance] += 1
            right[distance] += [word for word in text.split() if word in PRONOUNS] == [pronoun]
    return {f"distance {n}": 100 * right[n] / all_[n] for n in range(1, farthest + 1)}


def plot(rows: Sequence[dict[str, Any]], context: int, path: Path) -> None:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        logger.warning(f"{path} is not drawn: pip install 'docflat[plot]'")
        return
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    # Systems that do equally well would hide each other: each one's points are moved a little.
    for number, row in enumerate(rows):
        values = [value for key, value in row.items() if key != "system"]
        places = [1 + n + 0.06 * (number - len(rows) / 2) for n in range(len(values))]
        chance = row["system"] == "chance"
        style = {"color": "gray", "linestyle": ":"} if chance else {"marker": "o", "linewidth": 1}
        axes.plot(places, values, label=row["system"], **style)
    axes.axvline(context + 0.5, color="gray", linewidth=0.8, linestyle="--")
    axes.text(context + 0.55, 2, f"local context ends (c = {context})", fontsize=8, color="gray")
    axes.set(xlabel="distance to the antecedent, in sentences", ylabel="right pronouns, %", ylim=(0, 104))
    axes.legend(fontsize=8, loc="lower left")
    figure.savefig(path, dpi=120)


def demo_lines(probe: Probe, folder: Path) -> list[str]:
    """A document translated without and with context; marks show which words the context changed, and how it did."""
    document = probe.test()[0]
    source = document.document.source
    alone = Translator.load(first_model(folder), device="cpu", engine="torch").translate(source, beam=1)
    together = load(folder, "docflat-c").translate(source, beam=1)
    lines = []
    for place, (text, before, after) in enumerate(zip(source, alone, together, strict=True)):
        distance, pronoun = document.distances[place], document.pronouns[place]
        lines.append(f"{place + 1:2}  {text}")
        lines.append(f"      sentence by sentence: {marked(before, after)}")
        lines.append(f"      with context:         {marked(after, before)}")
        if distance:
            antecedent = source[place - distance].split()[1]
            verdicts = [
                f"{'right' if pronoun in text.split() else 'wrong'} {how}"
                for text, how in ((before, "alone"), (after, "with context"))
            ]
            lines.append(f"      {pronoun}: {antecedent}, {distance} back; {', '.join(verdicts)}")
    return lines


def marked(text: str, other: str) -> str:
    """The words that differ from the other translation, in brackets."""
    others = other.split()
    return " ".join(word if word in others else f"[{word}]" for word in text.split())
