"""Every reader is linear: of a file that is twice as large, twice as many lines of code run.

Not seconds, which a busy machine makes of anything. What one line does inside Python's own functions is not seen here:
regular expressions have a test of their own.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest
from growing_shapes import SHAPES

from docflat.formats import find_format
from docflat.formats.segments import Segment
from docflat.support.errors import InputError
from docflat.translation.files import translate_segments
from stubs import Stub

SIZE = 60
MOST = 2.7  # 2 is linear, 4 quadratic


def translate(name: str, data: bytes) -> None:
    try:
        parsed = find_format(name).read(data, name)
        parsed.render(translate_segments(parsed.segments, Stub(str.upper))[0])
    except InputError:
        pass


def count_lines(name: str, content: str | bytes) -> int:
    """How many lines of docflat and of the Markdown parser run."""
    data = content if isinstance(content, bytes) else content.encode()
    count = 0

    def trace_lines(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace_lines

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        file = frame.f_code.co_filename
        return trace_lines if "docflat/" in file or "markdown_it" in file else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        translate(name, data)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("shape", SHAPES)
def test_twice_the_file_takes_twice_the_steps(shape: str):
    name, make = SHAPES[shape]
    translate(name, make(2) if isinstance(make(2), bytes) else str(make(2)).encode())  # caches are filled once
    one, two, four = (count_lines(name, make(SIZE * times)) for times in (1, 2, 4))
    assert four - two <= MOST * max(200, two - one)


class Counted(str):
    """Counts what is copied of it."""

    copied = 0

    def __getitem__(self, key: Any) -> str:
        part = super().__getitem__(key)
        Counted.copied += len(part)
        return part


def test_twice_the_sentences_copy_twice_the_text():
    copied = []
    for size in (200, 400, 800):
        Counted.copied = 0
        (new,), _ = translate_segments([Segment(Counted("one two three. " * size))], Stub(str.upper))
        assert new.text == "ONE TWO THREE. " * size
        copied.append(Counted.copied)
    one, two, four = copied
    assert one > 0
    assert four - two <= MOST * (two - one)
