"""The command line: a table of verbs.

A verb imports what it needs when it runs, so that `docflat --help` does not wait for torch.
"""

from __future__ import annotations

import json
import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn, cast

from docflat import __version__
from docflat.console import print_table, progress, warn
from docflat.errors import InputError
from docflat.settings import nearest

if TYPE_CHECKING:
    from argparse import _ArgumentGroup

    from docflat.documents import Document, Pair

BOUNDARIES = ("auto", "empty-lines", "d-lines", "docids", "starts", "none")


@dataclass(frozen=True)
class Verb:
    """One command."""

    name: str
    summary: str
    example: str
    arguments: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], int | None]


def prepare_arguments(parser: ArgumentParser) -> None:
    files: dict[str, Any] = {"nargs": "+", "action": "extend", "type": Path, "metavar": "FILE", "default": []}
    parser.add_argument(
        "--source", **files | {"required": True}, help="source sides, or TSV or JSONL files of both sides"
    )
    parser.add_argument("--target", **files, help="target sides, in the order of the sources")
    parser.add_argument("--docids", **files, help="a docid for each line, in the order of the sources")
    parser.add_argument("--starts", **files, help="the lines where documents start, in the order of the sources")
    valid = parser.add_argument_group("validation", "Without --valid-source, some training documents are held out.")
    valid.add_argument("--valid-source", **files, help="as --source")
    valid.add_argument("--valid-target", **files, help="as --target")
    valid.add_argument("--valid-docids", **files, help="as --docids")
    valid.add_argument("--valid-starts", **files, help="as --starts")
    _add_number(valid, "--hold-out", 2000, "sentences to hold out, about", least=0)
    _add_boundaries(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to write")
    _add_number(parser, "--vocabulary", 32000, "subwords to learn")
    _add_number(parser, "--index-tokens", 256, "tokens that count the sentences of a document")
    _add_number(parser, "--learn-from", 1_000_000, "sentence pairs to learn subwords from, at most")
    parser.add_argument("--moses", nargs=2, metavar=("SRC", "TGT"), help="tokenise with Moses first: en de")
    parser.add_argument("--tokenizer", type=Path, metavar="FILE", help="a tokenizer.json to use; none is learned")
    parser.add_argument("--force", action="store_true", help="replace what an earlier prepare wrote to DIR")
    _add_json(parser)


def prepare(arguments: Namespace) -> None:
    from docflat.preparing import prepare

    prepared = prepare(
        _pairs(arguments, ""),
        arguments.out,
        valid_pairs=_pairs(arguments, "valid_"),
        vocabulary=arguments.vocabulary,
        index_tokens=arguments.index_tokens,
        moses=tuple(arguments.moses) if arguments.moses else None,
        tokenizer=arguments.tokenizer,
        learn_from=arguments.learn_from,
        hold_out=arguments.hold_out,
        force=arguments.force,
    )
    for note in prepared.notes:
        warn(note)
    parts = {"train": prepared.train, "valid": prepared.valid}
    rows = [
        {"part": name, **asdict(counts), "subwords": prepared.text_size}
        for name, counts in parts.items()
        if counts is not None
    ]
    _print_rows(rows, arguments.json, title=str(prepared.folder))


def _pairs(arguments: Namespace, prefix: str) -> list[Pair]:
    from docflat.documents import Pair

    given = vars(arguments)
    sources = given[f"{prefix}source"]
    others = []
    for what in ("target", "docids", "starts"):
        files = given[f"{prefix}{what}"]
        if files and len(files) != len(sources):
            options = f"--{prefix}{what} and --{prefix}source".replace("_", "-")
            raise InputError(f"{options} must name as many files: {len(files)} and {len(sources)} are given")
        others.append(files or [None] * len(sources))
    return [
        Pair(source, target, arguments.boundaries, docids, starts)
        for source, target, docids, starts in zip(sources, *others, strict=True)
    ]


def train_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("recipe", type=Path, metavar="RECIPE", help="a YAML file; see recipes/")
    overrides = "a setting instead of the recipe's, such as stages.1.max_steps=200"
    parser.add_argument("overrides", nargs="*", default=[], metavar="key=value", help=overrides)
    _add_json(parser)


def train(arguments: Namespace) -> None:
    from docflat.recipe import load_recipe
    from docflat.training import train

    results = train(load_recipe(arguments.recipe, arguments.overrides))
    if os.environ.get("RANK", "0") == "0":  # torchrun starts several of us
        _print_rows(results, arguments.json)


def translate_arguments(parser: ArgumentParser) -> None:
    what = "text, a sentence a line, or TSV or JSONL; may be .xz or .gz (default: stdin)"
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help=what)
    parser.add_argument("-o", "--out", type=Path, metavar="OUT", help="file to write (default: stdout)")
    parser.add_argument("--model", type=Path, required=True, metavar="FOLDER", help="model folder")
    parser.add_argument(
        "--mode",
        choices=("auto", "two-pass", "sequential", "sentence"),
        default="auto",
        help="the context's translations: first versions, final ones, none (default: what suits the model)",
    )
    parser.add_argument(
        "--global-context",
        choices=("partial", "first-pass"),
        help="what is seen of other sentences' translations in the second pass (default: first-pass)",
    )
    parser.add_argument(
        "--first-pass",
        type=Path,
        metavar="FOLDER",
        help="a sent2sent model for the first pass (default: --model)",
    )
    _add_number(parser, "--beam", 5, "hypotheses a sentence")
    parser.add_argument(
        "--length-penalty",
        type=float,
        default=1.0,
        metavar="X",
        help="scores are divided by length ** X (default: %(default)s)",
    )
    window = "sentences of a document that see each other (default: as the model was trained, or 16)"
    parser.add_argument("--window", type=_whole(1), metavar="N", help=window)
    _add_number(parser, "--batch-size", 64, "sentences decoded together; changes the speed, not the result")
    _add_boundaries(parser)
    parser.add_argument("--docids", type=Path, metavar="FILE", help="a docid for each line")
    parser.add_argument("--starts", type=Path, metavar="FILE", help="the lines where documents start")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help="default: a GPU if any")
    parser.add_argument("--threads", type=_whole(1), metavar="N", help="threads on the CPU (default: all cores)")


