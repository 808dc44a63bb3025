"""Inputs that broke a reader once are samples, and break none any more; some thousand new ones are tried each time."""

from __future__ import annotations

import os
import struct
import time
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from docflat.formats import FORMATS
from fuzz import watch
from fuzz.inputs import make, pack
from fuzz.readers import READERS, Reader, WrongFile, read_one
from fuzz.seeds import PARTS, TEXTS
from fuzz.watch import Run, read_sample, samples, shrunk

SAMPLES = list(samples())
NAMES = [reader.name for reader in READERS]
FORMAT_READERS = [reader for reader in READERS if reader.name.startswith("translate")]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name.removesuffix(".sample"))
def test_what_broke_a_reader_once_does_not_again(sample: Path, tmp_path: Path) -> None:
    reader, data, random = read_sample(sample)
    read_one(reader, data, random, tmp_path)


@pytest.mark.parametrize("reader", READERS, ids=NAMES)
def test_a_seed_is_read(reader: Reader, tmp_path: Path) -> None:
    """What mutations start from must be a good file, or nothing behind the first check is ever reached."""
    seeds = [text.encode() for text in TEXTS.get(reader.kind, ())] or [pack(PARTS[reader.kind], 0, Random(5))]
    assert "read" in [read_one(reader, seed, Random(0), tmp_path) for seed in seeds]


@pytest.mark.parametrize("reader", READERS, ids=NAMES)
def test_no_input_breaks_a_reader(reader: Reader, tmp_path: Path) -> None:
    outcomes = [
        read_one(reader, make(reader.kind, Random(f"test {n}")), Random(f"check {n}"), tmp_path) for n in range(40)
    ]
    assert set(outcomes) == {"read", "refused"} or reader.kind in ("md", "html", "txt", "properties", "recipe", "lines")


@pytest.mark.parametrize("reader", FORMAT_READERS, ids=[reader.name for reader in FORMAT_READERS])
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(random=st.randoms(use_true_random=False))
def test_no_input_of_hypothesis_breaks_a_reader(
    reader: Reader, tmp_path_factory: pytest.TempPathFactory, random: Random
) -> None:
    read_one(reader, make(reader.kind, random), random, tmp_path_factory.getbasetemp())


def test_every_format_has_a_reader_here() -> None:
    covered = {FORMATS[f".{reader.kind}"] for reader in READERS if reader.name.startswith("translate .")}
    assert covered == set(FORMATS.values())


def _reader(check: object) -> Reader:
    return Reader("made up", "txt", check)  # type: ignore[arg-type]


def test_a_run_notes_what_goes_wrong_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault, a hang, a bomb and an end of the process are noted; the inputs after them are read."""

    def check(data: bytes, random: Random, folder: Path) -> None:
        (number,) = struct.unpack("q", run.now[:8])
        if number == 3:
            raise WrongFile("three")
        while number == 4:
            pass
        if number == 5:
            bytearray(2 << 30)
        if number == 6:
            os._exit(9)

    monkeypatch.setattr(watch, "READERS", [_reader(check)])
    monkeypatch.setattr(watch, "MOST_SECONDS", 0.2)
    run = Run(tmp_path, seed=1)
    state = run.go(8, time.time() + 60)
    assert (state.number, state.fatal) == (8, [6])
    faults = sorted(name.split()[2] for name in state.faults if name.startswith("made up"))
    assert faults == ["MemoryError", "TooSlow", "WrongFile"]
    assert state.counts["made up: read"] == 4


def test_a_run_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "READERS", [_reader(lambda data, random, folder: None)])
    Run(tmp_path, seed=1).go(3, time.time() + 60)
    state = Run(tmp_path, seed=2).go(5, time.time() + 60)
    assert (state.seed, state.number, state.counts) == (1, 5, {"made up: read": 5})


def test_a_shrunk_input_is_what_fails() -> None:
    assert shrunk(b"aaaaXbbbbbbbYcc", lambda data: b"X" in data and b"Y" in data, time.time() + 60) == b"XY"
