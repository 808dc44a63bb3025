"""Doc2Doc: local context concatenated on both sides (Tiedemann and Scherrer, 2017).

The plain Transformer over longer rows: up to c previous sentences stand before the current one, in the source and in
the target. The loss covers the current sentence only; each sentence starts with the index of its place.

Not as in the original, which as we recall it, unconfirmed, was a recurrent network with one sentence of context: a
Transformer with three, as Wu et al., 2023, have it. Its index tokens and the layer norm after the embedding are those
of DocFlat, so that the two differ in flat-batch attention alone.
"""

from __future__ import annotations

from typing import ClassVar

from docflat.model.transformer import Transformer


class Doc2Doc(Transformer):
    recordable: ClassVar[bool] = True
