"""The report as one web page that loads nothing: tables, figures, and where each number comes from."""

from __future__ import annotations

import re
from html import escape

from docflat.reproduce.chart import chart, legend
from docflat.reproduce.grid import Table
from docflat.reproduce.report import NOT_RUN, TINY, TITLE, Report, Shown, facts


def page(report: Report) -> str:
    titles = [(f"t{number}", table) for number, (table, _) in enumerate(report.tables)]
    contents = "".join(f'<li><a href="#{name}">{escape(table.title)}</a></li>' for name, table in titles)
    parts = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<title>{escape(TITLE)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{escape(TITLE)}</h1>",
        f'<p class="warning"><strong>{escape(TINY)}</strong></p>' if report.tiny else "",
        f"<p>{escape(report.summary())} Point at a measured number to see where it comes from; it links to more.</p>",
        f"<nav><ul>{contents}</ul></nav>",
        *(_section(name, table, rows) for (name, _), (table, rows) in zip(titles, report.tables, strict=True)),
        _open(report),
        _origins(report),
        "</body>\n</html>\n",
    ]
    return "\n".join(part for part in parts if part)


def _section(name: str, table: Table, rows: list[tuple[str, list[Shown]]]) -> str:
    note = f'<p class="note">{escape(table.note)}</p>\n' if table.note else ""
    figure = _figure(table, rows) if table.figure else ""
    return f'<section id="{name}">\n<h2>{escape(table.title)}</h2>\n{note}{figure}{_table(table, rows)}\n</section>'


def _figure(table: Table, rows: list[tuple[str, list[Shown]]]) -> str:
    curves = {"measured": [(name, [cell.value for cell in row]) for name, row in rows]}
    if any(table.in_paper()):
        curves = {"paper": [(name, [cell.paper_value for cell in row]) for name, row in rows], **curves}
    panels = [chart(table.figure, title, table.columns, series, table.axes) for title, series in curves.items()]
    return f'{legend([label for label, _ in rows], table.figure)}\n<div class="panels">{"".join(panels)}</div>\n'


def _table(table: Table, rows: list[tuple[str, list[Shown]]]) -> str:
    both = table.in_paper()
    names = zip(table.columns, both, strict=True)
    heads = "".join(f'<th scope="colgroup" colspan="{1 + 2 * two}">{escape(name)}</th>' for name, two in names)
    paper, measured = '<th scope="col" class="paper">paper</th>', '<th scope="col">measured</th>'
    away = '<th scope="col">difference</th>'
    lines = []
    for label, cells in rows:
        texts = (
            f'<td class="paper">{escape(cell.paper)}</td>{_measured(cell)}<td>{cell.away}</td>'
            if two
            else _measured(cell)
            for cell, two in zip(cells, both, strict=True)
        )
        lines.append(f'<tr><th scope="row">{escape(label)}</th>{"".join(texts)}</tr>')
    below = "".join(paper + measured + away if two else measured for two in both)
    return (
        '<div class="wide" tabindex="0"><table>\n'
        f'<thead><tr><td rowspan="2"></td>{heads}</tr><tr>{below}</tr></thead>\n'
        f"<tbody>\n{chr(10).join(lines)}\n</tbody>\n</table></div>"
    )


def _measured(cell: Shown) -> str:
    if not cell.records:
        return f'<td class="gap" title="{escape(cell.reason)}">{NOT_RUN}</td>'
    record = cell.records[0]
    origin = record.origin
    words = [record.job, f"commit {origin.commit}", f"seed {origin.seed}", f"data {origin.data}", origin.training]
    words += [record.signature] if record.signature else []
    words += [one.file for one in cell.records if one.file]
    tip = escape("\n".join(words))
    return f'<td><a href="#{anchor(record.job)}" title="{tip}">{escape(cell.measured)}</a></td>'


def anchor(job: str) -> str:
    return "job-" + re.sub(r"[^A-Za-z0-9-]", "-", job)


def _open(report: Report) -> str:
    items = "".join(f"<li>{escape(reason)}: {number}</li>" for reason, number in report.reasons().items())
    return f"<section>\n<h2>What is open</h2>\n<p>Reasons, and how many numbers:</p>\n<ul>{items}</ul>\n</section>"


