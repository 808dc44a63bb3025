"""The tables and figures of the paper: which of its numbers comes from which training, decoding and metric.

The paper has its analyses (tables 3 to 6 and the figures) on TED only. Each of them can be made on any dataset; then
there is nothing of the paper beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from docflat.evaluation.discourse import DISCOURSE
from docflat.reproduce.grid import (
    CONTROL,
    DATASETS,
    IN_COMPANY,
    WINDOW,
    Cell,
    Job,
    Measure,
    Table,
    TableRow,
    Where,
    look_up,
    paper,
)

LABELS = {"ted": "TED", "news": "News", "europarl": "Europarl"}
ANALYSED = "ted"  # what the paper's analyses are of
CONTEXT = 3  # the paper's local context, if nothing else is said
TRANSLATION = ("bleu", "comet")
METRICS = (*TRANSLATION, "accuracy")
HEADS = ("BLEU", "COMET", "accuracy, %")
PRONOUNS = ("er", "es", "sie")
DISTANCES = ("0", "1", "2", "3", ">3")
CONVERGED = 0.5  # least BLEU, to that of doc2doc, of what counts as converged
SPLITS = ("train", "valid", "test")


def label(dataset: str) -> str:
    return LABELS.get(dataset, dataset)


def sides(dataset: str, system: str, which: str) -> Job:
    """One side only, or both, of what docflat and abd have on each."""
    changes = {
        "enc+dec": ("stages.0.options.encoder=true", "stages.0.options.decoder=true"),
        "enc": ("stages.0.options.encoder=true", "stages.0.options.decoder=false"),
        "dec": ("stages.0.options.encoder=false", "stages.0.options.decoder=true"),
    }
    names = {"enc+dec": "both-sides", "enc": "encoder-only", "dec": "decoder-only"}
    if which == ("enc" if system == "abd" else "enc+dec"):  # as its recipe has it
        return Job(dataset, system)
    return Job(dataset, system, names[which], changes[which])


def shuffled(dataset: str, system: str, kind: str) -> Job:
    """Trained with context from elsewhere."""
    local = ("stages.0.rows.local_context=irrelevant",)
    around = (
        "stages.0.rows.document_mask=false",
        "stages.0.rows.global_context=irrelevant",
        "stages.0.rows.window=0",  # that counts rows of a document; these are none
        # All rows of a batch see each other: the paper's batches hold about as many as a window does.
        "every_stage.batch_tokens=4096",
        "every_stage.accumulate=8",
    )
    variants: dict[str, tuple[str, tuple[str, ...]]] = {
        "irrelevant_local": ("irrelevant-local", local),
        "irrelevant_global_gold_local": ("irrelevant-global", around),
        "irrelevant_both": ("irrelevant-both", (*around, *local)),
    }
    if kind not in variants:
        return Job(dataset, system)
    return Job(dataset, system, *variants[kind])


def with_context(dataset: str, system: str, size: int) -> Job:
    if size == CONTEXT:
        return Job(dataset, system)
    return Job(dataset, system, f"context-{size}", (f"stages.0.rows.context={size}",))


def scores(job: Job, path: Where = (), metrics: Iterable[str] = METRICS) -> tuple[Cell, ...]:
    """A cell for each metric; path: of the paper's numbers, if it has them. Where it has words instead of numbers, all
    of the cells stand for those.
    """
    in_paper = look_up(path) if path else None
    cells = []
    for metric in metrics:
        window = WINDOW if metric in TRANSLATION else 0
        where: Where = path if not path or isinstance(in_paper, str) else (*path, metric)
        dagger = bool(path) and path[0] == "main_table2" and _dagger(job, metric)
        cells.append(Cell(Measure(job, metric, window), where, dagger=dagger))
    return tuple(cells)


def _dagger(job: Job, metric: str) -> bool:
    return metric in paper()["significant_vs_doc2doc_p05"].get(job.system, {}).get(job.dataset, ())


def tables(datasets: Sequence[str] = ()) -> list[Table]:
    """All tables, in the order of the paper; datasets: also those that the paper has not, or does not analyse."""
    others = [dataset for dataset in dict.fromkeys(datasets) if dataset not in DATASETS]
    every = (*DATASETS, *others)
    analysed = [ANALYSED, *(dataset for dataset in dict.fromkeys(datasets) if dataset != ANALYSED)]
    return [
        data_table(every),
        *map(main_table, every),
        document_table(every),
        company_table(every),
        *map(discourse_table, every),
        *(elsewhere_table(dataset) for dataset in dict.fromkeys(("europarl", *datasets))),
        *speed_tables(every),
        *(table for dataset in analysed for table in analyses(dataset)),
        *([] if "europarl" in analysed else [batch_figure("europarl", "bleu")]),
    ]


def analyses(dataset: str) -> list[Table]:
    return [
        fba_table(dataset),
        gate_table(dataset),
        shuffling_table(dataset),
        pronoun_table(dataset),
        distance_figure(dataset),
        *(context_figure(dataset, metric) for metric in TRANSLATION),
        *(batch_figure(dataset, metric) for metric in TRANSLATION),
        abd_table(dataset),
    ]


def analysis(dataset: str, *path: str | int) -> Where:
    """Where the paper has an analysis of a dataset."""
    return path if dataset == ANALYSED else ()


def main_systems() -> dict[str, str]:
    """The systems of table 2, and the block of paper.json that each stands in."""
    return {system: block for block, systems in paper()["main_table2"].items() for system in systems}


def all_systems() -> list[str]:
    """Also the third gate, which the paper has on TED only, in table 4, and our control."""
    return [*main_systems(), "docflat-i", CONTROL]


def data_table(datasets: Sequence[str]) -> Table:
    rows = []
    for dataset in datasets:
        cells = []
        for split in SPLITS:
            for number, what in enumerate(("sentences", "documents")):
                measure = Measure(Job(dataset, "sent2sent"), f"{split} {what}")
                cells.append(Cell(measure, ("data_table1", dataset, split, number) if dataset in DATASETS else ()))
        rows.append(TableRow(label(dataset), tuple(cells)))
    columns = tuple(f"{split}, {what}" for split in SPLITS for what in ("sentences", "documents"))
    note = "The paper rounds; how its test sets were counted it does not say (docs/systems.md)."
    return Table("table1", "Table 1: the data", columns, tuple(rows), note=note)


def main_table(dataset: str) -> Table:
    rows = []
    for system in all_systems():
        block = main_systems().get(system)
        path: Where = ("main_table2", block, system, dataset) if block and dataset in DATASETS else ()
        rows.append(TableRow(system, scores(Job(dataset, system), path)))
    note = (
        "doctransformer, han, selective and hybrid: the paper reports the figures of others. It has docflat-i in"
        f" table 4 only. {CONTROL} is ours: the sentence model trained on as long as the others, without context."
    )
    return Table("table2", f"Table 2: all systems, {label(dataset)}", HEADS, tuple(rows), note=note)


def document_table(datasets: Sequence[str]) -> Table:
    rows = tuple(
        TableRow(system, tuple(Cell(Measure(Job(dataset, system), "dbleu", WINDOW)) for dataset in datasets))
        for system in all_systems()
    )
    note = "BLEU over whole documents, each joined to one line; the paper does not report it."
    return Table("table2", "Document BLEU", tuple(map(label, datasets)), rows, note=note)


def company_table(datasets: Sequence[str]) -> Table:
    """The paper's own way to measure accuracies: with whatever else is in the batch."""
    rows = []
    for system in ("doc2doc", "mbe", "abd", "docflat-c", "docflat-d", "docflat-i"):
        cells: list[Cell] = []
        for dataset in datasets:
            block = main_systems().get(system)
            path: Where = ("main_table2", block, system, dataset, "accuracy") if block and dataset in DATASETS else ()
            cells += [Cell(Measure(Job(dataset, system), metric), path) for metric in ("accuracy", IN_COMPANY)]
        rows.append(TableRow(system, tuple(cells)))
    columns = tuple(f"{label(dataset)}, {where}" for dataset in datasets for where in ("alone", "in company"))
    note = (
        f"Accuracy in %, each example alone with its own context, and with {WINDOW - 1} others, drawn at random, before"
        " it in its batch: irrelevant global context, as the paper measured it."
    )
    return Table("company", "Contrastive accuracy with irrelevant global context", columns, tuple(rows), note=note)


