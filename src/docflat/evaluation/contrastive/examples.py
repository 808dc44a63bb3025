"""Contrastive examples: a translation that is right in its context, and others that are wrong in it.

A model is right about an example if it scores the reference strictly better than every contrastive.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from docflat.data.documents import json_object, read_lines
from docflat.support.errors import InputError
from docflat.support.strict_yaml import nearest

Fields = dict[str, str | int]
Scores = list[list[tuple[float, int]]]  # of each example: (sum of log-probabilities, tokens); the reference comes first

MOST_DISTANCE = 3  # greater distances are counted together, as ContraPro does
_EOS = "_eos"  # stands between the sentences of Voita et al.
_SOURCE_LANGUAGE = "en"  # of ContraPro; the target language ends each document id
# What the formats call the same thing.
_NAMES = {"ref_pronoun": "pronoun", "ante_distance": "distance", "ctx_dist": "distance"}


@dataclass(frozen=True)
class ContrastiveExample:
    """A sentence with its context, oldest first; `source_context[i]` is translated by `target_context[i]`."""

    source: str
    reference: str
    contrastives: tuple[str, ...]
    source_context: tuple[str, ...] = ()
    target_context: tuple[str, ...] = ()
    fields: Fields = field(default_factory=dict)  # what accuracies can be told apart by, such as pronoun and distance

    @property
    def candidates(self) -> tuple[str, ...]:
        """What is scored: the reference, then the contrastives."""
        return self.reference, *self.contrastives


def read_contrastive(path: Path, documents: Path | None = None, context: int | None = None) -> list[ContrastiveExample]:
    """The examples of a file in any of the formats of docs/contrast.md, which its content tells apart.

    `documents` is the folder of documents that belongs to ContraPro's own JSON; without it the context files beside
    that are read. `context` is how many sentences of context to keep, the nearest ones; None keeps all.
    """
    lines = list(read_lines(path))
    if not any(lines):
        examples = []
    elif _is_json_lines(lines):
        examples = list(_read_json_lines(lines, path))
    else:
        examples = list(_read_json(lines, path, documents, context))
    if not examples:
        raise InputError("no examples in this file", path)
    return examples if context is None else [_with_context(example, context) for example in examples]


def to_json(example: ContrastiveExample) -> str:
    """A line of our own format."""
    record = {
        "source": example.source,
        "source_context": example.source_context,
        "target_context": example.target_context,
        "reference": example.reference,
        "contrastives": example.contrastives,
        **example.fields,
    }
    return json.dumps(record, ensure_ascii=False)


def accuracies(
    examples: Sequence[ContrastiveExample], scores: Scores, by: Sequence[str] | None = None
) -> list[dict[str, object]]:
    """Rows of a table: over all examples, then for each value of each field of `by`.

    The default is pronoun and distance, where examples have them. None is the value of examples without the field.
    """
    verdicts = [_verdict(candidates) for candidates in scores]
    return [
        _row(name, value, [verdicts[n] for n in numbers])
        for name, value, numbers in grouped(examples, by, usual=("pronoun", "distance"))
    ]


def grouped(
    examples: Sequence[ContrastiveExample], by: Sequence[str] | None, usual: Sequence[str]
) -> list[tuple[str, str | int | None, list[int]]]:
    """(field, value, numbers of the examples): all of them, then each value of each field.

    The default is what is usual, where examples have it.
    """
    known = list(dict.fromkeys(name for example in examples for name in example.fields))
    for name in by or ():
        if name not in known:
            hint = nearest(name, known, f"; they have {', '.join(known)}" if known else "")
            raise InputError(f"no example has a field {name!r}{hint}")
    named_groups: list[tuple[str, str | int | None, list[int]]] = [("all", None, list(range(len(examples))))]
    for name in [name for name in usual if name in known] if by is None else by:
        groups: dict[str | int | None, list[int]] = {}
        for number, example in enumerate(examples):
            groups.setdefault(_value(example, name), []).append(number)
        named_groups += [(name, value, groups[value]) for value in sorted(groups, key=_order)]
    return named_groups


def is_right(scores: Sequence[float]) -> bool:
    """Whether the first is strictly the best: a tie is wrong."""
    return all(scores[0] > other for other in scores[1:])


def _verdict(candidates: Sequence[tuple[float, int]]) -> tuple[bool, bool]:
    """By sum and by mean."""
    return is_right([total for total, _ in candidates]), is_right([total / max(n, 1) for total, n in candidates])


def _row(name: str, value: str | int | None, verdicts: Sequence[tuple[bool, bool]]) -> dict[str, object]:
    by_sum, by_mean = (sum(column) / len(verdicts) for column in zip(*verdicts, strict=True))
    return {"by": name, "value": value, "examples": len(verdicts), "accuracy": by_sum, "accuracy by mean": by_mean}


def _value(example: ContrastiveExample, name: str) -> str | int | None:
    value = example.fields.get(name)
    return f">{MOST_DISTANCE}" if name == "distance" and isinstance(value, int) and value > MOST_DISTANCE else value


def _order(value: str | int | None) -> tuple[int, int, str]:
    """Numbers, then words, then what has no value."""
    if isinstance(value, int):
        return 0, value, ""
    return (2, 0, "") if value is None else (1, 0, value)


def _with_context(example: ContrastiveExample, most: int) -> ContrastiveExample:
    first = max(len(example.source_context) - most, 0)
    return ContrastiveExample(
        example.source,
        example.reference,
        example.contrastives,
        example.source_context[first:],
        example.target_context[first:],
        example.fields,
    )


def _is_json_lines(lines: Sequence[str]) -> bool:
    """Whether the first line is an example by itself; the other formats are one JSON value, perhaps on one line."""
    try:
        value = json.loads(lines[0])
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and any(isinstance(value.get(key), str) for key in ("source", "src", "reference"))


def _read_json_lines(lines: Iterable[str], path: Path) -> Iterator[ContrastiveExample]:
    """Our own format, and the one that calls `source` `src`."""
    for number, line in enumerate(lines, 1):
        record = _JsonExample(json_object(line, path, number), path, line=number)
        if record.has("source"):
            keys = ("source", "reference", "contrastives", "source_context", "target_context")
        else:
            keys = ("src", "ref", "contrastive", "src_context", "tgt_context")
        source, reference, contrastives, source_context, target_context = keys
        yield record.example(
            record.text(source),
            record.text(reference),
            record.texts(contrastives),
            record.context(source_context),
            record.context(target_context),
            record.fields(keys),
        )


def _read_json(
    lines: Sequence[str], path: Path, documents: Path | None, context: int | None
) -> Iterator[ContrastiveExample]:
    try:
        value = json.loads("\n".join(lines))
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON: {error.msg} at column {error.colno}", path, error.lineno) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}", path) from error
    if isinstance(value, dict):
        return _read_bawden(value, path)
    records = [
        _JsonExample(each, path, f"example {n}") for n, each in enumerate(value if isinstance(value, list) else [], 1)
    ]
    if records and records[0].has("errors"):
        return _read_contrapro(records, _contexts(records, path, documents, context))
    if records and records[0].has("dst"):
        return (_voita_example(record) for record in records)
    raise InputError("not a contrastive set: none of the known formats (docs/contrast.md)", path)


def _read_contrapro(
    records: Sequence[_JsonExample], contexts: Iterable[tuple[tuple[str, ...], tuple[str, ...]]]
) -> Iterator[ContrastiveExample]:
    keys = ("src segment", "ref segment", "errors")
    for record, (source_context, target_context) in zip(records, contexts, strict=True):
        errors = [_JsonExample(error, record.path, record.where) for error in record.items("errors")]
        contrastives = [error.text("contrastive") for error in errors]
        sides = record.text("src segment"), record.text("ref segment")
        yield record.example(*sides, contrastives, source_context, target_context, record.fields(keys))


def _contexts(
    records: Sequence[_JsonExample], path: Path, documents: Path | None, context: int | None
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Of each example of ContraPro, from its documents or its context files."""
    if documents is not None:
        return _contexts_in_documents(records, documents)
    if context == 0:
        return (((), ()) for _ in records)
    return _contexts_in_files(records, path)


