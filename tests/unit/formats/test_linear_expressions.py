"""Every regular expression that reads files: twice the text takes about twice the steps."""

from __future__ import annotations

import importlib
import inspect
import math
import pkgutil
import re
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from regex_steps import Matcher, TooManySteps

import docflat.formats
import docflat.translation

SEARCHES = {"search", "finditer", "findall", "sub", "split", "subn"}
# What these search is short, or a parser has read it, or the first thing in it that does not fit ends the reading.
READ_BEFORE = {
    "translation.repairs.numbers_german._LABELLED": "the last 200 characters",
    "translation.sentences._SPELLED": "the last 60 characters",
    "translation.sentences._ORDINAL": "the last 60 characters",
    "formats.catalogues.apple_strings._TOKEN": "a string or comment that stays open is refused where it starts",
    "formats.catalogues.json._TOKEN": "valid JSON: no string stays open",
    "formats.positioned_xml._ATTRIBUTE": "a tag that expat has read: each name has a value",
    "translation.bilingual_drafts._TEXT": "XML that expat has read: comments and sections end",
}
MOST = 3.0  # 2 is linear, 4 quadratic


def modules() -> Iterator[ModuleType]:
    for package in (docflat.formats, docflat.translation):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            yield importlib.import_module(found.name)


def expressions() -> Iterator[Any]:
    known = {module: inspect.getsource(module) for module in modules()}
    for module, source in known.items():
        classes = (one for one in vars(module).values() if inspect.isclass(one) and one.__module__ == module.__name__)
        for names in [vars(module), *map(vars, classes)]:
            for name, value in names.items():
                place = f"{module.__name__.removeprefix('docflat.')}.{name}"
                if isinstance(value, re.Pattern) and place not in READ_BEFORE:
                    where = source if name.startswith("_") else "\n".join(known.values())
                    uses = set(re.findall(rf"\b{name}\.(\w+)\(", where))
                    yield pytest.param(value, not uses & SEARCHES if uses else False, id=place)


def growth(matcher: Matcher, before: str, again: str, anchored: bool, size: int) -> float:
    steps = []
    for times in (1, 2, 4):
        text = before + again * (size * times // len(again))
        try:
            steps.append(matcher.count(text + "\x00", anchored))
        except TooManySteps:
            return math.inf
    return (steps[2] - steps[1]) / max(20, steps[1] - steps[0])


@pytest.fixture(autouse=True)
def deep() -> Iterator[None]:
    """The matcher walks down into the text."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(50_000)
    yield
    sys.setrecursionlimit(before)


@pytest.mark.parametrize(("expression", "anchored"), list(expressions()))
def test_expressions_are_linear(expression: re.Pattern[Any], anchored: bool):
    matcher = Matcher(expression)
    for before, again in sorted(matcher.attacks()):
        found = growth(matcher, before, again, anchored, 30)
        if found > MOST:  # what is bounded grows up to its bound
            found = growth(matcher, before, again, anchored, 240)
        assert found <= MOST, (before, again)


def test_the_count_tells_linear_from_quadratic():
    for linear, text in ((r"a+b", "a"), (r"(?:ab)+c", "ab"), (r"\[[^\]\[]*\]", "[")):
        assert growth(Matcher(re.compile(linear)), "", text, True, 60) <= 2.1
    assert growth(Matcher(re.compile(r"a+b")), "", "a", False, 60) > 3.5
    assert growth(Matcher(re.compile(r"\[[^\]]*\]")), "", "[", False, 60) > 3.5
    assert growth(Matcher(re.compile(r"(?:a|b)*?\s+$")), "", " ", False, 60) > 3.5
