"""German nouns and their genders, learned from a corpus: nouns have a capital, and the determiners before them tell."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

WORD = re.compile(r"\w+(?:-\w+)*-?|[^\w\s]")  # "Sicherheits- und Handelspolitik": a hyphen may end a word


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NO_NOUNS = word_set(
    "Sie Ihnen Ihr Ihre Ihren Ihrem Eine Ein Einen Einer Das Der Die Den Dem Des Wenn Aber Und Wir Ich Man Dass Als"
    " Wie Was Wann Auch Nur Noch Denn Doch Dies Diese Dieser Dieses Diesen Diesem Herr Frau Herren Damen Präsident"
    " Präsidentin Kommissar Morgen Abend Tag Mann Auf Mit Für Von Vor Nach Bei Durch Ohne Gegen Über Unter Zwischen"
    " Seit Weil Damit Obwohl Während Bevor Nachdem Sobald Solange Falls Dann Dort Hier Heute Jetzt Nun Ihn Nein Nicht"
    " Kein Keine Alle Alles Jeder Jede Jedes Viele Einige Manche Mein Meine Unser Unsere Dein Deine Sein Seine Zum Zur"
    " Vom Beim Ist Sind War Hat Haben Wird Werden Kann Muss Soll Daher Deshalb Also Selbst"
)

# What a determiner shows of the gender of its noun; "der" and "die" show little alone, but more together.
SHOWN = {
    **dict.fromkeys(("das", "ins", "ans"), "n"),
    **dict.fromkeys(("eine", "einer", "zur"), "f"),
    "einen": "m",
    **dict.fromkeys(("ein", "dem", "einem", "im", "am", "zum", "vom", "beim", "diesem", "jedem", "unserem"), "mn"),
    "der": "der",
    "die": "die",
}
MAY_SHOW = {"m": word_set("m mn der"), "f": word_set("f der die"), "n": word_set("n mn")}
_SUFFIXES = {
    "f": ("ung", "heit", "keit", "schaft", "tät", "ion", "ik", "enz", "anz", "ie"),
    "n": ("chen", "lein", "ment", "tum", "zeug"),
    "m": ("ismus", "ling"),
}


class Genders:
    """The genders of German nouns, learned from the determiners before them."""

    def __init__(self, sentences: Iterable[str]) -> None:
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for sentence in sentences:
            words = WORD.findall(sentence)
            for index, word in enumerate(words):
                shown = SHOWN.get(word.lower())
                noun = head(words[index + 1 : index + 3]) if shown else None
                if shown and noun:
                    counts[noun][shown] += 1
        self._known = {noun: gender for noun, articles in counts.items() if (gender := _gender(articles)) is not None}

    def of(self, noun: str) -> str | None:
        """m, f or n; a compound has the gender of its last part. None: unknown, or a plural."""
        for start in range(max(len(noun) - 3, 1)):
            part = noun[start:].lstrip("-")
            known = self._known.get(part[:1].upper() + part[1:])
            if known is not None:
                return known
        for gender, suffixes in _SUFFIXES.items():
            if len(noun) > 5 and noun.endswith(suffixes):
                return gender
        return None


def head(words: Sequence[str]) -> str | None:
    """The first noun, if only adjectives stand before it."""
    for word in words:
        if is_noun(word):
            return word
        if not (word.islower() and word.endswith(("e", "en", "er", "es", "em"))):
            return None
    return None


def is_noun(word: str) -> bool:
    return len(word) > 2 and word[0].isupper() and not word.isupper() and word not in _NO_NOUNS


def _gender(articles: Counter[str]) -> str | None:
    """The gender that the determiners of a noun show."""
    sure = {gender: articles[gender] for gender in "mfn"}
    best = max(sure, key=lambda gender: sure[gender])
    against = {"n": articles["der"] + articles["die"], "f": articles["mn"], "m": 0}[best]
    if sure[best] > against and sure[best] * 2 > sum(sure.values()):
        return best
    if articles["der"] > sure["n"] and articles["mn"] and not sure["f"]:
        return "m"
    if articles["die"] and articles["der"] > 1 and not articles["mn"]:
        return "f"
    return None
