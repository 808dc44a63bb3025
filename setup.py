"""What pyproject.toml cannot say: the README as an index shows it, its links and pictures absolute; the manual page."""

from __future__ import annotations

import re
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).parent
HOME = "https://github.com/docflat/docflat"
RAW = "https://raw.githubusercontent.com/docflat/docflat"


def absolute(text: str, version: str) -> str:
    """Links to files of the repository as they are in this version; pictures as bytes, not as pages about them."""

    def link(match: re.Match[str]) -> str:
        bang, words, target = match.groups()
        start = f"{RAW}/v{version}" if bang else f"{HOME}/blob/v{version}"
        return f"{bang}[{words}]({start}/{target})"

    return re.sub(r"(!?)\[([^\]]*)\]\((?![a-z]+:|#)([^)\s]+)\)", link, text)


def version() -> str:
    source = (ROOT / "src" / "docflat" / "__init__.py").read_text(encoding="utf-8")
    (number,) = re.findall(r'^__version__ = "([^"]+)"', source, re.M)
    return number


if __name__ == "__main__":
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    setup(
        version=version(),
        long_description=absolute(readme, version()),
        long_description_content_type="text/markdown",
        data_files=[("share/man/man1", ["docs/docflat.1"])],
    )
