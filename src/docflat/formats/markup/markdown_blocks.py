"""What Markdown has beyond CommonMark: blocks and formulas that many sites write, as rules for markdown-it-py.

Without them such lines are taken for those of a paragraph, or for code because they are indented.
"""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

from docflat.formats.markup.site_blocks import JSX, add_site_blocks, match_line, read_indented

_NOTE = re.compile(r"\[\^[^\[\]\s]+\]:[ \t]*(?=\S)")  # `[^1]: the text of a footnote`, and indented blocks below it
_NOTE_ALONE = re.compile(r"\[\^[^\[\]\s]+\]:[ \t]*$", re.MULTILINE)  # whose text begins in the next line
_DEFINITION = re.compile(r":[ \t]+(?=\S)")  # the second line of `Term` and `: What it means`
# As GitHub finds them: "$5 and $6" is none. A number after a dollar is money if no other sign follows it.
_FORMULA = re.compile(r"\$\$[^$]{1,1000}\$\$|\$(?![\s$])[^$\n]{0,500}?(?<![\s\\])\$(?![\d$])|\\\((?:.{1,500}?)\\\)")
# What sites write between words: `++ctrl+c++` (PyMdown), `{/* a comment */}` (MDX)
_KEYS = re.compile(r"\+\+[\w\"-]{1,30}(?:\+[\w\"-]{1,30}){0,5}\+\+(?!\+)")
_COMMENT = re.compile(r"\{/\*[^*{}]{0,1000}\*/\}")
# Attributes of what stands before: `{#id .class}`, `{: target="_blank"}`, `{ width=300 }`
_PAIR = r"[\w:-]{1,60}=(?:\"[^\"\n]{0,300}\"|'[^'\n]{0,300}'|[^\s{}\"'=]{1,300})"
_NAME = r"[\w:.-]{1,80}"
_ATTRIBUTES = re.compile(rf"\{{:?[ \t]*(?:[.#]{_NAME}|{_PAIR})(?:[ \t]+(?:[.#]?{_NAME}|{_PAIR})){{0,20}}[ \t]*\}}")
_INDENT = 4


def add_blocks(parser: MarkdownIt) -> MarkdownIt:
    ruler = parser.block.ruler
    add_site_blocks(parser)
    ruler.before("reference", "note", _note, {"alt": ["paragraph", "reference"]})
    ruler.before("reference", "definition", _definition, {"alt": ["paragraph"]})
    parser.inline.ruler.before("escape", "formula", _formula)
    parser.inline.ruler.before("escape", "site", _site)
    return parser


def _note(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    match = match_line(state, start, _NOTE)
    if match is None:
        alone = match_line(state, start, _NOTE_ALONE) is not None
        if alone and not silent:
            read_indented(state, start + 1, start + 1, end)
        return alone
    if not silent:
        _after(state, match, start, end)
    return True


def _definition(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    match = match_line(state, start, _DEFINITION)
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
    read_indented(state, start, line, end)
    state.bMarks[start], state.tShift[start], state.sCount[start] = saved


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


def _site(state: StateInline, silent: bool) -> bool:
    kinds = {
        "+": (("keys", _KEYS),),
        "{": (("attributes", _ATTRIBUTES), ("comment", _COMMENT)),
        "<": (("html_inline", JSX),),
    }
    for kind, pattern in kinds.get(state.src[state.pos], ()):
        match = pattern.match(state.src, state.pos, state.posMax)
        if match is not None and (kind != "html_inline" or "={" in match[0]):
            if not silent:
                state.push(kind, "", 0).content = match[0]
            state.pos = match.end()
            return True
    return False
