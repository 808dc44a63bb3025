"""What commands write, and what they must not write over; in processes of their own, as streams and signals are."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from docflat.cli import dispatch as cli

Capture = pytest.CaptureFixture[str]
DOCFLAT = [sys.executable, "-m", "docflat"]
PREPARED = ["prepare", "--source", "x.en", "--target", "x.de", "--vocabulary", "300", "--hold-out", "0"]


@pytest.fixture
def aligned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    lines = "".join(f"He sees the moon {n}. It is his.\n" for n in range(50))
    (tmp_path / "x.en").write_text(lines)
    (tmp_path / "x.de").write_text(lines.replace("moon", "Mond").replace("It", "Er"))
    return tmp_path


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    docflat = f"{sys.executable} -m docflat"
    words = ["bash", "-c", command.replace("docflat", docflat, 1)]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize(
    ("command", "status", "error"),
    [
        ("SCORE >&-", 2, "stdout: cannot be written: Bad file descriptor"),
        ("SCORE --json > /dev/full", 2, "stdout: cannot be written: No space left on device"),
        ("SCORE 2>&- >&-", 2, None),
        ("set -o pipefail; SCORE | true", 141, None),
    ],
)
def test_stdout_that_takes_nothing(aligned: Path, command: str, status: int, error: str | None):
    score = "docflat evaluate --hypothesis x.de --reference x.de --metrics chrf --bootstrap 0"
    ended = shell(command.replace("SCORE", score), aligned)
    assert ended.returncode == status
    assert ended.stderr == (f"docflat: error: {error}\n" if error else "")


def test_a_disk_that_is_full(aligned: Path):
    """A limit of the size of files, in blocks of 1,024 bytes, stands for it; SIGXFSZ is ignored by Python."""
    ended = shell(f"ulimit -f 2; docflat {' '.join(PREPARED)} --out out", aligned)
    assert ended.stderr == f"docflat: error: {aligned}/out/tokenizer.json: cannot be written: File too large\n"
    assert ended.returncode == 2
    assert sorted(os.listdir(aligned)) == ["x.de", "x.en"]


def as_usual() -> None:
    """What was started in the background ignores SIGINT, by nohup SIGHUP, and so would what it starts."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_signals_leave_nothing_behind(aligned: Path, number: signal.Signals):
    for name in ("x.en", "x.de"):  # more than is read before the signal comes
        (aligned / name).write_text((aligned / name).read_text() * 2000)
    process = subprocess.Popen(
        [*DOCFLAT, *PREPARED, "--out", "out"], cwd=aligned, stderr=subprocess.DEVNULL, preexec_fn=as_usual
    )
    deadline = time.monotonic() + 30
    while not any(name.endswith(".partial") for name in os.listdir(aligned)) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(number)
    assert process.wait(30) == 128 + number
    assert sorted(os.listdir(aligned)) == ["x.de", "x.en"]


def test_what_is_read_is_not_written_over(aligned: Path, capsys: Capture):
    os.link("x.en", "hard")
    os.symlink("x.en", "soft")
    before = (aligned / "x.en").read_text()
    for name in ("x.en", "hard", "soft", "./x.en"):
        for force in ([], ["--force"]):
            assert cli.run(["contrast", "build", *PREPARED[1:5], "-o", name, *force]) == 2
            message = "would be overwritten: this command has it twice"
            assert capsys.readouterr().err == f"docflat: error: {Path(name)}: {message}\n"
    assert (aligned / "x.en").read_text() == before


def test_what_is_there_is_replaced_only_with_force(aligned: Path, capsys: Capture):
    Path("set.jsonl").write_text("precious")
    words = ["contrast", "build", *PREPARED[1:5], "-o", "set.jsonl"]
    assert cli.run(words) == 2
    assert capsys.readouterr().err == "docflat: error: set.jsonl: exists already (--force replaces it)\n"
    for verb, option in (("context", "--tokens"), ("contrast", "--scores")):
        files = ["x.en"] if verb == "contrast" else ["--source", "x.en", "--reference", "x.de"]
        assert cli.run([verb, *files, option, "set.jsonl"]) == 2
        assert "set.jsonl: exists already" in capsys.readouterr().err
    assert Path("set.jsonl").read_text() == "precious"
    assert cli.run([*words, "--force"]) == 2
    assert "nothing to write: found 0 of er" in capsys.readouterr().err  # past the check, to the work


def test_messages_are_kept_and_silenced(aligned: Path, capsys: Capture):
    words = [*PREPARED[:5], "--vocabulary", "9999", "--hold-out", "0", "--log", "log"]
    assert cli.run([*words, "--out", "one", "--quiet"]) == 0
    loud, quiet = "docflat: warning: The text has only", capsys.readouterr()
    assert quiet.err == ""
    assert "train" in quiet.out  # a result
    assert cli.run([*words, "--out", "two"]) == 0
    assert loud in capsys.readouterr().err
    assert cli.run([*words, "--out", "two"]) == 2
    kept = Path("log").read_text().splitlines()
    assert [line.split(" ", 1)[1].split(" ")[0] for line in kept] == ["warning:", "warning:", "error:"]


def test_help_of_a_verb_by_its_name(capsys: Capture):
    for words in (["help", "contrast", "build"], ["contrast", "build", "--help"]):
        with pytest.raises(SystemExit) as stopped:
            cli.run(words)
        assert stopped.value.code == 0
        assert capsys.readouterr().out.startswith("usage: docflat contrast build")
    with pytest.raises(SystemExit):
        cli.run(["help"])
    assert "verbs:" in capsys.readouterr().out
