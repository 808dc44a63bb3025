"""Sizes of files and functions, above which they want to be two."""

from __future__ import annotations

import ast
from pathlib import Path

import docflat

SOURCE, TESTS = Path(docflat.__file__).parent, Path(__file__).parents[1]
REASON = "# Long: "  # the line above a function, or its decorators, that says why it is


def lines_of(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines()


def test_no_source_file_has_more_than_400_lines() -> None:
    long = {str(file.relative_to(SOURCE)): n for file in SOURCE.rglob("*.py") if (n := len(lines_of(file))) > 400}
    assert not long


def test_no_file_of_tests_has_more_than_500_lines() -> None:
    long = {str(file.relative_to(TESTS)): n for file in TESTS.rglob("*.py") if (n := len(lines_of(file))) > 500}
    assert not long


def test_no_function_has_more_than_50_lines_without_a_reason_beside_it() -> None:
    long = {}
    for file in SOURCE.rglob("*.py"):
        lines = lines_of(file)
        for node in ast.walk(ast.parse("\n".join(lines))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                size = (node.end_lineno or node.lineno) - node.lineno + 1
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                if size > 50 and not lines[first - 2].strip().startswith(REASON):
                    long[f"{file.relative_to(SOURCE)}:{node.name}"] = size
    assert not long
