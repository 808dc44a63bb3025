"""Sent2Sent: one sentence at a time (Vaswani et al., 2017).

The plain Transformer over rows of one sentence; stage I of every other system. Departs from the original by a layer
norm after the embedding, which the systems of stage II need and which lets them start where this one ended.
"""

from __future__ import annotations

from typing import ClassVar

from docflat.model.transformer import Transformer


class Sent2Sent(Transformer):
    recordable: ClassVar[bool] = True
