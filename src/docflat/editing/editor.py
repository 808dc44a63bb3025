"""Drafts in their context, word by word: which words have another form there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field

from docflat.data.subwords import Subwords
from docflat.decoding.alignment import Weights, find_links, find_words
from docflat.decoding.scoring import Candidates, Scored, Scorer
from docflat.editing.evidence import Evidence, probability, weigh
from docflat.editing.languages import Language
from docflat.editing.variants import Variant, find_open_words, make_variants

SentenceAndDraft = tuple[str, str]  # a sentence and its draft
CERTAINTY = 0.5  # how probable it must be that a change is right
ROUNDS = 2  # a changed sentence is the context of others, which are then judged again
Align = Callable[[Sequence[SentenceAndDraft]], Sequence[Weights | None]]


@dataclass(frozen=True)
class Edit:
    """A change of a draft, and why it was made."""

    variant: Variant
    probability: float  # that the new words are right and the old ones are not, by all evidence
    evidence: Evidence


@dataclass(frozen=True)
class Revision:
    """A draft and what became of it."""

    source: str
    draft: str
    edit: Edit | None = None

    @property
    def text(self) -> str:
        return self.draft if self.edit is None else self.edit.variant.text

    @property
    def reason(self) -> str:
        """Why it was changed, in a line."""
        if self.edit is None:
            return ""
        evidence = self.edit.evidence
        words = ", ".join(f"{change.old} -> {change.new}" for change in self.edit.variant.changes)
        source = self.edit.variant.changes[0].source
        gain = evidence.word_gain + evidence.rest_gain
        return f"{words} for {source!r}: context raises it by {gain:.1f} nats ({self.edit.probability:.0%} certain)"

    def report(self) -> dict[str, object]:
        """The same as a record."""
        if self.edit is None:
            return {}
        return {
            "source": self.source,
            "draft": self.draft,
            "text": self.text,
            "changes": [asdict(change) for change in self.edit.variant.changes],
            "probability": self.edit.probability,
            "evidence": asdict(self.edit.evidence),
        }


@dataclass
class _Open:
    """A sentence with words whose form is open."""

    document: int
    number: int  # in its document
    draft: str
    variants: Sequence[Variant]
    is_doubtful: bool
    alone: list[Scored] = field(default_factory=list)  # of the draft, then of the variants


class Editor:
    """Edits drafts with a model that was trained with context and without."""

    def __init__(
        self, scorer: Scorer, subwords: Subwords, align: Align, language: Language, certainty: float = CERTAINTY
    ) -> None:
        self.scorer, self.subwords, self.align = scorer, subwords, align
        self.language, self.certainty = language, certainty
        self.context = scorer.rows.context or 0

    def edit(
        self, documents: Sequence[Sequence[SentenceAndDraft]], done: Callable[[int], None] = lambda sentences: None
    ) -> list[list[Revision]]:
        """Documents of sentences with their drafts; a draft's context is what became of those before it."""
        revisions = [[Revision(*pair) for pair in document] for document in documents]
        sentences = self._open_sentences(documents)
        done(sum(map(len, documents)) - len(sentences))
        todo = sentences
        for _ in range(ROUNDS):
            changed = self._revise(todo, revisions)
            todo = [
                one
                for one in sentences
                if any((one.document, number) in changed for number in range(one.number - self.context, one.number))
            ]
        done(len(sentences))
        return revisions

    def possible_edits(self, documents: Sequence[Sequence[SentenceAndDraft]]) -> list[list[list[Edit]]]:
        """All that each sentence might get, with the drafts as context."""
        edits_of: list[list[list[Edit]]] = [[[] for _ in document] for document in documents]
        sentences = self._open_sentences(documents)
        revisions = [[Revision(*pair) for pair in document] for document in documents]
        for one, edits in zip(sentences, self._weigh(sentences, revisions), strict=True):
            edits_of[one.document][one.number] = edits
        return edits_of

    def _open_sentences(self, documents: Sequence[Sequence[SentenceAndDraft]]) -> list[_Open]:
        forms = self.language.forms
        places = [
            (d, s, pair)
            for d, document in enumerate(documents)
            for s, pair in enumerate(document)
            if self._is_open(*pair)
        ]
        sentences = []
        alignments = self.align([pair for _, _, pair in places]) if places else []
        for (d, s, (source, draft)), weights in zip(places, alignments, strict=True):
            if weights is None:  # too long for the model, or nobody knows what translates what
                continue
            words = find_open_words(source, draft, find_links(source, draft, weights), forms, self.language.fixed)
            if variants := make_variants(draft, words, forms):
                sentences.append(_Open(d, s, draft, variants, bool(self.language.doubts.search(source))))
        return sentences

    def _is_open(self, source: str, draft: str) -> bool:
        """Whether it is worth while to align them: both have such words."""
        words = {source[slice(*place)].lower() for place in find_words(source)} & self.language.forms.keys()
        forms = {form for word in words for row in self.language.forms[word] for form in row}
        return any(draft[slice(*place)].lower() in forms for place in find_words(draft)) if words else False

    def _revise(self, sentences: Sequence[_Open], revisions: list[list[Revision]]) -> set[tuple[int, int]]:
        """Fill in the revisions of these sentences; which of them are others than before."""
        changed = set()
        for one, edit in zip(sentences, self._judge(sentences, revisions), strict=True):
            before = revisions[one.document][one.number]
            after = Revision(before.source, before.draft, edit)
            revisions[one.document][one.number] = after
            if after.text != before.text:
                changed.add((one.document, one.number))
        return changed

    def _judge(self, sentences: Sequence[_Open], revisions: Sequence[Sequence[Revision]]) -> Iterator[Edit | None]:
        for weighed in self._weigh(sentences, revisions):
            best = max(weighed, key=lambda edit: edit.probability)
            yield best if best.probability > self.certainty else None

    def _weigh(self, sentences: Sequence[_Open], revisions: Sequence[Sequence[Revision]]) -> Iterator[list[Edit]]:
        """The edits that each sentence might get."""
        alone = [one for one in sentences if not one.alone]
        for one, scored in zip(alone, self._score(alone, revisions, 0), strict=True):
            one.alone = scored
        for one, scored in zip(sentences, self._score(sentences, revisions, self.context), strict=True):
            yield [
                self._edit(variant, (scored[0], one.alone[0]), (scored[number], one.alone[number]), one.is_doubtful)
                for number, variant in enumerate(one.variants, 1)
                if self._is_in_case(one, number)
            ]

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

    def _edit(self, variant: Variant, draft: tuple[Scored, Scored], scored: tuple[Scored, Scored], doubt: bool) -> Edit:
        evidence = weigh(draft, scored, len(variant.changes) > 1, doubt)
        chance = probability(evidence, self.language.kind(variant), self.language.weights)
        return Edit(variant, chance, evidence)

    def _score(
        self, sentences: Sequence[_Open], revisions: Sequence[Sequence[Revision]], context: int
    ) -> list[list[Scored]]:
        """The draft of each sentence and its variants, after so many sentences of context."""
        candidates = []
        for one in sentences:
            before = revisions[one.document][max(one.number - context, 0) : one.number]
            texts = [one.draft, *(variant.text for variant in one.variants)]
            candidates.append(
                Candidates(
                    self.subwords.encode(revisions[one.document][one.number].source),
                    [self.subwords.encode(text, "target") for text in texts],
                    [self.subwords.encode(each.source) for each in before],
                    [self.subwords.encode(each.text, "target") for each in before],
                )
            )
        order = sorted(range(len(candidates)), key=lambda number: -candidates[number].tokens)  # like lengths together
        scored: list[list[Scored]] = [[] for _ in candidates]
        for number, one_scored in zip(order, self.scorer.candidates([candidates[n] for n in order]), strict=True):
            scored[number] = one_scored
        return scored
