"""Files with a form of their own are not translated as lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from docflat.cli import dispatch


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.toml", "key = 'value'\n", ".toml is no format that docflat reads"),
        ("a.rst", "Title\n=====\n", ".rst is no format"),
        ("a.tex", "\\\\section{One}\n", ".tex is no format"),
        ("notes", '<?xml version="1.0"?>\n<a>Hello</a>\n', "it looks like XML"),
        ("a.data", '{"a": "Hello"}\n', "it looks like JSON"),
        ("a.bin", "Hello\0world\n", "it looks like a file for programs"),
        ("project.xml", "<project>Hello</project>\n", "no Android resources"),
    ],
)
def test_a_structured_file_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: str, message: str
) -> None:
    (tmp_path / name).write_text(content)
    assert dispatch.run(["translate", str(tmp_path / name), "-o", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "--lines" in error
    assert not (tmp_path / "out").exists()
