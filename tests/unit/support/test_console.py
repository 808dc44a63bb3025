from __future__ import annotations

import contextlib
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from docflat.support.console import complain, print_json, print_table, progress, report, say, warn

ROWS = [["文档", 1.23456, None], ["a [bold]b", 12345, 5e-7]]


def test_piped_table_is_aligned_plain_text(capsys: pytest.CaptureFixture[str]):
    print_table(["name", "loss", "rate"], ROWS, title="losses")
    # Chinese characters are two columns wide, as POSIX wcwidth has it.
    assert capsys.readouterr().out.splitlines() == [
        "losses",
        "name        loss   rate",
        "文档       1.235      -",
        "a [bold]b  12345  5e-07",
    ]


def test_json_is_one_document_with_exact_values(capsys: pytest.CaptureFixture[str]):
    print_table(["name", "loss", "at"], [["ä", 0.1 + 0.2, Path("x")], ["b", float("nan"), None]], as_json=True)
    out = capsys.readouterr().out
    assert "ä" in out
    strict = json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert strict == [{"name": "ä", "loss": 0.1 + 0.2, "at": "x"}, {"name": "b", "loss": None, "at": None}]


def test_table_without_rows(capsys: pytest.CaptureFixture[str]):
    print_table(["a", "b"], [])
    print_table(["a", "b"], [], as_json=True)
    assert capsys.readouterr().out == "a  b\n[]\n"


def test_progress_is_silent_where_stderr_is_no_terminal(capsys: pytest.CaptureFixture[str]):
    with progress("working", total=3) as advance:
        advance()
        advance(2)
    assert capsys.readouterr() == ("", "")


def test_a_terminal_finds_nothing_to_obey(capsys: pytest.CaptureFixture[str]):
    """Titles set, screens cleared, lines overwritten, text turned around, and names that are no UTF-8."""
    nasty = "a\x1b]0;title\x07\x1b[2J\rb\nc\x9b1m\u202etxt.exe\udcff\t\x7f\u2028"
    escaped = "a\\x1b]0;title\\x07\\x1b[2J\\x0db\\x0ac\\x9b1m\\u202etxt.exe\\xff\t\\x7f\\u2028"
    say(nasty)
    report(nasty)
    print_table(["name"], [[nasty]], title=nasty)
    assert capsys.readouterr().out.splitlines() == [escaped, escaped, escaped, "name", escaped]
    warn(nasty)
    complain(nasty)
    first, second = capsys.readouterr().err.splitlines()
    assert first == f"docflat: warning: {escaped}"
    assert not set(second) & set(nasty) - set("\t") - set(escaped)
    print_json([nasty])
    out = capsys.readouterr().out
    assert json.loads(out) == [nasty]
    assert not set(out) & set(nasty) - set("\n") - set(escaped)


def test_warning_goes_to_stderr(capsys: pytest.CaptureFixture[str]):
    warn("careful")
    assert capsys.readouterr() == ("", "docflat: warning: careful\n")


def on_terminal(code: str, stdout: Path | None = None) -> str:
    """What a program shows on a terminal that is its stderr, and its stdout too unless that is a file."""
    terminal, theirs = pty.openpty()
    with open(stdout or os.devnull, "wb") as file:
        command = [sys.executable, "-c", code]
        environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
        child = subprocess.Popen(command, stdout=file if stdout else theirs, stderr=theirs, env=environment)
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # which Linux raises when the child has gone
        while chunk := os.read(terminal, 4096):
            shown += chunk
    os.close(terminal)
    assert child.wait() == 0, shown.decode()
    return shown.decode()


WORK = """
from docflat.support.console import print_table, progress
with progress("working [x]", total=3) as advance:
    advance()
    print("a result")
    advance(2)
print_table(["name"], [["[bold]x"]])
"""


def test_progress_on_a_terminal_leaves_another_stdout_alone(tmp_path: Path):
    shown = on_terminal(WORK, stdout=tmp_path / "out")
    assert "working [x]" in shown
    assert "3/3" in shown
    assert "a result" not in shown
    assert (tmp_path / "out").read_text() == "a result\nname\n[bold]x\n"


def test_all_on_one_terminal():
    shown = on_terminal(WORK)
    assert "a result" in shown
    assert "3/3" in shown
    assert "[bold]x" in shown
