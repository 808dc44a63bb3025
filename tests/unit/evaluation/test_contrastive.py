"""Contrastive sets in each format, made up here in the shape of the originals, and accuracies counted by hand."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from docflat.evaluation.contrastive.examples import ContrastiveExample, accuracies, read_contrastive, to_json
from docflat.support.errors import InputError

SHIP = ContrastiveExample(
    "It was old.",
    "Es war alt.",
    ("Er war alt.", "Sie war alt."),
    ("The sea was calm.", "The ship left."),
    ("Die See war ruhig.", "Das Schiff fuhr ab."),
    {"pronoun": "es", "distance": 1},
)


def write(path: Path, value: object) -> Path:
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def contrapro(**changes: Any) -> dict[str, Any]:
    errors = [
        {"contrastive": contrastive, "replacement": contrastive.split()[0].lower(), "type": "pronominal coreference"}
        for contrastive in SHIP.contrastives
    ]
    record = {
        "ante distance": 1,
        "document id": "1921_1_2.de",
        "errors": errors,
        "intrasegmental": False,
        "ref ante head": None,
        "ref pronoun": "Es",
        "ref segment": SHIP.reference,
        "segment id": 3,
        "src pronoun": "It",
        "src segment": SHIP.source,
    }
    return {**record, **changes}


def contrapro_documents(folder: Path) -> Path:
    (folder / "1921").mkdir(parents=True)
    write(folder / "1921" / "1921_1_2.en", "\n".join([*SHIP.source_context, "It was  old. ", "Later."]))
    write(folder / "1921" / "1921_1_2.de", "\n".join([*SHIP.target_context, SHIP.reference, "Dann."]))
    return folder


def test_our_own_lines_come_back(tmp_path: Path):
    plain = ContrastiveExample("It.", "Es.", ("Sie.",))
    path = tmp_path / "set.jsonl.gz"
    with gzip.open(path, "wt", encoding="utf-8") as stream:
        stream.write(f"{to_json(SHIP)}\n{to_json(plain)}\n")
    assert read_contrastive(path) == [SHIP, plain]


def test_context_keeps_the_nearest_sentences(tmp_path: Path):
    path = write(tmp_path / "set.jsonl", to_json(SHIP))
    [one] = read_contrastive(path, context=1)
    assert (one.source_context, one.target_context) == (("The ship left.",), ("Das Schiff fuhr ab.",))
    assert read_contrastive(path, context=9) == [SHIP]
    [none] = read_contrastive(path, context=0)
    assert (none.source_context, none.target_context) == ((), ())


def test_lines_with_one_sentence_of_context(tmp_path: Path):
    record = {
        "id": 0,
        "src_context": "The ship left.",
        "src": SHIP.source,
        "tgt_context": "Das Schiff fuhr ab.",
        "ref": SHIP.reference,
        "contrastive": list(SHIP.contrastives),
        "ref_pronoun": "es",
        "ante_distance": 1,
        "intrasegmental": False,
    }
    first = {**record, "src_context": "", "tgt_context": ""}
    path = write(tmp_path / "set.jsonl", f"{json.dumps(record)}\n{json.dumps(first)}\n")
    one, other = read_contrastive(path)
    assert one.source_context == ("The ship left.",)
    assert one.candidates == ("Es war alt.", "Er war alt.", "Sie war alt.")
    assert one.fields == {"id": 0, "pronoun": "es", "distance": 1, "intrasegmental": "false"}
    assert (other.source_context, other.target_context) == ((), ())


def test_contrapro_with_its_documents(tmp_path: Path):
    path = write(tmp_path / "contrapro.json", [contrapro()])
    [one] = read_contrastive(path, documents=contrapro_documents(tmp_path / "documents"))
    assert one.source_context == SHIP.source_context
    assert one.target_context == SHIP.target_context
    assert one.candidates == SHIP.candidates
    assert one.fields["pronoun"] == "es"
    assert one.fields["distance"] == 1
    assert one.fields["src_pronoun"] == "It"
    assert "ref_ante_head" not in one.fields


def test_contrapro_with_its_context_files(tmp_path: Path):
    # Two lines of context for each candidate: three of the first example, two of the second, which starts a document.
    second = contrapro(errors=contrapro()["errors"][:1])
    path = write(tmp_path / "contrapro.json", [contrapro(), second])
    write(tmp_path / "contrapro.context.en", "\n".join(SHIP.source_context * 3 + ("", "Ahoy.") * 2) + "\n")
    write(tmp_path / "contrapro.context.de", "\n".join(SHIP.target_context * 3 + ("", "Ahoi.") * 2) + "\n")
    one, other = read_contrastive(path)
    assert (one.source_context, one.target_context) == (SHIP.source_context, SHIP.target_context)
    assert (other.source_context, other.target_context) == (("Ahoy.",), ("Ahoi.",))


def test_contrapro_without_context_must_be_asked_for(tmp_path: Path):
    path = write(tmp_path / "contrapro.json", [contrapro()])
    with pytest.raises(InputError, match=r"contrapro\.json: no context: there is no contrapro\.context\.en"):
        read_contrastive(path)
    [one] = read_contrastive(path, context=0)
    assert one.source_context == ()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"document id": "1921_9_9.de"}, r"example 1: no document 1921_9_9\.en in"),
        ({"segment id": 9}, r"example 1: 1921_1_2\.de has no segment 9"),
        ({"segment id": 1}, "these are other documents: 1 of 1 sentences differ"),
        ({"errors": []}, "example 1: an example without contrastives"),
        ({"ref segment": None}, 'example 1: "ref segment" must be a string, not null'),
    ],
)
def test_what_is_wrong_with_contrapro(tmp_path: Path, changes: dict[str, Any], message: str):
    path = write(tmp_path / "contrapro.json", [contrapro(**changes)])
    with pytest.raises(InputError, match=message):
        read_contrastive(path, documents=contrapro_documents(tmp_path / "documents"))


def test_context_files_of_another_set(tmp_path: Path):
    path = write(tmp_path / "contrapro.json", [contrapro()])
    write(tmp_path / "contrapro.context.en", "a\nb\n")
    write(tmp_path / "contrapro.context.de", "a\nb\n")
    with pytest.raises(InputError, match=r"context\.en: 2 lines, which is no multiple of the 3 candidates"):
        read_contrastive(path)


def test_voita(tmp_path: Path):
    record = {
        "src": "Sit down . _eos Why ? _eos You look tired .",
        "dst": ["Sitz . _eos Warum ? _eos Sie sehen müde aus .", "Sitz . _eos Warum ? _eos Du siehst müde aus ."],
        "true_ind": 1,
        "ctx_dist": 2,
    }
    [one] = read_contrastive(write(tmp_path / "deixis.json", [record]))
    assert one == ContrastiveExample(
        "You look tired .",
        "Du siehst müde aus .",
        ("Sie sehen müde aus .",),
        ("Sit down .", "Why ?"),
        ("Sitz .", "Warum ?"),
        {"distance": 2},
    )
    for change, message in (
        ({"true_ind": 2}, '"true_ind" is 2, but there are 2 targets'),
        ({"dst": ["a _eos b _eos c", "x _eos b _eos d"]}, "targets must differ in their last sentence only"),
        ({"dst": ["a _eos b"], "true_ind": 0}, "an example without contrastives"),
    ):
        path = write(tmp_path / "wrong.json", [record, {**record, **change}])
        with pytest.raises(InputError, match=f"wrong.json: example 2: {message}"):
            read_contrastive(path)


def test_bawden(tmp_path: Path):
    pair = ["The flies!", "Kill it."]
    anaphora = {
        "1": {
            "inspired by": ["There is one.", "Take it."],
            "src": pair,
            "trg": [
                {"correct": ["Les mouches !", "Tue-la."], "incorrect": ["Les mouches !", "Tue-le."], "type": "f.sg"},
                {"semi-correct": ["Les papillons !", "Tue-le."], "incorrect": ["Les papillons !", "Tue-la."]},
            ],
        }
    }
    one, other = read_contrastive(write(tmp_path / "anaphora.json", anaphora))
    assert one == ContrastiveExample(
        "Kill it.",
        "Tue-la.",
        ("Tue-le.",),
        ("The flies!",),
        ("Les mouches !",),
        {"block": "1", "translation": "correct", "type": "f.sg"},
    )
    assert other.reference == "Tue-le."
    assert other.fields["translation"] == "semi-correct"

    target = {"correct": ["Un dingue ?", "Dingue."], "incorrect": ["Un dingue ?", "Fou."]}
    lexical = {"7": {"type": "repet", "examples": [{"src": ["A crazy one?", "Crazy."], "trg": target}]}}
    [one] = read_contrastive(write(tmp_path / "lexical-choice.json", lexical))
    assert one.candidates == ("Dingue.", "Fou.")
    assert one.fields == {"block": "7", "type": "repet", "translation": "correct"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "set.jsonl: no examples in this file"),
        ("\n{", "set.jsonl:2: not JSON: Expecting property name enclosed in double quotes at column 2"),
        ("[]", "set.jsonl: not a contrastive set"),
        ('{"a": {"b": 1}}', "set.jsonl: not a contrastive set"),
        ('{"source": "It.", "reference": "Es."}', 'set.jsonl:1: "contrastives" must be a list, not null'),
        ('{"source": "It.", "reference": "Es.", "contrastives": []}', "set.jsonl:1: an example without contrastives"),
        ('{"source": "It.", "reference": " ", "contrastives": ["Er."]}', "set.jsonl:1: an empty reference"),
        ('{"source": "It.", "reference": "Es.", "contrastives": [""]}', "set.jsonl:1: an empty contrastive"),
        (f"{to_json(SHIP)}\n{{", "set.jsonl:2: not JSON"),
        (f"{to_json(SHIP)}\n[1]", "set.jsonl:2: not a JSON object"),
        (
            '{"source": "It.", "reference": "Es.", "contrastives": ["Er."], "source_context": ["A.", "B."]}',
            "set.jsonl:1: 2 sentences of source context but 0 of target context",
        ),
    ],
)
def test_bad_input_is_named(tmp_path: Path, text: str, message: str):
    with pytest.raises(InputError) as caught:
        read_contrastive(write(tmp_path / "set.jsonl", text))
    assert str(caught.value).startswith(f"{tmp_path}/{message}")


def example(**fields: str | int) -> ContrastiveExample:
    return ContrastiveExample("It.", "Es.", ("Er.", "Sie."), fields=fields)


def test_accuracies_by_hand():
    examples = [
        example(pronoun="es", distance=0),
        example(pronoun="er", distance=4),
        example(pronoun="er", distance=9),
        example(pronoun="er"),
    ]
    scores = [
        [(-3.0, 1), (-4.0, 4), (-5.0, 5)],  # best by sum; by mean -3, -1, -1
        [(-3.0, 3), (-3.0, 3), (-5.0, 5)],  # a tie
        [(-3.0, 6), (-2.0, 2), (-5.0, 5)],  # best by mean: -0.5, -1, -1
        [(-1.0, 2), (-2.0, 2), (-5.0, 5)],  # best
    ]
    rows = [tuple(row.values()) for row in accuracies(examples, scores)]
    assert rows == [
        ("all", None, 4, 0.5, 0.5),
        ("pronoun", "er", 3, 1 / 3, 2 / 3),
        ("pronoun", "es", 1, 1.0, 0.0),
        ("distance", 0, 1, 1.0, 0.0),
        ("distance", ">3", 2, 0.0, 0.5),
        ("distance", None, 1, 1.0, 1.0),
    ]
    assert list(accuracies(examples, scores)[0]) == ["by", "value", "examples", "accuracy", "accuracy by mean"]


def test_accuracies_by_any_field():
    examples = [example(corpus="ted"), example(corpus="news")]
    scores = [[(-1.0, 1), (-2.0, 1)], [(float("nan"), 1), (-2.0, 1)]]
    assert [row["value"] for row in accuracies(examples, scores, by=["corpus"])] == [None, "news", "ted"]
    assert accuracies(examples, scores, by=[]) == accuracies(examples, scores)
    assert accuracies(examples, scores)[0]["accuracy"] == 0.5
    with pytest.raises(InputError, match="no example has a field 'corpsu'; did you mean 'corpus'"):
        accuracies(examples, scores, by=["corpsu"])
