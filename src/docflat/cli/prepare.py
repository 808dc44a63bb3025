"""`docflat prepare`: parallel documents to an encoded corpus."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docflat.cli.arguments import add_boundaries, add_json, add_number
from docflat.support.console import print_rows, warn
from docflat.support.errors import InputError
from docflat.support.languages import NAMES, checked_code, language_name
from docflat.support.text_files import OPENERS
from docflat.weights.shipped import languages_of, model_folder

if TYPE_CHECKING:
    from docflat.data.documents import FilePair


_FILES: dict[str, Any] = {"nargs": "+", "action": "extend", "type": Path, "metavar": "FILE", "default": []}


def arguments(parser: ArgumentParser) -> None:
    add_pairs(parser)
    valid = parser.add_argument_group("validation", "Without --valid-source, some training documents are held out.")
    valid.add_argument("--valid-source", **_FILES, help="as --source")
    valid.add_argument("--valid-target", **_FILES, help="as --target")
    valid.add_argument("--valid-docids", **_FILES, help="as --docids")
    valid.add_argument("--valid-starts", **_FILES, help="as --starts")
    add_number(valid, "--hold-out", 2000, "sentences to hold out, about", least=0)
    add_boundaries(parser)
    parser.add_argument(
        "--loose",
        nargs="+",
        action="extend",
        metavar="PART",
        default=[],
        help="parts (source files by name, or globs) of sentences without documents: each line stands alone",
    )
    parser.add_argument(
        "--clean", action="store_true", help="leave bad sentence pairs out of training; docs/data.md says which"
    )
    parser.add_argument(
        "--exclude",
        **_FILES,
        help="text files, such as test sets; training leaves out pairs whose source sentence is in them",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to write")
    add_number(parser, "--vocabulary", 32000, "subwords to learn")
    add_number(parser, "--index-tokens", 256, "tokens that count the sentences of a document")
    add_number(parser, "--learn-from", 1_000_000, "sentence pairs to learn subwords from, at most")
    parser.add_argument(
        "--moses",
        nargs=2,
        metavar=("SRC", "TGT"),
        help="tokenise with Moses first, by the rules of these languages, such as en de",
    )
    subwords = "use this tokenizer.json, or that of a model folder, and learn no subwords (en-de: docflat's own model)"
    parser.add_argument("--tokenizer", type=model_folder, metavar="FILE", help=subwords)
    parser.add_argument("--force", action="store_true", help="replace what an earlier prepare wrote to DIR")
    add_json(parser)


def run(arguments: Namespace) -> None:
    from docflat.data.preparing import prepare

    languages = _find_languages(arguments)
    prepared = prepare(
        pairs(arguments),
        arguments.out,
        valid_pairs=pairs(arguments, "valid_"),
        vocabulary=arguments.vocabulary,
        index_tokens=arguments.index_tokens,
        moses=tuple(arguments.moses) if arguments.moses else None,
        tokenizer=arguments.tokenizer,
        learn_from=arguments.learn_from,
        hold_out=arguments.hold_out,
        force=arguments.force,
        loose=arguments.loose,
        clean=arguments.clean,
        exclude=arguments.exclude,
        languages=languages,
    )
    if languages is None:
        warn("models trained on this will not know their languages: --from en --to de says them")
    for note in prepared.notes:
        warn(note)
    parts = {"train": prepared.train, "valid": prepared.valid}
    rows: list[dict[str, object]] = [
        {"part": name, **asdict(counts), "subwords": prepared.text_size}
        for name, counts in parts.items()
        if counts is not None
    ]
    if len(prepared.parts) > 1:
        rows += [{"part": f"train: {part.name}", **asdict(part.counts)} for part in prepared.parts]
    if arguments.clean or arguments.exclude:
        dropped = {f"train: {name}": sum(faults.values()) for name, faults in prepared.dropped.items()}
        dropped["train"] = sum(dropped.values())
        for row in rows:
            row["dropped"] = dropped.get(str(row["part"]))
    named = f" ({' to '.join(map(language_name, languages))})" if languages else ""
    print_rows(rows, arguments.json, title=f"{prepared.folder}{named}")


def _named_languages(arguments: Namespace) -> tuple[str, str] | None:
    pair = (arguments.source_language, arguments.target_language)
    if arguments.languages:
        if any(pair):
            raise InputError("--languages says what --from and --to say: one of them will do")
        pair = tuple(arguments.languages)
    if not any(pair):
        return None
    if not all(pair):
        raise InputError("--from and --to go together")
    return pair[0], pair[1]


def _find_languages(arguments: Namespace) -> tuple[str, str] | None:
    """As the options say; else those of the model whose subwords are used; else by the ends of the files' names."""
    if named := _named_languages(arguments):
        source, target = map(checked_code, named)
        return source, target
    if arguments.tokenizer is not None and (known := languages_of(arguments.tokenizer)):
        return known
    ends = _ending(arguments.source), _ending(arguments.target)
    return (ends[0], ends[1]) if ends[0] and ends[1] and ends[0] != ends[1] else None


def _ending(files: Sequence[Path]) -> str | None:
    """The language by which all these files end: train.en, train.en.xz."""
    ends = {(file.with_suffix("") if file.suffix.lower() in OPENERS else file).suffix[1:].lower() for file in files}
    return ends.pop() if len(ends) == 1 and ends <= NAMES.keys() else None


def add_pairs(parser: ArgumentParser) -> None:
    """Options that name the files of aligned documents."""
    parser.add_argument(
        "--source", **_FILES | {"required": True}, help="source sides, or TSV, JSONL, TMX, PO or XLIFF files of both"
    )
    parser.add_argument("--target", **_FILES, help="target sides, in the order of the sources")
    parser.add_argument("--docids", **_FILES, help="a docid for each line, in the order of the sources")
    parser.add_argument("--starts", **_FILES, help="the lines where documents start, in the order of the sources")
    languages = "source and target language, such as en de; TMX, PO and XLIFF files: which languages to take"
    parser.add_argument("--languages", nargs=2, metavar=("SRC", "TGT"), help=languages)
    parser.add_argument(
        "--from", dest="source_language", metavar="CODE", help="the source language, as the first of --languages"
    )
    parser.add_argument(
        "--to", dest="target_language", metavar="CODE", help="the target language, as the second of --languages"
    )


def pairs(arguments: Namespace, prefix: str = "") -> list[FilePair]:
    """What the options name."""
    from docflat.data.documents import FilePair

    values = vars(arguments)
    sources = values[f"{prefix}source"]
    others = []
    for what in ("target", "docids", "starts"):
        files = values[f"{prefix}{what}"]
        if files and len(files) != len(sources):
            options = f"--{prefix}{what} and --{prefix}source".replace("_", "-")
            raise InputError(f"{options} must name as many files: {len(files)} and {len(sources)} are given")
        others.append(files or [None] * len(sources))
    languages = _named_languages(arguments)
    return [
        FilePair(source, target, arguments.boundaries, docids, starts, languages)
        for source, target, docids, starts in zip(sources, *others, strict=True)
    ]
