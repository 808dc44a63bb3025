"""The report for other programs: a line a number as CSV, and the tables for a paper as LaTeX."""

from __future__ import annotations

import csv
import io

from docflat.reproduce.grid import Table
from docflat.reproduce.report import BETTER, WORSE, Report, Shown

COLUMNS = (
    "table",
    "row",
    "column",
    "paper",
    "measured",
    "deviation",
    "seeds",
    "difference",
    "p",
    "mark",
    "open",
    "job",
    "metric",
    "window",
    "files",
)
# Of text that stands in a table; a backslash comes first.
LATEX = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    BETTER: r"$^{\dagger}$",
    WORSE: r"$^{\ddagger}$",
    "±": r"$\pm$",
    "—": "---",
    ">": r"$>$",
    "<": r"$<$",
}


def as_csv(report: Report) -> str:
    """All digits; files: translations and verdicts from which a number can be measured again."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for table, rows in report.tables:
        for (label, shown), row in zip(rows, table.rows, strict=True):
            for column, cell, one in zip(table.columns, row.cells, shown, strict=True):
                files = " ".join(dict.fromkeys(record.file for record in one.records if record.file))
                numbers = (one.paper_value, one.value, one.deviation, one.seeds, one.difference, one.p)
                said = ("" if number is None else number for number in numbers)
                writer.writerow([table.title, label, column, *said, one.mark, one.reason, *cell.measure.key, files])
    return text.getvalue()


def as_latex(report: Report) -> str:
    """Tables of the package booktabs, to be read with \\input; what was not run is a dash."""
    return "\n".join(_latex_table(table, rows) for table, rows in report.tables)


def _latex_table(table: Table, rows: list[tuple[str, list[Shown]]]) -> str:
    both = table.in_paper()
    heads = " & ".join(
        rf"\multicolumn{{{1 + two}}}{{c}}{{{escape(name)}}}" for name, two in zip(table.columns, both, strict=True)
    )
    below = " & ".join("paper & ours" if two else "ours" for two in both)
    lines = []
    for label, cells in rows:
        texts = []
        for cell, two in zip(cells, both, strict=True):
            texts += [escape(cell.paper)] if two else []
            texts.append(escape(cell.measured) if cell.records else "--")
        lines.append(f"{escape(label)} & {' & '.join(texts)} \\\\")
    body = "\n".join(lines)
    return (
        "\\begin{table}\n\\centering\\small\n"
        f"\\begin{{tabular}}{{l{'r' * (len(both) + sum(both))}}}\n\\toprule\n"
        f" & {heads} \\\\\n & {below} \\\\\n\\midrule\n{body}\n\\bottomrule\n\\end{{tabular}}\n"
        f"\\caption{{{escape(table.title)}}}\n\\end{{table}}\n"
    )


def escape(text: str) -> str:
    return "".join(LATEX.get(sign, sign) for sign in text)
