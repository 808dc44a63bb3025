"""Numbers of an English text as German writes them: 1,200.50 as 1.200,50.

Only numbers of thousands whose signs a model mixed up, so that they are numbers in no language (6.229.21). Those that
it copied (1,200) are left, though that is a thousandth to a German: human translators copy 15 in 1,000 of them, so a
repair would change what people wrote. A warning names them. A copied decimal point (1.5 kg) says the same, and is left.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from docflat.translation.placeholders import find_placeholders

# Words before a number that is a label, and stays as it is printed on the thing.
LABELS = """
    id ids rgb rgba hsl hsv cmyk no nos num number numbers order ref refs reference references code codes version
    versions v section sections chapter chapters page pages p pp part parts article articles item items invoice
    invoices ticket tickets case cases room rooms build builds release releases bug bugs issue issues port ports line
    lines isbn issn doi model type serial value values coordinates channel amendment amendments"""
_LABELLED = re.compile(  # 100,200 and 300,400 after it share a label
    rf"(?:\b(?:{'|'.join(LABELS.split())})\b\.?|#)[\s:#(=]*(?:[0-9.,;/]+\s+(?:(?:and|or|to)\s+)?)*$", re.IGNORECASE
)
_REACH = 200  # characters before a number in which its label is
_NUMBER = re.compile(r"(?<![\w.,:])[0-9]+(?:[.,][0-9]+)+(?!\w|[.,][0-9])")
_THOUSANDS = re.compile(r"[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?")
# A number of English or of German. 12.595.75 is none of either, nor 1,234,56.
_IN_A_LANGUAGE = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})*(?:\.[0-9]+)?|[0-9]{1,3}(?:\.[0-9]{3})*(?:,[0-9]+)?")
_MISREAD = re.compile(r"[0-9]{1,3},[0-9]{3}")
_TWICE = re.compile(r"([0-9]{3}),\1")  # a size, such as 200,200
_LISTED = (re.compile(r"[0-9],\s*$"), re.compile(r",\s*[0-9]"))  # 96, 107,109, 111: a blank is missing
_QUOTED = (re.compile("[\"'“”‘`]$"), re.compile("^[\"'“”’`]"))  # what a program prints
_ABOUT_NUMBERS = re.compile(r"\b(?:separators?|locales?|cultures?|decimal point)\b", re.IGNORECASE)
_SWAP = str.maketrans(",.", ".,")


def has_thousands(source: str) -> bool:
    """Whether the repair may have something to do."""
    return any(True for _ in _numbers(source))


def _numbers(source: str) -> Iterator[re.Match[str]]:
    """The numbers of thousands that are no labels, lists, percents, quotes or part of an address."""
    matches = list(_NUMBER.finditer(source))
    if not matches or _ABOUT_NUMBERS.search(source):
        return
    fixed = find_placeholders(source)
    for match in matches:
        before, after = source[: match.start()], source[match.end() :]
        if (
            _THOUSANDS.fullmatch(match[0])
            and not _TWICE.fullmatch(match[0])
            and not _LABELLED.search(before[-_REACH:])
            and not (_QUOTED[0].search(before) or _QUOTED[1].match(after))
            and not (_LISTED[0].search(before) or _LISTED[1].match(after) or re.match(r"\s?%", after))
            and not any(start < match.end() and match.start() < end for start, end in fixed)
        ):
            yield match


def localize_numbers(source: str, german: str) -> str:
    """The translation with the numbers of its source that the model wrote so that they are numbers in no language.

    Such as 6.229.21 for 6,229.21. What it wrote as in English is left, as people leave it: `has_english_thousands`.
    """
    instead = {
        match.start(): new for match, new in _unlike_german(source, german) if not _IN_A_LANGUAGE.fullmatch(match[0])
    }
    return _NUMBER.sub(lambda match: instead.get(match.start(), match[0]), german) if instead else german


def has_english_thousands(source: str, german: str) -> bool:
    """Whether a number of the source has the sign of its thousands in the translation too, where it says a thousandth.

    In 1,200,000 and 1,200.50 it says so to nobody.
    """
    return any(_MISREAD.fullmatch(match[0]) for match, _ in _unlike_german(source, german))


def _unlike_german(source: str, german: str) -> list[tuple[re.Match[str], str]]:
    """Numbers with the digits of the source's thousands, but not as German writes them; and how it does.

    Not where a dollar or pound sign stands before one, as in English: that is left whole.
    """
    matches = list(_numbers(source))
    if not matches:
        return []
    numbers = {_digits(match[0]): match[0].translate(_SWAP) for match in matches}
    before, after = (Counter(map(_digits, _NUMBER.findall(text))) for text in (source, german))
    sure = Counter(_digits(match[0]) for match in matches)
    unlike = []
    for match in _NUMBER.finditer(german):
        digits = _digits(match[0])
        # Where it is more often than in the source one is something else: 1,205 cases on May 12, 1.205 am 12.05.
        is_sure = digits in numbers and before[digits] == sure[digits] >= after[digits]
        is_english = re.search(r"[$£]\s?$", german[: match.start()]) is not None
        # Thousands may be apart or not.
        is_german = is_sure and match[0].replace(".", "") == numbers[digits].replace(".", "")
        if is_sure and not is_english and not is_german:
            unlike.append((match, numbers[digits]))
    return unlike


def _digits(text: str) -> str:
    return "".join(filter(str.isdigit, text))
