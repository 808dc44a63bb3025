"""What context changed: translations beside those of the same sentences by themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pytest

from docflat.decoding.settings import EDIT_BEAM
from docflat.service.together import Together
from docflat.service.translators import compare
from docflat.translation.translator import Translator


class ByBeam:
    """Its words depend on how wide it searches."""

    languages = None
    usual_beam = EDIT_BEAM

    def translate_documents(
        self,
        documents: Iterable[Sequence[str]],
        chunk: int = 2000,
        done: Callable[[int], None] = lambda sentences: None,
        **settings: Any,
    ) -> Iterator[list[str]]:
        assert settings["mode"] == "sentence"
        yield from ([f"{text} {settings.get('beam', 5)}" for text in document] for document in documents)

    def align(self, pairs: Sequence[tuple[str, str]]) -> list[None]:
        return [None] * len(pairs)


def test_only_context_counts_as_a_change_and_no_wider_search() -> None:
    rows = [("One.", f"One. {EDIT_BEAM}", True), ("Two.", f"Two! {EDIT_BEAM}", True)]
    same, other = compare(ByBeam(), rows, lambda sentences: None, {})
    assert same["alone"] == f"One. {EDIT_BEAM}"
    assert [instead for _, instead in same["parts"]] == [None]
    assert any(instead is not None for _, instead in other["parts"])


@pytest.mark.parametrize("callers", [0, 2])
def test_the_usual_beam_is_that_of_the_mode_that_is_usual(callers: int) -> None:
    translator = Translator.load(threads=1)
    assert translator.decoder.settings().mode == "edit"
    assert (Together(translator, callers) if callers else translator).usual_beam == EDIT_BEAM
