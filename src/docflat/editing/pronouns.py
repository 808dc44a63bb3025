"""Pronouns whose gender follows a noun of another sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from re import Pattern

from docflat.decoding.alignment import Links, find_words
from docflat.decoding.scoring import Scored
from docflat.editing.antecedents import GENDERS, Antecedents, Nouns
from docflat.editing.context import ContextScorer
from docflat.editing.evidence import Evidence, Weights, probability, weigh
from docflat.editing.revisions import Edit, Place, Revision, Revisions
from docflat.editing.variants import OpenForms, Variant, find_open_words, make_variants

PRONOUNS = "pronouns"
# A change must be as certain as this; more certain where fewer than one pronoun in ten seems to be wrong, as in
# translations of people and of strong systems: of the changes between both, most are wrong there (docs/editing.md).
CERTAINTY, CERTAINTY_OF_FEW = 0.65, 0.8
_FEW, _UNSEEN = 0.1, 10  # UNSEEN: right ones that are taken for granted before any is seen
_ROUNDS = 2  # a changed sentence is the context of others, which are then judged again
_BEFORE = 2  # sentences that are searched for nouns
_SHORT, _LONG = 5, 15  # words of a sentence


@dataclass(frozen=True)
class PronounTable:
    """Of a pair of languages: words whose form is open, and when they are changed."""

    forms: OpenForms
    fixed: Pattern[str]  # stretches of a draft whose words are never changed
    signs: Mapping[str, Pattern[str]]  # that a word of the source which seems open stands for no noun, by name
    kind: Callable[[Variant], str]
    nouns: Nouns
    weights: Weights


@dataclass(frozen=True)
class Candidate:
    """An edit that might be made."""

    variant: Variant
    kind: str
    evidence: Evidence
    probability: float

    @property
    def edit(self) -> Edit:
        gain = self.evidence["word_gain"] + self.evidence["rest_gain"]
        source = self.variant.changes[0].source
        why = f"for {source!r}: context raises it by {gain:.1f} nats ({self.probability:.0%} certain)"
        return Edit(PRONOUNS, self.variant.changes, why, self.evidence, self.probability)


@dataclass
class _Open:
    """A sentence with words whose form is open."""

    place: Place
    draft: str
    links: Links
    variants: Sequence[Variant]
    signs: Mapping[str, float]
    alone: list[Scored] = field(default_factory=list)  # of the draft, then of the variants


class Pronouns:
    def __init__(self, scorer: ContextScorer, table: PronounTable, certainty: float | None = None) -> None:
        """certainty: how probable it must be that a change is right; None: as the drafts are."""
        self.scorer, self.table, self.certainty = scorer, table, certainty
        self.links: dict[Place, Links] = {}

    def edit(self, revisions: list[list[Revision]]) -> None:
        """Add what is certain enough."""
        sentences = self._open_sentences(revisions)
        todo = sentences
        certainty = self.certainty
        for _ in range(_ROUNDS):
            best = [max(each, key=lambda candidate: candidate.probability) for each in self._weigh(todo, revisions)]
            if certainty is None:
                certainty = usual_certainty([candidate.probability for candidate in best])
            changed = _revise(todo, best, certainty, revisions)
            todo = [one for one in sentences if any(place in changed for place in _before(one, self.scorer.context))]

    def candidates(self, revisions: Revisions) -> dict[Place, list[Candidate]]:
        """All that might be made, with the drafts as context."""
        sentences = self._open_sentences(revisions)
        return {one.place: each for one, each in zip(sentences, self._weigh(sentences, revisions), strict=True)}

    def _open_sentences(self, revisions: Revisions) -> list[_Open]:
        table = self.table
        places = [
            (d, s)
            for d, document in enumerate(revisions)
            for s, revision in enumerate(document)
            if self._is_open(revision.source, revision.draft)
        ]
        sentences = []
        for place, links in zip(places, self._find_links(places, revisions), strict=True):
            source, draft = _pair(revisions, place)
            if links is None:
                continue
            words = find_open_words(source, draft, links, table.forms, table.fixed)
            if variants := make_variants(draft, words, table.forms):
                signs = {name: float(bool(sign.search(source))) for name, sign in table.signs.items()}
                sentences.append(_Open(place, draft, links, variants, signs))
        before = sorted({place for one in sentences for place in _before(one, _BEFORE)})
        self.links = {
            place: links or [] for place, links in zip(before, self._find_links(before, revisions), strict=True)
        }
        return sentences

    def _find_links(self, places: Sequence[Place], revisions: Revisions) -> list[Links | None]:
        return self.scorer.links([_pair(revisions, place) for place in places])

    def _is_open(self, source: str, draft: str) -> bool:
        """Whether it is worth while to align them: both have such words."""
        words = {source[slice(*place)].lower() for place in find_words(source)} & self.table.forms.keys()
        forms = {form for word in words for row in self.table.forms[word] for form in row}
        return any(draft[slice(*place)].lower() in forms for place in find_words(draft)) if words else False

    def _weigh(self, sentences: Sequence[_Open], revisions: Revisions) -> Iterator[list[Candidate]]:
        """The edits that each sentence might get."""
        alone = [one for one in sentences if not one.alone]
        for one, scored in zip(alone, self._score(alone, revisions, 0), strict=True):
            one.alone = scored
        scores = self._score(sentences, revisions, self.scorer.context)
        for one, scored in zip(sentences, scores, strict=True):
            numbers = [number for number in range(1, len(scored)) if self._is_in_case(one, number)]
            totals = {number: scored[number].total for number in numbers}
            yield [self._candidate(one, number, scored, totals, revisions) for number in numbers]

    def _score(self, sentences: Sequence[_Open], revisions: Revisions, context: int) -> list[list[Scored]]:
        texts = [[one.draft, *(variant.text for variant in one.variants)] for one in sentences]
        return self.scorer.score([one.place for one in sentences], texts, revisions, context)

    def _is_in_case(self, sentence: _Open, number: int) -> bool:
        """Of the forms of a gender in several cases, the one that reads best: the sentence alone tells its case."""
        variant, total = sentence.variants[number - 1], sentence.alone[number].total
        places = [change.place for change in variant.changes]
        return all(
            other.gender != variant.gender
            or [change.place for change in other.changes] != places
            or scored.total <= total
            for other, scored in zip(sentence.variants, sentence.alone[1:], strict=True)
        )

    def _candidate(
        self, one: _Open, number: int, scored: Sequence[Scored], totals: Mapping[int, float], revisions: Revisions
    ) -> Candidate:
        variant = one.variants[number - 1]
        rivals = [total for other, total in totals.items() if other != number]
        evidence = {
            **weigh((scored[0], one.alone[0]), (scored[number], one.alone[number]), rivals),
            **self._circumstances(one, variant, revisions),
        }
        kind = self.table.kind(variant)
        return Candidate(variant, kind, evidence, probability(evidence, kind, self.table.weights))

    def _circumstances(self, one: _Open, variant: Variant, revisions: Revisions) -> dict[str, float]:
        """What no score says."""
        texts = [(revisions[d][s].source, revisions[d][s].text) for d, s in _before(one, _BEFORE)]
        links = [self.links[place] for place in _before(one, _BEFORE)]
        pair = _pair(revisions, one.place)
        before = list(zip(texts, links, strict=True))
        antecedents = Antecedents(self.table.nouns, before, (pair, one.links), variant.changes[0].place[0])
        words = len(pair[0].split())
        return {
            "several": float(len(variant.changes) > 1),
            "starts": float(variant.changes[0].new[0].isupper()),
            "new_feminine": float(GENDERS[variant.gender] == "f"),
            "old_feminine": float(any(GENDERS[gender] == "f" for gender in variant.before)),
            "short": float(words < _SHORT),
            "long": float(words > _LONG),
            "short_before": float(not texts or len(texts[-1][0].split()) < _SHORT - 1),
            **one.signs,
            **antecedents.numbers(GENDERS[variant.gender], [GENDERS[gender] for gender in sorted(variant.before)]),
        }


def usual_certainty(probabilities: Sequence[float]) -> float:
    """Of the best change of each sentence: what is asked for where many of them seem to be wrong, or few."""
    wrong = sum(probability > CERTAINTY for probability in probabilities)
    return CERTAINTY if wrong >= _FEW * (len(probabilities) + _UNSEEN) else CERTAINTY_OF_FEW


def _revise(
    sentences: Sequence[_Open], best: Sequence[Candidate], certainty: float, revisions: list[list[Revision]]
) -> set[Place]:
    """Fill in the revisions of these sentences; which of them are others than before."""
    changed = set()
    for one, candidate in zip(sentences, best, strict=True):
        document, number = one.place
        before = revisions[document][number]
        after = before.without(PRONOUNS)
        if candidate.probability > certainty:
            after = after.with_edit(candidate.edit)
        revisions[document][number] = after
        if after.text != before.text:
            changed.add(one.place)
    return changed


def _pair(revisions: Revisions, place: Place) -> tuple[str, str]:
    revision = revisions[place[0]][place[1]]
    return revision.source, revision.draft


def _before(sentence: _Open, count: int) -> list[Place]:
    document, number = sentence.place
    return [(document, n) for n in range(max(number - count, 0), number)]
