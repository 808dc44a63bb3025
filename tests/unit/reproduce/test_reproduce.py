"""The grid, the results and the report of `docflat reproduce`, without a training."""

from __future__ import annotations

import csv
import io
import json
import multiprocessing
import os
import re
import signal
import time
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from docflat.data.row_settings import RowSettings
from docflat.data.subwords import Subwords
from docflat.engines.torch.engine import on_torch
from docflat.evaluation.discourse import DISCOURSE
from docflat.model.sizes import ModelSizes
from docflat.reproduce import runs, workers
from docflat.reproduce.exports import as_csv, as_latex
from docflat.reproduce.grid import CONTROL, DATASETS, IN_COMPANY, Cell, Job, Measure, jobs_of, paper, set_of
from docflat.reproduce.measuring import SharedFirstPass
from docflat.reproduce.page import page
from docflat.reproduce.report import NOT_RUN, Report, markdown
from docflat.reproduce.results import Measurement, Origin, add_results, claim, read_results
from docflat.reproduce.tables import chosen, tables
from docflat.support.errors import InputError
from docflat.support.strict_yaml import to_mapping
from docflat.systems import SYSTEMS
from docflat.training.loop import differences
from docflat.training.recipe import load_recipe
from docflat.training.recipe_names import RECIPES
from docflat.translation.translator import Translator
from docflat.weights.config import ModelConfig
from docflat.weights.folders import ModelFolder

ORIGIN = Origin("abc1234", 1, "0123456789ab", "docflat reproduce", "docflat train a.yaml", "CPU")
CELLS = [cell for table in tables() for cell in table.cells]


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[tuple[str | int, ...], Any]]:
    if isinstance(value, dict):
        return [leaf for key, one in value.items() for leaf in leaves(one, (*path, key))]
    if isinstance(value, list):
        return [leaf for key, one in enumerate(value) for leaf in leaves(one, (*path, key))]
    return [(path, value)]


def record(job: str, metric: str, value: float | None, window: int = 0, origin: Origin = ORIGIN) -> Measurement:
    return Measurement(job, metric, window, value, origin)


def report(*records: Measurement) -> Report:
    return Report({one.key: one for one in records})


def shown(of: Report, title: str, label: str) -> list[tuple[str, str]]:
    (rows,) = (rows for table, rows in of.tables if table.title == title)
    (cells,) = (cells for name, cells in rows if name == label)
    return [(cell.paper, cell.measured) for cell in cells]


# The grid


def test_every_number_of_the_paper_has_a_cell_and_every_cell_its_number():
    about = {"source", "metrics", "significant_vs_doc2doc_p05"}
    numbers = {path for path, _ in leaves(paper()) if path[0] not in about and "sizes" not in path}
    assert {cell.path for cell in CELLS if cell.path} == numbers


def test_what_the_paper_does_not_report():
    ours = [cell.measure for cell in CELLS if not cell.path]
    of_speed = {"dbleu", "seconds", "updates/s"}
    company = {IN_COMPANY, *DISCOURSE}
    elsewhere = {"bleu on ted", "bleu on news"}
    third_gate = [one for one in ours if one.job.system in ("docflat-i", CONTROL)]
    curve = [one for one in ours if one.job.dataset == "europarl" and one.metric == "bleu"]
    assert {one.metric for one in third_gate} == {"bleu", "comet", "accuracy"} | of_speed | elsewhere | company
    assert {one.metric for one in set(ours) - {*third_gate, *curve}} == of_speed | elsewhere | set(DISCOURSE)
    assert all(one.job.dataset == "europarl" for one in ours if one.metric in elsewhere)


def test_what_a_metric_is_tested_on():
    assert [set_of(metric) for metric in ("bleu", "bleu on ted", "bleu on ted p", "accuracy >3")] == [
        "",
        "ted",
        "ted",
        "",
    ]