def _contexts_in_documents(
    records: Sequence[_JsonExample], folder: Path
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """All that precedes, in YEAR/NAME.en and YEAR/NAME.de, as ContraPro's script lays OpenSubtitles out."""
    files = {file.name: file for file in sorted(folder.glob("**/*")) if file.is_file()}
    read: dict[Path, list[str]] = {}
    same = 0
    for number, record in enumerate(records, 1):
        name, line = record.text("document id"), record.number("segment id")
        sides = []
        for one in (f"{name.rpartition('.')[0]}.{_SOURCE_LANGUAGE}", name):
            if one not in files:
                raise record.error(f"no document {one} in {folder}")
            if files[one] not in read:
                read[files[one]] = list(read_lines(files[one]))
            sides.append(read[files[one]])
        source, target = sides
        if not 1 <= line <= min(len(source), len(target)):
            raise record.error(f"{name} has no segment {line}")
        same += _letters(source[line - 1]) == _letters(record.text("src segment"))
        # A few segments differ by a letter between versions of the corpus; other documents differ in nearly all.
        if number == len(records) and same * 2 < number:
            raise InputError(f"these are other documents: {number - same} of {number} sentences differ", folder)
        yield tuple(source[: line - 1]), tuple(target[: line - 1])


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text)).casefold()


