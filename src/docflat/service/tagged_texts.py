"""Texts with XML tags, as DeepL's `tag_handling=xml` means them: no whole file, and tags of the client's own."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from html import unescape
from xml.parsers import expat
from xml.sax.saxutils import escape

from docflat.formats.inline_codes import Token, read_tokens, restore_codes, write_codes
from docflat.formats.segments import Segment
from docflat.support.errors import InputError

_MARKUP = re.compile(
    r"<!--.*?-->|<\?.*?\?>|<!\[CDATA\[.*?\]\]>|<(/?)([^\s<>/]+)(?:[^<>\"']|\"[^\"]*\"|'[^']*')*?(/?)>", re.S
)


@dataclass(frozen=True)
class TagRules:
    splitting: Collection[str] = ()  # tags that end a sentence
    non_splitting: Collection[str] = ()  # tags that never do
    ignored: Collection[str] = ()  # tags whose content stays as it is
    outline: bool = True  # whether tags around stretches of text, with no text beside them, end sentences too


@dataclass(frozen=True)
class TaggedText:
    """What is between the tags that end sentences, and these tags."""

    segments: Sequence[Segment]
    between: Sequence[str]  # one more than there are segments

    def render(self, segments: Sequence[Segment]) -> str:
        parts = [self.between[0]]
        for segment, new, after in zip(self.segments, segments, self.between[1:], strict=True):
            parts += [write_codes(restore_codes(segment, new, pairs=True), escape), after]
        return "".join(parts)


def read_tagged(text: str, rules: TagRules) -> TaggedText:
    """What is not well-formed is an InputError."""
    parser = expat.ParserCreate()
    try:
        parser.Parse(f"<all>{text}</all>".encode(), True)
    except expat.ExpatError as error:
        raise InputError(f"its tags are not XML: {expat.errors.messages[error.code]}") from None
    tokens = _tokens(text)
    splits = _splitting(tokens, rules)
    segments, between, outside, inside = [], [], "", list[Token]()

    def end_segment() -> None:
        nonlocal outside, inside
        if any(token.kind == "text" and token.raw.strip() for token in inside):
            read, spans = read_tokens(_fold(inside))
            segments.append(Segment(read, tuple(spans)))
            between.append(outside)
            outside = ""
        else:
            outside += "".join(token.raw if token.kind != "text" else escape(token.raw) for token in inside)
        inside = []

    for token, split in zip(tokens, splits, strict=True):
        if split:
            end_segment()
            outside += token.raw
        else:
            inside.append(token._replace(opaque=token.key in rules.ignored))
    end_segment()
    return TaggedText(segments, [*between, outside])


def _tokens(text: str) -> list[Token]:
    tokens, place = [], 0
    for match in _MARKUP.finditer(text):
        tokens.append(Token(unescape(text[place : match.start()]), "text"))
        if match[0].startswith("<![CDATA["):
            tokens.append(Token(match[0][9:-3], "text"))
        else:
            kind = "point" if match[2] is None or match[3] else "close" if match[1] else "open"
            tokens.append(Token(match[0], kind, match[2] or ""))
        place = match.end()
    tokens.append(Token(unescape(text[place:]), "text"))
    return [token for token in tokens if token.raw]


def _fold(tokens: Sequence[Token]) -> list[Token]:
    """Tags around nothing at the end of a pair go into its closing tag: no span could say that they are inside."""
    folded: list[Token] = []
    for token in tokens:
        if token.kind == "close":
            raw = token.raw
            while folded and folded[-1].kind == "point":
                raw = folded.pop().raw + raw
            token = token._replace(raw=raw)
            if folded and folded[-1].kind == "open" and folded[-1].key == token.key:
                token = Token(folded.pop().raw + raw, "point", token.key)
        folded.append(token)
    return folded


def _splitting(tokens: Sequence[Token], rules: TagRules) -> list[bool]:
    """Which tags end sentences: those named; and of others those that have no text beside them, in what they are in."""
    texts = [False]  # of what is open, the whole text last: whether text stands right in it
    parents: list[int] = []  # of each token
    path = [0]
    for token in tokens:
        if token.kind == "close":
            path.pop()
        parents.append(path[-1])
        if token.kind == "text" and token.raw.strip():
            texts[path[-1]] = True
        elif token.kind == "open":
            texts.append(False)
            path.append(len(texts) - 1)
    whole = any(texts[1:]) and not texts[0]  # one pair of tags around all is no outline, but it does no harm
    splits, ignoring = [], 0
    for token, parent in zip(tokens, parents, strict=True):
        ignoring -= token.kind == "close" and token.key in rules.ignored
        named = token.key in rules.splitting
        outline = rules.outline and not texts[parent] and (parent > 0 or whole)
        inline = ignoring or token.key in rules.non_splitting or token.key in rules.ignored
        splits.append(token.kind != "text" and bool(token.key) and (named or outline) and not inline)
        ignoring += token.kind == "open" and token.key in rules.ignored
    return splits
