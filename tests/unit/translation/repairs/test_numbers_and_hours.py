"""Numbers and hours as the target language writes them."""

from __future__ import annotations

import pytest

from docflat.translation.file_report import find_other_numbers
from docflat.translation.numbers import numbers_differ
from docflat.translation.repairing import Repaired, repair
from docflat.translation.repairs.hours_german import localize_hours
from docflat.translation.repairs.numbers_german import localize_numbers
from docflat.translation.repairs.table import is_misread


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        # What the shipped model wrote, and what it should have written.
        ("The price is 1,200.50 dollars.", "Der Preis beträgt 1,200,50 Dollar.", "Der Preis beträgt 1.200,50 Dollar."),
        ("$1,234,567.89 including tax", "1,234,567,89 inklusive Steuern", "1.234.567,89 inklusive Steuern"),
        ("amounts to EUR 1,049.99.", "beläuft sich auf 1.049.99 EUR.", "beläuft sich auf 1.049,99 EUR."),
        ("closed at 16,599.85", "schloss bei 16,599,85", "schloss bei 16.599,85"),
        ("closed up to 6,229.21.", "schloss bei 6.229.21.", "schloss bei 6.229,21."),
        ("It was 83,149,300 in 2019.", "Es waren 2019 83,149,30,0.", "Es waren 2019 83.149.300."),
        # As in English: human translators write that too.
        ("It was 83,149,300 in 2019.", "Es waren 2019 83,149.300.", "Es waren 2019 83,149.300."),
        ("from $11,481 million", "von 11,481 Millionen", "von 11,481 Millionen"),
        ("EUR 1,049.99", "1,049.99 EUR", "1,049.99 EUR"),
        # What is right stays, and so does what may be no number.
        ("12,345 units", "12.345 Einheiten", "12.345 Einheiten"),
        ("1,200.50", "1200,50", "1200,50"),
        ("1,200", "1200", "1200"),
        ("version 2.13 of section 4.2.1, 192.168.1.1", "2.13, 4.2.1, 192.168.1.1", "2.13, 4.2.1, 192.168.1.1"),
        ("on 12.31.2021", "am 12.31.2021", "am 12.31.2021"),
        ("version 1.234 has 1,234 users", "Version 1.234 hat 1,234 Nutzer", "Version 1.234 hat 1,234 Nutzer"),
        ("x1,200 and A4,000b", "x1,200 und A4,000b", "x1,200 und A4,000b"),
        # Labels of things: their numbers are as they are printed on them.
        ("IDs 100,200,300", "IDs 100,200,300", "IDs 100,200,300"),
        ("IDs: 100,200 and 300,400", "IDs: 100,200 und 300,400", "IDs: 100,200 und 300,400"),
        ("RGB 255,128,000", "RGB 255,128,000", "RGB 255,128,000"),
        ("Order no. 123,456", "Bestellung Nr. 123,456", "Bestellung Nr. 123,456"),
        ("See item #12,345.", "Siehe Artikel #12,345.", "Siehe Artikel #12,345."),
        ("Amendments 96, 107,109, 111", "Änderungsanträge 96, 107,109, 111", "Änderungsanträge 96, 107,109, 111"),
        ("a size of 200,200", "eine Größe von 200,200", "eine Größe von 200,200"),
        ('the output is "1,000"', 'die Ausgabe ist "1,000"', 'die Ausgabe ist "1,000"'),
        ("the separator is , as in 1,000", "der Trenner ist , wie in 1,000", "der Trenner ist , wie in 1,000"),
        ("his projects.:121,154 He", "seine Projekte:121,154 er", "seine Projekte:121,154 er"),
        ("at 5,829% on Monday", "bei 5,829% am Montag", "bei 5,829% am Montag"),
        # Numbers as in English that say the same.
        ("It weighs 1.5 kg.", "Es wiegt 1.5 kg.", "Es wiegt 1.5 kg."),
        ("costs $0.99", "kostet 0.99 Dollar", "kostet 0.99 Dollar"),
        ("taka ($729,700)", "Taka ($729,700)", "Taka ($729,700)"),
        ("closed at 15945.7 points", "schloss bei 15.945,7 Punkten", "schloss bei 15.945,7 Punkten"),
        # The same digits are another number.
        ("1,250 units at $12.50", "1.250 Einheiten zu 12,50 $", "1.250 Einheiten zu 12,50 $"),
        ("May 12: 1,205 cases", "12.05.: 1.205 Fälle", "12.05.: 1.205 Fälle"),
        ("1,200 or 1,200", "1,200 oder 1.200", "1,200 oder 1.200"),
    ],
)
def test_as_german_writes_them(source: str, target: str, expected: str):
    assert localize_numbers(source, target) == expected
    assert not numbers_differ(source, expected)


