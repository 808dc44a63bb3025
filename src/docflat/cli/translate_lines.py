"""Documents of a sentence a line to their translations, line by line: a part of `docflat translate`."""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from docflat.cli.translate_candidates import NOTHING_MORE, NBestLists, Wanted, lines_after, lines_of, open_scores
from docflat.support.atomic import is_through, whole_file
from docflat.support.console import shown
from docflat.support.errors import InputError

if TYPE_CHECKING:
    from docflat.data.documents import Boundaries, Document
    from docflat.translation.source_language import LanguageCheck
    from docflat.translation.translator import Translator


Marking = tuple["Boundaries", Path | None, Path | None]  # boundaries, docids, starts
ComparedLine = tuple[str, str, bool]  # a sentence, its translation, and whether that can be compared with others


@dataclass
class Limits:
    """What an input may be at most: a small file can unpack to lines without end."""

    lines: int = 10_000_000
    line_length: int = 100_000  # characters


def count_lines(file: Path | None, marking: Marking, limits: Limits) -> int | None:
    """How many sentences there are; None: nobody knows before they are read."""
    from docflat.data.documents import read_source

    if file is None or file.is_fifo() or file.is_char_device():  # those can be read only once
        return None
    # Finds what is wrong with the input before anything is loaded or written, and gives the bar its end.
    with _open_input(file) as stream:
        bounded = cast("BinaryIO", _Bounded(stream, str(file), limits.lines))
        return sum(len(_checked(document, file, limits).source) for document in read_source(bounded, *marking))


def translate_lines(
    file: Path | None,
    out: Path | None,
    marking: Marking,
    load: Callable[[], Translator],
    done: Callable[[int], None],
    on_sentences: Callable[[list[ComparedLine]], object],
    settings: dict[str, Any],
    limits: Limits,
    line_buffered: bool = False,
    wanted: Wanted = NOTHING_MORE,
) -> tuple[Counter[str], int]:
    """Translate a file, or stdin, into a file, or to stdout. load: called when both are open; seen: by document.

    line_buffered: each line by itself, as soon as it comes. The result: lines that each repair, and context, changed.
    """
    from docflat.data.documents import read_source
    from docflat.data.tape import Tape
    from docflat.translation.source_language import LanguageCheck

    repairs, changed = Counter[str](), 0
    if line_buffered:
        marking = ("lines", None, None)
    with _open_output(out) as write, _open_input(file) as stream, open_scores(wanted) as note:
        name = str(file or "<stdin>")
        tape = Tape(cast("BinaryIO", _Bounded(stream, name, limits.lines)), name)
        waiting: deque[Document] = deque()
        translator = load()
        check = LanguageCheck(name, translator.languages)
        documents = (_checked(one, file, limits) for one in read_source(cast("BinaryIO", tape), *marking))
        translations = _candidates(
            translator,
            _sources(documents, waiting, check),
            wanted,
            # Who types at a terminal need not wait for more than the end of a document.
            chunk=1 if line_buffered or (file is None and _is_typed()) else 2000,
            done=done,
            **settings,
        )
        for n_best_lists in translations:
            document, best = waiting.popleft(), [candidates[0] for candidates in n_best_lists]
            repairs.update(name for line in best for name in line.repairs)
            changed += sum(line.changed_by_context for line in best)
            for line in lines_of(tape, document, n_best_lists, wanted):
                write(line)
            note(document, n_best_lists)
            on_sentences([(source, target.text, True) for source, target in zip(document.source, best, strict=True)])
        for line in lines_after(tape, wanted):
            write(line)
    return repairs, changed


def _candidates(
    translator: Translator, documents: Iterable[list[str]], wanted: Wanted, **settings: Any
) -> Iterator[NBestLists]:
    """Of each sentence; where nothing more is asked for, its translation alone."""
    from docflat.translation.candidates import Candidate
    from docflat.translation.repairing import translate_and_repair

    if wanted:
        yield from translator.candidates_of_documents(documents, n_best=wanted.n_best or 1, **settings)
        return
    for document in translate_and_repair(translator, documents, **settings):
        yield [
            [Candidate(line.text, repairs=line.repairs, changed_by_context=line.changed_by_context)]
            for line in document
        ]


def _sources(documents: Iterable[Document], waiting: deque[Document], check: LanguageCheck) -> Iterator[list[str]]:
    for document in documents:
        waiting.append(document)
        check.add(document.source)
        yield document.source
    check.finish()


def _checked(document: Document, file: Path | None, limits: Limits) -> Document:
    """Without a sentence that would take all memory, and no end."""
    for number, sentence in enumerate(document.source):
        if len(sentence) > limits.line_length:
            message = f"a sentence of {len(sentence)} characters; {limits.line_length} are the most (--max-line-length)"
            raise InputError(message, file or "stdin", document.line + number)
    return document


class _Bounded:
    """A stream of so many lines at most."""

    def __init__(self, stream: BinaryIO, name: str, most: int) -> None:
        self.stream, self.name, self.most, self.lines = stream, name, most, 0

    def readline(self, limit: int) -> bytes:
        raw = self.stream.readline(limit)
        if raw:
            self.lines += 1
            if self.lines > self.most:
                raise InputError(f"more than {self.most} lines (--max-lines)", self.name)
        return raw


def _is_typed() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _open_input(file: Path | None) -> AbstractContextManager[BinaryIO]:
    from docflat.data.documents import OPENERS

    if file is None:
        if sys.stdin is None:
            raise InputError("stdin is closed")
        return nullcontext(sys.stdin.buffer)
    try:
        stream: AbstractContextManager[BinaryIO] = OPENERS.get(file.suffix.lower(), open)(file, "rb")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file) from None
    return stream


@contextmanager
def _open_output(path: Path | None) -> Iterator[Callable[[str], object]]:
    """A function that writes a line. A file appears when all of it is there."""
    from docflat.data.documents import OPENERS

    with whole_file(path) as stream:
        if path is None:
            obeyed = shown if sys.stdout.isatty() else str  # a file's text is no business of the terminal's

            def write(line: str) -> None:
                stream.write(f"{obeyed(line)}\n".encode())
                stream.flush()

            yield write
            return
        with ExitStack() as stack:
            opener = OPENERS.get(path.suffix.lower())
            packed = stream if opener is None else stack.enter_context(opener(stream, "wb"))
            through = is_through(path)

            def write_line(line: str) -> None:
                packed.write(f"{line}\n".encode())
                if through:  # somebody may wait at the other end
                    packed.flush()

            yield write_line
