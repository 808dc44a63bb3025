"""The shell itself completes, with what `docflat completion` prints."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from docflat.cli.completion import bash, fish, options_of
from docflat.cli.dispatch import VERBS, run, verb_parser

VERB_OPTIONS = {verb.name: options_of(verb_parser(verb)) for verb in VERBS}


def complete(*words: str) -> list[str]:
    """What bash offers for the last of these words."""
    line = " ".join(f"'{word}'" for word in words)
    script = "\n".join(bash(VERB_OPTIONS))
    script += f"\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _docflat; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    ended = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, cwd="/")
    assert ended.stderr == ""
    return sorted(ended.stdout.split())


def test_bash_completes_verbs_options_and_words() -> None:
    assert complete("docflat", "tra") == ["train", "translate"]
    assert complete("docflat", "help", "pre") == ["prepare"]
    assert complete("docflat", "translate", "--mod") == ["--mode", "--model"]
    assert complete("docflat", "translate", "--mode", "s") == ["sentence", "sequential", "stream"]
    assert complete("docflat", "bulk", "st") == ["status"]
    assert "--json" in complete("docflat", "bulk", "status", "--")
    assert complete("docflat", "translate", "us") == ["usr"]
    assert {"bash", "fish", "zsh"} <= set(complete("docflat", "completion", ""))
    assert complete("docflat", "translate", "--n-") == ["--n-best"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_scripts_are_good_ones(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "translate" in script
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True)


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("docflat tra", ["train", "translate"]),
        ("docflat help pre", ["prepare"]),
        ("docflat translate --mod", ["--mode", "--model"]),
        ("docflat translate --mode s", ["sentence", "sequential", "stream"]),
        ("docflat bulk st", ["status"]),
        ("docflat completion ", ["bash", "fish", "zsh"]),
    ],
)
def test_fish_completes_them_too(line: str, offered: list[str], tmp_path: Path) -> None:
    script = tmp_path / "docflat.fish"
    script.write_text("\n".join(fish(VERB_OPTIONS, {verb.name: verb.summary for verb in VERBS})), encoding="utf-8")
    command = ["fish", "--no-config", "-c", f"source {script}; complete -C '{line}'"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert sorted(word.split("\t")[0] for word in ended.stdout.splitlines() if word != script.name) == offered


def read_until(terminal: int, wanted: bytes) -> bytes:
    said, end = b"", time.monotonic() + 30
    while wanted not in said and time.monotonic() < end:
        if select.select([terminal], [], [], 0.2)[0]:
            said += os.read(terminal, 4096)
    return said


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_completes_by_the_function_of_bash(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On a terminal, where somebody types and presses Tab."""
    assert run(["completion", "zsh"]) == 0
    (tmp_path / "docflat.zsh").write_text(capsys.readouterr().out, encoding="utf-8")
    mine, its = pty.openpty()
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TERM": "dumb"}
    streams = {"stdin": its, "stdout": its, "stderr": its}
    shell = subprocess.Popen(["zsh", "-f", "-i"], cwd=tmp_path, env=environment, start_new_session=True, **streams)
    try:
        os.write(mine, b"ZSH_DISABLE_COMPFIX=true; source ./docflat.zsh; print re''ady\n")
        assert b"ready" in read_until(mine, b"ready")
        for typed, completed in (
            (b"docflat translate --mode seq", b"--mode sequential"),
            (b"docflat bulk st", b"bulk status"),
            (b"docflat completion fi", b"completion fish"),
        ):
            os.write(mine, typed + b"\t")
            assert completed in read_until(mine, completed)
            os.write(mine, b"\x15")  # the line is given up
    finally:
        shell.kill()
        shell.wait()
        os.close(mine)
        os.close(its)


def test_fish_has_every_verb_and_option() -> None:
    lines = fish(VERB_OPTIONS, {verb.name: verb.summary for verb in VERBS})
    assert "complete -c docflat -n '__fish_seen_subcommand_from translate' -l no-repairs" in lines
    nested = "__fish_seen_subcommand_from bulk; and __fish_seen_subcommand_from status"
    assert f"complete -c docflat -n '{nested}' -l json" in lines
