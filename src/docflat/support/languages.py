"""Languages: two letters, three letters, and the name in English."""

from __future__ import annotations

import re

from docflat.support.errors import InputError

# ISO 639-1, ISO 639-3 (and 639-2 where models use it), English name.
_TABLE = """
af afr Afrikaans|am amh Amharic|ar ara,arb Arabic|az aze,azj Azerbaijani|be bel Belarusian|bg bul Bulgarian
bn ben Bengali|bs bos Bosnian|ca cat Catalan|cs ces,cze Czech|cy cym,wel Welsh|da dan Danish|de deu,ger German
el ell,gre Greek|en eng English|eo epo Esperanto|es spa Spanish|et est Estonian|eu eus,baq Basque|fa fas,per,pes Persian
fi fin Finnish|fr fra,fre French|ga gle Irish|gl glg Galician|gu guj Gujarati|he heb Hebrew|hi hin Hindi|hr hrv Croatian
hu hun Hungarian|hy hye,arm Armenian|id ind Indonesian|is isl,ice Icelandic|it ita Italian|ja jpn Japanese
ka kat,geo Georgian|kk kaz Kazakh|km khm Khmer|kn kan Kannada|ko kor Korean|lt lit Lithuanian|lv lav,lvs Latvian
mk mkd,mac Macedonian|ml mal Malayalam|mr mar Marathi|ms msa,may,zsm Malay|mt mlt Maltese|my mya,bur Burmese
nb nob Norwegian Bokmål|ne nep Nepali|nl nld,dut Dutch|nn nno Norwegian Nynorsk|no nor Norwegian|pa pan Punjabi
pl pol Polish|pt por Portuguese|ro ron,rum Romanian|ru rus Russian|sk slk,slo Slovak|sl slv Slovenian
sq sqi,alb Albanian|sr srp Serbian|sv swe Swedish|sw swa,swh Swahili|ta tam Tamil|te tel Telugu|th tha Thai
tl tgl Tagalog|tr tur Turkish|uk ukr Ukrainian|ur urd Urdu|vi vie Vietnamese|zh zho,chi,cmn Chinese
"""
NAMES: dict[str, str] = {}  # by two letters
_TWO_LETTERS: dict[str, str] = {}
for _entry in _TABLE.strip().replace("\n", "|").split("|"):
    _two, _three, _name = _entry.split(" ", 2)
    NAMES[_two] = _name
    _TWO_LETTERS.update(dict.fromkeys(_three.split(","), _two))


def language_code(text: str) -> str:
    """In two letters where the language has them: "deu", "de_DE" and "DE" are "de"; others stay, in small letters."""
    code = text.strip().lower().replace("_", "-").partition("-")[0]
    return _TWO_LETTERS.get(code, code)


def checked_code(text: str) -> str:
    """The code of a language that somebody named; a name in English is told its code."""
    code = language_code(text)
    if re.fullmatch("[a-z]{2,3}", code):
        return code
    two = next((two for two, name in NAMES.items() if name.lower() == code), None)
    hint = f"; that of {NAMES[two]} is {two}" if two else ", such as de or fr"
    raise InputError(f"{text!r} is no code of a language{hint}")


def language_name(code: str) -> str:
    return NAMES.get(code, code)
