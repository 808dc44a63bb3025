"""Files to their translations: segments to sentences, one document of them to the model, and all the way back.

What must not change is found again in the translation or put back by force: placeholders, addresses, code, terms.
Formatting follows the words it was on.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from docflat.decoding.alignment import Weights, find_links
from docflat.formats import FORMATS
from docflat.formats.safe_reading import DEEPEST, read_file
from docflat.formats.segments import Format, Segment
from docflat.support.atomic import write_whole
from docflat.support.errors import InputError
from docflat.support.text_ranges import Range, join_ranges, overlap, strip
from docflat.translation.formatting import Piece, project
from docflat.translation.glossary import Glossary, Wanted, at_start, has_all
from docflat.translation.placeholders import (
    Terms,
    find_again,
    find_joints,
    find_placeholders,
    leading_stand_in,
    mask,
    unmask,
)
from docflat.translation.repairs.finishing import finish
from docflat.translation.repairs.numbers import localize_alone, numbers_differ
from docflat.translation.sentences import split_sentences

LONGEST = 10_000  # characters of a sentence; what is longer is data, not language
TOO_LONG = f"longer than {LONGEST} characters"
MOST_SPANS = 2_000  # of a segment, likewise
KEPT = "placeholders, code or terms"

Pairs = Sequence[tuple[str, str]]


class Translates(Protocol):
    """What is asked of a `Translator`."""

    languages: tuple[str, str] | None

    def translate_documents(
        self, documents: Iterable[Sequence[str]], chunk: int = ..., done: Callable[[int], None] = ..., **settings: Any
    ) -> Iterator[list[str]]: ...

    def align(self, pairs: Pairs) -> list[Weights | None]: ...


@dataclass
class FileReport:
    """What became of a file."""

    file: str
    segments: int = 0
    translated: int = 0  # segments
    kept: Counter[str] = field(default_factory=Counter)  # segments, by reason
    numbers: int = 0  # segments without words whose numbers were written as the target language writes them
    sentences: int = 0  # translated
    unchanged: int = 0  # sentences that the model left as they were
    too_long: int = 0  # sentences of these segments that were left as they are
    in_parts: int = 0  # sentences translated around what must not change, because the model had lost some of it
    stood_in: int = 0  # sentences translated with stand-ins for that, likewise
    with_glossary: int = 0  # sentences that have terms of the glossary
    put_in: int = 0  # of these, those that were translated again to get its translations
    other_terms: list[tuple[str, str]] = field(default_factory=list)  # of these, those that lack some; translations
    rows: list[tuple[str, str, bool]] = field(default_factory=list)  # sentence, translation, the model's own

    @property
    def other_numbers(self) -> list[tuple[str, str]]:
        """Sentences and their translations whose numbers differ."""
        return [(source, target) for source, target, _ in self.rows if numbers_differ(source, target)]

    def __str__(self) -> str:
        parts = [f"{self.translated} of {self.segments} segments translated"]
        parts += [f"{count} kept: {reason}" for reason, count in sorted(self.kept.items())]
        if self.numbers:
            parts.append(f"{self.numbers} only numbers, written as in the translation")
        if self.unchanged:
            parts.append(f"{self.unchanged} of {self.sentences} sentences came back unchanged")
        if self.too_long:
            parts.append(f"{self.too_long} sentences kept: {TOO_LONG}")
        if self.in_parts:
            parts.append(f"{self.in_parts} of {self.sentences} sentences in parts, to keep {KEPT}")
        if self.stood_in:
            parts.append(f"{self.stood_in} of {self.sentences} sentences with stand-ins, to keep {KEPT}")
        if self.with_glossary:
            own = self.with_glossary - self.put_in - len(self.other_terms)
            counts = f"{own} as the model has them, {self.put_in} put in, {len(self.other_terms)} translated otherwise"
            parts.append(f"{self.with_glossary} of {self.sentences} sentences with terms of the glossary: {counts}")
        if self.other_numbers:
            parts.append(f"{len(self.other_numbers)} of {self.sentences} sentences have other numbers than the source")
        return f"{self.file}: {'; '.join(parts)}"


@dataclass
class _Sentence:
    """A sentence of a segment's text."""

    segment: str
    place: Range
    fixed: list[Range]  # of the segment's text: what must stay as it is
    moves: bool = True  # whether these may change places; not if they reach into the blanks around the sentence
    translation: str = ""
    again: list[int] | None = None  # where in the translation each of `fixed` starts
    wanted: list[Wanted] = field(default_factory=list)  # of its own text: terms of the glossary
    put_in: bool = False  # whether the model was given their translations, or stand-ins for these
    stood_in: bool = False  # whether the model saw something else in the place of them
    parts: list[Piece] | None = None  # instead: what is between them, translated by itself

    @property
    def text(self) -> str:
        return self.segment[slice(*self.place)]

    @cached_property
    def line(self) -> str:
        """As the model gets it."""
        return " ".join(self.text.split())

    @property
    def result(self) -> str:
        return self.translation if self.parts is None else "".join(piece.text for piece in self.parts)

    @property
    def inside(self) -> list[Range]:
        """Its fixed ranges, as places in its own text."""
        return [(first - self.place[0], last - self.place[0]) for first, last in self.fixed]

    @property
    def with_translations(self) -> str:
        """Its text with the translations of the glossary's terms in their places."""
        parts, end = [], 0
        for (start, last), translation in self.wanted:
            inner = any(map(str.isalnum, self.text[:start]))
            parts += [self.text[end:start], translation if inner else at_start(translation, self.text)]
            end = last
        return "".join([*parts, self.text[end:]])

    @property
    def as_wanted(self) -> bool:
        return not self.wanted or has_all(self.result, [translation for _, translation in self.wanted])

    def between(self) -> list[tuple[Range, bool]]:
        """Its fixed ranges and the stretches around them; whether these are to be translated."""
        found: list[tuple[Range, bool]] = []
        start = self.place[0]
        for first, last in [*self.fixed, (self.place[1], self.place[1])]:
            inner = strip(self.segment, start, first)
            if inner is None:
                found.append(((start, first), False))
            else:
                wordy = any(map(str.isalpha, self.segment[slice(*inner)]))
                found += [((start, inner[0]), False), (inner, wordy), ((inner[1], first), False)]
            found.append(((first, last), False))
            start = last
        return [(place, wordy) for place, wordy in found if place[0] < place[1]]


