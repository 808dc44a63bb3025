"""Text that no model translates comes back as it went in, soon."""

from __future__ import annotations

from typing import Any
from unicodedata import normalize

import pytest

from docflat import Translator
from docflat.translation.untranslatable import LONGEST_WORD, is_foreign, split_endless


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load(device="cpu")


def test_scripts():
    for text, language, expected in (
        ("我们明天去北京。", "en", True),
        ("Мы едем завтра в Москву.", "en", True),
        ("Мы едем завтра в Москву.", "ru", False),
        ("我们明天去北京。", None, False),
        ("我们明天去北京。", "xx", False),
        ("Mr. Łukasz Żółć met Владимир in Kyiv.", "en", False),
        ("The word 北京 means Beijing.", "en", False),
        ("😀 🎉", "en", False),
        ("🎉 12 %", "de", False),
        ("Ça va où?", "fr", False),
    ):
        assert is_foreign(text, language) == expected, text


def test_words_without_an_end():
    word = "x" * LONGEST_WORD
    assert split_endless(f"a {word}y b") == ["a ", f"{word}y", " b"]
    assert split_endless(word[1:]) == [word[1:]]
    assert split_endless("北" * 1000) == ["北" * 1000]


@pytest.mark.parametrize("text", ["我们明天去北京。", "Мы едем завтра в Москву.", "a" * 5000, "Привет"])
def test_what_is_not_translated_takes_no_step(translator: Translator, text: str, monkeypatch: pytest.MonkeyPatch):
    def decode(source: list[list[list[int]]], *settings: Any) -> Any:
        assert not any(ids for document in source for ids in document)
        return source

    monkeypatch.setattr(translator.decoder, "decode", decode)
    assert translator.translate([text, ""]) == [text, ""]


def test_around_a_word_without_an_end(translator: Translator):
    word = "f3" * LONGEST_WORD
    first, second = translator.translate(["He sleeps.", f"The key is {word} and it is long."])
    assert first == "Er schläft."
    assert word in second
    assert len(second) < len(word) + 100


def test_accents_that_stand_apart_are_read_as_those_that_do_not(translator: Translator):
    text = "The café in Zürich is closed."
    assert translator.translate([normalize("NFD", text)]) == translator.translate([text])


def test_half_a_character_is_never_written(translator: Translator, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(type(translator.model.subwords), "decode", lambda self, ids: "Haus \ufffd")
    assert translator.translate(["A house 龘."]) == ["A house 龘."]


def test_a_text_is_a_document(translator: Translator):
    text = " He sleeps.  She sleeps.\n\nThey sleep.\n"
    he, she, they = translator.translate(["He sleeps.", "She sleeps.", "They sleep."])
    assert translator.translate(text) == f" {he}  {she}\n\n{they}\n"
    assert repr(translator).startswith("<Translator en-de, docflat")
