"""Cleaning on pairs whose faults a reader sees."""

from __future__ import annotations

from pathlib import Path

import pytest

from docflat.data.cleaning import Cleaning

GOOD = [
    ("Good morning.", "Guten Morgen."),
    ("It is 801-714-3310.", "Es ist 801-714-3310."),  # numbers are to be copied
    ("Tom, Mary and John.", "Tom, Mary und John."),
    ("San Francisco, California.", "San Francisco, California."),  # a name, of three words
    ("Write to <press@debian.org>.", "Schreiben Sie an <press@debian.org>."),
    ("Is 3 < 5 > 2?", "Ist 3 < 5 > 2?"),
    ("Use %s instead of %d.", "Verwenden Sie %s statt %d."),
    ("Â ist ein Buchstabe; Ã auch", "Â is a letter; Ã too"),
    ("Yes.", "Ja, ganz bestimmt."),  # ratio 4.5, but both are short
    ("He will warn us in an hour so.", "Er will uns in an so einer Stunde."),  # half of the words, and no more
    ("a " * 250, "ein " * 250),
]
BAD = [
    ("long", "a " * 251, "ein " * 251),
    ("lengths", "Mr President!", "Herr Präsident, ich habe noch eine Frage."),
    ("lengths", "However, the price is very attractive.", "Viel!"),
    ("copied", "This is not translated.", "This is not translated."),
    ("copied", "An example is given in Section 4, “Step”.", "An example is given in Section 4, “Schritt”."),
    ("mojibake", "Belt of Orion", "GÃ¼rtel des Orion"),
    ("mojibake", "Mr\ufffd MacCormick", "Herr MacCormick"),
    ("mojibake", "He said “yes”.", "Er sagte â€žja“."),
    ("markup", "Press the <b>red</b> button.", "Drücken Sie den roten Knopf."),
    ("markup", "&aptitude; basics", "Grundlagen"),
    ("markup", "The Live CSS panel", "Der :guilabel:`CSS-Bereich"),
    ("markup", "See [here](x.html).", "Siehe hier."),
    ("markup", "\\fBls\\fR lists", "ls listet auf"),
    ("signs", "* * *", "* * *"),
    ("signs", "[ + | - ] tag", "Marke"),
]


@pytest.mark.parametrize(("source", "target"), GOOD, ids=lambda text: text[:20])
def test_good_pairs_are_kept(source: str, target: str) -> None:
    assert Cleaning().fault(source, target) == ""


@pytest.mark.parametrize(("fault", "source", "target"), BAD, ids=lambda text: text[:20])
def test_bad_pairs_have_a_fault(fault: str, source: str, target: str) -> None:
    assert Cleaning().fault(source, target) == fault
    if fault in ("long", "lengths", "copied", "mojibake", "signs"):  # it does not matter which side is which
        assert Cleaning().fault(target, source)


def test_excluded_sentences(tmp_path: Path) -> None:
    file = tmp_path / "test.en"
    file.write_text("The vote will take place  tomorrow.\n\nThe debate is closed.\n")
    cleaning = Cleaning(rules=False, exclude=[file])
    assert cleaning.fault("the VOTE will take place tomorrow.", "Die Abstimmung ist morgen.") == "excluded"
    assert cleaning.fault("The vote will take place tomorrow!", "Die Abstimmung ist morgen!") == ""
    assert cleaning.fault("The debate is closed.", "Die Aussprache ist geschlossen.") == "", "four words"
    assert cleaning.fault("* * *", "* * *") == "", "the rules are off"
