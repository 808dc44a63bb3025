"""What a system sees: which sentences of a document its predictions depend on, found by trying.

Every sentence in turn is replaced by other words, in a model with random weights; a row whose logits change has seen
it. This asks the model itself, with its real masks, gates and context, and not a description of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from docflat.data.row_settings import RowSettings
from docflat.data.rows import SentenceList, document_rows
from docflat.model.batch import make_batch
from docflat.model.sizes import ModelSizes, Vocabulary
from docflat.model.transformer import Transformer
from docflat.systems import System

Mask = npt.NDArray[np.bool_]  # (rows, sentences)
VOCABULARY = Vocabulary(size=96, text_size=64, bos=1, eos=2, mask=3)
# A recurrence brings the source of one more sentence back with every layer of the decoder but the first.
SIZES = ModelSizes(dim=32, heads=2, feed_forward=32, encoder_layers=3, decoder_layers=4)
WORDS = 4  # of a sentence


@dataclass(frozen=True)
class Visibility:
    """Row i is True at j where the translation of sentence i depends on sentence j."""

    source: Mask
    target: Mask


def find_visibility(system: System, sentences: int = 10, window: int = 5, draws: int = 3) -> Visibility:
    """Try it out on a document of so many sentences, `window` of which see each other through the batch.

    Less than the document, so that what comes by the batch and what is local context can be told apart.
    draws: sparse systems do not look always.
    """
    visible = np.zeros((2, sentences, sentences), dtype=bool)
    for draw in range(draws):
        torch.manual_seed(draw)
        model = system.build(SIZES, VOCABULARY, system.read_options({})).eval()
        rng = np.random.default_rng(draw)
        text = rng.integers(VOCABULARY.mask + 1, VOCABULARY.text_size, (2, sentences, WORDS))
        before = row_logits(model, system, text, window)
        for side in range(2):
            for place in range(sentences):
                other = text.copy()
                other[side, place] = rng.permutation(other[side, place] % (VOCABULARY.text_size - 5) + 4)
                changed = row_logits(model, system, other, window) != before  # (rows, tokens, text_size)
                visible[side, :, place] |= changed.flatten(1).any(1).numpy()
    return Visibility(visible[0], visible[1])


def row_logits(model: Transformer, system: System, text: npt.NDArray[np.int64], window: int) -> torch.Tensor:
    """Logits of a document, text (2, sentences, words): (sentences, words + 1, text_size)."""
    rows = system.rows_of(RowSettings(window=window))
    layout = system.layout(rows, VOCABULARY)
    source, target = (SentenceList(side.tolist()) for side in text)
    documents = np.array([0, text.shape[1]])
    all_rows = document_rows(documents, source, target, rows, layout.index_tokens)
    with torch.inference_mode():
        logits = model.logits(make_batch(source, target, all_rows, layout))
    return logits.unflatten(0, (text.shape[1], WORDS + 1))


def draw_visibility(visibility: Visibility, path: Path) -> None:
    """A picture of both sides; needs matplotlib."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.4, 1.9), layout="constrained")
    for axes, side, name in zip(
        figure.subplots(1, 2), (visibility.source, visibility.target), ("source", "target"), strict=True
    ):
        shade = np.where(side, 0.45, 0.0) + np.where(np.eye(len(side), dtype=bool), 0.45, 0.0)
        axes.imshow(shade, cmap="Blues", vmin=0, vmax=1)
        axes.set_title(name, fontsize=8)
        axes.set_xlabel("sentence it sees", fontsize=7)
        if name == "source":
            axes.set_ylabel("current sentence", fontsize=7)
        axes.set_xticks(range(len(side)), range(1, len(side) + 1), fontsize=6)
        axes.set_yticks(range(len(side)), range(1, len(side) + 1), fontsize=6)
    figure.savefig(path, dpi=110)
