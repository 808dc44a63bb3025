"""`docflat translate`: documents to their translations, line by line."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from docflat.commands.arguments import add_boundaries, add_number, whole
from docflat.console import progress
from docflat.errors import InputError

if TYPE_CHECKING:
    from docflat.documents import Document


def arguments(parser: ArgumentParser) -> None:
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
    add_number(parser, "--beam", 5, "hypotheses a sentence")
    parser.add_argument(
        "--length-penalty",
        type=float,
        default=1.0,
        metavar="X",
        help="scores are divided by length ** X (default: %(default)s)",
    )
    window = "sentences of a document that see each other (default: as the model was trained, or 16)"
    parser.add_argument("--window", type=whole(1), metavar="N", help=window)
    add_number(parser, "--batch-size", 64, "sentences decoded together; changes the speed, not the result")
    add_boundaries(parser)
    parser.add_argument("--docids", type=Path, metavar="FILE", help="a docid for each line")
    parser.add_argument("--starts", type=Path, metavar="FILE", help="the lines where documents start")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help="default: a GPU if any")
    parser.add_argument("--threads", type=whole(1), metavar="N", help="threads on the CPU (default: all cores)")


def run(arguments: Namespace) -> None:
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
