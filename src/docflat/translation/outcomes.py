"""What becomes of a sentence of a file: translated as it is, with the glossary's words, with stand-ins, or in parts.

A model may lose what must stay, or a term's translation; then the next way is tried. Each try is a value, an `Outcome`,
that the next one replaces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from docflat.support.text_ranges import Range
from docflat.translation.glossary import at_start
from docflat.translation.placeholders import find_again, leading_stand_in, mask, unmask
from docflat.translation.projected_places import Piece
from docflat.translation.repairing import Repaired, Translates, translate_and_repair
from docflat.translation.segment_plan import Sentence

Way = Literal["whole", "glossary", "stand-ins", "parts"]


@dataclass(frozen=True)
class Outcome:
    """The translation of a sentence, and how it came about."""

    sentence: Sentence
    text: str
    way: Way
    starts: tuple[int, ...] | None  # where in the text each of the fixed ranges starts; None: some are lost
    repairs: tuple[str, ...] = ()  # names of those that changed what the model wrote
    parts: tuple[Piece, ...] = ()  # of the way "parts": what makes up the text
    changed_by_context: bool = False  # of the mode edit

    @property
    def has_wanted(self) -> bool:
        return self.sentence.has_wanted(self.text)

    @property
    def is_unchanged(self) -> bool:
        return " ".join(self.text.split()) == self.sentence.line


class SentenceTranslator:
    """Goes through the ways to translate a sentence until nothing is lost."""

    def __init__(self, translator: Translates, settings: Mapping[str, Any], done: Callable[[int], None]) -> None:
        """done: hears of each sentence once, and of none when a step of a further try has ended."""
        self.translator, self.settings, self.done = translator, settings, done

    def translate(self, sentences: Sequence[Sentence]) -> list[Outcome]:
        """The sentences of one document."""
        outcomes = self.as_they_are(sentences)
        for fails, again in (
            (_lacks_words, self.with_glossary),
            (_lacks_words, self.with_stand_ins_of_terms),
            (_lost_and_free, self.with_stand_ins),
            (_lost, self.in_parts),
        ):
            failing = {place: one.sentence for place, one in enumerate(outcomes) if fails(one)}
            if failing:
                for place, outcome in zip(failing, again(list(failing.values())), strict=True):
                    outcomes[place] = outcome or outcomes[place]
        return outcomes

    def _ask(self, documents: Iterable[Sequence[str]]) -> Iterator[list[Repaired]]:
        return translate_and_repair(self.translator, documents, done=lambda sentences: self.done(0), **self.settings)

    def as_they_are(self, sentences: Sequence[Sentence]) -> list[Outcome]:
        lines = [one.line for one in sentences]
        (repaired,) = translate_and_repair(self.translator, [lines], done=self.done, **self.settings)
        return [_whole(one, new) for one, new in zip(sentences, repaired, strict=True)]

    def with_glossary(self, sentences: Sequence[Sentence]) -> list[Outcome | None]:
        """With the glossary's translations among the words of the source, which a model often copies.

        It then writes the article of a word that it knows, and inflects it. None: it lost one of them, or what is
        fixed.
        """
        documents = [[" ".join(one.with_translations.split())] for one in sentences]
        outcomes = [_whole(one, new, "glossary") for one, (new,) in zip(sentences, self._ask(documents), strict=True)]
        return [one if one.starts is not None and one.has_wanted else None for one in outcomes]

    def with_stand_ins_of_terms(self, sentences: Sequence[Sentence]) -> list[Outcome | None]:
        """With stand-ins that become the glossary's translations.

        None: they are lost too. Then the model's own translation stays: a sentence in parts is worse than a word.
        """
        ranges = [sorted([*one.inside, *(place for place, _ in one.wanted)]) for one in sentences]
        outcomes: list[Outcome | None] = []
        for one, places, new in zip(sentences, ranges, self._masked(sentences, ranges), strict=True):
            translations = dict(one.wanted)
            parts = [translations.get(place, one.text[slice(*place)]) for place in places]
            first = leading_stand_in(new.text)
            if first is not None and first < len(parts) and places[first] in translations:
                parts[first] = at_start(parts[first], one.text)
            text = unmask(new.text, parts)
            if text is None:
                outcomes.append(None)
                continue
            starts = [start for place, start in zip(places, text[1], strict=True) if place not in translations]
            outcomes.append(Outcome(one, text[0], "glossary", tuple(starts), new.repairs))
        return outcomes

    def with_stand_ins(self, sentences: Sequence[Sentence]) -> list[Outcome | None]:
        """With words that the model copies in the places of fixed ranges. None: it lost one of those."""
        outcomes: list[Outcome | None] = []
        masked = self._masked(sentences, [one.inside for one in sentences])
        for one, new in zip(sentences, masked, strict=True):
            text = unmask(new.text, [one.text[slice(*place)] for place in one.inside])
            outcomes.append(Outcome(one, text[0], "stand-ins", tuple(text[1]), new.repairs) if text else None)
        return outcomes

    def _masked(self, sentences: Sequence[Sentence], ranges: Sequence[Sequence[Range]]) -> Iterator[Repaired]:
        """Translations of sentences with stand-ins for these ranges; nothing where no such word can stand."""
        lines = [mask(one.text, places) for one, places in zip(sentences, ranges, strict=True)]
        documents = [[" ".join(line.split())] for line in lines if line is not None]
        translated = self._ask(documents) if documents else iter([])
        for line in lines:
            yield Repaired("") if line is None else next(translated)[0]

    def in_parts(self, sentences: Sequence[Sentence]) -> list[Outcome]:
        """Only what is between fixed ranges is translated; the ranges stay where they are."""
        cut = [one.between() for one in sentences]
        documents = [
            [" ".join(one.segment[slice(*place)].split()) for place, wordy in pieces if wordy]
            for one, pieces in zip(sentences, cut, strict=True)
        ]
        return [
            _join_parts(one, pieces, repaired)
            for one, pieces, repaired in zip(sentences, cut, self._ask(documents), strict=True)
        ]


def _whole(sentence: Sentence, new: Repaired, way: Way = "whole") -> Outcome:
    starts = find_again(sentence.text, sentence.inside, new.text) if sentence.moves else None
    starts_of_fixed = None if starts is None else tuple(starts)
    return Outcome(sentence, new.text, way, starts_of_fixed, new.repairs, changed_by_context=new.changed_by_context)


def _lacks_words(outcome: Outcome) -> bool:
    return outcome.sentence.moves and not outcome.has_wanted


def _lost(outcome: Outcome) -> bool:
    return outcome.starts is None


def _lost_and_free(outcome: Outcome) -> bool:
    return outcome.starts is None and outcome.sentence.moves


def _join_parts(sentence: Sentence, pieces: Sequence[tuple[Range, bool]], translated: Sequence[Repaired]) -> Outcome:
    new = iter(translated)
    written = [next(new).text if wordy else sentence.segment[slice(*place)] for place, wordy in pieces]
    for number in range(1, len(pieces)):
        (start, _), wordy = pieces[number]
        before, after = sentence.segment[start - 1], sentence.segment[start]
        # What was between two words may be gone, such as a comma. What was not translated stays as it is.
        if _touch(written[number - 1], written[number]) and not _touch(before, after):
            written[number - 1 + wordy] = f" {written[number]}" if wordy else f"{written[number - 1]} "
    parts = tuple(
        Piece(place, text, [] if wordy else None) for (place, wordy), text in zip(pieces, written, strict=True)
    )
    repairs = tuple(name for one in translated for name in one.repairs)
    return Outcome(sentence, "".join(written), "parts", (), repairs, parts)


def _touch(left: str, right: str) -> bool:
    """Whether two words would become one."""
    return left[-1:].isalnum() and right[:1].isalnum()