def _origins(report: Report) -> str:
    runs = "\n".join(
        f"<li>{escape('; '.join(facts(run)))}<br><code>{escape(run.origin.command)}</code></li>"
        for run in report.runs()
    )
    rows = []
    for name, records in report.jobs().items():
        origin = records[-1].origin
        cells = (report.run_numbers(records), origin.seed, origin.data, len(records))
        plain = "".join(f"<td>{escape(str(cell))}</td>" for cell in cells)
        training = f'<td class="command"><code>{escape(origin.training)}</code></td>'
        rows.append(f'<tr id="{anchor(name)}"><th scope="row">{escape(name)}</th>{plain}{training}</tr>')
    heads = "".join(f'<th scope="col">{head}</th>' for head in ("job", "run", "seed", "data", "numbers", "training"))
    return (
        "<section>\n<h2>Where the numbers come from</h2>\n<p>results.jsonl has all digits, signatures and times.</p>\n"
        f'<ol>{runs}</ol>\n<div class="wide" tabindex="0"><table class="origins">\n<thead><tr>{heads}</tr></thead>\n'
        f"<tbody>\n{chr(10).join(rows)}\n</tbody>\n</table></div>\n</section>"
    )


STYLE = """
:root{color-scheme:light dark;--back:#fff;--text:#1c1e21;--soft:#5b6168;--line:#d5d9de;--faint:#f3f5f7;--link:#0b57c2;
--warn:#fff3d6;--doc2doc:#6b7280;--mbe:#12805c;--abd:#8b4fc7;--c:#1f66d0;--d:#c8480f}
@media (prefers-color-scheme:dark){:root{--back:#14171b;--text:#e9ebee;--soft:#a3abb5;--line:#3a4048;--faint:#1c2127;
--link:#8ab8ff;--warn:#4a3a10;--doc2doc:#a3abb5;--mbe:#4cc79b;--abd:#c49bf0;--c:#78aaff;--d:#ff9563}}
body{margin:2rem auto;max-width:72rem;padding:0 1rem;background:var(--back);color:var(--text);
font:1rem/1.5 system-ui,sans-serif}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin:2.5rem 0 .5rem}p,li{max-width:52rem}
.note,.legend{color:var(--soft);font-size:.875rem;margin:.2rem 0 .6rem}
.warning{background:var(--warn);padding:.6rem .8rem;border-radius:.3rem}
nav ul{columns:20rem;font-size:.875rem;padding-left:1.2rem}
a{color:var(--link)}td a{color:inherit;text-decoration:underline dotted;text-underline-offset:.2em}
td a:hover{color:var(--link)}
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}
th,td{padding:.25rem .6rem;text-align:right;white-space:nowrap;border-top:1px solid var(--line)}
thead th,thead td{border-top:0;font-weight:600}thead tr:last-child th{font-weight:normal;color:var(--soft)}
th[scope=row]{text-align:left;font-weight:normal}th[scope=colgroup]{text-align:center}
.paper{color:var(--soft);border-left:1px solid var(--line)}.gap{color:var(--soft);font-style:italic}
tbody tr:hover{background:var(--faint)}tr:target{background:var(--warn)}
.origins th,.origins td{text-align:left;vertical-align:top}.origins thead th{font-weight:600!important}
.command{white-space:normal;min-width:30rem}code{font-size:.8rem;overflow-wrap:anywhere}
.panels{display:flex;flex-wrap:wrap;gap:1rem}.legend{display:flex;flex-wrap:wrap;gap:.2rem 1.2rem}
.legend svg{vertical-align:-.15em}
.chart{max-width:100%;height:auto;font-size:12px;fill:var(--soft)}.panel{font-weight:600;fill:var(--text)}
.grid{stroke:var(--line);stroke-width:1}.zero{stroke:var(--soft);stroke-width:1}
.curve{stroke-width:2;fill:none!important}
.of-doc2doc{fill:var(--doc2doc);stroke:var(--doc2doc)}.of-mbe{fill:var(--mbe);stroke:var(--mbe)}
.of-abd{fill:var(--abd);stroke:var(--abd)}.of-docflat-c{fill:var(--c);stroke:var(--c)}
.of-docflat-d{fill:var(--d);stroke:var(--d)}
"""
