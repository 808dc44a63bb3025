"""What a translation must hold as it is: placeholders, addresses, terms, and what a format says is opaque."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from docflat.formats.line_breaking import goes_on
from docflat.formats.printf import IN_TEXT
from docflat.formats.segments import LINE_BREAK
from docflat.support.punctuation import CLAUSE_ENDS, CLOSING_QUOTES, SENTENCE_ENDS
from docflat.support.text_ranges import Range, join_ranges, overlap

_PATTERNS = (
    r"[a-z][a-z0-9+.-]{1,15}://[^\s<>\"'`]{1,2000}",  # a URL
    r"www\.[^\s<>\"'`]{1,2000}",
    r"[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,8}",  # an e-mail address
    # C:\Program Files\x.ini; no name starts or ends in a blank, as the words do in C:\x or the folder \y
    r"\b[a-z]:\\(?:(?!\s)[^\\<>\"|:\n]{1,80}(?<!\s)\\){0,20}(?:[\w.$-]{0,200}\w)?",
    r"(?-i:\b[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){1,2}(?: ?[0-9]{4}){2,5}(?: ?[0-9]{1,3})?\b)",  # an IBAN
    r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9:.]{2,20}(?:Z|[+-][0-9]{2}:?[0-9]{2})?\b",  # a time for programs
    r"\b(?:rgb|hsl)a?\([0-9.,%/\s]{3,60}\)",  # a colour of CSS
    r"\$\{[^{}\s]{1,80}\}",  # ${x}
    r"\{\{[^{}]{1,80}\}\}",  # {{ x }}
    r"\{[^{}\s]{0,80}\}|\{ [a-z_][\w.]{1,80} \}",  # {x} {0:.2f} {} { name }
    r"\{\s*[\w.]{1,80}\s*,\s*(?:number|date|time|ordinal|spellout|duration)\b[^{}]{0,80}\}",  # {n, number, percent}
    r"\{%[^{}]{1,500}%\}|\{\{[<%][^{}]{1,500}[%>]\}\}",  # {% include x %}, {{< x >}}: tags of templates
    r"(?<![\w:/]):[a-z+-][\w+-]{1,40}:(?![\w:/])",  # :smile:
    IN_TEXT,
    r"&(?:[a-z][a-z0-9]{1,31}|#[0-9]{1,7}|#x[0-9a-f]{1,6});",  # an entity in a message
    r"\\[nrt](?-i:(?![a-z]))",  # an escape that was left in a message
    r"(?<!_)_{3,}(?!_)|(?<!\.)\.{5,}|(?<!…)…{3,}",  # a line to fill in, or that leads to a page
)
# {n, plural, one {# cat} other {# cats}}: a message of ICU that chooses between texts, and what begins each of them
_CHOICE = re.compile(r"\{\s*[\w.]{1,80}\s*,\s*(?:plural|select|selectordinal)\s*,")
_SELECTOR = re.compile(r"\s*(?:offset:[0-9]{1,9}\s*)?(?:=[0-9]{1,9}|[\w-]{1,80})\s*\{")
_BRACE = re.compile(r"[{}]")
_CHOICE_END = re.compile(r"\s*\}")
_LONGEST_CHOICE = 10_000  # characters of a text that may be such a message
_DEEPEST_CHOICE = 20  # such messages in each other
# Columns: blanks that nobody puts between the words of a sentence. After an option of a program fewer will do.
_COLUMNS = re.compile(r"(?<=\S)(?: {4,}| *\t[ \t]*)(?=\S)")
_OPTION = re.compile(r"\s*(-{1,2}[A-Za-z?][^\n]{0,80}?)( {2,}| *\t[ \t]*)(?=\S)")
# A line break, and a word before it that no text ends with: "The History of", "bread and".
_LINK = re.compile(r"(?<!\w)[a-z]{1,3}$")
_PLACEHOLDER = re.compile("|".join(_PATTERNS), re.IGNORECASE)
STAND_IN = "XQ"
_STAND_IN = re.compile(rf"\b{STAND_IN}([0-9]{{1,3}})\b")
_TOKEN = re.compile(r"\w+|[^\w\s]")
_AFTER_ADDRESS = tuple(SENTENCE_ENDS + CLAUSE_ENDS + CLOSING_QUOTES)  # these belong to the sentence around it
_OPENERS = {")": "(", "]": "[", "}": "{"}


def find_placeholders(text: str) -> list[Range]:
    """All of a text, in order."""
    choices = find_choices(text)
    option = _OPTION.match(text)
    places = [option.span(1)] if option else []
    if choices:  # the number that it is about
        places += [match.span() for match in re.finditer("#", text)]
    places += _find_in_words(text)
    # What an option of a program or a text to choose has in braces is no placeholder of its own.
    return sorted(place for place in join_ranges(places) if not overlap(place, choices))


def _find_in_words(text: str) -> list[Range]:
    places = []
    for match in _PLACEHOLDER.finditer(text):
        start, end = match.span()
        if "://" in match[0] or match[0].lower().startswith("www."):
            end = start + len(_trim(match[0]))
        places.append((start, end))
    return places


def find_joints(text: str) -> list[Range]:
    """What parts a text into texts of their own, in order.

    The frame of choices between texts, the blanks of columns, and line breaks unless a sentence goes on after them.
    """
    joints = find_choices(text)
    gaps = [match.span() for match in _COLUMNS.finditer(text)]
    gaps += [gap for gap in _find_breaks(text) if not _goes_on(text, *gap)]
    if option := _OPTION.match(text):
        gaps.append(option.span(2))
    return join_ranges([*joints, *(gap for gap in gaps if not overlap(gap, joints))])


def _find_breaks(text: str) -> Iterator[Range]:
    """Line breaks with the blanks around them."""
    end = 0
    while (place := text.find(LINE_BREAK, end)) >= 0:
        start = end + len(text[end:place].rstrip())
        end = place
        while end < len(text) and text[end].isspace():
            end += 1
        yield start, end


def _goes_on(text: str, start: int, end: int) -> bool:
    """Whether what is before text[start:end] is no text by itself."""
    before = text[max(0, start - 5) : start]
    if before.endswith(_AFTER_ADDRESS):
        return False
    return goes_on(before, text[end : end + 1]) or _LINK.search(before) is not None


def find_choices(text: str) -> list[Range]:
    """The frame of messages that choose between texts: `{n, plural, one {`, `} other {`, `}}`."""
    frame: list[Range] = []
    place = 0 if len(text) <= _LONGEST_CHOICE else len(text)
    while match := _CHOICE.search(text, place):
        read = _read_choice(text, match, 0)
        frame += read or []
        place = read[-1][1] if read else match.end()
    return frame


def _read_choice(text: str, opening: re.Match[str], depth: int) -> list[Range] | None:
    """The frame of one; None: its braces are no pairs, or it says something else."""
    joints: list[Range] = []
    start, place = opening.span()
    while selector := _SELECTOR.match(text, place):
        joints.append((start, selector.end()))
        place = selector.end()
        while brace := _BRACE.search(text, place):
            if brace[0] == "}":
                break
            inner = _CHOICE.match(text, brace.start())
            if inner is None:  # a placeholder in the text
                place = text.find("}", brace.start()) + 1 or len(text)
            elif depth < _DEEPEST_CHOICE and (read := _read_choice(text, inner, depth + 1)):
                joints += read
                place = read[-1][1]
            else:
                return None
        if brace is None:
            return None
        start, place = brace.span()
    end = _CHOICE_END.match(text, place)
    return [*joints, (start, end.end())] if end and joints else None


class Terms:
    """Names and the like that a user wants to stay: whole words, in the same letters; any blanks between them."""

    def __init__(self, terms: Iterable[str] = ()) -> None:
        # By their first words: a list of thousands costs no more than a short one.
        self._patterns: dict[str, list[re.Pattern[str]]] = {}
        for words in sorted({tuple(term.split()) for term in terms if term.strip()}, key=_size, reverse=True):
            end = r"(?!\w)" if words[-1][-1].isalnum() else ""
            first = _TOKEN.findall(words[0])[0]
            self._patterns.setdefault(first, []).append(re.compile(r"\s+".join(map(re.escape, words)) + end))

    def find(self, text: str) -> Iterator[Range]:
        """Where they are in a text; of several that start at a place, the longest."""
        for token in _TOKEN.finditer(text) if self._patterns else ():
            for pattern in self._patterns.get(token[0], ()):
                if match := pattern.match(text, token.start()):
                    yield match.span()
                    break


def _size(words: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
    return sum(map(len, words)), words


def _trim(url: str) -> str:
    """Without what the sentence around it put there, such as a bracket that was opened before."""
    end = len(url)
    counts = Counter(char for char in url if char in "()[]{}")
    while end and (
        url[end - 1] in _AFTER_ADDRESS or counts[url[end - 1]] > counts[_OPENERS.get(url[end - 1], url[end - 1])]
    ):
        end -= 1
        counts[url[end]] -= 1
    return url[:end]


def occurrences(part: str, text: str) -> list[int]:
    """Where a part is in a text; a part that starts or ends in a word is not found inside of longer words."""
    before = r"(?<!\w)" if part[:1].isalnum() else ""
    after = r"(?!\w)" if part[-1:].isalnum() else ""
    return [match.start() for match in re.finditer(before + re.escape(part) + after, text)]


def mask(source: str, ranges: Sequence[Range]) -> str | None:
    """A sentence with a word that models copy in the place of each of these ranges, XQ1, XQ2.

    None: it has such words, or a range is a part of a word, which the model would put together anew.
    """
    if STAND_IN in source or any(source[max(0, a - 1) : a].isalnum() or source[b : b + 1].isalnum() for a, b in ranges):
        return None
    parts, end = [], 0
    for number, (start, last) in enumerate(ranges, 1):
        parts += [source[end:start], f"{STAND_IN}{number}"]
        end = last
    return "".join([*parts, source[end:]])


def leading_stand_in(target: str) -> int | None:
    """The place among all that were masked of the one that comes before any word of the translation."""
    match = _STAND_IN.search(target)
    return int(match[1]) - 1 if match and not any(map(str.isalnum, target[: match.start()])) else None


def unmask(target: str, parts: Sequence[str]) -> tuple[str, list[int]] | None:
    """The translation of a masked sentence with what was masked, and where each starts; None: some are not there."""
    numbers = [int(match[1]) for match in _STAND_IN.finditer(target)]
    if sorted(numbers) != list(range(1, len(parts) + 1)) or target.count(STAND_IN) != len(parts):
        return None
    places = [0] * len(parts)
    text, end = "", 0
    for match in _STAND_IN.finditer(target):
        number = int(match[1]) - 1
        text += target[end : match.start()]
        places[number] = len(text)
        text += parts[number]
        end = match.end()
    return text + target[end:], places


def find_again(source: str, ranges: Sequence[Range], target: str) -> list[int] | None:
    """Where each of these ranges of a sentence starts in its translation.

    None unless the translation has each of them exactly as often as the source.
    """
    places: dict[str, dict[int, int]] = {}
    for start, end in ranges:
        part = source[start:end]
        if part not in places:
            before, after = occurrences(part, source), occurrences(part, target)
            if len(before) != len(after):
                return None
            places[part] = dict(zip(before, after, strict=True))
    starts = []
    for start, end in ranges:
        again = places[source[start:end]].get(start)
        if again is None:  # it is inside of a longer word
            return None
        starts.append(again)
    taken = sorted((place, place + end - start) for place, (start, end) in zip(starts, ranges, strict=True))
    overlaps = any(left[1] > right[0] for left, right in pairwise(taken))
    return None if overlaps else starts
