"""Rows laid out flat, against the transcription of `flat_checks`."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import docflat.data
from conftest import corpus_of, literal_rows, numbered_documents, ragged_lengths, rows_array
from docflat.data.flat_layout import Layout, flatten_batch, flatten_side
from docflat.data.row_settings import RowSettings
from docflat.data.rows import MIXED, Rows
from docflat.model.batch import Side
from flat_checks import ENDS_ONLY, INDEXED, LAYOUTS, SELECTIONS, check_batch, check_side


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_decoding_starts_from_rows_without_the_words_of_the_current_sentence(layout: Layout) -> None:
    documents = numbered_documents(ragged_lengths(np.random.default_rng(6), documents=5))
    rows = literal_rows(documents, RowSettings(), layout)
    target = corpus_of(documents).target
    arrays = layout.target_rows(rows_array(rows))
    side = flatten_side(target, arrays, layout, close=False, prefix_only=True)
    prefixes = [replace(row, target_pieces=[*row.target_pieces[:-1], row.target_pieces[-1][:1]]) for row in rows]
    check_side(side, prefixes, "target", [row.document for row in rows], layout)
    assert side.current.tolist() == [end - 1 for end in side.rows.starts[1:].tolist()]


@pytest.mark.parametrize("one_group", [False, True])
def test_selections_of_rows_with_and_without_context(one_group: bool) -> None:
    """No row has any, or only some have; sentences of the context may be empty, but for their start symbol."""
    documents = numbered_documents([[(2, 1)], [(0, 3), (4, 0), (1, 1), (2, 5), (1, 2)]])
    corpus = corpus_of(documents)
    for context in range(4):
        rows = literal_rows(documents, RowSettings(context=context), SELECTIONS)
        assert [len(row.context) for row in rows] == [0, *(min(context, place) for place in (2, 3, 4))]
        batch = flatten_batch(corpus.source, corpus.target, rows_array(rows), SELECTIONS, one_group)
        check_batch(batch, rows, [0 if one_group else row.document for row in rows], SELECTIONS)


def test_groups_say_whether_they_are_mixed() -> None:
    documents = numbered_documents([[(2, 3)] * 3, [(1, 1)] * 4])
    rows = literal_rows(documents, RowSettings(context=1), INDEXED)
    corpus = corpus_of(documents)
    groups = [3, 3, MIXED + 3, MIXED + 3, MIXED, -1, -2]  # one row by itself is not mixed with anything
    batch = flatten_batch(corpus.source, corpus.target, replace(rows_array(rows), group=np.array(groups)), INDEXED)
    check_batch(batch, rows, groups)
    for side in (batch.source, batch.target, Side.of_flat(batch.source).only_current()):
        assert side.mixed.tolist() == [False, True, False, False, False]


def test_a_target_of_nothing_but_empty_sentences_can_be_laid_out() -> None:
    """What decoding sees before anything is translated."""
    target = corpus_of([[([5], []), ([6], []), ([7], [])]]).target
    rows = Rows(np.arange(3), np.array([0, 1, 2]), np.arange(3), np.arange(3), np.zeros(3, dtype=np.int64))
    side = flatten_side(target, rows, INDEXED, close=False)
    assert side.tokens.tolist() == [100, 100, 101, 100, 101, 102]


@pytest.mark.parametrize("context", [0, 3])
def test_a_source_side_without_start_symbols_ends_every_sentence_with_the_end(context: int) -> None:
    documents = numbered_documents(ragged_lengths(np.random.default_rng(7), documents=5))
    rows = literal_rows(documents, RowSettings(context=context), ENDS_ONLY)
    corpus = corpus_of(documents)
    batch = flatten_batch(corpus.source, corpus.target, rows_array(rows), ENDS_ONLY)
    check_batch(batch, rows, [row.document for row in rows], ENDS_ONLY)


def test_a_sentence_that_ends_the_corpus_and_a_sentence_of_5000_tokens() -> None:
    documents = numbered_documents([[(5000, 4900), (1, 1)]])
    settings = RowSettings(max_tokens=6000)
    rows = literal_rows(documents, settings, INDEXED)
    corpus = corpus_of(documents)
    batch = flatten_batch(corpus.source, corpus.target, rows_array(rows), INDEXED)
    check_batch(batch, rows, [0, 0])


def test_no_module_of_the_room_needs_torch() -> None:
    modules = [f"docflat.data.{name.name}" for name in pkgutil.iter_modules(docflat.data.__path__)]
    assert "docflat.data.flat_layout" in modules
    program = f"import sys; sys.modules['torch'] = None; import {', '.join(modules)}"  # None: to import it is an error
    subprocess.run([sys.executable, "-c", program], check=True)
