"""Documents in any number, on any number of machines. In come JSON lines, tables, text and folders of files, cut into
shards; out come a part of translations for each shard, and a report.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from docflat.bulk.columns import Translate

__all__ = ["Translate"]


def __getattr__(name: str) -> Any:
    if name == "Translate":
        from docflat.bulk.columns import Translate

        return Translate
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
