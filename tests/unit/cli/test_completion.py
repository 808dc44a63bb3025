"""The shell itself completes, with what `docflat completion` prints."""

from __future__ import annotations

import shutil
import subprocess

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


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_scripts_are_good_ones(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "translate" in script
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True)


def test_fish_has_every_verb_and_option() -> None:
    lines = fish(VERB_OPTIONS, {verb.name: verb.summary for verb in VERBS})
    assert "complete -c docflat -n '__fish_seen_subcommand_from translate' -l no-repairs" in lines
    nested = "__fish_seen_subcommand_from bulk; and __fish_seen_subcommand_from status"
    assert f"complete -c docflat -n '{nested}' -l json" in lines
