"""The settings of decoding: which way through a document, how wide a beam, which sentences see each other."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from numbers import Integral, Real
from typing import Literal, get_args

from docflat.support.errors import InputError

Mode = Literal["sentence", "two-pass", "edit", "sequential", "stream"]
GlobalContextKind = Literal["partial", "first-pass"]


WIDEST = 100  # hypotheses of a beam; a thousand take all memory


@dataclass(frozen=True)
class DecodingSettings:
    """How documents are decoded."""

    mode: Mode = "two-pass"  # a Translator that is given none chooses one for its model: edit where it can
    global_context: GlobalContextKind = "first-pass"  # what rows see of each other's target side in the second pass
    beam: int = 5
    length_penalty: float = 1.0  # scores are divided by length ** this
    window: int = 16  # rows of a document that see each other, the paper's inference batch size
    # Rows that are searched together, None: as many as suit the engine; changes the speed, not the result, but for
    # rounding.
    batch_size: int | None = None
    # Of the mode edit:
    tolerance: float = 0.5  # in nats: by how much context may lower the log-probability of a draft's token
    edit_beam: int = 3  # of second searches, if `beam` is not less: a wider one was no better (docs/editing.md)
    edit_context: int = 1  # sentences before each that are its local context, if the model takes so many

    n_best: int = 1  # translations of a sentence that are told of, `Translator.candidates`; at most the beam
    shortlist: bool = True  # weigh only words that the source's can become, where the model's folder lists them

    def __post_init__(self) -> None:
        self._check_types()
        for name in ("beam", "edit_beam", "window", "batch_size", "n_best"):
            number = getattr(self, name)
            if number is not None and number < 1:
                raise InputError(f"{name} must be at least 1")
        if self.beam > WIDEST:
            raise InputError(f"beam must be at most {WIDEST}: wider ones only take memory")
        if self.n_best > self.beam:
            raise InputError(f"{self.n_best} translations of a sentence cannot be had of a beam of {self.beam}")
        if not (isfinite(self.length_penalty) and self.length_penalty >= 0):
            raise InputError("length_penalty must be finite and not negative")
        if self.edit_context < 0:
            raise InputError("edit_context must not be negative")
        if not self.tolerance >= 0:
            raise InputError("tolerance must not be negative")
        for name, kind in (("mode", Mode), ("global_context", GlobalContextKind)):
            if getattr(self, name) not in get_args(kind):
                raise InputError(f"{name} {getattr(self, name)!r}: there are {', '.join(get_args(kind))}")

    def _check_types(self) -> None:
        """A program may pass anything; numpy's numbers are numbers too."""
        kinds = (
            ("whole number", Integral, ("beam", "edit_beam", "window", "batch_size", "edit_context", "n_best")),
            ("number", Real, ("length_penalty", "tolerance")),
        )
        for what, kind, names in kinds:
            for name in names:
                value = getattr(self, name)
                if name == "batch_size" and value is None:
                    continue
                if isinstance(value, bool) or not isinstance(value, kind):
                    raise InputError(f"{name} must be a {what}, not {value!r}")


def check_mode(mode: str, first_pass: object, global_context: object, tolerance: object) -> None:
    """Refuse choices that go with another mode; None: not chosen."""
    for name, chosen in (("global context", global_context), ("first pass", first_pass)):
        if chosen is not None and mode != "two-pass":
            raise InputError(f"a {name} goes with the mode two-pass, not {mode}")
    if tolerance is not None and mode != "edit":
        raise InputError(f"a tolerance goes with the mode edit, not {mode}")
