"""What is read of each kind of input, and what its parts are; held against the libraries that wrote it."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from bulk.stub_model import Stub, translated, write_json_lines
from docflat.bulk.merge import merge
from docflat.bulk.plan import Plan
from docflat.bulk.receipts import read_receipts, write_report
from docflat.cli.translate_lines import Limits, translate_lines
from docflat.support.errors import InputError

Run = Callable[..., Plan]
DOCUMENTS = [[f"sentence {i} {place}" for place in range(1 + i % 4)] for i in range(30)]


def packed(path: Path, data: bytes) -> Path:
    """Written by others than docflat's own opener."""
    if path.suffix == ".zst":
        zstandard = pytest.importorskip("zstandard")
        half = len(data) // 2  # two frames, as parallel programs write them
        data = b"".join(zstandard.ZstdCompressor().compress(piece) for piece in (data[:half], data[half:]))
    else:
        pack: dict[str, Callable[[bytes], bytes]] = {
            ".gz": gzip.compress,
            ".xz": lzma.compress,
            ".bz2": bz2.compress,
        }
        data = pack.get(path.suffix, bytes)(data)
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("ending", ["", ".gz", ".xz", ".bz2", ".zst"])
def test_json_lines_get_a_field_and_keep_the_others_byte_for_byte(tmp_path: Path, run_here: Run, ending: str):
    rows = [
        f'{{"id": {i}, "x": 1.10e400, "x": 12345678901234567890.10, "source": {json.dumps(document)}, "ä": "\\ud800"}}'
        for i, document in enumerate(DOCUMENTS)
    ]
    data = "\n".join(["", *rows[:5], "", *rows[5:]]).encode()  # blank lines are no records; no \n at the end
    plan = run_here([packed(tmp_path / f"docs.jsonl{ending}", data)], tmp_path / "out")
    assert plan.shards > 5
    merge(plan, tmp_path / "merged.jsonl")
    lines = (tmp_path / "merged.jsonl").read_text(encoding="utf-8").splitlines()
    for row, line, document in zip(rows, lines, DOCUMENTS, strict=True):
        assert line == row[:-1] + f', "target": {json.dumps(translated(document))}}}'


def test_texts_keep_their_lines_and_blanks(tmp_path: Path, run_here: Run):
    path = write_json_lines(tmp_path / "docs.jsonl", [{"text": "One two.\n\n  Three four.\n"}, {"text": ""}])
    merge(run_here([path], tmp_path / "out"), tmp_path / "merged.jsonl")
    targets = [json.loads(line)["target"] for line in (tmp_path / "merged.jsonl").read_text().splitlines()]
    assert targets == ["0:.owt enO\n\n  1:.ruof eerhT\n", ""]


def test_failures_are_named_and_the_rest_is_translated(tmp_path: Path, run_here: Run):
    lines = [
        json.dumps({"source": ["fine"]}),
        "{broken",
        '"a string"',
        json.dumps({"target2": 1}),
        json.dumps({"source": 7}),
        '{"source": ["half \\ud800"]}',
        json.dumps({"source": ["x" * 100_001]}),
        json.dumps({"source": ["fail now"]}),
        json.dumps({"source": None}),
        json.dumps({"source": ["fine too"]}),
    ]
    path = tmp_path / "docs.jsonl"
    path.write_bytes("\n".join(lines).encode() + b'\n{"source": ["\xff"]}\n')
    plan = run_here([path], tmp_path / "out")
    totals = write_report(plan)
    failed = [json.loads(line) for line in (tmp_path / "out/failed.jsonl").read_text().splitlines()]
    assert {each["place"]: each["reason"] for each in failed} == {
        2: "not JSON: Expecting property name enclosed in double quotes at column 2",
        3: "not a JSON object",
        4: "there is no field 'source'",
        5: "'source' must be a text or a list of sentences, not 7",
        6: "'source' has half a surrogate pair",
        7: "a sentence of 100001 characters; 100000 are the most",
        8: "RuntimeError: as asked",
        11: "not UTF-8: byte 14 of the line",
    }
    assert totals.failed == 8
    assert all(each["source"] == "docs.jsonl" for each in failed)
    merge(plan, tmp_path / "merged.jsonl")
    merged = [json.loads(line) for line in (tmp_path / "merged.jsonl").read_text().splitlines()]
    assert [record["target"] for record in merged] == [["0:enif"], *[None] * 6, ["0:oot enif"]]


def lines_of(documents: Sequence[Sequence[str]]) -> list[str]:
    return [line for document in documents for line in ["", *document]]


