"""Doc2Doc: local context concatenated on both sides (Tiedemann and Scherrer, 2017).

The plain Transformer over longer rows: up to c previous sentences stand before the current one, in the source and in
the target. The loss covers the current sentence only; each sentence starts with the index of its place.
"""

from __future__ import annotations

from typing import ClassVar

from docflat.transformer import Transformer


class Doc2Doc(Transformer):
    recordable: ClassVar[bool] = True
