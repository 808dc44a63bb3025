"""Subtitles keep every byte but the words; sentences over several cues are whole to the model, and laid back."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from unicodedata import east_asian_width

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docflat.formats.line_breaking import choose_breaks
from docflat.formats.segments import Segment, Span
from docflat.formats.subtitles.editing import Subtitles
from docflat.formats.subtitles.srt import Srt
from docflat.formats.subtitles.vtt import Vtt
from docflat.support.errors import InputError

pysubs2 = pytest.importorskip("pysubs2")

SRT = """1
00:00:01,000 --> 00:00:02,500
I thought that you would
come to the party

2
00:00:02,600 --> 00:00:04,000
of my <i>sister</i>, Anna.

3
00:00:05,000 --> 00:00:06,000
- Where are you?
- <b>Here.</b>

4
00:00:06,000 --> 00:00:07,000 X1:100 X2:200 Y1:1 Y2:2
{\\an8}[door slams]

5
00:00:07,200 --> 00:00:08,000
{\\an8}and then
6
00:00:08,100 --> 00:00:09,000
♪ 1984 ♪
"""
VTT = """WEBVTT - A talk

STYLE
::cue(.loud) { color: red }

REGION
id:fred

NOTE a remark
on two lines

first
00:01.000 --> 00:02.000 line:0 position:20%
<v Roger>Rock &amp; roll is what we

00:02.000 --> 00:00:03.500
<v Roger>all <c.loud>love &lt;3</c>, <00:03.000>they say.

