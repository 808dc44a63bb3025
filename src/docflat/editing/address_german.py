"""How German says you: du or Sie, and a sentence said the other way.

The verb changes with the pronoun (du hast, Sie haben), and only the rest of the sentence tells which word the verb is
and whether *Sie* is its subject; so there are several candidates, and a model says which of them is German.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise, product

from docflat.decoding.alignment import Links, find_words
from docflat.editing.address import FORMAL, INFORMAL, AddressTable
from docflat.editing.variants import Change, starts_sentence
from docflat.support.text_ranges import Range

SIE, DU = "Sie", "du"
YOU = frozenset({"you", "your", "yours", "yourself", "u", "ya"})
_PLURAL = frozenset({"ihr", "euch", "euer", "eure", "euren", "eurem", "eurer", "eures"})
_MOST_CANDIDATES = 40
_MOST_COMBINATIONS = 5_000  # in which they are looked for: each word that may change doubles their number
_MOST_CLAUSES = 3  # of a sentence, in which an imperative is looked for
_MOST_PLACES = 4  # of a sentence: one with more says you too often to be turned over safely

_ENDINGS = ("", "e", "en", "em", "er", "es")
# Forms of the pronoun. The first of several is the likeliest; "sich" is both, so that it is changed beside Sie alone.
_TO_FORMAL = {"du": ("Sie",), "dich": ("Sie", "sich"), "dir": ("Ihnen", "sich"), "deins": ("Ihres",)}
_TO_INFORMAL = {"Sie": ("du", "dich"), "Ihnen": ("dir",)}
for _end in _ENDINGS:
    _TO_FORMAL[f"dein{_end}"] = (f"Ihr{_end}",)
    _TO_INFORMAL[f"Ihr{_end}"] = (f"dein{_end}",)

# Verbs whose form with du is not made of the infinitive's stem: infinitive, form with du, imperative.
_IRREGULAR = """
sind bist sei|haben hast hab|werden wirst werde|können kannst -|wollen willst -|müssen musst -|dürfen darfst -
mögen magst -|wissen weißt wisse|tun tust tu|geben gibst gib|nehmen nimmst nimm|sehen siehst sieh|lesen liest lies
essen isst iss|vergessen vergisst vergiss|sprechen sprichst sprich|brechen brichst brich|treffen triffst triff
helfen hilfst hilf|werfen wirfst wirf|sterben stirbst stirb|treten trittst tritt|stehlen stiehlst stiehl
fehlen fehlst fehl|befehlen befiehlst befiehl|empfehlen empfiehlst empfiehl|messen misst miss|gelten giltst gilt
werben wirbst wirb|fahren fährst fahr|tragen trägst trag|schlafen schläfst schlaf|lassen lässt lass
fallen fällst fall|halten hältst halt|raten rätst rat|fangen fängst fang|laden lädst lad|schlagen schlägst schlag
waschen wäschst wasch|wachsen wächst wachs|graben gräbst grab|laufen läufst lauf|saufen säufst sauf
stoßen stößt stoß|heißen heißt heiß|sitzen sitzt sitz|setzen setzt setz|müssten müsstest -|möchten möchtest -
warten wartest warte|reisen reist reise|tanzen tanzt tanz|benutzen benutzt benutz|nutzen nutzt nutz|wären wärst -
schließen schließt schließ|wiesen wiest -|ließen ließt -|verließen verließt -|seien seist sei|hätten hättest -
"""
_VERBS = [entry.split() for line in _IRREGULAR.strip().splitlines() for entry in line.split("|")]
_WITH_DU = {verb: form for verb, form, _ in _VERBS}
_WITH_SIE = {form: verb for verb, form, _ in reversed(_VERBS)}
_IMPERATIVE = {verb: form for verb, _, form in _VERBS if form != "-"} | {"seien": "sei"}
_OF_IMPERATIVE = {form: verb for verb, form in _IMPERATIVE.items()} | {"sei": "seien"}
_PREFIX = re.compile(r"(?:an|ab|auf|aus|be|bei|ein|emp|ent|er|her|hin|mit|nach|um|ver|vor|weg|zer|zu|zurück|los)+")
# They end as a form with du does, and are none.
_ST = """
ist erst fast selbst sonst meist längst zuerst höchst jüngst möglichst zunächst einst ernst bewusst getrost nebst
samst wüst fest lust trost rest last best größt nächst schönst gewusst gemusst
"""
_NO_VERBS = frozenset(_ST.split())
_N = """
den einen keinen meinen seinen ihren unseren diesen jenen welchen jeden allen vielen anderen guten neuen dann denn
wenn wann schon nun kann gegen zwischen neben oben unten draußen drinnen morgen gestern hin von man in an ein
kein mein sein dein zusammen eben deswegen wegen bin darin daran davon nein
"""
_NO_PLURALS = frozenset(_N.split())
_QUOTES = re.compile(r"[\"„“”»«‚‘]|(?<!\w)'|'(?!\w)")
_ADDRESS = re.compile(
    r"(?<=[\w,;:–-] )(?:Sie|Ihnen|Ihr(?:e[nmrs]?)?)\b|\b(?:[Dd]u|[Dd]ich|[Dd]ir|[Dd]ein(?:e[nmrs]?|s)?)\b"
)
_ADDRESS_AT_START = re.compile(r"\b(?:Sie|Ihnen|Ihre[nmrs]?)\b")
_YOU = re.compile(rf"\b(?:{'|'.join(sorted(YOU))})\b", re.IGNORECASE)
_CLAUSE_ENDS = frozenset(',;:.!?…"„“”»«()–—')


def is_open(source: str, draft: str) -> bool:
    """Whether it is worth while to align them. What is quoted is said by somebody else, to others."""
    if _QUOTES.search(source) or _QUOTES.search(draft):
        return False
    return bool(_ADDRESS.search(draft)) or (bool(_ADDRESS_AT_START.search(draft)) and bool(_YOU.search(source)))


def address_of(source: str, draft: str, links: Links) -> str:
    """Which of both the draft uses for you; empty: none, both, or several people."""
    places = find_words(draft)
    words = [draft[slice(*place)] for place in places]
    if any(
        (word.lower() if starts_sentence(draft, start) else word) in _PLURAL
        for word, (start, _) in zip(words, places, strict=True)
    ):
        return ""
    formal, informal = _formal(source, draft, links), _informal(words)
    if formal and not informal:
        return SIE
    return DU if informal and not formal else ""


def _informal(words: Sequence[str]) -> list[int]:
    return [number for number, word in enumerate(words) if word.lower() in _TO_FORMAL]


def _formal(source: str, draft: str, links: Links) -> list[int]:
    """Where a sentence starts, Sie may be they, and Ihr her: there it must translate you."""
    places, source_words = find_words(draft), find_words(source)
    you = {n for n, place in enumerate(source_words) if source[slice(*place)].lower() in YOU}
    numbers = [n for n, place in enumerate(places) if draft[slice(*place)] in _TO_INFORMAL]
    sure = [n for n in numbers if not starts_sentence(draft, places[n][0])]
    return [n for n in numbers if n in sure or any(s in you for s, t in links if t == n)]


def readdress(source: str, draft: str, links: Links, to: str) -> list[tuple[Change, ...]]:
    """Candidates of the draft with the other address."""
    places = find_words(draft)
    starts = [starts_sentence(draft, place[0]) for place in places]
    words = [draft[slice(*place)] for place in places]
    numbers = _formal(source, draft, links) if to == DU else _informal(words)
    if to == DU:  # a capital says Sie from sie; of all others it only says where a sentence starts
        words = [
            word.lower() if start and word not in _TO_INFORMAL else word
            for word, start in zip(words, starts, strict=True)
        ]
    else:
        words = [word.lower() if start else word for word, start in zip(words, starts, strict=True)]
    if not numbers or len(numbers) > _MOST_PLACES:
        return []
    options = list(_to_formal(words, numbers) if to == SIE else _to_informal(words, numbers))
    candidates: dict[tuple[Change, ...], None] = {}
    for chosen in islice(product(*options), _MOST_COMBINATIONS):
        spans = {span: new for part in chosen for span, new in part.items()}
        if sum(map(len, chosen)) == len(spans) and not _overlap(sorted(spans)):
            candidates[_changes(draft, places, spans)] = None
        if len(candidates) == _MOST_CANDIDATES:
            break
    return list(candidates)


_Part = dict[Range, str]  # words from and to, and what comes in their place


def _overlap(spans: Sequence[Range]) -> bool:
    return any(after[0] < before[1] for before, after in pairwise(spans))


def _changes(draft: str, places: Sequence[Range], spans: _Part) -> tuple[Change, ...]:
    changes = []
    for (first, end), new in sorted(spans.items()):
        place = (places[first][0], places[end - 1][1])
        old = draft[slice(*place)]
        is_start = starts_sentence(draft, place[0]) and old[0].isupper()
        changes.append(Change(place, old, new[0].upper() + new[1:] if is_start else new, "you"))
    return tuple(changes)


def _to_formal(words: Sequence[str], numbers: Sequence[int]) -> Iterator[list[_Part]]:
    for number in numbers:
        yield [{(number, number + 1): new} for new in _TO_FORMAL[words[number].lower()]]
    for number, word in enumerate(words):
        if number not in numbers and word.islower() and (verb := _with_sie(word)):
            near = any(words[n].lower() == "du" and abs(n - number) == 1 for n in numbers)
            yield [{(number, number + 1): verb}] if near else [{(number, number + 1): verb}, {}]
    clauses = [n for n in range(len(words)) if (not n or words[n - 1] in _CLAUSE_ENDS) and words[n].islower()]
    for number in clauses[:_MOST_CLAUSES]:
        if number not in numbers and (verb := _of_imperative(words[number])):
            yield [{}, {(number, number + 1): f"{verb} Sie"}]


def _with_sie(form: str) -> str:
    """Of a verb's form with du; empty: it is none."""
    if form in _NO_VERBS:
        return ""
    known = _irregular(form, _WITH_SIE)
    if known or not form.endswith("st") or len(form) < 4:
        return known
    stem = form[:-2]
    return stem + ("n" if stem.endswith(("e", "er", "el")) else "en")