def test_a_cell_of_a_figure_stands_at_its_place():
    found = {cell.path: cell.measure for cell in CELLS}
    block = paper()["local_context_size_fig_ted"]
    for number, size in enumerate(block["sizes"]):
        measure = found["local_context_size_fig_ted", "docflat-d", "bleu", number]
        assert measure.job.changes == (() if size == 3 else (f"stages.0.rows.context={size}",))
    for number, size in enumerate(paper()["inference_batch_size_fig_ted"]["sizes"]):
        assert found["inference_batch_size_fig_ted", "docflat-c", "comet", number].window == size


def test_daggers_are_those_of_the_paper():
    marked = {(cell.measure.job.system, cell.measure.job.dataset, cell.measure.metric) for cell in CELLS if cell.dagger}
    block = paper()["significant_vs_doc2doc_p05"]
    assert marked == {(s, d, metric) for s, sets in block.items() for d, found in sets.items() for metric in found}
    text = markdown(report())
    assert "25.31†" in text
    assert "77.65†" not in text  # docflat-c's accuracy on Europarl


def test_trainings_are_shared_and_sentence_models_come_first():
    jobs = jobs_of(chosen((), (), ()))
    assert len(jobs) == len(set(jobs)) == len({job.name for job in jobs}) == 65
    places = {job.name: number for number, job in enumerate(jobs)}
    assert all(job.first is None or places[job.first.name] < places[job.name] for job in jobs)


def test_a_choice_brings_what_it_needs():
    assert {job.name for job in jobs_of(chosen(["distance"], ["mbe"], ()))} == {
        "ted/sent2sent",
        "ted/doc2doc",
        "ted/mbe",
    }
    assert {job.dataset for job in jobs_of(chosen(["table2"], (), ["news"]))} == {"news"}
    assert {m.job.system for m in chosen(["table2", "speed"], ["abd"], ())} == {"abd"}


@pytest.mark.parametrize("job", [job for job in jobs_of(chosen((), (), ())) if job.variant], ids=lambda job: job.name)
def test_a_variant_differs_from_its_system_in_what_it_says(job: Job):
    files = [RECIPES / f"{job.dataset}.yaml", RECIPES / "systems" / f"{job.system}.yaml"]
    usual, changed = (to_mapping(load_recipe(files, changes)) for changes in ((), job.changes))
    found = {key.removeprefix("stages[0]."): new for key, _, new in differences(usual, changed)}
    batches = {"rows.document_mask": False, "rows.global_context": "irrelevant"}
    expected: dict[str, dict[str, Any]] = {
        "encoder-only": {"options.decoder": False},
        "decoder-only": {"options.encoder": False},
        "both-sides": {"options.decoder": True},
        "irrelevant-local": {"rows.local_context": "irrelevant"},
        "irrelevant-global": batches,
        "irrelevant-both": {**batches, "rows.local_context": "irrelevant"},
    }
    if job.name == "ted/abd-decoder-only":
        assert found == {"options.encoder": False, "options.decoder": True}
    elif job.variant.startswith("context-"):
        assert found == {"rows.context": int(job.variant.rpartition("-")[2])}
    else:
        size = {"rows.window", "batch_tokens", "accumulate"} if "rows.document_mask" in found else set()
        assert {key: value for key, value in found.items() if key not in size} == expected[job.variant]


def test_every_table_can_be_made_of_any_dataset():
    """The analyses that the paper has of TED, on Europarl and on a corpus of one's own, with nothing of the paper."""
    analyses = ["table3", "table4", "table5", "table6", "distance", "context", "batch", "abd"]
    of_ted = chosen(analyses, (), ["ted"])
    for dataset in ("europarl", "minutes"):
        found = chosen(analyses, (), [dataset])
        assert {one.job.dataset for one in found} == {dataset}
        of_it = {(one.job.name.replace(f"{dataset}/", "ted/"), one.metric, one.window) for one in found}
        assert of_it == {one.key for one in of_ted}
    for table in {table.name for table in tables()}:
        for dataset in ("ted", "news", "europarl", "minutes"):
            found = chosen([table], (), [dataset])
            assert {one.job.dataset for one in found} == {dataset}, table
    others = [cell for table in tables(["minutes"]) for cell in table.cells if cell.measure.job.dataset == "minutes"]
    assert others
    assert not [cell for cell in others if cell.path and cell.path[0] not in ("ups_table2",) and cell.how == "value"]


