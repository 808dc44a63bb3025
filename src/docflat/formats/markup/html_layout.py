"""What a reader of a page sees apart, though its tags stand in a line: by what elements hold, by their style, in rows.

To a model the words of a line are one sentence, whose words may change places: in a menu they would lead elsewhere.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from itertools import accumulate, pairwise

from docflat.formats.markup.html_tokens import APART, BLOCKS, CHOICES, CODE, VERBATIM, VOID, Token, names, values_of
from docflat.support.punctuation import CLAUSE_ENDS, SENTENCE_ENDS

_DISPLAY = re.compile(r"display\s*:\s*(?:block|flex|grid|flow-root|list-item|table)")
_CLASS_SELECTOR = re.compile(r"[a-z][a-z0-9]*\.([\w-]+)|\.([\w-]+)")
# Of the frameworks that most pages use: what their classes lay out as blocks, and what are labels by themselves.
_BLOCK_CLASSES = names(
    "block flex grid d-block d-flex d-grid row col btn badge chip nav-link dropdown-item page-link list-group-item "
    "breadcrumb-item card-title card-text card-body"
)
_SEPARATORS = frozenset("|·•‣»›/→–—")  # between the entries of a row
_FEWEST = 3  # elements of one kind in a row that make it a list


@dataclass(eq=False)
class _Element:
    """An inline element: its tags, by their number, and what is in it and before it."""

    opening: int
    closing: int
    name: str
    kind: str  # its class
    gap: str  # between it and the element before it
    texts: tuple[int, int] = (0, 0)  # the numbers of the texts in it
    first: str = ""  # letters at its edges
    last: str = ""
    words: int = 0


def find_apart(text: str, tokens: Sequence[Token]) -> set[int]:
    """Where inline tags start that end a text."""
    shown = [not hidden for hidden in _are_verbatim(text, tokens)]
    is_block = [
        visible and token.kind in ("open", "close") and token.name in APART
        for token, visible in zip(tokens, shown, strict=True)
    ]
    pairs, unclosed = _match(text, tokens, shown)
    styled = _styled_classes(text, tokens)
    apart: set[int] = set()
    bounds = [0]  # block tags before each token
    breaks = [0]  # of these, line breaks
    for token, block in zip(tokens, is_block, strict=True):
        bounds.append(bounds[-1] + block)
        breaks.append(breaks[-1] + (block and token.name == "br"))
    loose = set(unclosed)
    for opening, closing in pairs.items():
        if is_block[opening]:
            continue
        inside = bounds[closing] - bounds[opening]
        if inside > breaks[closing] - breaks[opening] or _is_laid_out(text, tokens[opening], styled):
            apart |= {opening, closing}
        elif inside:
            loose |= {opening, closing}
    for number, token in enumerate(tokens):
        if shown[number] and token.name == "input" and values_of(text, token).get("type") in CHOICES:
            apart.add(number)
    apart |= _loose_beside_others(tokens, shown, is_block, apart, loose)
    inline = {a: b for a, b in pairs.items() if not is_block[a] and a not in apart and a not in loose}
    for line in _lines(tokens, shown, is_block, apart):
        apart |= _apart_in_line(text, tokens, line, inline)
    return {tokens[number].start for number in apart}


def _are_verbatim(text: str, tokens: Sequence[Token]) -> Iterator[bool]:
    """Whether each token is of an element whose content is not read, its tags included."""
    name, depth = "", 0
    for token in tokens:
        if name in CODE and token.name in BLOCKS - {"br"}:
            name, depth = "", 0  # a closing tag was forgotten
        if not depth and token.kind == "open" and token.name in VERBATIM and not _is_empty(text, token):
            name = token.name
        if name and token.name == name and not _is_empty(text, token):
            depth += {"open": 1, "close": -1}.get(token.kind, 0)
        yield bool(name)
        name = name if depth else ""


def _is_empty(text: str, token: Token) -> bool:
    return token.name in VOID or text.startswith("/>", token.end - 2)


def _match(text: str, tokens: Sequence[Token], shown: Sequence[bool]) -> tuple[dict[int, int], list[int]]:
    """The closing tag of each opening one, and those that have none."""
    pairs: dict[int, int] = {}
    unclosed: list[int] = []
    path: list[int] = []
    waiting: Counter[str] = Counter()
    for number, token in enumerate(tokens):
        if not shown[number]:
            continue
        if token.kind == "open" and not _is_empty(text, token):
            path.append(number)
            waiting[token.name] += 1
        elif token.kind == "close" and waiting[token.name]:
            while tokens[path[-1]].name != token.name:
                waiting[tokens[path[-1]].name] -= 1
                unclosed.append(path.pop())
            waiting[token.name] -= 1
            pairs[path.pop()] = number
    return pairs, unclosed + path


def _styled_classes(text: str, tokens: Sequence[Token]) -> set[str]:
    """Classes that the page's own style sheets lay out as blocks."""
    classes = set(_BLOCK_CLASSES)
    for token in tokens:
        if token.kind != "raw" or token.name != "style":
            continue
        for rule in text[token.start : token.end].split("}"):
            head, _, body = rule.rpartition("{")
            if _DISPLAY.search(body):
                for selector in head.rpartition("{")[2].split(","):
                    last = re.split(r"[\s>+~]", selector.strip())[-1]
                    if match := _CLASS_SELECTOR.fullmatch(last):
                        classes.add((match[1] or match[2]).lower())
    return classes


