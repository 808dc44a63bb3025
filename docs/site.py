"""What the site asks of MkDocs beside mkdocs.yml: links to files outside docs/ lead to the repository."""

from __future__ import annotations

import posixpath
import re
from typing import Any

HOME = "https://github.com/docflat/docflat/blob/main"


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Called for each page."""
    here = posixpath.dirname(f"docs/{page.file.src_uri}")

    def link(match: re.Match[str]) -> str:
        words, target = match.groups()
        path = posixpath.normpath(posixpath.join(here, target))
        page = path.partition("#")[0]
        inside = page.startswith("docs/") and page.endswith((".md", ".png", ".svg"))
        return match[0] if inside else f"[{words}]({HOME}/{path})"

    return re.sub(r"\[([^\]]*)\]\((?![a-z]+:|#)([^)\s]+)\)", link, markdown)
