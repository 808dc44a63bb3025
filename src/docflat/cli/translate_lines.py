"""Documents of a sentence a line to their translations, line by line: a part of `docflat translate`."""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from docflat.support.errors import InputError

if TYPE_CHECKING:
    from docflat.data.documents import Boundaries, Document
    from docflat.translation.translator import Translator


LONGEST_LINE = 100_000  # characters of a sentence
Marking = tuple["Boundaries", Path | None, Path | None]  # boundaries, docids, starts
Pair = tuple[str, str, bool]  # a sentence, its translation, and whether that can be compared with others


def count_lines(file: Path | None, marking: Marking) -> int | None:
    """How many sentences there are; None: nobody knows before they are read."""
    from docflat.data.documents import read_source

    if file is None or file.is_fifo() or file.is_char_device():  # those can be read only once
        return None
    # Finds what is wrong with the input before anything is loaded or written, and gives the bar its end.
    return sum(len(_checked(document, file).source) for document in read_source(file, *marking))


def translate_lines(
    file: Path | None,
    out: Path | None,
    marking: Marking,
    load: Callable[[], Translator],
    done: Callable[[int], None],
    seen: Callable[[list[Pair]], object],
    settings: dict[str, Any],
) -> Counter[str]:
    """Translate a file, or stdin, into a file, or to stdout. load: called when both are open; seen: by document.

    The result: how many lines each repair changed.
    """
    from docflat.data.documents import read_source
    from docflat.data.tape import Tape
    from docflat.translation.repairing import translate_and_repair

    repairs: Counter[str] = Counter()

    with _open_output(out) as write, _open_input(file) as stream:
        tape = Tape(stream, str(file or "<stdin>"))
        waiting: deque[Document] = deque()

        def sentences() -> Iterator[list[str]]:
            for document in read_source(cast("BinaryIO", tape), *marking):
                waiting.append(_checked(document, file))
                yield document.source

        translations = translate_and_repair(
            load(),
            sentences(),
            # Who types at a terminal need not wait for more than the end of a document.
            chunk=1 if file is None and sys.stdin.isatty() else 2000,
            done=done,
            **settings,
        )
        for repaired in translations:
            document, translation = waiting.popleft(), [line.text for line in repaired]
            repairs.update(name for line in repaired for name in line.repairs)
            for line in tape.replace(document, translation):
                write(line)
            seen([(source, target, True) for source, target in zip(document.source, translation, strict=True)])
        for line in tape.rest():
            write(line)
    return repairs


def _checked(document: Document, file: Path | None) -> Document:
    """Without a sentence that would take all memory, and no end."""
    for number, sentence in enumerate(document.source):
        if len(sentence) > LONGEST_LINE:
            message = f"a sentence of {len(sentence)} characters; {LONGEST_LINE} are the most"
            raise InputError(message, file or "stdin", document.line + number)
    return document


def _open_input(file: Path | None) -> AbstractContextManager[BinaryIO]:
    from docflat.data.documents import OPENERS

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
        from docflat.data.documents import OPENERS

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
