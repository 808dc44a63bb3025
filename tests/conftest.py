"""What several tests share: tiny corpora and models, and the slow transcriptions they are compared with.

The transcriptions are written from design.md and the paper's section 3 with loops over documents, sentences and
tokens; they use none of the code under test.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, settings
from torch import Tensor

from docflat.data.batches import DocumentBatches, Plan
from docflat.data.flat_layout import Layout
from docflat.data.row_settings import RowSettings
from docflat.data.rows import Rows
from docflat.model.batch import Batch, make_batch
from docflat.model.sizes import ModelSizes, Vocabulary
from docflat.model.transformer import Transformer
from docflat.systems import SYSTEMS, System
from docflat.systems.docflat import FlatBatchAttention
from docflat.systems.gtrans import GTrans

# A busy machine is no fault: nothing fails by the clock.
settings.register_profile("docflat", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("docflat")

PAD, BOS, EOS, MASK = range(4)
TEXT_SIZE, INDEX_TOKENS = 24, 6
SIZES = ModelSizes(dim=16, heads=2, feed_forward=32, encoder_layers=2, decoder_layers=2)

# Every system, and one that a setting of its rows makes.
TESTED: dict[str, System] = {
    **SYSTEMS,
    "doc2doc, source only": replace(SYSTEMS["doc2doc"], target="", rows={"target_context": False}),
}
# These, and the switches that change what sees what.
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in TESTED},
    "abd, both sides": ("abd", {"decoder": True}),
    "docflat-c, all": ("docflat-c", {"scope": "all"}),
    "docflat-d, all": ("docflat-d", {"scope": "all"}),
    "docflat-c, encoder only": ("docflat-c", {"decoder": False}),
    "docflat-i, decoder only": ("docflat-i", {"encoder": False}),
}
FLAT_VARIANTS = [variant for variant in VARIANTS if variant.startswith("docflat")]
TARGET_FLAT_VARIANTS = [variant for variant in FLAT_VARIANTS if "encoder only" not in variant]

Ids = list[int]
Document = list[tuple[Ids, Ids]]  # source and target of each sentence


class Sentences:
    """One side of a corpus, in the types a prepared corpus has on disk."""

    def __init__(self, sentences: Sequence[Sequence[int]]) -> None:
        self.tokens = np.array([token for ids in sentences for token in ids], dtype=np.uint32)
        self.ends = np.array([0, *np.cumsum([len(ids) for ids in sentences], dtype=np.int64)], dtype=np.int64)


class Corpus(NamedTuple):
    documents: np.ndarray
    source: Sentences
    target: Sentences


def corpus_of(documents: Sequence[Document]) -> Corpus:
    sentences = [pair for document in documents for pair in document]
    starts = np.array([0, *np.cumsum([len(document) for document in documents])], dtype=np.int64)
    return Corpus(starts, Sentences([x for x, _ in sentences]), Sentences([y for _, y in sentences]))


def numbered_documents(lengths: Sequence[Sequence[tuple[int, int]]]) -> list[Document]:
    """Documents with these (source, target) lengths, in which every word tells which sentence it is from."""
    documents, number = [], 0
    for document in lengths:
        documents.append([])
        for source, target in document:
            number += 1
            x = [10_000 * number + k for k in range(source)]
            y = [10_000 * number + 5_000 + k for k in range(target)]
            documents[-1].append((x, y))
    return documents


def ragged_lengths(
    rng: np.random.Generator, documents: int, sentences: int = 9, longest: int = 7, empty: float = 0.1
) -> list[list[tuple[int, int]]]:
    """Documents of 1 to `sentences` sentences of 1 to `longest` words, some sides of them empty."""

    def length() -> int:
        return 0 if rng.random() < empty else int(rng.integers(1, longest + 1))

    return [[(length(), length()) for _ in range(rng.integers(1, sentences + 1))] for _ in range(documents)]


def random_documents(
    rng: np.random.Generator, sizes: Sequence[int], longest: int = 5, words: int = TEXT_SIZE - MASK - 1
) -> list[Document]:
    """Documents of random words from the vocabulary of the tiny models."""

    def sentence() -> Ids:
        return [int(word) for word in rng.integers(MASK + 1, MASK + 1 + words, rng.integers(1, longest + 1))]

    return [[(sentence(), sentence()) for _ in range(size)] for size in sizes]


def rows_for(name: str, context: int = 3) -> RowSettings:
    """The rows of a system with this much local context, if it takes any."""
    local = TESTED[name].rows.get("context") != 0
    return TESTED[name].rows_of(RowSettings(context=context if local else 0))


def layout_for(name: str, words: int = TEXT_SIZE - MASK - 1) -> Layout:
    """The layout of the tiny models."""
    return TESTED[name].layout(rows_for(name), vocabulary_for(words))


def vocabulary_for(words: int) -> Vocabulary:
    text_size = MASK + 1 + words
    return Vocabulary(text_size + INDEX_TOKENS, text_size, BOS, EOS, MASK)


def an_epoch(name: str, vocabulary: Vocabulary, median: int, budget: int) -> Plan:
    """Documents of 10 sentences, from 1 word to 150, as a system trains on them."""
    system, rng = SYSTEMS[name], np.random.default_rng(0)
    sides = []
    for _ in range(2):
        lengths = np.clip(rng.lognormal(np.log(median), 0.8, 400), 1, 150).astype(int)
        sides.append(Sentences([rng.integers(4, vocabulary.text_size, n).tolist() for n in lengths]))
    rows = system.rows_of(RowSettings())
    layout = system.layout(rows, vocabulary)
    return DocumentBatches(
        np.arange(0, 401, 10), *sides, rows, layout, budget, shuffle_rows=system.sentence_level
    ).plan(rng)


@dataclass(frozen=True)
class LiteralRow:
    """design.md's row, `<i-3> y <i-2> y <i-1> y <i> y </s>`, written out."""

    document: int
    place: int  # in its document, from 0
    sentence: int  # in the corpus, from 0
    context: list[int]  # sentences of the local context
    source_pieces: list[Ids]  # sentence by sentence
    target_pieces: list[Ids]  # as it is read: without the </s>, which is only predicted
    source: Ids  # the same in one
    target: Ids
    source_before: int  # tokens of the local context
    target_before: int
    labels: Ids


