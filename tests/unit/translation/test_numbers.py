"""Whether a sentence and its translation have the same numbers."""

from __future__ import annotations

import pytest

from docflat.translation.numbers import numbers_differ


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("on 12/31/2021", "am 31.12.2021"),
        ("on 05/03/2020", "am 3. Mai 2020"),
        ("on May 5, 2020", "am 5.5.2020"),
        ("on 05.03.2020", "am 5.3.2020"),
        ("at 3:30 pm", "um 15:30 Uhr"),
        ("at 6pm", "um 18.00 Uhr"),
        ("at 12 a.m.", "um 0 Uhr"),
        ("at 12 a.m.", "um 24 Uhr"),
        ("at 12 a.m.", "um 12 Uhr nachts"),
        ("at 12 p.m.", "um 12 Uhr"),
        ("at noon", "um 12 Uhr"),
        ("at 9 a.m.", "um 9 Uhr"),
        ("at 9 p.m.", "um 9 Uhr abends"),
        ("tonight at 9 p.m.", "heute Abend um 9 Uhr"),
        ("at 2 pm", "um 2 Uhr am Nachmittag"),
        ("from 9 a.m. to 5 p.m.", "von 9 bis 17 Uhr"),
        ("from 9 a.m. to 9 p.m.", "von 9 Uhr bis 21 Uhr"),
        ("from 3 to 5 pm", "von 15 bis 17 Uhr"),
        ("11-1 pm", "11-13 Uhr"),
        ("um 21.30 Uhr", "at 9.30 p.m."),
        ("at 9 p.m.", "à 21 heures"),
        ("at 9 p.m.", "à 9 heures du soir"),
        ("a 10-year-old boy", "ein zehnjähriger Junge"),
        ("Two of the 12", "2 der zwölf"),
        ("the 21st, the 2nd", "der 21., der zweite"),
        ("in the '90s", "in den 1990er Jahren"),
        ("1200.50 or 12,000", "1.200,50 oder 12 000"),
        ("12\u202f000", "12.000"),
        ("0 errors", "keine Fehler"),
        ("$1,250.00", "1.250 Dollar"),
        ("no numbers", "keine Zahlen"),
    ],
)
def test_the_same_numbers(source: str, target: str):
    assert not numbers_differ(source, target)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("10 percent", "100 Prozent"),
        ("3.5 percent", "35 Prozent"),
        ("Take 3 tablets", "Nehmen Sie 5 Tabletten"),
        ("Take 3 tablets", "Nehmen Sie Tabletten"),
        ("Take 3 pills at 3 pm.", "Nehmen Sie 15 Pillen um 15 Uhr."),  # as the shipped model wrote it
        ("Take your pills at 3 pm.", "Nehmen Sie Ihre 15 Pillen."),
        ("at 9 a.m.", "um 21 Uhr"),
        ("at 9 a.m.", "um 9 Uhr abends"),
        ("at 9 p.m.", "um 9 Uhr"),
        ("at 9:30 p.m.", "um 9.30 Uhr"),
        ("at 9 p.m.", "um 9 Uhr morgens"),
        ("at 12 p.m.", "um 0 Uhr"),
        ("from 9 a.m. to 5 p.m.", "von 21 bis 17 Uhr"),
        ("from 9 a.m. to 5 p.m.", "von 9 bis 5 Uhr"),
        ("um 21 Uhr", "at 9 a.m."),
        ("in 2012", "in 2021"),
        ("1,200 and 30", "1.200"),
        ("7 days", "7 7 Tage"),
        ("a year", "das Jahr 2020"),
        ("4,512.7 thousand", "4.512,7 000"),
    ],
)
def test_other_numbers(source: str, target: str):
    assert numbers_differ(source, target)
