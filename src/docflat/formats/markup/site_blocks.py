"""What generators of sites (Hugo, Jekyll, Docusaurus, MkDocs, MyST) add to Markdown, as block rules for markdown-it-py.

Lines that are no text end a paragraph and stay as they are. Their titles become tokens: "title", which holds Markdown,
"value" and "attribute", texts in quotes as programs and as HTML write them; their `markup` is what stands before them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock

from docflat.formats.markup.html_tokens import names

_INDENT = 4
_LONGEST_TAG = 4_000  # characters of a tag of a template
_LONGEST_CODE = 400  # lines of a program in a page
# Containers: `:::tip` (Docusaurus, VuePress, Pandoc), `:::{note}` (MyST), `/// note | Title` (PyMdown).
_FENCE = re.compile(r":{3,40}|/{3,40}(?=\s*$|[ \t]*[a-z])", re.MULTILINE)
_DIRECTIVE = re.compile(r"(`{3,40}|~{3,40})[ \t]*\{([\w:-]{1,60})\}")  # MyST's other way to write them
_OPENING = re.compile(r"[:/`~]{3,40}[ \t]*(?:\{([\w:-]{1,60})\}|([\w-]{1,60}))?")
# `!!! note "Title"`, `=== "Tab"` (MkDocs): a line of markup, and blocks that are indented below it.
_ADMONITION = re.compile(r"(?:!!!|\?\?\?\+?) ?[\w-]|===[+!]{0,2} ?\"")
_QUOTED = re.compile(r"([^\"\n]{1,200}\")([^\n]{1,500})\"[ \t]*$", re.MULTILINE)
_ABBREVIATION = re.compile(r"\*\[[^\[\]\n]{1,200}\]:[ \t]*(?=\S)")
_OPTION = re.compile(r":[\w-]{1,60}:(?:[ \t]|$)", re.MULTILINE)
_TITLE_KINDS = names(
    "note tip info warning caution danger important attention error hint seealso success question failure bug example "
    "quote abstract summary details todo admonition topic sidebar dropdown tab-item card grid-item-card exercise "
    "solution theorem definition lemma proof table list-table"
)
# Directives of MyST whose content is Markdown; that of others is code or data.
_PROSE_KINDS = _TITLE_KINDS - {"list-table"} | names(
    "tab-set grid grid-item card-carousel figure margin aside epigraph pull-quote highlights versionadded "
    "versionchanged deprecated div container only blockquote"
)
_CODE_KINDS = names("mermaid plantuml graphviz code code-block code-cell math raw chart katex dot")
# Tags of templates that enclose code: {{< highlight >}} of Hugo, {% highlight %} of Jekyll.
_CODE_TAGS = names(
    "highlight mermaid code codeblock comment math katex latex chart plantuml kroki goat gravizo dot command"
)
_TAG_NAME = re.compile(r"\{[{%][<%]?[-\s]*([\w/.-]{1,80})")
_VALUE = re.compile(r"(\b(?:title|caption|alt|label|description|summary|heading)=\")([^\"\\\n]{1,500})\"")
_LINE = re.compile(
    r"\{:[^{}\n]{0,500}\}[ \t]*$"  # attributes of the block before (kramdown)
    r"|\([\w:.-]{1,80}\)=[ \t]*$"  # a label (MyST)
    r"|\[\[?_?toc_?\]?\][ \t]*$"  # where the contents go
    r"|-{1,10}8<-{1,10}.{0,500}$|<<< ?@.{1,500}$",  # a file that is put in (PyMdown, VitePress)
    re.MULTILINE | re.IGNORECASE,
)
_COMMENT = re.compile(r"\{/\*")
# A tag of a component (MDX, Vue), or one with a program in braces: `<Tabs>`, `<div style={{color: red}}>`
_BRACES = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]{0,300}\}){0,500}\}){0,1000}\}"
_ATTRIBUTE = rf"(?:\s{{1,200}}(?:{_BRACES}|[\w:@#.-]{{1,60}}(?:=(?:\"[^\"]{{0,2000}}\"|'[^']{{0,2000}}'|{_BRACES}))?))"
JSX = re.compile(rf"<(?=[A-Z/]|[a-z][^>]{{0,500}}=\{{)/?[A-Za-z][\w.-]{{0,60}}{_ATTRIBUTE}{{0,40}}\s{{0,200}}/?>")
_COMPONENT = re.compile(r"</?[A-Z][a-z]")
# A line of a program among text (MDX). A sentence may begin with these words, but not go on so.
_MODULE = re.compile(
    r"import(?: ['\"]|(?: type)? ?\{| ?\* as |(?: type)? [\w$]{1,80}(?:, ?\{[^{}\n]{0,500}\})? from ['\"])"
    r"|export(?: (?:const|let|var) [\w$]{1,80}[ :=]| (?:async )?function\b| ?\{| ?\*|"
    r" class [\w$]{1,80}(?: extends [\w$.]{1,80})? ?\{| default (?:function|class|\(|\{|[\w$]{1,80};?$))",
    re.MULTILINE,
)


def add_site_blocks(parser: MarkdownIt) -> MarkdownIt:
    ends: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    ruler = parser.block.ruler
    ruler.before("fence", "container", _container, ends)
    ruler.before("fence", "directive", _directive, ends)
    ruler.before("fence", "admonition", _admonition, ends)
    ruler.before("fence", "markup_line", _markup_line, ends)
    ruler.before("fence", "template", _template, ends)
    ruler.before("html_block", "component", _component, ends)
    ruler.before("fence", "module", _module, {"alt": []})
    ruler.before("reference", "abbreviation", _abbreviation, {"alt": ["paragraph", "reference"]})
    return parser


def match_line(state: StateBlock, line: int, pattern: re.Pattern[str]) -> re.Match[str] | None:
    """What a line starts with, unless it is indented as code is."""
    if state.sCount[line] - state.blkIndent >= _INDENT:
        return None
    return pattern.match(state.src, state.bMarks[line] + state.tShift[line], state.eMarks[line])


def read_indented(state: StateBlock, first: int, line: int, end: int) -> None:
    """Blocks from the line `first`; from `line` on all lines belong to them that are indented or empty."""
    while line < end and (state.isEmpty(line) or state.sCount[line] - state.blkIndent >= _INDENT):
        line += 1
    if first < line:
        state.blkIndent += _INDENT
        _read_inside(state, first, line)
        state.blkIndent -= _INDENT
    state.line = line


def _read_inside(state: StateBlock, first: int, end: int) -> None:
    parent, most = state.parentType, state.lineMax
    state.level += 1  # the parser ends what is too deep
    state.lineMax = end
    state.md.block.tokenize(state, first, end)
    state.level -= 1
    state.parentType, state.lineMax = parent, most


def _text(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]


def _push(state: StateBlock, kind: str, line: int, content: str, before: str = "") -> None:
    token = state.push(kind, "", 0)
    token.map, token.content, token.markup = [line, line + 1], content, before


def _push_values(state: StateBlock, line: int, kind: str = "value") -> None:
    for match in _VALUE.finditer(_text(state, line)):
        if kind == "value" or "&" not in match[2]:
            _push(state, kind, line, match[2], match[1])


def _keep(state: StateBlock, first: int, end: int) -> bool:
    """Lines that are code."""
    token = state.push("site_code", "", 0)
    token.map, token.content = [first, end], "\n".join(_text(state, line) for line in range(first, end))
    state.line = end
    return True


def _container(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    match = match_line(state, start, _FENCE)
    if match is None:
        return False
    if silent:
        return True
    state.line = start + 1
    kind = _push_title(state, start)
    if kind in _CODE_KINDS:
        return _keep(state, start, _closing_line(state, start, end, match[0]) + 1)
    if match[0][0] == "/":  # its options are indented
        while state.line < end and state.sCount[state.line] - state.blkIndent >= _INDENT:
            state.line += 1
    elif kind and kind in _text(state, start).partition("}")[0].partition("{")[2]:
        state.line = _after_options(state, state.line, end)
    return True


def _directive(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    match = match_line(state, start, _DIRECTIVE)
    if match is None or match[2].lower() not in _PROSE_KINDS:
        return False
    if silent:
        return True
    _push_title(state, start)
    closing = _closing_line(state, start, end, match[1])
    first = _after_options(state, start + 1, closing)
    if first < closing:
        _read_inside(state, first, closing)
    state.line = min(closing + 1, end)
    return True


def _closing_line(state: StateBlock, start: int, end: int, fence: str) -> int:
    """The line that ends a container; that of the last one if none does."""
    for line in range(start + 1, end):
        text = _text(state, line).rstrip()
        if len(text) >= len(fence) and text == fence[0] * len(text):
            return line
    return end - 1 if fence[0] in ":/" else end


def _after_options(state: StateBlock, line: int, end: int) -> int:
    """The first line after `:name: value`, or after a block of YAML."""
    if line < end and _text(state, line).rstrip() == "---":
        closing = (number for number in range(line + 1, end) if _text(state, number).rstrip() == "---")
        return next(closing, line - 1) + 1
    while line < end and match_line(state, line, _OPTION):
        line += 1
    return line


def _push_title(state: StateBlock, line: int) -> str:
    """Tokens for the texts in the line that opens a container; its kind."""
    text = _text(state, line)
    opening = _OPENING.match(text)
    kind = ((opening[1] or opening[2] or "") if opening else "").lower()
    if opening is None or not kind:
        _push_values(state, line)
        return ""
    rest = text[opening.end() :]
    title = rest.strip()
    before = opening[0]
    if title.startswith("[") and (inner := title[1:].partition("]")[0]) and "[" not in inner:
        before, title = opening[0] + "[", inner
    elif title.startswith("|") and text.startswith("/"):
        before, title = text[: text.index("|") + 1], title[1:].strip()
    elif kind not in _TITLE_KINDS or title.startswith(("{", "[")) or text.startswith("/"):
        _push_values(state, line)
        return kind
    title = title.partition("{#")[0].rstrip()
    if any(map(str.isalpha, title)):
        _push(state, "title", line, title, before)
    return kind


def _admonition(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if match_line(state, start, _ADMONITION) is None:
        return False
    if not silent:
        title = _QUOTED.match(_text(state, start))
        if title and any(map(str.isalpha, title[2])):
            _push(state, "title", start, title[2], title[1])
        read_indented(state, start + 1, start + 1, end)
    return True


def _abbreviation(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    match = match_line(state, start, _ABBREVIATION)
    if match is None:
        return False
    if not silent:
        text = _text(state, start)
        _push(state, "title", start, text[len(match[0]) :].rstrip(), match[0])
        state.line = start + 1
    return True


def _markup_line(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if match_line(state, start, _LINE) is None:
        return False
    if not silent:
        state.line = start + 1
    return True


def _template(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Lines of nothing but tags of a template; a tag may go on over several."""
    if state.sCount[start] - state.blkIndent >= _INDENT:
        return False
    place = state.bMarks[start] + state.tShift[start]
    if state.src[place : place + 3] not in ("{{<", "{{%") and state.src[place : place + 2] not in ("{%", "{/"):
        return False
    tags = list(_cut_tags(state.src, place, state.eMarks[end - 1]))
    if not tags:
        return False
    if silent:
        return True
    last = next(line for line in range(start, end) if state.eMarks[line] >= tags[-1][1])
    name = _TAG_NAME.match(state.src, tags[-1][0])
    if name and name[1].lower() in _CODE_TAGS and (closing := _closing_tag(state, last + 1, end, name[1])):
        return _keep(state, start, closing)
    for line in range(start, last + 1):
        _push_values(state, line)
    state.line = last + 1
    return True


