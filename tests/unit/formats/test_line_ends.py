"""Where a sentence ends, and where it goes on over the end of a line."""

from __future__ import annotations

import pytest

from docflat.formats.line_breaking import goes_on
from docflat.support.punctuation import ends_sentence


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("It is.", True),
        ('He said: "It is."', True),
        ("(It is!)", True),
        ("是。」", False),  # a bracket that is not in the list
        ("是。", True),
        ("है।", True),
        ("It is", False),
        ("It is:", False),
        ("", False),
        (")))", False),
    ],
)
def test_what_ends_a_sentence(text: str, ends: bool):
    assert ends_sentence(text) is ends


def test_a_further_sign_that_ends_a_sentence():
    assert ends_sentence("It is:", also=":")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("it goes", "on here", True),
        ("it ended.", "on", False),
        ("it hesitates...", "and goes on", True),
        ("Ann,", "Bob", True),
        ("Menu:", "open", False),
        ("The House", "Of Cards", None),
        ("a b", "42", None),
    ],
)
def test_whether_a_sentence_goes_on(before: str, after: str, expected: bool | None):
    assert goes_on(before, after) is expected