def test_what_is_fixed_and_other_languages():
    assert localize_numbers("See www.x.org/1,200", "Sieh www.x.org/1,200") == "Sieh www.x.org/1,200"
    for languages in (None, ("de", "en"), ("en", "fr"), ("en", "en")):
        assert repair("It has 1,200.5.", "Es hat 1,200,5.", languages) == Repaired("Es hat 1,200,5.")
    assert repair("It has 1,200.5.", "Es hat 1,200,5.", ("en", "de")) == Repaired("Es hat 1.200,5.", ("numbers",))


@pytest.mark.parametrize(
    ("source", "target", "misread"),
    [
        ("It has 1,200.", "Es hat 1,200.", True),
        ("1,200 or 1,200", "1,200 oder 1.200", True),
        ("It has 1,200.", "Es hat 1.200.", False),
        ("It has 1,200.", "Es hat 1200.", False),
        ("It has 1,200,000.", "Es hat 1,200,000.", False),  # nobody reads a thousandth there
        ("Order no. 123,456", "Bestellung Nr. 123,456", False),
    ],
)
def test_thousands_as_in_english_are_named(source: str, target: str, misread: bool):
    assert is_misread(source, target, ("en", "de")) == misread
    assert not is_misread(source, target, ("en", "fr"))
    assert not is_misread(source, target, None)
    assert find_other_numbers([(source, target, True)], ("en", "de")) == ([(source, target)] if misread else [])


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        # As the shipped model wrote them.
        ("between 9 a.m. and 3 p.m.", "zwischen 21 Uhr und 15 Uhr", "zwischen 9 Uhr und 15 Uhr"),
        ("from 9 a.m. to 6 p.m.", "von 21.00 bis 18.00 Uhr geöffnet", "von 9.00 bis 18.00 Uhr geöffnet"),
        ("9 a.m.–6 p.m.", "21 Uhr–6 Uhr", "9 Uhr–6 Uhr"),
        ("tomorrow at 9:30 am", "morgen um 21.30 Uhr", "morgen um 9.30 Uhr"),
        # What is right, or may be.
        ("leaves at 8 pm and arrives at eight the next day", "ab 20 Uhr, an 8 Uhr", "ab 20 Uhr, an 8 Uhr"),
        ("leaves at 8 pm, arrives at eight", "ab 8 Uhr, an 8 Uhr", "ab 8 Uhr, an 8 Uhr"),
        ("Doors at 7, show at 7 pm", "Einlass 7 Uhr, Beginn 7 Uhr", "Einlass 7 Uhr, Beginn 7 Uhr"),
        ("Doors at 7 o'clock, show at 7 pm", "Einlass 19 Uhr, Show 7 Uhr", "Einlass 19 Uhr, Show 7 Uhr"),
        ("at 8 am and at 8 pm", "um 8 Uhr und um 8 Uhr", "um 8 Uhr und um 8 Uhr"),
        ("at 8 am for 8 days", "um 20 Uhr für 8 Tage", "um 20 Uhr für 8 Tage"),
        ("opens at 8 am and shuts at eight", "von 20 Uhr bis 20 Uhr", "von 20 Uhr bis 20 Uhr"),
        ("on May 9 at 9 am", "am 9. Mai um 21 Uhr", "am 9. Mai um 9 Uhr"),
        ("at 9 a.m.", "um 9 Uhr", "um 9 Uhr"),
        ("at 9 p.m.", "um 9 Uhr abends", "um 9 Uhr abends"),
        ("every day at 10 pm", "jeden Tag um 10 Uhr", "jeden Tag um 10 Uhr"),
        ("at 9 a.m., not at 21:00", "um 9 Uhr, nicht um 21 Uhr", "um 9 Uhr, nicht um 21 Uhr"),
        ("from 9 a.m. to 9 p.m.", "von 9 bis 21 Uhr", "von 9 bis 21 Uhr"),
    ],
)
def test_hours_are_put_right(source: str, target: str, expected: str):
    assert localize_hours(source, target) == expected


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("9 a.m.", "21 Uhr heute Abend"),
        ("9 p.m.", "9 Uhr morgens"),
        ("9 a.m.", "21 Leute"),
        ("I come at 9 and go at 9 pm.", "Ich komme um 9 Uhr und gehe um 21 Uhr."),  # right, which cannot be known
    ],
)
def test_hours_that_are_left_are_said(source: str, target: str):
    assert localize_hours(source, target) == target
    assert numbers_differ(source, target)
