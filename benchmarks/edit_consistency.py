"""How well `docflat edit` makes a document say you one way, and spell names one way.

    python benchmarks/edit_consistency.py --sets dialogue/bcontrast-dev,dialogue/msctd-dev --limit 1900 --cache drafts
    python benchmarks/edit_consistency.py --human --sets news/dev,ted/dev,europarl/dev

A set is NAME.en and NAME.de, or the same with .xz. Drafts are the model's own, sentence by sentence, kept in --cache,
or those of --drafts (a sentence a line for each of the set's). An edit is right if the reference says you the new way,
or has the new spelling, and wrong if it has the old one. With --human the references are the drafts, and every edit is
one too many unless the translator erred. --show prints edits, to be read.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from docflat.data.documents import FilePair, read_documents
from docflat.editing.address import ADDRESS, Address
from docflat.editing.address_german import TABLE
from docflat.editing.names import NAMES
from docflat.editing.revisions import Edit, Revision
from docflat.support.console import print_table
from docflat.translation.translator import Translator

Document = tuple[list[str], list[str]]  # sentences and their references


def read_set(name: str, limit: int) -> list[Document]:
    """Whole documents, until there are so many sentences."""
    ending = "" if Path(f"{name}.en").exists() else ".xz"
    documents: list[Document] = []
    for document in read_documents(FilePair(Path(f"{name}.en{ending}"), Path(f"{name}.de{ending}"))):
        if sum(len(source) for source, _ in documents) >= limit:
            break
        documents.append((list(document.source), list(document.target or [])))
    return documents


def drafts_of(
    name: str, documents: Sequence[Document], options: argparse.Namespace, model: Translator
) -> list[list[str]]:
    if options.human:
        return [references for _, references in documents]
    if options.drafts:
        data = options.drafts.read_bytes()
        lines = iter((lzma.decompress(data) if options.drafts.suffix == ".xz" else data).decode().split("\n"))
        return [list(islice(lines, len(sources))) for sources, _ in documents]
    file: Path = options.cache / f"{Path(name).name}.{options.limit}.json"
    if not file.exists():
        translations = model.translate_documents((sources for sources, _ in documents), mode="sentence")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(list(translations), ensure_ascii=False), encoding="utf-8")
    drafts: list[list[str]] = json.loads(file.read_text(encoding="utf-8"))
    return drafts


def way_of(model: Translator, source: str, text: str) -> str:
    ways = Address(model.editor().scorer, TABLE).ways([[Revision(source, text)]])
    return ways[0, 0][0] if ways else ""


def verdict(model: Translator, edit: Edit, revision: Revision, reference: str) -> str:
    if edit.phenomenon == ADDRESS:
        old, new, way = (way_of(model, revision.source, text) for text in (revision.draft, revision.text, reference))
        return "right" if way and way == new else "wrong" if way and way == old else "unknown"
    (change,) = edit.changes
    has_new, has_old = change.new in reference, change.old in reference
    return "unknown" if has_new == has_old else "right" if has_new else "wrong"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=lambda text: text.split(","), required=True)
    parser.add_argument("--limit", type=int, default=100_000, help="sentences of each set")
    parser.add_argument("--human", action="store_true")
    parser.add_argument("--drafts", type=Path, help="of one set")
    parser.add_argument("--cache", type=Path, default=Path("drafts"), metavar="FOLDER")
    parser.add_argument("--only", type=lambda text: tuple(text.split(",")), default=(ADDRESS, NAMES))
    parser.add_argument("--show", type=int, default=0, metavar="N")
    parser.add_argument("--model", default="en-de")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    model = Translator.load(options.model)
    editor = model.editor(phenomena=options.only)
    rows: list[list[object]] = []
    for name in options.sets:
        documents = read_set(name, options.limit)
        drafts = drafts_of(name, documents, options, model)
        pairs = [list(zip(sources, each, strict=True)) for (sources, _), each in zip(documents, drafts, strict=True)]
        references = [reference for _, each in documents for reference in each]
        revisions = [revision for document in editor.edit(pairs) for revision in document]
        for phenomenon in options.only:
            edited = [
                (revision, edit, verdict(model, edit, revision, reference))
                for revision, reference in zip(revisions, references, strict=True)
                for edit in revision.edits
                if edit.phenomenon == phenomenon
            ]
            counts = Counter(one for _, _, one in edited)
            rate = 1000 * len(edited) / len(revisions)
            rows.append(
                [name, phenomenon, len(revisions), len(edited), rate, *map(counts.get, ("right", "wrong", "unknown"))]
            )
            for revision, edit, one in random.Random(1).sample(edited, min(options.show, len(edited))):
                print(f"{one}: {revision.reason} ({edit.evidence['gain']:.1f})")
                print(f"  {revision.source}\n- {revision.draft}\n+ {revision.text}")
    columns = ["set", "phenomenon", "sentences", "edited", "in 1,000", "right", "wrong", "unknown"]
    print_table(columns, rows, options.json)


if __name__ == "__main__":
    main()
