"""The shortlist of a model: the target words that each source word can become, learned from aligned sentences.

    python recipes/ship/shortlist.py --model en-de --out shortlist.safetensors --sentences 160000 \
      --pairs europarl/train.en.xz europarl/train.de.xz --pairs everyday/tatoeba.en.xz everyday/tatoeba.de.xz ...

Model 1 of IBM (Brown et al., 1993) over subwords, with a few rounds of expectation maximisation: of each pair of a
source and a target word, in how many sentences one stands for the other. Kept are, of each source word, its likely
ones, as many as go into --most bytes; and the most frequent words of the target, which any sentence may need.
Sentences are taken evenly from each pair of files, which all give the same number, as far as they have it.
"""

from __future__ import annotations

import argparse
import lzma
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from docflat.data.subwords import Subwords
from docflat.weights.shipped import model_folder

LONGEST = 40  # subwords of a sentence
BATCH = 20_000  # sentences


def read(path: Path) -> str:
    content = path.read_bytes()
    return (lzma.decompress(content) if path.suffix == ".xz" else content).decode("utf-8")


def read_pairs(subwords: Subwords, source: Path, target: Path, most: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Sentences of two aligned files, each as its different subwords."""
    sides = [read(path).split("\n") for path in (source, target)]
    both = [pair for pair in zip(*sides, strict=True) if pair[0].strip() and pair[1].strip()]
    both = both[:: max(1, len(both) // most)][:most]
    encoded = zip(
        subwords.encode_batch([one for one, _ in both], "source"),
        subwords.encode_batch([one for _, one in both], "target"),
        strict=True,
    )
    return [(np.unique(a), np.unique(b)) for a, b in encoded if len(a) <= LONGEST and len(b) <= LONGEST]


def learn(pairs: list[tuple[np.ndarray, np.ndarray]], size: int, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of words, source * size + target, and how often the one stands for the other."""
    batches = [pairs[start : start + BATCH] for start in range(0, len(pairs), BATCH)]
    keys = np.zeros(0, dtype=np.int64)
    for batch in batches:
        keys = np.union1d(keys, lay(batch, size)[0])
    share = np.ones(len(keys))
    for _ in range(rounds):
        counts = np.zeros(len(keys))
        for batch in batches:
            found, word = lay(batch, size)
            place = np.searchsorted(keys, found)
            weight = share[place]
            total = np.bincount(word, weight)
            counts += np.bincount(place, weight / total[word], len(keys))
        source = keys // size
        share = counts / np.bincount(source, counts)[source]
    return keys, counts


def lay(batch: list[tuple[np.ndarray, np.ndarray]], size: int) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of words of these sentences, and of which target word in which sentence each is."""
    keys = [(source[:, None] * size + target).ravel() for source, target in batch]
    ends = np.cumsum([0, *(len(target) for _, target in batch)])
    words = [
        np.tile(np.arange(end, end + len(target)), len(source))
        for end, (source, target) in zip(ends[:-1], batch, strict=True)
    ]
    return np.concatenate(keys), np.concatenate(words)


def choose(keys: np.ndarray, counts: np.ndarray, size: int, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Of each source word, its likely ones: (size + 1,) where they start, and the words; `most` in all."""
    source, target = keys // size, keys % size
    share = counts / np.bincount(source, counts, size)[source]
    # A likely word of a rare one, or an unlikely one of a frequent one: what leaves out least of the text.
    worth = np.minimum(share, 0.2) * np.sqrt(counts)
    chosen = np.argsort(-worth, kind="stable")[:most]
    chosen = chosen[counts[chosen] > 0.3]
    chosen = chosen[np.lexsort((target[chosen], source[chosen]))]
    return np.searchsorted(source[chosen], np.arange(size + 1)), target[chosen]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=model_folder, required=True)
    parser.add_argument("--pairs", type=Path, nargs=2, action="append", required=True, metavar="FILE")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sentences", type=int, default=160_000)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--frequent", type=int, default=1500, help="words of the target that every sentence gets")
    parser.add_argument("--most", type=int, default=1_400_000, help="bytes of the file")
    options = parser.parse_args()
    subwords = Subwords.load(options.model / "tokenizer.json")
    size = subwords.text_size
    each = options.sentences // len(options.pairs)
    pairs = [pair for files in options.pairs for pair in read_pairs(subwords, *files, each)]
    print(f"{len(pairs)} pairs of sentences", flush=True)
    keys, counts = learn(pairs, size, options.rounds)
    frequency = np.bincount(np.concatenate([target for _, target in pairs]), minlength=size)
    frequent = np.sort(np.argsort(-frequency, kind="stable")[: options.frequent])
    starts, words = choose(keys, counts, size, (options.most - 4 * (size + 1) - 2 * len(frequent)) // 2)
    arrays = {
        "starts": starts.astype(np.int32),
        "words": words.astype(np.uint16),
        "frequent": frequent.astype(np.uint16),
    }
    save_file(arrays, options.out)
    each_word = np.diff(starts)
    print(f"{len(keys)} pairs of words, {len(words)} kept, {each_word.mean():.1f} a word, the most {each_word.max()}")


if __name__ == "__main__":
    main()
