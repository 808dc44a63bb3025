"""The report of a translation counts the sentences that `--changes` shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docflat import Translator
from docflat.cli.dispatch import run
from docflat.translation.repairing import Edited, repair, translate_and_repair

LINES = [
    "A lamp stands on the table.",
    "It is made of glass.",
    "Doors open at 7 pm.",
    "The bridge is closed.",
    "It is too narrow, and nobody repairs it.",
    "Good morning.",
]


def test_sentences_count_as_changed_that_are_not_what_the_model_makes_of_them_alone() -> None:
    translator = Translator.load(threads=1)
    (sentences,) = translate_and_repair(translator, [LINES])
    alone = translator.translate(LINES, mode="sentence")
    changed = [one.changed_by_context for one in sentences]
    assert changed == [one.text != other for one, other in zip(sentences, alone, strict=True)]
    assert 0 < sum(changed) < len(LINES)
    (other_mode,) = translate_and_repair(translator, [LINES[:2]], mode="two-pass")
    assert not any(one.changed_by_context for one in other_mode)


def test_a_draft_that_repairs_make_equal_was_not_changed() -> None:
    source, languages = "$1,234,567.89 including tax", ("en", "de")
    wrong, right = "1,234,567,89 inklusive Steuern", "1.234.567,89 inklusive Steuern"
    assert repair(source, wrong, languages).text == right
    assert not repair(source, Edited.of(right, wrong), languages).changed_by_context
    assert repair(source, Edited.of("1.234.567,89 mit Steuern", wrong), languages).changed_by_context
    assert not isinstance(Edited.of("the same", "the same"), Edited)


@pytest.mark.parametrize("name", ["text.txt", "text.md"])
def test_the_report_has_the_number_that_changes_shows(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / name
    file.write_text("\n".join(LINES) + "\n" if name.endswith("txt") else "\n\n".join(LINES) + "\n")
    assert run(["translate", str(file), "-o", str(tmp_path / f"out{file.suffix}"), "--threads", "1", "--changes"]) == 0
    printed = "".join(capsys.readouterr())
    shown = len(re.findall("without context:", printed))
    assert shown > 0
    assert f"context changed {shown} of {len(LINES)} sentences" in printed
