"""The notebook runs from top to bottom, cell by cell, and shows what its text says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[2] / "examples" / "context.ipynb"


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    """What its cells define."""
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    names: dict[str, Any] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert not cell["outputs"], "what it prints is for whoever runs it"
            exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
    return names


def test_context_changes_the_pronouns(names: dict[str, Any]) -> None:
    assert names["together"][1].startswith("Sie ")
    assert names["together"][3].startswith("Er ")
    assert names["together"] != names["alone"]


def test_the_model_believes_in_the_pronoun_of_the_noun(names: dict[str, Any]) -> None:
    document = ["The town has bought a new lamp.", "It is made of glass."], ["Die Stadt hat eine neue Lampe gekauft."]
    with_context, without = names["beliefs"](*document), names["beliefs"](*document, False)
    assert sum(with_context.values()) == pytest.approx(1)
    assert with_context["Sie"] > 0.8 > without["Sie"]
    shares = names["share_of_sie"]
    assert shares[0] > 0.8 > 0.5 > shares[3]
