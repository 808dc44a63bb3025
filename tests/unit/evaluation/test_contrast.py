"""Contrastive accuracy is that of a loop over log P, example by example, and of ContraPro's published rule."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from conftest import VARIANTS, Document, Ids, batch_of, build_variant, random_documents, rows_for
from docflat.decoding.scoring import Candidates, Scorer
from docflat.engines.torch.engine import TorchEngine
from docflat.evaluation.contrastive.examples import ContrastiveExample, accuracies
from docflat.evaluation.contrastive.scoring import (
    Verdict,
    draw,
    in_context,
    judge,
    score_examples,
    signature,
    translate_examples,
    verdict_rows,
)
from docflat.evaluation.p_cxmi import cxmi, group_words
from docflat.support.errors import InputError
from docflat.systems import SYSTEMS
from docflat.translation.translator import Translator

SYSTEMS_HERE = [
    "sent2sent",
    "doc2doc",
    "docflat-c",
    "docflat-c, all",
    "gtrans",
    "mbe",
    "han",
    "hybrid",
    "doctransformer",
]
CONTEXT = 2


class NumberWords:
    """Subwords of the tiny models: a word is a number, and its id."""

    size = text_size = 24

    def encode_batch(self, texts: list[str], side: str = "source") -> list[Ids]:
        return [self.encode(text) for text in texts]

    def encode(self, text: str) -> Ids:
        return [int(word) for word in text.split()]

    def decode(self, ids: Ids) -> str:
        return " ".join(map(str, ids))

    def pieces(self, ids: Ids) -> list[str]:
        return [f" {token}" for token in ids]


def translator_for(variant: str) -> Translator:
    name, _ = VARIANTS[variant]
    config = SimpleNamespace(rows=rows_for(name, CONTEXT), system=name)
    engine = TorchEngine(build_variant(variant))
    layout = SYSTEMS[name].layout(config.rows, engine.vocabulary)
    model: Any = SimpleNamespace(
        engine=engine, layout=layout, config=config, system=SYSTEMS[name], subwords=NumberWords()
    )
    return Translator(model)


def text(ids: Ids) -> str:
    return " ".join(map(str, ids))


def made_up_examples(number: int, seed: int = 0) -> list[ContrastiveExample]:
    """Contrastives that differ from the reference in one word, anywhere; contexts of 0 to 3 sentences."""
    rng = np.random.default_rng(seed)
    examples = []
    for n in range(number):
        (document,) = random_documents(rng, [int(rng.integers(1, 5))])
        x, y = document[-1]
        place = int(rng.integers(len(y)))
        others = [[*y[:place], (y[place] - 4 + shift) % 20 + 4, *y[place + 1 :]] for shift in (1, 2, 3)]
        examples.append(
            ContrastiveExample(
                text(x),
                text(y),
                tuple(map(text, others[: 1 + n % 3])),
                tuple(text(source) for source, _ in document[:-1]),
                tuple(text(target) for _, target in document[:-1]),
                {"pronoun": ("er", "sie")[n % 2]},
            )
        )
    return examples


def document_of(example: ContrastiveExample, candidate: str) -> Document:
    sources = (*example.source_context, example.source)
    targets = (*example.target_context, candidate)
    return [([int(w) for w in s.split()], [int(w) for w in t.split()]) for s, t in zip(sources, targets, strict=True)]


def log_p(model: Any, variant: str, document: Document) -> float:
    """Of the last target sentence: a softmax a token, of a batch that has nothing else in it."""
    batch, rows = batch_of([document], VARIANTS[variant][0], CONTEXT, window=1)
    with torch.no_grad():
        logits = model.logits(batch)
    labels = rows[-1].labels
    total = 0.0
    for logit, label in zip(logits[-len(labels) :].tolist(), labels, strict=True):
        total += logit[label] - math.log(sum(math.exp(value) for value in logit))
    return total


@pytest.mark.parametrize("variant", SYSTEMS_HERE)
def test_accuracy_is_that_of_a_loop_over_log_p(variant: str):
    translator = translator_for(variant)
    examples = made_up_examples(40)
    right = []
    expected = []
    for example in examples:
        scores = [
            log_p(translator.model.engine.model, variant, document_of(example, text)) for text in example.candidates
        ]
        expected += scores
        # ContraPro's evaluate.py: correct unless some contrastive has a score at least as good.
        right.append(not any(score >= scores[0] for score in scores[1:]))
    found = score_examples(translator, examples)
    assert [total for candidates in found for total, _ in candidates] == pytest.approx(expected, rel=1e-9)
    tokens = [len(candidate.split()) + 1 for example in examples for candidate in example.candidates]
    assert [count for candidates in found for _, count in candidates] == tokens
    assert 0 < sum(right) < len(right)
    rows = accuracies(examples, found)
    assert [(row["by"], row["value"], row["examples"], row["accuracy"]) for row in rows] == [
        ("all", None, 40, sum(right) / 40),
        ("pronoun", "er", 20, sum(right[::2]) / 20),
        ("pronoun", "sie", 20, sum(right[1::2]) / 20),
    ]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("variant", ["sent2sent", "docflat-c", "gtrans", "mbe", "abd, both sides"])
def test_a_contrastive_like_the_reference_ties_exactly_and_is_wrong(variant: str, dtype: torch.dtype):
    translator = translator_for(variant)
    translator.model.engine.model.to(dtype)
    examples = made_up_examples(12)
    twins = [
        ContrastiveExample(one.source, one.reference, (one.reference,), one.source_context, one.target_context)
        for one in examples
    ]
    scores = score_examples(translator, twins)
    assert all(first == second for first, second in scores)
    assert accuracies(twins, scores)[0]["accuracy"] == 0


@pytest.mark.parametrize("variant", SYSTEMS_HERE)
def test_what_candidates_share_changes_nothing(variant: str):
    """Candidates that begin with each other, differ at once, or are the same; each as if it were the only one."""
    folder = translator_for(variant).model
    context = [[5, 6], [7]]
    candidates = [[8, 9, 10], [8, 9], [8, 9, 10, 11], [12], [8, 13, 10], [8, 9, 10]]
    together = Candidates([4, 5, 6], candidates, context, context)
    filler = Candidates([9], [[10], [10, 11]])
    _, found, _ = Scorer(folder).candidates([filler, together, filler])
    for candidate, scored in zip(candidates, found, strict=True):
        ((alone,),) = Scorer(folder).candidates([Candidates([4, 5, 6], [candidate], context, context)])
        assert scored.tokens == candidate
        assert scored.log_probabilities == pytest.approx(alone.log_probabilities, rel=1e-9)


def test_contexts():
    translator = translator_for("doc2doc")
    examples = made_up_examples(30)
    assert in_context(examples, "gold", translator) == examples
    assert all(one.source_context == one.target_context == () for one in in_context(examples, "none", translator))
    others = in_context(examples, "random", translator, seed=3)
    assert others == in_context(examples, "random", translator, seed=3)
    assert others != in_context(examples, "random", translator, seed=4)
    pairs = {(one.source_context, one.target_context) for one in examples}
    for example, other in zip(examples, others, strict=True):
        assert (other.source, other.candidates, other.fields) == (example.source, example.candidates, example.fields)
        assert (other.source_context, other.target_context) in pairs
        assert (other.source_context == example.source_context) == (not example.source_context)
    with pytest.raises(InputError, match="at least two examples"):
        in_context(examples[:1], "random", translator)


def test_the_context_of_the_first_pass_is_the_model_s_own_translation():
    translator = translator_for("doc2doc")
    examples = made_up_examples(8)
    found = in_context(examples, "first-pass", translator, beam=2)
    for before, after in zip(examples, found, strict=True):
        assert after.source_context == before.source_context
        assert len(after.target_context) == len(before.target_context)
        for source, target in list(zip(after.source_context, after.target_context, strict=True))[-CONTEXT:]:
            assert translator.translate([source], mode="sentence", beam=2) == [target]


def test_a_context_too_far_away_to_be_read_still_counts():
    """The index tokens tell where in its document a sentence stands."""
    translator = translator_for("doc2doc")
    (near,) = made_up_examples(1)
    contexts = tuple(map(str, range(4, 9)))
    scores = []
    for context in (contexts, ("9", "9", "9", *contexts[-2:]), contexts[-2:]):
        example = ContrastiveExample(near.source, near.reference, near.contrastives, context, context)
        scores.append(score_examples(translator, [example]))
    assert scores[0] == scores[1] != scores[2]


@pytest.mark.parametrize("variant", ["sent2sent", "doc2doc", "docflat-c", "gtrans"])
def test_translations_in_context_are_greedy_choices_of_log_p(variant: str):
    """With a beam of 1: at each step the likeliest next token, by the logits of the whole row."""
    translator = translator_for(variant)
    examples = made_up_examples(6, seed=1)
    found = translate_examples(translator, examples, beam=1)
    for example, translation in zip(examples, found, strict=True):
        words: Ids = []
        while True:
            batch, rows = batch_of([document_of(example, text([*words, 4]))], VARIANTS[variant][0], CONTEXT, window=1)
            with torch.no_grad():
                logits = translator.model.engine.model.logits(batch)[-len(rows[-1].labels) :][len(words)]
            logits[[0, 1, 3]] = -math.inf
            if not words:
                logits[2] = -math.inf
            best = int(logits.argmax())
            if best == 2 or len(words) >= translator.model.engine.model.longest(len(example.source.split())):
                break
            words.append(best)
        assert translation == text(words)


def example_of(reference: str, *contrastives: str) -> ContrastiveExample:
    return ContrastiveExample("It.", reference, contrastives, fields={"pronoun": "es"})


@pytest.mark.parametrize(
    ("translation", "expected"),
    [
        ("Es war alt.", "right"),
        ("Alt war es!", "right"),
        ("Ja. Es ist alt.", "right"),
        ("Er war alt.", "wrong"),
        ("Das Schiff war alt.", "neither"),
        ("Es war alt, und sie auch.", "wrong"),
        ("Haben Sie es gesehen?", "right"),  # Sie is you
        ("Das wissen Sie.", "neither"),
        ("- Sie war alt.", "wrong"),
        ("", "neither"),
        ("Esel waren da.", "neither"),
    ],
)
def test_what_a_translation_is_judged_by(translation: str, expected: Verdict):
    assert judge(example_of("Es war alt.", "Er war alt.", "Sie war alt."), translation) == expected


def test_words_of_all_candidates_do_not_count():
    example = example_of(
        "Er warb um sie, ich weiß es.", "Er warb um sie, ich weiß sie.", "Er warb um sie, ich weiß er."
    )
    assert judge(example, "Er warb um sie. Ich weiß es.") == "right"
    assert judge(example, "Er warb um sie. Ich weiß sie.") == "wrong"
    assert judge(example, "Er warb um sie.") == "neither"


def test_verdicts_by_pronoun():
    examples = [ContrastiveExample("", "", (), fields={"pronoun": name}) for name in ("es", "er", "es")]
    rows = verdict_rows(examples, ["right", "wrong", "neither"])
    assert [tuple(row.values()) for row in rows] == [
        ("all", None, 3, 1 / 3, 1, 1, 1),
        ("pronoun", "er", 1, 0.0, 0, 1, 0),
        ("pronoun", "es", 2, 0.5, 1, 0, 1),
    ]


def test_a_draw_keeps_the_order():
    assert draw(range(10), None, 1) == draw(range(10), 10, 1) == list(range(10))
    drawn = draw(range(100), 10, 1)
    assert drawn == sorted(set(drawn)) != list(range(10))
    assert drawn == draw(range(100), 10, 1) != draw(range(100), 10, 2)


def test_a_signature_changes_with_what_it_stands_for():
    translator = translator_for("sent2sent")
    examples = made_up_examples(5)
    gold = signature(examples, translator, context="gold", seed=None)
    assert gold.startswith("set:")
    assert "|examples:5|context:gold|contexts:" in gold
    assert "seed" not in gold
    other = signature(made_up_examples(5, seed=1), translator, context="gold", seed=None)
    assert gold.split("|")[0] != other.split("|")[0]
    none = signature(in_context(examples, "none", translator), translator, context="none", seed=None)
    assert none.split("|")[0] == gold.split("|")[0]
    assert "contexts:" not in none


@pytest.mark.parametrize("variant", ["sent2sent", "doc2doc", "docflat-c", "mbe"])
def test_p_cxmi_is_a_difference_of_log_p(variant: str):
    translator = translator_for(variant)
    (document,) = random_documents(np.random.default_rng(3), [4])
    sources, targets = ([text(pair[side]) for pair in document] for side in (0, 1))
    (found,) = cxmi(translator, [sources], [targets])
    model, name = translator.model.engine.model, VARIANTS[variant][0]
    batch, rows = batch_of([document], name, CONTEXT)
    alone, _ = batch_of([document], name, 0, window=1)
    with torch.no_grad():
        given, lone = (model.logits(one).log_softmax(-1) for one in (batch, alone))
    labels = [label for row in rows for label in row.labels]
    expected = [float(given[n, label] - lone[n, label]) for n, label in enumerate(labels)]
    assert [value for one in found for value in one.values] == pytest.approx(expected, abs=1e-9)
    assert (max(map(abs, expected)) == 0) == (variant == "sent2sent")
    for one, target in zip(found, targets, strict=True):
        words = one.words()
        assert [word for word, _ in words] == target.split()
        assert sum(value for _, value in words) + one.values[-1] == pytest.approx(sum(one.values))


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([" Das", " Schi", "ff", "."], [[0], [1, 2], [3]]),
        ([" es", ",", " er"], [[0], [1], [2]]),
        ([" ", "", "ü", "ber", "", "", "…"], [[0, 1, 2, 3], [4, 5, 6]]),
        ([" 1", "000", " Mark"], [[0, 1], [2]]),
        ([" „", "Ja", "“"], [[0], [1], [2]]),
        ([" a", ""], [[0, 1]]),
        ([""], [[0]]),
        ([], []),
    ],
)
def test_words_of_pieces(pieces: list[str], expected: list[list[int]]):
    assert group_words(pieces) == expected
