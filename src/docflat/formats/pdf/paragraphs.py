"""Lines of pages to paragraphs, headings and items of lists: as far as sizes, indents and gaps say."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from docflat.formats.pdf.reading_order import Block, Line, Run, order_lines

_BULLET = re.compile(r"\s*([•◦▪▫‣⁃∙·●○■□➢➤✓\uf0b7\uf0a7]|[-–—*](?=\s))\s*")
_NUMBER = re.compile(r"\s*(?:\(?(?:\d{1,3}|[a-zA-Z]|[ivxlIVXL]{1,6})[.)]|\d{1,2}(?:\.\d{1,2}){1,4}\.?)\s+(?=\S)")
_HYPHENS = ("-", "\u2010", "\u00ad", "\x02", "\ufffe")
_SENTENCE_END = re.compile(r"[.!?:;…][\"'»”’)\]]*$")
_ACCENTS = {"¨": "\u0308", "´": "\u0301", "ˆ": "\u0302", "˜": "\u0303", "¸": "\u0327"}
_ACCENT = re.compile(r"[¨´ˆ˜¸] ?[A-Za-zı]")
_MOST_NOTES = 8
_LONGEST_HEADING = 200
_LONGEST_WORD = 100  # letters of one that may be divided
_EDGE = 0.13  # of a page's height: where headers and footers are
_DIGITS = re.compile(r"\d+")


@dataclass
class Paragraph:
    kind: str  # "", "heading 1" to "heading 3", "item"
    runs: list[Run]
    mark: str = ""  # of an item that has a number
    size: float = 0.0

    @property
    def text(self) -> str:
        return "".join(run[0] for run in self.runs)


@dataclass(frozen=True)
class Page:
    width: float
    height: float
    lines: Sequence[Line]


def set_aside(pages: Sequence[Page]) -> tuple[list[Page], list[str]]:
    """Pages without the headers, footers and page numbers that repeat; what they say, each once."""
    counts: Counter[tuple[str, int]] = Counter()
    where: list[dict[int, tuple[str, int]]] = []
    for page in pages:
        keys: dict[int, tuple[str, int]] = {}
        for number, line in enumerate(page.lines):
            share = line.y / max(page.height, 1)
            if share < _EDGE or share > 1 - _EDGE:
                keys[number] = (_DIGITS.sub("#", " ".join(line.text.split())), round(line.y / 4))
        where.append(keys)
        counts.update(set(keys.values()))
    least = 2 if len(pages) < 6 else 3
    repeated = {key for key, count in counts.items() if count >= least and count * 8 >= len(pages)}
    said: dict[str, str] = {}
    rest = []
    for page, keys in zip(pages, where, strict=True):
        for number, key in keys.items():
            if key in repeated and any(map(str.isalpha, key[0])):
                said.setdefault(key[0], " ".join(page.lines[number].text.split()))
        lines = [line for number, line in enumerate(page.lines) if keys.get(number) not in repeated]
        rest.append(Page(page.width, page.height, lines))
    return rest, [text for key, text in said.items() if "#" not in key]


def find_paragraphs(pages: Sequence[Page]) -> list[Paragraph]:
    blocks = [block for page in pages for block in order_lines(page.lines)]
    sizes: Counter[float] = Counter()
    for block in blocks:
        for line in block:
            sizes[round(line.size * 2) / 2] += len(line.text)
    body = sizes.most_common(1)[0][0] if sizes else 10.0
    words = Counter(word for block in blocks for line in block for word in re.findall(r"[\w-]+", line.text.lower()))
    groups = [group for block in blocks for group in _groups(block)]
    larger = sorted({round(group[0].size * 2) / 2 for group in groups if _is_large(group, body)}, reverse=True)
    paragraphs = [replace(_paragraph(group, body, larger, words), size=group[0].size) for group in groups]
    return list(_over_pages((one for one in paragraphs if one.text.strip()), words))


def _groups(block: Block) -> Iterator[Block]:
    """The lines of each paragraph of a column."""
    if not block:
        return
    left, right = min(line.x0 for line in block), max(line.x1 for line in block)
    steps = [a.y - b.y for a, b in pairwise(block) if abs(a.size - b.size) < 0.6 and a.y > b.y]
    close = [step for step in steps if step < 2.2 * block[0].size]
    step = median(close) if close else 1.2 * block[0].size
    usual = median(line.size for line in block)
    group = [block[0]]
    for line in block[1:]:
        if line.size > 1.12 * usual:  # a heading in several lines, often in the middle
            begins = abs(line.size - group[-1].size) > 0.6 or not 0 < group[-1].y - line.y < 1.5 * line.size
        else:
            begins = _begins(group, line, left, right, step)
        if begins:
            yield group
            group = []
        group.append(line)
    yield group


def _begins(group: Block, line: Line, left: float, right: float, step: float) -> bool:
    """Whether a line begins a paragraph."""
    last, first = group[-1], group[0]
    size = max(last.size, line.size)
    gap = last.y - line.y
    if gap > 1.35 * max(step, 1.05 * size) or gap < -0.5 * size or abs(last.size - line.size) > 0.08 * size + 0.3:
        return True
    if _BULLET.match(line.text) or "\t" in line.text or "\t" in last.text:
        return True
    if _NUMBER.match(line.text) and (_NUMBER.match(first.text) or _is_short(last, left, right)):
        return True
    if _is_bold(line) != _is_bold(last) and (_is_bold(group) or _is_bold(line)) and _is_short(last, left, right):
        return True
    if _BULLET.match(first.text) or _NUMBER.match(first.text):  # what hangs below an item belongs to it
        return line.x0 < first.x0 - 0.3 * size or (line.x0 <= first.x0 + 0.3 * size and _is_short(last, left, right))
    if line.x0 - last.x0 > 0.7 * size and abs(last.x0 - left) < 0.5 * size and line.x0 - left < 6 * size:
        return True  # the first line is indented
    return _is_short(last, left, right) and (line.text[:1].isupper() or bool(_SENTENCE_END.search(last.text)))


def _is_short(line: Line, left: float, right: float) -> bool:
    """Whether there was room for another word."""
    return right - line.x1 > max(0.12 * (right - left), 3 * line.size)


def _is_bold(lines: Line | Block) -> bool:
    runs = [run for line in (lines if isinstance(lines, list) else [lines]) for run in line.runs if run[0].strip()]
    return bool(runs) and all(run[1] for run in runs)


def _is_large(group: Block, body: float) -> bool:
    return group[0].size > 1.12 * body and sum(len(line.text) for line in group) <= _LONGEST_HEADING


def _paragraph(group: Block, body: float, larger: Sequence[float], words: Counter[str]) -> Paragraph:
    runs = _joined([line.runs for line in group], words)
    text = "".join(run[0] for run in runs)
    has_words = any(map(str.isalpha, text))
    if _is_large(group, body) and has_words and "\t" not in text:
        level = min(3, larger.index(round(group[0].size * 2) / 2) + 1)
        return Paragraph(f"heading {level}", [(run[0], False, run[2]) for run in runs])
    bullet = _BULLET.match(text)
    if bullet and len(text) > bullet.end():
        return Paragraph("item", _cut(runs, bullet.end()))
    short = len(group) <= 2 and len(text) <= 120 and "\t" not in text
    if short and has_words and _is_bold(group) and not re.search(r"[.,;]$", text):
        return Paragraph("heading 3", [(run[0], False, run[2]) for run in runs])
    number = _NUMBER.match(text)
    if number and len(text) > number.end():
        return Paragraph("", _cut(runs, number.end()), number[0].strip())
    return Paragraph("", runs)


def _cut(runs: Sequence[Run], start: int) -> list[Run]:
    """Runs without their first letters."""
    rest = []
    for text, bold, italic in runs:
        if start < len(text):
            rest.append((text[start:], bold, italic))
        start = max(0, start - len(text))
    return rest


def _joined(lines: Iterable[Sequence[Run]], words: Counter[str]) -> list[Run]:
    """The runs of lines, as one text: words that were divided are put together."""
    runs: list[tuple[list[str], bool, bool]] = []
    for line in lines:
        for number, (text, bold, italic) in enumerate(line):
            if runs and not number:
                runs[-1][0][-1] = _before(text, runs[-1][0][-1], words)
            if runs and runs[-1][1:] == (bold, italic):
                runs[-1][0].append(text)
            else:
                runs.append(([text], bold, italic))
    whole = [(re.sub("[\x02\ufffe\u00ad]", "", "".join(texts)), bold, italic) for texts, bold, italic in runs]
    return [(_with_accents(text), bold, italic) for text, bold, italic in whole]


def _with_accents(text: str) -> str:
    """Accents that stand before their letters, as TeX draws them, with these: na¨ıve is naïve."""
    return _ACCENT.sub(lambda match: _composed(match[0]), text)


def _composed(pair: str) -> str:
    letter = "i" if pair[-1] == "ı" else pair[-1]
    whole = unicodedata.normalize("NFC", letter + _ACCENTS[pair[0]])
    return whole if len(whole) == 1 else pair


def _before(after: str, text: str, words: Counter[str]) -> str:
    """The end of a line with what belongs between it and the next one."""
    text = text.rstrip()
    before = re.search(r"([\w-]+)[^\w\s]$", text[-_LONGEST_WORD:])
    first = re.match(r"[\w-]+", after)
    if text.endswith(_HYPHENS) and before and first and after[:1].islower():
        whole, parted = before[1] + first[0], f"{before[1]}-{first[0]}"
        keeps = text[-1] == "-" and words[parted.lower()] > words[whole.lower()]
        text = text if keeps else text[:-1]
    elif text and not text.endswith(_HYPHENS[2:]):
        text += " " if not text.endswith(("-", "/")) or after[:1].isspace() else ""
    return text


def _over_pages(paragraphs: Iterable[Paragraph], words: Counter[str]) -> Iterator[Paragraph]:
    """Paragraphs that go on in the next column or on the next page are one; notes that stand between come after it."""
    parts: list[Paragraph] = []  # of one, the last with the size and kind of the first
    notes: list[Paragraph] = []
    for paragraph in paragraphs:
        if parts and _goes_on(parts[-1], paragraph):
            parts.append(replace(parts[0], runs=paragraph.runs))
        elif parts and _is_open(parts[-1]) and paragraph.size < 0.95 * parts[0].size and len(notes) < _MOST_NOTES:
            notes.append(paragraph)
        else:
            yield from [*_whole(parts, words), *notes]
            parts, notes = [paragraph], []
    yield from [*_whole(parts, words), *notes]


def _whole(parts: Sequence[Paragraph], words: Counter[str]) -> list[Paragraph]:
    if len(parts) < 2:
        return list(parts)
    return [replace(parts[0], runs=_joined([part.runs for part in parts], words))]


def _is_open(paragraph: Paragraph) -> bool:
    """Whether its last sentence has no end."""
    ends = _SENTENCE_END.search(paragraph.text) or "\t" in paragraph.text
    return paragraph.kind in ("", "item") and not ends


def _goes_on(last: Paragraph, paragraph: Paragraph) -> bool:
    alike = abs(last.size - paragraph.size) < 0.06 * last.size and "\t" not in paragraph.text
    return alike and _is_open(last) and not (paragraph.kind or paragraph.mark) and paragraph.text[:1].islower()