def test_seeds_are_trainings_of_their_own_from_one_sentence_model():
    jobs = jobs_of(chosen(["table2"], ["sent2sent", "doc2doc", "docflat-c"], ["news"], [1, 2]))
    assert [job.name for job in jobs] == [
        "news/sent2sent",
        "news/doc2doc",
        "news/docflat-c",
        "news/doc2doc@2",
        "news/docflat-c@2",
        "news/sent2sent@2",
    ]
    assert {job.first.name for job in jobs if job.first} == {"news/sent2sent"}
    later = jobs_of(chosen(["table2"], ["doc2doc", "docflat-c"], ["news"], [2]))  # the others were trained elsewhere
    assert [job.name for job in later] == ["news/sent2sent", "news/doc2doc@2", "news/docflat-c@2"]
    assert [job.baseline.name for job in jobs[2::2]] == ["news/doc2doc", "news/doc2doc@2"]


# Results


def test_results_are_read_as_they_were_written(tmp_path: Path):
    records = [record("ted/abd", "bleu", 1.5, 16), record("ted/abd", "accuracy >3", float("nan"))]
    add_results(tmp_path / "results.jsonl", records)
    found = read_results(tmp_path / "results.jsonl")
    assert list(found.values()) == [records[0], replace(records[1], value=None)]
    lines = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    assert all({"commit", "seed", "data", "command"} <= line["origin"].keys() for line in lines)


def test_half_a_line_is_mended_wherever_it_was_cut(tmp_path: Path):
    path = tmp_path / "results.jsonl"
    first, second, third = (record(f"ted/{name}", "bleu", 1.0, 16) for name in ("ä", "b", "c"))
    add_results(path, [first])
    start = path.stat().st_size
    add_results(path, [second])
    whole = path.read_bytes()
    for cut in range(start, len(whole)):
        path.write_bytes(whole[:cut])
        assert list(read_results(path).values()) == [first]
        add_results(path, [third])
        assert list(read_results(path).values()) == [first, third]


def test_a_broken_line_within_is_an_error_that_names_it(tmp_path: Path):
    path = tmp_path / "results.jsonl"
    add_results(path, [record("ted/abd", "bleu", 1.0)])
    path.write_text(path.read_text() + "{}\n")
    with pytest.raises(InputError, match=r"results.jsonl:2: job: missing"):
        read_results(path)


def add_many(path: Path, name: str) -> None:
    for number in range(50):
        add_results(path, [record(name, f"metric {number}", 1.0)])


def test_several_processes_write_at_once(tmp_path: Path):
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=add_many, args=(tmp_path / "results.jsonl", name)) for name in "abcd"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(read_results(tmp_path / "results.jsonl")) == 200


def hold(path: Path) -> None:
    with claim(path) as mine:
        assert mine
        path.with_suffix(".held").touch()
        time.sleep(60)


def test_a_claim_is_for_one_and_ends_with_its_process(tmp_path: Path):
    path = tmp_path / "locks" / "job"
    other = multiprocessing.get_context("fork").Process(target=hold, args=(path,))
    other.start()
    while not path.with_suffix(".held").exists():
        time.sleep(0.01)
    with claim(path) as mine:
        assert not mine
    assert other.pid is not None
    os.kill(other.pid, signal.SIGKILL)
    other.join()
    with claim(path) as mine:
        assert mine


# Workers and speed