def translate(arguments: Namespace) -> None:
    from docflat.documents import read_source

    marking = (arguments.boundaries, arguments.docids, arguments.starts)
    file = None if arguments.file in (None, Path("-")) else arguments.file
    total = None
    if file is not None and not (file.is_fifo() or file.is_char_device()):  # those can be read only once
        # Finds what is wrong with the input before anything is loaded or written, and gives the bar its end.
        total = sum(len(document.source) for document in read_source(file, *marking))
    with _open_output(arguments.out) as write, _open_input(file) as stream:
        from docflat.translator import Translator

        if arguments.threads:
            import torch

            torch.set_num_threads(arguments.threads)
        translator = Translator.load(arguments.model, device=arguments.device, first_pass=arguments.first_pass)
        tape = _Tape(stream, file)
        waiting: deque[Document] = deque()

        def sentences() -> Iterator[list[str]]:
            for document in read_source(cast("BinaryIO", tape), *marking):
                waiting.append(document)
                yield document.source

        with progress("translating", total) as advance:
            translations = translator.translate_documents(
                sentences(),
                # Who types at a terminal need not wait for more than the end of a document.
                chunk=1 if file is None and sys.stdin.isatty() else 2000,
                done=advance,
                mode=arguments.mode,
                global_context=arguments.global_context,
                beam=arguments.beam,
                length_penalty=arguments.length_penalty,
                window=arguments.window,
                batch_size=arguments.batch_size,
            )
            for translation in translations:
                for line in tape.replace(waiting.popleft(), translation):
                    write(line)
            for line in tape.rest():
                write(line)


