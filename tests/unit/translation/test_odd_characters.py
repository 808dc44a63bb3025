"""Characters that no model learned come back as they went in, whatever the model makes of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from docflat.translation.odd_characters import (
    cut_at_odd,
    find_odd,
    is_wordless,
    keep_odd,
    split_untranslatable,
    visible,
)
from docflat.translation.untranslatable import LONGEST_WORD

PAIR = ("en", "de")
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"


@pytest.mark.parametrize(
    ("text", "odd"),
    [
        ("plain, naïve – “Größe” ½ 5 € ≥ 3 µm ﬁ Ł", []),
        ("a 寿司 b при c", ["寿司", "при"]),
        ("Мир и мир!", ["Мир и мир"]),
        (f"x {FAMILY}. y ❤\ufe0f 👍🏽", [FAMILY, "❤\ufe0f 👍🏽"]),
        ("go → on ☃", ["→", "☃"]),
        ("\ue000 \U0010fffe", ["\ue000 \U0010fffe"]),
    ],
)
def test_odd_is_what_neither_language_writes(text: str, odd: list[str]) -> None:
    parts = cut_at_odd(text, find_odd(text, PAIR))
    assert parts[1::2] == odd
    assert "".join(parts) == text


def test_scripts_of_the_pair_are_not_odd_and_of_unknown_pairs_only_pictographs_are() -> None:
    assert find_odd("寿司 и a", ("ja", "ru")) == []
    assert find_odd("寿司 и 🎉", None) == [(5, 6)]
    assert find_odd("寿司 и 🎉", ("xx", "de")) == [(5, 6)]


def test_what_nobody_sees_is_left_out() -> None:
    assert visible("co\u00adop\u200b \u202e \ufeffend", "en") == "coop end"
    assert visible("\u200b", "en") == ""
    for language in ("fa", "th", "xx", None):
        assert visible("a\u200b\u200fb", language) == "a\u200b\u200fb"


def test_heaps_of_marks_are_left_out_and_accents_stay() -> None:
    assert visible("H" + "\u0301\u0489\u0336" * 10 + "e" + "\u0301" * 10_000, "en") == "He"
    assert visible("e\u0323\u0302 n\u0303", "vi") == "e\u0323\u0302 n\u0303"


def test_no_words_no_model() -> None:
    assert is_wordless("🎉 🎉!", PAIR)
    assert is_wordless("при", PAIR)
    for text in ("...", "🎉 3", "при, a", ""):
        assert not is_wordless(text, PAIR)


def test_long_stretches_are_cut_out_and_nothing_is_lost() -> None:
    emoji, word = "🎉 " * LONGEST_WORD + "🎉", "y" * LONGEST_WORD
    text = f"One {emoji} two {word} three 🎉 four"
    assert split_untranslatable(text, PAIR) == ["One ", emoji, " two ", word, " three 🎉 four"]


def loses_all(texts: Sequence[str]) -> list[str]:
    return ["".join(letter for letter in text if letter < "\u0370").replace("XQ", "Q") for text in texts]


def knows_stand_ins(texts: Sequence[str]) -> list[str]:
    return ["".join(letter for letter in text if letter < "\u0370").replace("of", "von") for text in texts]


@pytest.mark.parametrize(
    ("model", "expected"),
    [(loses_all, "A bowl of 寿司, a 🎉."), (knows_stand_ins, "A bowl von 寿司, a 🎉.")],
)
def test_whatever_a_model_loses_comes_back(model: Callable[[Sequence[str]], list[str]], expected: str) -> None:
    texts = ["A bowl of 寿司, a 🎉.", "plain", "x寿y"]
    written = keep_odd(texts, model(texts), PAIR, model)
    assert written == [expected, "plain", "x寿y"]


def test_what_stayed_as_it_was_is_done_again_unless_it_is_foreign() -> None:
    texts = ["a bowl of 🎉", "при вет a", "🎉"]
    assert keep_odd(texts, texts, PAIR, knows_stand_ins) == ["a bowl von 🎉", "при вет a", "🎉"]


def test_what_a_model_kept_is_not_asked_again() -> None:
    def never(texts: Sequence[str]) -> list[str]:
        assert not texts
        return []

    assert keep_odd(["a 🎉 b"], ["B 🎉 A"], PAIR, never) == ["B 🎉 A"]
    assert keep_odd(["🎉 and 🎉"], ["🎉"], PAIR, loses_all) == ["🎉 and 🎉"]
