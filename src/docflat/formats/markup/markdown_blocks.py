"""What Markdown has beyond CommonMark: blocks and formulas that many sites write, as rules for markdown-it-py.

Without them such lines are taken for those of a paragraph, or for code because they are indented.
"""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

# `:::tip`, the fence of a container (Docusaurus, VuePress, MyST, Pandoc): the line is markup, its content is Markdown.
_FENCE = re.compile(r":{3,}")
# `!!! note "Title"`, `=== "Tab"` (MkDocs): a line of markup, and blocks that are indented below it.
_ADMONITION = re.compile(r"(?:!!!|\?\?\?\+?) ?[\w-]|=== ?\"")
_NOTE = re.compile(r"\[\^[^\[\]\s]+\]:[ \t]*(?=\S)")  # `[^1]: the text of a footnote`, and indented blocks below it
_DEFINITION = re.compile(r":[ \t]+(?=\S)")  # the second line of `Term` and `: What it means`
# As GitHub finds them: "$5 and $6" is none. A number after a dollar is money if no other sign follows it.
_FORMULA = re.compile(r"\$\$[^$]{1,1000}\$\$|\$(?![\s$])[^$\n]{0,500}?(?<![\s\\])\$(?![\d$])|\\\((?:.{1,500}?)\\\)")
_INDENT = 4


def add_blocks(parser: MarkdownIt) -> MarkdownIt:
    ruler = parser.block.ruler
    ruler.before("fence", "container", _container, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    ruler.before("fence", "admonition", _admonition, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    ruler.before("reference", "note", _note, {"alt": ["paragraph", "reference"]})
    ruler.before("reference", "definition", _definition, {"alt": ["paragraph"]})
    parser.inline.ruler.before("escape", "formula", _formula)
    return parser


def _match(state: StateBlock, line: int, pattern: re.Pattern[str]) -> re.Match[str] | None:
    """What a line starts with, unless it is indented as code is."""
    if state.sCount[line] - state.blkIndent >= _INDENT:
        return None
    return pattern.match(state.src, state.bMarks[line] + state.tShift[line], state.eMarks[line])


def _container(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if _match(state, start, _FENCE) is None:
        return False
    if not silent:
        state.line = start + 1
    return True


def _admonition(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if _match(state, start, _ADMONITION) is None:
        return False
    if not silent:
        _indented(state, start + 1, start + 1, end)
    return True


def _note(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    match = _match(state, start, _NOTE)
    if match is None:
        return False
    if not silent:
        _after(state, match, start, end)
    return True


def _definition(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    match = _match(state, start, _DEFINITION)
    if match is None:
        return False
    if not silent:
        _after(state, match, start, end)
    return True


def _after(state: StateBlock, mark: re.Match[str], start: int, end: int) -> None:
    """Blocks that start behind a mark in their first line; a paragraph there goes on in lines that are not indented."""
    saved = state.bMarks[start], state.tShift[start], state.sCount[start]
    rules = state.md.block.ruler.getRules("paragraph")
    line = start + 1
    while line < end and not state.isEmpty(line) and not any(rule(state, line, end, True) for rule in rules):
        line += 1
    state.bMarks[start], state.tShift[start] = mark.end(), 0
    state.sCount[start] = state.blkIndent + _INDENT
    _indented(state, start, line, end)
    state.bMarks[start], state.tShift[start], state.sCount[start] = saved


def _indented(state: StateBlock, first: int, line: int, end: int) -> None:
    """Blocks from the line `first`; from `line` on all lines belong to them that are indented or empty."""
    while line < end and (state.isEmpty(line) or state.sCount[line] - state.blkIndent >= _INDENT):
        line += 1
    if first < line:
        parent, most = state.parentType, state.lineMax
        state.blkIndent += _INDENT
        state.level += 1  # the parser ends what is too deep
        state.lineMax = line
        state.md.block.tokenize(state, first, line)
        state.level -= 1
        state.blkIndent -= _INDENT
        state.parentType, state.lineMax = parent, most
    state.line = line


def _formula(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] not in "$\\":
        return False
    match = _FORMULA.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        state.push("formula", "", 0).content = match[0]
    state.pos = match.end()
    return True
