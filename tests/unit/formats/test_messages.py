"""Messages of programs: what stands in them beside words comes out as it went in."""

from __future__ import annotations

import json

import pytest
from test_plain_text import shouted, texts


def translated(message: str) -> str:
    found = json.loads(shouted("x.json", json.dumps({"text": message}), keys=("text",)))
    assert isinstance(found["text"], str)
    return found["text"]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Run `npm run build` now", "RUN `npm run build` NOW"),
        ("Use `<b>x</b>` or <b>this one</b>", "USE `<b>x</b>` OR <b>THIS ONE</b>"),
        ("See [the {name} page](../guide/start.md) for more", "SEE [THE {name} PAGE](../guide/start.md) FOR MORE"),
        ("[{x} items](../y)", "[{x} ITEMS](../y)"),
        ("Press <0>this button</0> or <1/>", "PRESS <0>THIS BUTTON</0> OR <1/>"),
        ("If 1 <2 and 3> 2, stop", "IF 1 <2 AND 3> 2, STOP"),
        ("Well done :tada: and :+1: to you", "WELL DONE :tada: AND :+1: TO YOU"),
        ("At 10:30:45 it ends: now", "AT 10:30:45 IT ENDS: NOW"),
        ("no apples | one apple | {count} apples", "NO APPLES | ONE APPLE | {count} APPLES"),
        ("{0} No file|{1} One file|[2,*] :count files", "{0} NO FILE|{1} ONE FILE|[2,*] :count FILES"),
        ("{n|one file} stays", "{n|one file} STAYS"),
        ("A `a|b` here", "A `a|b` HERE"),
    ],
)
def test_messages_are_translated_around_their_codes(message: str, expected: str):
    assert translated(message) == expected


def test_forms_with_bars_are_texts_of_their_own():
    assert texts("x.json", json.dumps({"text": "one file|many files"}), keys=("text",)) == ["one file", "many files"]


def test_bars_of_restructured_text_part_nothing():
    assert texts("x.po", 'msgid "See |version| of it"\nmsgstr ""\n') == ["See |version| of it"]
