"""`docflat translate --n-best --scores`: what the model thinks of its translations of lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from docflat.support.atomic import whole_file
from docflat.support.errors import InputError

if TYPE_CHECKING:
    from docflat.data.documents import Document
    from docflat.data.tape import Tape
    from docflat.translation.candidates import Candidate

NBestLists = Sequence[Sequence["Candidate"]]  # of each sentence of a document, the best first


@dataclass(frozen=True)
class Wanted:
    """What is asked for besides the best translation of each sentence."""

    n_best: int | None = None  # write so many of each in the place of its line
    scores: Path | None = None  # write them with their scores into this file

    def __bool__(self) -> bool:
        return self.n_best is not None or self.scores is not None


NOTHING_MORE = Wanted()


def lines_of(tape: Tape, document: Document, n_best_lists: NBestLists, wanted: Wanted) -> Iterator[str]:
    """The output of a document: its lines with their translations, or as many as are wanted of each.

    Of text these are the lines that Moses and Marian write; in JSON each record gets them as `candidates`.
    """
    texts = [candidates[0].text for candidates in n_best_lists]
    if wanted.n_best is None:
        yield from tape.replace(document, texts)
    elif tape.json:
        yield from tape.replace(document, texts, [[_record(one) for one in candidates] for candidates in n_best_lists])
    else:
        for _ in tape.replace(document, texts):  # the numbers say where each line stood, those of marks too
            pass
        for line, candidates in enumerate(n_best_lists, document.line - 1):
            for one in candidates:
                yield f"{line} ||| {one.text} ||| F0= {_number(one.log_probability)} ||| {_number(one.score)}"


def lines_after(tape: Tape, wanted: Wanted) -> Iterator[str]:
    """The marks after the last document, which lists of translations do not have."""
    if wanted.n_best is None or tape.json:
        yield from tape.rest()


def _number(value: float | None) -> str:
    return "0" if value is None else f"{value:.6f}"


def _record(one: Candidate) -> dict[str, object]:
    """Repairs are named where there are any: the score is that of the text before them."""
    record = {"text": one.text, "log_probability": one.log_probability, "score": one.score}
    return record | ({"repairs": list(one.repairs)} if one.repairs else {})


@contextmanager
def open_scores(wanted: Wanted) -> Iterator[Callable[[Document, NBestLists], object]]:
    """A function that notes the candidates of a document, a sentence a line."""
    if wanted.scores is None:
        yield lambda document, n_best_lists: None
        return
    number = 0
    with whole_file(wanted.scores) as stream:

        def note(document: Document, n_best_lists: NBestLists) -> None:
            nonlocal number
            number += 1
            for place, (source, candidates) in enumerate(zip(document.source, n_best_lists, strict=True), 1):
                record = {"document": number, "sentence": place, "source": source}
                made = record | {"candidates": [_record(one) for one in candidates]}
                stream.write(f"{json.dumps(made, ensure_ascii=False)}\n".encode("utf-8", "backslashreplace"))

        yield note


def check_wanted(wanted: Wanted, lines: Sequence[bool], edited: bool) -> None:
    """lines: of each job, whether it is lines; edited: whether another model changes the translations."""
    for option, value in (("--n-best", wanted.n_best), ("--scores", wanted.scores)):
        if value is None:
            continue
        if not all(lines):
            raise InputError(f"{option} is of text, a sentence a line: --lines reads a file so")
        if edited:
            raise InputError(f"{option} does not go with --edit-with, which changes what was scored")
    if wanted.scores is not None and len(lines) > 1:
        raise InputError("--scores is of one file", wanted.scores)
