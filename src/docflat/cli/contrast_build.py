"""`docflat contrast build`: a contrastive pronoun set from aligned documents."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from docflat.cli.arguments import add_boundaries, add_json, add_number, whole
from docflat.cli.outputs import add_force, check_output
from docflat.cli.prepare import add_pairs, pairs
from docflat.support.console import print_rows, progress
from docflat.support.errors import InputError

if TYPE_CHECKING:
    from docflat.data.documents import Document, FilePair
    from docflat.evaluation.contrastive.examples import ContrastiveExample
    from docflat.support.console import Advance


def arguments(parser: ArgumentParser) -> None:
    add_pairs(parser)
    add_boundaries(parser)
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="FILE", help="JSONL file to write")
    add_force(parser)
    add_number(parser, "--context", 3, "sentences of context to keep (with --words: 20)", least=0)
    balance = "take as many examples of er as of sie and es; with --words as many of the usual translation as of others"
    parser.add_argument("--balance", action="store_true", help=balance)
    parser.add_argument(
        "--words",
        action="store_true",
        help="make a set of nouns instead, which must be translated as earlier in the document",
    )
    for side in ("source", "target"):
        learn = f"{side} sides of other text to learn translations of nouns from, for --words"
        parser.add_argument(f"--learn-{side}", nargs="+", type=Path, metavar="FILE", help=learn)
    parser.add_argument("--limit", type=whole(1), metavar="N", help="examples to keep, at most, drawn at random")
    add_number(parser, "--seed", 1, "seed of the random choice", least=0)
    add_json(parser)


def run(arguments: Namespace) -> None:
    from docflat.evaluation.contrastive.examples import to_json
    from docflat.evaluation.contrastive.german_genders import Genders
    from docflat.evaluation.contrastive.german_pronouns import choose, find_examples
    from docflat.support.atomic import write_whole

    check_output(arguments, "out")
    corpora = pairs(arguments)
    if arguments.words:
        return _build_words(arguments, corpora)
    with progress("learning genders") as advance:
        genders = Genders(
            sentence for _, document in _documents(corpora, advance) for sentence in document.target or ()
        )
    examples: dict[object, ContrastiveExample] = {}  # by their text, as some sentences are in a corpus several times
    with progress("finding pronouns") as advance:
        for file, document in _documents(corpora, advance):
            for example in find_examples(document, genders, arguments.context):
                text = (example.source_context, example.target_context, example.source, example.reference)
                examples.setdefault(text, replace(example, fields={**example.fields, "file": file.name}))
    candidates = list(examples.values())
    chosen_examples = choose(candidates, arguments.balance, arguments.limit, arguments.seed)
    counts = [
        {
            "pronoun": pronoun,
            "found": sum(example.fields["pronoun"] == pronoun for example in candidates),
            "kept": sum(example.fields["pronoun"] == pronoun for example in chosen_examples),
            "of known distance": sum(
                example.fields["pronoun"] == pronoun and "distance" in example.fields for example in chosen_examples
            ),
        }
        for pronoun in ("er", "sie", "es")
    ]
    if not chosen_examples:
        numbers = ", ".join(f"{row['found']} of {row['pronoun']}" for row in counts)
        raise InputError(f"nothing to write: found {numbers}", arguments.out)
    write_whole(arguments.out, "".join(f"{to_json(example)}\n" for example in chosen_examples))
    print_rows(counts, arguments.json, title=str(arguments.out))


def _build_words(arguments: Namespace, corpora: list[FilePair]) -> None:
    from docflat.data.documents import FilePair
    from docflat.evaluation.contrastive.examples import to_json
    from docflat.evaluation.contrastive.german_genders import Genders
    from docflat.evaluation.contrastive.scoring import draw
    from docflat.evaluation.contrastive.word_choice import (
        MOST_BACK,
        RANGES,
        NounTranslations,
        choose_even,
        find_choices,
        range_of,
    )
    from docflat.support.atomic import write_whole

    sources, targets = arguments.learn_source or [], arguments.learn_target or []
    if not sources or len(sources) != len(targets):
        raise InputError("--words needs --learn-source and --learn-target, as many files of each")
    learn = [FilePair(source, target) for source, target in zip(sources, targets, strict=True)]
    with progress("learning translations of nouns") as advance:
        texts = [
            (source, target)
            for _, document in _documents(learn, advance)
            for source, target in zip(document.source, document.target or [], strict=True)
        ]
    translations, genders = NounTranslations(texts), Genders(target for _, target in texts)
    with progress("finding nouns") as advance:
        candidates = [
            replace(example, fields={**example.fields, "file": file.name})
            for file, document in _documents(corpora, advance)
            for example in find_choices(document, translations, genders, MOST_BACK)
        ]
    chosen_examples = choose_even(candidates, arguments.seed) if arguments.balance else candidates
    chosen_examples = draw(chosen_examples, arguments.limit, arguments.seed)
    if not chosen_examples:
        raise InputError(f"nothing to write: found {len(candidates)} nouns", arguments.out)
    write_whole(arguments.out, "".join(f"{to_json(example)}\n" for example in chosen_examples))
    rows = []
    for first, _ in RANGES:
        name = range_of(first)
        of_range = [one for one in candidates if one.fields["range"] == name]
        usual = sum(one.fields["usual"] == "yes" for one in of_range)
        chosen = sum(one.fields["range"] == name for one in chosen_examples)
        rows.append({"sentences back": name, "found": len(of_range), "usual translation": usual, "kept": chosen})
    print_rows(rows, arguments.json, title=str(arguments.out))


def _documents(corpora: list[FilePair], advance: Advance) -> Iterator[tuple[Path, Document]]:
    """The documents, each with its source file."""
    from docflat.data.documents import read_documents

    for pair in corpora:
        for document in read_documents(pair):
            if document.target is None:
                raise InputError("a document without its translation", pair.source, document.line)
            yield pair.source, document
            advance()