def discourse_table(dataset: str) -> Table:
    rows = tuple(
        TableRow(system, tuple(Cell(Measure(Job(dataset, system), metric, WINDOW)) for metric in DISCOURSE))
        for system in all_systems()
    )
    note = (
        "F1 in % of German pronouns (er, sie, es and their cases), forms of address, and nouns that the text has said"
        " before, to those of the reference (docs/evaluation.md); the paper does not report it."
    )
    return Table("discourse", f"What documents decide, {label(dataset)}", DISCOURSE, rows, note=note)


def elsewhere_table(dataset: str) -> Table:
    """What a dataset teaches for other texts."""
    others = [other for other in DATASETS if other != dataset]
    rows = tuple(
        TableRow(system, tuple(Cell(Measure(Job(dataset, system), f"bleu on {test}", WINDOW)) for test in others))
        for system in all_systems()
    )
    columns = tuple(f"{label(test)}, BLEU" for test in others)
    note = f"The systems trained on {label(dataset)}, on the test sets of the others; the paper does not report it."
    return Table("elsewhere", f"Trained on {label(dataset)}, tested elsewhere", columns, rows, note=note)


def speed_tables(datasets: Sequence[str]) -> list[Table]:
    rates = paper()["ups_table2"]
    rows = []
    for system in all_systems():
        path: Where = ("ups_table2", system) if system in rates else ()
        training = tuple(Cell(Measure(Job(dataset, system), "updates/s"), path) for dataset in datasets)
        decoding = tuple(Cell(Measure(Job(dataset, system), "seconds", WINDOW)) for dataset in datasets)
        rows.append(TableRow(system, (*training, *decoding)))
    columns = tuple(f"{what}, {label(dataset)}" for what in ("updates/s", "test set, s") for dataset in datasets)
    note = (
        "Updates a second of the last stage, without the time that validation and compiling take; the paper's on one"
        " A40, on a dataset that it does not name. Seconds: the second pass over the test set; sent2sent's only one."
    )
    slower = []
    for name, key, metric, window in (
        ("training", "training_slowdown_vs_doc2doc", "updates/s", 0),
        ("inference", "inference_slowdown_vs_doc2doc", "seconds", WINDOW),
    ):
        cells = []
        for dataset in datasets:
            mine, base = (Measure(Job(dataset, system), metric, window) for system in ("docflat-c", "doc2doc"))
            cells.append(Cell(mine, (key, "docflat"), base, "slowdown"))
        slower.append(TableRow(name, tuple(cells)))
    title = "How much longer docflat-c takes than doc2doc, as a share"
    return [
        Table("speed", "Speed", columns, tuple(rows), note=note),
        Table("speed", title, tuple(map(label, datasets)), tuple(slower)),
    ]


