"""Everything the service asks of docflat's translation: loading a model, texts, files, and the same without context.

Only model processes import this file; what it imports brings the model's engine with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from docflat.formats import find_format, options_of
from docflat.formats.catalogues.json import ALL, KEYS
from docflat.formats.safe_reading import read_file
from docflat.formats.segments import Format, Segment
from docflat.service.messages import Message
from docflat.service.tagged_texts import TagRules, read_tagged
from docflat.service.together import run_together
from docflat.support.atomic import write_whole
from docflat.translation.files import PlannedFile, plan_file, translate_segments, write_translation
from docflat.translation.repairing import Translates, translate_and_repair
from docflat.translation.side_by_side import mark_changes

Done = Callable[[int], None]
JsonObject = dict[str, Any]
Stretch = tuple[str, str | None]  # of a translation, and what stands there without context; None: the same

_AT_A_TIME = 64  # texts that are not related, in one call of the engine
_MOST_SHOWN = 20  # sentences of a report that have other numbers or terms than they should
ALONE: dict[str, Any] = {"mode": "sentence"}  # decoding settings of a sentence without context
# And of a long text: fewer rows at a step than usual, for those who wait for the end of a step. What comes out is the
# same.
IN_SHORT_STEPS: dict[str, Any] = {"batch_size": 16}


def load(folder: str, threads: int) -> Translates:
    from docflat.translation.translator import Translator

    return Translator.load(folder, threads=threads)


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
    if task["format"] == "xml" and text.strip():
        tagged = read_tagged(text, TagRules(**task["tags"]))
        return _Text(tagged.segments, tagged.render)
    return _plain(text, task["split"] != "nonewlines")


def translate_texts(translator: Translates, task: Message, done: Done, **settings: Any) -> Message:
    """Translate a list of texts: one document, or each a document of its own if they are not related.

    `context` is read before the document and is not part of the answer.
    """
    if not task["context_used"]:
        settings |= ALONE
    if task["related"] or len(task["texts"]) == 1:
        return _translate_document(translator, task, done, settings)
    answers: dict[int, Message | BaseException] = {}

    def do(place: int, shared: Translates) -> None:
        try:
            one = {**task, "texts": task["texts"][place : place + 1]}
            answers[place] = _translate_document(shared, one, done, settings)
        except BaseException as error:
            answers[place] = error

    for start in range(0, len(task["texts"]), _AT_A_TIME):
        places = range(start, min(start + _AT_A_TIME, len(task["texts"])))
        run_together(translator, places, do)
        for place in places:
            if isinstance(error := answers[place], BaseException):
                raise error
    each = [answer for _, answer in sorted(answers.items()) if not isinstance(answer, BaseException)]
    return {"texts": [text for answer in each for text in answer["texts"]]}


def _translate_document(translator: Translates, task: Message, done: Done, settings: Mapping[str, Any]) -> Message:
    if task["split"] == "none" and task["format"] == "text":
        return _unsplit(translator, task, done, settings)
    texts = [_read(text, task) for text in task["texts"]]
    before = [Segment(line) for text in task["context"] for line in text.split("\n")]
    segments = [*before, *(segment for text in texts for segment in text.segments)]
    translated, report = translate_segments(
        segments,
        translator,
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
        answer["rows"] = compare(translator, report.rows, done, settings)
        answer["changed"] = sum(map(is_changed, answer["rows"]))
        if len(texts) == 1 and not before and task["format"] == "text":
            answer["parts"] = mark_in_text(answer["texts"][0], answer["rows"])
    return answer


def mark_in_text(text: str, rows: Sequence[JsonObject]) -> list[Stretch]:
    """A whole translation in parts, as those of its sentences are."""
    parts: list[Stretch] = []
    place = 0
    for row in rows:
        start = text.find("".join(part for part, _ in row["parts"]), place)
        if start < 0:  # with its blanks as they were in the source
            continue
        for part, instead in [(text[place:start], None), *row["parts"]]:
            place += len(part)
            if instead is None and parts and parts[-1][1] is None:
                parts[-1] = (parts[-1][0] + part, None)
            else:
                parts.append((part, instead))
    parts.append((text[place:], None))
    return [part for part in parts if part[0]]


def _unsplit(translator: Translates, task: Message, done: Done, settings: Mapping[str, Any]) -> Message:
    """Every text is one sentence, whatever is in it."""
    document = [" ".join(text.split()) for text in (*task["context"], *task["texts"])]
    (translated,) = translate_and_repair(translator, [document], done=done, **settings)
    texts = [
        new.text if line else source
        for source, line, new in zip((*task["context"], *task["texts"]), document, translated, strict=True)
    ]
    return {"texts": texts[len(task["context"]) :]}


def compare(
    translator: Translates, rows: Sequence[tuple[str, str, bool]], done: Done, settings: Mapping[str, Any]
) -> list[JsonObject]:
    """Sentences and translations, these in parts: each part with what stands there without context, or None."""
    if not rows:
        return []
    (again,) = translate_and_repair(translator, [[row[0] for row in rows]], done=done, **{**settings, **ALONE})
    compared = []
    for (source, target, comparable), new in zip(rows, again, strict=True):
        text = new.text if comparable else None
        compared.append({"source": source, "parts": list(mark_changes(target, text)), "alone": text})
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
    keys: Sequence[str] = ()  # of JSON and YAML; of .csv the columns: what is to be translated
    sentences: Path | None = None  # where to write how each sentence reads with and without context

    @property
    def format(self) -> Format:
        known: dict[str, Any] = {"target_language": self.target, "keys": self.keys, "columns": self.keys}
        if not self.keys and self.path.suffix.lower() in (".json", ".jsonl"):
            known["keys"] = _keys_of(self.path)
        return find_format(self.path, **{name: known[name] for name in options_of(self.path) if name in known})


def _keys_of(path: Path) -> Sequence[str]:
    """The usual keys where a file has them; else all: nobody who drops a file on a page knows its keys."""
    usual = "|".join(map(re.escape, KEYS)).encode()
    return KEYS if re.search(b'"(%s)"\\s*:' % usual, read_file(path)) else (ALL,)


def translate_one_file(translator: Translates, task: FileTask, planned: PlannedFile, done: Done) -> Message:
    """Translate a file; the answer is its report."""
    report = write_translation(planned, task.out, translator, done)
    answer: Message = {
        "sentences": report.sentences,
        "segments": report.segments,
        "translated": report.translated,
        "unchanged": report.unchanged,
        "kept": dict(report.skipped),
        "numbers": [list(pair) for pair in report.other_numbers[:_MOST_SHOWN]],
        "terms": [list(pair) for pair in report.other_terms[:_MOST_SHOWN]],
        "characters": sum(len(row[0]) for row in report.rows),
    }
    if task.sentences is not None:
        compared = compare(translator, report.rows, done, {})
        answer["changed"] = sum(is_changed(row) for row in compared)
        write_whole(task.sentences, json.dumps(compared))
    return answer


def is_changed(row: JsonObject) -> bool:
    """Whether context changed a word of it; also where it only took words away, of which no part is left."""
    return row["alone"] is not None and row["alone"].split() != "".join(part[0] for part in row["parts"]).split()


def read_one_file(task: FileTask) -> PlannedFile:
    """A file with its sentences; what is wrong with the file is an InputError."""
    return plan_file(task.path, task.format, task.source, task.terms, task.glossary)
