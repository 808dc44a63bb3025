"""`docflat context`: which words of a reference the context makes more likely (P-CXMI)."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from docflat.cli.arguments import add_boundaries, add_json, add_model, add_number, load_translator
from docflat.cli.outputs import add_force, check_output, write_json_lines
from docflat.support.console import print_json, print_rows, progress, say, warn

if TYPE_CHECKING:
    from docflat.evaluation.p_cxmi import SentenceCXMI
    from docflat.evaluation.testsets import DocumentFile

JsonObject = dict[str, object]
SHOWN = 60  # characters of a sentence in the table


def arguments(parser: ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument("--source", type=Path, required=True, metavar="FILE", help="documents")
    parser.add_argument("--reference", type=Path, required=True, metavar="FILE", help="their translations")
    add_number(parser, "--show", 20, "words with the highest P-CXMI to show", least=0)
    parser.add_argument("--tokens", type=Path, metavar="FILE", help="write every token's P-CXMI as JSON lines")
    add_force(parser, "the file of --tokens if it is there")
    add_boundaries(parser)
    parser.add_argument("--docids", type=Path, metavar="FILE", help="a docid for each line of the reference")
    parser.add_argument("--starts", type=Path, metavar="FILE", help="the lines of the reference that start documents")
    add_json(parser)


class _Sentence(NamedTuple):
    document: int  # from 1
    line: int  # of the reference
    text: str
    scored: SentenceCXMI


def run(arguments: Namespace) -> None:
    from docflat.evaluation.contrastive.scoring import signature_of_text
    from docflat.evaluation.p_cxmi import cxmi
    from docflat.evaluation.testsets import Marking, read_beside, read_reference

    check_output(arguments, "tokens")
    marking = Marking(arguments.boundaries, arguments.docids, arguments.starts)
    reference = read_reference(arguments.reference, marking)
    source = read_beside(arguments.source, reference, marking, "source")
    translator = load_translator(arguments)
    system = translator.model.system
    if not (system.source or system.target):
        warn(f"{system.name} sees no context: every P-CXMI is 0")
    with progress("scoring", 2 * len(reference.sentences)) as advance:
        scored = cxmi(translator, source.documents, reference.documents, advance)
    sentences = list(_sentences(source, reference, scored))
    if arguments.tokens:
        write_json_lines(arguments.tokens, (record for one in sentences for record in _tokens(one)))
    means, words = _means(sentences), _words(sentences, arguments.show)
    line = signature_of_text(source.sentences, reference.sentences, translator)
    if arguments.json:
        print_json({"signature": line, "means": means, "words": words})
        return
    print_rows(means, title=str(reference.file))
    if words:
        say("")
        print_rows([{**word, "sentence": _shortened(str(word["sentence"]))} for word in words])
    say("", line)


def _sentences(source: DocumentFile, reference: DocumentFile, scored: list[list[SentenceCXMI]]) -> Iterator[_Sentence]:
    """Those with words on both sides; an empty one is context, and says nothing itself."""
    sides = zip(source.documents, reference.documents, reference.lines, scored, strict=True)
    for number, (originals, texts, lines, document) in enumerate(sides, 1):
        for original, text, line, one in zip(originals, texts, lines, document, strict=True):
            if original.strip() and text.strip():
                yield _Sentence(number, line, text, one)


def _means(sentences: list[_Sentence]) -> list[JsonObject]:
    """Over tokens, the end of each sentence among them, and over sentences."""
    in_context = sum(sum(one.scored.with_context) for one in sentences)
    alone = sum(sum(one.scored.without) for one in sentences)
    tokens = sum(len(one.scored.pieces) for one in sentences)
    return [
        {
            "per": unit,
            "number": number,
            "log p with context": in_context / number,
            "log p without": alone / number,
            "P-CXMI": (in_context - alone) / number,
        }
        for unit, number in (("token", tokens), ("sentence", len(sentences)))
    ]


def _words(sentences: list[_Sentence], show: int) -> list[JsonObject]:
    """The words that gain most."""
    words = ((value, word, one) for one in sentences for word, value in one.scored.words())
    highest = sorted(words, key=lambda each: -each[0])[:show]
    return [
        {"word": word, "P-CXMI": value, "document": one.document, "line": one.line, "sentence": one.text}
        for value, word, one in highest
    ]


def _tokens(one: _Sentence) -> Iterator[JsonObject]:
    columns = zip(one.scored.pieces, one.scored.with_context, one.scored.without, one.scored.values, strict=True)
    for place, (piece, in_context, alone, value) in enumerate(columns, 1):
        yield {
            "document": one.document,
            "line": one.line,
            "place": place,
            "token": piece,
            "with_context": in_context,
            "without": alone,
            "cxmi": value,
        }


def _shortened(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
