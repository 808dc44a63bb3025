"""Letters that were escaped as two halves, as catalogues of programs escape what UTF-16 writes in two."""

from __future__ import annotations

import re

_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_HALF = re.compile("[\ud800-\udfff]")


def join_halves(text: str) -> str:
    return _PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)


def has_half(text: str) -> bool:
    """No model can read it and no file can hold it, but as the escape that it is."""
    return _HALF.search(text) is not None