def _irregular(form: str, table: dict[str, str]) -> str:
    """Also with a prefix: vergibst as gibst."""
    if form in table:
        return table[form]
    for start in range(1, len(form) - 2):
        if form[start:] in table and _PREFIX.fullmatch(form[:start]):
            return form[:start] + table[form[start:]]
    return ""


def _of_imperative(form: str) -> str:
    known = _irregular(form, _OF_IMPERATIVE)
    if known or not form.isalpha() or form in _NO_VERBS:
        return known
    return form + "n" if form.endswith("e") else form + "en"


def _to_informal(words: Sequence[str], numbers: Sequence[int]) -> Iterator[list[_Part]]:
    for number in numbers:
        pronouns = _TO_INFORMAL[words[number]]
        options: list[_Part] = []
        if words[number] == "Sie":
            options += [{**{(number, number + 1): "du"}, **verbs} for verbs in _verbs_of(words, number)] + list(
                _imperatives(words, number)
            )
        options += [{(number, number + 1): new} for new in pronouns if new != "du"]
        yield options
    if any(words[number] == "Sie" for number in numbers):
        for number, word in enumerate(words):
            if word == "sich":
                yield [{(number, number + 1): new} for new in ("dich", "dir")] + [{}]


def _verbs_of(words: Sequence[str], subject: int) -> Iterator[_Part]:
    """Which words may be the verb of this subject, in their forms with du: beside it, or at the end of its clause."""
    after = [n for n in range(subject + 1, len(words)) if words[n] in _CLAUSE_ENDS]
    last = (after[0] if after else len(words)) - 1
    near = [subject + 1, subject - 1, last, last - 1]
    verbs = [n for n in dict.fromkeys(near) if 0 <= n < len(words) and n != subject and _is_plural(words, n)]
    for number in verbs:
        yield {(number, number + 1): _with_du(words[number])}


