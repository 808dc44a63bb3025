"""du and Sie: sentences said the other way, by hand; and which way a document has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from docflat.decoding.alignment import Links, find_words
from docflat.decoding.scoring import Scored
from docflat.editing import address_german
from docflat.editing.address import Address
from docflat.editing.address_german import DU, SIE, TABLE, address_of, is_open, readdress
from docflat.editing.revisions import Place, Revision, Revisions
from docflat.editing.variants import Change, apply_changes


@pytest.mark.parametrize(
    ("informal", "formal"),
    [
        ("Hast du deinen Schlüssel?", "Haben Sie Ihren Schlüssel?"),
        ("Kannst du mir helfen?", "Können Sie mir helfen?"),
        ("Ich danke dir, dass du gekommen bist.", "Ich danke Ihnen, dass Sie gekommen sind."),
        ("Wenn du willst, kannst du gehen.", "Wenn Sie wollen, können Sie gehen."),
        ("Sag mir deinen Namen.", "Sagen Sie mir Ihren Namen."),
        ("Wenn du bereit bist, gib mir dein Buch.", "Wenn Sie bereit sind, geben Sie mir Ihr Buch."),
        ("Nimm dein Buch mit.", "Nehmen Sie Ihr Buch mit."),
        ("Antworte auf deinen Brief.", "Antworten Sie auf Ihren Brief."),
        ("Du fährst morgen ab.", "Sie fahren morgen ab."),
        ("Du musst dich setzen.", "Sie müssen sich setzen."),
        ("Wartest du, oder arbeitest du?", "Warten Sie, oder arbeiten Sie?"),
        ("Ich sehe dich.", "Ich sehe Sie."),
        ("Du wanderst, weil du keine Zeit hattest.", "Sie wandern, weil Sie keine Zeit hatten."),
        ("Dein Haus ist alt.", "Ihr Haus ist alt."),
    ],
)
def test_a_sentence_is_said_the_other_way(informal: str, formal: str) -> None:
    for draft, to, wanted in ((informal, SIE, formal), (formal, DU, informal)):
        links = [(0, number) for number in range(len(find_words(draft)))]  # all words translate "you"
        candidates = [apply_changes(draft, changes) for changes in readdress("you", draft, links, to)]
        assert wanted in candidates, candidates


def test_a_long_sentence_has_few_candidates() -> None:
    draft = "Sie " + "haben Sie gesagt, " * 30
    assert readdress("you", draft, [], DU) == []
    assert len(readdress("you", "Sie haben, Sie sagen, Sie nehmen, Sie geben sich alles.", [(0, 0)], DU)) <= 40


def test_words_that_repeat_do_not_multiply(monkeypatch: pytest.MonkeyPatch) -> None:
    """A draft of a model that went astray: each sich, and each word like testest, may change or not."""
    combinations = 0
    changes_of = address_german._changes

    def changes(*settings: Any) -> tuple[Change, ...]:
        nonlocal combinations
        combinations += 1
        return changes_of(*settings)

    monkeypatch.setattr(address_german, "_changes", changes)
    for draft, to in (("Glauben Sie " + "sich " * 9 + "das?", DU), ("Glaubst du " + "testest " * 16 + "das?", SIE)):
        links = [(0, number) for number in range(len(find_words(draft)))]
        assert readdress("you", draft, links, to)
    assert combinations <= 10_000


@pytest.mark.parametrize(
    ("source", "draft", "address"),
    [
        ("Do you come?", "Kommen Sie?", SIE),
        ("They come.", "Sie kommen.", ""),
        ("You come.", "Sie kommen.", SIE),
        ("You come.", "Du kommst.", DU),
        ("You see her.", "Du siehst Ihr Haus.", ""),  # both
        ("You come.", "Ihr kommt.", ""),  # several people
        ("You gave her a book.", "Du gabst ihr ein Buch.", ""),  # nobody knows who ihr is
    ],
)
def test_which_way_a_sentence_has(source: str, draft: str, address: str) -> None:
    assert address_of(source, draft, [(0, 0)] if address or "You" in source else []) == address


def test_what_is_quoted_is_left_alone() -> None:
    assert is_open("I ask you.", "Ich frage dich.")
    assert not is_open('He said "I ask you".', "Er sagte „ich frage dich“.")
    assert not is_open("They sing.", "Sie singen.")


class Model:
    """A table of beginnings that it finds odd."""

    context = 0

    def __init__(self, odd: Sequence[str] = ()) -> None:
        self.odd = odd

    def links(self, pairs: Sequence[tuple[str, str]]) -> list[Links]:
        return [[(0, number) for number in range(len(find_words(draft)))] for _, draft in pairs]

    def score(
        self, places: Sequence[Place], texts: Sequence[Sequence[str]], revisions: Revisions, context: int
    ) -> list[list[Scored]]:
        return [
            [Scored([], [-9.0 if text.startswith(tuple(self.odd)) else -1.0]) for text in options] for options in texts
        ]


def edited(drafts: Sequence[str], formality: str = "majority", odd: Sequence[str] = ()) -> list[str]:
    revisions = [[Revision("you", draft) for draft in drafts]]
    Address(Model(odd), TABLE, formality).edit(revisions)  # type: ignore[arg-type]
    return [revision.text for revision in revisions[0]]


THREE = ["Sehen Sie das?", "Ich danke Ihnen.", "Ihr Haus ist alt.", "Nun gehen Sie."]


def test_few_follow_most() -> None:
    assert edited([*THREE, "Ich sehe dich."]) == [*THREE, "Ich sehe Sie."]
    assert edited([*THREE[:2], "Ich sehe dich."]) == [*THREE[:2], "Ich sehe dich."]  # no majority
    assert edited([*THREE[:3], "Ich sehe dich.", "Ich höre dich."])[3:] == ["Ich sehe dich.", "Ich höre dich."]


def test_what_the_model_finds_odd_is_not_written() -> None:
    assert edited([*THREE, "Ich sehe dich."], odd=["Ich sehe S", "Ich sehe s", "Ichen"])[-1] == "Ich sehe dich."
    assert edited([*THREE, "Du wäschst dich."], odd=["Sie waschen Sie."])[-1] == "Sie waschen sich."


def test_a_way_that_was_asked_for_needs_no_majority() -> None:
    assert edited(["Ich danke Ihnen."], "informal") == ["Ich danke dir."]
    assert edited(["Ich danke dir."], "formal") == ["Ich danke Ihnen."]
    assert edited(["Ich danke dir."], "informal") == ["Ich danke dir."]


def test_the_reason_counts() -> None:
    revisions = [[Revision("you", draft) for draft in [*THREE, "Ich sehe dich."]]]
    Address(Model(), TABLE).edit(revisions)  # type: ignore[arg-type]
    assert revisions[0][-1].reason == "dich -> Sie for 'you': 3 of 4 sentences of this document say Sie"
