"""BLEU and seconds on a test set by how many sentences see each other, and one sentence at a time with kept context.

    python benchmarks/windows.py test.en test.de                     the model that comes with docflat
    python benchmarks/windows.py test.en test.de --model runs/europarl/docflat-c/model --windows 1,16 --limit 500

One first pass serves all windows of the second, as `docflat translate --mode two-pass --window N` has it; the mode
`stream` comes last. Test sets have an empty line between documents. A batch holds several windows, which do not see
each other. On a GPU the seconds have in them what is compiled and recorded once.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import sacrebleu

from docflat.data.rows import Ids
from docflat.evaluation.testsets import Marking, read_beside, read_reference
from docflat.support.console import print_table
from docflat.translation.translator import Translator
from docflat.weights.shipped import ENGLISH_GERMAN


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("reference", type=Path)
    parser.add_argument("--model", default=ENGLISH_GERMAN, help="one that does both passes (default: %(default)s)")
    windows = "sentences that see each other, separated by commas (default: 1 to 32)"
    parser.add_argument(
        "--windows", type=lambda text: [int(n) for n in text.split(",")], default=[1, 2, 4, 8, 16, 32], help=windows
    )
    parser.add_argument("--stream", type=int, default=16, help="window of the mode stream (default: %(default)s)")
    parser.add_argument("--batch-size", type=int, default=256, help="sentences at a time (default: %(default)s)")
    parser.add_argument("--limit", type=int, help="of whole documents, about so many sentences")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()

    translator = Translator.load(options.model)
    reference = read_reference(options.reference, Marking())
    source = read_beside(options.source, reference, Marking(), "source")
    documents, wanted = take(source.documents, reference.documents, options.limit)
    ids = [translator.model.subwords.encode_batch(document, "source") for document in documents]
    rows: list[list[Any]] = []

    def measure(what: str, translate: Callable[[], list[list[Ids]]]) -> list[list[Ids]]:
        start = time.perf_counter()
        found = translate()
        seconds = time.perf_counter() - start
        text = [translator.model.subwords.decode(sentence) for document in found for sentence in document]
        rows.append([what, sacrebleu.corpus_bleu(text, [wanted]).score, seconds])
        return found

    def settings(mode: str, window: int | None = None) -> Any:
        return translator.decoder.settings(mode=mode, window=window, batch_size=options.batch_size)

    def ignore(sentences: int) -> None:
        pass

    alone = translator.decoder.passes(settings("sentence"))
    first = measure("sentence by sentence", partial(alone.sentence_by_sentence, ids, ignore))
    for window in options.windows:
        together = translator.decoder.passes(settings("two-pass", window))
        measure(f"second pass, window {window}", partial(together.second_pass, ids, first, ignore))
    streaming = settings("stream", options.stream)
    measure(f"stream, window {options.stream}", partial(translator.decoder.decode, ids, streaming))
    print_table(["what", "BLEU", "seconds"], rows, options.json)


def take(source: list[list[str]], reference: list[list[str]], limit: int | None) -> tuple[list[list[str]], list[str]]:
    """The first documents, until there are so many sentences; their references, one after the other."""
    count = sentences = 0
    while count < len(source) and (limit is None or sentences < limit):
        sentences += len(source[count])
        count += 1
    return source[:count], [text for document in reference[:count] for text in document]


if __name__ == "__main__":
    main()
