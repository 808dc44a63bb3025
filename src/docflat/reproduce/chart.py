"""Figures as SVG: curves or bars, the paper's and the measured ones in two panels with a scale each.

One scale for both would press the curves of one of them flat where the levels differ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

Series = tuple[str, list[float | None]]  # name, and a value for each place

WIDTH, HEIGHT = 400, 260
LEFT, RIGHT, TOP, BOTTOM = 62, 12, 28, 44
SYMBOLS = ("circle", "square", "diamond", "triangle")


# Long: a picture from top to bottom.
def chart(kind: str, title: str, places: Sequence[str], series: Sequence[Series], axes: tuple[str, str]) -> str:
    """One panel. kind: lines or bars."""
    values = [value for _, row in series for value in row if value is not None]
    label = escape(f"{title}: {axes[1]} by {axes[0]}")
    head = (
        f'<svg class="chart" role="img" aria-label="{label}" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}"'
        f' height="{HEIGHT}"><text class="panel" x="{LEFT}" y="16">{escape(title)}</text>'
    )
    if not values:
        middle = f'x="{(LEFT + WIDTH - RIGHT) / 2:g}" y="{HEIGHT / 2:g}"'
        return f'{head}<text {middle} text-anchor="middle">not run</text></svg>'
    ticks = nice_ticks(min([*values, 0.0]) if kind == "bars" else min(values), max(values))
    low, high = ticks[0], ticks[-1]

    def y(value: float) -> float:
        return TOP + (high - value) / (high - low) * (HEIGHT - TOP - BOTTOM)

    step = (WIDTH - LEFT - RIGHT) / len(places)

    def x(place: int) -> float:
        return LEFT + (place + 0.5) * step

    parts = [head]
    for tick in ticks:
        parts.append(f'<path class="grid" d="M{LEFT} {y(tick):.1f}H{WIDTH - RIGHT}"/>')
        text = f"{tick:.{digits_of(ticks)}f}"
        parts.append(f'<text x="{LEFT - 6}" y="{y(tick):.1f}" dy=".35em" text-anchor="end">{text}</text>')
    for place, name in enumerate(places):
        across = f'x="{x(place):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle"'
        parts.append(f"<text {across}>{escape(name)}</text>")
    middle_x, middle_y = (LEFT + WIDTH - RIGHT) / 2, (TOP + HEIGHT - BOTTOM) / 2
    parts.append(f'<text x="{middle_x:g}" y="{HEIGHT - 8}" text-anchor="middle">{escape(axes[0])}</text>')
    turned = f'transform="translate(13 {middle_y:g}) rotate(-90)" text-anchor="middle"'
    parts.append(f"<text {turned}>{escape(axes[1])}</text>")
    if kind == "bars":
        parts.append(f'<path class="zero" d="M{LEFT} {y(0):.1f}H{WIDTH - RIGHT}"/>')
    for number, (name, row) in enumerate(series):
        points = [(place, value) for place, value in enumerate(row) if value is not None]
        tips = [f"<title>{escape(f'{name}, {places[place]}: {value:g}')}</title>" for place, value in points]
        if kind == "bars":
            width = 0.8 * step / len(series)
            for (place, value), tip in zip(points, tips, strict=True):
                left = x(place) - 0.4 * step + number * width
                top, tall = min(y(value), y(0)), abs(y(value) - y(0))
                box = f'x="{left:.1f}" y="{top:.1f}" width="{width - 1:.1f}" height="{max(tall, 0.5):.1f}"'
                parts.append(f'<rect class="{colour(name)}" {box}>{tip}</rect>')
        else:
            line = "L".join(f"{x(place):.1f} {y(value):.1f}" for place, value in points)
            parts.append(f'<path class="curve {colour(name)}" d="M{line}"/>' if line else "")
            for (place, value), tip in zip(points, tips, strict=True):
                parts.append(symbol(number, x(place), y(value), colour(name), tip))
    return "".join(parts) + "</svg>"


def legend(names: Sequence[str], kind: str) -> str:
    items = []
    for number, name in enumerate(names):
        mark = symbol(1 if kind == "bars" else number, 7, 7, colour(name), "")
        items.append(f'<span><svg aria-hidden="true" width="14" height="14">{mark}</svg> {escape(name)}</span>')
    return f'<p class="legend">{"".join(items)}</p>'


def colour(name: str) -> str:
    """A class: a system has the same colour in every figure."""
    return f"of-{''.join(letter for letter in name if letter.isalnum() or letter == '-')}"


def symbol(number: int, x: float, y: float, kind: str, tip: str) -> str:
    """Shapes differ too: not everybody tells the colours apart."""
    shape = SYMBOLS[number % len(SYMBOLS)]
    if shape == "circle":
        return f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="4">{tip}</circle>'
    path = {
        "square": f"M{x - 3.5:.1f} {y - 3.5:.1f}h7v7h-7z",
        "diamond": f"M{x:.1f} {y - 5:.1f}l5 5l-5 5l-5 -5z",
        "triangle": f"M{x:.1f} {y - 5:.1f}l4.5 8.5h-9z",
    }[shape]
    return f'<path class="{kind}" d="{path}">{tip}</path>'


def nice_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers from at most `low` to at least `high`."""
    span = (high - low) or abs(high) or 1.0
    power = 10.0 ** math.floor(math.log10(span / most))
    step = next(power * factor for factor in (1, 2, 5, 10, 20) if span / (power * factor) <= most - 1)
    first = math.floor(low / step + 1e-9)
    last = max(math.ceil(high / step - 1e-9), first + 1)
    return [n * step for n in range(first, last + 1)]


def digits_of(ticks: Sequence[float]) -> int:
    return max(0, -math.floor(math.log10(ticks[1] - ticks[0]) + 1e-9))