@dataclass
class _Split:
    """A segment's sentences to translate."""

    sentences: list[_Sentence] = field(default_factory=list)
    kept: str = ""  # why there are none
    numbers: bool = False  # whether it has numbers at most, and is no data
    too_long: int = 0  # sentences that are not among them


def split_segment(segment: Segment, language: str, terms: Terms) -> _Split:
    if segment.kept:
        return _Split(kept=segment.kept)
    if not any(map(str.isalpha, segment.text)):
        return _Split(kept="no letters", numbers=not any(span.opaque for span in segment.spans))
    if len(segment.spans) > MOST_SPANS or _depth(segment) > DEEPEST:
        return _Split(kept="too many formatted parts")
    opaque = [(span.start, span.end) for span in segment.spans if span.opaque and span.start < span.end]
    fixed = join_ranges([*opaque, *find_placeholders(segment.text), *terms.find(segment.text)])
    split = _Split()
    left = deque(fixed)
    for start, end in _sentences(segment.text, language, fixed):
        own = []
        while left and left[0][0] < end:
            own.append(left.popleft())
        inside = [(max(a, start), min(b, end)) for a, b in own if b > start]
        sentence = _Sentence(segment.text, (start, end), inside, moves=inside == own)
        if any(wordy for _, wordy in sentence.between()):
            if end - start > LONGEST:
                split.too_long += 1
            else:
                split.sentences.append(sentence)
    if not split.sentences:
        split.kept = TOO_LONG if split.too_long else f"only {KEPT}"
    return split


def _sentences(text: str, language: str, fixed: Sequence[Range]) -> Iterator[Range]:
    """Of each stretch between what holds a text together, such as the keywords of a message with plural forms."""
    start = 0
    joints = find_joints(text)
    if any(overlap(joint, fixed) for joint in joints):  # a format knows better, or what is kept lies across
        joints = []
    for first, last in [*joints, (len(text), len(text))]:
        inside = [(max(a, start) - start, min(b, first) - start) for a, b in fixed if start < b and a < first]
        yield from ((start + a, start + b) for a, b in split_sentences(text[start:first], language, inside))
        start = last


