"""What is done with an input: each reader reads it, and what it can write is written and read again.

An `InputError` is the right answer to a bad file. Everything else that is raised is a fault.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from docflat.formats import FORMATS, find_format, options_of, output_suffix
from docflat.formats.segments import ParsedFile
from docflat.support.errors import InputError
from docflat.translation.files import plan_segments, translate_planned
from fuzz.models import random_model
from fuzz.seeds import PARTS

Check = Callable[[bytes, Random, Path], object]


@dataclass(frozen=True)
class Reader:
    name: str
    kind: str  # of its inputs
    check: Check
    weight: int = 1  # how often it gets an input


def read_one(reader: Reader, data: bytes, random: Random, folder: Path) -> str:
    """Whether the input was `read` or `refused`; all else is a fault. folder: for files."""
    try:
        reader.check(data, random, folder)
    except InputError:
        return "refused"
    return "read"


# A model that is silent leaves no text, and one that stutters more than there may be.
_EXPECTED = re.compile("larger than|more than|has no |no subtitles|has nothing")


class WrongFile(Exception):
    """It was read and written, and the result is not what it must be."""


def translate_format(suffix: str) -> Check:
    name = f"x{suffix}"

    def check(data: bytes, random: Random, folder: Path) -> None:
        options = {}
        if "redo" in options_of(name):
            options["redo"] = random.choice(("untranslated", "fuzzy", "all"))
        if "keys" in options_of(name) and random.random() < 0.3:
            options["keys"] = ("*",)
        if "columns" in options_of(name):  # without them, a table whose sentences are gone is refused
            options["columns"] = ("*",)
        if "target_language" in options_of(name):
            options["target_language"] = "de"
        file_format = find_format(name, **options)
        parsed = file_format.read(data, name)
        if output_suffix(name) == suffix:
            _check_unchanged(parsed, data, suffix.lstrip("."))
        language = random.choice(("en", "en", "en", "de", "zh", "x"))
        plans = plan_segments(parsed.segments, language, ["Ann"], {"word": "Wort", "Cell": "Zelle"})
        segments, report = translate_planned(parsed.segments, plans, random_model(random), name)
        str(report)
        written = parsed.render(segments)
        try:
            find_format(f"x{output_suffix(name)}", **options).read(written, name)
        except InputError as error:
            if not _EXPECTED.search(str(error)):
                raise WrongFile(f"what was written is refused: {error}") from error

    return check


def _check_unchanged(parsed: ParsedFile, data: bytes, kind: str) -> None:
    same = parsed.render(parsed.segments)
    if same == data:
        return
    if kind in PARTS:
        with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(io.BytesIO(same)) as new:
            if [old.read(name) for name in old.namelist()] == [new.read(name) for name in new.namelist()]:
                return
    raise WrongFile("its own segments do not give back the file")


def _file(folder: Path, name: str, data: bytes) -> Path:
    file = folder / name
    file.write_bytes(data)
    return file


def translate_lines_of(suffix: str) -> Check:
    def check(data: bytes, random: Random, folder: Path) -> None:
        from docflat.cli.translate_lines import Limits, count_lines, translate_lines

        file, out = _file(folder, f"in{suffix}", data), folder / "out"
        marking = (random.choice(("auto", "auto", "auto", "empty-lines", "d-lines", "lines", "none")), None, None)
        limits = Limits(100_000, 10_000)
        count_lines(file, marking, limits)
        model = random_model(random)
        translate_lines(file, out, marking, lambda: model, lambda n: None, lambda pairs: None, {}, limits)
        before, after = data.count(b"\n") + (not data.endswith(b"\n")), out.read_bytes().count(b"\n")
        if before != after:
            raise WrongFile(f"{before} lines in, {after} out")

    return check


def read_bitext(suffix: str) -> Check:
    def check(data: bytes, random: Random, folder: Path) -> None:
        from docflat.data.documents import FilePair, read_documents

        languages = random.choice((None, ("en", "de"), ("de", "en")))
        for document in read_documents(FilePair(_file(folder, f"b{suffix}", data), languages=languages)):
            if document.target is not None and len(document.source) != len(document.target):
                raise WrongFile("a document of two sides of different length")

    return check


def edit_drafts(suffix: str) -> Check:
    def check(data: bytes, random: Random, folder: Path) -> None:
        from docflat.editing.revisions import Revision
        from docflat.translation.draft_files import read_drafts

        file = _file(folder, f"d{suffix}", data)
        drafts = read_drafts(file, None, "auto", False, ("en", "de"))
        revisions = [[_revised(pair, random) for pair in document.pairs] for document in drafts.documents]
        file.write_bytes(drafts.render(revisions))
        read_drafts(file, None, "auto", False, ("en", "de"))
        if drafts.render([[Revision(*pair) for pair in document.pairs] for document in drafts.documents]) != data:
            raise WrongFile("without a change it is not the same file")

    return check


def _revised(pair: tuple[str, str], random: Random):  # type: ignore[no-untyped-def]
    """A draft with one word changed, as an editor would."""
    from docflat.editing.revisions import Edit, Revision
    from docflat.editing.variants import Change

    words = list(re.finditer(r"\w+", pair[1]))
    if not words or random.random() < 0.3:
        return Revision(*pair)
    word = random.choice(words)
    change = Change(word.span(), word[0], random.choice(("sie", "<&>", "%s", '"')), source="")
    return Revision(*pair, (Edit("pronouns", (change,), "for a reason", {}),))


def read_glossary_file(data: bytes, random: Random, folder: Path) -> None:
    from docflat.cli.translate_files import read_glossary, read_terms

    file = _file(folder, "glossary", data)
    read_terms(file)
    entries = read_glossary(file)
    plan_segments(find_format("x.txt").read(b"One light house, a report; Cell.", "x.txt").segments, "en", (), entries)


def read_recipe(data: bytes, random: Random, folder: Path) -> None:
    from docflat.training.recipe import load_recipe

    load_recipe(_file(folder, "recipe.yaml", data))


def read_config_file(data: bytes, random: Random, folder: Path) -> None:
    from docflat.weights.config import read_config

    _file(folder, "config.json", data)
    read_config(folder)


def translate_tagged(data: bytes, random: Random, folder: Path) -> None:
    """A text with tags, as the service gets it."""
    from docflat.service.tagged_texts import TagRules, read_tagged

    text = data.decode("utf-8", "replace")
    read = read_tagged(text, TagRules(("br",), ("b",), ("keep",), random.random() < 0.5))
    plans = plan_segments(read.segments, "en")
    segments, _ = translate_planned(read.segments, plans, random_model(random), "x")
    read_tagged(read.render(segments), TagRules())


def read_entries_of(data: bytes, random: Random, folder: Path) -> None:
    from docflat.service.entries import read_entries
    from docflat.service.problems import Problem

    try:
        read_entries(data.decode("utf-8", "replace"), random.choice(("", "tsv", "csv")))
    except Problem as problem:
        raise InputError(str(problem)) from None


_OTHER_NAMES = {".xliff": ".xlf"}
_HEAVY = {".docx", ".pptx", ".odt", ".html", ".md", ".xliff"}  # where faults were
_ONE_OF_EACH = {place: suffix for suffix, place in reversed(FORMATS.items())}  # a suffix of each format
_KIND = {".pot": "po", ".xlf": "xliff"}

READERS = (
    *(
        Reader(f"translate {suffix}", suffix.lstrip("."), translate_format(suffix), 3 if suffix in _HEAVY else 2)
        for suffix in (*_ONE_OF_EACH.values(), ".jsonl")
    ),
    *(
        Reader(f"lines {suffix}", kind, translate_lines_of(suffix))
        for suffix, kind in ((".x", "lines"), (".tsv", "tsv"), (".jsonl", "jsonl"))
    ),
    *(
        Reader(f"bitext {suffix}", suffix.lstrip("."), read_bitext(suffix))
        for suffix in (".tmx", ".po", ".xliff", ".tsv", ".jsonl")
    ),
    *(Reader(f"edit {suffix}", suffix.lstrip("."), edit_drafts(suffix)) for suffix in (".tmx", ".po", ".xliff")),
    Reader("glossary", "glossary", read_glossary_file),
    Reader("recipe", "recipe", read_recipe),
    Reader("config", "config", read_config_file),
    Reader("tagged text", "tagged", translate_tagged),
    Reader("glossary of the service", "glossary", read_entries_of),
)