class _Tape:
    """The lines of the input, kept until translations replace them; what marks documents stays."""

    def __init__(self, stream: BinaryIO, file: Path | None) -> None:
        from docflat.documents import kind_of

        self.name = str(file or "<stdin>")  # read_source tells the format by it
        self.json = kind_of(Path(self.name)) == ".jsonl"
        self.stream = stream
        self.lines: deque[bytes] = deque()
        self.taken = 0

    def __iter__(self) -> Iterator[bytes]:
        for raw in self.stream:
            self.lines.append(raw)
            yield raw

    def replace(self, document: Document, translation: list[str]) -> Iterator[str]:
        """The output lines up to the end of a document: as many as the input has."""
        lines = sum(sentence.count("\n") + 1 for sentence in translation)
        if lines != len(document.source):  # not an assert statement: this holds under python -O too
            raise AssertionError(f"{len(document.source)} sentences in, {lines} lines out")
        while self.taken < document.line - 1:
            yield self._take_mark()
        if not self.json:
            for sentence in translation:
                self._take()
                yield sentence
            return
        # A JSON line is a sentence or a whole document, and gets its target.
        record = json.loads(self.lines[0].decode("utf-8-sig"))
        whole = isinstance(record["source"], list)
        for target in [translation] if whole else translation:
            record = json.loads(self._take().decode("utf-8-sig"))
            yield json.dumps({**record, "target": target}, ensure_ascii=False)

    def rest(self) -> Iterator[str]:
        """The marks after the last document."""
        while self.lines:
            yield self._take_mark()

    def _take(self) -> bytes:
        self.taken += 1
        return self.lines.popleft()

    def _take_mark(self) -> str:
        mark = self._take().decode("utf-8-sig").split("\t")[0].strip()  # a TSV file may mark both columns
        if mark not in ("", "<d>"):
            raise AssertionError(f"line {self.taken} was not translated: {mark!r}")
        return mark


def _open_input(file: Path | None) -> AbstractContextManager[BinaryIO]:
    from docflat.documents import OPENERS

    if file is None:
        return nullcontext(sys.stdin.buffer)
    stream: AbstractContextManager[BinaryIO] = OPENERS.get(file.suffix.lower(), open)(file, "rb")
    return stream


@contextmanager
def _open_output(path: Path | None) -> Iterator[Callable[[str], object]]:
    """A function that writes a line. A file appears when all of it is there."""
    if path is None:
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # as the input, whatever the locale
        yield lambda line: print(line, flush=True)
        return
    # A device or a pipe must not be renamed over.
    partial = path if path.exists() and not path.is_file() else path.with_name(path.name + ".partial")
    try:
        from docflat.documents import OPENERS

        opener = OPENERS.get(path.suffix.lower(), open)
        stream = opener(partial, "wt", encoding="utf-8", newline="\n")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", path) from None
    try:
        with stream:
            yield lambda line: stream.write(line + "\n")
        if partial != path:
            partial.replace(path)
    except BaseException:
        if partial != path:
            partial.unlink(missing_ok=True)
        raise


def probe_arguments(parser: ArgumentParser) -> None:
    kept = "keep data, models, table and plot here; what is there is not trained again (default: runs/probe)"
    parser.add_argument("--out", type=Path, metavar="DIR", help=kept)
    parser.add_argument("--systems", type=_names, metavar="A,B", help="systems to compare (default: all)")
    parser.add_argument("--steps", type=_whole(1), metavar="N", help="training steps of each system")
    demo = "docflat-c only, for a while, and a document it translates (default --out: runs/demo)"
    parser.add_argument("--demo", action="store_true", help=demo)
    _add_number(parser, "--seed", 1, "of the language, the data and the models", least=0)
    _add_json(parser)


def probe(arguments: Namespace) -> None:
    from docflat.language import Language
    from docflat.probe import DEMO_STEPS, Probe, demo_lines, run

    systems, probe = arguments.systems, Probe(Language(arguments.seed))
    out = arguments.out or Path("runs/demo" if arguments.demo else "runs/probe")
    if arguments.demo:
        systems, probe = ["docflat-c"], replace(probe, steps=DEMO_STEPS)
    if arguments.steps:
        probe = replace(probe, steps=arguments.steps)
    rows = run(probe, out, systems)
    if arguments.demo and not arguments.json:
        print(*demo_lines(probe, out), sep="\n")
    _print_rows(rows, arguments.json, title="right pronouns in per cent, by the distance of what they refer to")
    if arguments.demo and not arguments.json:
        print(f"\nThe model is yours to try: docflat translate --model {out}/models/docflat-c/model")