LAYOUTS: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "empty lines": ("docs.en", {}, [*lines_of(DOCUMENTS)[1:], "", ""]),
    "d lines": ("docs.en", {}, [line or "<d>" for line in lines_of(DOCUMENTS)]),
    "d lines within, which are sentences": ("docs.en", {}, [*lines_of(DOCUMENTS)[1:], "", "<d>", "one more"]),
    "lines": ("docs.txt", {"boundaries": "lines", "lines": True}, [line for line in lines_of(DOCUMENTS) if line]),
    "none": ("docs.en", {"boundaries": "none"}, [line for line in lines_of(DOCUMENTS) if line]),
    "tsv with docids": (
        "docs.tsv",
        {},
        [f"{line}\tx\td{i}" for i, document in enumerate(DOCUMENTS) for line in document],
    ),
    "tsv with empty lines": ("docs.tsv", {}, [line and f"{line}\tx" for line in lines_of(DOCUMENTS)]),
    "jsonl with docids": (
        "docs.jsonl",
        {"boundaries": "docids"},
        [json.dumps({"source": line, "docid": i}) for i, document in enumerate(DOCUMENTS) for line in document],
    ),
}


@pytest.mark.parametrize("ending", ["", ".gz"])
@pytest.mark.parametrize("name", LAYOUTS)
def test_text_in_shards_is_what_docflat_translate_makes_of_the_whole(
    tmp_path: Path, run_here: Run, name: str, ending: str
):
    file, settings, lines = LAYOUTS[name]
    path = packed(tmp_path / f"{file}{ending}", ("\ufeff" + "\r\n".join(lines)).encode())
    plan = run_here([path], tmp_path / "out", **settings)
    assert plan.shards > (0 if name == "none" else 5)
    marking: Any = (settings.get("boundaries", "auto"), None, None)
    one, other = (tmp_path / f"{which}{Path(file).suffix}" for which in ("one", "other"))
    merge(plan, one)
    translate_lines(path, other, marking, Stub, lambda n: None, lambda pairs: None, {}, Limits())  # type: ignore[arg-type,return-value]
    assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize("which", ["docids", "starts"])
def test_another_file_may_say_where_documents_start(tmp_path: Path, run_here: Run, which: str):
    path = tmp_path / "docs.en"
    path.write_text("".join(f"{line}\n" for document in DOCUMENTS for line in document))
    marks = tmp_path / "marks"
    starts = [1 + sum(map(len, DOCUMENTS[:i])) for i in range(len(DOCUMENTS))]
    docids = [f"d{i}" for i, document in enumerate(DOCUMENTS) for _ in document]
    marks.write_text("".join(f"{mark}\n" for mark in (docids if which == "docids" else starts)))
    plan = run_here([path], tmp_path / "out", **{which: str(marks)})
    assert plan.documents == len(DOCUMENTS)
    assert plan.shards > 5
    merge(plan, tmp_path / "merged.de")
    expected = [line for document in DOCUMENTS for line in translated(document)]
    assert (tmp_path / "merged.de").read_text().splitlines() == expected


def test_a_table_gets_a_column(tmp_path: Path, run_here: Run):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    texts = [None if i == 4 else f"Text {i}.\nAnd more." for i in range(len(DOCUMENTS))]
    table = pa.table({"id": range(len(DOCUMENTS)), "text": texts, "list": DOCUMENTS})
    pq.write_table(table, tmp_path / "docs.parquet", row_group_size=7)
    for key, expected in (
        ("text", [text and f"0:.{str(i)[::-1]} txeT\n1:.erom dnA" for i, text in enumerate(texts)]),
        ("list", [translated(document) for document in DOCUMENTS]),
    ):
        plan = run_here([tmp_path / "docs.parquet"], tmp_path / f"out-{key}", key=key, target_key="new")
        assert plan.shards > 5
        merge(plan, tmp_path / f"{key}.parquet")
        merged = pq.read_table(tmp_path / f"{key}.parquet")
        assert merged.drop_columns("new").equals(table)
        assert merged.column("new").to_pylist() == expected


def test_a_dataset_on_disk_comes_out_as_datasets_reads_it(tmp_path: Path, run_here: Run):
    datasets = pytest.importorskip("datasets")
    features = {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["no", "yes"])}
    dataset = datasets.Dataset.from_dict(
        {"text": [f"Text {i}." for i in range(20)], "label": [i % 2 for i in range(20)]},
        features=datasets.Features(features),
    )
    datasets.DatasetDict({"train": dataset, "test": dataset.select(range(3))}).save_to_disk(
        tmp_path / "set", num_shards={"train": 3, "test": 1}
    )
    plan = run_here([tmp_path / "set"], tmp_path / "out")
    assert {source.name for source in plan.sources} == {"set/train", "set/test"}
    merge(plan, tmp_path / "train.parquet", "set/train")
    read = datasets.Dataset.from_parquet(str(tmp_path / "train.parquet"), cache_dir=str(tmp_path / "cache"))
    assert read.remove_columns("target").to_dict() == dataset.to_dict()
    assert read.features["label"].names == ["no", "yes"]
    assert read["target"][3] == "0:.3 txeT"


