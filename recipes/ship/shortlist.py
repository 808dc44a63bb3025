"""The shortlist of a model: the target words that each source word can become, learned from what the model writes.

    python recipes/ship/shortlist.py count --model en-de --device cuda --out counts.safetensors FILE.en.xz ...
    python recipes/ship/shortlist.py choose --model en-de --counts counts.safetensors --out shortlist.safetensors

`count` translates source text, a sentence a line, greedily, and then reads the translations once more, for all words
that came into question at each place. Which source word stands for which of them is Model 1 of IBM (Brown et al., 1993)
over these probabilities: a few rounds of expectation maximisation. The source's </s> stands for what no word explains.

`choose` takes, of each source word, the words it likely becomes, as many as go into --most bytes; and the most frequent
words of the target, which any sentence may need.
"""

from __future__ import annotations

import argparse
import lzma
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import load_file, save_file
from torch import Tensor

from docflat.data.flat_layout import flatten_side
from docflat.data.rows import Rows, SentenceList
from docflat.data.subwords import Subwords
from docflat.engines.loading import LoadedModel, choose, load
from docflat.engines.torch.engine import EncodedMemory, TorchEngine
from docflat.model.batch import Side
from docflat.weights.shipped import model_folder

LONGEST = 60  # subwords of a sentence
CANDIDATES = 8  # words that are noted at a place
LEAST = 0.003  # probability of one
PAIRS = 256  # words noted of a source word
STRETCH = 100_000  # sentences


def read_lines(path: Path) -> list[str]:
    content = path.read_bytes()
    return (lzma.decompress(content) if path.suffix == ".xz" else content).decode("utf-8").split("\n")


class Places:
    """Places of translations: what came into question there, and the source's words."""

    def __init__(self, source: Tensor, words: Tensor, weights: Tensor, row: Tensor) -> None:
        """source (rows, longest) with -1 behind the end; words, weights (places, candidates); row (places,)."""
        self.source, self.words, self.weights, self.row = source, words, weights, row


