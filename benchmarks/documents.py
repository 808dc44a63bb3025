"""Whole documents on a CPU: our modes against CTranslate2 sentence by sentence; and long documents against short ones.

    python benchmarks/documents.py --sets europarl/dev,news/dev --limit 60 --threads 2 --rounds 3
    python benchmarks/documents.py --lengths 10,100,1000,10000 --sets europarl/dev --words 8 --threads 1

Speed: the documents of each set (NAME.en and NAME.de, whole ones up to --limit sentences), each way in a process of its
own, in turns. CTranslate2 (int8, beam 5, --batch sentences of like length at a time) has the weights of the model that
ships without its flat-batch attention, which CTranslate2 does not know: a sentence model of the same sizes. What it
would write is of any length, so it has to write as many tokens as the references of a batch have in the mean. Seconds
are by the clock, and of the processor, all threads together. "to CTranslate2": target tokens a second of the
processor, the median of the ratios of the rounds.

--lengths instead: a document of so many sentences (of at most --words words, over again where there are too few) in a
new process each: seconds of the processor a sentence, and the peak of its memory.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from edit_mode import read_set

from docflat.support.console import print_table

CTRANSLATE2 = "CTranslate2, sentence"
MODES = {"docflat, sentence": "sentence", "docflat, edit": "edit", "docflat, two-pass": "two-pass"}
Documents = list[list[str]]
Run = Callable[[Documents, Documents], int]  # documents and references to how many tokens were written


def export_sentence_model(folder: Path) -> None:
    """The model that ships, without what CTranslate2 lacks."""
    from dataclasses import replace

    from docflat.weights.export import export_ctranslate2
    from docflat.weights.folders import ModelFolder, load_model
    from docflat.weights.shipped import model_folder

    whole = load_model(model_folder("en-de"))
    config = replace(whole.config, system="sent2sent", options={})
    model = config.build(whole.subwords).eval()
    names = model.state_dict().keys()
    model.load_state_dict({name: one for name, one in whole.model.state_dict().items() if name in names})
    export_ctranslate2(ModelFolder(config, whole.subwords, model), folder)


def docflat(mode: str, threads: int) -> Run:
    from docflat.translation.translator import Translator

    translator = Translator.load("en-de", threads=threads)

    def run(documents: Documents, references: Documents) -> int:
        made = list(translator.translate_documents(documents, mode=mode))
        return sum(translator.count_tokens(document) for document in made)

    return run


def ctranslate2(folder: str, threads: int, batch: int) -> Run:
    from ctranslate2 import Translator as Peer  # type: ignore[import-untyped, unused-ignore]
    from tokenizers import Tokenizer

    peer = Peer(folder, device="cpu", compute_type="int8", inter_threads=1, intra_threads=threads)
    pieces = Tokenizer.from_file(f"{folder}/tokenizer.json")

    def run(documents: Documents, references: Documents) -> int:
        pairs = [
            [pieces.encode(line, add_special_tokens=False).tokens for line in pair]
            for both in zip(documents, references, strict=True)
            for pair in zip(*both, strict=True)
        ]
        pairs.sort(key=lambda pair: -len(pair[1]))
        written = 0
        for first in range(0, len(pairs), batch):
            some = pairs[first : first + batch]
            length = round(statistics.mean(len(target) for _, target in some))
            limits = {"min_decoding_length": length, "max_decoding_length": length}
            made = peer.translate_batch([["<s>", *source, "</s>"] for source, _ in some], beam_size=5, **limits)
            written += sum(len(one.hypotheses[0]) for one in made)
        return written

    return run


def serve(pipe: Connection, build: Callable[..., Run], arguments: tuple[Any, ...]) -> None:
    """In a process of its own: seconds of the clock, of the processor, tokens."""
    run = build(*arguments)
    while (both := pipe.recv()) is not None:
        start = time.perf_counter(), time.process_time()
        tokens = run(*both)
        pipe.send((time.perf_counter() - start[0], time.process_time() - start[1], tokens))


def start(build: Callable[..., Run], *arguments: Any) -> Connection:
    ours, theirs = multiprocessing.Pipe()
    context = multiprocessing.get_context("spawn")
    context.Process(target=serve, args=(theirs, build, arguments), daemon=True).start()
    return ours


def speed(options: argparse.Namespace) -> list[list[object]]:
    with tempfile.TemporaryDirectory() as scratch:
        pipes = {name: start(docflat, mode, options.threads) for name, mode in MODES.items()}
        if options.peers == "ctranslate2":
            export_sentence_model(Path(scratch) / "peer")
            pipes[CTRANSLATE2] = start(ctranslate2, f"{scratch}/peer", options.threads, options.batch)
        rows: list[list[object]] = []
        for name in options.sets:
            documents, references = map(list, zip(*read_set(name, options.limit), strict=True))
            measured: dict[str, list[tuple[float, float, int]]] = {what: [] for what in pipes}
            for _ in range(options.rounds + 1):  # the first warms up
                for what, pipe in pipes.items():
                    pipe.send((documents, references))
                    measured[what].append(pipe.recv())
            base = "docflat, sentence"
            for what, (_, *rounds) in measured.items():
                row: list[object] = [name, what, sum(map(len, documents)), rounds[0][2]]
                row += [statistics.median(column) for column in list(zip(*rounds, strict=True))[:2]]
                row.append(statistics.median(a[1] / b[1] for a, b in zip(rounds, measured[base][1:], strict=True)))
                peers = measured.get(CTRANSLATE2, [])[1:]
                pairs = [(a[2] / a[1]) / (b[2] / b[1]) for a, b in zip(rounds, peers, strict=False)]
                rows.append([*row, statistics.median(pairs) if pairs else float("nan")])
        for pipe in pipes.values():
            pipe.send(None)
        return rows


def one_document(pipe: Connection, documents: Documents, threads: int) -> None:
    run = docflat("edit", threads)
    run([["Good morning."]], [])
    begin = time.process_time()
    run(documents, [])
    taken = time.process_time() - begin
    pipe.send((taken, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))


def lengths(options: argparse.Namespace) -> list[list[object]]:
    lines = [line for source, _ in read_set(options.sets[0], 10**9) for line in source]
    lines = [line for line in lines if 0 < len(line.split()) <= options.words]
    rows: list[list[object]] = []
    for count in options.lengths:
        document = (lines * (count // len(lines) + 1))[:count]
        ours, theirs = multiprocessing.Pipe()
        arguments = (theirs, [document], options.threads)
        process = multiprocessing.get_context("spawn").Process(target=one_document, args=arguments)
        process.start()
        taken, peak = ours.recv()
        process.join()
        rows.append([count, taken, 1000 * taken / count, peak])
        print_table(["sentences", "CPU seconds", "ms a sentence", "MiB at the peak"], rows[-1:], options.json)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=lambda text: text.split(","), required=True, metavar="A,B")
    parser.add_argument("--limit", type=int, default=60, help="sentences of a set")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers", choices=["ctranslate2", "none"], default="ctranslate2")
    parser.add_argument("--batch", type=int, default=24, help="sentences of a batch of CTranslate2")
    parser.add_argument("--lengths", type=lambda text: [int(n) for n in text.split(",")], metavar="N,N")
    parser.add_argument("--words", type=int, default=8, help="the longest sentences of --lengths")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.lengths:
        lengths(options)
        return
    columns = ["text", "way", "sentences", "tokens", "seconds", "CPU seconds", "to sentence", "to CTranslate2"]
    print_table(columns, speed(options), options.json)


if __name__ == "__main__":
    main()
