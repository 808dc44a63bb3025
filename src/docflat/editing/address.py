"""How a document says you: one way throughout, that of most of its sentences or that which the user asks for."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from docflat.decoding.alignment import Links
from docflat.editing.context import ContextScorer
from docflat.editing.revisions import Edit, Place, Revision, Revisions
from docflat.editing.variants import Change, apply_changes

ADDRESS = "address"
MAJORITY, FORMAL, INFORMAL = FORMALITIES = ("majority", "formal", "informal")
_SHARE = 0.75  # of the sentences of a document that say you: with fewer there is no majority
_FEWEST = 3  # sentences of a majority
# How much less likely a sentence may become by the other way, in nats for each change: what no German says costs more.
_PATIENCE, _PATIENCE_IF_ASKED = 1.0, 4.0


@dataclass(frozen=True)
class AddressTable:
    """Of a pair of languages."""

    formalities: dict[str, str]  # formal and informal: the word of the language for it
    is_open: Callable[[str, str], bool]  # whether it is worth while to align a sentence and its draft
    address_of: Callable[[str, str, Links], str]  # the way that a draft has; empty: none, or both
    readdress: Callable[[str, str, Links, str], list[tuple[Change, ...]]]  # candidates of the other way


class Address:
    def __init__(self, scorer: ContextScorer, table: AddressTable, formality: str = MAJORITY) -> None:
        """formality: one of the table's, or that of most sentences of each document."""
        self.scorer, self.table = scorer, table
        self.wanted = table.formalities.get(formality, "")
        self.patience = _PATIENCE_IF_ASKED if self.wanted else _PATIENCE

    def edit(self, revisions: list[list[Revision]]) -> None:
        ways = self.ways(revisions)
        counts: dict[int, Counter[str]] = defaultdict(Counter)
        for (document, _), (way, _) in ways.items():
            counts[document][way] += 1
        candidates = self._candidates(revisions, ways, counts)
        places = list(candidates)
        texts = [
            [revisions[d][s].draft, *(apply_changes(revisions[d][s].draft, each) for each in candidates[d, s])]
            for d, s in places
        ]
        # What was asked for may be against all that stands before.
        scores = self.scorer.score(places, texts, revisions, 0 if self.wanted else self.scorer.context)
        for (d, s), scored in zip(places, scores, strict=True):
            best = max(range(1, len(scored)), key=lambda number: scored[number].total)
            changes = candidates[d, s][best - 1]
            gain = scored[best].total - scored[0].total
            if gain > -self.patience * len(changes):
                way = self.wanted or _majority(counts[d])
                count, total = counts[d][way], counts[d].total()
                how_many = f"{count} of {total} sentences of this document say {way}"
                why = f"for 'you': {way} was asked for" if self.wanted else f"for 'you': {how_many}"
                edit = Edit(ADDRESS, changes, why, {"gain": gain, "count": count, "total": total})
                revisions[d][s] = revisions[d][s].with_edit(edit)

    def ways(self, revisions: Revisions) -> dict[Place, tuple[str, Links]]:
        """Of each sentence that says you in one way: which, and its links."""
        pairs = {
            (d, s): (revision.source, revision.draft)
            for d, document in enumerate(revisions)
            for s, revision in enumerate(document)
            if self.table.is_open(revision.source, revision.draft)
        }
        ways = {}
        for (place, pair), links in zip(pairs.items(), self.scorer.links(list(pairs.values())), strict=True):
            if links is not None and (way := self.table.address_of(*pair, links)):
                ways[place] = way, links
        return ways

    def _candidates(
        self, revisions: Revisions, ways: dict[Place, tuple[str, Links]], counts: Mapping[int, Counter[str]]
    ) -> dict[Place, Sequence[tuple[Change, ...]]]:
        candidates: dict[Place, Sequence[tuple[Change, ...]]] = {}
        for (document, number), (way, links) in ways.items():
            wanted = self.wanted or _majority(counts[document])
            if wanted and way != wanted:
                revision = revisions[document][number]
                if options := self.table.readdress(revision.source, revision.draft, links, wanted):
                    candidates[document, number] = options
        return candidates


def _majority(counts: Counter[str]) -> str:
    (way, count), *_ = counts.most_common(1)
    return way if count >= _FEWEST and count >= _SHARE * counts.total() else ""
