"""Names that a document's draft spells two ways: Peskow and Peskov become one.

Alike is what a name and its form in the draft are: Moscow and Moskau are, a title and its translation are not. Which
form stays is what most sentences have; if none has more, the model says.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from docflat.editing.context import ContextScorer
from docflat.editing.revisions import Edit, Place, Revision, Revisions
from docflat.editing.variants import Change, apply_changes
from docflat.support.text_ranges import Range

NAMES = "names"
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_SHORTEST = 4  # letters: shorter ones are alike by chance
_ALIKE, _ALIKE_FORMS = 0.7, 0.75  # a form and the name, two forms: shares of letters in common
_SAME_END = 2  # letters: where forms differ in the end, one is inflected, or made of the other
_INFLECTED = frozenset("emnrs")
_SOUNDS = [("ß", "ss"), ("ä", "ae"), ("ö", "oe"), ("ü", "ue"), ("w", "v"), ("j", "y"), ("k", "c")]
# How much less likely the form of most sentences may make one, in nats.
_PATIENCE = 4.0


@dataclass(frozen=True)
class _Spelling:
    """A name in a sentence of the draft."""

    place: Place
    range: Range  # in the draft, without the ending
    form: str


@dataclass(frozen=True)
class _Respelling:
    """A name in a sentence that might be spelled as in others."""

    place: Place
    change: Change
    count: int  # sentences with the new form
    total: int

    def text(self, draft: str) -> str:
        return apply_changes(draft, [self.change])

    @property
    def becomes(self) -> tuple[int, str, str]:
        """Document, name and form."""
        return self.place[0], self.change.source, self.change.new

    @property
    def was(self) -> tuple[int, str, str]:
        return self.place[0], self.change.source, self.change.old

    def edit(self, gain: float) -> Edit:
        how_many = f"{self.count} of {self.total} sentences of this document have {self.change.new}"
        evidence = {"count": self.count, "total": self.total, "gain": gain}
        return Edit(NAMES, (self.change,), f"for {self.change.source!r}: {how_many}", evidence)


class Names:
    def __init__(self, scorer: ContextScorer, genitive: str) -> None:
        """genitive: what the language puts behind a name."""
        self.scorer, self.genitive = scorer, genitive

    def edit(self, revisions: list[list[Revision]]) -> None:
        edits = [each for document in range(len(revisions)) for each in self._possible(document, revisions)]
        places = [each.place for each in edits]
        texts = [
            [revisions[d][s].draft, each.text(revisions[d][s].draft)]
            for (d, s), each in zip(places, edits, strict=True)
        ]
        scores = self.scorer.score(places, texts, revisions, self.scorer.context)
        gains = [new.total - old.total for old, new in scores]
        totals: dict[tuple[int, str, str], float] = defaultdict(float)
        for each, gain in zip(edits, gains, strict=True):
            totals[each.becomes] += gain
        for (d, s), each, gain in zip(places, edits, gains, strict=True):
            # Of two forms that are as frequent, one gives way in all sentences: that whose changes gain more.
            is_even = each.was in totals
            if totals[each.becomes] > max(0.0, totals[each.was]) if is_even else gain > -_PATIENCE:
                revisions[d][s] = revisions[d][s].with_edit(each.edit(gain))

    def _possible(self, document: int, revisions: Revisions) -> Iterator[_Respelling]:
        """Of a document; in both directions, where two forms are as frequent."""
        sources = [revision.source for revision in revisions[document]]
        for name, numbers in _names(sources).items():
            spellings = [
                spelling
                for number in numbers
                if (spelling := self._spelling(name, (document, number), revisions[document][number]))
            ]
            counts = Counter(each.form for each in spellings)
            if len(counts) == 2 and _is_one_name(*counts):
                (usual, most), (other, fewer) = counts.most_common()
                for each in spellings:
                    if each.form == other or most == fewer:
                        change = Change(each.range, each.form, usual if each.form == other else other, name)
                        yield _Respelling(each.place, change, most, most + fewer)

    def _spelling(self, name: str, place: Place, revision: Revision) -> _Spelling | None:
        """The word of the draft that is most like the name."""
        source_words = {word.group().lower() for word in _WORD.finditer(revision.source)} - {name.lower()}
        best: tuple[float, _Spelling] | None = None
        for word in _WORD.finditer(revision.draft):
            form = word.group()
            if form not in (name, name + self.genitive) and (not form[0].isupper() or form.lower() in source_words):
                continue
            if form.endswith(self.genitive) and not name.endswith(self.genitive):
                form = form.removesuffix(self.genitive)
            alike = _alike(form, name)
            if alike >= _ALIKE and (best is None or alike > best[0]):
                best = alike, _Spelling(place, (word.start(), word.start() + len(form)), form)
        return best[1] if best else None


def _names(sources: Sequence[str]) -> Mapping[str, list[int]]:
    """Words that have a capital within sentences and never a small letter, and the sentences of those with several."""
    is_name: dict[str, bool] = {}
    numbers: dict[str, list[int]] = defaultdict(list)
    small = set()
    for number, source in enumerate(sources):
        for word in _WORD.finditer(source):
            name = re.sub("['’]s$", "", word.group())
            if name[0].islower():
                small.add(name)
            elif len(name) >= _SHORTEST and not name.isupper():
                numbers[name] += [number] if numbers[name][-1:] != [number] else []
                is_within = source[: word.start()].rstrip()[-1:].isalnum()
                is_name[name] = is_name.get(name, False) or is_within
    return {name: of for name, of in numbers.items() if len(of) > 1 and is_name[name] and name.lower() not in small}


def _alike(form: str, name: str) -> float:
    a, b = form.lower(), name.lower()
    return SequenceMatcher(None, a, b).ratio() if a[0] == b[0] else 0.0


def _is_one_name(a: str, b: str) -> bool:
    """Whether two forms are spellings: Peskow and Peskov, not Russland and Russen, Göttingen and Göttinger."""
    a, b = _plain(a), _plain(b)
    start = _alike_from_start(a, b)
    end = _alike_from_start(a[::-1], b[::-1])
    differ_last = len(a) == len(b) == start + 1 and not {a[-1], b[-1]} <= _INFLECTED
    is_alike = SequenceMatcher(None, a, b).ratio() >= _ALIKE_FORMS
    return a == b or (is_alike and (end >= _SAME_END or differ_last) and "-" not in a + b)


def _alike_from_start(a: str, b: str) -> int:
    """Letters."""
    return next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _plain(form: str) -> str:
    """As if all wrote foreign sounds alike."""
    for letters, other in _SOUNDS:
        form = form.lower().replace(letters, other)
    return form
