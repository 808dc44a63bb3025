"""What `docflat inspect` shows: maps as pictures, and one page that needs nothing else, not even a network."""

from __future__ import annotations

import json
import logging
from collections import defaultdict
from html import escape
from pathlib import Path

from docflat.evaluation.inspection import Inspection, Map, Text, Token

logger = logging.getLogger(__name__)

LEVELS = 20  # shades; the exact number is shown where the pointer is
MARGIN = 36  # pixels to the left of a map and above it, for the numbers of sentences
COLUMNS = 4  # maps beside each other in a picture
# The strongest shade begins at this quantile: the first sentences of a target have little to read but themselves.
CLIPPED = 0.95

SCOPES = {
    "current": "the sentences, each with its start symbol",
    "all": "whole rows: what is called a sentence here is one with its local context",
}
GATES = {
    "mean": "the mean over the gate's dimensions: at 0 a word stays as it was embedded, at 1 what was read replaces it",
    "share open": "the share of the gate's dimensions that are open: in those, what was read replaces the word",
}


def visible(one: Map, causal: bool) -> list[tuple[int, int, float]]:
    """(reading, read, weight) of all cells but those of later sentences, where these cannot be read."""
    cells = [(i, j, weight) for i, row in enumerate(one.weights) for j, weight in enumerate(row)]
    return [cell for cell in cells if cell[1] <= cell[0] or not causal]


def weight_range(text: Text) -> tuple[float, float]:
    """The weights of the weakest and of the strongest shade."""
    weights = sorted(weight for one in text.maps for _, _, weight in visible(one, text.causal))
    return weights[0], weights[int(CLIPPED * (len(weights) - 1))]


def ticks(one: Map, room: int) -> dict[int, str]:
    """Sentences of a map that get their number, of which there is room for so many: by their row."""
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100) if len(one.sentences) <= room * step)
    return {row: str(place + 1) for row, place in enumerate(one.sentences) if (place + 1) % step == 0}


def level(value: float, low: float, high: float) -> int:
    """The shade of a value, from 0 to LEVELS."""
    share = (value - low) / (high - low) if high > low else 0.0
    return round(LEVELS * min(1.0, max(0.0, share)))


