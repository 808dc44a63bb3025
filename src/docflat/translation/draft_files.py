"""Files of drafts: what they hold as sentences in pairs, and the same files with other words in their places."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from docflat.data.documents import Boundaries, FilePair, read_documents
from docflat.editing.revisions import Revision, SentenceAndDraft
from docflat.editing.variants import Change
from docflat.formats import FORMATS, WRITTEN_AS, find_format
from docflat.formats.safe_reading import read_file
from docflat.formats.segments import Segment
from docflat.support.errors import InputError
from docflat.support.text_files import raw_lines
from docflat.support.text_ranges import Range
from docflat.translation.sentences import split_sentences

BILINGUAL = (".po", ".xliff", ".xlf", ".tmx")


@dataclass(frozen=True)
class DraftDocument:
    """Sentences of a document with their drafts."""

    pairs: Sequence[SentenceAndDraft]
    places: Sequence[str]  # where each draft stands, for messages: "draft.de:12"


class DraftFile(Protocol):
    """A file of drafts that was read."""

    @property
    def documents(self) -> Sequence[DraftDocument]: ...

    def render(self, revisions: Sequence[Sequence[Revision]]) -> bytes:
        """The whole file with what became of its drafts; all else as it was, to the byte."""


def read_drafts(
    source: Path, draft: Path | None, boundaries: Boundaries, lines: bool, languages: tuple[str, str]
) -> DraftFile:
    """Two files, or one that holds both sides. lines: both are text, a sentence a line, whatever their names say."""
    suffix = source.suffix.lower()
    if draft is None:
        if suffix not in BILINGUAL:
            message = f"no file of two languages ({', '.join(BILINGUAL)}): name the translation, too"
            raise InputError(message, source)
        from docflat.translation.bilingual_drafts import read_bilingual

        return read_bilingual(source, languages)
    if not lines and suffix in FORMATS and suffix != ".tsv":
        if suffix in BILINGUAL:
            raise InputError(f"a {suffix} file holds both sides: give it alone", source)
        return FormattedDrafts(source, draft, languages)
    return LineDrafts(source, draft, boundaries)


class LineDrafts:
    """Two texts of a sentence a line."""

    def __init__(self, source: Path, draft: Path, boundaries: Boundaries = "auto") -> None:
        self.documents: list[DraftDocument] = []
        self.lines = b"".join(raw_lines(draft, draft)).split(b"\n")
        self.numbers: list[range] = []
        for document in read_documents(FilePair(source, draft, boundaries)):
            assert document.target is not None  # the pair has two files
            numbers = range(document.line, document.line + len(document.source))
            pairs = list(zip(document.source, document.target, strict=True))
            self.documents.append(DraftDocument(pairs, [f"{draft}:{number}" for number in numbers]))
            self.numbers.append(numbers)

    def render(self, revisions: Sequence[Sequence[Revision]]) -> bytes:
        lines = list(self.lines)
        for numbers, document in zip(self.numbers, revisions, strict=True):
            for number, revision in zip(numbers, document, strict=True):
                if revision.edits:
                    line = lines[number - 1]
                    lines[number - 1] = line.replace(revision.draft.encode(), revision.text.encode())
        return b"\n".join(lines)


@dataclass(frozen=True)
class TextPair:
    """A text of a file and its draft: a paragraph, a message."""

    source: str
    draft: str
    place: str  # of the draft, for messages

    def sentences(self, languages: tuple[str, str]) -> list[tuple[Range, Range]]:
        """Sentences that translate each other; all of it, if there are not as many on both sides."""
        sides = [
            split_sentences(text, language) for text, language in zip((self.source, self.draft), languages, strict=True)
        ]
        if len(sides[0]) == len(sides[1]):
            return list(zip(*sides, strict=True))
        return [((0, len(self.source)), (0, len(self.draft)))] if all(sides) else []


class TextPairs:
    """The texts of documents as sentences, and the changes of these as changes of the texts."""

    def __init__(self, documents: Iterable[Sequence[TextPair]], languages: tuple[str, str]) -> None:
        self.documents: list[DraftDocument] = []
        self.places: list[list[tuple[int, int]]] = []  # of each sentence: the number of its text, where it starts
        number = 0
        for document in documents:
            pairs: list[SentenceAndDraft] = []
            names: list[str] = []
            places = []
            for text in document:
                for (start, end), (first, last) in text.sentences(languages):
                    pairs.append((text.source[start:end], text.draft[first:last]))
                    names.append(text.place)
                    places.append((number, first))
                number += 1
            self.documents.append(DraftDocument(pairs, names))
            self.places.append(places)
        self.size = number

    def changes(self, revisions: Sequence[Sequence[Revision]]) -> list[list[Change]]:
        """Of each text, in their order."""
        changes_by_text: list[list[Change]] = [[] for _ in range(self.size)]
        for places, document in zip(self.places, revisions, strict=True):
            for (number, start), revision in zip(places, document, strict=True):
                for change in revision.changes:
                    first, last = change.place
                    changes_by_text[number].append(replace(change, place=(start + first, start + last)))
        return changes_by_text


class FormattedDrafts:
    """Two files of a format: the source and its translation, paragraph by paragraph."""

    def __init__(self, source: Path, draft: Path, languages: tuple[str, str]) -> None:
        if draft.suffix.lower() in WRITTEN_AS:
            raise InputError(f"a {draft.suffix} file is read, but not written", draft)
        if FORMATS.get(source.suffix.lower()) != FORMATS.get(draft.suffix.lower()):
            raise InputError(f"the translation of a {source.suffix} file is no {draft.suffix} file", draft)
        original, self.parsed = (find_format(file).read(read_file(file), str(file)) for file in (source, draft))
        counts = [len(file.segments) for file in (original, self.parsed)]
        if counts[0] != counts[1]:
            raise InputError(f"has {counts[1]} texts, but {source} has {counts[0]}", draft)
        texts = [
            TextPair(
                "" if each.skip_reason else before.text,
                "" if each.skip_reason else each.text,
                f"{draft}, text {number}",
            )
            for number, (before, each) in enumerate(zip(original.segments, self.parsed.segments, strict=True), 1)
        ]
        self.texts = TextPairs([texts], languages)

    @property
    def documents(self) -> Sequence[DraftDocument]:
        return self.texts.documents

    def render(self, revisions: Sequence[Sequence[Revision]]) -> bytes:
        changes = self.texts.changes(revisions)
        return self.parsed.render(
            [change_segment(*pair) if pair[1] else pair[0] for pair in zip(self.parsed.segments, changes, strict=True)]
        )


def change_segment(segment: Segment, changes: Sequence[Change]) -> Segment:
    """With other words in the place of some; formatting stays on the words it was on."""

    def moved(place: int) -> int:
        """An edge inside a word goes to the word's start."""
        by = 0
        for change in changes:
            start, end = change.place
            if start < place < end:
                return start + by
            by += len(change.new) - (end - start) if end <= place else 0
        return place + by

    text = segment.text
    for change in reversed(changes):
        text = text[: change.place[0]] + change.new + text[change.place[1] :]
    spans = tuple(replace(span, start=moved(span.start), end=moved(span.end)) for span in segment.spans)
    return replace(segment, text=text, spans=spans)
