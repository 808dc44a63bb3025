"""The log: JSON lines that a killed training goes on with, and what a terminal shows."""

from __future__ import annotations

import io
import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest

from docflat.support.console import messages
from docflat.training.log import Log

Capture = pytest.CaptureFixture[str]


def records(folder: Path) -> list[dict[str, Any]]:
    """log.jsonl, strictly JSON."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    text = (folder / "log.jsonl").read_text(encoding="utf-8")
    assert text == "" or text.endswith("\n")
    return [json.loads(line, parse_constant=refuse) for line in text.splitlines()]


def fill(folder: Path, *steps: int) -> None:
    log = Log(folder, 0, tensorboard=False)
    for step in steps:
        log.record(step, "train", loss=step / 10)
    log.close()


def steps_after(folder: Path, resumed: int) -> list[int]:
    Log(folder, resumed, tensorboard=False).close()
    return [record["step"] for record in records(folder)]


def test_a_record_is_a_line(tmp_path: Path):
    log = Log(tmp_path / "new" / "folder", 0, tensorboard=False)
    log.record(3, "train", loss=0.1 + 0.2, mfu=None, time_left="0:00:01")
    log.record(4, "validation", True, loss=1.0, bleu=12.5)
    expected = [
        {"step": 3, "kind": "train", "loss": 0.1 + 0.2, "mfu": None, "time_left": "0:00:01"},
        {"step": 4, "kind": "validation", "loss": 1.0, "bleu": 12.5},
    ]
    assert records(tmp_path / "new" / "folder") == expected  # at once, not when it is closed
    log.close()
    assert records(tmp_path / "new" / "folder") == expected


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_json_all_the_same(tmp_path: Path, value: float):
    log = Log(tmp_path, 0, tensorboard=False)
    log.record(1, "train", loss=value)
    log.close()
    assert records(tmp_path)[0]["step"] == 1


@pytest.mark.parametrize(
    ("resumed", "kept"), [(0, []), (1, []), (2, [2]), (5, [2, 4]), (6, [2, 4, 6]), (99, [2, 4, 6, 8])]
)
def test_a_resumed_log_drops_later_lines(tmp_path: Path, resumed: int, kept: list[int]):
    fill(tmp_path, 2, 4, 6, 8)
    before = (tmp_path / "log.jsonl").read_text()
    assert steps_after(tmp_path, resumed) == kept
    assert before.startswith((tmp_path / "log.jsonl").read_text())  # the lines that stay are untouched


def test_a_resumed_log_goes_on(tmp_path: Path):
    fill(tmp_path, 2, 4, 6)
    log = Log(tmp_path, 4, tensorboard=False)
    log.record(6, "train", loss=9.0)
    log.close()
    assert [(record["step"], record["loss"]) for record in records(tmp_path)] == [(2, 0.2), (4, 0.4), (6, 9.0)]


@pytest.mark.parametrize("half", ['{"step": 2, "ki', "{", '{"step": 2, "kind": "train", "loss": 0.2}', '{"step": 2'])
def test_half_a_line_at_the_end_is_dropped(tmp_path: Path, half: str):
    """A kill may have cut it anywhere, even just before the line's end."""
    fill(tmp_path, 1, 2)
    with (tmp_path / "log.jsonl").open("a") as file:
        file.write(half)
    log = Log(tmp_path, 2, tensorboard=False)
    log.record(3, "train", loss=0.3)
    log.close()
    assert [record["step"] for record in records(tmp_path)] == [1, 2, 3]


def test_an_empty_log_is_one(tmp_path: Path):
    (tmp_path / "log.jsonl").write_text("")
    assert steps_after(tmp_path, 5) == []


def test_a_silent_log_writes_nothing(tmp_path: Path, capsys: Capture):
    log = Log(tmp_path / "folder", 0, tensorboard=True, silent=True)
    log.record(1, "train", loss=1.0)
    log.say("a word")
    log.close()
    assert not (tmp_path / "folder").exists()
    assert capsys.readouterr() == ("", "")


def test_plain_lines_where_there_is_no_terminal(tmp_path: Path, capsys: Capture):
    with messages(quiet=False, verbose=False, log=None):
        log = Log(tmp_path, 0, tensorboard=False)
        log.say("it begins")
        figures = {"loss": 1.23456789, "epoch": 3, "target_tokens_per_second": 12345.6}
        log.record(1234, "train", **figures, mfu=None, time_left="0:01:00")
        log.close()
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[0] == "it begins"
    line = err.splitlines()[1]
    for part in ("step 1234", "train", "loss 1.235", "epoch 3", "12,346", "time left 0:01:00"):
        assert part in line
    assert "None" not in line
    assert "mfu" not in line
    assert "\x1b" not in err
    assert "\r" not in err


def test_one_live_line_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with messages(quiet=False, verbose=False, log=None):
        log = Log(tmp_path, 0, tensorboard=False)
        for step in (1, 2, 3):
            log.record(step, "train", loss=1.0)
    assert terminal.getvalue().count("\n") == 0
    assert terminal.getvalue().count("\r") == 3
    with messages(quiet=False, verbose=False, log=None):
        log.record(3, "validation", True, loss=1.0)
        log.record(4, "train", loss=1.0)
        log.close()
    assert "validation" in terminal.getvalue().split("\n")[0].split("\r")[-1]
    assert terminal.getvalue().count("\n") == 1


def test_tensorboard_goes_on_where_training_does(tmp_path: Path):
    event_accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    log = Log(tmp_path, 0, tensorboard=True)
    for step in (1, 2, 3):
        log.record(step, "train", loss=float(step), mfu=None, time_left="soon")
    log.close()
    log = Log(tmp_path, 2, tensorboard=True)
    log.record(3, "train", loss=30.0)
    log.close()
    events = event_accumulator.EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    assert events.Tags()["scalars"] == ["train/loss"]
    assert [(event.step, event.value) for event in events.Scalars("train/loss")] == [(1, 1.0), (2, 2.0), (3, 30.0)]


def test_a_program_that_trains_is_not_written_over(tmp_path: Path, capsys: Capture):
    """Without the command line, who wants the lines listens to the logger."""
    log = Log(tmp_path, 0, tensorboard=False)
    log.say("it begins")
    log.close()
    assert capsys.readouterr() == ("", "")


def test_no_tensorboard_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture):
    monkeypatch.delitem(sys.modules, "torch.utils.tensorboard", raising=False)
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    log = Log(tmp_path, 0, tensorboard=True)
    log.record(1, "train", loss=1.0)
    log.close()
    (record,) = [record for record in caplog.records if record.levelname == "WARNING"]
    assert record.getMessage().startswith("no TensorBoard log")
    assert records(tmp_path) == [{"step": 1, "kind": "train", "loss": 1.0}]
