"""Plans: shards of about equal work that cut no document; the same for the same input; changes are said."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bulk.stub_model import write_json_lines
from docflat.bulk.plan import Plan, read_plan
from docflat.bulk.readers.documents import Failure
from docflat.bulk.receipts import Receipt, read_receipt
from docflat.bulk.settings import Settings
from docflat.bulk.shards import Shard, Unit, cut
from docflat.bulk.sources import find_sources
from docflat.support.atomic import alone
from docflat.support.errors import InputError

Make = Callable[..., tuple[Plan, Settings]]


@given(st.lists(st.integers(1, 50)), st.integers(1, 100))
def test_shards_hold_every_document_once_and_no_more_than_the_budget(works: list[int], budget: int):
    shards = list(cut([Unit(work) for work in works], 0, "name", budget))
    assert [place for shard in shards for place in range(shard.first, shard.first + shard.documents)] == [
        *range(1, len(works) + 1)
    ]
    for shard in shards:
        inside = works[shard.first - 1 : shard.first - 1 + shard.documents]
        assert shard.work == sum(inside)
        assert shard.work <= budget or shard.documents == 1
    for shard, after in pairwise(shards):  # no shard is smaller than it must be
        assert shard.work + works[after.first - 1] > budget


def test_a_shard_comes_back_from_its_json():
    file = ("a.md", "/a\udc80.md", 3, 4)
    shard = Shard(1, "name/1-2", 1, 2, 30, offset=7, lengths=(1, 4), files=(file,))
    assert Shard.from_json(shard.to_json()) == shard


def records(number: int, size: int = 3) -> list[dict[str, Any]]:
    return [{"id": i, "source": [f"sentence {i} {place}" for place in range(i % size)]} for i in range(number)]


def test_the_same_inputs_and_settings_make_the_same_plan_byte_for_byte(tmp_path: Path, make: Make):
    path = write_json_lines(tmp_path / "docs.jsonl", records(50))
    for out in ("one", "two"):
        make([path], tmp_path / out)
    for name in ("plan.json", "shards.jsonl"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    plan = read_plan(tmp_path / "one")
    assert plan.documents == 50 == sum(shard.documents for shard in plan.read_shards())
    assert plan.shards > 3


def test_a_plan_is_found_again_unless_something_has_changed(tmp_path: Path, make: Make, model: str):
    path = write_json_lines(tmp_path / "docs.jsonl", records(20))
    out = tmp_path / "out"
    before, _ = make([path], out)
    assert make([path], out)[0] == before

    with pytest.raises(InputError, match=r"setting shard_size was 200, is 300. --force starts anew"):
        make([path], out, shard_size=300)
    with pytest.raises(InputError, match=r"setting beam was not set, is 4"):
        make([path], out, decoding={"beam": 4})
    with pytest.raises(InputError, match=r"setting glossary is another"):
        make([path], out, glossary={"a": "b"})
    other = write_json_lines(tmp_path / "more.jsonl", records(2))
    with pytest.raises(InputError, match=r"input more.jsonl was not there"):
        make([path, other], out)
    with pytest.raises(InputError, match=r"input docs.jsonl is missing; input more.jsonl was not there"):
        make([other], out)
    write_json_lines(path, records(21))
    with pytest.raises(InputError, match=r"input docs.jsonl has other contents"):
        make([path], out)
    assert make([path], out, force=True)[0].documents == 21
    (Path(model) / "weights").write_bytes(b"others")
    with pytest.raises(InputError, match=r"setting model has other contents"):
        make([path], out)


def test_a_copy_with_another_time_is_the_same_input(tmp_path: Path, make: Make):
    path = write_json_lines(tmp_path / "docs.jsonl", records(20))
    make([path], tmp_path / "out")
    os.utime(path, (1, 1))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.copy(path, elsewhere)
    plan, _ = make([elsewhere / "docs.jsonl"], tmp_path / "out")
    assert plan.sources[0].path == str(elsewhere / "docs.jsonl")


def test_changed_files_of_a_folder_are_named(tmp_path: Path, make: Make):
    folder = tmp_path / "notes"
    (folder / "sub").mkdir(parents=True)
    for name in ("a.md", "b.md", "sub/a.md"):
        (folder / name).write_text("Some text.\n")
    make([folder], tmp_path / "out")
    (folder / "a.md").write_text("Some other text.\n")
    (folder / "b.md").unlink()
    (folder / "c.md").write_text("New.\n")
    with pytest.raises(InputError, match=r"input c.md was not there; input b.md is missing; input a.md was changed"):
        make([folder], tmp_path / "out")


def test_a_pdf_and_a_word_file_whose_translations_have_one_name_are_refused(tmp_path: Path, make: Make):
    folder = tmp_path / "in"
    folder.mkdir()
    for name in ("a.pdf", "a.pdf.docx"):
        (folder / name).write_bytes(b"any")
    with pytest.raises(InputError, match=r"its translation would have the name of that of .*a\.pdf: a\.pdf\.docx"):
        make([folder], tmp_path / "out")


def test_two_inputs_of_one_name_are_refused(tmp_path: Path, make: Make):
    paths = []
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        paths.append(write_json_lines(tmp_path / folder / "docs.jsonl", records(3)))
    with pytest.raises(InputError, match=r"two/docs.jsonl: its translation would have the name of that of .*one/docs"):
        make(paths, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_force_removes_only_what_a_run_has_written(tmp_path: Path, make: Make):
    path = write_json_lines(tmp_path / "docs.jsonl", records(3))
    out = tmp_path / "out"
    out.mkdir()
    (out / "precious.txt").write_text("mine")
    with pytest.raises(InputError, match=r"exists and has no plan of docflat bulk"):
        make([path], out)
    with pytest.raises(InputError, match=r"has no plan of docflat bulk"):
        make([path], out, force=True)
    (out / "precious.txt").rename(tmp_path / "kept.txt")
    make([path], out)
    (tmp_path / "kept.txt").rename(out / "precious.txt")
    make([path], out, force=True)
    assert (out / "precious.txt").read_text() == "mine"


def contents(folder: Path) -> dict[str, bytes]:
    """Of all files but locks."""
    paths = [path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".lock")]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("typo.jsonl", {}, "typo.jsonl: there is no such file or folder"),
        ("cut.jsonl.gz", {}, "cut.jsonl.gz"),
        ("link.jsonl", {}, "link.jsonl: lies in the output folder"),
        ("links", {}, "links/link.jsonl: lies in the output folder"),
        ("out", {}, "out: lies in the output folder"),
        ("out/parts/docs.jsonl/part.jsonl", {}, "part.jsonl: lies in the output folder"),
        ("docs.jsonl", {"decoding": {"mode": "edit", "global_context": "partial"}}, "a global context goes with"),
        ("docs.jsonl", {"decoding": {"mode": "two-pass", "tolerance": 0.2}}, "a tolerance goes with the mode edit"),
        ("docs.jsonl", {"decoding": {"mode": "edit"}, "first_pass": "other"}, "a first pass goes with"),
        (
            "docs.jsonl",
            {"decoding": {"mode": "auto", "length_penalty": -1.0}},
            "length_penalty must be finite and not negative",
        ),
        ("docs.jsonl", {"first_pass": "none"}, "none: cannot be read"),
    ],
)
def test_force_removes_nothing_when_the_new_run_cannot_be(
    tmp_path: Path, make: Make, name: str, changes: dict[str, Any], message: str
):
    out = tmp_path / "out"
    make([write_json_lines(tmp_path / "docs.jsonl", records(9))], out)
    part = out / "parts" / "docs.jsonl" / "part.jsonl"
    part.parent.mkdir(parents=True)
    write_json_lines(part, records(2))
    (tmp_path / "cut.jsonl.gz").write_bytes(gzip.compress(part.read_bytes())[:-9])
    (tmp_path / "links").mkdir()
    for link in (tmp_path / "link.jsonl", tmp_path / "links" / "link.jsonl"):
        link.symlink_to(part)
    before = contents(out)
    with pytest.raises(InputError, match=message):
        make([tmp_path / name], out, force=True, **changes)
    assert contents(out) == before
    make([tmp_path / "docs.jsonl"], out, force=True)
    assert not part.exists()


@pytest.mark.parametrize("lock", [".lock", ".lock-2-of-3"])
def test_force_leaves_a_run_in_progress_alone(tmp_path: Path, make: Make, lock: str):
    path, out = write_json_lines(tmp_path / "docs.jsonl", records(9)), tmp_path / "out"
    make([path], out)
    before = contents(out)
    more = write_json_lines(tmp_path / "more.jsonl", records(3))
    with alone(out, "run", lock), pytest.raises(InputError, match="another run of docflat bulk is writing here"):
        make([more], out, force=True)
    assert contents(out) == before
    assert make([more], out, force=True)[0].documents == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no plan"),
        ("{", "not JSON"),
        ("[]", "expected a JSON object"),
        ('{"format": 7}', "has format 7, this docflat reads 1"),
        (json.dumps({"format": 1, "sources": [{"x": 1}], "settings": {}}), r"sources\[0\].x: unknown key"),
        (json.dumps({"format": 1, "sources": [], "settings": []}), "is no plan"),
        (
            json.dumps({"format": 1, "sources": [{"name": "../a", "kind": "text", "path": "a"}], "settings": {}}),
            "is no",
        ),
        (json.dumps({"format": 1, "sources": [], "settings": {}, "shards": "3"}), "is no plan"),
    ],
)
def test_what_is_no_plan_is_named(tmp_path: Path, text: str, message: str):
    if text:
        (tmp_path / "plan.json").write_text(text)
    with pytest.raises(InputError, match=rf"plan.json: {message}"):
        read_plan(tmp_path)


def test_translations_of_an_earlier_run_are_passed_over_and_named_they_are_translated(tmp_path: Path, model: str):
    folder = tmp_path / "in"
    folder.mkdir()
    for name in ("a.md", "a.de.md", "b.translated.md", "c.de.md"):
        (folder / name).write_text("A line.\n")
    settings = Settings(model=model)
    _, files, skipped = find_sources([folder], tmp_path / "out", settings)
    assert [file.name for file in files] == ["a.md", "b.translated.md", "c.de.md"]  # those of sources that are gone
    why = "its name says that it is a translation of a.md"
    assert skipped == [f"{folder / 'a.de.md'}: passed over, for {why} (name it to translate it)"]
    _, files, skipped = find_sources([folder / "a.de.md"], tmp_path / "out", settings)
    assert [file.name for file in files] == ["a.de.md"]
    assert skipped == []


def test_programs_in_typescript_are_no_messages_of_qt(tmp_path: Path, model: str):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.ts").write_text("export function first<TSource>(all: TSource[]): Array<TS> { return all[0]; }\n")
    (folder / "b.ts").write_text('<?xml version="1.0"?>\n<!DOCTYPE TS>\n<TS version="2.1"></TS>\n')
    (folder / "c.ts").write_bytes('<?xml version="1.0" encoding="UTF-16"?>\n<TS></TS>\n'.encode("utf-16"))
    _, files, skipped = find_sources([folder], tmp_path / "out", Settings(model=model))
    assert [file.name for file in files] == ["b.ts", "c.ts"]
    assert [one for one in skipped if one.endswith(": 1 .ts (not of Qt)")]
    _, files, skipped = find_sources([folder / "a.ts"], tmp_path / "out", Settings(model=model))
    assert [file.name for file in files] == ["a.ts"]  # whoever names it is told why it cannot be read


@pytest.mark.parametrize(
    ("name", "contents", "why"),
    [
        ("a.rst", b"Title\n=====\n", "a.rst: .rst is no format"),
        ("a.py", b"x = 1", "a.py: .py is no format"),
        ("a", b'{"a": 1}', "a: it looks like JSON"),
        ("a.odd", b"PK\x03\x04", "a.odd: it looks like an office file"),
    ],
)
def test_what_lines_would_break_is_no_text_unless_it_is_said(
    tmp_path: Path, model: str, name: str, contents: bytes, why: str
):
    (tmp_path / name).write_bytes(contents)
    with pytest.raises(InputError, match=why):
        find_sources([tmp_path / name], tmp_path / "out", Settings(model=model))
    sources, _, _ = find_sources([tmp_path / name], tmp_path / "out", Settings(model=model, lines=True))
    assert [source.kind for source in sources] == ["text"]


def test_pipes_are_never_waited_for(tmp_path: Path, model: str):
    folder = tmp_path / "in"
    folder.mkdir()
    for name in ("a.docx", "b.jsonl"):
        os.mkfifo(folder / name)
    (folder / "c.md").write_text("A line.\n")
    _, files, _ = find_sources([folder], tmp_path / "out", Settings(model=model))
    assert [file.name for file in files] == ["c.md"]
    for name in ("a.docx", "b.jsonl"):
        with pytest.raises(InputError, match="must be an ordinary file"):
            find_sources([folder / name], tmp_path / "out", Settings(model=model))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"source": 0', '"source": 3', "is a shard of another plan"),
        ('"source": 0', '"source": "0"', "is no shard: source is str"),
        ('"name": "docs.jsonl/', '"name": "../../docs.jsonl/', "is a shard of another plan"),
        ('"documents": ', '"lengths": 3, "documents": ', "is no shard: lengths is int"),
        ('"documents": ', '"files": [["../a.md", "/a.md", 1, 2]], "documents": ', "is no name within a folder"),
        ('{"source"', "[" * 100_000 + '{"source"', "is no shard"),
    ],
)
def test_a_damaged_shard_is_named_by_its_line(tmp_path: Path, make: Make, old: str, new: str, message: str):
    plan, _ = make([write_json_lines(tmp_path / "docs.jsonl", records(20))], tmp_path / "out")
    path = tmp_path / "out" / "shards.jsonl"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(InputError, match=rf"shards.jsonl:1: .*{message}"):
        list(plan.read_shards())


@pytest.mark.parametrize(
    "change", [{"documents": "3"}, {"failures": 3}, {"failures": [[]]}, {"host": {}}, {"seconds": None}]
)
def test_a_damaged_receipt_is_named(tmp_path: Path, change: dict[str, Any]):
    whole = Receipt("docs/1-2", 2, 30, failures=[Failure("why", 1)])
    path = tmp_path / "1-2.json"
    path.write_text(whole.to_json())
    assert read_receipt(path) == whole
    path.write_text(json.dumps({**json.loads(whole.to_json()), **change}))
    with pytest.raises(InputError, match=r"1-2.json: is no receipt"):
        read_receipt(path)
