"""On PYTHONPATH: a Python to which only what `pip install docflat` brings is there, whatever else is installed."""

from __future__ import annotations

from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

# What the extras of pyproject.toml bring, and what comes with it.
MISSING = """
torch triton sacrebleu lxml regex portalocker tabulate ctranslate2 sacremoses comet matplotlib PIL tensorboard
starlette uvicorn multipart python_multipart jinja2 prometheus_client httpx ray pyarrow pandas datasets
zstandard transformers onnx ml_dtypes scipy docx pptx odf polib pysubs2 translate pytest
"""
_find_spec = PathFinder.find_spec


def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
    return None if name.partition(".")[0] in MISSING.split() else _find_spec(name, path, target)


PathFinder.find_spec = find_spec  # type: ignore[method-assign, assignment]
