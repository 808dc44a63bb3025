"""Full stops that a model adds to what has none."""

from __future__ import annotations

import pytest

from docflat.translation.repairs.full_stops import remove_full_stop


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("Our best seller", "Unser Verkaufsschlager.", "Unser Verkaufsschlager"),
        ("Our best seller.", "Unser Verkaufsschlager.", "Unser Verkaufsschlager."),
        ('He said "Go."', "Er sagte, er gehe.", "Er sagte, er gehe."),
        ("Colours:", "Die Farben.", "Die Farben."),
        ("until March 5", "bis zum 5.", "bis zum 5."),
        ("apples and so on", "Äpfel usw.", "Äpfel usw."),
        ("wait", "Warten...", "Warten..."),
        ("Hi (again)", "Hallo nochmal.", "Hallo nochmal"),
        ("I agree", "Ich stimme zu.", "Ich stimme zu"),
        ("VAT included", "inkl. MwSt.", "inkl. MwSt."),
        ("यह एक घर है।", "Das ist ein Haus.", "Das ist ein Haus."),
        ("นี่คือบ้าน", "Das ist ein Haus.", "Das ist ein Haus."),  # Thai has no full stops
    ],
)
def test_no_full_stop_where_the_source_has_none(source: str, target: str, expected: str):
    assert remove_full_stop(source, target, "de") == expected


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("ungefähr", "approx.", "approx."),
        ("Abt.", "Dept.", "Dept."),
        ("Abteilung", "Dept.", "Dept."),
        ("Unser Verkaufsschlager", "Our best seller.", "Our best seller"),
        ("Ihr Termin", "Your appt.", "Your appt."),
        ("Preise inkl", "Prices incl.", "Prices incl."),
        ("Acme Inc", "Acme Inc.", "Acme Inc."),
        ("Es ist, wie es ist", "It is what it is.", "It is what it is"),
        ("das Ende", "The end.", "The end"),
        ("Muster GmbH & Co", "Muster GmbH & Co.", "Muster GmbH & Co."),
        ("die U.S.A", "the U.S.A.", "the U.S.A."),
    ],
)
def test_english_abbreviations_keep_theirs(source: str, target: str, expected: str):
    assert remove_full_stop(source, target, "en") == expected
