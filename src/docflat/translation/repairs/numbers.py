"""Numbers written as the target language writes them: 1,200.50 as 1.200,50."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from docflat.translation.placeholders import find_placeholders

# What stands between thousands, and before decimals.
SEPARATORS = {"en": (",", "."), "de": (".", ",")}

# Words before a number that is a label, and stays as it is printed on the thing.
LABELS = {
    "en": """
        id ids rgb rgba hsl hsv cmyk no nos num number numbers order ref refs reference references code codes version
        versions v section sections chapter chapters page pages p pp part parts article articles item items invoice
        invoices ticket tickets case cases room rooms build builds release releases bug bugs issue issues port ports
        line lines isbn issn doi model type serial value values coordinates channel""",
    "de": """
        id ids rgb rgba hsl hsv cmyk nr nrn nummer nummern kennung kennungen code codes version versionen v abschnitt
        abschnitte kapitel kapiteln seite seiten s teil teile artikel artikeln posten rechnung rechnungen fall fälle
        zimmer release port ports zeile zeilen isbn issn doi modell modelle typ wert werte koordinaten kanal""",
}
# What comes after decimals, but not after versions, sections and dates: signs of units, in these letters, and words.
UNIT_SIGNS = """
    m mm cm km µm g mg kg µg l ml cl lb lbs oz ft mph km/h Hz kHz MHz GHz kB KB MB GB TB MiB GiB W kW MW kWh V A °C °F
    °"""
UNITS = {
    "en": """
        percent million billion trillion inch inches feet miles mile degrees times meters metres kilometers kilometres
        kilos kilograms grams tons tonnes liters litres dollars euros pounds cents gigabytes megabytes megapixels
        stars points""",
    "de": """
        prozent million millionen mio milliarde milliarden mrd billion billionen zoll fuß meilen grad mal meter metern
        kilometer kilometern zentimeter kilo kilogramm gramm tonnen liter litern dollar euro pfund cent gigabyte
        megabyte megapixel sterne sternen punkte punkten""",
}


def _any_of(words: str) -> str:
    return "|".join(map(re.escape, words.split()))


_COMPOUNDS = {"en": "", "de": r"[^\W\d_]*(?:nummer|nr)|"}  # Bestellnummer
_LABELLED = {  # 100,200 and 300,400 after it share a label
    language: re.compile(
        rf"(?:\b(?:{_COMPOUNDS[language]}{_any_of(labels)})\b\.?|#)[\s:#(=]*"
        r"(?:[0-9.,;/]+\s+(?:(?:and|or|to|und|oder|bis)\s+)?)*$",
        re.IGNORECASE,
    )
    for language, labels in LABELS.items()
}
_MEASURED = {
    language: re.compile(rf"[\s\u00a0-]?(?:{_any_of(UNIT_SIGNS)}|(?i:{_any_of(units)}))(?![^\W_])")
    for language, units in UNITS.items()
}
_REACH = 200  # characters before a number in which its label is
_NUMBER = re.compile(r"(?<![\w.,])[0-9]+(?:[.,][0-9]+)+(?!\w|[.,][0-9])")


def has_separators(source: str) -> bool:
    """Whether the repair may have something to do."""
    return _NUMBER.search(source) is not None


def localize_numbers(source: str, target: str, languages: tuple[str, str]) -> str:
    """The translation, with the numbers of its source as its language writes them: 1,200.50 as 1.200,50.

    Only those that are surely numbers (with thousands apart, of money, with a unit), that the model wrote with the same
    digits. Those in placeholders and addresses stay as they are, and labels do.
    """
    if not _can_localize(languages):
        return target
    fixed = find_placeholders(source)
    new: dict[str, set[str]] = {}  # by digits: of 1,250 at $12.50 nobody knows which of the two is meant
    others = {_digits(source[slice(*place)]) for place in fixed}
    for match in _NUMBER.finditer(source):
        inside = any(start < match.end() and match.start() < end for start, end in fixed)
        sure = not inside and _is_sure(source, match, languages[0])
        if sure:
            new.setdefault(_digits(match[0]), set()).add(match[0].translate(_swap(*languages)))
        else:
            others.add(_digits(match[0]))
    thousands = SEPARATORS[languages[1]][0]
    before, after = (Counter(map(_digits, _NUMBER.findall(text))) for text in (source, target))

    def write(match: re.Match[str]) -> str:
        digits = _digits(match[0])
        number, *more = new.get(digits, {match[0]})
        # Where it is more often than in the source one is something else: 1,205 cases on May 12, 1.205 am 12.05.
        unsure = more or digits in others or after[digits] > before[digits]
        return match[0] if unsure or match[0] == number.replace(thousands, "") else number

    return _NUMBER.sub(write, target) if new else target


def localize_alone(texts: Sequence[str], languages: tuple[str, str]) -> list[str]:
    """Texts of a file that have no words, such as cells of tables, with numbers as the target language writes them.

    All or none: beside 12.500, a 3.250 that is left because it may be a version or a section would be misread. And
    beside 255,128,0 the commas of 255,255,255 do not part thousands.
    """
    if not _can_localize(languages):
        return list(texts)
    decimal = re.escape(SEPARATORS[languages[0]][1])
    for text in texts:
        for match in _NUMBER.finditer(text):
            if re.fullmatch(rf"[0-9]+{decimal}[0-9]+|[0-9]+(?:,[0-9]+)+", match[0]) and not _is_sure(
                text, match, languages[0]
            ):
                return list(texts)
    return [localize_numbers(text, text, languages) for text in texts]


def _can_localize(languages: tuple[str, str]) -> bool:
    return all(language in SEPARATORS for language in languages) and languages[0] != languages[1]


def _swap(*languages: str) -> dict[int, str]:
    here, there = (SEPARATORS[language] for language in languages)
    return str.maketrans(dict(zip(here, there, strict=True)))


def _is_sure(text: str, match: re.Match[str], language: str) -> bool:
    """Whether it is no version, section, date, label or address in a network."""
    if re.fullmatch(r"(?:[12]?[0-9]{1,2}\.){3}[12]?[0-9]{1,2}", match[0]):
        return False
    thousands, decimals = map(re.escape, SEPARATORS[language])
    before, after = text[: match.start()], text[match.end() :]
    if re.search(r"[€$£]\s?$", before) or re.match(r"\s?[%€$£]", after) or _MEASURED[language].match(after):
        if re.fullmatch(rf"[0-9]+{decimals}[0-9]+", match[0]):
            return True
    elif _LABELLED[language].search(before[-_REACH:]):
        return False
    return re.fullmatch(rf"[1-9][0-9]{{0,2}}(?:{thousands}[0-9]{{3}})+(?:{decimals}[0-9]+)?", match[0]) is not None


def _digits(text: str) -> str:
    return "".join(filter(str.isdigit, text))