def test_each_worker_gets_a_gpu_in_turn(monkeypatch: pytest.MonkeyPatch):
    started: list[tuple[list[str], str]] = []

    class Worker:
        def __init__(self, command: list[str], env: dict[str, str]) -> None:
            started.append((command[1:], env["CUDA_VISIBLE_DEVICES"]))

        def wait(self) -> int:
            return int(len(started) == 3)

    monkeypatch.setattr(workers.subprocess, "Popen", Worker)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,GPU-5")
    assert workers.start_workers(["reproduce", "--worker"], 3) == 3
    assert started == [(["-m", "docflat", "reproduce", "--worker"], gpu) for gpu in ("2", "GPU-5", "2")]


# The report


def test_what_was_not_run_says_so():
    empty = report()
    assert shown(empty, "Table 4: gates, TED", "docflat-i") == [
        ("25.07", NOT_RUN),
        ("0.3049", NOT_RUN),
        ("69.45", NOT_RUN),
    ]
    assert all(cell.measured == NOT_RUN for cell in empty.shown)
    count = sum(len(table.cells) for table, _ in empty.tables)
    of_paper = {cell for cell in CELLS if cell.path}
    assert of_paper <= {cell for table, _ in empty.tables for cell in table.cells}
    assert f"0 of {count} numbers were measured" in markdown(empty)
    assert page(empty).count(f">{NOT_RUN}</t") == count + 5  # a figure without any says it too


def test_measured_numbers_stand_beside_the_paper_with_their_marks():
    found = report(
        record("ted/doc2doc", "bleu", 20.0, 16),
        record("ted/docflat-c", "bleu", 21.0, 16),
        record("ted/docflat-c", "bleu p", 0.05, 16),
        record("ted/docflat-d", "bleu", 19.0, 16),
        record("ted/docflat-d", "bleu p", 0.001, 16),
        record("ted/abd", "bleu", 22.0, 16),
        record("ted/abd", "bleu p", 0.051, 16),
        record("ted/mbe", "bleu", None, 16),
    )
    title = "Table 2: all systems, TED"
    assert [shown(found, title, name)[0] for name in ("doc2doc", "docflat-c", "docflat-d", "abd", "mbe", "han")] == [
        ("25.01", "20.00"),
        ("25.31†", "21.00†"),
        ("25.41†", "19.00‡"),
        ("24.97", "22.00"),
        ("24.75", "not a number"),
        ("24.58", NOT_RUN),
    ]
    assert shown(found, "Table 5: context from elsewhere, TED", "doc2doc, irrelevant local")[0] == (
        "does not converge",
        NOT_RUN,
    )


def test_seeds_are_shown_as_mean_and_deviation_and_tested_as_such():
    values = {"doc2doc": (20.0, 20.2, 20.1), "docflat-c": (21.0, 21.3, 20.9), "abd": (20.1, 20.3, 20.2)}
    records = [
        record(f"ted/{system}" + (f"@{seed}" if seed > 1 else ""), "bleu", value, 16)
        for system, of_seeds in values.items()
        for seed, value in enumerate(of_seeds, 1)
    ]
    # By one seed and over sentences all differ; by seeds, abd does not.
    found = report(*records, *(record(f"ted/{system}", "bleu p", 0.001, 16) for system in ("docflat-c", "abd")))
    title = "Table 2: all systems, TED"
    assert [shown(found, title, name)[0][1] for name in ("doc2doc", "docflat-c", "abd")] == [
        "20.10 ± 0.10 (n=3)",
        "21.07 ± 0.21† (n=3)",
        "20.20 ± 0.10 (n=3)",
    ]
    # One seed less of one of them: n is that of each, and two are too few to tell.
    fewer = report(*(one for one in records if one.job != "ted/docflat-c@3"))
    assert shown(fewer, title, "docflat-c")[0][1] == "21.15 ± 0.21 (n=2)"