def _depth(segment: Segment) -> int:
    """How many spans are in each other at most."""
    deepest = 0
    path: list[int] = []
    for span in segment.spans:
        while path and path[-1] <= span.start:
            path.pop()
        path.append(span.end)
        deepest = max(deepest, len(path))
    return deepest


def count_sentences(segments: Sequence[Segment], language: str, terms: Iterable[str] = ()) -> int:
    found = Terms(terms)
    return sum(len(split_segment(segment, language, found).sentences) for segment in segments)


def translate_segments(
    segments: Sequence[Segment],
    translator: Translates,
    report: FileReport,
    language: str = "en",
    done: Callable[[int], None] = lambda sentences: None,
    terms: Iterable[str] = (),
    glossary: Mapping[str, str] | None = None,
    **settings: Any,
) -> list[Segment]:
    """Segments of one document, translated; the report is filled in.

    terms: what is to stay as it is; glossary: terms and their translations.
    """
    kept_terms, wanted = Terms(terms), Glossary(glossary or {})
    split = [split_segment(segment, language, kept_terms) for segment in segments]
    report.segments = len(segments)
    if translator.languages:
        segments = _with_numbers_alone(segments, split, translator.languages, report)
    report.kept.update(found.kept for found in split if found.kept)
    report.translated = sum(bool(found.sentences) for found in split)
    report.too_long = sum(found.too_long for found in split if not found.kept)
    sentences = [sentence for found in split for sentence in found.sentences]
    report.sentences = len(sentences)
    if not sentences:
        return list(segments)
    document = [sentence.line for sentence in sentences]
    (translations,) = translator.translate_documents([document], done=done, **settings)
    for sentence, translation in zip(sentences, translations, strict=True):
        sentence.translation = finish(sentence.text, translation, translator.languages, sentence.inside)
        sentence.again = find_again(sentence.text, sentence.inside, sentence.translation) if sentence.moves else None
        sentence.wanted = wanted.find(sentence.text, sentence.inside)
    writer = _Writer(translator, settings)
    writer.with_glossary([sentence for sentence in sentences if sentence.moves and not sentence.as_wanted])
    report.unchanged = sum(sentence.translation == sentence.line for sentence in sentences)
    writer.with_stand_ins([sentence for sentence in sentences if sentence.again is None and sentence.moves])
    writer.in_parts([sentence for sentence in sentences if sentence.again is None])
    translated = writer.segments(segments, [found.sentences for found in split])
    report.in_parts = sum(sentence.parts is not None for sentence in sentences)
    report.stood_in = sum(sentence.stood_in and sentence.parts is None for sentence in sentences)
    report.with_glossary = sum(bool(sentence.wanted) for sentence in sentences)
    report.put_in = sum(sentence.put_in and sentence.as_wanted for sentence in sentences)
    report.other_terms += [(sentence.line, sentence.result) for sentence in sentences if not sentence.as_wanted]
    report.rows += [
        (sentence.line, sentence.result, sentence.parts is None and not sentence.stood_in and not sentence.put_in)
        for sentence in sentences
    ]
    return translated


def _with_numbers_alone(
    segments: Sequence[Segment], split: Sequence[_Split], languages: tuple[str, str], report: FileReport
) -> list[Segment]:
    """The segments, with the numbers of those without words as the language writes them: sign for sign."""
    written = list(segments)
    places = [number for number, found in enumerate(split) if found.numbers]
    for number, text in zip(places, localize_alone([segments[n].text for n in places], languages), strict=True):
        if text != segments[number].text:
            written[number], split[number].kept = replace(segments[number], text=text), ""
            report.numbers += 1
    return written


