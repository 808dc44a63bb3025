"""Pronouns that stand for a noun are found, those that do not are left; sentences made up for the purpose."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from docflat.cli import dispatch as cli
from docflat.data.documents import Document
from docflat.evaluation.contrastive.examples import ContrastiveExample, read_contrastive
from docflat.evaluation.contrastive.german_genders import Genders
from docflat.evaluation.contrastive.german_pronouns import choose, find_examples

GENDERS = Genders(
    [
        "Wir sahen einen Turm und den Turm.",
        "Der Brief liegt im Brief.",
        "Eine Brücke, eine alte Brücke und eine Lampe.",
        "Das Schiff und das kleine Boot, ein Haus, das Haus.",
    ]
)


def found(*pairs: tuple[str, str]) -> list[ContrastiveExample]:
    source, target = zip(*pairs, strict=True)
    return list(find_examples(Document(list(source), list(target), "story", 7), GENDERS, context=1))


@pytest.mark.parametrize(
    ("noun", "gender"),
    [
        ("Turm", "m"),
        ("Brücke", "f"),
        ("Schiff", "n"),
        ("Brief", "m"),  # der and im together
        ("Kriegsschiff", "n"),  # a compound
        ("Hängebrücke", "f"),
        ("Zeitung", "f"),  # by its ending
        ("Mädchen", "n"),
        ("Daten", None),
    ],
)
def test_genders_are_learned_from_determiners(noun: str, gender: str | None):
    assert GENDERS.of(noun) == gender


@pytest.mark.parametrize(
    ("before", "sentence", "contrastives", "fields"),
    [
        (
            ("We saw a tower.", "Wir sahen einen Turm."),
            ("It was high.", "Er war hoch."),
            ("Sie war hoch.", "Es war hoch."),
            {"pronoun": "er", "form": "er", "distance": 1},
        ),
        (
            ("We saw a tower.", "Wir sahen einen Turm."),
            ("Nobody had seen it.", "Niemand hatte ihn gesehen."),
            ("Niemand hatte sie gesehen.", "Niemand hatte es gesehen."),
            {"pronoun": "er", "form": "ihn", "distance": 1},
        ),
        (
            ("Here is a bridge.", "Hier ist eine Brücke."),
            ("I think it will hold.", "Ich denke, sie wird halten."),
            ("Ich denke, er wird halten.", "Ich denke, es wird halten."),
            {"pronoun": "sie", "form": "sie", "distance": 1},
        ),
        (
            ("Here is a bridge.", "Hier ist eine Brücke."),
            ("We built it in May.", "Wir bauten sie im Mai."),
            ("Wir bauten ihn im Mai.", "Wir bauten es im Mai."),  # the accusative
            {"pronoun": "sie", "form": "sie", "distance": 1},
        ),
        (
            ("The ship was old.", "Das Schiff war alt."),
            ("It carried coal.", "Es trug Kohle."),
            ("Er trug Kohle.", "Sie trug Kohle."),
            {"pronoun": "es", "form": "es", "distance": 1},
        ),
        (
            ("Good morning.", "Guten Morgen."),
            ("The ship sank before it arrived.", "Das Schiff sank, bevor es ankam."),
            ("Das Schiff sank, bevor er ankam.", "Das Schiff sank, bevor sie ankam."),
            {"pronoun": "es", "form": "es", "distance": 0},
        ),
    ],
)
def test_what_stands_for_a_noun(
    before: tuple[str, str], sentence: tuple[str, str], contrastives: tuple[str, str], fields: dict[str, object]
):
    [example] = found(("A.", "A."), before, sentence)
    assert (example.source, example.reference) == sentence
    assert example.contrastives == contrastives
    assert (example.source_context, example.target_context) == ((before[0],), (before[1],))
    assert example.fields == {**fields, "document": "story", "line": 9}


@pytest.mark.parametrize(
    "sentence",
    [
        ("It rained.", "Es regnete."),
        ("It is said that there is hope.", "Es gibt Hoffnung."),
        ("It is good to sail.", "Es ist gut zu segeln."),
        ("It is good to leave.", "Es ist gut, aufzubrechen."),
        ("It is a ship.", "Es ist ein Schiff."),
        ("I know it.", "Ich weiß es."),
        ("It carried coal and it burned.", "Es trug Kohle und brannte."),  # two of them
        ("It carried coal.", "Es trug Kohle, und er brannte."),
        ("He said it carried coal.", "Er sagte, das trage Kohle."),
        ("The IT carried coal.", "Es trug Kohle."),
        ("It carried coal in the 1950s.", "In den 1950er Jahren trug man Kohle."),
        ("With it came rain.", "Es kam Regen."),
    ],
)
def test_what_stands_for_no_noun_is_left(sentence: tuple[str, str]):
    assert found(("The ship was old, the tower high.", "Das Schiff war alt, der Turm hoch."), sentence) == []


@pytest.mark.parametrize(
    "sentence",
    [
        ("It helps you.", "Sie hilft."),  # may be you
        ("Now it helps.", "Jetzt helfen sie."),  # a plural
        ("I hope it holds.", "Ich hoffe, dass sie halten werden."),
        ("I know it holds.", "Ich weiß, dass Sie halten."),
        ("It is a bridge.", "Sie ist eine Brücke."),  # "Es ist eine Brücke" is right as well
    ],
)
def test_sie_that_is_not_feminine_is_left(sentence: tuple[str, str]):
    assert found(("Here is a bridge.", "Hier ist eine Brücke."), sentence) == []


def test_without_a_noun_that_fits_there_is_no_example():
    assert found(("Here is a bridge.", "Hier ist eine Brücke."), ("It was high.", "Er war hoch.")) == []
    far = [("We saw a tower.", "Wir sahen einen Turm.")] + [("Yes.", "Ja.")] * 3
    assert found(*far, ("It was high.", "Er war hoch.")) == []


def test_a_distance_that_cannot_be_known_is_absent():
    two = [("We saw a tower.", "Wir sahen einen Turm."), ("The letter came.", "Der Brief kam.")]
    [example] = found(*two, ("It was old.", "Er war alt."))
    assert "distance" not in example.fields
    unknown = [("We saw a tower.", "Wir sahen einen Turm."), ("We had a plan.", "Wir hatten einen Plan.")]
    [example] = found(*unknown, ("It was old.", "Er war alt."))
    assert "distance" not in example.fields
    [example] = found(two[0], ("The tower stood.", "Der Turm stand."), ("It was old.", "Er war alt."))
    assert example.fields["distance"] == 1  # the nearest mention


def test_capitals_agree():
    [example] = found(("Here is a bridge.", "Hier ist eine Brücke."), ("“It holds.”", "„Sie hält.“"))
    assert example.contrastives == ("„Er hält.“", "„Es hält.“")


def test_choosing():
    pronouns = ["er"] * 5 + ["sie"] * 9 + ["es"] * 3
    examples = [ContrastiveExample(str(n), "x", ("y",), fields={"pronoun": p}) for n, p in enumerate(pronouns)]
    assert choose(examples) == examples
    assert len(choose(examples, limit=4)) == 4
    balanced = choose(examples, balance=True)
    assert Counter(example.fields["pronoun"] for example in balanced) == {"er": 3, "sie": 3, "es": 3}
    assert [int(example.source) for example in balanced] == sorted(int(example.source) for example in balanced)
    assert len(choose(examples, balance=True, limit=7)) == 6
    assert choose(examples, balance=True, seed=2) != balanced
    assert choose(examples, balance=True) == balanced
    assert choose(examples[:5], balance=True) == []


def test_build_writes_a_set_that_is_read_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    tower, ship = "We saw a tower.\nIt was high.\n", "The ship was old.\nIt carried coal.\n"
    (tmp_path / "a.en").write_text(f"{tower}\n{ship}\n{tower}")  # the tower twice
    tower, ship = "Wir sahen einen Turm.\nEr war hoch.\n", "Das Schiff war alt.\nEs trug Kohle.\n"
    (tmp_path / "a.de").write_text(f"{tower}\n{ship}\n{tower}")
    build = ["contrast", "build", "--source", f"{tmp_path}/a.en", "--target", f"{tmp_path}/a.de"]
    assert cli.run([*build, "-o", f"{tmp_path}/set.jsonl", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["pronoun"], row["found"], row["kept"]) for row in rows] == [("er", 1, 1), ("sie", 0, 0), ("es", 1, 1)]
    one, other = read_contrastive(tmp_path / "set.jsonl")
    assert one.reference == "Er war hoch."
    assert other.fields == {"pronoun": "es", "form": "es", "distance": 1, "line": 5, "file": "a.en"}

    assert cli.run([*build, "-o", f"{tmp_path}/balanced.jsonl", "--balance"]) == 2
    assert "balanced.jsonl: nothing to write: found 1 of er, 0 of sie, 1 of es" in capsys.readouterr().err
    assert not (tmp_path / "balanced.jsonl").exists()
    assert cli.run([*build[:4], "-o", f"{tmp_path}/x.jsonl"]) == 2
    assert "a.en:1: a document without its translation" in capsys.readouterr().err
    assert cli.run([*build, "-o", f"{tmp_path}/x.jsonl.xz"]) == 2
    assert "is written as plain text" in capsys.readouterr().err
