"""A corpus that is larger than memory: read through maps, its epochs planned in pieces."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from conftest import corpus_of, numbered_documents, ragged_lengths
from docflat.data.batches import DocumentBatches
from docflat.data.corpus import FORMAT, SIDES
from docflat.data.flat_layout import Layout
from docflat.data.row_settings import RowSettings

LAYOUT = Layout(eos=2, bos=None, first_index=4, index_tokens=50)
LIMIT = 128 << 20  # bytes of memory
SENTENCES, TOKENS = 1_200_000, 300  # of each sentence and side, two bytes each: 1.4 GB

READ = """
import resource, sys
limit = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))  # what ulimit -d sets: memory, but for maps of files
import numpy as np
from docflat.data.batches import DocumentBatches
from docflat.data.corpus import Corpus
from docflat.data.flat_layout import Layout
from docflat.data.row_settings import RowSettings

corpus = Corpus.open(sys.argv[1])
layout = Layout(eos=2, bos=None, first_index=4, index_tokens=50)
batches = DocumentBatches(corpus.documents, corpus.source, corpus.target, RowSettings(), layout, 4096, piece=100_000)
for piece in (0, batches.pieces - 1):
    plan = batches.plan(np.random.default_rng(0), piece)
    tokens = sum(len(plan[number].source.tokens) for number in range(0, len(plan), 1000))
    print(len(plan), tokens)
if len(sys.argv) > 3:
    batches.plan(np.random.default_rng(0))
"""


@pytest.mark.parametrize("times", [None, np.array([2.5, 0.0, 1.0] * 10)])
def test_the_pieces_of_an_epoch_are_the_epoch(times: np.ndarray | None):
    documents = numbered_documents(ragged_lengths(np.random.default_rng(0), 30, empty=0))
    corpus = corpus_of(documents)
    sizes = np.diff(corpus.documents)
    for piece in (10**6, 40, 7):
        batches = DocumentBatches(*corpus, RowSettings(), LAYOUT, 60, times=times, piece=piece)
        assert (batches.pieces == 1) == (piece == 10**6)
        for epoch in range(2):
            rows = [batches.plan(np.random.default_rng([0, epoch]), number).rows for number in range(batches.pieces)]
            sentences = np.concatenate([each.sentence for each in rows])
            document = np.searchsorted(corpus.documents, sentences, side="right") - 1
            counts = np.bincount(document, minlength=len(sizes)) / sizes
            if times is None:
                assert (counts == 1).all()
            else:
                assert set(counts[0::3]) <= {2, 3}
                assert (counts[1::3] == 0).all()
                assert (counts[2::3] == 1).all()


def test_epochs_differ_and_pieces_too():
    documents = numbered_documents([[(3, 3)] * 4 for _ in range(40)])
    batches = DocumentBatches(*corpus_of(documents), RowSettings(), LAYOUT, 60, piece=80)
    assert batches.pieces == 2
    seen = [batches.plan(np.random.default_rng([0, epoch]), piece).rows for epoch in (0, 1) for piece in (0, 1)]
    sentences = [tuple(rows.sentence) for rows in seen]
    assert len(set(sentences)) == 4
    again = batches.plan(np.random.default_rng([0, 1]), 1).rows
    assert tuple(again.sentence) == sentences[3]


def write_sparse_corpus(folder: Path) -> None:
    """Of zeros that no disk holds."""
    folder.mkdir()
    for name in SIDES:
        with open(folder / f"{name}.bin", "wb") as file:
            file.truncate(2 * SENTENCES * TOKENS)
        np.save(folder / f"{name}.ends.npy", np.arange(0, SENTENCES * TOKENS + 1, TOKENS, dtype="<i8"))
    np.save(folder / "documents.npy", np.arange(0, SENTENCES + 1, 10, dtype="<i8"))
    counts = {"documents": SENTENCES // 10, "sentences": SENTENCES}
    tokens = {f"{name}_tokens": SENTENCES * TOKENS for name in SIDES}
    facts = {"dtype": "uint16", "vocabulary": 32_000, "hash": "none", "parts": [], "about": {}}
    (folder / "corpus.json").write_text(json.dumps({"format": FORMAT, **counts, **tokens, **facts}))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems limit other memory")
def test_a_corpus_of_ten_times_the_memory_is_read_and_planned(tmp_path: Path):
    write_sparse_corpus(tmp_path / "corpus")
    assert sum((tmp_path / "corpus" / f"{name}.bin").stat().st_size for name in SIDES) > 10 * LIMIT
    command = [sys.executable, "-c", READ, str(tmp_path / "corpus"), str(LIMIT)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    for line in ended.stdout.splitlines():
        batches, tokens = map(int, line.split())
        assert batches > 7000
        assert tokens > 2000 * (batches // 1000)
    ended = subprocess.run([*command, "all"], env=environment, capture_output=True, text=True, check=False)
    assert "MemoryError" in ended.stderr  # so the limit is one: planned as a whole, the epoch does not fit
