"""Real files through docflat's formats: what breaks, what is refused and why.

    python tests/corpus/check.py FOLDER [FOLDER ...] [--suffixes .docx,.md] [--jobs 2] [--log failures.txt]

Every file is read, written with its own segments (which must give back its bytes), and translated by three stubs: each
word marked, the words of each sentence reversed, and "X" for each sentence. What a stub wrote must be read by docflat
and by a reader that nobody here made (tests/corpus/readers.py), with every element under the parent it had.
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from readers import Unreadable, structure_of

from docflat.formats import FORMATS, WRITTEN_AS, find_format, options_of, output_suffix
from docflat.formats.safe_reading import read_file
from docflat.formats.segments import Segment
from docflat.support.errors import InputError
from docflat.translation.files import translate_segments

MOST_SECONDS = 120  # seconds of a processor a file; what takes longer counts as hanging
TARGET = {"target_language": "de", "redo": "all", "keys": ("*",), "columns": ("*",)}


def mark(sentence: str) -> str:
    return " ".join(f"⟨{word}⟩" if word.isalpha() else word for word in sentence.split())


def reverse(sentence: str) -> str:
    return " ".join(reversed(sentence.split()))


# Read again, these have the same sources.
BILINGUAL = {".po", ".pot", ".xliff", ".xlf", ".sdlxliff", ".mqxliff", ".tmx", ".ts"}
JOINED = {".srt", ".vtt", ".ass", ".ssa"}  # which cues are one sentence is guessed from their words
STUBS: dict[str, Callable[[str], str]] = {"marked": mark, "reversed": reverse, "short": lambda sentence: "X"}


class Stub:
    """Translates by a function of a sentence."""

    languages: tuple[str, str] | None = None

    def __init__(self, change: Callable[[str], str]) -> None:
        self.change = change

    def translate_documents(self, documents: Any, chunk: int = 0, done: Any = None, **_: Any) -> Iterator[list[str]]:
        for document in documents:
            yield [self.change(sentence) for sentence in document]

    def align(self, pairs: Sequence[tuple[str, str]]) -> list[None]:
        return [None] * len(pairs)


@dataclass
class Outcome:
    file: str
    kind: str  # of the file, by its ending
    refused: str = ""
    segments: int = 0
    faults: list[tuple[str, str]] = field(default_factory=list)  # what failed, how
    unread: str = ""  # why the other reader cannot read the original


class Hangs(BaseException):
    pass


def check(path: Path) -> Outcome:
    outcome = Outcome(str(path), path.suffix.lower())

    def stop(*_: Any) -> None:
        raise Hangs

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
    try:
        _check(path, outcome)
    except Hangs:
        outcome.faults.append(("hang", f"more than {MOST_SECONDS} s"))
    except Exception:
        outcome.faults.append(("crash", _last(traceback.format_exc())))
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return outcome


def _check(path: Path, outcome: Outcome) -> None:
    options = {name: TARGET[name] for name in options_of(path) if name in TARGET}
    if outcome.kind in (".yml", ".yaml"):  # all keys are under its language
        options.pop("target_language")
    try:
        data = read_file(path)
        parsed = find_format(path, **options).read(data, path.name)
    except InputError as error:
        outcome.refused = str(error)
        return
    outcome.segments = len(parsed.segments)
    if outcome.kind in WRITTEN_AS:  # from here on it is a file of the kind that is written
        path = path.with_suffix(output_suffix(path))
        data = parsed.render(parsed.segments)
        parsed = find_format(path).read(data, path.name)
    if parsed.render(parsed.segments) != data:
        outcome.faults.append(("identity", "other bytes"))
    try:
        before = structure_of(data, path)
    except Unreadable as error:
        outcome.unread, before = str(error) or "cannot be read", None
    for name, change in STUBS.items():
        try:
            segments, report = translate_segments(parsed.segments, Stub(change))  # type: ignore[arg-type]
            if not report.sentences:
                continue
            written = parsed.render(segments)
            again = find_format(path, **options).read(written, path.name)
            if (
                name == "marked"
                and outcome.kind not in BILINGUAL
                and (lost := _texts(segments, outcome.kind) - _texts(again.segments, outcome.kind))
            ):
                outcome.faults.append((f"{name}: other text", f"{len(lost)}: {min(lost)[:160]!r}"))
            if before is not None:
                _compare(name, before, structure_of(written, path), outcome)
        except InputError as error:
            outcome.faults.append((f"{name}: not read again", str(error)))
        except Unreadable as error:
            outcome.faults.append((f"{name}: other reader", str(error)))
        except Hangs:
            raise
        except Exception:
            outcome.faults.append((f"{name}: crash", _last(traceback.format_exc())))


def _texts(segments: Sequence[Segment], kind: str) -> set[str]:
    texts = ["".join(segment.text.split()) for segment in segments if not segment.skip_reason]
    return {"".join(texts)} if kind in JOINED else set(texts)


def _compare(name: str, before: Counter[Any], after: Counter[Any], outcome: Outcome) -> None:
    lost = before - after
    if name == "short":  # of three bold words and one translated there is one
        lost = Counter({key: count for key, count in lost.items() if key[0] != "look"})
    if lost:
        outcome.faults.append((f"{name}: lost", _some(lost)))
    if new := after - before:
        outcome.faults.append((f"{name}: new", _some(new)))


def _some(counts: Counter[Any]) -> str:
    return f"{sum(counts.values())}: " + "; ".join(str(key)[:160] for key in list(counts)[:3])


def _last(text: str) -> str:
    lines = [line.strip() for line in text.strip().splitlines()]
    places = [line for line in lines if line.startswith("File")]
    return f"{lines[-1][:200]} ({places[-1]})"


def _kind_of(text: str) -> str:
    """A reason without what is of one file."""
    text = re.sub(r"^[^:]*: (?=\D)|^\S+?: ", "", text)
    text = re.sub(r"'[^']*'|\"[^\"]*\"", "...", text)
    return re.sub(r"\([^)]*\.(xml|rels|vml)\)", "(part)", re.sub(r"\d+", "N", text))[:120]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--suffixes", default="", help="only files with these endings, with commas")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--most", type=int, default=0, help="files of each ending at most")
    parser.add_argument("--log", type=Path, help="where each fault and refusal is listed")
    arguments = parser.parse_args()
    wanted = {one.strip() for one in arguments.suffixes.split(",") if one.strip()} or set(FORMATS)
    files = sorted(
        file
        for folder in arguments.folders
        for file in ([folder] if folder.is_file() else folder.rglob("*"))
        if file.suffix.lower() in wanted and file.is_file()
    )
    taken: Counter[str] = Counter()
    chosen = []
    for file in files:
        taken[file.suffix.lower()] += 1
        if not arguments.most or taken[file.suffix.lower()] <= arguments.most:
            chosen.append(file)
    with multiprocessing.Pool(arguments.jobs, maxtasksperchild=200) as pool:
        outcomes = list(pool.imap(check, chosen))
    _report(outcomes)
    if arguments.log:
        arguments.log.write_text("".join(_lines(outcomes)), encoding="utf-8")
    return 1 if any(outcome.faults for outcome in outcomes) else 0


def _report(outcomes: Sequence[Outcome]) -> None:
    print("| format | files | read | refused | segments | other reader fails on the original | files with faults |")
    print("|---|---|---|---|---|---|---|")
    for kind in sorted({outcome.kind for outcome in outcomes}):
        of_kind = [outcome for outcome in outcomes if outcome.kind == kind]
        refused = sum(bool(outcome.refused) for outcome in of_kind)
        numbers = [len(of_kind), len(of_kind) - refused, refused, sum(outcome.segments for outcome in of_kind)]
        numbers += [sum(bool(outcome.unread) for outcome in of_kind), sum(bool(outcome.faults) for outcome in of_kind)]
        print(f"| {kind} | {' | '.join(map(str, numbers))} |")
    faults = Counter((outcome.kind, what) for outcome in outcomes for what in {what for what, _ in outcome.faults})
    for (kind, what), count in sorted(faults.items()):
        print(f"fault: {kind} {what}: {count}")
    reasons = Counter((outcome.kind, _kind_of(outcome.refused)) for outcome in outcomes if outcome.refused)
    for (kind, reason), count in sorted(reasons.items()):
        print(f"refused: {kind}: {reason}: {count}")


def _lines(outcomes: Sequence[Outcome]) -> Iterator[str]:
    for outcome in outcomes:
        if outcome.refused:
            yield f"REFUSED {outcome.file}: {outcome.refused}\n"
        if outcome.unread:
            yield f"UNREAD {outcome.file}: {outcome.unread}\n"
        for what, how in outcome.faults:
            yield f"FAULT {outcome.file}: {what}: {how}\n"


if __name__ == "__main__":
    sys.exit(main())
