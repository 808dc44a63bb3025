"""`docflat reproduce`: the paper's tables and figures, measured."""

from __future__ import annotations

import re
import shlex
import subprocess
import time
from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from docflat.cli.arguments import add_json, names, whole
from docflat.support.console import print_json, print_rows, say, warn
from docflat.support.errors import InputError
from docflat.support.strict_yaml import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from docflat.reproduce.data import Dataset
    from docflat.reproduce.grid import Measure
    from docflat.reproduce.runs import Plan

ACTIONS = ("plan", "run", "report")


def arguments(parser: ArgumentParser) -> None:
    action = (
        "plan: list the jobs with what they cost; run: run them (the default); report: write the report again;"
        " if the --data are here, it scores stored translations anew and runs significance tests that a budget left out"
    )
    parser.add_argument("action", nargs="?", metavar="plan|run|report", help=action)
    setting = (
        "a setting instead of the recipes', for every training, such as every_stage.dropout=0.2; I.max_steps=6000 is"
        " for the sentence models (stage I) only, II.max_steps=5000 for what starts from them"
    )
    parser.add_argument("settings", nargs="*", metavar="key=value", help=setting)
    out = "models, results.jsonl and the report; what is there is not run again (default: %(default)s)"
    parser.add_argument("--out", type=Path, default=Path("runs/reproduce"), metavar="DIR", help=out)
    data = "folders ted, news and europarl of `docflat prepare`, each with test.en and test.de (default: %(default)s)"
    parser.add_argument("--data", type=Path, default=Path("prepared"), metavar="DIR", help=data)
    recipes = "a folder of recipes; one replaces docflat's recipe of the same name"
    parser.add_argument("--recipes", type=Path, metavar="DIR", help=recipes)
    select = (
        "which of table1 to table6, company, discourse, elsewhere, distance, context, batch, abd, speed (default: all)"
    )
    parser.add_argument("--select", type=names, default=[], metavar="A,B", help=select)
    parser.add_argument(
        "--systems", type=names, default=[], metavar="A,B", help="measure only these systems (default: all)"
    )
    datasets = "measure all tables on these folders of --data, such as europarl (default: as in the paper)"
    parser.add_argument("--datasets", type=names, default=[], metavar="A,B", help=datasets)
    languages = "the languages; the test files are called test.SOURCE and test.TARGET (default: en de)"
    parser.add_argument("--languages", nargs=2, default=["en", "de"], metavar=("SOURCE", "TARGET"), help=languages)
    often = (
        "N: train everything with seeds 1 to N; N-M: only with these seeds; the report has mean, standard deviation"
        " and tests over seeds (default: 1)"
    )
    parser.add_argument("--seeds", type=seeds, default=Seeds(1, 1), metavar="N|N-M", help=often)
    budget = "stop after this time, such as 25m or 2h; the next call goes on from there (default: no end)"
    parser.add_argument("--budget", type=duration, metavar="TIME", help=budget)
    scale = "tiny: small made-up data and models on a CPU, to test that all of it runs"
    parser.add_argument("--scale", choices=("full", "tiny"), default="full", help=scale)
    jobs = "trainings at a time (default: as many as there are GPUs, or 1); with more, no speed is measured"
    parser.add_argument("--jobs", type=whole(1), metavar="N", help=jobs)
    global_context = "as docflat translate --help says; here the default is partial, as in the paper"
    parser.add_argument("--global-context", choices=("partial", "first-pass"), default="partial", help=global_context)
    parser.add_argument("--beam", type=whole(1), default=5, metavar="N", help="hypotheses a sentence (default: 5)")
    parser.add_argument("--comet-model", metavar="NAME", help="a COMET checkpoint (default: none, and no COMET)")
    parser.add_argument(
        "--commit", metavar="ID", help="note this commit of the code with the results (default: what git says)"
    )
    add_json(parser)
    parser.add_argument("--worker", action="store_true", help=SUPPRESS)
    parser.add_argument("--shared", action="store_true", help=SUPPRESS)
    parser.add_argument("--until", type=float, help=SUPPRESS)  # of time.time(): when the budget is over