def draw(text: Text, title: str, path: Path) -> None:
    """The maps of one side as a picture."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        logger.warning(f"{path.name} is not drawn: pip install 'docflat[plot]'")
        return
    columns = min(COLUMNS, len(text.maps))
    rows = -(-len(text.maps) // columns)
    size = 5.0 if columns == 1 else 3.0
    figure = Figure(figsize=(size * columns + 1, size * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False).flatten()
    low, high = weight_range(text)
    for axes, one in zip(grid, text.maps, strict=False):
        cells = [[float("nan")] * len(one.sentences) for _ in one.sentences]
        for i, j, weight in visible(one, text.causal):
            cells[i][j] = weight
        image = axes.imshow(cells, cmap="Blues", vmin=low, vmax=high)
        axes.set_facecolor("lightgray")
        names = ticks(one, room=20 if columns == 1 else 10)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_ticks(list(names), list(names.values()), fontsize="small")
    for axes in grid[len(text.maps) :]:
        axes.set_axis_off()
    label = "mean attention weight: from hardly read to read most"
    figure.colorbar(image, ax=list(grid), label=label, extend="max", shrink=0.8)
    figure.supxlabel("sentence that is read", fontsize="medium")
    figure.supylabel("sentence that reads", fontsize="medium")
    figure.suptitle(title, fontsize="medium")
    figure.savefig(path, dpi=120, format="png")


def page(inspection: Inspection) -> str:
    """The whole page."""
    sides = inspection.sides()
    title = f"{inspection.system}: {inspection.document}"
    parts = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        # Nothing is loaded, and nothing in the document can make a browser load something.
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        "script-src 'unsafe-inline'\">",
        f"<title>{escape(title)}</title>\n<style>{STYLE}{_shades()}</style>\n</head>\n<body>",
        f"<h1>{escape(title)}</h1>\n<p>{_introduction(inspection)}</p>\n<h2>Who reads whom</h2>",
        "<p>A row is a sentence that reads, a column one that is read. The shade is the mean attention weight of "
        "their tokens, over all heads. Point at a cell, or go there with the arrow keys, to see the sentences.</p>",
        '<div class="sides">',
        *(_side(name, text) for name, text in sides.items()),
        "</div>",
        _gates(inspection),
        '<div id="tip" role="status" hidden></div>',
        f'<script type="application/json" id="data">{_data(inspection)}</script>\n<script>{SCRIPT}</script>',
        "</body>\n</html>\n",
    ]
    return "\n".join(parts)


def _introduction(inspection: Inspection) -> str:
    window = f"Up to {inspection.window}" if inspection.window else "All"
    return f"Flat-batch attention reads {SCOPES[inspection.scope]}. {window} sentences see each other."


def _shades() -> str:
    """A class for each shade: of a cell, and behind a word, which must stay readable."""
    rules = []
    for n in range(LEVELS + 1):
        cell, word = (f"color-mix(in oklab,var({end}) {100 * n // LEVELS}%," for end in ("--high", "--shade"))
        rules.append(
            f".l{n}{{fill:{cell}var(--low));background:{cell}var(--low))}}.g{n}{{background:{word}transparent)}}"
        )
    return "\n".join(rules)


def _side(name: str, text: Text) -> str:
    low, high = weight_range(text)
    maps = "\n".join(_map(name, number, one, text.causal, low, high) for number, one in enumerate(text.maps))
    later = " A word sees no later one, so the upper half is empty." if text.causal else ""
    return (
        f'<section aria-label="{name} side">\n<h3>{name.capitalize()} side</h3>\n'
        f"{_legend('l', f'hardly read ({low:.3g})', f'read most ({high:.3g} or more)')}\n"
        f'<p class="note">{text.elsewhere():.0%} of what a sentence reads is from other sentences.{later}</p>\n'
        f'<div class="maps">\n{maps}\n</div>\n</section>'
    )


def _legend(kind: str, weakest: str, strongest: str) -> str:
    """The shades between what the ends mean, in words and as numbers."""
    steps = "".join(f'<span class="{kind}{n}"></span>' for n in range(LEVELS + 1))
    return f'<p class="legend">{weakest} <span class="steps" aria-hidden="true">{steps}</span> {strongest}</p>'


def _map(side: str, number: int, one: Map, causal: bool, low: float, high: float) -> str:
    """One path a shade, not a shape a cell: a page of a long talk stays quick."""
    count = len(one.sentences)
    cell = max(3, min(26, 520 // count))
    shades: dict[int, list[str]] = defaultdict(list)
    for i, j, weight in visible(one, causal):
        shades[level(weight, low, high)].append(f"M{MARGIN + j * cell} {MARGIN + i * cell}h{cell}v{cell}h-{cell}z")
    paths = "".join(f'<path class="l{shade}" d="{"".join(cells)}"/>' for shade, cells in sorted(shades.items()))
    names = []
    for row, name in ticks(one, room=20).items():
        middle = MARGIN + (row + 0.5) * cell
        names.append(f'<text x="{middle:g}" y="{MARGIN - 6}" text-anchor="middle">{name}</text>')
        names.append(f'<text x="{MARGIN - 6}" y="{middle:g}" dy=".35em" text-anchor="end">{name}</text>')
    size = MARGIN + count * cell + 2
    label = f"{side} side, sentences {one.sentences[0] + 1} to {one.sentences[-1] + 1}: who reads whom"
    return (
        f'<svg class="map" role="img" aria-label="{label}" tabindex="0" data-side="{side}" data-map="{number}" '
        f'data-cell="{cell}" width="{size}" height="{size}" viewBox="0 0 {size} {size}">'
        f"{paths}{''.join(names)}"
        f'<rect class="mark" width="{cell}" height="{cell}" visibility="hidden"/></svg>'
    )


def _gates(inspection: Inspection) -> str:
    sides = inspection.sides()
    openings = [opening for text in sides.values() for opening in text.openings()]
    low, high = (min(openings), max(openings)) if openings else (0.0, 0.0)
    if openings:
        head = (
            f"<h2>How far the gate opens</h2>\n<p>Behind each word, how much of the context it takes in: "
            f"{GATES[inspection.gate]}. Point at a word to see the number.</p>\n"
            f"{_legend('g', f'least context ({low:.3g})', f'most context ({high:.3g})')}"
        )
    else:
        head = "<h2>The document</h2>\n<p>This system has no gate: what was read is added to every word.</p>"
    names = "".join(f'<th scope="col">{name.capitalize()}</th>' for name in sides)
    rows = []
    for place in range(max(len(text.sentences) for text in sides.values())):
        cells = "".join(f'<td dir="auto">{_words(text, place, low, high)}</td>' for text in sides.values())
        rows.append(f'<tr><th scope="row">{place + 1}</th>{cells}</tr>')
    table = f'<thead><tr><th scope="col">No.</th>{names}</tr></thead>\n<tbody>\n' + "\n".join(rows) + "\n</tbody>"
    return f"{head}\n<table>\n{table}\n</table>"


def _words(text: Text, place: int, low: float, high: float) -> str:
    tokens = text.tokens[place]
    if not tokens:
        return f'{escape(text.sentences[place])} <span class="symbol">(left out: a side of it is empty)</span>'
    return "".join(_word(token, low, high) for token in tokens)


def _word(token: Token, low: float, high: float) -> str:
    shade = "" if token.opening is None else f" g{level(token.opening, low, high)}"
    exact = "" if token.opening is None else f' data-opening="{token.opening:.3f}"'
    kind = "symbol" if token.symbol else "word"
    # The blank before a word stays outside of its shade, and lines break there. Half a character shows as a dot.
    word = token.text.lstrip()
    blank = token.text[: len(token.text) - len(word)] if word else ""
    return f'{blank}<span class="{kind}{shade}"{exact}>{escape(word or token.text or "·")}</span>'


def _data(inspection: Inspection) -> str:
    """What the script looks up. No text can end the script element: there is no < in it."""
    sides = {
        name: {
            "sentences": text.sentences,
            "causal": text.causal,
            "maps": [
                {
                    "sentences": one.sentences,
                    "tokens": one.tokens,
                    "weights": [[float(f"{weight:.4g}") for weight in row] for row in one.weights],
                }
                for one in text.maps
            ],
        }
        for name, text in inspection.sides().items()
    }
    return json.dumps(sides, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


STYLE = """
:root{color-scheme:light dark;--back:#fff;--text:#1c1e21;--soft:#5b6168;--line:#d5d9de;
--low:#e3edf8;--high:#08306b;--shade:#f0a33c;--mark:#c4390b}
@media (prefers-color-scheme:dark){:root{--back:#14171b;--text:#e9ebee;--soft:#a3abb5;--line:#3a4048;
--low:#23303f;--high:#b5dcff;--shade:#9a5a00;--mark:#ff9d6e}}
body{margin:2rem auto;max-width:78rem;padding:0 1rem;background:var(--back);color:var(--text);
font:1rem/1.5 system-ui,sans-serif}
h1{font-size:1.5rem}h2{font-size:1.2rem;margin-top:2rem}h3{font-size:1rem;margin-bottom:.2rem}
p{max-width:46rem}.note,.legend{color:var(--soft);margin:.2rem 0;font-size:.875rem}.note{max-width:30rem}
.sides,.maps{display:flex;flex-wrap:wrap;gap:1rem 2rem}.sides>section{min-width:0;max-width:100%}.maps{overflow-x:auto}
.steps{display:inline-flex;vertical-align:-.15em;border:1px solid var(--line)}
.steps>*{display:inline-block;width:.6rem;height:.9rem}
.map{flex:none;font-size:11px;fill:var(--soft)}.map path{shape-rendering:crispEdges}
.map:focus-visible{outline:2px solid var(--mark);outline-offset:-2px}
.mark{fill:none;stroke:var(--mark);stroke-width:2}
table{border-collapse:collapse;width:100%}td,th{text-align:start;vertical-align:top;padding:.35rem .6rem;
border-top:1px solid var(--line)}th[scope=row]{color:var(--soft);font-weight:normal}td{width:50%;line-height:1.8}
.word,.symbol{padding:.1em 0}.symbol{font-size:.8em;margin:0 .15em}
[data-opening]:hover{outline:2px solid var(--mark)}
#tip{position:fixed;z-index:1;max-width:min(30rem,90vw);padding:.5rem .7rem;background:var(--back);color:var(--text);
border:1px solid var(--soft);border-radius:.3rem;font-size:.875rem;pointer-events:none;box-shadow:0 2px 8px #0005}
#tip p{margin:.2rem 0}
"""

SCRIPT = """
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const tip = document.getElementById("tip");
const margin = MARGIN;

function show(lines, x, y) {
  tip.replaceChildren(...lines.map(line => {
    const paragraph = document.createElement("p");
    paragraph.dir = "auto";
    paragraph.textContent = line;
    return paragraph;
  }));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const above = y - box.height - 16;
  tip.style.left = Math.max(4, Math.min(x + 16, innerWidth - box.width - 4)) + "px";
  tip.style.top = Math.max(4, y + 16 + box.height > innerHeight ? above : y + 16) + "px";
}

function hide() {
  tip.hidden = true;
  for (const mark of document.querySelectorAll(".mark")) mark.setAttribute("visibility", "hidden");
}

function describe(side, map, i, j) {
  const reading = map.sentences[i], read = map.sentences[j], weight = map.weights[i][j];
  const share = (100 * weight * map.tokens[j]).toPrecision(2);
  const what = reading === read ? "reads itself" : `reads ${read + 1}`;
  const lines = [`${reading + 1} ${what}: weight ${weight}, ${share} % of all it reads`,
                 `${reading + 1}: ${side.sentences[reading]}`];
  if (reading !== read) lines.push(`${read + 1}: ${side.sentences[read]}`);
  return lines;
}

for (const svg of document.querySelectorAll(".map")) {
  const side = data[svg.dataset.side], map = side.maps[svg.dataset.map];
  const cell = Number(svg.dataset.cell), mark = svg.querySelector(".mark"), count = map.sentences.length;
  let at = [0, 0];

  function go(i, j) {
    if (!(i >= 0 && j >= 0 && i < count && j < count) || (side.causal && j > i)) return false;
    at = [i, j];
    mark.setAttribute("x", margin + j * cell);
    mark.setAttribute("y", margin + i * cell);
    mark.setAttribute("visibility", "visible");
    const box = mark.getBoundingClientRect();
    show(describe(side, map, i, j), box.right, box.bottom);
    return true;
  }

  svg.addEventListener("pointermove", event => {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    if (!go(Math.floor((point.y - margin) / cell), Math.floor((point.x - margin) / cell))) hide();
  });
  svg.addEventListener("pointerleave", hide);
  svg.addEventListener("blur", hide);
  svg.addEventListener("focus", () => { if (svg.matches(":focus-visible")) go(...at); });
  svg.addEventListener("keydown", event => {
    const step = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]}[event.key];
    if (step) {
      event.preventDefault();
      go(at[0] + step[0], at[1] + step[1]);
    }
  });
}

document.addEventListener("pointerover", event => {
  const word = event.target.closest("[data-opening]");
  if (word) show([`${word.textContent}: gate ${word.dataset.opening}`], event.clientX, event.clientY);
  else if (!event.target.closest(".map")) hide();
});
document.addEventListener("keydown", event => { if (event.key === "Escape") hide(); });
""".replace("MARGIN", str(MARGIN))
