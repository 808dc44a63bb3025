"""The command line: a table of verbs.

A verb imports what it needs when it runs, so that `docflat --help` does not wait for torch.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from textwrap import indent
from types import FrameType
from typing import Any, NoReturn, Protocol, cast

from docflat import __version__
from docflat.cli import startup
from docflat.cli.arguments import named_path
from docflat.support.console import complain, detail, messages
from docflat.support.errors import InputError
from docflat.support.strict_yaml import nearest

# What writing to stdout, or to a file that no error of ours names, can fail of.
# What is wrong with a file or folder that somebody named, where no reader or writer said it more precisely.
OF_FILES = {errno.EACCES, errno.EPERM, errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENXIO, errno.EBUSY}
NOT_WRITTEN = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO, errno.EBADF}
UNKNOWN = "unrecognized arguments: "


class Command(Protocol):
    """A module of `docflat.cli`."""

    def arguments(self, parser: ArgumentParser, /) -> None: ...

    def run(self, arguments: Namespace, /) -> None: ...


@dataclass(frozen=True)
class Verb:
    """One line of the table."""

    name: str
    summary: str
    example: str  # one a line
    module: str  # of `docflat.cli`

    @property
    def command(self) -> Command:
        """Imported when it is asked for: nobody waits for what other verbs import."""
        command: Any = import_module(f"docflat.cli.{self.module}")
        return cast(Command, command)


VERBS: tuple[Verb, ...] = (
    Verb(
        "prepare",
        "learn subwords and encode parallel documents for training",
        "docflat prepare --source train.en.xz --target train.de.xz --out data/en-de",
        "prepare",
    ),
    Verb(
        "train",
        "train a model as a recipe says, or go on with it",
        "docflat train quickstart data=prepared/mine out=runs/first\n"
        "docflat train europarl systems/docflat-c every_stage.max_steps=2000",
        "train",
    ),
    Verb(
        "translate",
        "translate files of many formats, or documents line by line",
        "docflat translate report.docx notes/ --suffix de\n"
        "docflat translate film.srt -o film.de.srt --side-by-side film.html\n"
        "docflat translate strings.json --keys title,body --keep-terms names.txt\n"
        "docflat translate manual.docx --glossary terms.tsv --suffix de\n"
        "docflat translate < speech.en > speech.de",
        "translate",
    ),
    Verb(
        "edit",
        "change only those words of a translation, by any system, that context asks for",
        "docflat edit speech.en speech.de -o speech.edited.de",
        "edit",
    ),
    Verb(
        "bulk",
        "translate any number of documents on all cores or many machines, and go on after a kill",
        "docflat bulk corpus.jsonl.zst --key text -o out/\n"
        "docflat bulk manuals/ -o out/ --engine ray --address head:6379\n"
        "docflat bulk corpus.parquet -o out/ --slice 3/16",
        "bulk",
    ),
    Verb(
        "bulk status",
        "say how far a bulk run is, and when it will end",
        "docflat bulk status out/",
        "bulk_status",
    ),
    Verb(
        "bulk merge",
        "make one file of the parts of a bulk run",
        "docflat bulk merge out/ -o corpus.de.jsonl.zst",
        "bulk_merge",
    ),
    Verb(
        "serve",
        "translate over HTTP: a page for people, the APIs of LibreTranslate and DeepL for programs",
        "docflat serve\ndocflat serve --port 8080 --model en-de --data /var/lib/docflat",
        "serve",
    ),
    Verb(
        "evaluate",
        "score translations with BLEU, chrF, TER and COMET",
        "docflat evaluate --hypothesis speech.de --reference reference.de",
        "evaluate",
    ),
    Verb(
        "compare",
        "test whether systems differ from a baseline, and show where",
        "docflat compare baseline.de mine.de --reference reference.de --show 3",
        "compare",
    ),
    Verb(
        "contrast",
        "measure how often a model prefers the right translation in its context",
        "docflat contrast contrapro.jsonl --model runs/first/model --by pronoun,distance --scores scores.jsonl",
        "contrast",
    ),
    Verb(
        "contrast build",
        "make a contrastive set of German pronouns from aligned documents",
        "docflat contrast build --source test.en --target test.de --balance -o pronouns.jsonl",
        "contrast_build",
    ),
    Verb(
        "context",
        "find the words of a reference that context makes more likely (P-CXMI)",
        "docflat context --model runs/first/model --source test.en --reference test.de --tokens tokens.jsonl",
        "context",
    ),
    Verb(
        "inspect",
        "show which sentences of a document read which, and how far the gates open",
        "docflat inspect --model runs/first/model --source speech.en --window 0 --out runs/inspect",
        "inspect",
    ),
    Verb(
        "import",
        "make a model folder of a Marian or OPUS-MT model that others trained",
        "docflat import Helsinki-NLP/opus-mt-en-fr\n"
        "docflat import downloads/opus-mt-fr-en -o models/fr-en --languages fr en",
        "import_model",
    ),
    Verb(
        "models",
        "list the models that there are to translate with",
        "docflat models",
        "models",
    ),
    Verb(
        "export",
        "write a model at a quarter of its size, or for CTranslate2",
        "docflat export --model runs/first/model --to int8 -o runs/first/small",
        "export",
    ),
    Verb(
        "probe",
        "measure on a made-up language how far each system sees",
        "docflat probe --systems doc2doc,docflat-c --out runs/probe",
        "probe",
    ),
    Verb(
        "reproduce",
        "measure the paper's tables and figures, all or some, and write a report",
        "docflat reproduce plan --data prepared --select table2 --datasets europarl --seeds 3\n"
        "docflat reproduce run --data prepared --select table2 --datasets europarl --seeds 3 --budget 25m",
        "reproduce",
    ),
    Verb(
        "recipes",
        "list the recipes that come with docflat, or show or copy one",
        "docflat recipes\ndocflat recipes quickstart -o mine.yaml",
        "recipes",
    ),
    Verb(
        "completion",
        "print what a shell needs to complete docflat's verbs and options: bash, zsh or fish",
        "docflat completion bash >> ~/.bash_completion\ndocflat completion zsh >> ~/.zshrc\n"
        "docflat completion fish > ~/.config/fish/completions/docflat.fish",
        "completion",
    ),
    Verb("systems", "list the systems a recipe can name", "docflat systems --json", "systems"),
)


# Which extra brings what a small installation is without. What has more to say about its absence says it itself.
EXTRAS = {"torch": "train", "sacrebleu": "evaluate"}


class _Parser(ArgumentParser):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.register("type", Path, named_path)

    def error(self, message: str) -> NoReturn:
        if message.startswith(UNKNOWN + "-"):
            option = message.removeprefix(UNKNOWN).split()[0].partition("=")[0]
            message += nearest(option, self._option_string_actions, "")
        raise InputError(f"{message} ({self.prog} --help says more)")


def _top_parser() -> ArgumentParser:
    width = max(len(verb.name) for verb in VERBS) + 2
    verbs = "\n".join(f"  {verb.name:<{width}}{verb.summary}" for verb in VERBS)
    parser = _Parser(
        prog="docflat",
        usage="docflat VERB ...",
        description="Document-level machine translation.",
        epilog=f"verbs:\n{verbs}\n\ndocflat help VERB says more, with an example.",
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"docflat {__version__}")
    return parser


def verb_parser(verb: Verb) -> ArgumentParser:
    parser = _Parser(
        prog=f"docflat {verb.name}",
        description=f"{verb.summary[0].upper()}{verb.summary[1:]}.",
        epilog="example:\n" + indent(verb.example, "  "),
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    verb.command.arguments(parser)
    said = parser.add_argument_group("messages")
    said.add_argument("-q", "--quiet", action="store_true", help="say nothing but errors and results")
    said.add_argument("-v", "--verbose", action="store_true", help="say more, such as where a fault of docflat lies")
    said.add_argument("--log", type=Path, metavar="FILE", help="append every message to this file, with its time")
    return parser


def _dispatch(argv: Sequence[str]) -> int:
    if not argv or argv[0].startswith("-"):
        parser = _top_parser()
        parser.parse_args(argv)  # --help and --version end here
        parser.print_help()
        return 0
    if argv[0] == "help":
        return _dispatch([*argv[1:], "--help"])
    verbs = {verb.name: verb for verb in VERBS}
    words = 2 if " ".join(argv[:2]) in verbs else 1  # `contrast build` is a verb beside `contrast`
    name, rest = " ".join(argv[:words]), argv[words:]
    if name not in verbs:
        hint = nearest(name, verbs, f"; there are {', '.join(verbs)}")
        raise InputError(f"unknown verb {name!r}{hint}")
    verb = verbs[name]
    # Intermixed: `train recipe.yaml --json out=x` has positional arguments on both sides of an option.
    arguments = verb_parser(verb).parse_intermixed_args(rest)
    if arguments.log is not None:
        from docflat.cli.outputs import check_log

        check_log(arguments)
    with messages(arguments.quiet, arguments.verbose, arguments.log):
        try:
            verb.command.run(arguments)
        except InputError as error:
            complain(error)
            return error.status
    return 0


def run(argv: Sequence[str]) -> int:
    """Run one command; its exit status. A bug keeps its traceback, everything else is a line on stderr."""
    try:
        try:
            return _dispatch(argv)
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()  # now, while a closed pipe can still be handled
    except InputError as error:
        complain(error)
        return error.status
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRAS:
            raise
        complain(InputError(f"this needs {package}: pip install 'docflat[{EXTRAS[package]}]'"))
        return 2
    except RuntimeError as error:
        if type(error).__name__ != "OutOfMemoryError":  # torch's, which is not imported here
            raise
        advice = "a smaller --batch-size, or batch_tokens in a recipe, takes less; --device cpu takes none of it"
        complain(f"the GPU has too little memory: {advice}")
        return 2
    except MemoryError:
        complain("there is not enough memory; a smaller --batch-size or --beam takes less")
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        _leave_stdout()
        return 141  # what a shell reports for a program ended by SIGPIPE
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            complain(f"the name is too long: {str(error.filename)[:100]}...")
            return 2
        if error.errno in OF_FILES and error.filename is not None:
            complain(InputError(error.strerror or str(error), os.fsdecode(error.filename)))
            from traceback import format_exc

            detail(format_exc())
            return 2
        if error.errno not in NOT_WRITTEN:
            raise
        complain(f"{error.filename or 'stdout'}: cannot be written: {error.strerror}")
        _leave_stdout()
        return 2


def _leave_stdout() -> None:
    """Python flushes stdout once more at exit, and would complain again."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _end(number: int, frame: FrameType | None) -> NoReturn:
    """As after an error: what is half-written is removed. A second signal ends the process as usual."""
    signal.signal(number, signal.SIG_DFL)
    raise SystemExit(128 + number)


def _prepare_process() -> None:
    """Signals that end us clean up first; a stream that was closed does not get its number taken by the next file."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:  # nohup ignores SIGHUP
            signal.signal(number, _end)
    for number, useless in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, useless)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115  # writing to it fails, and that is said
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """argv None: what the process was started with, which is then this command and nothing else."""
    if argv is None:
        _prepare_process()
    if argv is None and sys.argv[1:2] == ["translate"]:  # the verb that people wait for
        startup.begin()
        startup.end(run(sys.argv[1:]))
    sys.exit(run(sys.argv[1:] if argv is None else argv))