00:04.000 --> 00:05.000
<v Ann>and you?
"""
REAL = [
    Path(folder, name)
    for top in ("/usr/lib/google-cloud-sdk", "/usr/share")
    for folder, _, names in os.walk(top)
    for name in names
    if name.endswith((".srt", ".vtt"))
]


def read(text: str) -> Subtitles:
    return (Vtt() if text.startswith("WEBVTT") else Srt()).read(text.encode(), "a file")


def texts(text: str) -> list[str]:
    return [segment.text for segment in read(text).segments]


def cues(*lines: str, gap: int = 100) -> str:
    """An .srt of these texts, a second each."""
    parts = []
    for number, line in enumerate(lines):
        start = number * (1000 + gap)
        a, b = (pysubs2.time.ms_to_str(ms, fractions=True).replace(".", ",") for ms in (start, start + 1000))
        parts.append(f"{number + 1}\n0{a} --> 0{b}\n{line}\n")
    return "\n".join(parts)


def said(text: str) -> list[str]:
    """What each cue says, in the eyes of pysubs2, and in one line."""
    return [event.plaintext.replace("\n", " ") for event in pysubs2.SSAFile.from_string(text)]


def test_the_sentences_of_srt() -> None:
    assert texts(SRT) == [
        "I thought that you would come to the party of my sister, Anna.",
        "Where are you?",
        "Here.",
        "[door slams]",
        "and then",
        "♪ 1984 ♪",
    ]
    assert [segment.skip_reason for segment in read(SRT).segments][-2:] == ["", "no letters"]


def test_the_sentences_of_vtt() -> None:
    assert texts(VTT) == ["Rock & roll is what we all love <3, they say.", "and you?"]


@pytest.mark.parametrize(
    ("lines", "joined"),
    [
        (["I saw", "you."], True),
        (["I saw.", "you"], False),
        (["I saw...", "you there."], True),
        (["I saw,", "John."], True),
        (["he saw", "John."], True),
        (["He said to", "Anna: go."], True),
        (["CHAPTER ONE", "It was dark."], False),
        (["Chapter One", "It was dark."], False),
        (["I saw", "- you?"], False),
        (["I saw", "[sighs]"], False),
        (["(sighs)", "you there"], False),
        (["{\\an8}I saw", "you."], False),
        (["{\\an8}I saw", "{\\an8}you."], True),
        (['He said "no."', "and left."], False),
        (["ГЛАВА", "Было темно."], False),
        (["I THOUGHT THAT", "YOU WOULD COME."], True),
        (["I THOUGHT.", "YOU WOULD COME."], False),
        (["我看见", "你"], False),
        (["我看见，", "你"], True),
    ],
)
def test_what_goes_on_with_a_sentence(lines: list[str], joined: bool) -> None:
    assert len(texts(cues(*lines))) == (1 if joined else 2)


def test_cues_far_apart_or_together_are_not_joined() -> None:
    assert len(texts(cues("I saw", "you.", gap=1500))) == 2
    assert len(texts(cues("I saw", "you.", gap=-900))) == 2


def test_captions_without_punctuation_do_not_become_one_segment() -> None:
    assert max(len(text.split()) for text in texts(cues(*["some words"] * 50))) == 16


@pytest.mark.parametrize("text", [SRT, VTT], ids=["srt", "vtt"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("end", ["", "\n", "\n\n\n"])
def test_untranslated_it_is_the_same_file(text: str, encoding: str, newline: str, end: str) -> None:
    data = (text.rstrip("\n") + end).replace("\n", newline).encode(encoding)
    parsed = (Vtt() if text is VTT else Srt()).read(data, "a file")
    assert parsed.render(parsed.segments) == data
    copies = [replace(segment) for segment in parsed.segments]
    assert parsed.render(copies) == data
    # And one word changes one word.
    copies[0] = replace(copies[0], text=copies[0].text.replace("they", "THEY").replace("that", "THAT"))
    changed = parsed.render(copies).decode(encoding)
    again = data.decode(encoding).replace("that you would", "THAT you would").replace("they", "THEY")
    assert changed.replace("&gt;", ">") == again.replace("&gt;", ">")


def test_a_byte_order_mark_before_the_times() -> None:
    parsed = Srt().read("\ufeff00:00:01,000 --> 00:00:02,000\nHi.\n".encode(), "a.srt")
    assert parsed.render([Segment("Hallo.")]).decode() == "\ufeff00:00:01,000 --> 00:00:02,000\nHallo.\n"


@pytest.mark.parametrize("file", REAL or [pytest.param(None, marks=pytest.mark.skip("no subtitles on this machine"))])
def test_real_files(file: Path) -> None:
    data = file.read_bytes()
    try:
        parsed = (Vtt() if file.suffix == ".vtt" else Srt()).read(data, str(file))
    except InputError as error:
        if "not UTF-8" not in str(error):
            raise
        return
    assert parsed.render(parsed.segments) == data
    assert " ".join(segment.text for segment in parsed.segments) == " ".join(said(data.decode(parsed.encoding)))


def test_a_translation_is_laid_over_the_cues() -> None:
    parsed = read(SRT)
    german = "Ich dachte, dass du zu der Party von meiner Schwester kommst, Anna."
    spans = (Span(41, 51, parsed.segments[0].spans[2].tag),)
    place = german.index("Schwester")
    spans = (replace(spans[0], start=place, end=place + len("Schwester")),)
    new = [Segment(german, spans), Segment("Wo bist du?"), Segment("Hier."), *parsed.segments[3:]]
    text = parsed.render(new).decode()
    assert text == SRT.replace(
        "I thought that you would\ncome to the party", "Ich dachte, dass du zu\nder Party von meiner"
    ).replace("of my <i>sister</i>, Anna.", "<i>Schwester</i> kommst, Anna.").replace(
        "Where are you?", "Wo bist du?"
    ).replace("<b>Here.</b>", "Hier.")


def test_points_say_where_the_cue_ends() -> None:
    parsed = read(cues("one two three four", "five six seven eight."))
    own = parsed.segments[0]
    tag = own.spans[0].tag
    for place in (13, 18, 23):
        words = "aaaa bbbb cccc dddd eeee ffff gggg hhhh."
        text = parsed.render([Segment(words, (Span(place, place, tag),))]).decode()
        assert abs(len(said(text)[0]) - place) <= 5


def test_codes_stay_with_their_words_and_times_in_their_cue() -> None:
    parsed = read(VTT)
    own = parsed.segments[0]
    words = "Rock & Roll ist, sagen sie, was wir alle lieben <3."
    time = next(span for span in own.spans if getattr(span.tag, "opening", "") == "<00:03.000>")
    spans = (replace(time, start=0, end=0), *(span for span in own.spans if span is not time))
    spans = tuple(
        replace(span, start=words.index("lieben"), end=words.index("<3") + 2) if span.start < span.end else span
        for span in spans
    )
    text = parsed.render([Segment(words, spans), parsed.segments[1]]).decode()
    first, second = text.split("\n\n")[-3:-1]
    assert first.endswith("\n<v Roger>Rock &amp; Roll ist, sagen sie,")
    assert second.endswith("\n<v Roger><00:03.000>was wir alle <c.loud>lieben &lt;3</c>.")


def test_times_inside_a_cue_ascend_whatever_the_words_do() -> None:
    text = "WEBVTT\n\n00:01.000 --> 00:04.000\n<c>So</c> <00:02.000><c>what</c> <00:03.000><c>now?</c>\n"
    subtitles = Vtt().read(text.encode(), "x.vtt")
    (own,) = subtitles.segments
    first, second, early, third, late = own.spans
    moved = [replace(third, start=0, end=5), replace(late, start=0, end=0), replace(second, start=6, end=9)]
    moved += [replace(early, start=10, end=10), replace(first, start=10, end=14)]
    out = subtitles.render([Segment("Jetzt was also?", tuple(moved))]).decode()
    assert out.endswith("\n<00:02.000><c>Jetzt</c> <c>was</c> <00:03.000><c>also</c>?\n")


def test_italics_over_two_cues_are_closed_in_each() -> None:
    parsed = read(cues("<i>I thought that</i>", "<i>you came.</i>"))
    (own,) = parsed.segments
    assert [(span.start, span.end) for span in own.spans if span.start < span.end] == [(0, len(own.text))]
    new = replace(own, text="Ich hatte gedacht du kämst doch noch.")
    new = replace(new, spans=(replace(own.spans[0], end=len(new.text)),))
    blocks = parsed.render([new]).decode().split("\n\n")
    assert all(re.fullmatch(r"<i>[^<>]+</i>\n?", block.split("\n", 2)[2]) for block in blocks)


def test_too_few_words_leave_no_cue_empty() -> None:
    parsed = read(cues("yes", "sir,", "my lord."))
    assert said(parsed.render([Segment("Jawohl.")]).decode()) == ["Jawohl."] * 3


@given(
    sizes=st.lists(st.integers(1, 60), min_size=1, max_size=8),
    words=st.lists(st.text("abc,.", min_size=1, max_size=12), min_size=1, max_size=60),
    points=st.lists(st.floats(0, 1), max_size=8),
)
@settings(max_examples=150, deadline=None)
def test_nothing_is_lost_and_no_cue_is_empty(sizes: list[int], words: list[str], points: list[float]) -> None:
    source = cues(*(" ".join("x" * min(5, size - i) for i in range(0, size, 5)) for size in sizes))
    parsed = read(source)
    assert len(parsed.segments) == 1
    own = parsed.segments[0]
    text = " ".join(words)
    moved = [
        replace(span, start=round(share * len(text)), end=round(share * len(text)))
        for span, share in zip(own.spans, points, strict=False)
    ]
    result = parsed.render([Segment(text, tuple(moved))]).decode()
    if text == own.text:
        return
    events = pysubs2.SSAFile.from_string(result)
    assert [(e.start, e.end) for e in events] == [(e.start, e.end) for e in pysubs2.SSAFile.from_string(source)]
    pieces = [event.plaintext for event in events]
    assert all(pieces)
    if len(words) >= len(sizes):
        assert " ".join(" ".join(pieces).split()) == text
    for piece in pieces:
        lines = piece.split("\n")
        assert len(lines) == 1 or max(map(len, lines)) <= max([42, *map(len, source.split("\n"))]) + 12


def test_breaks_prefer_punctuation_and_keep_within_the_width() -> None:
    text = "Yes, I think that we should go now"
    assert choose_breaks(text, [8.0], 40) == [(4, 5)]
    assert choose_breaks(text, [8.0], 22) == [(12, 13)]
    assert choose_breaks("a b", [1.0, 2.0, 3.0], 10) == [(1, 2)]
    assert choose_breaks("keep this together", [7.0], 40, whole=[(0, 9)]) == [(9, 10)]
    assert choose_breaks("我们都很喜欢你。", [4.0], 40) == [(4, 4)]


WIDE = {
    "Chinese": "我们昨天晚上在港口看到那艘旧船，可是今天早上它已经离开了，没有人知道它去了哪里。",
    "Japanese": "昨日の夜、港であの古い船を見ましたが、今朝はもういませんでした。どこへ行ったのか誰も知りません。",
    "Korean": "우리는 어젯밤 항구에서 그 낡은 배를 보았지만 오늘 아침에는 이미 떠나고 없었습니다.",
}


def rendered(source: str, text: str) -> str:
    return read(source).render([Segment(text)]).decode()


def columns_of(line: str) -> int:
    return sum(2 if east_asian_width(sign) in "WF" else 1 for sign in line)


@pytest.mark.parametrize("text", WIDE.values(), ids=WIDE)
def test_lines_of_wide_scripts_are_as_wide_on_the_screen_as_others(text: str) -> None:
    source = cues("We saw the old ship yesterday.")
    ((*lines,),) = [one.plaintext.split("\n") for one in pysubs2.SSAFile.from_string(rendered(source, text))]
    assert re.sub(r"\s", "", "".join(lines)) == re.sub(r"\s", "", text)
    assert len(lines) == -(-columns_of(text) // 42)  # as few as there can be
    assert all(columns_of(line) <= 48 for line in lines)
    assert all(columns_of(line) >= 20 for line in lines[:-1])


def test_wide_signs_take_twice_the_time_to_read_and_marks_none() -> None:
    wide, narrow = "我" * 30, "\u0e01\u0e49\u0e33" * 12  # Thai: a consonant, its tone, a vowel
    ((begin, end),) = [(cue.begins, cue.ends) for cue in read(cues("One.")).cues]
    limit = 40 / ((end - begin) / 1000)
    for text, fast in ((wide, True), (narrow, False)):
        parsed = Srt(max_cps=limit).read(cues("One.").encode(), "a.srt")
        assert bool(parsed.review([Segment(text)])) == fast, text


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "no subtitles"),
        (b"hello\n", "no subtitles"),
        (b"1\n00:00:01 --> 00:00:02,000\nHi\n", "no subtitles"),
        (b"\xff\xfe1", "not UTF-16"),
        (b"x" * (9 << 20), "larger than 8 MiB"),
        (b"1\n00:00:01,000 --> 00:00:02,000\n" + b"<i>" * 5000, "a.srt:3: a cue of more than 10000 characters"),
    ],
)
def test_what_is_no_srt(data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        Srt().read(data, "a.srt")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", ":1: not WebVTT"),
        (b"WEBVTTX\n", ":1: not WebVTT"),
        (b"WEBVTT\n\nNOTE nothing\n", "no subtitles"),
        (b"WEBVTT\n\nfoo --> bar\nHi\n", "no subtitles"),
    ],
)
def test_what_is_no_vtt(data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        Vtt().read(data, "a.vtt")


TIMES = [b"00:00:01,000 --> 00:00:02,000", b"00:01.5 --> 00:02.1 line:0", b"-->"]
TAGS = [b"<i>", b"</i>", b"<b>", b"</b>", b"{\\an8}", b"<00:00:01.000>", b"<v A>", b"<"]
TEXT = [
    b"\n",
    b"\r\n",
    b"\r",
    b" ",
    b"1",
    b"- Hi",
    b"so",
    b"&amp;",
    b"[x]",
    "你\u2028".encode(),
    b"NOTE",
    b"\xff",
    b"\x85",
]
PIECES = st.sampled_from([*TIMES, *TAGS, *TEXT])


@given(st.lists(PIECES, max_size=40), st.booleans())
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_read_or_refused(pieces: list[bytes], is_vtt: bool) -> None:
    start = b"WEBVTT\n\n00:01.5 --> 00:02.1\n" if is_vtt else b"00:00:01,000 --> 00:00:02,000\n"
    data = start + b"".join(pieces)
    try:
        parsed = (Vtt() if is_vtt else Srt()).read(data, "a file")
    except InputError:
        return
    assert parsed.render(parsed.segments) == data
    times = _times(data)
    changed = parsed.render([replace(each, text=each.text.upper() + " AND MORE") for each in parsed.segments])
    assert _times(changed) == times


def _times(data: bytes) -> list[bytes]:
    return [line for line in data.splitlines() if re.match(rb"\s*[0-9:.,]+\s*-->\s*[0-9:.,]+(\s|$)", line)]
