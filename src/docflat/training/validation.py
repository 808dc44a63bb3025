"""Validation: the loss on all of the validation set, BLEU on a sample of its documents."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import torch

from docflat.data.batches import Plan
from docflat.data.corpus import Corpus
from docflat.data.rows import Ids
from docflat.decoding.document_decoder import DocumentDecoder
from docflat.decoding.settings import DecodingSettings, Mode
from docflat.engines.torch.engine import on_torch
from docflat.model.batch import Batch
from docflat.model.transformer import Transformer
from docflat.training.torchrun import Processes
from docflat.weights.folders import ModelFolder


class Validation:
    """A validation set, laid out once; the processes share it."""

    def __init__(self, corpus: Corpus, plan: Plan, sentences: int, processes: Processes) -> None:
        """sentences: about how many to translate for BLEU."""
        self.plan, self.processes = plan, processes
        self.documents = sample(corpus, sentences)

    @torch.inference_mode()
    def loss(self, model: Transformer, cast: Any = None, alone: bool = False) -> float:
        """Cross-entropy per token, without smoothing. cast: that of training; alone: the others have gone on."""
        model.eval()
        processes = Processes(0, 1, self.processes.device) if alone else self.processes
        device = processes.device
        total = torch.zeros(1, dtype=torch.float64, device=device)
        for number in range(processes.rank, len(self.plan), processes.world):
            with cast or contextlib.nullcontext():
                total += model(Batch.of_flat(self.plan[number]).to(device))[1]
        model.train()
        return float(processes.sum(total)) / int(self.plan.labels.sum())

    def bleu(self, folder: ModelFolder) -> float | None:
        """Of a greedy translation of the sample, with the model's own translations as context; on the first process."""
        if not self.documents or not self.processes.first:
            return None
        from sacrebleu.metrics.bleu import BLEU

        folder.model.eval()
        mode: Mode = "sentence" if folder.system.sentence_level else "sequential"
        on_gpu = self.processes.device.type == "cuda"
        with torch.inference_mode(), torch.autocast("cuda", torch.bfloat16, enabled=on_gpu):
            sources = [source for source, _ in self.documents]
            hypotheses = DocumentDecoder(on_torch(folder)).decode(sources, DecodingSettings(mode, beam=1))
        folder.model.train()
        decode = folder.subwords.decode
        translated = [decode(ids) for document in hypotheses for ids in document]
        references = [decode(ids) for _, target in self.documents for ids in target]
        return float(BLEU().corpus_score(translated, [references]).score)


def sample(corpus: Corpus, sentences: int) -> list[tuple[list[Ids], list[Ids]]]:
    """Source and target of about so many sentences: the beginnings of documents that are evenly spread."""
    sizes = np.diff(corpus.documents)
    if not sentences or not len(sizes):
        return []
    # Ten sentences of a document at the most, so that a few long ones are not the whole sample.
    wanted = max(1, min(len(sizes), max(round(sentences / sizes.mean()), round(sentences / 10))))
    most = -(-sentences // wanted)
    documents = []
    for number in np.unique(np.linspace(0, len(sizes) - 1, wanted).round().astype(int)):
        first = int(corpus.documents[number])
        chosen = range(first, first + min(most, int(sizes[number])))
        documents.append(([corpus.source[i].tolist() for i in chosen], [corpus.target[i].tolist() for i in chosen]))
    return documents