def test_what_does_not_converge_has_less_than_half_the_bleu_of_doc2doc():
    jobs = {"doc2doc": 20.0, "doc2doc-irrelevant-local": 9.9, "docflat-c-irrelevant-both": 10.1, "docflat-d": 3.0}
    found = report(*(record(f"ted/{job}", "bleu", value, 16) for job, value in jobs.items()))
    title = "Table 5: context from elsewhere, TED"
    assert [
        shown(found, title, row)[0][1]
        for row in ("doc2doc, irrelevant local", "docflat-c, irrelevant both", "docflat-d, gold global gold local")
    ] == ["9.90 (does not converge)", "10.10", "3.00"]
    alone = report(record("ted/doc2doc-irrelevant-local", "bleu", 9.9, 16))
    assert shown(alone, title, "doc2doc, irrelevant local")[0][1] == "9.90"


def test_an_open_number_says_why():
    gaps = {("ted/doc2doc", "comet", 16): "no COMET checkpoint", ("ted/mbe", "bleu", 16): "ted/mbe failed: no memory"}
    found = Report({}, gaps)
    assert found.reasons()["no COMET checkpoint"] >= 1
    rows = list(csv.DictReader(io.StringIO(as_csv(found))))
    (of_mbe,) = (row for row in rows if (row["job"], row["metric"], row["window"]) == ("ted/mbe", "bleu", "16"))
    assert of_mbe["open"] == "ted/mbe failed: no memory"
    assert {row["open"] for row in rows if row["job"].startswith("news/")} == {"not chosen"}
    assert "ted/mbe failed: no memory" in page(found)
    assert "| mbe | 24.75 | not run: ted/mbe failed: no memory |  |" in markdown(found)


def test_a_table_of_another_dataset_is_shown_where_something_of_it_was_chosen():
    title = "Table 3: flat-batch attention by side, Europarl"
    assert title not in markdown(report())
    assert title not in markdown(Report({}, {("europarl/sent2sent", "bleu", 16): "no time yet"}))
    job = "europarl/docflat-c-encoder-only"
    assert title in markdown(Report({}, {(job, "bleu", 16): "no time yet"}))
    assert "| docflat-c, enc | 30.00 | not run | not run |" in markdown(report(record(job, "bleu", 30.0, 16)))


def test_exports_have_all_numbers_and_break_no_table():
    kept = replace(record("ted/doc2doc", "bleu", 20.125, 16), file="jobs/ted/doc2doc/test.16.de")
    found = report(kept, record("ted/docflat-c", "accuracy >3", 50.0))
    rows = list(csv.DictReader(io.StringIO(as_csv(found))))
    assert len(rows) == len(found.shown)
    row = next(row for row in rows if row["job"] == "ted/doc2doc" and row["metric"] == "bleu")
    assert (row["paper"], row["measured"], row["seeds"], row["files"]) == ("25.01", "20.125", "1", kept.file)
    assert float(row["difference"]) == pytest.approx(20.125 - 25.01)
    text = as_latex(found)
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") == len(found.tables)
    for line in text.splitlines():
        if line.endswith(r"\\") and "multicolumn" not in line:
            assert not re.search(r"(?<!\\)[%_#]", line), line
    assert r"doc2doc & 25.01 & 20.12 &" in text
    assert "| doc2doc | 25.01 | 20.12 | -4.89 |" in markdown(found)
    assert "<td>-4.89</td>" in page(found)


def test_differences_and_slowdowns():
    found = report(
        record("ted/doc2doc", "accuracy 2", 60.0),
        record("ted/mbe", "accuracy 2", 58.5),
        record("ted/mbe", "accuracy 3", 58.5),
        record("news/doc2doc", "updates/s", 10.0),
        record("news/docflat-c", "updates/s", 8.0),
        record("news/doc2doc", "seconds", 10.0, 16),
        record("news/docflat-c", "seconds", 11.5, 16),
    )
    distance = shown(found, "Figure: accuracy by antecedent distance, against doc2doc, TED", "mbe")
    assert distance[2:4] == [("+3.78", "-1.50"), ("+3.66", NOT_RUN)]
    title = "How much longer docflat-c takes than doc2doc, as a share"
    assert shown(found, title, "training") == [("+0.03", NOT_RUN), ("+0.03", "+0.25"), ("+0.03", NOT_RUN)]
    assert shown(found, title, "inference")[1] == ("+0.15", "+0.15")