def _side_rows(dataset: str, system: str, block: str) -> list[TableRow]:
    return [
        TableRow(f"{system}, {side}", scores(sides(dataset, system, side), analysis(dataset, block, system, side)))
        for side in look_up((block, system))
    ]


def fba_table(dataset: str) -> Table:
    block = "fba_sides_table3_ted"
    rows = [TableRow("doc2doc", scores(Job(dataset, "doc2doc"), analysis(dataset, block, "doc2doc")))]
    rows += [row for system in ("docflat-c", "docflat-d") for row in _side_rows(dataset, system, block)]
    return Table("table3", f"Table 3: flat-batch attention by side, {label(dataset)}", HEADS, tuple(rows))


def gate_table(dataset: str) -> Table:
    block = "gate_table4_ted"
    rows = [
        TableRow(system, scores(Job(dataset, system), analysis(dataset, block, system))) for system in paper()[block]
    ]
    return Table("table4", f"Table 4: gates, {label(dataset)}", HEADS, tuple(rows))


def shuffling_table(dataset: str) -> Table:
    block = "shuffling_table5_ted"
    rows = [
        TableRow(
            f"{system}, {kind.replace('_', ' ')}",
            scores(shuffled(dataset, system, kind), analysis(dataset, block, system, kind)),
        )
        for system, kinds in paper()[block].items()
        for kind in kinds
    ]
    note = (
        "Gold or irrelevant context in training; translation is by the document. The paper does not say what fails to"
        f" converge; here it is a training whose BLEU is below {CONVERGED:g} times that of doc2doc with gold context,"
        " or whose loss is no number, which ends it with an error."
    )
    return Table("table5", f"Table 5: context from elsewhere, {label(dataset)}", HEADS, tuple(rows), note=note)