def literal_row(documents: Sequence[Document], number: int, place: int, context: int, layout: Layout) -> LiteralRow:
    def start(i: int) -> int:
        return layout.bos if layout.bos is not None else layout.first_index + min(i, layout.index_tokens - 1)

    document = documents[number]
    first = sum(len(before) for before in documents[:number])
    before = range(max(0, place - context), place)
    x, y = document[place]
    source_pieces = [*([start(i), *document[i][0]] for i in before), [start(place), *x, layout.eos]]
    if not layout.source_starts:
        source_pieces = [*([*document[i][0], layout.eos] for i in before), [*x, layout.eos]]
    target_pieces = [*([start(i), *document[i][1]] for i in before), [start(place), *y]]
    if not layout.target_context:
        target_pieces = target_pieces[-1:]
    return LiteralRow(
        number,
        place,
        first + place,
        [first + i for i in before],
        source_pieces,
        target_pieces,
        [token for piece in source_pieces for token in piece],
        [token for piece in target_pieces for token in piece],
        sum(len(piece) for piece in source_pieces[:-1]),
        sum(len(piece) for piece in target_pieces[:-1]),
        [*y, layout.eos],
    )


def literal_rows(documents: Sequence[Document], settings: RowSettings, layout: Layout) -> list[LiteralRow]:
    """All rows of a corpus in its own order, without chance."""
    most = 3 if settings.context is None else settings.context
    rows = []
    for number, document in enumerate(documents):
        for place, (x, y) in enumerate(document):
            if not x or not y:
                continue
            for context in range(most, -1, -1):  # a longer row loses its oldest context
                row = literal_row(documents, number, place, context, layout)
                if max(len(row.source), len(row.target)) <= settings.max_tokens:
                    rows.append(row)
                    break
    return rows


