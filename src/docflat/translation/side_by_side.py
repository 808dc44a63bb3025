"""Source and translation side by side, as a page or as lines; words that context changed are marked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from html import escape

from docflat.decoding.alignment import find_words


@dataclass(frozen=True)
class ShownSentence:
    source: str
    target: str
    alone: str | None = None  # translated without context; None: there is nothing to compare


@dataclass(frozen=True)
class ShownDocument:
    name: str
    rows: Sequence[ShownSentence]


def mark_changes(target: str, alone: str | None) -> Iterator[tuple[str, str | None]]:
    """The translation in parts, each with what stands in its place without context; None: the same."""
    if alone is None:
        yield target, None
        return
    new, old = find_words(target), find_words(alone)
    matcher = SequenceMatcher(None, [alone[a:b] for a, b in old], [target[a:b] for a, b in new], autojunk=False)
    done = 0
    for kind, i, j, first, last in matcher.get_opcodes():
        if kind in ("equal", "delete") or first == last:
            continue
        start, end = new[first][0], new[last - 1][1]
        if done < start:
            yield target[done:start], None
        yield target[start:end], alone[old[i][0] : old[j - 1][1]] if i < j else ""
        done = end
    if done < len(target):
        yield target[done:], None


def change_lines(documents: Sequence[ShownDocument]) -> Iterator[str]:
    """Of each sentence that context changed: source, translation without context and with it; changes in brackets."""
    total = sum(row.alone is not None for document in documents for row in document.rows)
    changed = sum(_is_changed(row) for document in documents for row in document.rows)
    yield f"context changed {changed} of {total} sentences" + (":" if changed else "")
    all_of, so_far = Counter(document.name for document in documents), Counter[str]()
    for document in documents:
        so_far[document.name] += 1
        # One file of lines can have many documents.
        which = f", document {so_far[document.name]}" if all_of[document.name] > 1 else ""
        for number, row in enumerate(document.rows, 1):
            if _is_changed(row):
                yield ""
                yield f"{document.name}{which}, sentence {number}: {row.source}"
                yield f"  without context: {_bracketed(row.alone or '', row.target)}"
                yield f"  with context:    {_bracketed(row.target, row.alone)}"


def _bracketed(text: str, other: str | None) -> str:
    return "".join(part if instead is None else f"[{part}]" for part, instead in mark_changes(text, other))


def side_by_side(documents: Sequence[ShownDocument]) -> str:
    """The whole page: it loads nothing."""
    title = ", ".join(document.name for document in documents[:3]) + (" …" if len(documents) > 3 else "")
    changed = sum(_is_changed(row) for document in documents for row in document.rows)
    total = sum(len(document.rows) for document in documents)
    compared = any(row.alone is not None for document in documents for row in document.rows)
    note = f"{total} sentences."
    if compared:
        note += f" In {changed} of them context changed the translation: <mark>words like these</mark>. Point at them, "
        note += "or go to them with the tab key, to see what stands there without context; on paper and on a touch "
        note += "screen it stands beside them."
    parts = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        # Nothing in a document can make a browser load or run something.
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{escape(title)}</h1>\n<p>{note}</p>",
        *(_document(document) for document in documents),
        "</body>\n</html>\n",
    ]
    return "\n".join(parts)


def _is_changed(row: ShownSentence) -> bool:
    """Also where context only took words away, of which no mark is left."""
    return row.alone is not None and _words(row.target) != _words(row.alone)


def _words(text: str) -> list[str]:
    return [text[a:b] for a, b in find_words(text)]


def _document(document: ShownDocument) -> str:
    cells = ((number, escape(row.source), _target(row)) for number, row in enumerate(document.rows, 1))
    rows = "\n".join(
        f'<tr><th scope="row">{number}</th><td dir="auto">{source}</td><td dir="auto">{target}</td></tr>'
        for number, source, target in cells
    )
    head = '<tr><th></th><th scope="col">Source</th><th scope="col">Translation</th></tr>'
    return f"<h2>{escape(document.name)}</h2>\n<table>\n<thead>{head}</thead>\n<tbody>\n{rows}\n</tbody>\n</table>"


def _target(row: ShownSentence) -> str:
    parts = []
    for text, instead in mark_changes(row.target, row.alone):
        if instead is None:
            parts.append(escape(text))
        else:
            hint = f"without context: {instead}" if instead else "not there without context"
            parts.append(f'<mark tabindex="0">{escape(text)}<small> [{escape(hint)}]</small></mark>')
    return "".join(parts)


STYLE = """
:root { color-scheme: light dark; --line: light-dark(#ddd, #444); --mark: light-dark(#ffe08a, #6b5310); }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; table-layout: fixed; }
th, td { border-top: 1px solid var(--line); padding: .4rem .6rem; text-align: start; vertical-align: top;
  overflow-wrap: anywhere; }
th:first-child { width: 3rem; font-weight: normal; opacity: .6; }
mark { background: var(--mark); color: inherit; border-radius: .2rem; padding: 0 .1rem; }
mark small { display: none; }
mark:is(:hover, :focus, :active) small { display: inline; }
@media print, (hover: none) { mark small { display: inline; } }
"""