def duration(text: str) -> float:
    """In seconds: 90s, 25m, 2h."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text)
    if not match or not float(match[1]):
        raise ArgumentTypeError(f"expected a time such as 90s, 25m or 2h, found {text!r}")
    return float(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2]]


class Seeds(NamedTuple):
    first: int
    last: int

    def __str__(self) -> str:
        return str(self.last) if self.first == 1 else f"{self.first}-{self.last}"


def seeds(text: str) -> Seeds:
    """How many there are, from 1 on, or which: 3 is 1-3."""
    match = re.fullmatch(r"(?:([0-9]{1,9})-)?([0-9]{1,9})", text)
    if not match or not 1 <= int(match[1] or 1) <= int(match[2]):
        raise ArgumentTypeError(f"expected a number of at least 1, or seeds such as 2-3, found {text[:50]!r}")
    return Seeds(int(match[1] or 1), int(match[2]))


def run(arguments: Namespace) -> None:
    if arguments.action not in ACTIONS:  # no action: run, and the first word is a setting
        arguments.settings = [*([arguments.action] if arguments.action else []), *arguments.settings]
        arguments.action = "run"
    measures = _measures(arguments)
    if arguments.action == "report":
        return _report_again(arguments)
    from docflat.reproduce import workers
    from docflat.reproduce.runs import check

    try:
        arguments.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be made: {error.strerror}", arguments.out) from None
    if arguments.budget and not arguments.until:
        arguments.until = time.time() + arguments.budget
    on_cpu = arguments.scale == "tiny" or "device=cpu" in arguments.settings
    alone = 1 if on_cpu else workers.default_number()  # as many do not get in each other's way
    number = arguments.jobs or alone
    arguments.shared = arguments.shared or number > alone
    plan = _plan(arguments, measures)
    if arguments.worker:
        return workers.work(plan)
    check(plan, workers.all_jobs(plan))
    if arguments.action == "plan":
        return _list(plan, arguments.json)
    workers.forget_failures(plan)
    ended = 0
    if number == 1:
        workers.work(plan)
    else:
        arguments.commit = plan.commit
        hidden = ["--worker", *(["--shared"] if arguments.shared else [])]
        hidden += [f"--until={arguments.until}"] if arguments.until else []
        ended = workers.start_workers([*_words(arguments), *hidden], number)
    if not arguments.budget:  # they take minutes, and can be made on any machine
        workers.compare_all(plan)
    _note_open(plan)
    _report(arguments.out)
    failed = workers.failures(plan)
    if failed or ended:
        raise InputError("; ".join(f"{job} failed: {why}" for job, why in failed.items()) or f"{ended} workers failed")
    return None


def _report_again(arguments: Namespace) -> None:
    """With the tests of significance that are still missing, if the data are here."""
    from docflat.reproduce import workers
    from docflat.reproduce.results import read_results
    from docflat.reproduce.tables import chosen

    results = read_results(arguments.out / "results.jsonl")
    if not results:
        raise InputError("there is no results.jsonl here, or nothing in it", arguments.out)
    names = dict.fromkeys(job.partition("/")[0] for job, _, _ in results)
    datasets = [name for name in names if (arguments.data / name / "train").is_dir()]
    if datasets and arguments.scale == "full":
        trained = sorted({int(job.partition("@")[2] or 1) for job, _, _ in results})
        workers.compare_all(_plan(arguments, chosen((), (), datasets, trained), quiet=True))
    _report(arguments.out)


def _measures(arguments: Namespace) -> list[Measure]:
    from docflat.reproduce.grid import DATASETS
    from docflat.reproduce.tables import chosen, tables

    folders = [path.name for path in sorted(arguments.data.glob("*")) if (path / "train").is_dir()]
    known = {
        "select": list(dict.fromkeys(table.name for table in tables())),
        "systems": list(dict.fromkeys(cell.measure.job.system for table in tables() for cell in table.cells)),
        "datasets": list(dict.fromkeys([*DATASETS, *folders])),
    }
    for option, all_ in known.items():
        for name in getattr(arguments, option):
            if name not in all_:
                raise InputError(f"--{option}: unknown {name!r}{nearest(name, all_)}; there are {', '.join(all_)}")
    if arguments.seeds != (1, 1) and any(setting.startswith("seed=") for setting in arguments.settings):
        raise InputError("seed=N is for one seed; with --seeds they are 1, 2, 3 and so on")
    trained = range(arguments.seeds.first, arguments.seeds.last + 1)
    return chosen(arguments.select, arguments.systems, arguments.datasets, trained)


def _plan(arguments: Namespace, measures: Sequence[Measure], quiet: bool = False) -> Plan:
    from docflat.reproduce import tiny
    from docflat.reproduce.data import Dataset
    from docflat.reproduce.runs import Plan

    if arguments.comet_model:
        from docflat.evaluation.metrics import check_names

        check_names(["comet"], with_source=True)
    settings: list[str] = []
    data = arguments.data
    if arguments.scale == "tiny":
        import torch

        # At this size threads spend more time waiting for each other than they save.
        torch.set_num_threads(1)
        data = arguments.out / "data"
        if not arguments.worker:
            tiny.make_data(data)
        settings += tiny.SETTINGS
    languages = (arguments.languages[0], arguments.languages[1])
    all_names = dict.fromkeys(measure.job.dataset for measure in measures)
    by_name = {name: Dataset.find(data, name, languages) for name in all_names}
    datasets = {name: dataset for name, dataset in by_name.items() if dataset is not None}
    if not (arguments.worker or quiet):
        _say_gaps(measures, datasets, data, arguments.comet_model, arguments.shared)
    if not datasets:
        raise InputError("none of the datasets is here (docs/reproduce.md says what is expected)", data)
    return Plan(
        arguments.out,
        datasets,
        list(measures),
        arguments.recipes,
        (*settings, *arguments.settings),
        arguments.global_context,
        arguments.beam,
        arguments.comet_model,
        arguments.commit or _commit(),
        shlex.join(["docflat", *_words(arguments)]),
        arguments.scale,
        arguments.shared,
        languages,
        arguments.until,
    )


def _say_gaps(
    measures: Sequence[Measure], datasets: Mapping[str, Dataset], data: Path, comet: str | None, shared: bool
) -> None:
    from docflat.reproduce.grid import set_of

    for name in dict.fromkeys(measure.job.dataset for measure in measures):
        if name not in datasets:
            warn(f"{name} is not run: there is no {data / name}")
        elif datasets[name].contrastive is None:
            warn(f"{name}: accuracies are not run: there is no contrapro.jsonl in {data / name} or {data}")
    for test in sorted({set_of(measure.metric) for measure in measures} - {""}):
        if any(test not in dataset.tests for name, dataset in datasets.items() if name != test):
            warn(f"nothing is tested on {test}: there is no test.en and test.de in {data / test}")
    if shared and any(measure.metric in ("seconds", "updates/s") for measure in measures):
        warn("speed is not measured: there are more --jobs than GPUs")
    if comet is None and any(measure.metric == "comet" for measure in measures):
        warn("COMET is not run: --comet-model names no checkpoint")


def _list(plan: Plan, as_json: bool) -> None:
    """The jobs of a plan, in the order in which they are run."""
    from dataclasses import asdict

    from docflat.reproduce.gaps import duration as said
    from docflat.reproduce.gaps import job_lines

    lines, seconds = job_lines(plan)
    rows = [asdict(line) for line in lines]
    if as_json:
        return print_json({"seconds": round(seconds), "jobs": rows})
    print_rows(rows)
    say("", f"{len(rows)} jobs; what is left takes about {said(seconds)} on this machine, one after the other")
    _note_open(plan)
    return None


def _note_open(plan: Plan) -> None:
    from docflat.reproduce.gaps import write_open

    write_open(plan)


def _words(arguments: Namespace) -> list[str]:
    """The command line, with what it leaves to defaults; how many work on it, and how long, makes no difference."""
    words = ["reproduce", "run"]
    without = ("action", "settings", "jobs", "worker", "shared", "budget", "until", "json", "languages")
    for name, value in vars(arguments).items():
        if name not in without and value not in (None, [], False):
            words.append(f"--{name.replace('_', '-')}={','.join(value) if isinstance(value, list) else value}")
    if arguments.languages != ["en", "de"]:
        words += ["--languages", *arguments.languages]
    return [*words, *arguments.settings]


def _commit() -> str:
    """Of the code that runs; with a plus where it was changed since."""
    from docflat import __version__

    folder = Path(__file__).parents[1]
    try:
        answers = [
            subprocess.run(
                ["git", "-C", str(folder), *words], capture_output=True, text=True, check=True
            ).stdout.strip()
            for words in (["rev-parse", "--short", "HEAD"], ["status", "--porcelain", "--untracked-files=no", "."])
        ]
    except (OSError, subprocess.CalledProcessError):
        return f"docflat {__version__}, no commit known"
    return answers[0] + ("+" if answers[1] else "")


def _report(out: Path) -> None:
    from docflat.reproduce.report import write_report
    from docflat.reproduce.results import claim

    try:
        with claim(out / "locks" / "report", wait=True):  # on several machines, all come to their end at once
            paths = write_report(out)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", out) from None
    say(*paths)