def pronoun_table(dataset: str) -> Table:
    block = "pronouns_table6_ted"
    rows = []
    for system in paper()[block]:
        job = Job(dataset, system)
        cells = [Cell(Measure(job, "accuracy"), analysis(dataset, block, system, "avg"))]
        cells += [Cell(Measure(job, f"accuracy {word}"), analysis(dataset, block, system, word)) for word in PRONOUNS]
        rows.append(TableRow(system, tuple(cells)))
    title = f"Table 6: accuracy by pronoun, {label(dataset)}, %"
    return Table("table6", title, ("all", *PRONOUNS), tuple(rows))


def distance_figure(dataset: str) -> Table:
    block = "antecedent_distance_fig_ted_delta_vs_doc2doc"
    rows = []
    for system in paper()[block]:
        cells = []
        for distance in DISTANCES:
            mine, base = (Measure(Job(dataset, name), f"accuracy {distance}") for name in (system, "doc2doc"))
            cells.append(Cell(mine, analysis(dataset, block, system, distance), base, "difference"))
        rows.append(TableRow(system, tuple(cells)))
    axes = ("antecedent distance, sentences", "accuracy, points more than doc2doc")
    title = f"Figure: accuracy by antecedent distance, against doc2doc, {label(dataset)}"
    return Table("distance", title, DISTANCES, tuple(rows), "bars", axes)


def context_figure(dataset: str, metric: str) -> Table:
    def measure(system: str, size: int) -> Measure:
        return Measure(with_context(dataset, system, size), metric, WINDOW)

    return _size_figure(dataset, metric, "context", "local context size", "local_context_size_fig_ted", measure)


def batch_figure(dataset: str, metric: str) -> Table:
    def measure(system: str, size: int) -> Measure:
        return Measure(Job(dataset, system), metric, size)

    return _size_figure(dataset, metric, "batch", "inference batch size", "inference_batch_size_fig_ted", measure)


def _size_figure(
    dataset: str, metric: str, name: str, what: str, block: str, measure: Callable[[str, int], Measure]
) -> Table:
    """Scores by a size, a curve a system."""
    sizes = paper()[block]["sizes"]
    rows = []
    for system in [system for system in paper()[block] if system != "sizes"]:
        cells = [
            Cell(measure(system, size), analysis(dataset, block, system, metric, n)) for n, size in enumerate(sizes)
        ]
        rows.append(TableRow(system, tuple(cells)))
    title, axes = f"Figure: {metric.upper()} by {what}, {label(dataset)}", (f"{what}, sentences", metric.upper())
    return Table(name, title, tuple(map(str, sizes)), tuple(rows), "lines", axes)


def abd_table(dataset: str) -> Table:
    block = "abd_sides_ted"
    rows = [TableRow("doc2doc", scores(Job(dataset, "doc2doc"), analysis(dataset, block, "doc2doc")))]
    title = f"Appendix: attention between rows (ABD) by side, {label(dataset)}"
    return Table("abd", title, HEADS, (*rows, *_side_rows(dataset, "abd", block)))


def chosen(
    names: Sequence[str], systems: Sequence[str], datasets: Sequence[str], seeds: Sequence[int] = (1,)
) -> list[Measure]:
    """What has to be measured for some tables, systems and datasets; none given: all that the paper has. Each once."""
    wanted: dict[Measure, None] = {}
    for table in tables(datasets):
        if names and table.name not in names:
            continue
        for cell in table.cells:
            job = cell.measure.job
            # The data of table 1 are no system's.
            of_system = not systems or job.system in systems or table.name == "table1"
            if of_system and (not datasets or job.dataset in datasets):
                wanted.update(dict.fromkeys(cell.measures))
    sizes = {f"{split} {what}" for split in SPLITS for what in ("sentences", "documents")}
    return [measure.of_seed(seed) for seed in seeds for measure in wanted if seed == 1 or measure.metric not in sizes]