class _Writer:
    """Puts translated sentences back into their segments."""

    def __init__(self, translator: Translates, settings: dict[str, Any]) -> None:
        self.translator, self.settings = translator, settings
        self.links: dict[tuple[str, str], list[tuple[int, int]]] = {}

    def with_stand_ins(self, sentences: Sequence[_Sentence]) -> None:
        """Translate with words in the place of fixed ranges that the model copies, where it does."""
        for sentence, text in self._masked([(one, one.inside) for one in sentences]):
            found = unmask(text, [sentence.text[slice(*place)] for place in sentence.inside])
            if found is not None:
                sentence.translation, sentence.again = found
                sentence.stood_in = True

    def with_glossary(self, sentences: Sequence[_Sentence]) -> None:
        """Translate again with the glossary's translations among the words of the source, which a model often copies.

        It then writes the article of a word that it knows, and inflects it. Where it does not copy, stand-ins become
        the translations. Where these are lost too its own translation stays: a sentence in parts is worse than a word.
        """
        documents = [[" ".join(one.with_translations.split())] for one in sentences]
        for sentence, texts in zip(
            sentences, self.translator.translate_documents(documents, **self.settings), strict=True
        ):
            text = finish(sentence.text, texts[0], self.translator.languages, sentence.inside)
            again = find_again(sentence.text, sentence.inside, text)
            if again is not None and has_all(text, [translation for _, translation in sentence.wanted]):
                sentence.translation, sentence.again, sentence.put_in = text, again, True
        self._with_stand_ins_of_terms([sentence for sentence in sentences if not sentence.put_in])

    def _with_stand_ins_of_terms(self, sentences: Sequence[_Sentence]) -> None:
        todo = [(one, sorted([*one.inside, *(place for place, _ in one.wanted)])) for one in sentences]
        places = {id(one): ranges for one, ranges in todo}
        for sentence, text in self._masked(todo):
            ranges, given = places[id(sentence)], dict(sentence.wanted)
            parts = [given.get(place, sentence.text[slice(*place)]) for place in ranges]
            first = leading_stand_in(text)
            if first is not None and first < len(parts) and ranges[first] in given:
                parts[first] = at_start(parts[first], sentence.text)
            found = unmask(text, parts)
            if found is not None:
                sentence.translation = found[0]
                sentence.again = [start for place, start in zip(ranges, found[1], strict=True) if place not in given]
                sentence.put_in = True

    def _masked(self, todo: Sequence[tuple[_Sentence, list[Range]]]) -> Iterator[tuple[_Sentence, str]]:
        """Translations of sentences with stand-ins for these ranges, where such words can stand there."""
        masked = [(one, text) for one, ranges in todo if (text := mask(one.text, ranges)) is not None]
        documents = [[" ".join(text.split())] for _, text in masked]
        if documents:
            translated = self.translator.translate_documents(documents, **self.settings)
            for (sentence, text), new in zip(masked, translated, strict=True):
                yield sentence, finish(text, new[0], self.translator.languages)

    def in_parts(self, sentences: Sequence[_Sentence]) -> None:
        """Translate what is between fixed ranges; the ranges stay where they are."""
        cut = [[(place, wordy) for place, wordy in sentence.between()] for sentence in sentences]
        documents = [
            [" ".join(sentence.segment[slice(*place)].split()) for place, wordy in pieces if wordy]
            for sentence, pieces in zip(sentences, cut, strict=True)
        ]
        if not documents:
            return
        translated = self.translator.translate_documents(documents, **self.settings)
        for sentence, pieces, texts in zip(sentences, cut, translated, strict=True):
            new = iter(texts)
            written = [sentence.segment[slice(*place)] for place, _ in pieces]
            for number, (_, wordy) in enumerate(pieces):
                if wordy:
                    written[number] = finish(written[number], next(new), self.translator.languages)
            for number in range(1, len(pieces)):
                (start, _), wordy = pieces[number]
                before, after = sentence.segment[start - 1], sentence.segment[start]
                # What was between two words may be gone, such as a comma. What was not translated stays as it is.
                if _touch(written[number - 1], written[number]) and not _touch(before, after):
                    written[number - 1 + wordy] = f" {written[number]}" if wordy else f"{written[number - 1]} "
            sentence.parts = [
                Piece(place, text, [] if wordy else None) for (place, wordy), text in zip(pieces, written, strict=True)
            ]

    def segments(self, segments: Sequence[Segment], split: Sequence[list[_Sentence]]) -> list[Segment]:
        todo = [(number, found) for number, found in enumerate(split) if found]
        written = list(segments)
        self._align([(segments[number], found) for number, found in todo])
        again = []
        for number, found in todo:
            projected = project(segments[number], self._pieces(segments[number], found))
            if projected is None:
                again.append((number, found))
            else:
                written[number] = projected
        if again:
            # The model moved code or placeholders so that no formatting can follow: in parts they keep their order.
            self.in_parts([one for _, found in again for one in found if one.fixed and one.parts is None])
            self._align([(segments[number], found) for number, found in again])
            for number, found in again:
                projected = project(segments[number], self._pieces(segments[number], found))
                assert projected is not None, "fixed ranges in their own order never cross"
                written[number] = projected
        return written

    def _align(self, segments: Sequence[tuple[Segment, list[_Sentence]]]) -> None:
        """Links of the words of all that has formatting inside."""
        pairs = []
        for segment, sentences in segments:
            for piece in self._pieces(segment, sentences):
                pair = (segment.text[slice(*piece.source)], piece.text)
                if piece.links is not None and pair not in self.links and _formatted(segment, piece.source):
                    pairs.append(pair)
        if pairs:
            lines = [(" ".join(source.split()), target) for source, target in pairs]
            for pair, line, weights in zip(pairs, lines, self.translator.align(lines), strict=True):
                self.links[pair] = find_links(*line, weights)

    def _pieces(self, segment: Segment, sentences: Sequence[_Sentence]) -> list[Piece]:
        pieces: list[Piece] = []
        end = 0
        for sentence in sentences:
            pieces.append(Piece((end, sentence.place[0]), segment.text[end : sentence.place[0]]))
            pieces += self._sentence_pieces(sentence)
            end = sentence.place[1]
        pieces.append(Piece((end, len(segment.text)), segment.text[end:]))
        return [piece for piece in pieces if piece.source[0] < piece.source[1]]

    def _sentence_pieces(self, sentence: _Sentence) -> list[Piece]:
        if sentence.parts is not None:
            return [self._linked(sentence.segment, piece) for piece in sentence.parts]
        if sentence.translation == sentence.line:  # blanks too stay as they were
            return [Piece(sentence.place, sentence.text)]
        fixed = tuple(zip(sentence.fixed, sentence.again or [], strict=True))
        return [self._linked(sentence.segment, Piece(sentence.place, sentence.translation, [], fixed))]

    def _linked(self, text: str, piece: Piece) -> Piece:
        if piece.links is None:
            return piece
        links = self.links.get((text[slice(*piece.source)], piece.text), [])
        return Piece(piece.source, piece.text, links, piece.fixed)