def _contexts_in_files(
    records: Sequence[_JsonExample], path: Path
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """From NAME.context.en and NAME.context.de, which have as many lines for each candidate, empty where none is."""
    stem = path.name.partition(".")[0]
    language = records[0].text("document id").rpartition(".")[2]
    files = [path.with_name(f"{stem}.context.{each}") for each in (_SOURCE_LANGUAGE, language)]
    for file in files:
        if not file.exists():
            message = f"no context: there is no {file.name} beside it, and no folder of documents was given"
            raise InputError(message, path)
    source, target = (list(read_lines(file)) for file in files)
    candidates = sum(1 + len(record.items("errors")) for record in records)
    size = len(source) // candidates
    for file, lines in zip(files, (source, target), strict=True):
        if not size or len(lines) != size * candidates:
            message = f"{len(lines)} lines, which is no multiple of the {candidates} candidates of {path.name}"
            raise InputError(message, file)
    start = 0
    for record in records:
        pairs = zip(source[start : start + size], target[start : start + size], strict=True)
        present = [pair for pair in pairs if any(pair)]
        yield tuple(s for s, _ in present), tuple(t for _, t in present)
        start += size * (1 + len(record.items("errors")))


def _voita_example(record: _JsonExample) -> ContrastiveExample:
    """The sentences of a side are one string; `true_ind` says which of the targets is right."""
    *source_context, source = record.text("src").split(f" {_EOS} ")
    targets = [target.split(f" {_EOS} ") for target in record.texts("dst")]
    index = record.number("true_ind")
    if not 0 <= index < len(targets):
        raise record.error(f'"true_ind" is {index}, but there are {len(targets)} targets')
    *target_context, reference = targets.pop(index)
    if any(target[:-1] != target_context for target in targets):
        raise record.error("targets must differ in their last sentence only")
    contrastives = [target[-1] for target in targets]
    fields = record.fields(("src", "dst", "true_ind"))
    return record.example(source, reference, contrastives, source_context, target_context, fields)


def _read_bawden(blocks: Mapping[str, Any], path: Path) -> Iterator[ContrastiveExample]:
    """Blocks of examples: `examples` with a source each, or one source and several right translations."""
    for key, block in blocks.items():
        record = _JsonExample(block, path, f"block {key}")
        fields: Fields = {"block": key, **record.fields()}
        if record.has("examples"):
            for each in record.items("examples"):
                one = _JsonExample(each, path, record.where)
                yield _bawden_example(one, _JsonExample(one.value.get("trg"), path, record.where), fields)
        elif record.has("trg"):
            for target in record.items("trg"):
                yield _bawden_example(record, _JsonExample(target, path, record.where), fields)
        else:
            raise InputError("not a contrastive set: none of the known formats (docs/contrast.md)", path)


def _bawden_example(source: _JsonExample, target: _JsonExample, fields: Fields) -> ContrastiveExample:
    right = "correct" if target.has("correct") else "semi-correct"
    sides = [source.texts("src"), target.texts(right), target.texts("incorrect")]
    if len({len(side) for side in sides}) > 1 or not sides[0]:
        raise source.error("source, right and wrong translation must have as many sentences")
    (*source_context, sentence), (*target_context, reference), (*wrong_context, contrastive) = sides
    if wrong_context != target_context:
        raise source.error("targets must differ in their last sentence only")
    more = {**fields, "translation": right, **target.fields()}
    return source.example(sentence, reference, [contrastive], source_context, target_context, more)


class _JsonExample:
    """A JSON object of a contrastive set, and where it stands."""

    def __init__(self, value: object, path: Path, where: str = "", line: int | None = None) -> None:
        self.path, self.where, self.line = path, where, line
        if not isinstance(value, dict):
            raise self.error(f"must be a JSON object, not {json.dumps(value)[:60]}")
        self.value: dict[str, Any] = value

    def error(self, message: str) -> InputError:
        return InputError(f"{self.where}: {message}" if self.where else message, self.path, self.line)

    def has(self, key: str) -> bool:
        return key in self.value

    def text(self, key: str) -> str:
        return str(self._checked(key, "a string", lambda value: isinstance(value, str)))

    def number(self, key: str) -> int:
        return int(self._checked(key, "a number", lambda value: isinstance(value, int)))

    def items(self, key: str) -> list[Any]:
        return list(self._checked(key, "a list", lambda value: isinstance(value, list)))

    def texts(self, key: str) -> list[str]:
        values = self.items(key)
        if not all(isinstance(value, str) for value in values):
            raise self.error(f'"{key}" must be a list of strings')
        return values

    def context(self, key: str) -> list[str]:
        """Sentences, or one sentence; an empty one is no context."""
        if isinstance(self.value.get(key), str):
            return [self.value[key]] if self.value[key] else []
        return self.texts(key) if self.has(key) else []

    def fields(self, keys: Sequence[str] = ()) -> Fields:
        """What else is known: strings and numbers, with one name for what the formats call differently."""
        fields: Fields = {}
        for key, value in self.value.items():
            if key not in keys and isinstance(value, str | int):
                name = key.replace(" ", "_")
                # JSON knows true and false; in a table they are words.
                fields[_NAMES.get(name, name)] = json.dumps(value) if isinstance(value, bool) else value
        if isinstance(fields.get("pronoun"), str):
            fields["pronoun"] = str(fields["pronoun"]).lower()
        return fields

    def example(
        self,
        source: str,
        reference: str,
        contrastives: Sequence[str],
        source_context: Sequence[str],
        target_context: Sequence[str],
        fields: Fields,
    ) -> ContrastiveExample:
        if not contrastives:
            raise self.error("an example without contrastives")
        for what, text in (("source", source), ("reference", reference), *(("contrastive", c) for c in contrastives)):
            if not text.strip():
                raise self.error(f"an empty {what}")
        if len(source_context) != len(target_context):
            counts = f"{len(source_context)} sentences of source context but {len(target_context)} of target context"
            raise self.error(counts)
        contexts = tuple(source_context), tuple(target_context)
        return ContrastiveExample(source, reference, tuple(contrastives), *contexts, fields)

    def _checked(self, key: str, must: str, is_right: Callable[[object], bool]) -> Any:
        value = self.value.get(key)
        if not is_right(value):
            raise self.error(f'"{key}" must be {must}, not {json.dumps(value)[:60]}')
        return value
