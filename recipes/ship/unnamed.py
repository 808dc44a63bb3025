"""Count er and sie for an "it" that has no noun: the counts in the model's card.

python recipes/ship/unnamed.py [FOLDER]: each sentence stands at places two to seven of three documents, which name no
thing, 144 translations of eight sentences. A model that looks for a noun where there is none says er or sie
nevertheless, where es would do (SOMETHING) or where nothing else is right (IMPERSONAL).
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from docflat import Translator

SOMETHING = [
    "It will be published tomorrow.",
    "It is very old.",
    "It was not easy.",
    "I have seen it before.",
    "We will discuss it later.",
    "It works well.",
    "It has become worse.",
    "Nobody has noticed it.",
]
IMPERSONAL = [
    "It is raining.",
    "It is clear that we must act.",
    "It is late.",
    "It seems that nobody knows.",
    "It depends on you.",
    "It takes two hours to get there.",
    "It is important to sleep well.",
    "It is cold today.",
]
BEFORE = [
    "Good morning. We are all here. Thank you very much. I am glad to see you. Please sit down. Let us begin.",
    "Hello. How are you? I am fine. We have not spoken for years. You look well. Where have you been?",
    "We waited and waited. Nobody came. Then we went home. She slept badly. He did not sleep at all. They were tired.",
]


def unnamed(translator: Translator, sentences: list[str]) -> list[tuple[int, str, str]]:
    """Where er or sie was said: place in its document, sentence, translation. The second pass, as the card has it."""
    documents = [
        [*before[:place], sentence]
        for before in (re.findall(r"\S.*?[.?]", line) for line in BEFORE)
        for place in range(1, len(before) + 1)
        for sentence in sentences
    ]
    translations = translator.translate_documents(documents, mode="two-pass")
    return [
        (len(document), document[-1], translation[-1])
        for document, translation in zip(documents, translations, strict=True)
        if re.search(r"\b(er|ihn|sie)\b", translation[-1], re.IGNORECASE)
    ]


def main() -> None:
    from docflat import Translator

    translator = Translator.load(*sys.argv[1:])
    for sentences in (SOMETHING, IMPERSONAL):
        cases = unnamed(translator, sentences)
        for case in cases:
            print(*case, sep="  ")
        places = Counter(place for place, *_ in cases)
        print(f"{len(cases)} of {18 * len(sentences)}; by place {dict(sorted(places.items()))}")


if __name__ == "__main__":
    main()