def systems(arguments: Namespace) -> None:
    from docflat.systems import SYSTEMS

    rows = [{"name": one.name, "summary": one.summary, "paper": one.paper} for one in SYSTEMS.values()]
    _print_rows(rows, arguments.json)


def _print_rows(rows: Sequence[Mapping[str, object]], as_json: bool, title: str | None = None) -> None:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    print_table(columns, [[row.get(key) for key in columns] for row in rows], as_json, title)


def _add_boundaries(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--boundaries",
        choices=BOUNDARIES,
        default="auto",
        help="how documents are marked (default: what the files show; plain text: <d> or empty lines)",
    )


def _add_number(parser: ArgumentParser | _ArgumentGroup, option: str, default: int, what: str, least: int = 1) -> None:
    parser.add_argument(option, type=_whole(least), default=default, metavar="N", help=f"{what} (default: {default})")


def _add_json(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the table as JSON")


def _whole(least: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise ArgumentTypeError(f"expected a whole number of at least {least}, found {text!r}")
        return int(text)

    return parse


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


VERBS: tuple[Verb, ...] = (
    Verb(
        "prepare",
        "learn subwords and encode parallel documents for training",
        "docflat prepare --source train.en.xz --target train.de.xz --out data/en-de",
        prepare_arguments,
        prepare,
    ),
    Verb(
        "train",
        "train a model as a recipe says, or go on with it",
        "docflat train recipes/quickstart.yaml out=runs/first stages.1.max_steps=2000",
        train_arguments,
        train,
    ),
    Verb(
        "translate",
        "translate documents, line by line",
        "docflat translate speech.en -o speech.de --model runs/first/model",
        translate_arguments,
        translate,
    ),
    Verb(
        "probe",
        "measure on a made-up language how far each system sees",
        "docflat probe --systems doc2doc,docflat-c --out runs/probe",
        probe_arguments,
        probe,
    ),
    Verb("systems", "list the systems a recipe can name", "docflat systems --json", _add_json, systems),
)


class _Parser(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message} ({self.prog} --help says more)")


def _top_parser() -> ArgumentParser:
    verbs = "\n".join(f"  {verb.name:<11}{verb.summary}" for verb in VERBS)
    parser = _Parser(
        prog="docflat",
        usage="docflat VERB ...",
        description="Document-level machine translation.",
        epilog=f"verbs:\n{verbs}\n\ndocflat VERB --help says more, with an example.",
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"docflat {__version__}")
    return parser


def _verb_parser(verb: Verb) -> ArgumentParser:
    parser = _Parser(
        prog=f"docflat {verb.name}",
        description=f"{verb.summary[0].upper()}{verb.summary[1:]}.",
        epilog=f"example:\n  {verb.example}",
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    verb.arguments(parser)
    return parser


def _dispatch(argv: Sequence[str]) -> int:
    if not argv or argv[0].startswith("-"):
        parser = _top_parser()
        parser.parse_args(argv)  # --help and --version end here
        parser.print_help()
        return 0
    verbs = {verb.name: verb for verb in VERBS}
    if argv[0] not in verbs:
        hint = nearest(argv[0], verbs, f"; there are {', '.join(verbs)}")
        raise InputError(f"unknown verb {argv[0]!r}{hint}")
    verb = verbs[argv[0]]
    # Intermixed: `train recipe.yaml --json out=x` has positional arguments on both sides of an option.
    return verb.run(_verb_parser(verb).parse_intermixed_args(argv[1:])) or 0


def run(argv: Sequence[str]) -> int:
    """Run one command; its exit status. A bug keeps its traceback, everything else is a line on stderr."""
    try:
        try:
            return _dispatch(argv)
        finally:
            sys.stdout.flush()  # now, while a closed pipe can still be handled
    except InputError as error:
        print(f"docflat: error: {' '.join(str(error).splitlines())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Python flushes stdout once more at exit, and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141  # what a shell reports for a program ended by SIGPIPE


def main(argv: Sequence[str] | None = None) -> NoReturn:
    sys.exit(run(sys.argv[1:] if argv is None else argv))
