"""How many steps a regular expression takes: a slow, literal backtracking matcher over what Python's own parser read.

Times would say the same, but not on a busy machine; and of steps one can say: of twice the text, twice as many.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any

if sys.version_info >= (3, 11):
    import re._constants as ops
    import re._parser as parser
else:
    import sre_constants as ops
    import sre_parse as parser

_CATEGORIES = {
    ops.CATEGORY_DIGIT: str.isdigit,
    ops.CATEGORY_NOT_DIGIT: lambda char: not char.isdigit(),
    ops.CATEGORY_SPACE: str.isspace,
    ops.CATEGORY_NOT_SPACE: lambda char: not char.isspace(),
    ops.CATEGORY_WORD: lambda char: char.isalnum() or char == "_",
    ops.CATEGORY_NOT_WORD: lambda char: not (char.isalnum() or char == "_"),
}
_REPEATS = {ops.MAX_REPEAT, ops.MIN_REPEAT, getattr(ops, "POSSESSIVE_REPEAT", None)}
_ATOMIC = getattr(ops, "ATOMIC_GROUP", None)
_ONE_CHAR = {ops.LITERAL, ops.NOT_LITERAL, ops.ANY, ops.IN}
_SAMPLES = " a1A.,-_<>\"'[]{}()\\*`&:;=/!%$#@|\n\t~^+?é。"
Node = tuple[Any, Any]
MOST_STEPS = 1_000_000  # of one text; a linear expression is far from it


class TooManySteps(Exception):
    """There is no need to count on."""


class Matcher:
    def __init__(self, pattern: re.Pattern[Any]) -> None:
        source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
        self.nodes = list(parser.parse(source, pattern.flags & ~re.UNICODE))
        self.flags = pattern.flags
        self.steps = 0
        self._known: dict[tuple[int, str], bool] = {}  # by the identity of what the parser read, which stays
        self._lists: dict[int, list[Node]] = {}

    def count(self, text: str, anchored: bool) -> int:
        """Steps to find all matches in a text, or to try the start of it alone."""
        self.steps, place = 0, 0
        while place <= len(text):
            end = next(self._match(self.nodes, 0, text, place, {}), None)
            if anchored:
                break
            place = max(place + 1, end) if end is not None else place + 1
        return self.steps

    def fits(self, node: Node, char: str) -> bool:
        """is_char for a node of the expression, which is asked the same again and again."""
        key = (id(node), char)
        if key not in self._known:
            self._known[key] = self.is_char(node, char)
        return self._known[key]

    def nodes_of(self, sequence: Any) -> list[Node]:
        if id(sequence) not in self._lists:
            self._lists[id(sequence)] = list(sequence)
        return self._lists[id(sequence)]

    def is_char(self, node: Node, char: str) -> bool:
        op, value = node
        if op is ops.ANY:
            return char != "\n" or bool(self.flags & re.DOTALL)
        options = {char, char.lower(), char.upper()} if self.flags & re.IGNORECASE else {char}
        if op is ops.LITERAL:
            return chr(value) in options
        if op is ops.NOT_LITERAL:
            return chr(value) not in options
        negated = value[0][0] is ops.NEGATE
        for kind, what in value[negated:]:
            for option in options:
                if (
                    (kind is ops.LITERAL and chr(what) == option)
                    or (kind is ops.RANGE and what[0] <= ord(option) <= what[1])
                    or (kind is ops.CATEGORY and _CATEGORIES[what](option))
                ):
                    return not negated
        return bool(negated)

    def _match(self, nodes: Sequence[Node], index: int, text: str, at: int, groups: dict[int, str]) -> Iterator[int]:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise TooManySteps
        if index == len(nodes):
            yield at
            return
        op, value = nodes[index]
        if op in _ONE_CHAR:
            if at < len(text) and self.fits(nodes[index], text[at]):
                yield from self._match(nodes, index + 1, text, at + 1, groups)
        elif op in _REPEATS:
            ends = self._repeat(op, value, text, at, groups)
            for end in [next(ends)] if op is getattr(ops, "POSSESSIVE_REPEAT", None) else ends:
                yield from self._match(nodes, index + 1, text, end, groups)
        elif op is ops.AT:
            if self._is_at(value, text, at):
                yield from self._match(nodes, index + 1, text, at, groups)
        elif op in (ops.ASSERT, ops.ASSERT_NOT):
            inside = self.nodes_of(value[1])
            start = at if value[0] > 0 else at - value[1].getwidth()[0]
            found = start >= 0 and next(self._match(inside, 0, text, start, dict(groups)), None) is not None
            if found == (op is ops.ASSERT):
                yield from self._match(nodes, index + 1, text, at, groups)
        else:
            for end in self._group(op, value, text, at, groups):
                yield from self._match(nodes, index + 1, text, end, groups)

    def _group(self, op: Any, value: Any, text: str, at: int, groups: dict[int, str]) -> Iterator[int]:
        if op is ops.SUBPATTERN:
            for end in self._match(self.nodes_of(value[3]), 0, text, at, groups):
                groups[value[0]] = text[at:end]
                yield end
        elif op is ops.BRANCH:
            for branch in value[1]:
                yield from self._match(self.nodes_of(branch), 0, text, at, groups)
        elif op is ops.GROUPREF:
            if text.startswith(groups.get(value, "\0"), at):
                yield at + len(groups[value])
        elif op is _ATOMIC:
            yield from list(self._match(list(value), 0, text, at, groups))[:1]
        else:
            raise ValueError(f"an operation that is not known: {op}")

    def _repeat(self, op: Any, value: Any, text: str, at: int, groups: dict[int, str]) -> Iterator[int]:
        least, most, body = value
        nodes = self.nodes_of(body)
        if len(nodes) == 1 and nodes[0][0] in _ONE_CHAR:  # as sre does it: to the end, then back
            end = at
            while end < len(text) and end - at < most and self.fits(nodes[0], text[end]):
                end += 1
                self.steps += op is not ops.MIN_REPEAT
            ends = range(at + least, end + 1)
            for each in ends if op is ops.MIN_REPEAT else reversed(ends):
                self.steps += 1
                yield each
            return
        if op is ops.MIN_REPEAT and not least:
            yield at
        if most:
            for end in self._match(nodes, 0, text, at, groups):
                if end > at:
                    yield from self._repeat(op, (max(0, least - 1), most - 1, body), text, end, groups)
                elif least:
                    yield end
        if op is not ops.MIN_REPEAT and not least:
            yield at

    def _is_at(self, where: Any, text: str, at: int) -> bool:
        if where in (ops.AT_BEGINNING, ops.AT_BEGINNING_STRING):
            lines = where is ops.AT_BEGINNING and self.flags & re.MULTILINE
            return at == 0 or bool(lines and text[at - 1] == "\n")
        if where in (ops.AT_END, ops.AT_END_STRING):
            lines = where is ops.AT_END and self.flags & re.MULTILINE
            return at == len(text) or (where is ops.AT_END and text[at:] == "\n") or bool(lines and text[at] == "\n")
        sides = [0 <= n < len(text) and (text[n].isalnum() or text[n] == "_") for n in (at - 1, at)]
        return (sides[0] != sides[1]) == (where is ops.AT_BOUNDARY)

    def attacks(self) -> set[tuple[str, str]]:
        """What comes first and what is said again and again: for every repetition of the expression."""
        pairs: set[tuple[str, str]] = {("", char) for char in " a1.<[{\\\n\t-_="}
        self._collect(self.nodes, "", pairs)
        return pairs

    def _collect(self, nodes: Sequence[Node], before: str, pairs: set[tuple[str, str]]) -> str:
        """A text that the nodes match, after `before`; pairs are added on the way."""
        for op, value in nodes:
            if op in _REPEATS:
                body = list(value[2])
                for sample in self._samples(body):
                    if value[1] > 20 and sample:
                        pairs.update({(before, sample), ("", before + sample)})
                inside = self._collect(body, before, pairs)
                before = inside if value[0] else before
                if value[0] > 1:
                    before += self._samples(body)[0] * (min(value[0], 50) - 1)
            elif op is ops.SUBPATTERN:
                before = self._collect(list(value[3]), before, pairs)
            elif op is ops.BRANCH:
                ends = [self._collect(list(branch), before, pairs) for branch in value[1]]
                before = ends[0]
            elif op in _ONE_CHAR:
                before += self._samples([(op, value)])[0]
            if before:
                pairs.add(("", before[-60:]))
        return before

    def _samples(self, nodes: Sequence[Node]) -> list[str]:
        """Some short texts that nodes match."""
        if len(nodes) == 1 and nodes[0][0] in _ONE_CHAR:
            chars = [char for char in _SAMPLES if self.is_char(nodes[0], char)]
            return chars[:3] or [chr(nodes[0][1]) if nodes[0][0] is ops.LITERAL else "\u4e00"]
        return [self._collect(nodes, "", set())]
