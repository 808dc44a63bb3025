"""The tiny scale: made-up data for the three datasets, and settings that train a model in a second or two on a CPU.

It is a test of the machinery; the numbers mean nothing.
"""

from __future__ import annotations

from pathlib import Path

from docflat.data.documents import FilePair
from docflat.data.preparing import prepare
from docflat.evaluation.contrastive.examples import ContrastiveExample, to_json
from docflat.evaluation.probe.language import PRONOUNS, Language, ProbeDocument
from docflat.reproduce.grid import DATASETS
from docflat.support.atomic import write_whole

STEPS = 80
# The made-up language has two pronouns; German names let them find their places in the tables.
GERMAN = dict(zip(PRONOUNS, ("er", "sie"), strict=True))

SETTINGS = (
    "precision=fp32",
    "compile=false",
    "device=cpu",
    f"log_every={STEPS}",
    "model.dim=32",
    "model.heads=2",
    "model.feed_forward=64",
    "model.encoder_layers=2",
    "model.decoder_layers=2",
    "every_stage.batch_tokens=512",
    "every_stage.accumulate=1",
    "stages.0.learning_rate=4.0e-3",
    "every_stage.learning_rate=4.0e-3",
    "every_stage.warmup_steps=20",
    "every_stage.dropout=0",
    "stages.0.word_dropout=0",
    f"every_stage.max_steps={STEPS}",
    "every_stage.patience=0",
    "every_stage.average=1",
    f"every_stage.validate_every={STEPS}",
    "every_stage.validation_sample=0",
)


def make_data(folder: Path) -> None:
    """What `--data` would name; what is there already stays."""
    for number, name in enumerate(DATASETS, 1):
        if not (folder / name / "contrapro.jsonl").exists():  # it is written last
            _make_dataset(folder, name, Language(number))


def _make_dataset(folder: Path, name: str, language: Language) -> None:
    text = folder / "text" / name
    text.mkdir(parents=True, exist_ok=True)
    pairs = [_write(text, split, language.documents(number, split)) for split, number in (("train", 200), ("valid", 4))]
    # More subwords than the language has words: every word becomes one.
    prepare(pairs[:1], folder / name, valid_pairs=pairs[1:], vocabulary=2000, index_tokens=16, force=True)
    test = language.documents(6, "test")
    _write(folder / name, "test", test)
    examples = [example for document in test for example in contrastive_examples(document)]
    write_whole(folder / name / "contrapro.jsonl", "".join(f"{to_json(example)}\n" for example in examples))


def _write(folder: Path, split: str, documents: list[ProbeDocument]) -> FilePair:
    files = folder / f"{split}.en", folder / f"{split}.de"
    for file, side in zip(files, ("source", "target"), strict=True):
        text = "\n\n".join("\n".join(getattr(one.document, side)) for one in documents)
        write_whole(file, text + "\n")
    return FilePair(*files)


def contrastive_examples(document: ProbeDocument) -> list[ContrastiveExample]:
    """Every sentence with a reference to an earlier one; the contrastive has the other pronoun."""
    source, target = document.document.source, document.document.target or []
    examples = []
    for place, (distance, pronoun) in enumerate(zip(document.distances, document.pronouns, strict=True)):
        if not distance:
            continue
        (other,) = (word for word in PRONOUNS if word != pronoun)
        wrong = " ".join(other if word == pronoun else word for word in target[place].split())
        examples.append(
            ContrastiveExample(
                source[place],
                target[place],
                (wrong,),
                tuple(source[:place]),
                tuple(target[:place]),
                {"pronoun": GERMAN[pronoun], "distance": distance},
            )
        )
    return examples
