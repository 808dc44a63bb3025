"""The training log: lines for whoever listens to the logger, JSONL, TensorBoard."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any, TextIO

from docflat.support.atomic import write_whole
from docflat.support.console import finite

logger = logging.getLogger(__name__)


class Log:
    """Log of one stage. Only the first process writes one; the others' is silent."""

    def __init__(self, folder: Path, resumed_step: int, tensorboard: bool, silent: bool = False) -> None:
        self.silent = silent
        self.file: TextIO | None = None
        self.board: Any = None
        if silent:
            return
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "log.jsonl"
        # What was logged after the checkpoint that training goes on from will be logged again.
        # So will the stage's model be, which comes last: a stage that goes on is not finished.
        records = [(line, json.loads(line)) for line in _lines(path)]
        earlier = [line for line, record in records if record["step"] <= resumed_step and record["kind"] != "model"]
        write_whole(path, "".join(earlier))
        self.file = path.open("a", encoding="utf-8")
        if tensorboard:
            try:
                from torch.utils.tensorboard import SummaryWriter

                self.board = SummaryWriter(folder / "tensorboard", purge_step=resumed_step + 1)
            except ImportError:
                logger.warning("no TensorBoard log: pip install 'docflat[tensorboard]', or say tensorboard: false")

    def record(self, step: int, kind: str, lasting: bool = False, **values: float | str | None) -> None:
        """Numbers of one moment. lasting: the line stays on a terminal, where others overwrite each other."""
        if self.file is None:
            return
        # NaN is not JSON; a loss that is none reads as null.
        numbers = {name: finite(value) for name, value in values.items()}
        self.file.write(json.dumps({"step": step, "kind": kind, **numbers}) + "\n")
        self.file.flush()
        if self.board is not None:
            for name, value in values.items():
                if isinstance(value, (int, float)):
                    self.board.add_scalar(f"{kind}/{name}", value, step)
            self.board.flush()
        words = [f"{name.replace('_', ' ')} {_number(value)}" for name, value in values.items() if value is not None]
        self.say(f"step {step}: {kind}  " + "  ".join(words), lasting)

    def say(self, text: str, lasting: bool = True) -> None:
        if not self.silent:
            logger.info(text, extra={"passing": not lasting})

    def close(self) -> None:
        if self.file is not None:
            self.file.close()
        if self.board is not None:
            self.board.close()


def _lines(path: Path) -> list[str]:
    """Whole lines only: a kill may have cut the last one."""
    if not path.exists():
        return []
    return [line for line in path.read_text(encoding="utf-8").splitlines(keepends=True) if line.endswith("\n")]


def _number(value: float | str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"