class Balanced(HTMLParser):
    """Fails where elements are not closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = dict(attributes)
        self.links += [str(values["href"])] if tag == "a" else []
        self.ids |= {str(values["id"])} if "id" in values else set()
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Closes itself."""

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_text_of_others_is_escaped_and_every_link_leads_somewhere():
    evil = replace(ORIGIN, commit="<b>&", command="docflat reproduce '--out=<script>|x'", training='"><img src=x>')
    found = report(record("ted/doc2doc", "bleu", 20.0, 16, evil), record("ted/a <i>|\"'", "bleu", 1.0, 16, evil))
    text = page(found)
    parser = Balanced()
    parser.feed(text)
    assert parser.open == []
    assert "<script" not in text
    assert "<img" not in text
    assert "<i>" not in text
    assert {link.removeprefix("#") for link in parser.links} <= parser.ids
    assert not re.search(r"https?://|src=", text.replace("&quot;&gt;&lt;img src=x&gt;", ""))


def test_a_tiny_run_says_at_the_top_that_it_means_nothing():
    found = report(record("ted/doc2doc", "bleu", 20.0, 16, replace(ORIGIN, scale="tiny")))
    assert "The numbers mean nothing" in "\n".join(markdown(found).splitlines()[:4])
    assert "The numbers mean nothing" in page(found)
    assert "The numbers mean nothing" not in markdown(report(record("ted/doc2doc", "bleu", 20.0, 16)))


def test_numbers_name_their_run_commit_seed_data_and_command():
    other = replace(ORIGIN, commit="def5678", seed=2)
    text = markdown(report(record("ted/doc2doc", "bleu", 20.0, 16), record("ted/abd", "bleu", 20.0, 16, other)))
    assert "1. 1 numbers; commit abc1234" in text
    assert "2. 1 numbers; commit def5678" in text
    assert "ted/abd: run 2, seed 2, data 0123456789ab" in text
    assert "docflat train a.yaml" in text


def test_cells_know_what_they_need():
    job = Job("ted", "mbe")
    cell = Cell(Measure(job, "accuracy"), against=Measure(Job("ted", "doc2doc"), "accuracy"), how="difference")
    assert [measure.job.name for measure in cell.measures] == ["ted/mbe", "ted/doc2doc"]
    assert {cell.measure.job.dataset for cell in CELLS} == set(DATASETS)


@pytest.mark.parametrize(("options", "chosen"), [({}, "partial"), ({"decoder": False}, None)])
def test_a_global_context_is_chosen_where_a_model_has_one(
    options: dict[str, bool], chosen: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of docflat on the encoder's side alone, as in the table of sides, it would be refused."""
    subwords = Subwords.learn(["the cat sat on the mat."], vocabulary=280, index_tokens=4)
    sizes = ModelSizes(dim=16, heads=2, feed_forward=16, encoder_layers=1, decoder_layers=1)
    config = ModelConfig("docflat-c", sizes, options, SYSTEMS["docflat-c"].rows_of(RowSettings()))
    translator = Translator(on_torch(ModelFolder(config, subwords, config.build(subwords))))
    translator.decoder = SharedFirstPass(translator.model)
    asked: dict[str, Any] = {}
    monkeypatch.setattr(runs, "translate", lambda translator, test, path, **settings: asked.update(settings) or 1.0)
    monkeypatch.setattr(runs, "read_translation", lambda *_: None)

    run = SimpleNamespace(
        plan=SimpleNamespace(global_context="partial", beam=2),
        job=SimpleNamespace(first=True),
        dataset=SimpleNamespace(tests={"": None}),
        translation=lambda window, test: tmp_path,
        _translator=translator,
        _score=lambda *_: None,
    )
    runs.JobRun._translate(cast(Any, run), "", 16, timed=False)
    assert asked.get("global_context") == chosen
    assert translator.decoder.settings(**asked).mode == "two-pass"
