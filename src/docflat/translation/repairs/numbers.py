"""The numbers of a sentence and of its translation: written as the target language writes them, and compared."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from docflat.support.text_ranges import Range

# What stands between thousands, and before decimals.
SEPARATORS = {"en": (",", "."), "de": (".", ",")}

_NUMBER = re.compile(r"(?<![\w.,])[0-9]+(?:[.,][0-9]+)+(?!\w|[.,][0-9])")
_RUN = re.compile("[0-9]+")
_THOUSANDS = re.compile(r"(?<=[0-9])[.,'’\u00a0\u202f](?=[0-9]{3}(?![0-9]))")
_BLANK = re.compile(r"(?<=[0-9]) (?=[0-9]{3}(?![0-9]))")
# 3:30 p.m.; from 3 to 5 pm, where the first has the half of the day too. 15.30 Uhr; 8 Uhr abends.
_HOUR = r"(?<![0-9:.,])([0-9]{1,2})(?:[:.][0-9]{2})?"
_CLOCK = re.compile(rf"(?:{_HOUR}\s?(?:-|–|to|and|until)\s?)?{_HOUR}\s?([ap])\.?\s?m\b", re.IGNORECASE)
_UHR = re.compile(
    rf"(?:{_HOUR}(?:\s?Uhr)?\s?(?:-|–|bis|und)\s?)?{_HOUR}\s?Uhr\b"
    r"(?:\s(?:am\s)?(?:(morgen|vormittag|früh)|(nachmittag|abend)))?",
    re.IGNORECASE,
)
_OF_24 = re.compile(r"(?<![0-9:.,])([0-9]{1,2})[:.][0-9]{2}(?![0-9])")
_PART_OF_DAY = re.compile("mittag|abend|nacht", re.IGNORECASE)
_NOUN = r"(?![:.]?[0-9]|\s?Uhr)\s[A-ZÄÖÜ]"  # German: 15 Pillen are no hour
# How words for 1 to 12 begin, in English and German: numbers, and months. In other languages they are not known.
_WORDS = [
    re.compile(rf"\b(?:{stems})")
    for stems in (
        "one|first|once|ein|erst|jan",
        "two|second|twice|zwei|zwo|feb",
        "three|third|drei|dritt|mar|mär",
        "four|vier|apr",
        "five|fifth|fünf|may|mai",
        "six|sechs|jun",
        "seven|sieb|jul",
        "eight|acht|aug",
        "nine|ninth|neun|sep",
        "ten|zehn|oct|okt",
        "eleven|elf|nov",
        "twelve|twelfth|zwölf|dec|dez|noon|mittag|midnight|mitternacht",
    )
]


def localize_numbers(source: str, target: str, languages: tuple[str, str], fixed: Sequence[Range] = ()) -> str:
    """The translation, with the numbers of its source as its language writes them: 1,200.50 as 1.200,50.

    Only those that are surely numbers (with thousands apart, of money, percents), that the model wrote with the same
    digits. Those in the ranges `fixed` of the source stay as they are.
    """
    if not _can_localize(languages):
        return target
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
    """Whether it is no version, section, date or address in a network."""
    if re.fullmatch(r"(?:[12]?[0-9]{1,2}\.){3}[12]?[0-9]{1,2}", match[0]):
        return False
    thousands, decimals = map(re.escape, SEPARATORS[language])
    if re.fullmatch(rf"[1-9][0-9]{{0,2}}(?:{thousands}[0-9]{{3}})+(?:{decimals}[0-9]+)?", match[0]):
        return True
    is_amount = re.match(r"\s?[%€$£]", text[match.end() :]) or re.search(r"[€$£]\s?$", text[: match.start()])
    return bool(is_amount) and re.fullmatch(rf"[0-9]+{decimals}[0-9]+", match[0]) is not None


def _digits(text: str) -> str:
    return "".join(filter(str.isdigit, text))


def numbers_differ(source: str, target: str) -> bool:
    """Whether a translation has other numbers than its source, whatever separates their digits.

    What may become a word or come from one is no difference: small numbers, months; nor is the clock of 24 hours for
    that of 12, if it is the same hour.
    """
    # A blank parts thousands, or two numbers: only what holds for neither is a difference.
    other = all(_differ(*texts) for texts in ((source, target), (_BLANK.sub("", source), _BLANK.sub("", target))))
    return other or bool(_wrong_hours(source, target) or _wrong_hours(target, source))


def _differ(source: str, target: str) -> bool:
    left, new = ([_plain(run) for run in _RUN.findall(_THOUSANDS.sub("", text))] for text in (source, target))
    left, new = _without(left, new), _without(new, left)
    for text, other, here, there in ((source, target, left, new), (target, source, new, left)):
        for written, hour in _clocks(text):
            shifted = [new for new in (hour, hour or 24) if _plain(str(new)) in there]
            if str(written) in here and shifted and not re.search(rf"(?<![0-9]){shifted[0]}{_NOUN}", other):
                here.remove(str(written))
                there.remove(_plain(str(shifted[0])))
    decades = [(a, b) for a in left for b in new if {len(a), len(b)} == {2, 4} and a[-2:] == b[-2:]]
    left, new = _without(left, [a for a, _ in decades]), _without(new, [b for _, b in decades])
    return any(not _is_word(number, target) for number in left) or any(not _is_word(number, source) for number in new)


def _clocks(text: str) -> list[tuple[int, int]]:
    """The hours of the clock of 12, as they are written, and as hours of the day: 9 p.m. is 9 and 21."""
    found = []
    for match in _CLOCK.finditer(text):
        last = int(match[2])
        half = 12 * (match[3].lower() == "p")
        found.append((last, last % 12 + half))
        if match[1]:  # of 11 to 1 pm the first is before noon
            first = int(match[1])
            found.append((first, first % 12 + (half if first % 12 <= last % 12 else 12 - half)))
    return found


def localize_hours(source: str, german: str) -> str:
    """A German translation with hours at the right half of the day: 9 Uhr for 9 a.m., where a model wrote 21 Uhr.

    Not if it says a part of the day, which may be wrong as well; nor if it has the right hour too: in "at 9, not at
    9 pm" the first is no wrong 21 Uhr.
    """
    hours = {int(hour) % 24 for match in _UHR.finditer(german) for hour in match.group(1, 2) if hour}
    if not _PART_OF_DAY.search(german):
        for (start, end), right, said in reversed(_wrong_hours(source, german)):
            if len(right) == 1 and not said and not right & hours:
                german = f"{german[:start]}{right.pop()}{german[end:]}"
    return german


def _wrong_hours(text: str, german: str) -> list[tuple[Range, set[int], bool]]:
    """Hours of a German text at the other half of the day than those of a text in the clock of 12.

    Such is 9 Uhr for 9 p.m., without a word of evening. What the other text has in the clock of 24 is right. With
    each the hours that it should be, and whether a part of the day is said of it.
    """
    hours = [hour for _, hour in _clocks(text)]
    others = {int(hour) % 24 for hour in _OF_24.findall(_CLOCK.sub(" ", text))}
    in_part = _PART_OF_DAY.search(german) is not None
    found = []
    for match in _UHR.finditer(german) if hours else ():
        for group in (1, 2):
            if match[group]:
                hour = int(match[group]) % 24
                alike = {one for one in hours if one % 12 == hour % 12}
                morning, evening = (bool(match[n]) and group == 2 for n in (3, 4))
                if alike and hour not in others and not alike & _meant(hour, morning, evening, in_part):
                    found.append((match.span(group), alike, morning or evening))
    return found


def _meant(hour: int, morning: bool, evening: bool, in_part: bool) -> set[int]:
    """The hours of the day that an hour may be; in_part: a part of the day is said somewhere."""
    if hour > 12 or morning:
        return {hour}
    if evening:
        return {hour % 12 + 12}
    return {hour % 12, hour % 12 + 12} if in_part else {hour}


def _plain(run: str) -> str:
    """Without zeros before it: 5 for 05, and nothing for 0 and 00; but 000 are thousands."""
    return run.lstrip("0") or run * (len(run) > 2)


def _without(numbers: Sequence[str], others: Sequence[str]) -> list[str]:
    """Those that the others do not have, each as often as it is there too often; in order."""
    left = Counter(others)
    found = []
    for number in numbers:
        if left[number]:
            left[number] -= 1
        else:
            found.append(number)
    return found


def _is_word(number: str, text: str) -> bool:
    """Whether a text has it as a word; nothing, as in 10.00, needs none."""
    if not number:
        return True
    return len(number) <= 2 and int(number) <= len(_WORDS) and _WORDS[int(number) - 1].search(text.lower()) is not None
