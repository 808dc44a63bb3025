"""Files of drafts: all but the edited words stays, to the byte."""

from __future__ import annotations

from pathlib import Path

from docflat.editing.editor import Edit, Revision
from docflat.editing.evidence import Evidence
from docflat.editing.variants import Change, Variant
from docflat.translation.drafts import DraftFile, Lines


def edit_all(file: DraftFile, old: str, new: str) -> bytes:
    """The file with the first of these words in each draft changed."""

    def revision(source: str, draft: str) -> Revision:
        if old not in draft:
            return Revision(source, draft)
        start = draft.index(old)
        change = Change((start, start + len(old)), old, new, "it")
        variant = Variant(draft.replace(old, new, 1), (change,), 1, frozenset({2}))
        return Revision(source, draft, Edit(variant, 0.9, Evidence(1.0, 0.0, 0.0, 0.0, 0.0, 0.0)))

    return file.render([[revision(*pair) for pair in document.pairs] for document in file.documents])


def test_lines_stay_where_they_are(tmp_path: Path) -> None:
    source, draft = tmp_path / "a.en", tmp_path / "a.de"
    source.write_bytes(b"The machine.\nIt works.\n\nThe letter.\nIt came.\n")
    data = "\ufeffDie Maschine.\r\n Es läuft.\t\r\n\r\nDer Brief.\r\nEs kam.".encode()
    draft.write_bytes(data)
    file = Lines(source, draft)
    assert [len(document.pairs) for document in file.documents] == [2, 2]
    assert file.documents[1].places == [f"{draft}:4", f"{draft}:5"]
    assert edit_all(file, "Nichts", "?") == data
    assert edit_all(file, "Es", "Sie") == data.replace(b"Es", b"Sie")