def test_a_folder_of_files_becomes_a_folder_of_files(tmp_path: Path, run_here: Run):
    folder = tmp_path / "notes"
    (folder / "sub").mkdir(parents=True)
    for number in range(8):
        (folder / f"sub/{number}.md").write_text(f"# Title {number}\n\nSome text.\n")
    (folder / "page.html").write_text("<p>Some <b>bold</b> text.</p>")
    (folder / "empty.txt").write_text("")
    (folder / "only.json").write_text("{nonsense")
    (folder / "picture.png").write_bytes(b"no")
    write_json_lines(folder / "docs.jsonl", [{"source": ["one"]}])
    out = folder / "out"  # in the folder itself: it is not read
    plan = run_here([folder], out)
    totals = write_report(plan)
    assert (out / "files/sub/3.md").read_text() == "# 0:3 eltiT\n\n1:.txet emoS\n"
    assert "<p>" in (out / "files/page.html").read_text()
    assert sorted(os.listdir(out / "files")) == ["page.html", "sub"]
    failed = [json.loads(line) for line in (out / "failed.jsonl").read_text().splitlines()]
    assert {each["file"]: each["reason"].partition(": ")[2] for each in failed}.keys() == {"empty.txt", "only.json"}
    assert totals.documents == 12
    assert plan.shards > 2
    assert json.loads((out / "report.json").read_text())["done"]["failed"] == 2


def truncated(path: Path) -> Path:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    return path


@pytest.mark.parametrize("ending", [".gz", ".xz", ".bz2", ".zst"])
def test_a_truncated_archive_is_named_before_anything_is_done(tmp_path: Path, run_here: Run, ending: str):
    rows = "".join(json.dumps({"source": [os.urandom(50).hex()]}) + "\n" for _ in range(2000))
    path = truncated(packed(tmp_path / f"docs.jsonl{ending}", rows.encode()))
    with pytest.raises(InputError, match=rf"docs.jsonl{ending}:\d+: truncated or corrupt"):
        run_here([path], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_bad_tables_are_named(tmp_path: Path, run_here: Run):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    path, out = tmp_path / "docs.parquet", tmp_path / "out"
    pq.write_table(pa.table({"id": [1], "body": ["text"], "target": ["x"]}), path)
    for settings, message in (
        ({}, "there is no column 'source' or 'text' among id, body, target; name one with --key"),
        ({"key": "texts"}, "there is no column 'texts' among id, body, target"),
        ({"key": "body"}, "has a column 'target' already: name another with --target-key"),
        ({"key": "id", "target_key": "new"}, "column 'id' must have texts or lists of sentences, not int64"),
    ):
        with pytest.raises(InputError, match=f"docs.parquet: {message}"):
            run_here([path], out, **settings)
    with pytest.raises(InputError, match=r"docs.parquet: truncated or corrupt"):
        run_here([truncated(path)], out)
    pq.write_table(pa.table([pa.array([b"a\xabb"]).cast(pa.string(), safe=False)], ["text"]), path)
    with pytest.raises(InputError, match=r"docs.parquet: truncated or corrupt: .utf-8. codec can't decode"):
        run_here([path], out)
    pq.write_table(pa.table([["a"], ["b"]], ["text", "text"]), path)
    with pytest.raises(InputError, match=r"docs.parquet: has several columns 'text'"):
        run_here([path], out)


def test_a_list_with_a_hole_fails_alone(tmp_path: Path, run_here: Run):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "docs.parquet"
    pq.write_table(pa.table({"text": [["a"], ["b", None], None, ["c"]]}), path)
    plan = run_here([path], tmp_path / "out")
    failed = [(one.place, one.reason) for receipt, _ in read_receipts(plan) for one in receipt.failures]
    assert failed == [(2, """'text' must be a text or a list of sentences, not ["b", null]""")]
    merge(plan, tmp_path / "new.parquet")
    assert pq.read_table(tmp_path / "new.parquet").column("target").to_pylist() == [
        translated(["a"]), None, None, translated(["c"])
    ]  # fmt: skip


def test_bad_json_lines_are_named(tmp_path: Path, run_here: Run):
    path, out = tmp_path / "docs.jsonl", tmp_path / "out"
    write_json_lines(path, [{"body": "x"}])
    with pytest.raises(InputError, match=r"docs.jsonl:1: there is no field 'source' or 'text' among body; name one"):
        run_here([path], out)
    write_json_lines(path, [{"text": "x"}, {"text": "x", "target": "y"}])
    with pytest.raises(InputError, match=r"docs.jsonl:2: has a field 'target' already: name another"):
        run_here([path], out)
    path.write_text("\n\n")
    with pytest.raises(InputError, match=r"docs.jsonl: has no documents"):
        run_here([path], out)


def test_an_input_that_changed_under_way_is_named(tmp_path: Path, run_here: Run, make: Any):
    from docflat.bulk.translate_shard import TranslateShard

    path = write_json_lines(tmp_path / "docs.jsonl", [{"source": document} for document in DOCUMENTS])
    plan, settings = make([path], tmp_path / "out")
    translate = TranslateShard(plan, settings)
    path.write_text("")
    with pytest.raises(InputError, match=r"docs.jsonl: is shorter than when the plan was made"):
        translate(next(plan.read_shards()))
