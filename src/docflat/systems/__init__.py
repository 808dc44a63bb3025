"""The systems by name: a model class with its options, and how its rows are made.

In comes a name of a recipe; out come the model it builds, the rows it reads and what it sees.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from docflat.data.flat_layout import Layout, SelectionName
from docflat.data.row_settings import RowSettings
from docflat.model.sizes import ModelSizes, Vocabulary
from docflat.support.errors import InputError
from docflat.support.strict_yaml import from_mapping
from docflat.systems.options import (
    MOST_SENTENCES,
    ABDOptions,
    DocFlatOptions,
    FlatTransOptions,
    HANOptions,
    Options,
    SelectiveOptions,
)

if TYPE_CHECKING:
    from docflat.model.transformer import Transformer

Context = Literal["", "local", "batch", "local, batch"]


@dataclass(frozen=True)
class System:
    name: str
    summary: str
    paper: str
    code: str  # MODULE:CLASS of its model, imported where one is built: a recipe is checked without torch
    source: Context  # what it sees beside the current sentence: local context, other rows of the batch
    target: Context
    options: type[Options] = Options
    preset: Mapping[str, Any] = field(default_factory=dict)  # options this name stands for
    rows: Mapping[str, Any] = field(default_factory=dict)  # row settings of its own
    most_rows: int = 0  # it cannot take a larger window than this; 0: it can
    sentence_rate: float = 1.0  # in stage II, times the learning rate for what the sentence model has too
    # Rows are lone sentences that start with <s>, and are mixed freely.
    sentence_level: bool = False
    needs_target: bool = False  # a sentence of a target row reads that of the source row which it translates
    recurrent: bool = True  # the decoder's self-attention may be a recurrence; else it sees single sentences by it
    vector_place: bool = False  # its rows have a place for a vector
    selections: tuple[SelectionName, ...] = ()  # what it reads of a side beside its rows
    # Switches that are younger than some model folders, which do not name them; each is on where a weight has this
    # part in its name.
    unnamed: Mapping[str, str] = field(default_factory=dict)

    @property
    def model(self) -> type[Transformer]:
        """The class of its models."""
        module, name = self.code.split(":")
        system: type[Transformer] = getattr(import_module(f"docflat.systems.{module}"), name)
        return system

    def read_options(self, settings: Mapping[str, Any], file: str | None = None, where: str = "options") -> Options:
        """The options of this system from a recipe or a model folder; refuses what contradicts its name."""
        for key, value in self.preset.items():
            if settings.get(key, value) != value:
                raise InputError(f"{where}.{key}: {self.name} means {key}: {value}", file)
        return from_mapping(self.options, {**self.preset, **settings}, file=file, where=where)

    def for_folder(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The options of a new model as its folder names them, which an older folder does not."""
        options = self.read_options(settings)
        return {**{key: getattr(options, key) for key in self.unnamed}, **settings}

    def by_weights(self, settings: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
        """The options of what has weights of these names, and may be older than some of the options."""
        return {**{key: any(part in name for name in names) for key, part in self.unnamed.items()}, **settings}

    def check(self, sizes: ModelSizes, options: Options, file: str | None = None, where: str = "options") -> None:
        """Refuses options that a model of these sizes cannot have."""
        if sizes.architecture.recurrent_decoder and not self.recurrent:
            raise InputError(f"{self.name} needs self-attention in the decoder, which this architecture has not", file)
        try:
            options.check(sizes)
        except ValueError as error:
            raise InputError(f"{where}.{error} ({self.name})", file) from None

    def build(self, sizes: ModelSizes, vocabulary: Vocabulary, options: Options, dropout: float = 0.0) -> Transformer:
        self.check(sizes, options)
        build: Any = self.model
        arguments = (options,) if self.options is not Options else ()
        return build(sizes, vocabulary, *arguments, dropout=dropout)

    def rows_of(self, settings: RowSettings, where: str = "rows", file: str | None = None) -> RowSettings:
        """The rows this system is trained on: these settings, and its own for the rest; refuses what it cannot do."""
        try:
            rows = settings.filled(**self.rows)
        except ValueError as error:
            raise InputError(f"{where}.{error} ({self.name})", file) from None
        most, name = self.most_rows, self.name
        no_target = self.rows.get("target_context") is False
        problems = {
            "context": rows.context and self.rows.get("context") == 0 and f"{name} has no local context",
            "target_context": (rows.target_context and no_target and f"{name} has no target context")
            or (not rows.target_context and self.needs_target and f"{name} needs the target context"),
            "document_mask": most and not rows.document_mask and f"{name} needs it",
            "window": most and not 0 < (rows.window or 0) <= most and f"{name} takes a window of 1 to {most}",
            "mixed": rows.mixed and not self.rows.get("mixed") and f"{name} has no use for mixed groups",
        }
        for key, problem in problems.items():
            if problem:
                raise InputError(f"{where}.{key}: {problem}", file)
        return rows

    def layout(self, rows: RowSettings, vocabulary: Vocabulary) -> Layout:
        """How its rows are laid out."""
        return Layout(
            vocabulary.eos,
            vocabulary.bos if self.sentence_level else None,
            vocabulary.text_size,
            vocabulary.size - vocabulary.text_size,
            target_context=rows.target_context is not False,
            vector_place=self.vector_place,
            selections=self.selections,
            source_starts=rows.source_starts,
        )


_FLAT = "Wu et al., 2023, Document Flattening"
_NO_TARGET = {"target_context": False}
# The paper's batch of 4096 tokens holds about as many rows; a batch of 32K tokens would hold hundreds.
_BATCH = {"window": 32}

SYSTEMS: dict[str, System] = {
    system.name: system
    for system in (
        System(
            "sent2sent",
            "one sentence at a time",
            "Vaswani et al., 2017, Attention Is All You Need",
            "sent2sent:Sent2Sent",
            "",
            "",
            rows={"context": 0},
            sentence_level=True,
        ),
        System(
            "doc2doc",
            "local context concatenated on both sides",
            "Tiedemann and Scherrer, 2017, NMT with Extended Context",
            "doc2doc:Doc2Doc",
            "local",
            "local",
        ),
        System(
            "doctransformer",
            "a context encoder that every layer attends to",
            "Zhang et al., 2018, Improving the Transformer with Document-Level Context",
            "doctransformer:DocTransformer",
            "local",
            "",
            rows={"context": 2, **_NO_TARGET},
            sentence_rate=0.0,
            selections=("context",),
            recurrent=False,
        ),
        System(
            "han",
            "attention to the words of each previous sentence, then to sentences",
            "Miculicich et al., 2018, Hierarchical Attention Networks",
            "han:HAN",
            "local",
            "local",
            HANOptions,
            unnamed={"inner_norms": ".word_query_norm."},
            needs_target=True,
            selections=("previous",),
            recurrent=False,
        ),
        System(
            "selective",
            "sparse attention to sentences of the document, then to their words",
            "Maruf et al., 2019, Selective Attention for Context-aware NMT",
            "selective:Selective",
            "batch",
            "",
            SelectiveOptions,
            rows={"context": 0, **_BATCH, **_NO_TARGET},
            most_rows=64,
        ),
        System(
            "hybrid",
            "a global encoder layer and a decoder that goes on from the sentence before",
            "Zheng et al., 2020, Towards Making the Most of Context in NMT",
            "hybrid:Hybrid",
            "local, batch",
            "local",
            rows={"window": MOST_SENTENCES},
            most_rows=MOST_SENTENCES,
            needs_target=True,
            selections=("recurrence",),
            recurrent=False,
        ),
        System(
            "flattrans",
            "context in the lower layers of the encoder only",
            "Ma et al., 2020, A Simple and Effective Unified Encoder",
            "flattrans:FlatTrans",
            "local",
            "",
            FlatTransOptions,
            rows=_NO_TARGET,
        ),
        System(
            "gtrans",
            "attention within sentences, in the top layers over the row as well",
            "Bao et al., 2021, G-Transformer",
            "gtrans:GTrans",
            "local",
            "local",
            sentence_rate=0.2,
            needs_target=True,
            recurrent=False,
        ),
        System(
            "mbe",
            "one vector of the batch beside the local context",
            "Morishita et al., 2021, Mini-Batch Embedding",
            "mbe:MBE",
            "local, batch",
            "local",
            rows={"mixed": 0.5, **_BATCH},
            vector_place=True,
        ),
        System(
            "abd",
            "attention between the means of rows",
            "Kossen et al., 2021, as adapted by Wu et al., 2023",
            "abd:ABD",
            "local, batch",
            "local",
            ABDOptions,
            rows=_BATCH,
        ),
        *(
            System(
                name,
                f"flat-batch attention, {gate} gate" if gate != "identity" else "flat-batch attention, no gate",
                _FLAT,
                "docflat:DocFlat",
                "local, batch",
                "local, batch",
                DocFlatOptions,
                {"gate": gate},
                _BATCH,
            )
            for name, gate in (("docflat-c", "continuous"), ("docflat-d", "discrete"), ("docflat-i", "identity"))
        ),
    )
}


def find_system(name: str, file: str | None = None) -> System:
    if name not in SYSTEMS:
        raise InputError(f"unknown system {name!r}; there are {', '.join(SYSTEMS)}", file)
    return SYSTEMS[name]


def base_parameters(system: System) -> int:
    """How many parameters it has as Transformer-base with 32,000 subwords and the usual index tokens."""
    import torch

    vocabulary = Vocabulary(32_000 + 256, 32_000, bos=1, eos=2, mask=3)
    with torch.device("meta"):  # shapes only
        model = system.build(ModelSizes(), vocabulary, system.read_options({}))
    return sum(parameter.numel() for parameter in model.parameters())
