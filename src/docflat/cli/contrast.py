"""`docflat contrast`: how often a model prefers the right translation in its context, or finds it itself."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from docflat.cli.arguments import add_json, add_model, add_number, load_translator, names, whole
from docflat.cli.outputs import add_force, check_output, write_json_lines
from docflat.support.console import print_json, print_rows, progress, say, warn
from docflat.support.errors import InputError

if TYPE_CHECKING:
    from docflat.evaluation.contrastive.examples import ContrastiveExample
    from docflat.translation.translator import Translator

JsonObject = dict[str, object]
Scorings = tuple[list[JsonObject], list[JsonObject]]  # rows of the table, a record for each example


def arguments(parser: ArgumentParser) -> None:
    what = "contrastive set: ContraPro, Bawden et al., Voita et al., or JSON lines (docs/contrast.md)"
    parser.add_argument("set", type=Path, metavar="SET", help=what)
    add_model(parser)
    parser.add_argument(
        "--documents",
        type=Path,
        metavar="FOLDER",
        help="the folder of documents that ContraPro's original JSON refers to",
    )
    parser.add_argument(
        "--by", type=names, metavar="A,B", help="count by these fields of the examples (default: pronoun,distance)"
    )
    parser.add_argument(
        "--context",
        choices=("gold", "none", "first-pass", "random"),
        default="gold",
        help="the target context; gold: the set's; none: no context; first-pass: the model translates it; random: "
        "another example's (default: gold)",
    )
    company = "sentences that stand before each example in its batch, for systems that read the batch"
    add_number(parser, "--company", 0, company, least=0)
    whose = (
        "which sentences --company takes; others: of other examples, at random (irrelevant global context, as in the "
    )
    whose += "paper); document: of the example's context"
    parser.add_argument("--company-of", choices=("others", "document"), default="others", help=whose)
    parser.add_argument(
        "--generate",
        action="store_true",
        help="translate each example, and count how often the translation has the word that only the right one has",
    )
    mode = (
        "with --generate: translate source context and sentence as `docflat translate --mode` does a document (default:"
        " only the sentence, after the context of the set)"
    )
    parser.add_argument("--mode", choices=("edit", "two-pass", "sequential", "stream", "sentence"), help=mode)
    what = "write JSON lines to FILE, with the scores of each example, or its translation with --generate"
    parser.add_argument("--scores", type=Path, metavar="FILE", help=what)
    add_force(parser, "the file of --scores if it is there")
    parser.add_argument(
        "--limit", type=whole(1), metavar="N", help="take only N examples, drawn at random (default: all)"
    )
    add_number(parser, "--seed", 1, "seed of --limit and of random contexts", least=0)
    beam = "hypotheses a sentence, where the model translates (default: 5, in mode edit 3)"
    parser.add_argument("--beam", type=whole(1), metavar="N", help=beam)
    add_json(parser)


def run(arguments: Namespace) -> None:
    from docflat.decoding.settings import DecodingSettings
    from docflat.evaluation.contrastive.examples import grouped, read_contrastive
    from docflat.evaluation.contrastive.scoring import draw, in_context, sentences_before, signature

    check_output(arguments, "scores")
    if arguments.company and arguments.generate:
        raise InputError("--company is for scoring; --generate translates every example by itself")
    if arguments.mode and not arguments.generate:
        raise InputError("--mode says how to translate; it needs --generate")
    if arguments.mode and arguments.context == "first-pass":
        raise InputError("--context first-pass is a translation of the context; with --mode all of it is translated")
    arguments.beam = arguments.beam or DecodingSettings.beam
    # ContraPro's own JSON comes without its context, which is then not missed.
    context = 0 if arguments.context == "none" else None
    examples = draw(read_contrastive(arguments.set, arguments.documents, context), arguments.limit, arguments.seed)
    try:
        grouped(examples, arguments.by, usual=())  # what is wrong with --by should not show after the work
    except InputError as error:
        raise InputError(str(error), arguments.set) from None
    translator = load_translator(arguments)
    if arguments.context != "none" and not translator.model.config.rows.context:
        warn(f"{translator.model.config.system} reads no local context: it finds the same in any")
    total = len(sentences_before(examples, translator)) if arguments.context == "first-pass" else None
    with progress("translating the context", total) if total else progress("preparing") as advance:
        examples = in_context(examples, arguments.context, translator, arguments.seed, arguments.beam, advance)
    rows, records = (_generate if arguments.generate else _score)(arguments, translator, examples)
    if arguments.scores:
        write_json_lines(arguments.scores, records)
    rule = "generated" if arguments.generate else "strictly-best-sum"
    beam = arguments.beam if arguments.generate or arguments.context == "first-pass" else None
    seed = arguments.seed if arguments.limit or arguments.context == "random" or arguments.company else None
    company = f"{arguments.company_of}-{arguments.company}" if arguments.company else None
    of_line = {"company": company, "rule": rule, "mode": arguments.mode, "beam": beam, "seed": seed}
    line = signature(examples, translator, arguments.context, **of_line)
    if arguments.json:
        print_json({"signature": line, "accuracies": rows})
        return
    print_rows(rows, title=str(arguments.set))
    say("", line)


def _score(arguments: Namespace, translator: Translator, examples: list[ContrastiveExample]) -> Scorings:
    from docflat.evaluation.contrastive.examples import accuracies, is_right
    from docflat.evaluation.contrastive.scoring import score_examples

    with progress("scoring", len(examples)) as advance:
        of_document = arguments.company_of == "document"
        scores = score_examples(translator, examples, advance, arguments.company, arguments.seed, of_document)
    records: list[JsonObject] = [
        {
            **example.fields,
            "candidates": example.candidates,
            "scores": [total for total, _ in candidates],
            "tokens": [tokens for _, tokens in candidates],
            "right": is_right([total for total, _ in candidates]),
        }
        for example, candidates in zip(examples, scores, strict=True)
    ]
    return accuracies(examples, scores, arguments.by), records


def _generate(arguments: Namespace, translator: Translator, examples: list[ContrastiveExample]) -> Scorings:
    from docflat.evaluation.contrastive.scoring import (
        judge,
        translate_as_documents,
        translate_examples,
        verdict_rows,
    )

    sentences = sum(1 + len(example.source_context) for example in examples) if arguments.mode else len(examples)
    with progress("translating", sentences) as advance:
        if arguments.mode:
            settings = {"mode": arguments.mode, "beam": arguments.beam}
            translations = translate_as_documents(translator, examples, advance, **settings)
        else:
            translations = translate_examples(translator, examples, arguments.beam, advance)
    verdicts = [judge(example, text) for example, text in zip(examples, translations, strict=True)]
    records: list[JsonObject] = [
        {**example.fields, "candidates": example.candidates, "translation": text, "verdict": verdict}
        for example, text, verdict in zip(examples, translations, verdicts, strict=True)
    ]
    return verdict_rows(examples, verdicts, arguments.by), records
