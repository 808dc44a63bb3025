"""docflat: document-level machine translation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from docflat.translation.translator import Translator

__all__ = ["Translator", "__version__"]
__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    # Translator brings torch with it: only those who ask for it wait for that.
    if name == "Translator":
        from docflat.translation.translator import Translator

        return Translator
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
