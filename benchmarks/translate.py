"""Translation speed, memory and start-up in one run: our systems, CTranslate2 and Hugging Face's generate.

    python benchmarks/translate.py --threads 2
    python benchmarks/translate.py --threads 1 --engines torch,onnx,onnx-shortlist --batch-sizes 1,16,64
    python benchmarks/translate.py --device cuda --batch-sizes 16,256

Transformer-base with 32,000 subwords and random weights; sentences of 30 subwords become 30, with a beam of 5. On a CPU
we and CTranslate2 are in int8, on a GPU all are in bf16. The rounds go in turns, so that a busy moment of the machine
meets all of them; the median counts, and of a ratio the median of those of each round. A peer that is not installed is
left out. Each has a process of its own, as it has where it is used: in one process, CTranslate2's threads and torch's
are more than there are cores, and OpenMP then puts them to sleep at every barrier, which costs torch a quarter of its
speed and CTranslate2 nothing.

CTranslate2 gets the weights of our sent2sent by `docflat export`; Hugging Face has a MarianMTModel of the same sizes.
A shortlist is a made-up one, 16 random words of a fifth of the vocabulary to each source word and 1,500 to all: with 16
sentences some 5,500 words are weighed, with 64 some 7,500, as in one that `recipes/ship/shortlist.py` learned.

The memory is that of the model and of the first batch, as torch counts it on a GPU and the system on a CPU, where it
holds the code that a peer imports too. The start-up is the whole life of a process that translates one sentence.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import multiprocessing
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import torch
from train_peers import marian, say

from docflat.data.flat_layout import FlatSide, Layout, flatten_side
from docflat.data.row_settings import RowSettings
from docflat.data.rows import Rows, SentenceList
from docflat.data.subwords import Subwords
from docflat.decoding.settings import DecodingSettings
from docflat.engines.engine import Engine, TargetContext
from docflat.engines.onnx.loading import load
from docflat.engines.onnx.shortlist import Shortlist
from docflat.engines.torch.engine import TorchEngine
from docflat.engines.torch.int8_products import quantize
from docflat.model.sizes import ModelSizes
from docflat.support.console import print_table
from docflat.systems import find_system
from docflat.systems.docflat import fold_gates
from docflat.weights.config import ModelConfig, vocabulary_of
from docflat.weights.export import export_ctranslate2
from docflat.weights.folders import ModelFolder, save_model

CTRANSLATE2, HUGGING_FACE = "CTranslate2 sent2sent", "Hugging Face generate"
START_CTRANSLATE2 = """
import json, sys
import ctranslate2
folder, settings, tokens, search = map(json.loads, sys.argv[1:])
ctranslate2.Translator(folder, **settings).translate_batch([tokens], **search)
"""


def made_up_subwords() -> tuple[Subwords, str]:
    """32,000 of them, and a sentence of ten or so."""
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = ["".join(word) for word in letters[np.random.default_rng(1).integers(0, 26, (40_000, 8))]]
    return Subwords.learn(words * 2), " ".join(words[:4])


class Work:
    """Sentences to translate, laid out for a system."""

    def __init__(self, name: str, rows: int, options: argparse.Namespace, subwords: Subwords) -> None:
        self.system, self.length, self.beam = find_system(name), options.length, options.beam
        self.device = torch.device(options.device)
        self.settings = self.system.rows_of(RowSettings())
        self.layout: Layout = self.system.layout(self.settings, vocabulary_of(subwords))
        rng = np.random.default_rng(1)
        words = [rng.integers(4, subwords.text_size, self.length).tolist() for _ in range(rows)]
        self.text, number = SentenceList(words), np.arange(rows)
        context = np.minimum(self.settings.context or 0, number)
        window = self.settings.window or DecodingSettings().window
        self.rows = Rows(number, context, number, number, number // window)

    def side(self, close: bool, prefix_only: bool = False) -> FlatSide:
        rows = self.rows if close else self.layout.target_rows(self.rows)
        return flatten_side(self.text, rows, self.layout, close=close, prefix_only=prefix_only)


Translate = Callable[[], int]  # says how many tokens it wrote
Prepare = Callable[[Work], Translate]


def ours(engine: Engine) -> Prepare:
    def prepare(work: Work) -> Translate:
        source, prefix, whole = work.side(True), work.side(False, prefix_only=True), work.side(False)
        # What other rows see of each: the first pass's translations.
        context = TargetContext(whole, np.arange(len(work.rows)))
        limits = [work.length] * len(work.rows)

        def translate() -> int:
            found = engine.search(engine.encode(source), prefix, limits, work.beam, 1.0, context, shortlist=True)
            return sum(len(one.tokens) for one in found)

        return translate

    return prepare


def made_up_shortlist(subwords: Subwords, likely: int = 16, frequent: int = 1500) -> Shortlist:
    size, rng = subwords.text_size, np.random.default_rng(2)
    words = rng.integers(4, size // 5, (size, likely))
    return Shortlist(np.arange(size + 1) * likely, words.ravel(), np.sort(rng.permutation(size)[:frequent]))


def ctranslate2(folder: Path, settings: dict[str, Any], names: list[str]) -> Prepare:
    from ctranslate2 import Translator  # type: ignore[import-untyped, unused-ignore]

    translator = Translator(str(folder), **settings)

    def prepare(work: Work) -> Translate:
        side = work.side(True)
        source = [[names[token] for token in row.tolist()] for row in np.split(side.tokens, side.rows.starts[1:-1])]
        search = search_settings(work.beam, work.length)
        return lambda: sum(len(one.hypotheses[0]) for one in translator.translate_batch(source, **search))

    return prepare


def search_settings(beam: int, length: int) -> dict[str, int]:
    return {"beam_size": beam, "min_decoding_length": length, "max_decoding_length": length}


def hugging_face(model: Any) -> Prepare:
    def prepare(work: Work) -> Translate:
        tokens = torch.from_numpy(work.side(True).tokens).to(work.device)
        source = tokens.view(len(work.rows), -1)  # all rows are of one length
        mask = torch.ones_like(source)

        def translate() -> int:
            found = model.generate(
                source,
                attention_mask=mask,
                num_beams=work.beam,
                early_stopping=False,
                min_new_tokens=work.length,
                max_new_tokens=work.length,
            )
            return found[:, 1:].cpu().numel()  # without the start symbol

        return translate

    return prepare


def memory(device: str) -> tuple[float, float]:
    """GiB in use, and the most that was since `forget_peak`."""
    gc.collect()
    if device == "cuda":
        return torch.cuda.memory_allocated() / 2**30, torch.cuda.max_memory_allocated() / 2**30
    ctypes.CDLL(None).malloc_trim(0)  # what was freed is not in use
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    now, most = (int(status[name].split()[0]) / 2**20 for name in ("VmRSS", "VmHWM"))
    return now, most


def forget_peak(device: str) -> None:
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
        return
    Path("/proc/self/clear_refs").write_text("5")  # Linux: the peak counts from here


@dataclass
class Run:
    """One engine at one batch size."""

    what: str
    kind: str
    rows: int
    tokens: int
    memory: float | None
    start_up: float | None
    seconds: list[float] = field(default_factory=list)

    @property
    def speed(self) -> float:
        return self.tokens / statistics.median(self.seconds)

    def to(self, other: Run) -> float:
        """How many times as fast, in the median round."""
        return statistics.median(
            (self.tokens / mine) / (other.tokens / theirs)
            for mine, theirs in zip(self.seconds, other.seconds, strict=True)
        )


def seconds(translate: Translate, clock: str) -> float:
    now = time.process_time if clock == "cpu" else time.perf_counter
    start = now()
    translate()
    return now() - start


def write_profile(translate: Translate, file: Path) -> None:
    """Where the time of one batch goes: by kernel on a GPU, by operator on a CPU."""
    kinds = [torch.profiler.ProfilerActivity.CPU]
    if torch.cuda.is_initialized():
        kinds.append(torch.profiler.ProfilerActivity.CUDA)
    with torch.profiler.profile(activities=kinds) as profiler:
        translate()
    by = f"self_{'cuda' if len(kinds) > 1 else 'cpu'}_time_total"
    file.parent.mkdir(parents=True, exist_ok=True)
    table = profiler.key_averages().table(sort_by=by, row_limit=-1, max_name_column_width=90)
    file.write_text(table, encoding="utf-8")


class Bench:
    """One engine, in a process of its own."""

    def __init__(self, options: argparse.Namespace, scratch: Path) -> None:
        self.options, self.scratch = options, scratch
        self.subwords, self.sentence = made_up_subwords()
        self.runs: list[tuple[Run, Translate]] = []  # by batch size

    def folder(self, name: str) -> ModelFolder:
        """A system with random weights, always the same ones."""
        system = find_system(name)
        torch.manual_seed(1)
        config = ModelConfig(name, ModelSizes(), {}, system.rows_of(RowSettings()))
        return ModelFolder(config, self.subwords, config.build(self.subwords).eval())

    def add(self, what: str, kind: str, build: Callable[[], Prepare], start: list[str], system: str) -> None:
        """Take an engine on, unless it fails; start: the command of a process that translates one sentence."""
        options, device = self.options, self.options.device
        try:
            forget_peak(device)
            before, _ = memory(device)
            engine = build()
            held = memory(device)[0] - before
            start_up = self.start_up(start) if start else None
            for rows in options.batch_sizes:
                translate = engine(Work(system, rows, options, self.subwords))
                forget_peak(device)
                now, _ = memory(device)
                tokens = translate()  # and warm up
                taken = held + memory(device)[1] - now
                # What CTranslate2 has on a GPU torch does not see.
                seen = None if what == CTRANSLATE2 and device == "cuda" else taken
                speed = tokens / seconds(translate, options.clock)
                say(f"{what} {kind}, batch {rows}: {speed:,.0f} target tokens/s before the rounds")
                self.runs.append((Run(what, kind, rows, tokens, seen, start_up), translate))
                if options.profile:
                    write_profile(translate, options.profile / f"{what}-{kind}-{rows}.txt".replace(" ", "-"))
        except Exception as error:
            say(f"{what} {kind}: left out: {type(error).__name__}: {(str(error).splitlines() or [''])[0]}")

    def start_up(self, command: list[str]) -> float | None:
        seconds = []
        for _ in range(self.options.startups):
            start = time.perf_counter()
            done = subprocess.run(command, input=self.sentence + "\n", text=True, stdout=subprocess.DEVNULL)
            seconds.append(time.perf_counter() - start)
            if done.returncode:
                return None  # it has said why; the speed can be measured all the same
        return statistics.median(seconds) if seconds else None

    def ours(self, name: str, kind: str) -> None:
        options = self.options

        precision, _, engine = kind.partition(" ")
        folder = self.folder(name)
        path = self.scratch / name
        save_model(path, folder.config, folder.model.state_dict(), self.subwords, "")

        def build() -> Prepare:
            if engine.startswith("onnx"):
                light = load(path, folder.config, vocabulary_of(self.subwords), precision, options.threads)
                light.shortlist = made_up_shortlist(self.subwords) if engine == "onnx-shortlist" else None
                return ours(light)
            model = self.folder(name).model
            if precision == "int8":
                quantize(model)
            model.to(options.device, torch.bfloat16 if precision == "bf16" else None)
            if precision == "bf16":
                fold_gates(model)
            return ours(TorchEngine(model))

        start = []
        if name == "sent2sent" and engine != "onnx-shortlist":
            start = [sys.executable, "-m", "docflat", "translate", "--model", str(path), "--engine", engine]
            start += ["--device", options.device, "--precision", precision, "--threads", str(options.threads)]
            start += ["--beam", str(options.beam)]
        self.add(name, kind, build, start, name)

    def ctranslate2(self, kind: str) -> None:
        options, folder = self.options, self.scratch / "ctranslate2"
        settings = {"device": options.device, "compute_type": {"bf16": "bfloat16"}.get(kind, kind)}
        settings |= {"inter_threads": 1, "intra_threads": options.threads}
        names = self.subwords.names()
        tokens = [names[number] for number in self.subwords.encode(self.sentence)]
        search = search_settings(options.beam, 2 * len(tokens) + 20)  # as long as docflat may go on
        given = [json.dumps(value) for value in (str(folder), settings, tokens, search)]

        def build() -> Prepare:
            export_ctranslate2(self.folder("sent2sent"), folder)
            return ctranslate2(folder, settings, names)

        self.add(CTRANSLATE2, kind, build, [sys.executable, "-c", START_CTRANSLATE2, *given], "sent2sent")

    def hugging_face(self, kind: str) -> None:
        def build() -> Prepare:
            torch.manual_seed(1)
            model = marian(ModelSizes(), vocabulary_of(self.subwords)).eval()
            return hugging_face(model.to(self.options.device, torch.bfloat16 if kind == "bf16" else torch.float32))

        self.add(HUGGING_FACE, kind, build, [], "sent2sent")


def serve(pipe: Connection, options: argparse.Namespace, name: str, kind: str) -> None:
    """Build an engine, send its runs, then the seconds of each that is asked for by its number."""
    torch.set_num_threads(options.threads)
    if options.device == "cuda":
        torch.cuda.init()  # before it there is no peak to forget
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(options, Path(scratch))
        if name == CTRANSLATE2:
            bench.ctranslate2(kind)
        elif name == HUGGING_FACE:
            bench.hugging_face(kind)
        else:
            bench.ours(name, kind)
        pipe.send([run for run, _ in bench.runs])
        for number in iter(pipe.recv, None):
            pipe.send(seconds(bench.runs[number][1], options.clock))


def engines(options: argparse.Namespace) -> list[tuple[str, str]]:
    """Their names, and what they compute in."""
    half = options.device == "cuda"
    kind = "bf16" if half else "int8"
    chosen = options.engines.split(",") if not half else ["torch"]
    peers = [(CTRANSLATE2, kind)] if "ctranslate2" in options.peers else []
    if "huggingface" in options.peers:
        peers.append((HUGGING_FACE, "bf16" if half else "fp32"))
    kinds = ("fp32", kind) if options.fp32 else (kind,)
    return peers + [
        (name, f"{one} {engine}") for name in options.systems.split(",") for one in kinds for engine in chosen
    ]


def report(runs: list[Run], as_json: bool) -> None:
    def ratio(run: Run, what: str) -> float | None:
        """To that of the same kind, or else to the only one there is."""
        others = [other for other in runs if (other.what, other.rows) == (what, run.rows)]
        base = next((other for other in others if other.kind == run.kind), others[0] if others else None)
        return None if base is None else run.to(base)

    print_table(
        [
            "what",
            "batch",
            "target tokens/s",
            "to CTranslate2",
            "to Hugging Face",
            "to doc2doc",
            "peak GiB",
            "start-up s",
        ],
        [
            [
                f"{run.what} {run.kind}",
                run.rows,
                run.speed,
                *(ratio(run, peer) for peer in (CTRANSLATE2, HUGGING_FACE, "doc2doc")),
                run.memory,
                run.start_up,
            ]
            for run in runs
        ],
        as_json,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", default="sent2sent,doc2doc,docflat-c")
    parser.add_argument("--peers", default="ctranslate2,huggingface")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--engines", default="torch,onnx,onnx-shortlist", help="ours, on a CPU")
    parser.add_argument("--threads", type=int, default=2)
    sizes = "sentences a batch, separated by commas"
    parser.add_argument("--batch-sizes", type=lambda text: [int(n) for n in text.split(",")], default=[16], help=sizes)
    clock = "cpu: seconds of all cores together, for a machine that is busy with other things"
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help=clock)
    parser.add_argument("--length", type=int, default=30, help="subwords a sentence")
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--startups", type=int, default=3, help="processes to start, of which the median counts")
    parser.add_argument("--fp32", action="store_true", help="our systems in float32 too")
    where = "write here where the time of a batch goes, a file for each engine and batch size"
    parser.add_argument("--profile", type=Path, metavar="DIR", help=where)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    runs: list[tuple[Run, Connection, int]] = []
    pipes = []
    for name, kind in engines(options):
        pipe, theirs = context.Pipe()
        context.Process(target=serve, args=(theirs, options, name, kind), daemon=True).start()
        theirs.close()  # so that the end of the process is the end of the pipe
        runs += [(run, pipe, number) for number, run in enumerate(pipe.recv())]
        pipes.append(pipe)
    for _ in range(options.rounds):
        for run, pipe, number in runs:
            pipe.send(number)
            run.seconds.append(pipe.recv())
    for pipe in pipes:
        pipe.send(None)
    report([run for run, _, _ in runs], options.json)


if __name__ == "__main__":
    main()
