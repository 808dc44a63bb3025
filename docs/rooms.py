"""Draw docs/rooms.svg: the rooms of docs/rooms.yaml from top to bottom, each with what it is for.

python docs/rooms.py
"""

from __future__ import annotations

import ast
from html import escape
from pathlib import Path

import yaml

DOCS = Path(__file__).parent
SOURCE = DOCS.parent / "src" / "docflat"
ROW, NAME, WIDTH, TOP = 28, 118, 780, 34  # pixels


def first_sentence(room: str) -> str:
    doc = ast.get_docstring(ast.parse((SOURCE / room / "__init__.py").read_text(encoding="utf-8"))) or ""
    return " ".join(doc.split("\n\n")[0].split()).partition(". ")[0].rstrip(".")


def draw(rooms: list[str]) -> str:
    bottom = TOP + ROW * len(rooms)
    style = 'xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" font-size="13"'
    parts = [
        f'<svg {style} width="{WIDTH}" height="{bottom + 8}">',
        '<rect width="100%" height="100%" fill="#fff"/>',
        '<text x="10" y="20" fill="#555">src/docflat: a room may use those above it, never one below</text>',
        f'<path d="M {WIDTH - 20} {bottom - 8} V {TOP + 8} m -5 9 l 5 -9 l 5 9" fill="none" stroke="#35608f"/>',
    ]
    for number, room in enumerate(rooms):
        y = TOP + ROW * number
        parts.append(f'<rect x="8" y="{y}" width="{NAME - 12}" height="{ROW - 6}" rx="4" fill="#dbe7f3"/>')
        parts.append(f'<text x="16" y="{y + 16}" font-weight="bold">{room}</text>')
        parts.append(
            f'<text x="{NAME + 6}" y="{y + 16}" fill="#333">{escape(first_sentence(room), quote=False)}</text>'
        )
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    rooms: list[str] = yaml.safe_load((DOCS / "rooms.yaml").read_text(encoding="utf-8"))
    (DOCS / "rooms.svg").write_text(draw(rooms), encoding="utf-8")


if __name__ == "__main__":
    main()
