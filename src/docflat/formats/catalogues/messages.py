"""Messages of programs: paragraphs, lines that were wrapped, tags and placeholders in one string."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from docflat.formats.inline_codes import Token, read_tokens, restore_codes, skip_reason, write_codes
from docflat.formats.line_breaking import choose_breaks, goes_on
from docflat.formats.printf import IN_FORMATS
from docflat.formats.segments import Segment, Span
from docflat.support.punctuation import columns

_TAG = re.compile(r"<(/?)([A-Za-z][\w:.-]*|\d{1,3})(?:\s[^<>]*)?(/?)>")
_CODE = re.compile(r"`[^`\n]{1,200}`")
_LINK = re.compile(r"\[([^\[\]]{1,300})(\]\([^()\s]{1,500}\))")  # of Markdown; its address may be relative
# Bars between texts: plural forms, "{0} no file|{1} one file|[2,*] many", or "Title | Site".
_NUMBERS = r"(?:\{\d{1,6}\}|[\[\]](?:\d{1,9}|\*|-?Inf),(?:\d{1,9}|\*|\+?Inf)[\[\]])\s"
_BAR = re.compile(rf"\{{[^{{}}]{{0,200}}\}}|`[^`\n]{{1,200}}`|<[^<>]{{1,500}}>|(\s?\|{{1,4}}\s?(?:{_NUMBERS})?)")
_FIRST_NUMBERS = re.compile(_NUMBERS)
_SINGLE = {"br", "hr", "img", "p", "li"}  # tags that may stand alone; others are words, as in "copy <file>"
_MNEMONIC = re.compile(r"(?<!\S)[_&](?=[^\W\d_])(?!\w+;)")  # "_Open", "&Open": the key that chooses it in a menu
_LABEL = 60  # characters of what may have one
_LONGEST_MESSAGE = 10_000  # characters; what is longer is data, not language
_FULL = 50  # characters of a line that may have been wrapped
_BRACE = r"\{\{|\}\}|\{[^{}]{0,200}\}"
_NUMBERED = r"%L?(?:\d{1,2}|n)"
# By the flag that says what a message is formatted with; translation/placeholders.py finds what is seen without it.
_FORMATS = {
    "python-brace-format": _BRACE,
    "c++-format": _BRACE,
    "csharp-format": _BRACE,
    "java-format": _BRACE,
    "qt-format": _NUMBERED,
    "qt-plural-format": _NUMBERED,
    "kde-format": _NUMBERED,
    "stringsdict-format": r"%(?:\d{1,2}\$)?#@\w{1,80}@",
    "ruby-format": r"%\{[^{}]{1,80}\}|%<\w{1,80}>[-+ 0-9.]{0,8}[a-z]|\{\{[^{}]{1,80}\}\}",
}
# What is left of tags, and reStructuredText: literals, roles, references, substitutions. Sphinx writes PO files.
_LITERAL = "|".join(
    (
        r"<[A-Za-z/][^<>]{0,80}>|</?\d{1,3}\s?/?>|``[^`]{1,500}``|:[\w:+.-]{1,80}:`[^`]{1,500}`|`[^`]{1,500}`__?",
        r"`[^`\n]{1,200}`|\|[\w-]{1,80}\||\{\s?[\w.]{1,60}\s?\|[^{}]{1,80}\}",  # {count | number} of Angular
        r"(?<![\w:]):[a-z_]{2,30}(?![\w:])",  # :count of Laravel
    )
)


@dataclass(frozen=True)
class LineBreak:
    """The tag of a point where a wrapped line ends."""

    number: int


@dataclass(frozen=True)
class Message:
    """Its segments, their text in it, and what stands before, between and after them."""

    segments: tuple[Segment, ...]
    raws: tuple[str, ...]
    between: tuple[str, ...]


def has_markup(text: str) -> bool:
    """Whether a text is more than words: tags, code, links of Markdown, or several texts with bars between them."""
    if len(text) > _LONGEST_MESSAGE:
        return False
    return any(pattern.search(text) for pattern in (_TAG, _CODE, _LINK)) or "|" in text


def read_message(text: str, flags: Collection[str] = (), bars: bool = False) -> Message:
    """bars: whether bars part texts; in reStructuredText, as many PO files have it, they do not."""
    if len(text) > _LONGEST_MESSAGE:
        return Message((Segment(text, (), f"longer than {_LONGEST_MESSAGE} characters"),), (text,), ("", ""))
    pattern = re.compile("|".join([*_formats(flags), _LITERAL]))
    raws, between, glue = [], [], ""
    lines = _paragraphs(text)
    for part, is_text in (piece for line in lines for piece in _alternatives(*line)) if bars else lines:
        if is_text:
            raws.append(part)
            between.append(glue)
            glue = ""
        else:
            glue += part
    return Message(tuple(_read_part(raw, pattern) for raw in raws), tuple(raws), (*between, glue))


def write_message(message: Message, segments: Sequence[Segment]) -> str:
    """The message with these segments; its own ones stay as they were."""
    parts = []
    for glue, raw, source, new in zip(message.between, message.raws, message.segments, segments, strict=False):
        parts += [glue, raw if new is source else _write_part(source, new)]
    return "".join([*parts, message.between[-1]])


def keep_arguments(source: str, text: str, flags: Collection[str]) -> tuple[str, bool]:
    """A translation that takes its arguments in the order of its source, and whether it does.

    "%s has %d" and "%d in %s" would read each other's: C can number them, "%2$d in %1$s".
    """
    if IN_FORMATS not in _formats(flags):
        return text, True
    arguments, translated = ([match[0] for match in _arguments(each)] for each in (source, text))
    if arguments == translated:
        return text, True
    if "c-format" not in flags or sorted(arguments) != sorted(translated) or any("*" in each for each in arguments):
        return text, False
    numbers: dict[str, list[int]] = {}
    for number, each in enumerate(arguments, 1):
        numbers.setdefault(each, []).append(number)
    parts, place = [], 0
    for match in _arguments(text):
        parts += [text[place : match.start()], f"%{numbers[match[0]].pop(0)}${match[0][1:]}"]
        place = match.end()
    return "".join([*parts, text[place:]]), True


def _arguments(text: str) -> list[re.Match[str]]:
    """The placeholders that take the next argument, whatever it is."""
    return [match for match in re.finditer(IN_FORMATS, text) if not re.match(r"%(?:\(|\d+\$|%|m)", match[0])]


def _formats(flags: Collection[str]) -> list[str]:
    return [_FORMATS.get(flag, IN_FORMATS) for flag in flags if re.fullmatch(r"(?!no-|possible-).*-format", flag)]


def _paragraphs(text: str) -> Iterator[tuple[str, bool]]:
    """Pieces of a message, and whether they are text: lines, or several where one was wrapped into them."""
    start = 0
    for match in re.finditer(r"\n\s*", text):
        line = text[max(start, text.rfind("\n", start, match.start()) + 1) : match.start()]
        if not _is_wrapped(line.rstrip(), match[0], text[match.end() : match.end() + 1]):
            yield from _strip(text[start : match.start()])
            yield match[0], False
            start = match.end()
    yield from _strip(text[start:])


def _is_wrapped(line: str, blanks: str, after: str) -> bool:
    """Whether a line end is only there because the line was full."""
    if blanks != "\n" or not after or not line:
        return False
    continued = goes_on(line, after)
    return after.isalnum() and len(line) >= _FULL if continued is None else continued


def _strip(text: str) -> Iterator[tuple[str, bool]]:
    inner = text.strip()
    start = len(text) - len(text.lstrip())
    yield text[:start], False
    if inner:
        yield inner, True
        yield text[start + len(inner) :], False


def _alternatives(text: str, is_text: bool) -> Iterator[tuple[str, bool]]:
    """A piece, cut at its bars; one that is in braces, code or a tag is none."""
    bars = [match for match in _BAR.finditer(text) if match[1]] if is_text else []
    if not bars:
        yield text, is_text
        return
    first = _FIRST_NUMBERS.match(text)
    place = first.end() if first else 0
    yield text[:place], False
    for match in bars:
        yield from _strip(text[place : match.start()])
        yield match[0], False
        place = match.end()
    yield from _strip(text[place:])


def _read_part(part: str, pattern: re.Pattern[str]) -> Segment:
    tokens, place = [], 0
    for start, code in _codes(part):
        if start >= place:
            tokens += [Token(part[place:start], "text"), code]
            place = start + len(code.raw)
    tokens.append(Token(part[place:], "text"))
    mark = _MNEMONIC.search(part) if len(part) <= _LABEL else None
    if mark and part.count(mark[0]) == 1:
        tokens = [piece for token in tokens for piece in _cut(token, mark[0])]
    text, codes = read_tokens(tokens)
    spans = [*codes, *(Span(match.end(), match.end(), LineBreak(i)) for i, match in enumerate(re.finditer("\n", text)))]
    text = text.replace("\n", " ")
    pairs = [span for span in codes if span.start < span.end]
    for match in pattern.finditer(text):
        a, b = match.span()
        if all(b <= span.start or span.end <= a or (span.start <= a and b <= span.end) for span in pairs):
            spans.append(Span(a, b, None, opaque=True))
    spans.sort(key=lambda span: (span.start, -span.end))
    return Segment(text, tuple(spans), skip_reason(text))


def _codes(part: str) -> list[tuple[int, Token]]:
    """Tags, and the two halves of links, where they are; not what code shows of them."""
    codes: list[tuple[int, Token]] = []
    closed = {match[2] for match in _TAG.finditer(part) if match[1]}
    for match in _TAG.finditer(part):
        if match[2] in closed or match[3] or match[2].lower() in _SINGLE:
            kind = "close" if match[1] else "point" if match[3] else "open"
            codes.append((match.start(), Token(match[0], kind, match[2])))
    for match in _LINK.finditer(part):
        key = f"link {match.start()}"
        codes += [(match.start(), Token("[", "open", key)), (match.start(2), Token(match[2], "close", key))]
    shown = [match.span() for match in _CODE.finditer(part)] if codes else []
    return sorted((code for code in codes if not any(a < code[0] < b for a, b in shown)), key=lambda code: code[0])


def _cut(token: Token, mark: str) -> list[Token]:
    """A text with this mark as a point of its own."""
    if token.kind != "text" or mark not in token.raw:
        return [token]
    before, _, after = token.raw.partition(mark)
    return [Token(before, "text"), Token(mark, "point"), Token(after, "text")]


def _write_part(source: Segment, new: Segment) -> str:
    new = restore_codes(source, new, pairs=False)
    return write_codes(new, str, breaks=_line_breaks(source, new))


def _line_breaks(source: Segment, new: Segment) -> list[tuple[int, int]]:
    """As many lines as there were, ended near where their points are."""
    ends = [span for span in source.spans if isinstance(span.tag, LineBreak)]
    if not ends:
        return []
    points = {span.tag: span.start for span in new.spans if isinstance(span.tag, LineBreak)}
    places = sorted(points.get(span.tag, len(new.text) * span.start / len(source.text)) for span in ends)
    starts = [0, *(span.start for span in ends), len(source.text)]
    width = max(columns(source.text[a:b]) for a, b in pairwise(starts))
    whole = [(span.start, span.end) for span in new.spans if span.opaque]
    return choose_breaks(new.text, places, max(width, 40), whole)