def rows_array(rows: Sequence[LiteralRow], window: int = 0) -> Rows:
    """Literal rows in the form the code reads."""
    groups = [row.document * 1000 + (row.place // window if window else 0) for row in rows]
    columns = zip(*((row.sentence, len(row.context), row.sentence, row.place) for row in rows), strict=True)
    return Rows(*(np.array(column, dtype=np.int64) for column in columns), np.array(groups, dtype=np.int64))


def batch_of(
    documents: Sequence[Document], name: str, context: int = 3, one_group: bool = False, window: int = 0
) -> tuple[Batch, list[LiteralRow]]:
    """All of these documents as one batch for a system."""
    layout = layout_for(name)
    rows = literal_rows(documents, rows_for(name, context), layout)
    corpus = corpus_of(documents)
    return make_batch(corpus.source, corpus.target, rows_array(rows, window), layout, one_group), rows


def build(
    name: str,
    seed: int = 0,
    dtype: torch.dtype = torch.float64,
    words: int = TEXT_SIZE - MASK - 1,
    sizes: ModelSizes = SIZES,
    **options: Any,
) -> Transformer:
    """A random model that can show something: biases and norms matter, context matters, translations vary and end."""
    torch.manual_seed(seed)
    system = TESTED[name]
    model = system.build(sizes, vocabulary_for(words), system.read_options(options)).double().eval()
    rng = np.random.default_rng(seed)
    documents = random_documents(rng, [6] * 4, words=words)
    corpus = corpus_of(documents)
    layout = layout_for(name, words)
    rows = rows_array(literal_rows(documents, rows_for(name), layout))
    batch = make_batch(corpus.source, corpus.target, rows, layout)
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, FlatBatchAttention):
                module.attention.output.weight *= 3
                if module.options.gate != "identity":
                    module.gate.bias.zero_()
        for parameter in model.parameters():
            if parameter.ndim == 1:
                parameter += 0.2 * torch.randn_like(parameter)
            else:
                parameter *= 1.5
        # Left alone, a random model says the same word for ever: take the mean out of its logits, add some </s>.
        norm, end = model.decoder[-1].feed_forward_norm, model.embedding.weight[EOS]
        norm.bias += end / (end @ end) - model.decode(batch.target, model.encode(batch.source)).mean(0)
    return model.to(dtype)


def build_variant(variant: str, **given: Any) -> Transformer:
    name, options = VARIANTS[variant]
    return build(name, **given, **options)


def slow_attention(attention: Any, queries: Tensor, keys: Tensor, sees: Sequence[Sequence[int]]) -> list[Tensor]:
    """Vaswani et al.'s multi-head attention, token by token: queries (n, dim), keys (m, dim).

    sees[i]: which keys the i-th query attends to. Each head scales by the root of its own size, and the heads are
    joined by an output matrix (the paper's equation leaves the latter out, as it does the projections).
    """
    dim, heads = queries.shape[1], attention.heads
    size = dim // heads
    (wq, wk, wv), (bq, bk, bv) = attention.qkv.weight.split(dim), attention.qkv.bias.split(dim)
    q, k, v = queries @ wq.T + bq, keys @ wk.T + bk, keys @ wv.T + bv
    out = []
    for i, seen in enumerate(sees):
        parts = []
        for head in range(heads):
            own = slice(head * size, (head + 1) * size)
            scores = k[list(seen), own] @ q[i, own] / math.sqrt(size)
            weights = scores.exp() / scores.exp().sum()
            parts.append(weights @ v[list(seen), own])
        out.append(attention.output.weight @ torch.cat(parts) + attention.output.bias)
    return out


def slow_gate(flat: Any, h: Tensor, a: Tensor) -> Tensor:
    """Equations of the gate, for one token: h and a (dim,)."""
    if flat.options.gate == "identity":
        return h + a
    g = 1 / (1 + torch.exp(-(flat.gate.weight @ a + flat.gate.bias)))
    if flat.options.gate == "discrete":
        g = torch.tensor([1.0 if value >= flat.options.gamma else 0.0 for value in g.tolist()], dtype=h.dtype)
    return (1 - g) * h + g * a


def slow_norm(norm: torch.nn.LayerNorm, x: Tensor) -> Tensor:
    """Layer norm of one vector (Ba et al., 2016)."""
    mean = x.sum() / len(x)
    variance = ((x - mean) ** 2).sum() / len(x)
    return (x - mean) / torch.sqrt(variance + 1e-5) * norm.weight + norm.bias


def slow_flat_batch(module: Any, norm: torch.nn.LayerNorm, h: Tensor, sees: Sequence[Sequence[int]]) -> Tensor:
    """LN((1 - g) h + g a) for tokens that see something, LN(h) for the others: h (tokens, dim)."""
    flat = list(h)
    within = [n for n, seen in enumerate(sees) if seen]
    read = slow_attention(module.attention, h[within], h, [sees[n] for n in within])
    for n, a in zip(within, read, strict=True):
        flat[n] = slow_gate(module, h[n], a)
    return torch.stack([slow_norm(norm, x) for x in flat])


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random models rarely stop by themselves; a low limit keeps the slow loops short."""
    from decoding_checks import limit_of

    for model in (Transformer, GTrans):
        monkeypatch.setattr(model, "longest", lambda self, tokens: limit_of(tokens))
