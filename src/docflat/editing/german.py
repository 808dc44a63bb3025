"""English to German: words whose form follows a noun that may stand in another sentence, and when to change them."""

from __future__ import annotations

import re

from docflat.editing.antecedents import Nouns
from docflat.editing.evidence import read_weights
from docflat.editing.pronouns import PronounTable
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
SIGNS = {
    "doubt": re.compile(
        rf"\bit{_BE}{_ADVERBS} (?:a|an|the|my|your|our|his|her|their|one|all|some|no|another)\b"
        rf"|\bit{_BE}{_ADVERBS} (?:what|how|why|because|that)\b"
        rf"|\bit{_BE}{_ADVERBS} (?:about|like|possible|important|hard|easy|difficult|true|clear|time|so|up to|in our)\b"
        r"|\bit (?:turns? out|seems?|appears?|takes?|happens?|means?|matters?|depends|comes? to)\b"
        r"|\b(?:make|makes|made|find|found|think|call|called|put|do|does|done|doing|did) it\b",
        re.IGNORECASE,
    ),
    "statement": re.compile(
        r"\b(?:know|knew|known|forget|forgot|deny|denying|believe|believed|mean|meant|say|said|says|tell|told|admit"
        r"|understand|understood|regret|prove|imagine|guess|like|love|hate|enjoy|stop|try|tried|help|swear|promise"
        r"|mention|explain|discuss|talk about|think about|hear|heard|figure|doubt|bet|deserve|worth"
        r"|get|got|had|have|mind|manage|accept|expect|notice|about|through|that) it\b|\bit should\b|\bcome to\b",
        re.IGNORECASE,
    ),
    "clause": re.compile(r"\bit\b[^.?!]*\b(?:to|that)\b", re.IGNORECASE),
    "object": re.compile(r"\w+ it\b(?!['’]| \w+s\b| is| was| has)", re.IGNORECASE),
    "end": re.compile(r"\bit[.?!]", re.IGNORECASE),
}

_PERSONS = """
man woman men women boy girl father mother dad mom mum brother sister son daughter husband wife lady gentleman
gentlemen king queen president minister mr mrs miss sir commissioner friend guy guys doctor officer captain
people person child baby kid uncle aunt teacher student lord god someone
"""
NOUNS = Nouns(
    "german_nouns.txt",
    frozenset(_PERSONS.split()),
    {"er": "m", "ihn": "m", "sie": "f", "es": "n"},
)

PRONOUNS = PronounTable(FORMS, FIXED, SIGNS, kind, NOUNS, read_weights("german_weights.json"))
