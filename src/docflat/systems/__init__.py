"""The systems by name. A system is a model class with its options, and how its rows are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from docflat.config import ModelSizes, RowSettings
from docflat.errors import InputError
from docflat.settings import from_mapping
from docflat.systems.doc2doc import Doc2Doc
from docflat.systems.docflat import DocFlat, DocFlatOptions
from docflat.systems.sent2sent import Sent2Sent
from docflat.transformer import Transformer, Vocabulary


@dataclass(frozen=True)
class NoOptions:
    """A system without switches."""


@dataclass(frozen=True)
class System:
    name: str
    summary: str
    paper: str
    model: type[Transformer]
    options: type[Any] = NoOptions
    preset: Mapping[str, Any] = field(default_factory=dict)  # options this name stands for
    sentence_level: bool = False  # rows are lone sentences that start with <s>, and are mixed freely

    def read_options(self, given: Mapping[str, Any], file: str | None = None, where: str = "options") -> Any:
        """The options of this system from a recipe or a model folder; refuses what contradicts its name."""
        for key, value in self.preset.items():
            if given.get(key, value) != value:
                raise InputError(f"{where}.{key}: {self.name} means {key}: {value}", file)
        return from_mapping(self.options, {**self.preset, **given}, file=file, where=where)

    def build(self, sizes: ModelSizes, vocabulary: Vocabulary, options: Any, dropout: float = 0.0) -> Transformer:
        build: Any = self.model
        arguments = (options,) if self.options is not NoOptions else ()
        return build(sizes, vocabulary, *arguments, dropout=dropout)

    def read_rows(self, rows: RowSettings) -> RowSettings:
        """The rows this system is trained on."""
        return RowSettings(context=0, max_tokens=rows.max_tokens) if self.sentence_level else rows


_FLAT = "Wu et al., 2023, Document Flattening"

SYSTEMS: dict[str, System] = {
    system.name: system
    for system in (
        System(
            "sent2sent",
            "one sentence at a time",
            "Vaswani et al., 2017, Attention Is All You Need",
            Sent2Sent,
            sentence_level=True,
        ),
        System(
            "doc2doc",
            "local context concatenated on both sides",
            "Tiedemann and Scherrer, 2017, NMT with Extended Context",
            Doc2Doc,
        ),
        System(
            "docflat-c",
            "flat-batch attention, continuous gate",
            _FLAT,
            DocFlat,
            DocFlatOptions,
            {"gate": "continuous"},
        ),
        System(
            "docflat-d",
            "flat-batch attention, discrete gate",
            _FLAT,
            DocFlat,
            DocFlatOptions,
            {"gate": "discrete"},
        ),
        System("docflat-i", "flat-batch attention, no gate", _FLAT, DocFlat, DocFlatOptions, {"gate": "identity"}),
    )
}


def find_system(name: str, file: str | None = None) -> System:
    if name not in SYSTEMS:
        raise InputError(f"unknown system {name!r}; there are {', '.join(SYSTEMS)}", file)
    return SYSTEMS[name]