def _is_plural(words: Sequence[str], number: int) -> bool:
    word = words[number]
    return word.islower() and len(word) > 2 and word.endswith(("n", "sind")) and word not in _NO_PLURALS


def _with_du(verb: str) -> str:
    known = _irregular(verb, _WITH_DU)
    if known:
        return known
    if verb.endswith(("ern", "eln")):
        return verb[:-1] + "st"
    stem = verb.removesuffix("en") if verb.endswith("en") else verb.removesuffix("n")
    if stem.endswith(("s", "ß", "z", "x")):
        return stem + "t"
    return stem + ("est" if stem.endswith(("t", "d", "chn", "ffn", "gn")) else "st")


def _imperatives(words: Sequence[str], subject: int) -> Iterator[_Part]:
    """Klicken Sie: klicke, klick."""
    before = subject - 1
    if before < 0 or not _is_plural(words, before) or (before and words[before - 1] not in _CLAUSE_ENDS):
        return
    verb = words[before]
    known = _irregular(verb, _IMPERATIVE)
    stem = verb.removesuffix("en") if verb.endswith("en") else verb.removesuffix("n")
    regular = (f"{stem}e",) if stem.endswith(("t", "d", "chn", "ffn", "gn")) else (f"{stem}e", stem)
    for form in (known,) if known else regular:
        yield {(before, subject + 1): form}


TABLE = AddressTable({FORMAL: SIE, INFORMAL: DU}, is_open, address_of, readdress)
