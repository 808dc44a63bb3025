"""The tables and figures of the paper: which of its numbers comes from which training, decoding and metric."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from docflat.reproduce.grid import DATASETS, WINDOW, Cell, Job, Measure, Row, Table, Where, look_up, paper

LABELS = {"ted": "TED", "news": "News", "europarl": "Europarl"}
CONTEXT = 3  # the paper's local context, if nothing else is said
TRANSLATION = ("bleu", "comet")
METRICS = (*TRANSLATION, "accuracy")
HEADS = ("BLEU", "COMET", "accuracy, %")
PRONOUNS = ("er", "es", "sie")
DISTANCES = ("0", "1", "2", "3", ">3")
SPLITS = ("train", "valid", "test")


def usual(dataset: str, system: str) -> Job:
    return Job(dataset, system)


def sides(system: str, which: str) -> Job:
    """One side only, or both, of what docflat and abd have on each."""
    changes = {
        "enc+dec": ("stages.0.options.encoder=true", "stages.0.options.decoder=true"),
        "enc": ("stages.0.options.encoder=true", "stages.0.options.decoder=false"),
        "dec": ("stages.0.options.encoder=false", "stages.0.options.decoder=true"),
    }
    names = {"enc+dec": "both-sides", "enc": "encoder-only", "dec": "decoder-only"}
    if which == ("enc" if system == "abd" else "enc+dec"):  # as its recipe has it
        return usual("ted", system)
    return Job("ted", system, names[which], changes[which])


def shuffled(system: str, kind: str) -> Job:
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
        return usual("ted", system)
    return Job("ted", system, *variants[kind])


def with_context(system: str, size: int) -> Job:
    if size == CONTEXT:
        return usual("ted", system)
    return Job("ted", system, f"context-{size}", (f"stages.0.rows.context={size}",))


def scores(job: Job, path: Where, metrics: Iterable[str] = METRICS) -> tuple[Cell, ...]:
    """A cell for each metric; where the paper has words instead of numbers, all of them stand for those."""
    found = look_up(path)
    cells = []
    for metric in metrics:
        window = WINDOW if metric in TRANSLATION else 0
        where: Where = path if isinstance(found, str) else (*path, metric)
        cells.append(
            Cell(Measure(job, metric, window), where, dagger=path[0] == "main_table2" and _dagger(job, metric))
        )
    return tuple(cells)


def _dagger(job: Job, metric: str) -> bool:
    return metric in paper()["significant_vs_doc2doc_p05"].get(job.system, {}).get(job.dataset, ())


def tables() -> list[Table]:
    """All of them, in the order of the paper."""
    return [
        data_table(),
        *main_tables(),
        document_table(),
        elsewhere_table(),
        *speed_tables(),
        fba_table(),
        gate_table(),
        shuffling_table(),
        pronoun_table(),
        distance_figure(),
        *context_figures(),
        *batch_figures(),
        abd_table(),
    ]


def main_systems() -> dict[str, str]:
    """The systems of table 2, and the block of paper.json that each stands in."""
    return {system: block for block, systems in paper()["main_table2"].items() for system in systems}


def all_systems() -> list[str]:
    """Also the third gate, which the paper has on TED only, in table 4."""
    return [*main_systems(), "docflat-i"]


def data_table() -> Table:
    rows = []
    for dataset in DATASETS:
        cells = []
        for split in SPLITS:
            for number, what in enumerate(("sentences", "documents")):
                measure = Measure(usual(dataset, "sent2sent"), f"{split} {what}")
                cells.append(Cell(measure, ("data_table1", dataset, split, number)))
        rows.append(Row(LABELS[dataset], tuple(cells)))
    columns = tuple(f"{split}, {what}" for split in SPLITS for what in ("sentences", "documents"))
    return Table("table1", "Table 1: the data", columns, tuple(rows))


def main_tables() -> list[Table]:
    found = []
    for dataset in DATASETS:
        rows = tuple(
            Row(system, scores(usual(dataset, system), ("main_table2", block, system, dataset)))
            for system, block in main_systems().items()
        )
        third = usual(dataset, "docflat-i")
        cells = tuple(Cell(Measure(third, metric, WINDOW if metric in TRANSLATION else 0)) for metric in METRICS)
        rows = (*rows, Row("docflat-i", cells))
        title = f"Table 2: all systems, {LABELS[dataset]}"
        note = (
            "doctransformer, han, selective and hybrid: the paper reports the figures of others. It has docflat-i in"
            " table 4 only."
        )
        found.append(Table("table2", title, HEADS, rows, note=note))
    return found


def document_table() -> Table:
    rows = tuple(
        Row(system, tuple(Cell(Measure(usual(dataset, system), "dbleu", WINDOW)) for dataset in DATASETS))
        for system in all_systems()
    )
    note = "A document is one segment; the paper does not report it."
    return Table("table2", "Document BLEU of table 2", tuple(LABELS.values()), rows, note=note)


def elsewhere_table() -> Table:
    """What Europarl teaches for other texts."""
    others = [dataset for dataset in DATASETS if dataset != "europarl"]
    rows = tuple(
        Row(system, tuple(Cell(Measure(usual("europarl", system), f"bleu on {test}", WINDOW)) for test in others))
        for system in all_systems()
    )
    columns = tuple(f"{LABELS[test]}, BLEU" for test in others)
    note = "The systems of table 2's Europarl, on the test sets of the others; the paper does not report it."
    return Table("elsewhere", "Trained on Europarl, tested elsewhere", columns, rows, note=note)


def speed_tables() -> list[Table]:
    rates = paper()["ups_table2"]
    rows = []
    for system in all_systems():
        path: Where = ("ups_table2", system) if system in rates else ()
        training = tuple(Cell(Measure(usual(dataset, system), "updates/s"), path) for dataset in DATASETS)
        decoding = tuple(Cell(Measure(usual(dataset, system), "seconds", WINDOW)) for dataset in DATASETS)
        rows.append(Row(system, (*training, *decoding)))
    columns = tuple(f"{what}, {label}" for what in ("updates/s", "test set, s") for label in LABELS.values())
    note = (
        "Updates a second of the last stage, without the time that validation and compiling take; the paper's on one"
        " A40, on a dataset that it does not name. Seconds: the second pass over the test set; sent2sent's only one."
    )
    slower = []
    for label, key, metric, window in (
        ("training", "training_slowdown_vs_doc2doc", "updates/s", 0),
        ("inference", "inference_slowdown_vs_doc2doc", "seconds", WINDOW),
    ):
        cells = []
        for dataset in DATASETS:
            mine, base = (Measure(usual(dataset, system), metric, window) for system in ("docflat-c", "doc2doc"))
            cells.append(Cell(mine, (key, "docflat"), base, "slowdown"))
        slower.append(Row(label, tuple(cells)))
    labels = tuple(LABELS.values())
    return [
        Table("speed", "Speed", columns, tuple(rows), note=note),
        Table("speed", "How much longer docflat-c takes than doc2doc, as a share", labels, tuple(slower)),
    ]


def _side_rows(system: str, block: str) -> list[Row]:
    which = look_up((block, system))
    return [Row(f"{system}, {side}", scores(sides(system, side), (block, system, side))) for side in which]


def fba_table() -> Table:
    block = "fba_sides_table3_ted"
    rows = [Row("doc2doc", scores(usual("ted", "doc2doc"), (block, "doc2doc")))]
    rows += [row for system in ("docflat-c", "docflat-d") for row in _side_rows(system, block)]
    return Table("table3", "Table 3: flat-batch attention by side, TED", HEADS, tuple(rows))


def gate_table() -> Table:
    block = "gate_table4_ted"
    rows = tuple(Row(system, scores(usual("ted", system), (block, system))) for system in paper()[block])
    return Table("table4", "Table 4: gates, TED", HEADS, rows)


def shuffling_table() -> Table:
    block = "shuffling_table5_ted"
    rows = tuple(
        Row(f"{system}, {kind.replace('_', ' ')}", scores(shuffled(system, kind), (block, system, kind)))
        for system, kinds in paper()[block].items()
        for kind in kinds
    )
    note = "Gold or irrelevant context in training; translation is by the document."
    return Table("table5", "Table 5: context from elsewhere, TED", HEADS, rows, note=note)


def pronoun_table() -> Table:
    block = "pronouns_table6_ted"
    rows = []
    for system in paper()[block]:
        job = usual("ted", system)
        cells = [Cell(Measure(job, "accuracy"), (block, system, "avg"))]
        cells += [Cell(Measure(job, f"accuracy {word}"), (block, system, word)) for word in PRONOUNS]
        rows.append(Row(system, tuple(cells)))
    return Table("table6", "Table 6: accuracy by pronoun, TED, %", ("all", *PRONOUNS), tuple(rows))


def distance_figure() -> Table:
    block = "antecedent_distance_fig_ted_delta_vs_doc2doc"
    rows = []
    for system in paper()[block]:
        cells = []
        for distance in DISTANCES:
            mine, base = (Measure(usual("ted", name), f"accuracy {distance}") for name in (system, "doc2doc"))
            cells.append(Cell(mine, (block, system, distance), base, "difference"))
        rows.append(Row(system, tuple(cells)))
    axes = ("antecedent distance, sentences", "accuracy, points more than doc2doc")
    title = "Figure: accuracy by antecedent distance, against doc2doc, TED"
    return Table("distance", title, DISTANCES, tuple(rows), "bars", axes)


def context_figures() -> list[Table]:
    return _size_figures(
        "context",
        "local context size",
        "local_context_size_fig_ted",
        lambda system, metric, size: Measure(with_context(system, size), metric, WINDOW),
    )


def batch_figures() -> list[Table]:
    what, block = "inference batch size", "inference_batch_size_fig_ted"
    as_in_paper = _size_figures(
        "batch", what, block, lambda system, metric, size: Measure(usual("ted", system), metric, size)
    )
    sizes = paper()[block]["sizes"]
    rows = tuple(
        Row(system, tuple(Cell(Measure(usual("europarl", system), "bleu", size)) for size in sizes))
        for system in paper()[block]
        if system != "sizes"
    )
    title, axes = f"Figure: BLEU by {what}, Europarl; the paper has none", (f"{what}, sentences", "BLEU")
    return [*as_in_paper, Table("batch", title, tuple(map(str, sizes)), rows, "lines", axes)]


def _size_figures(name: str, what: str, block: str, measure: Callable[[str, str, int], Measure]) -> list[Table]:
    """Scores by a size, a curve a system: one figure a metric."""
    sizes = paper()[block]["sizes"]
    systems = [system for system in paper()[block] if system != "sizes"]
    found = []
    for metric in TRANSLATION:
        rows = []
        for system in systems:
            cells = (Cell(measure(system, metric, size), (block, system, metric, n)) for n, size in enumerate(sizes))
            rows.append(Row(system, tuple(cells)))
        title, axes = f"Figure: {metric.upper()} by {what}, TED", (f"{what}, sentences", metric.upper())
        found.append(Table(name, title, tuple(map(str, sizes)), tuple(rows), "lines", axes))
    return found


def abd_table() -> Table:
    block = "abd_sides_ted"
    rows = [Row("doc2doc", scores(usual("ted", "doc2doc"), (block, "doc2doc"))), *_side_rows("abd", block)]
    return Table("abd", "Appendix: attention between rows (ABD) by side, TED", HEADS, tuple(rows))


def chosen(names: Sequence[str], systems: Sequence[str], datasets: Sequence[str]) -> list[Measure]:
    """What has to be measured for some tables, systems and datasets; none given: all. Each once."""
    wanted: dict[Measure, None] = {}
    for table in tables():
        if names and table.name not in names:
            continue
        for cell in table.cells:
            job = cell.measure.job
            # The data of table 1 are no system's.
            of_system = not systems or job.system in systems or table.name == "table1"
            if of_system and (not datasets or job.dataset in datasets):
                wanted.update(dict.fromkeys(cell.measures))
    return list(wanted)
