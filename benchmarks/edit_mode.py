"""The mode `edit` between the modes `sentence` and `two-pass`: tolerance against time, BLEU, chrF, pronouns, changes.

    python benchmarks/edit_mode.py --sets europarl/dev,news/dev --limit 400 --contrapro contrapro.jsonl.xz --cache modes
    python benchmarks/edit_mode.py --sets europarl/dev --limit 100 --time --threads 2

Quality: drafts, their scores in context and a second pass of all sentences are made once, and kept in --cache. What a
tolerance makes of them is then exact: a sentence to which context objects is translated as if all were
(tests/unit/decoding/test_editing.py). Sets are NAME.en and NAME.de, whole documents up to --limit sentences; of
ContraPro as many examples, drawn at random (seed 20), each a document of two sentences, judged as `docflat contrast
--generate` does, with the model's own translation as context. "sentence" has --beam, as drafts have; "two-pass" is a
second pass of --edit-beam and --context: give 5 and 2 for that which users get. --time runs the modes one after the
other instead, --rounds times in turns, and shows the median, of the clock and of the processor (where others work on
the machine too, the latter tells more).
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from docflat.data.documents import FilePair, read_documents
from docflat.decoding.passes import Passes
from docflat.evaluation.contrastive.examples import read_contrastive
from docflat.evaluation.contrastive.scoring import judge
from docflat.support.console import print_table
from docflat.translation.translator import Translator, one_line

Record = dict[str, Any]  # a sentence: draft, second, drops; whether it ends its document
TOLERANCES = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85, 1.0, 1.5)


def read_set(name: str, limit: int) -> list[tuple[list[str], list[str]]]:
    """Documents, source and reference, until there are so many sentences."""
    documents: list[tuple[list[str], list[str]]] = []
    for document in read_documents(FilePair(Path(f"{name}.en"), Path(f"{name}.de"))):
        if sum(len(source) for source, _ in documents) >= limit:
            break
        documents.append((document.source, document.target or []))
    return documents


def decode(translator: Translator, documents: Sequence[Sequence[str]], options: argparse.Namespace) -> list[Record]:
    """Of each sentence its draft, how much context lowers each of its tokens, and the translation of a second pass."""
    subwords = translator.model.subwords
    source = [[subwords.encode(text) for text in document] for document in documents]

    def passes_of(beam: int) -> Passes:
        settings = translator.decoder.settings(mode="two-pass", beam=beam, batch_size=options.batch_size)
        made = translator.decoder.passes(settings)
        made.context = min(made.context, options.context)
        return made

    drafts = passes_of(options.beam).drafts(source, lambda _: None)
    passes = passes_of(options.edit_beam)
    first = [[draft.tokens for draft in document] for document in drafts]
    scores = passes.score(source, first)
    second = passes.second_pass(source, first, lambda _: None)
    records = []
    for document in zip(drafts, scores, second, strict=True):
        for draft, there, again in zip(*document, strict=True):
            drops = [alone - in_context for alone, in_context in zip(draft.log_probabilities, there, strict=True)]
            texts = [one_line(subwords.decode(ids)) for ids in (draft.tokens, again)]
            records.append({"draft": texts[0], "second": texts[1], "drop": max(drops, default=0.0)})
    return records


def chosen(records: Sequence[Record], tolerance: float | None) -> list[str]:
    """tolerance None: the drafts."""
    return [one["second"] if tolerance is not None and one["drop"] > tolerance else one["draft"] for one in records]


def rows(options: argparse.Namespace) -> list[list[object]]:
    loaded: list[Translator] = []

    def records(name: str, documents: Sequence[Sequence[str]]) -> list[Record]:
        parts = (name.replace("/", "-").strip("-"), options.limit, options.beam, options.edit_beam, options.context)
        file = options.cache / f"{'-'.join(map(str, parts))}.json"
        if not file.exists():
            options.cache.mkdir(parents=True, exist_ok=True)
            loaded.extend([] if loaded else [Translator.load(options.model, device=options.device)])
            file.write_text(json.dumps(decode(loaded[0], documents, options)), encoding="utf-8")
        made: list[Record] = json.loads(file.read_text(encoding="utf-8"))
        return made

    found: list[list[object]] = []
    for name in options.sets:
        documents = read_set(name, options.limit)
        made = records(name, [source for source, _ in documents])
        references = [[line for _, target in documents for line in target]]

        def scores(texts: list[str], references: list[list[str]] = references) -> list[float]:
            return [metric.corpus_score(texts, references).score for metric in (BLEU(), CHRF())]

        found += table(name, made, scores, options)
    if options.contrapro:
        examples = read_contrastive(options.contrapro)
        random.Random(20).shuffle(examples)
        examples = examples[options.skip :][: options.limit]
        sources = [[*example.source_context[-1:], example.source] for example in examples]
        made = records("contrapro", sources)
        ends = [sum(map(len, sources[: n + 1])) - 1 for n in range(len(sources))]
        made = [made[end] for end in ends]

        def right(texts: list[str]) -> list[float]:
            verdicts = [judge(*pair) == "right" for pair in zip(examples, texts, strict=True)]
            return [100 * sum(verdicts) / len(verdicts), float("nan")]

        found += table("contrapro", made, right, options)
    return found


def table(
    name: str, records: Sequence[Record], scores: Callable[[list[str]], list[float]], options: argparse.Namespace
) -> list[list[object]]:
    found: list[list[object]] = []
    for what, tolerance in [("sentence", None), *(("edit", t) for t in options.tolerances), ("two-pass", -1e9)]:
        texts = chosen(records, tolerance)
        again = sum(tolerance is not None and one["drop"] > tolerance for one in records)
        changed = sum(text != one["draft"] for text, one in zip(texts, records, strict=True))
        shares = [100 * each / len(records) for each in (again, changed)]
        found.append([name, what, tolerance if what == "edit" else None, len(records), *shares, *scores(texts)])
    return found


def timed(options: argparse.Namespace) -> list[list[object]]:
    translator = Translator.load(options.model, threads=options.threads)
    runs: list[tuple[str, dict[str, Any]]] = [("sentence", {"mode": "sentence"})]
    runs += [("edit", {"mode": "edit", "tolerance": tolerance}) for tolerance in options.tolerances]
    runs += [("two-pass", {"mode": "two-pass"})]
    found: list[list[object]] = []
    for name in options.sets:
        documents = [source for source, _ in read_set(name, options.limit)]
        seconds: list[list[float]] = [[] for _ in runs]
        processor: list[list[float]] = [[] for _ in runs]
        for _ in range(options.rounds):
            for number, (_, settings) in enumerate(runs):
                start = time.perf_counter(), time.process_time()
                list(translator.translate_documents(documents, **settings))
                seconds[number].append(time.perf_counter() - start[0])
                processor[number].append(time.process_time() - start[1])
        for (what, settings), *measured in zip(runs, seconds, processor, strict=True):
            row: list[object] = [name, what, settings.get("tolerance"), sum(map(len, documents))]
            for times, base in zip(measured, (seconds[0], processor[0]), strict=True):
                row += [statistics.median(times), statistics.median(a / b for a, b in zip(times, base, strict=True))]
            found.append(row)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=lambda text: text.split(","), default=[], metavar="A,B")
    parser.add_argument("--contrapro", type=Path)
    parser.add_argument("--limit", type=int, default=400, help="sentences of a set, and examples of ContraPro")
    parser.add_argument("--tolerances", type=lambda text: [float(n) for n in text.split(",")], default=TOLERANCES)
    parser.add_argument("--cache", type=Path, metavar="FOLDER")
    parser.add_argument("--time", action="store_true", help="the time of whole documents instead")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--beam", type=int, default=5, help="of drafts")
    parser.add_argument("--edit-beam", type=int, default=3, help="of what is searched again")
    parser.add_argument("--context", type=int, default=1, help="sentences of local context")
    parser.add_argument("--skip", type=int, default=0, help="examples of ContraPro to pass over, of the drawn ones")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--batch-size", type=int)
    parser.add_argument("--model", default="en-de")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.time:
        columns = ["text", "mode", "tolerance", "sentences", "seconds", "to sentence", "CPU seconds", "to sentence"]
        print_table(columns, timed(options), options.json)
        return
    if options.cache is None:
        parser.error("--cache is needed for what --time does not do")
    columns = ["text", "mode", "tolerance", "sentences", "again %", "changed %", "BLEU or pronouns", "chrF"]
    print_table(columns, rows(options), options.json)


if __name__ == "__main__":
    main()
