"""Everything the service asks of docflat's translation: loading a model, texts, files, and the same without context.

Only model processes import this file; what it imports brings the model's engine with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from docflat.formats import find_format, options_of
from docflat.formats.segments import Segment
from docflat.service.messages import Message
from docflat.translation.files import FileReport, Translates, translate_file, translate_segments
from docflat.translation.repairs.finishing import finish
from docflat.translation.side_by_side import mark_changes

Done = Callable[[int], None]
Row = dict[str, Any]

ALONE: dict[str, Any] = {"mode": "sentence"}  # decoding settings of a sentence without context


def load(folder: str, threads: int) -> Translates:
    from docflat.translation.translator import Translator

    if threads:
        import torch

        torch.set_num_threads(threads)
    return Translator.load(folder)


@dataclass
class _Text:
    """A text, cut into segments, and how it is put together again."""

    segments: Sequence[Segment]
    render: Callable[[Sequence[Segment]], str]


def _plain(text: str, newlines: bool) -> _Text:
    """newlines: whether a line ends a sentence."""
    lines = text.split("\n") if newlines else [text]
    return _Text([Segment(line) for line in lines], lambda segments: "\n".join(segment.text for segment in segments))


def _html(text: str) -> _Text:
    parsed = find_format("text.html").read(text.encode(), "text")
    return _Text(parsed.segments, lambda segments: parsed.render(segments).decode())


def _read(text: str, task: Message) -> _Text:
    if task["format"] == "html" and text.strip():
        return _html(text)
    return _plain(text, task["split"] != "nonewlines")


def translate_texts(translator: Translates, task: Message, done: Done) -> Message:
    """Translate a list of texts: one document, or each by itself if `together` is false.

    `context` is read before the document and is not part of the answer.
    """
    settings: dict[str, Any] = {} if task["context_used"] else ALONE
    if task["split"] == "none":
        return _unsplit(translator, task, done, settings)
    texts = [_read(text, task) for text in task["texts"]]
    before = [Segment(line) for text in task["context"] for line in text.split("\n")]
    segments = [*before, *(segment for text in texts for segment in text.segments)]
    report = FileReport("text")
    translated = translate_segments(
        segments,
        translator,
        report,
        task["source"],
        done,
        task["terms"],
        task["glossary"],
        **settings,
    )
    answer: Message = {"texts": []}
    place = len(before)
    for text in texts:
        answer["texts"].append(text.render(translated[place : place + len(text.segments)]))
        place += len(text.segments)
    if task["compare"]:
        answer["rows"] = compare(translator, report.rows, done)
    return answer


def _unsplit(translator: Translates, task: Message, done: Done, settings: Mapping[str, Any]) -> Message:
    """Every text is one sentence, whatever is in it."""
    document = [" ".join(text.split()) for text in (*task["context"], *task["texts"])]
    (translated,) = translator.translate_documents([document], done=done, **settings)
    texts = [
        finish(line, text, translator.languages) if line else source
        for source, line, text in zip((*task["context"], *task["texts"]), document, translated, strict=True)
    ]
    return {"texts": texts[len(task["context"]) :]}


def compare(translator: Translates, rows: Sequence[tuple[str, str, bool]], done: Done) -> list[Row]:
    """Sentences and translations, these in parts: each part with what stands there without context, or None."""
    if not rows:
        return []
    (again,) = translator.translate_documents([[row[0] for row in rows]], done=done, **ALONE)
    compared = []
    for (source, target, comparable), text in zip(rows, again, strict=True):
        alone = finish(source, text, translator.languages) if comparable else None
        compared.append({"source": source, "parts": list(mark_changes(target, alone)), "alone": alone})
    return compared


@dataclass
class FileTask:
    """A file of a job."""

    path: Path
    out: Path
    source: str
    target: str
    terms: Sequence[str] = ()
    glossary: Mapping[str, str] = field(default_factory=dict)
    compare: bool = False

    def options(self) -> dict[str, Any]:
        known: dict[str, Any] = {"target_language": self.target}
        return {name: known[name] for name in options_of(self.path) if name in known}


def translate_one_file(translator: Translates, task: FileTask, done: Done) -> Message:
    """Translate a file; the answer is its report, and the sentences if they were to be compared."""
    format_ = find_format(task.path, **task.options())
    report = translate_file(task.path, task.out, format_, translator, task.source, done, task.terms, task.glossary)
    answer: Message = {
        "sentences": report.sentences,
        "segments": report.segments,
        "translated": report.translated,
        "unchanged": report.unchanged,
        "kept": dict(report.kept),
        "numbers": [list(pair) for pair in report.other_numbers[:20]],
        "terms": [list(pair) for pair in report.other_terms[:20]],
        "characters": sum(len(row[0]) for row in report.rows),
    }
    if task.compare:
        answer["rows"] = compare(translator, report.rows, done)
    return answer


def count_file(path: Path, target: str, source: str) -> int:
    """Sentences of a file that are to be translated; what is wrong with the file is an InputError."""
    from docflat.formats.safe_reading import read_file
    from docflat.translation.files import count_sentences

    parsed = find_format(path, **FileTask(path, path, source, target).options()).read(read_file(path), path.name)
    return count_sentences(parsed.segments, source)
