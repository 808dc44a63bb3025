"""English to German: words whose form follows a noun that may stand in another sentence, and when to change them."""

from __future__ import annotations

import re

from docflat.editing.evidence import Weights
from docflat.editing.variants import OpenForms, Variant

NEUTER = 2

# A row has the forms for a masculine, a feminine and a neuter noun; rows of one source word are its cases and endings.
FORMS: OpenForms = {
    "it": (("er", "sie", "es"), ("ihn", "sie", "es"), ("ihm", "ihr", "ihm")),
    "its": tuple((f"sein{end}", f"ihr{end}", f"sein{end}") for end in ("", "e", "en", "em", "er", "es")),
}


def kind(variant: Variant) -> str:
    """es is what translators without context write, and what stands for more than a noun: it is weighed by itself."""
    if any(change.source == "its" for change in variant.changes):
        return "possessive"
    if variant.before == {NEUTER}:
        return "from neuter"
    return "to neuter" if variant.gender == NEUTER else "other"


# Where es stands for nothing: it has no other form.
FIXED = re.compile(
    r"\bes (?:(?:gibt|gab|gäbe|regnet|regnete|schneit|schneite|hagelt|donnert|blitzt|sei denn)\b"
    r"|(?:geht|ging|gehe|ginge|handelt|handelte|stellt|stellte)\b[^.!?;]*\b(?:um|heraus)\b)"
    r"|\b(?:gibt|gab|gäbe|regnet|regnete|schneit|schneite|hagelt) es\b"
    r"|\b(?:geht|ging|handelt|handelte|stellt|stellte) es\b[^.!?;]*\b(?:um|heraus)\b",
    re.IGNORECASE,
)

# Learned from ContraPro and human translations of TED and Europarl: of each number of the evidence, and a constant.
WEIGHTS: Weights = {
    "from neuter": (0.29, 0.03, 0.46, 0.29, 0.26, 0.41, 0.27),
    "to neuter": (0.35, -0.1, 0.71, 0.23, 0.34, 0.41, -0.93),
    "other": (0.17, -0.54, 0.35, -0.37, 0.29, 0.41, -1.27),
    "possessive": (0.01, 0.3, 0.48, -0.33, 0.52, 0.41, -1.83),
}
