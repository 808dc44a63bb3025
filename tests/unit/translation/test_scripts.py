"""Scripts from right to left, without blanks between words, or without signs where sentences end, through files."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from docflat.formats import find_format
from docflat.formats.segments import Segment
from docflat.translation.files import translate_file, translate_segments
from stubs import Stub

TEXTS = {
    "ar": ("وصلت السفينة ظهرًا. كانت قديمة جدًا.", "أين القبطان؟ لم يره أحد!"),
    "he": ("הספינה הגיעה בצהריים. היא הייתה ישנה.", "איפה רב החובל? איש לא ראה אותו!"),
    "fa": ("کشتی ظهر رسید. خیلی قدیمی بود.", "ناخدا کجاست؟ کسی او را ندید."),
    "zh": ("船中午到了。它很旧。", "船长在哪里？没有人见过他！"),
    "ja": ("船は正午に着いた。とても古かった。", "船長はどこですか？誰も見ていない！"),
    "ko": ("배가 정오에 도착했다. 아주 낡았다.", "선장은 어디 있습니까? 아무도 못 봤다!"),
    "th": ("เรือมาถึงตอนเที่ยง มันเก่ามาก", "กัปตันอยู่ที่ไหน ไม่มีใครเห็นเขา"),
    "hi": ("जहाज़ दोपहर में पहुँचा। वह पुराना था।", "कप्तान कहाँ है? किसी ने नहीं देखा!"),
}

FILES: dict[str, str] = {
    "a.txt": "{0}\n\n{1}\n",
    "a.md": "# {0}\n\n{1}\n\n**{0}**\n\n- {1}\n",
    "a.html": '<html dir="rtl"><body><p>{0}</p><p><b>{1}</b></p>\n<p title="{0}">{1}</p></body></html>\n',
    "a.srt": "1\n00:00:01,000 --> 00:00:04,000\n{0}\n\n2\n00:00:05,000 --> 00:00:09,000\n{1}\n",
    "a.vtt": "WEBVTT\n\n00:01.000 --> 00:04.000\n{0}\n\n00:05.000 --> 00:09.000\n<i>{1}</i>\n",
    "a.json": '{{"text": "{0}", "source": "{1}"}}\n',
    "a.xliff": '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file source-language="xx"'
    ' target-language="en" original="a" datatype="plaintext"><body><trans-unit id="1"><source>{0}</source>'
    "</trans-unit></body></file></xliff>\n",
}


SENTENCES = {"zh": 2, "ja": 2, "ko": 2, "ar": 2, "he": 2, "fa": 2, "hi": 2, "th": 1}


def change(sentence: str) -> str:
    """In the same script: its second sign twice."""
    return sentence[:2] + sentence[1:]


def changed(content: str, language: str) -> str:
    for text in TEXTS[language]:
        parts = re.findall(r".+?(?:[.!?。！？؟।]\s*|$)", text) if SENTENCES[language] == 2 else [text]
        assert len(parts) == SENTENCES[language]
        content = content.replace(text, "".join(map(change, parts)))
    return content


def through(folder: Path, name: str, content: str, language: str, model: Callable[[str], str]) -> str:
    (folder / name).write_text(content, encoding="utf-8")
    translate_file(folder / name, folder / f"out-{name}", find_format(folder / name), Stub(model), language)
    return (folder / f"out-{name}").read_text(encoding="utf-8")


@pytest.mark.parametrize("language", TEXTS)
@pytest.mark.parametrize("name", FILES)
def test_in_a_file_only_the_sentences_change(tmp_path: Path, name: str, language: str) -> None:
    content = FILES[name].format(*TEXTS[language])
    written = through(tmp_path, name, content, language, change)
    if name == "a.xliff":  # which has its translation beside the source
        assert re.findall(r"<target[^>]*>(.*?)</target>", written) == [changed(TEXTS[language][0], language)]
    else:
        assert written == changed(content, language)


@pytest.mark.parametrize("language", TEXTS)
def test_in_a_word_document_only_the_sentences_change(tmp_path: Path, language: str) -> None:
    docx = pytest.importorskip("docx")
    document = docx.Document()
    for text in TEXTS[language]:
        document.add_paragraph(text)
        document.add_paragraph().add_run(text).bold = True
    document.save(tmp_path / "a.docx")
    source, out = tmp_path / "a.docx", tmp_path / "out.docx"
    translate_file(source, out, find_format(source), Stub(change), language)
    paragraphs = [[(run.text, run.bold) for run in one.runs] for one in docx.Document(tmp_path / "out.docx").paragraphs]
    expected = [changed(text, language) for text in TEXTS[language]]
    assert paragraphs == [[(text, bold)] for text in expected for bold in (None, True)]


@pytest.mark.parametrize("language", TEXTS)
def test_sentences_of_a_text_are_told_apart_and_have_blanks_in_english(language: str) -> None:
    stub = Stub(lambda sentence: "A ship.")
    (new,), _ = translate_segments([Segment(TEXTS[language][0])], stub, file="x", language=language)
    assert len(stub.documents[0]) == SENTENCES[language]
    assert new.text == " ".join(["A ship."] * SENTENCES[language])


@pytest.mark.parametrize(
    ("translation", "expected"), [("船到了。", "船到了。" * 2), ("Ein Boot.", "Ein Boot. Ein Boot.")]
)
def test_between_chinese_sentences_there_is_no_blank(translation: str, expected: str) -> None:
    (new,), _ = translate_segments([Segment("One ship. Two ships.")], Stub(lambda sentence: translation), file="x")
    assert new.text == expected
    (new,), _ = translate_segments([Segment("One ship.\nTwo ships.")], Stub(lambda sentence: translation), file="x")
    assert new.text == "\n".join([translation] * 2)


@pytest.mark.parametrize(
    ("translation", "longest"),
    [("船中午到了，它很旧，没有人见过船长，也没有人知道他去了哪里，大家都在等他回来。", 24),
     ("وصلت السفينة ظهرًا وكانت قديمة جدًا ولم ير أحد القبطان ولم يعرف أحد إلى أين ذهب", 42),
     ("เรือมาถึงตอนเที่ยง มันเก่ามาก ไม่มีใครเห็นกัปตัน และไม่มีใครรู้ว่าเขาไปไหน", 42)],
)  # fmt: skip
def test_lines_of_subtitles_are_broken_as_the_script_allows(tmp_path: Path, translation: str, longest: int) -> None:
    content = "1\n00:00:01,000 --> 00:00:08,000\nThe ship came at noon, it was old,\nand nobody saw its captain.\n"
    written = through(tmp_path, "a.srt", content, "en", lambda sentence: translation)
    lines = written.splitlines()[2:]
    assert "".join("".join(lines).split()) == "".join(translation.split())
    assert len(lines) == 2
    assert max(map(len, lines)) <= max(longest, len(translation) > 42 and len(translation) // 2 + 12)
    assert not any(line[0] in "，。！？" for line in lines)
