"""`docflat bulk`: any number of documents, on all cores of a machine or on many machines."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path
from typing import Any

from docflat.cli.arguments import add_boundaries, add_machine, add_model_folder, add_number, names, whole
from docflat.cli.translate_files import read_glossary, read_terms
from docflat.support.console import complain, report
from docflat.support.errors import InputError, SomeFailed
from docflat.weights.shipped import MODELS, model_folder

_DECODING = ("mode", "tolerance", "global_context", "beam", "length_penalty", "window", "batch_size")


def arguments(parser: ArgumentParser) -> None:
    what = (
        "JSONL, TSV or text, a sentence a line (may be .gz, .xz, .bz2, .zst); Parquet; a Hugging Face dataset on disk; "
        "a file of any format of docflat translate; or a folder of such"
    )
    parser.add_argument("inputs", nargs="+", type=Path, metavar="IN", help=what)
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="OUT", help="folder of the plan and the parts")
    _add_documents(parser)
    _add_work(parser)
    add_model_folder(parser)
    _add_decoding(parser)
    add_machine(parser)


def _add_documents(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("documents")
    key = "field or column with a text or a list of sentences (default: source or text)"
    group.add_argument("--key", metavar="NAME", help=key)
    group.add_argument(
        "--target-key", default="target", metavar="NAME", help="field or column of the translation (default: target)"
    )
    group.add_argument("--lines", action="store_true", help="every text file has a sentence a line")
    add_boundaries(parser)
    group.add_argument("--docids", type=Path, metavar="FILE", help="a docid for each line of the input")
    group.add_argument("--starts", type=Path, metavar="FILE", help="the lines of the input that start documents")
    group.add_argument(
        "--source-language",
        default="en",
        metavar="CODE",
        help="split sentences by the rules of this language (default: en)",
    )
    group.add_argument("--keys", type=names, metavar="A,B", help="of JSON and YAML files: what to translate")
    group.add_argument(
        "--columns", type=names, metavar="A,B", help="of .csv files: which columns to translate, by name or number"
    )
    group.add_argument("--target-language", metavar="CODE", help="mark HTML, PO and XLIFF files with this language")
    group.add_argument(
        "--keep-terms", type=Path, metavar="FILE", help="a file of terms to leave as they are, one a line"
    )
    group.add_argument(
        "--glossary", type=Path, metavar="FILE", help="a file of terms; each line is a term, a tab and its translation"
    )


def _add_work(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("work")
    engine = "local: processes of this machine (default); ray: Ray Data, here or on a cluster"
    group.add_argument("--engine", choices=("local", "ray"), default="local", help=engine)
    group.add_argument(
        "--address", metavar="HOST:PORT", help="address of a Ray cluster; auto: the cluster that runs on this machine"
    )
    workers = "processes or actors (default: what the cores, or the GPUs of Ray, are enough for)"
    group.add_argument("--workers", type=whole(1), metavar="N", help=workers)
    slice_ = "translate only every N-th shard, from the I-th on; for arrays of jobs that share OUT"
    group.add_argument("--slice", type=_slice, default=(1, 1), metavar="I/N", help=slice_)
    add_number(
        group, "--shard-size", 256 << 10, "characters of a shard; a kill loses one shard a worker at most", least=1
    )
    group.add_argument("--plan-only", action="store_true", help="make the plan and stop")
    group.add_argument("--force", action="store_true", help="remove what an earlier run has left in OUT")
    group.add_argument("--retry-failed", action="store_true", help="translate shards with failures again")


def _add_decoding(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("translation, as docflat translate --help explains")
    modes = ("auto", "edit", "two-pass", "sequential", "stream", "sentence")
    group.add_argument("--mode", choices=modes, default="auto", help="default: what suits the model")
    group.add_argument("--tolerance", type=float, metavar="X")
    group.add_argument("--global-context", choices=("partial", "first-pass"))
    group.add_argument("--first-pass", type=model_folder, metavar="MODEL")
    group.add_argument("--beam", type=whole(1), metavar="N", help="default: 5")
    group.add_argument("--length-penalty", type=float, metavar="X", help="default: 1")
    group.add_argument("--window", type=whole(1), metavar="N")
    group.add_argument("--batch-size", type=whole(1), metavar="N", help="default: as suits the engine")
    group.add_argument("--no-shortlist", action="store_true")
    group.add_argument("--no-repairs", action="store_true")
    engine = "what computes a model's numbers (default: onnx where it can, else torch); --engine is where work runs"
    group.add_argument("--model-engine", choices=("auto", "onnx", "torch"), default="auto", help=engine)


def _slice(text: str) -> tuple[int, int]:
    from docflat.bulk.run import read_slice

    try:
        return read_slice(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


def run(arguments: Namespace) -> None:
    from docflat.bulk import run as bulk

    if arguments.address and arguments.engine != "ray":
        raise InputError("--address is of a Ray cluster: say --engine ray too")
    if arguments.plan_only and arguments.slice != (1, 1):
        raise InputError("a plan has no slices: --plan-only does not go with --slice")
    if arguments.force and arguments.slice != (1, 1):
        raise InputError("a slice must not remove what the others do: --force does not go with --slice")
    settings = _settings(arguments)
    plan = bulk.prepare(arguments.inputs, arguments.out.resolve(), settings, arguments.force, report)
    if arguments.plan_only:
        return
    how = bulk.How(
        engine=arguments.engine,
        workers=arguments.workers,
        threads=arguments.threads or 1,
        address=arguments.address,
        slice=arguments.slice,
        retry_failed=arguments.retry_failed,
    )
    outcome = bulk.run(plan, settings, how)
    totals = outcome.totals
    report(
        f"{totals.documents:,} of {plan.documents:,} documents, {totals.failed:,} failed, "
        f"{totals.sentences:,} sentences, {totals.tokens:,} tokens -> {plan.out}"
    )
    for shard in outcome.lost:
        complain(f"{shard.name} is not done: process after process ended over it")
    if outcome.lost or totals.failed:
        message = f"{totals.failed} documents and {len(outcome.lost)} shards have no translation"
        raise SomeFailed(f"{message}; failed.jsonl says which documents, and why", plan.out)


def _settings(arguments: Namespace) -> Any:
    from docflat.bulk.settings import Settings

    decoding = {name: getattr(arguments, name) for name in _DECODING if getattr(arguments, name) is not None}
    if arguments.no_shortlist:
        decoding["shortlist"] = False
    options = {"keys": arguments.keys, "columns": arguments.columns, "target_language": arguments.target_language}
    return Settings(
        model=_portable(arguments.model),
        first_pass=None if arguments.first_pass is None else _portable(arguments.first_pass),
        device=arguments.device,
        precision=arguments.precision,
        model_engine=arguments.model_engine,
        repairs=not arguments.no_repairs,
        decoding=decoding,
        key=arguments.key,
        target_key=arguments.target_key,
        language=arguments.source_language,
        boundaries=arguments.boundaries,
        docids=_absolute(arguments.docids),
        starts=_absolute(arguments.starts),
        lines=arguments.lines,
        options={name: value for name, value in options.items() if value},
        terms=tuple(read_terms(arguments.keep_terms)) if arguments.keep_terms else (),
        glossary=read_glossary(arguments.glossary) if arguments.glossary else {},
        shard_size=arguments.shard_size,
    )


def _absolute(path: Path | None) -> str | None:
    return None if path is None else str(path.resolve())


def _portable(model: Path) -> str:
    """A model that comes with docflat by its name: it may lie elsewhere on another machine."""
    return model.name if model.parent == MODELS else str(model.resolve())