def _is_laid_out(text: str, token: Token, classes: set[str]) -> bool:
    if not token.attributes:
        return False
    values = values_of(text, token)
    return bool(_DISPLAY.search(values.get("style", ""))) or not classes.isdisjoint(values.get("class", "").split())


def _loose_beside_others(
    tokens: Sequence[Token],
    shown: Sequence[bool],
    is_block: Sequence[bool],
    apart: Collection[int],
    loose: Collection[int],
) -> set[int]:
    """Tags whose other half is on another line, or missing: other elements beside them would come to stand in them."""
    result: set[int] = set()
    for line in _lines(tokens, shown, is_block, apart):
        tags = [number for number in line if tokens[number].kind in ("open", "close")]
        if len(tags) > 1:
            result.update(number for number in tags if number in loose)
    return result


def _lines(
    tokens: Sequence[Token], shown: Sequence[bool], is_block: Sequence[bool], apart: Collection[int]
) -> Iterator[list[int]]:
    """The numbers of the tokens between tags that end a text. What is kept counts as one tag."""
    line: list[int] = []
    for number in range(len(tokens)):
        if is_block[number] or number in apart:
            yield line
            line = []
        elif shown[number] or number == 0 or shown[number - 1]:
            line.append(number)
    yield line


def _apart_in_line(text: str, tokens: Sequence[Token], line: Sequence[int], pairs: Mapping[int, int]) -> set[int]:
    """Elements that touch or follow each other like the entries of a list."""
    rows, words, words_outside = _read_rows(text, tokens, line, pairs)
    apart: list[_Element] = []
    links = [element for row in rows for element in row if element.name == "a"]
    if sum(link.words > 0 for link in links) > 1 and not words_outside:
        apart += links
    for row in rows:
        for left, right in pairwise(row):
            if not right.gap and _are_two_words(left, right):
                apart += [left, right]
        if _is_list(row, alone=sum(element.words for element in row) == words):
            apart += row
    return {tag for element in apart for tag in (element.opening, element.closing)}


def _read_rows(
    text: str, tokens: Sequence[Token], line: Sequence[int], pairs: Mapping[int, int]
) -> tuple[list[list[_Element]], int, int]:
    """Elements beside each other with no words between them; how many words there are; how many not in links."""
    rows: list[list[_Element]] = [[]]
    levels = [rows[0]]
    gaps = [""]  # on each level, what stands behind the last element
    path: list[_Element] = []
    texts: list[list[str]] = []  # the words of each
    links = words_outside = 0
    for number in line:
        token = tokens[number]
        if token.kind in ("text", "raw"):
            shown = unescape(text[token.start : token.end])
            if words := [word for word in shown.split() if any(map(str.isalnum, word))]:
                texts.append(words)
                words_outside += 0 if links else len(words)
            gaps[-1] += shown
        elif number in pairs:
            if levels[-1] and not set("".join(gaps[-1].split())) <= _SEPARATORS:
                levels[-1] = []
                rows.append(levels[-1])
            kind = values_of(text, token).get("class", "")
            path.append(_Element(number, pairs[number], token.name, kind, gaps[-1], (len(texts), 0)))
            levels[-1].append(path[-1])
            gaps[-1] = ""
            levels.append([])
            rows.append(levels[-1])
            gaps.append("")
            links += token.name == "a"
        elif path and path[-1].closing == number:
            element = path.pop()
            element.texts = (element.texts[0], len(texts))
            links -= element.name == "a"
            levels.pop()
            gaps.pop()
    counts = [0, *accumulate(map(len, texts))]
    for element in (element for row in rows for element in row):
        first, last = element.texts
        if first < last:
            element.first, element.last = texts[first][0][0], texts[last - 1][-1][-1]
            element.words = counts[last] - counts[first]
    return rows, counts[-1], words_outside


def _are_two_words(left: _Element, right: _Element) -> bool:
    """Whether elements that touch show two texts: no word goes on with a capital, and no link in another."""
    if not (left.words and right.words):
        return False
    if left.name == right.name == "a":
        return True
    sentence_ends = left.last in SENTENCE_ENDS + CLAUSE_ENDS
    capital = (right.first.isupper() or right.first.isdigit()) and (left.last.islower() or sentence_ends)
    return capital and (left.words > 1 or right.words > 1 or sentence_ends)


def _is_list(row: Sequence[_Element], alone: bool) -> bool:
    """Whether elements in a row are entries of a list. alone: there are no other words in their line."""
    first = row[0] if row else None
    if first is None or any(one.name != first.name or not one.words for one in row):
        return False
    separated = all(one.gap.strip() for one in row[1:])
    if len(row) < (2 if separated else _FEWEST) or not all(one.first.isupper() or one.first.isdigit() for one in row):
        return False
    alike = bool(first.kind) and all(one.kind == first.kind for one in row)
    return first.name == "a" or separated or (alone and alike)