@torch.inference_mode()
def translate(loaded: LoadedModel, sentences: list[list[int]], rows: int) -> Iterator[Places]:
    """Sentences of like length together, of some 100,000 the longest first."""
    engine, layout = loaded.engine, loaded.layout
    assert isinstance(engine, TorchEngine)
    device, eos = engine.device, layout.eos
    starts = range(0, len(sentences), STRETCH)
    sentences = [ids for n in starts for ids in sorted(sentences[n : n + STRETCH], key=len, reverse=True)]
    start, done, noted = time.monotonic(), 0, 0.0
    while done < len(sentences):
        most = max(1, rows * 32 // max(32, len(sentences[done])))
        part = sentences[done : min(done + most, done // STRETCH * STRETCH + STRETCH)]
        done += len(part)
        number, zero = np.arange(len(part)), np.zeros(len(part), dtype=np.int64)
        batch, text = Rows(number, zero, number, zero, number), SentenceList(part)
        encoded = engine.encode(flatten_side(text, batch, layout, close=True))
        prefix = flatten_side(text, batch, layout, close=False, prefix_only=True)
        limits = [len(part[0]) * 2 + 10] * len(part)
        translations = SentenceList([one.tokens for one in engine.search(encoded, prefix, limits, 1, 1.0)])
        assert isinstance(encoded, EncodedMemory)
        side = flatten_side(translations, batch, layout, close=False)
        states = engine.model.decode(Side.of_flat(side).to(device), encoded.memory)
        best = [
            torch.topk(engine.model.target_embedding.logits(some).float().softmax(-1), CANDIDATES)
            for some in states.split(16384)
        ]
        weights, words = (torch.cat([one[n] for one in best]) for n in (0, 1))
        source = np.full((len(part), len(part[0]) + 1), -1)
        for row, ids in zip(source, part, strict=True):
            row[: len(ids) + 1] = [*ids, eos]
        row = torch.from_numpy(np.repeat(number, side.sentences.lengths)).int()
        weights = torch.where(weights >= LEAST, weights, 0).half()
        yield Places(torch.from_numpy(source).short().to(device), words.short(), weights, row.to(device))
        if time.monotonic() - noted > 10:
            noted = time.monotonic()
            print(f"{done} of {len(sentences)} sentences, {noted - start:.0f} s", flush=True)


def expected_counts(places: list[Places], size: int, rounds: int) -> tuple[Tensor, Tensor]:
    """Of source and target words, how often the one stands for the other, (size, size); of targets, how often."""
    device = places[0].source.device
    counts = torch.zeros(size * size, device=device)
    totals = torch.zeros(size, device=device)
    frequency = torch.zeros(size, device=device)
    for number in range(rounds):
        updated = torch.zeros(size * size, device=device)
        for place in places:
            source = place.source.long()
            parts = (part.split(8192) for part in (place.words.long(), place.weights.float(), place.row.long()))
            for words, weights, row in zip(*parts, strict=True):
                above = source[row]  # (places, source)
                key = above.clamp(min=0)[:, :, None] * size + words[:, None]  # (places, source, candidates)
                share = (above >= 0).float()[:, :, None].expand(key.shape)
                if number:
                    share = share * counts[key] / totals[above.clamp(min=0)][:, :, None].clamp(min=1e-9)
                share = share / share.sum(1, keepdim=True).clamp(min=1e-30) * weights[:, None]
                updated.index_add_(0, key.flatten(), share.flatten())
                if not number:
                    frequency.index_add_(0, words.flatten(), weights.flatten())
        counts, totals = updated, updated.view(size, size).sum(1)
        print(f"round {number + 1}", flush=True)
    return counts.view(size, size), frequency


def count(options: argparse.Namespace) -> None:
    device = options.device
    hardware = choose([options.model], "torch", device, "fp32" if device == "cpu" else "bf16", options.threads)
    loaded = load(options.model, hardware)
    lines = [line for path in options.files for line in read_lines(path) if line.strip()]
    lines = list(dict.fromkeys(lines))
    np.random.default_rng(1).shuffle(lines)
    sentences = [ids for ids in loaded.subwords.encode_batch(lines, "source") if len(ids) <= LONGEST]
    print(f"{len(sentences)} different sentences", flush=True)
    places, stop = [], time.monotonic() + options.seconds
    for batch in translate(loaded, sentences, options.rows):
        places.append(batch)
        if time.monotonic() > stop:
            break
    size = loaded.subwords.text_size
    counts, frequency = expected_counts(places, size, options.rounds)
    best, words = torch.topk(counts, PAIRS)
    source, place = torch.nonzero(best >= options.least, as_tuple=True)
    arrays = {
        "source": source.cpu().numpy().astype(np.uint16),
        "target": words[source, place].cpu().numpy().astype(np.uint16),
        "log_count": best[source, place].log().cpu().numpy().astype(np.float16),
        "frequency": frequency.cpu().numpy(),
        "total": counts.sum(1).cpu().numpy(),
    }
    save_file(arrays, options.out)
    print(f"{len(source)} pairs of words", flush=True)


def choose_words(options: argparse.Namespace) -> None:
    size = Subwords.load(options.model / "tokenizer.json").text_size
    counts = load_file(options.counts)
    source, target = (counts[name].astype(np.int64) for name in ("source", "target"))
    count = np.exp(counts["log_count"].astype(np.float64))
    frequent = np.sort(np.argsort(-counts["frequency"], kind="stable")[: options.frequent])
    share = count / counts["total"][source]
    # The unlikely words of a frequent one are many, and each list that it is in becomes longer by them.
    use = (share >= options.share) & ~np.isin(target, frequent) & (source != target)
    source, target, count = source[use], target[use], count[use]
    most = (options.most - 4 * (size + 1) - 2 * len(frequent)) // 2
    chosen = np.argsort(-count, kind="stable")[:most]
    chosen = chosen[np.lexsort((target[chosen], source[chosen]))]
    arrays = {
        "starts": np.searchsorted(source[chosen], np.arange(size + 1)).astype(np.int32),
        "words": target[chosen].astype(np.uint16),
        "frequent": frequent.astype(np.uint16),
    }
    others = np.setdiff1d(np.arange(size), frequent)
    sample = np.random.default_rng(1).permutation(others)[: options.sample]
    save_file(arrays | {"sample": np.sort(sample).astype(np.uint16)}, options.out)
    print(f"{len(chosen)} pairs of words, {options.out.stat().st_size} bytes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(required=True)
    counting = parts.add_parser("count")
    counting.set_defaults(run=count)
    counting.add_argument("files", type=Path, nargs="+", help="source text, a sentence a line")
    counting.add_argument("--model", type=model_folder, required=True)
    counting.add_argument("--out", type=Path, required=True)
    counting.add_argument("--device", default="cpu")
    counting.add_argument("--threads", type=int, default=0)
    counting.add_argument("--rows", type=int, default=1024, help="sentences of 32 subwords that go together")
    counting.add_argument("--seconds", type=float, default=1e9, help="of translating; then what there is counts")
    counting.add_argument("--rounds", type=int, default=4)
    counting.add_argument("--least", type=float, default=0.2, help="how often a pair must have come about")
    choosing = parts.add_parser("choose")
    choosing.set_defaults(run=choose_words)
    choosing.add_argument("--model", type=model_folder, required=True)
    choosing.add_argument("--counts", type=Path, required=True)
    choosing.add_argument("--out", type=Path, required=True)
    choosing.add_argument("--frequent", type=int, default=1500, help="words of the target that every sentence gets")
    standing = "words that stand for those that are not listed, in the sum that probabilities are parts of"
    choosing.add_argument("--sample", type=int, default=1000, help=standing)
    choosing.add_argument("--share", type=float, default=0.0005, help="of a source word, that a word must have")
    choosing.add_argument("--most", type=int, default=2_500_000, help="bytes of the file")
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
