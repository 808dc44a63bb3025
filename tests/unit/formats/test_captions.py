"""Subtitles as they are found: rolling captions, bad cues, SubStation's line breaks, old encodings, reading speed."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest

from docflat.formats import find_format
from docflat.formats.segments import Segment
from docflat.formats.subtitles.srt import Srt
from docflat.formats.subtitles.vtt import Vtt
from docflat.support.errors import InputError
from docflat.translation.files import translate_file, translate_segments
from stubs import Stub

webvtt = pytest.importorskip("pysubs2")

ROLLING = """WEBVTT
Kind: captions

00:00:00.000 --> 00:00:02.000 align:start
\x20
welcome<00:00:00.500><c> to</c><00:00:01.000><c> the</c>

00:00:02.000 --> 00:00:02.010 align:start
welcome to the
\x20

00:00:02.010 --> 00:00:04.000 align:start
welcome to the
first<00:00:02.500><c> talk</c>

00:00:04.000 --> 00:00:04.010 align:start
first talk
\x20

00:00:04.010 --> 00:00:06.000 align:start
first talk
of<00:00:04.500><c> today.</c>

00:00:06.000 --> 00:00:06.010 align:start
of today.
\x20

00:00:06.010 --> 00:00:08.000 align:start
of today.
Sit<00:00:06.500><c> down.</c>
"""


def test_rolling_captions_are_translated_once_and_shown_as_often_as_before():
    parsed = Vtt().read(ROLLING.encode(), "x.vtt")
    assert parsed.render(parsed.segments) == ROLLING.encode()
    assert [segment.text for segment in parsed.segments] == ["welcome to the first talk of today.", "Sit down."]
    stub = Stub(str.upper)
    new = parsed.render(translate_segments(parsed.segments, stub)[0]).decode()
    assert stub.documents == [["welcome to the first talk of today.", "Sit down."]]
    plain = re.sub(r"<[^<>]*>", "", new)
    assert plain.count("WELCOME TO THE") == 3
    assert plain.count("FIRST TALK") == plain.count("OF TODAY.") == 3
    assert new.count("<00:00:02.500>") == 1  # what is repeated has no times
    assert re.findall("-->", new) == re.findall("-->", ROLLING)


def test_a_line_that_is_said_twice_is_no_rolling_caption():
    text = "WEBVTT\n\n" + "".join(f"00:0{n}.000 --> 00:0{n}.900\nNo.\n\n" for n in range(1, 6))
    assert len(Vtt().read(text.encode(), "x.vtt").segments) == 5


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "x.srt",
            "1\n00:00:01,000 --> 00:00:02,000\nOne.\n\n2\n00:00:03 -> --> 5\nBad.\n\n"
            "3\n00:00:05,000 --> 00:00:06,000\nTwo.\n",
        ),
        ("x.vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\nOne.\n\n00:03 --> 5\nBad.\n\n00:05.000 --> 00:06.000\nTwo.\n"),
    ],
)
def test_a_cue_with_bad_times_is_passed_over(name: str, text: str, caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.WARNING):
        parsed = find_format(name).read(text.encode(), name)
    assert [segment.text for segment in parsed.segments] == ["One.", "Two."]
    line = text[: text.index("00:03")].count("\n") + 1
    assert f"{name}:{line}: not two times" in caplog.text
    new = parsed.render(translate_segments(parsed.segments, Stub(str.upper))[0]).decode()
    assert new == text.replace("One", "ONE").replace("Two", "TWO")


def test_a_line_break_of_substation():
    text = "1\n00:00:01,000 --> 00:00:04,000\nWe go home\\Nto the sea.\n"
    parsed = Srt().read(text.encode(), "x.srt")
    assert [segment.text for segment in parsed.segments] == ["We go home to the sea."]
    new = parsed.render(translate_segments(parsed.segments, Stub(str.upper))[0]).decode()
    assert new == text.replace("We go home\\Nto the sea", "WE GO HOME\\NTO THE SEA")


SAID = ("Ça va, élève? Où est ta mère?", "Elle était déjà là, à l’école.", "Très bien, très bien.")
OLD = "".join(f"{n}\n00:00:0{n},000 --> 00:00:0{n},900\n{line}\n\n" for n, line in enumerate(SAID, 1))


def test_old_encodings_stay_or_are_said_to_change(caplog: pytest.LogCaptureFixture):
    data = OLD.encode("cp1252")
    with caplog.at_level(logging.WARNING):
        parsed = Srt().read(data, "x.srt")
        assert parsed.text == OLD
        assert "x.srt: not UTF-8; read as cp1252" in caplog.text
        assert parsed.render(parsed.segments) == data
        new = [Segment(segment.text.upper(), segment.spans) for segment in parsed.segments]
        assert "ÉLÈVE" in parsed.render(new).decode("cp1252")
        new = [Segment("Я", segment.spans) for segment in parsed.segments]
        assert parsed.render(new).decode("utf-8").count("Я") == 3
    assert "it is written as UTF-8" in caplog.text
    with pytest.raises(InputError, match="not UTF-8"):
        Srt().read(b"1\n00:00:01,000 --> 00:00:02,000\n\x81\x8d\x8f\x90\x9d\x00\xff\xfe\n", "x.srt")


def cue_texts(data: bytes) -> list[list[str]]:
    return [event.plaintext.split("\n") for event in webvtt.SSAFile.from_string(data.decode())]


LONG = "We will go there in the morning, my dear, and stay for a long while"


def test_no_cue_gets_more_lines_than_fit():
    words = LONG.split()
    text = f"1\n00:00:01,000 --> 00:00:09,000\n{' '.join(words[:8])}\n{' '.join(words[8:])}\n"
    longer = f"{LONG} in our house"  # 81 letters: 3 lines of 42, or 2 that are little wider

    def lines(**options: int) -> list[str]:
        parsed = Srt(**options).read(text.encode(), "x.srt")
        return cue_texts(parsed.render([Segment(longer)]))[0]

    assert len(lines()) == 2
    assert len(lines(max_cue_lines=1)) == 2  # as many as it had
    longer = f"{longer}, {longer}"
    assert len(lines()) > 2
    assert len(lines(max_cue_lines=2)) == 2


def test_words_move_to_a_cue_that_has_the_time_for_them():
    text = "1\n00:00:01,000 --> 00:00:02,000\nWe all will go to\n\n2\n00:00:02,000 --> 00:00:06,000\nthe sea.\n"

    def letters(**options: float) -> list[int]:
        parsed = Srt(**options).read(text.encode(), "x.srt")
        return [len(" ".join(lines)) for lines in cue_texts(parsed.render([Segment(LONG)]))]

    slow, fast = letters(max_cps=20), letters(max_cps=1000)
    assert fast[0] > 20 >= slow[0]
    assert sum(slow) == sum(fast)


def test_the_report_counts_cues_that_are_hard_to_read(tmp_path: Path):
    source = tmp_path / "a.srt"
    source.write_text("1\n00:00:01,000 --> 00:00:02,000\nWe go now.\n\n2\n00:00:03,000 --> 00:00:09,000\nYes.\n")
    report = translate_file(source, tmp_path / "b.srt", Srt(max_cue_lines=1), Stub(lambda text: f"{text} {LONG}."))
    assert "1 of 2 cues are faster than 20 characters a second (0 were in the source)" in str(report)
    report = translate_file(source, tmp_path / "b.srt", Srt(), Stub(str.upper))
    assert report.remarks == []
    report = translate_file(source, tmp_path / "b.srt", Srt(), Stub(lambda text: " ".join([LONG] * 3)))
    assert "2 of 2 cues have more than 2 lines (0 had in the source)" in str(report)