def _component(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Lines of nothing but a tag; what is in the element is Markdown."""
    match = match_line(state, start, re.compile("<"))
    tag = JSX.match(state.src, match.start(), state.eMarks[end - 1]) if match else None
    if tag is None or not (_COMPONENT.match(tag[0]) or "={" in tag[0]):
        return False
    last = next(line for line in range(start, end) if state.eMarks[line] >= tag.end())
    if state.src[tag.end() : state.eMarks[last]].strip():
        return False
    if not silent:
        for line in range(start, last + 1):
            _push_values(state, line, "attribute")
        state.line = last + 1
    return True


def _cut_tags(text: str, place: int, end: int) -> Iterator[tuple[int, int]]:
    """The tags up to the end of a line, if there is nothing else."""
    tags: list[tuple[int, int]] = []
    ends = {"{{<": ">}}", "{{%": "%}}", "{%": "%}", "{/*": "*/}"}
    while place < end and text[place] != "\n":
        opening = next((one for one in ends if text.startswith(one, place)), "")
        stop = text.find(ends[opening], place + len(opening), min(end, place + _LONGEST_TAG)) if opening else -1
        if stop < 0:
            return
        stop += len(ends[opening])
        tags.append((place, stop))
        place = stop
        while place < end and text[place] in " \t":
            place += 1
    yield from tags


def _closing_tag(state: StateBlock, line: int, end: int, name: str) -> int:
    """The line after the one that closes a tag; 0: there is none."""
    pattern = re.compile(r"\{[{%][<%]?[-\s]*(?:/\s*|end)" + re.escape(name) + r"\b")
    missing = state.env.setdefault("docflat tags", {})  # of each name: up to which line nothing closes it
    last = min(end, line + _LONGEST_CODE)
    for number in range(max(line, missing.get(name, 0)), last):
        if pattern.match(_text(state, number)):
            return number + 1
    missing[name] = last
    return 0


def _module(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A program's imports and exports: up to an empty line where all brackets are closed."""
    if state.level or state.sCount[start] or match_line(state, start, _MODULE) is None:
        return False
    if silent:
        return True
    depth, blank, last = 0, 0, min(end, start + _LONGEST_CODE)
    unclosed = state.env.get("docflat modules", 0)  # up to which line brackets are known to stay open
    for line in range(start, last):
        text = _text(state, line)
        depth += sum(map(text.count, "([{")) - sum(map(text.count, ")]}"))
        if not text.strip():
            blank = blank or line
            if depth <= 0 or start < unclosed:
                return _keep(state, start, blank if start < unclosed else line)
    if depth <= 0:
        return _keep(state, start, last)
    state.env["docflat modules"] = last
    return _keep(state, start, blank or last)
