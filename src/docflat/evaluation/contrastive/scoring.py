"""Contrastive examples with a model: scored or translated, in their own context, another one, or none."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeVar, get_args

from docflat import __version__
from docflat.data.rows import Ids
from docflat.data.subwords import SideName, Subwords
from docflat.decoding.scoring import Candidates, Scorer
from docflat.decoding.settings import DecodingSettings
from docflat.evaluation.contrastive.examples import ContrastiveExample, Scores, grouped
from docflat.support.errors import InputError
from docflat.translation.translator import Translator, one_line

ContextKind = Literal["gold", "none", "first-pass", "random"]
Verdict = Literal["right", "wrong", "neither"]
T = TypeVar("T")

_WORDS_AND_MARKS = re.compile(r"\w+(?:-\w+)*|[^\w\s]")
_OPENERS = frozenset(".?!:…\"„“”»«‚‘'()-–—")  # a sentence may begin after them


def _nothing(done: int) -> None:
    """Where nobody asks for the progress."""


def signature(
    examples: Sequence[ContrastiveExample], translator: Translator, context: ContextKind, **settings: object
) -> str:
    """What a figure depends on, as sacreBLEU says it. Sets are named by what is in them, whatever their format."""
    contexts = list(map(_both_contexts, examples))
    facts = {
        "set": _hash((example.source, example.candidates) for example in examples),
        "examples": len(examples),
        "context": context,
        "contexts": _hash(contexts) if any(source for source, _ in contexts) else None,
        **settings,
    }
    return _signature(facts, translator)


def signature_of_text(sources: Sequence[str], references: Sequence[str], translator: Translator) -> str:
    text = _hash(zip(sources, references, strict=True))
    return _signature({"text": text, "sentences": len(references), "context": "gold"}, translator)


def _signature(settings: Mapping[str, object], translator: Translator) -> str:
    engine = translator.model.engine
    parts = {**settings, "precision": engine.precision, "engine": engine.name, "version": f"docflat-{__version__}"}
    return "|".join(f"{name}:{value}" for name, value in parts.items() if value is not None)


def _hash(items: Iterable[object]) -> str:
    digest = hashlib.sha256()
    for item in items:
        digest.update(f"{json.dumps(item)}\n".encode())
    return digest.hexdigest()[:8]


def draw(items: Sequence[T], limit: int | None, seed: int) -> list[T]:
    """So many of them, drawn at random, in their order: sets are often sorted."""
    if limit is None or limit >= len(items):
        return list(items)
    return [items[n] for n in sorted(random.Random(seed).sample(range(len(items)), limit))]


def in_context(
    examples: Sequence[ContrastiveExample],
    kind: ContextKind,
    translator: Translator,
    seed: int = 1,
    beam: int = 5,
    done: Callable[[int], None] = _nothing,
) -> list[ContrastiveExample]:
    """The examples in another context.

    gold: their own. none: alone. first-pass: the target side is the model's translation of the source side, sentence
    by sentence. random: that of another example.
    """
    if kind == "gold":
        return list(examples)
    if kind == "none":
        return [replace(example, source_context=(), target_context=()) for example in examples]
    if kind == "random":
        return _in_random_context(examples, seed)
    if kind == "first-pass":
        return _in_first_pass(examples, translator, beam, done)
    raise InputError(f"context {kind!r}: there are {', '.join(get_args(ContextKind))}")


def _in_random_context(examples: Sequence[ContrastiveExample], seed: int) -> list[ContrastiveExample]:
    """Each in the context of another; one without context stays without, so that both ways compare the same."""
    givers = [example for example in examples if example.source_context]
    if len({giver.source_context for giver in givers}) < 2:
        raise InputError("a random context needs at least two examples with different contexts")
    chance = random.Random(seed)
    moved = []
    for example in examples:
        giver = example
        while example.source_context and giver.source_context == example.source_context:
            giver = chance.choice(givers)
        moved.append(replace(example, source_context=giver.source_context, target_context=giver.target_context))
    return moved


def _in_first_pass(
    examples: Sequence[ContrastiveExample], translator: Translator, beam: int, done: Callable[[int], None]
) -> list[ContrastiveExample]:
    needed = sentences_before(examples, translator)
    translations = translator.translate_documents(([text] for text in needed), done=done, mode="sentence", beam=beam)
    known = {text: translation for text, (translation,) in zip(needed, translations, strict=True)}
    return [
        replace(example, target_context=tuple(known.get(text, "") for text in example.source_context))
        for example in examples
    ]


def sentences_before(examples: Sequence[ContrastiveExample], translator: Translator) -> list[str]:
    """The source context, as far as it is read; a sentence is often context of several examples."""
    read = translator.model.config.rows.context or 0
    return list(dict.fromkeys(text for example in examples for text in nearest(example.source_context, read)))


def nearest(context: Sequence[T], number: int) -> Sequence[T]:
    """The last so many."""
    return context[max(len(context) - number, 0) :]


def score_examples(
    translator: Translator,
    examples: Sequence[ContrastiveExample],
    done: Callable[[int], None] = _nothing,
    company: int = 0,
    seed: int = 1,
    of_document: bool = False,
) -> Scores:
    """Of each candidate of each example, the reference first: sum of log-probabilities, and over how many tokens.

    company: how many other examples, drawn at random, stand before each candidate in its batch, with their references
    and contexts: the irrelevant global context of the paper. 0: an example sees its own context and nothing else.
    of_document: the company is so many sentences of the example's own context, each with what stands before it.
    """
    if company and of_document:
        return _score_in_document(translator, examples, company, done)
    candidates = encode_examples(translator, examples)
    if company:
        return _score_in_company(translator, candidates, company, random.Random(seed), done)
    # Like lengths together, as the CPU pads them; the longest first, so that memory is short at once or never.
    order = sorted(range(len(candidates)), key=lambda n: -candidates[n].tokens)
    scored = Scorer(translator.model).candidates([candidates[n] for n in order], done)
    scores: Scores = [[] for _ in examples]
    for n, sentences in zip(order, scored, strict=True):
        scores[n] = [(sentence.total, len(sentence.log_probabilities)) for sentence in sentences]
    return scores


def _score_in_company(
    translator: Translator,
    candidates: list[Candidates],
    company: int,
    chance: random.Random,
    done: Callable[[int], None],
) -> Scores:
    totals: Scores = []
    for start in range(0, len(candidates), 500):  # each stands in memory as often as its company is large
        numbers = range(start, min(start + 500, len(candidates)))
        others = [[candidates[n] for n in _others(chance, number, len(candidates), company)] for number in numbers]
        scored = Scorer(translator.model).among([candidates[n] for n in numbers], others)
        totals += [[(one.total, len(one.log_probabilities)) for one in each] for each in scored]
        done(len(numbers))
    return totals


def _score_in_document(
    translator: Translator, examples: Sequence[ContrastiveExample], company: int, done: Callable[[int], None]
) -> Scores:
    totals: Scores = []
    for example in examples:
        before = range(max(0, len(example.source_context) - company), len(example.source_context))
        rows = [
            ContrastiveExample(
                example.source_context[n],
                example.target_context[n],
                (),
                example.source_context[:n],
                example.target_context[:n],
            )
            for n in before
        ]
        *others, candidates = encode_examples(translator, [*rows, example])
        (scored,) = Scorer(translator.model).among([candidates], [others])
        totals.append([(one.total, len(one.log_probabilities)) for one in scored])
        done(1)
    return totals


def _others(chance: random.Random, number: int, total: int, company: int) -> list[int]:
    """So many numbers below total, without this one; all there are, if there are fewer."""
    drawn = chance.sample(range(total), min(company + 1, total))
    return [other for other in drawn if other != number][:company]


def encode_examples(translator: Translator, examples: Sequence[ContrastiveExample]) -> list[Candidates]:
    read = translator.model.config.rows.context or 0
    sources = _encode(translator.model.subwords, "source", [(example.source,) for example in examples])
    targets = _encode(translator.model.subwords, "target", [example.candidates for example in examples])
    contexts = _encode_contexts(translator.model.subwords, examples, read)
    return [
        Candidates(source, translations, *context)
        for (source,), translations, context in zip(sources, targets, contexts, strict=True)
    ]


def _encode_contexts(
    subwords: Subwords, examples: Sequence[ContrastiveExample], read: int
) -> list[tuple[list[Ids], list[Ids]]]:
    """Older sentences than are read stay empty: they only count."""
    sides: list[list[list[Ids]]] = []
    for side, contexts in zip(get_args(SideName), zip(*map(_both_contexts, examples), strict=True), strict=True):
        encoded = _encode(subwords, side, [nearest(context, read) for context in contexts])
        sides.append([[[]] * (len(context) - read) + ids for context, ids in zip(contexts, encoded, strict=True)])
    return list(zip(*sides, strict=True))


def _both_contexts(example: ContrastiveExample) -> tuple[Sequence[str], Sequence[str]]:
    return example.source_context, example.target_context


def _encode(subwords: Subwords, side: SideName, groups: Sequence[Sequence[str]]) -> list[list[Ids]]:
    """All at once, on all cores."""
    ids = iter(subwords.encode_batch([text for texts in groups for text in texts], side))
    return [[next(ids) for _ in texts] for texts in groups]


def translate_examples(
    translator: Translator,
    examples: Sequence[ContrastiveExample],
    beam: int = 5,
    done: Callable[[int], None] = _nothing,
) -> list[str]:
    """The source sentences, each after its context on both sides."""
    contexts = _encode_contexts(translator.model.subwords, examples, translator.model.config.rows.context or 0)
    sources = _encode(translator.model.subwords, "source", [(example.source,) for example in examples])
    documents = [[*before, source] for (before, _), (source,) in zip(contexts, sources, strict=True)]
    targets = [[*before, []] for _, before in contexts]
    passes = translator.decoder.passes(DecodingSettings(beam=beam))
    return [one_line(translator.model.subwords.decode(ids)) for ids in passes.last_sentences(documents, targets, done)]


def translate_as_documents(
    translator: Translator,
    examples: Sequence[ContrastiveExample],
    done: Callable[[int], None] = _nothing,
    **settings: Any,
) -> list[str]:
    """The source sentences as a user gets them: each is the last of a document whose other sentences, the source
    context, are translated as well. settings: of `DecodingSettings`, such as the mode.
    """
    documents = [[*example.source_context, example.source] for example in examples]
    return [document[-1] for document in translator.translate_documents(documents, done=done, **settings)]


def judge(example: ContrastiveExample, translation: str) -> Verdict:
    """Whether a translation has the word that tells the reference from the contrastives, and none of theirs.

    A word that all candidates have counts only where there is one more of it: "er sah sie" has one sie in any case.
    """
    reference, *others = (Counter(_words(text)) for text in example.candidates)
    common = reference
    for other in others:
        common = common & other
    telling = (reference - common).keys()
    misleading = {word for other in others for word in other - common} - telling
    more = (Counter(_words(translation)) - common).keys()
    if more & misleading:
        return "wrong"
    return "right" if more & telling else "neither"


def _words(text: str) -> list[str]:
    """Words as they are within a sentence: a capital there is no accident, German Sie is not sie."""
    words = []
    starts = True
    for word in _WORDS_AND_MARKS.findall(text):
        if word[0].isalnum():
            words.append(word.lower() if starts else word)
        starts = word in _OPENERS
    return words


def verdict_rows(
    examples: Sequence[ContrastiveExample], verdicts: Sequence[Verdict], by: Sequence[str] | None = None
) -> list[dict[str, object]]:
    """Rows of a table: over all examples, then for each value of each field of `by`, by default the pronoun."""
    return [
        {
            "by": name,
            "value": value,
            "examples": len(numbers),
            "accuracy": sum(verdicts[n] == "right" for n in numbers) / len(numbers),
            **{verdict: sum(verdicts[n] == verdict for n in numbers) for verdict in get_args(Verdict)},
        }
        for name, value, numbers in grouped(examples, by, usual=("pronoun",))
    ]
