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


_NEUTER_NOUN = (
    r"\b(?:das|dieses|jenes|jedes|ins|ans|(?:ein|kein|mein|dein|sein|ihr|unser) [a-zäöü]+es) "
    r"(?:[a-zäöü]+(?:e|en|es) )?(?-i:[A-ZÄÖÜ])[a-zäöüß]+"
)
# Where es stands for nothing, or for a neuter noun of its own sentence: it has no other form.
FIXED = re.compile(
    rf"{_NEUTER_NOUN}\b[^.!?]*?\bes\b"
    r"|\bes (?:(?:gibt|gab|gäbe|regnet|regnete|schneit|schneite|hagelt|donnert|blitzt|sei denn)\b"
    r"|(?:geht|ging|gehe|ginge|handelt|handelte|stellt|stellte)\b[^.!?;]*\b(?:um|heraus)\b)"
    r"|\b(?:gibt|gab|gäbe|regnet|regnete|schneit|schneite|hagelt) es\b"
    r"|\b(?:geht|ging|handelt|handelte|stellt|stellte) es\b[^.!?;]*\b(?:um|heraus)\b",
    re.IGNORECASE,
)

_BE = "(?:['’]s| is| was| isn't| wasn't|['’]ll be| (?:will|would|might|may|could|must) be| (?:has|had) been)"
_ADVERBS = "(?: (?:not|just|also|only|really|always|still|even|actually|probably|certainly))*"
# In such sentences "it" often stands for nothing, or for all that was said.
DOUBTS = re.compile(
    rf"\bit{_BE}{_ADVERBS} (?:a|an|the|my|your|our|his|her|their|one|all|some|no|another|what|how|why|because|that)\b"
    rf"|\bit{_BE}{_ADVERBS} (?:about|like|possible|important|hard|easy|difficult|true|clear|time|so|up to|in our)\b"
    r"|\bit (?:turns? out|seems?|appears?|takes?|happens?|means?|matters?|depends|comes? to)\b"
    r"|\b(?:make|makes|made|find|found|think|call|called|put|do|does|done|doing|did) it\b",
    re.IGNORECASE,
)

# By `benchmarks/edit.py --learn`, from ContraPro and human translations of TED and Europarl (docs/editing.md): of each
# number of the evidence, and a constant.
WEIGHTS: Weights = {
    "from neuter": (0.3, 0.04, 0.44, 0.27, 0.27, 0.42, -0.7, 0.26),
    "to neuter": (0.35, -0.09, 0.71, 0.21, 0.35, 0.39, 0.31, -1.03),
    "other": (0.15, -0.56, 0.39, -0.34, 0.29, 0.46, -1.02, -1.0),
    "possessive": (-0.08, 0.04, 0.52, -0.13, 0.67, 2.22, -0.43, -2.11),
}