def _touch(left: str, right: str) -> bool:
    """Whether two words would become one."""
    return left[-1:].isalnum() and right[:1].isalnum()


def _formatted(segment: Segment, place: Range) -> bool:
    """Whether a span starts or ends inside."""
    return any(
        place[0] < edge < place[1]
        for span in segment.spans
        if not span.opaque or span.start == span.end
        for edge in (span.start, span.end)
    )


def check_output(path: Path, out: Path) -> None:
    """Nothing that the user has is lost, and a file's name says what is in it."""
    if path.exists() and out.exists() and out.samefile(path):
        raise InputError("would be overwritten by its translation", path)
    kinds = [FORMATS.get(file.suffix.lower()) for file in (path, out)]
    if None not in kinds and kinds[0] != kinds[1]:
        raise InputError(f"the translation of a {path.suffix} file is no {out.suffix} file", out)


def make_folder_of(out: Path) -> None:
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be made: {error.strerror}", out.parent) from None


def translate_file(
    path: Path,
    out: Path,
    format_: Format,
    translator: Translates,
    language: str = "en",
    done: Callable[[int], None] = lambda sentences: None,
    terms: Iterable[str] = (),
    glossary: Mapping[str, str] | None = None,
    **settings: Any,
) -> FileReport:
    """Translate a file and write it; nothing is written if there is nothing that could be translated."""
    check_output(path, out)
    make_folder_of(out)
    parsed = format_.read(read_file(path), str(path))
    report = FileReport(str(path))
    segments = translate_segments(parsed.segments, translator, report, language, done, terms, glossary, **settings)
    if not report.sentences:
        reasons = ", ".join(f"{reason} ({count})" for reason, count in report.kept.items()) or "it has no text"
        raise InputError(f"nothing to translate: {reasons}", path)
    if report.unchanged == report.sentences:
        raise InputError("nothing was translated: every sentence came back as it was", path)
    data = parsed.render(segments)
    try:
        write_whole(out, data)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", out) from None
    return report
