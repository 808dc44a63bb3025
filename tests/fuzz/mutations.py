"""Changes of texts and of trees of elements that a reader may not expect."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

WORDS = (
    *("", " ", "\t", "\n", "\r\n", "\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029", "\u00a0", "\u200b"),
    *("\ufeff", "\ufffd", "\ufffe", "\U0010ffff", "\u202e", "\u0301", "\u0130", "\u1e9e", "\U0001f468\u200d\U0001f469"),
    *("\x00", "\x01", "\x1b[2J", "\x7f", "word", "A sentence. Another!", "3", "1,200.50", "12:30 p.m.", "100%", "%s"),
    *("%1$s", "%%", "%(name)s", "{0}", "{name}", "{{", "}}", "{n, plural, one{a} other{b}}", "$x$", "${x}", "#{x}"),
    *("http://x.y/z", "a@b.cd", "C:\\x", "\\", "\\n", "\\u0041", "\\ud800", '"', "'", "`", "``", "```", "~~~", "*"),
    *("**", "_", "[", "]", "(", ")", "![", "](", "[^", "[^1]:", "<", ">", "</", "/>", "<b>", "</b>", "<b/>", "<!--"),
    *("-->", "<![CDATA[", "]]>", "<?x", "?>", "<!DOCTYPE x [", "<!ENTITY a 'b'>", "&amp;", "&a;", "&#0;", "&#x110000;"),
    *("&#xd800;", "&", ";", "=", ":", ",", "|", "||", "#", "##", "---", "...", "***", "===", "> ", "- ", "1. ", "    "),
    *("\u4e2d\u6587", "\u0440\u0443\u0441", "\u0627\u0644", "\u0e44\u0e17\u0e22", "x" * 300, "ab " * 40, "\u00ad"),
    *("true", "null", "NaN", "Infinity", "-1", "1e999", "9" * 30, "0x10", "charset=utf-7", "charset=idna", "&lt;b&gt;"),
    *("msgid", "msgstr", "msgid_plural", "msgstr[0]", "msgctxt", "#~ ", "#| ", "#, fuzzy", "-->", "WEBVTT", "NOTE "),
    *(
        "00:00:01,000 --> 00:00:02,000",
        "<v X>",
        "{\\an8}",
        "<d>",
        "\ue000",
        "\ue001",
        "{1}",
        "\u00ab",
        "\u00bb",
        "\u2039",
    ),
    *("<code>", "<pre>", "<script>", "<svg>", "<wbr>", "<br>", "<p", "<a href=", "<title>", "<textarea>", "<!", "<p>x"),
)
NUMBERS = (
    "0",
    "-1",
    "1",
    "2",
    "255",
    "65536",
    "2147483648",
    "18446744073709551616",
    "1e400",
    "NaN",
    "",
    "x",
    "9" * 5000,
)
_NUMBER = re.compile(r"\d+")
_TAG = re.compile(r"(<(?:[^<>\"']|\"[^\"]*\"|'[^']*')*>)")
_NAME = re.compile(r"[^\s/<>]+")
_VALUE = re.compile(r"(=\s*)(\"[^\"]*\"|'[^']*')")

Node = list  # of a start tag, what is inside, an end tag; text is a string


def size_of_burst(random: Random) -> int:
    """Mostly small: what grows with the square of it shows at a few thousand."""
    return random.choice((1, 1, 2, 2, 3, 5, 10, 30)) if random.random() < 0.97 else random.randrange(50, 400)


def place(text: str, random: Random) -> tuple[int, int]:
    """A stretch of a text, often from sign to sign that means something."""
    start = random.randrange(len(text) + 1)
    return start, min(len(text), start + random.choice((0, 1, 1, 2, 4, 8, 20, 60)))


def change_text(text: str, others: Sequence[str], random: Random) -> str:
    start, end = place(text, random)
    do = random.randrange(10)
    if do < 3:
        return text[:start] + random.choice(WORDS) * size_of_burst(random) + text[start:]
    if do == 3:
        return text[:start] + text[end:]
    if do == 4:
        return text[:end] + text[start:end] * size_of_burst(random) + text[end:]
    if do == 5:
        other = random.choice(others)
        first, last = place(other, random)
        return text[:start] + other[first:last] + text[end:]
    if do == 6:
        count = size_of_burst(random)
        first, last = random.choice(PAIRS)
        return text[:start] + first * count + text[start:end] + last * count + text[end:]
    if do == 7:
        numbers = list(_NUMBER.finditer(text))
        if not numbers:
            return text[:start] + random.choice(NUMBERS) + text[start:]
        number = random.choice(numbers)
        return text[: number.start()] + random.choice(NUMBERS) + text[number.end() :]
    if do == 8:
        lines = text.split("\n")
        first, second = random.randrange(len(lines)), random.randrange(len(lines))
        lines[first], lines[second] = lines[second], lines[first]
        return "\n".join(lines)
    return text[:start] + random.choice(WORDS) + text[end:]


PAIRS = (
    *(
        ("<b>", "</b>"),
        ("(", ")"),
        ("[", "]"),
        ("{", "}"),
        ('"', '"'),
        ("*", "*"),
        ("**", "**"),
        ("`", "`"),
        ("> ", ""),
    ),
    *(("[", "](x)"), ("![", "](x)"), ("<g id='1'>", "</g>"), ("{a, plural, other{", "}}"), ("<div>", "</div>")),
    *(("- ", "\n"), ("<i>", ""), ("", "</i>"), ("&lt;b&gt;", "&lt;/b&gt;"), ("\u201c", "\u201d"), ("{\\", "}")),
)


def parse(text: str) -> Node:
    """A seed as a tree; what is not closed ends with what it is in."""
    root: Node = ["", [], ""]
    stack = [root]
    for piece in _TAG.split(text):
        if piece.startswith("</") and len(stack) > 1:
            stack.pop()[2] = piece
        elif piece.startswith("<") and not piece.startswith(("<!", "<?")) and not piece.endswith("/>"):
            node: Node = [piece, [], ""]
            stack[-1][1].append(node)
            stack.append(node)
        elif piece:
            stack[-1][1].append(piece)
    return root


def write(node: Node | str, parts: list[str] | None = None) -> str:
    """The text of a tree; without recursion, as it may be deep."""
    parts = []
    left: list[Node | str] = [node]
    while left:
        one = left.pop()
        if isinstance(one, str):
            parts.append(one)
        else:
            parts.append(one[0])
            left += [one[2], *reversed(one[1])]
    return "".join(parts)


def copy(node: Node) -> Node:
    """Without recursion, as it may be deep."""
    root: Node = [node[0], list(node[1]), node[2]]
    left = [root]
    while left:
        children = left.pop()[1]
        for number, child in enumerate(children):
            if not isinstance(child, str):
                children[number] = [child[0], list(child[1]), child[2]]
                left.append(children[number])
    return root


def walk(node: Node) -> list[tuple[Node, int]]:
    """Every place of a child: its parent and its number."""
    found, left = [], [node]
    while left:
        parent = left.pop()
        for number, child in enumerate(parent[1]):
            found.append((parent, number))
            if not isinstance(child, str):
                left.append(child)
    return found


def change_tree(root: Node, random: Random, escape: Callable[[str], str]) -> None:
    """One change that leaves tags in pairs."""
    places = walk(root)
    if not places:
        return
    parent, number = random.choice(places)
    child = parent[1][number]
    do = random.randrange(9)
    if do == 0:
        parent[1][number : number + 1] = [child] * (1 + size_of_burst(random))
    elif do == 1:
        del parent[1][number]
    elif do in (2, 3):
        parent[1].insert(number, escape(random.choice(WORDS)) * size_of_burst(random))
    elif do == 4:
        other, other_number = random.choice(places)
        moved = other[1][other_number] if other_number < len(other[1]) else ""
        parent[1].insert(number, moved if isinstance(moved, str) else copy(moved))
    elif do == 5 and not isinstance(child, str):
        wrapped: Node | str = child
        for _ in range(size_of_burst(random)):
            wrapped = [child[0], [wrapped], child[2]]
        parent[1][number] = wrapped
    elif do == 6 and not isinstance(child, str):
        parent[1][number : number + 1] = child[1]
    elif do == 7 and not isinstance(child, str):
        child[0] = _change_tag(child[0], random, escape)
    elif isinstance(child, str):
        piece = change_text(child, [child], random)
        parent[1][number] = _change_tag(child, random, escape) if child.startswith("<") else escape(piece)


def _change_tag(tag: str, random: Random, escape: Callable[[str], str]) -> str:
    values = list(_VALUE.finditer(tag))
    if not values or random.random() < 0.1:
        return tag if tag.startswith(("<!", "<?")) else _NAME.sub(lambda name: name[0] + "x", tag, count=1)
    value = random.choice(values)
    if random.random() < 0.2:  # without it
        return (
            tag[: value.start()].rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ:-") + tag[value.end() :]
        )
    new = escape(random.choice((*WORDS, *NUMBERS))).replace('"', "&quot;")
    return f'{tag[: value.start()]}="{new}"{tag[value.end() :]}'
