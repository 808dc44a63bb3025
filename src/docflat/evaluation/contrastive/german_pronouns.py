"""Contrastive pronouns from aligned English-German documents: "it" that is er, sie or es by what it refers to.

Rules and word lists, no parser. They ask for much, so that what they keep is right: docs/contrast.md says how often
it is. What a noun is, and its gender, genders.py knows.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from docflat.data.documents import Document
from docflat.evaluation.contrastive.examples import ContrastiveExample, Fields
from docflat.evaluation.contrastive.german_genders import MAY_SHOW, SHOWN, WORD, Genders, head, is_noun, word_set

WINDOW = 3  # sentences back in which there must be a noun that fits

_GENDERS = {"er": "m", "ihn": "m", "sie": "f", "es": "n"}
_NOMINATIVE, _ACCUSATIVE = ("er", "sie", "es"), ("ihn", "sie", "es")
_ENDS = frozenset(".?!:…\"„“”»«'()-–—")
_BREAKS = _ENDS | frozenset(",;")

# English. Contractions fall apart: "it's" is "it", "'", "s".
_PERSONS = word_set(
    "he him his she her hers they them himself herself themselves who someone everyone anyone whoever man woman mother"
    " father wife husband girl boy lady king queen"
)
_YOU = word_set("you your yours yourself")
_BE = word_set("is was be been being s isn wasn")
_MODALS = word_set(
    "will would can could may might must should shall ll d won wouldn couldn shouldn has had have hasn hadn"
)
_AUXILIARIES = _BE | _MODALS | word_set("does did do doesn didn")
_ADVERBS = word_set(
    "also just only never always still now really already then not actually often even currently simply clearly"
    " certainly probably usually first once finally therefore thus again t ' ’"
)
_STARTERS = word_set(
    "and but or so that if when because as than while since although though where what why how which whether unless"
    " until before after once yet nor then whereas perhaps maybe however today here now"
)
_PREPOSITIONS = word_set(
    "of to in on at by for with about from into onto over under through between against without within upon around"
    " like behind beyond out off up down towards toward near inside outside across along"
)
_NO_VERBS = word_set("as across towards this us its always perhaps besides")
_DETERMINERS = word_set("the this that a an our my your each every its no any some another")
_PREDICATES = _DETERMINERS | word_set("one two what all nothing something everything his her their")
# With these, "it" is nothing in particular, or all that was said before.
_IMPERSONAL = word_set(
    "seems seem seemed appears appear appeared turns turned turn happens happened happen rains rained raining snows"
    " takes took take matters matter mattered follows remains goes went says said hurts depends sounds looks feels"
    " felt looked sounded means meant becomes became makes made make comes came costs cost helps pays paid gets got"
    " strikes struck occurred occurs worked works sense late early time cold dark"
)
_STATED = word_set(
    "do did does done doing say said saying says know knew known knows think thought believe believed mean meant"
    " means make makes made making find finds found see saw seen understand hear heard tell told admit guess hope call"
    " take takes took put like love hate get got getting mind regret worth consider considers considered deem imagine"
    " feel let appreciate leave leaves left have had prove mention owe"
)

# German
_OTHER_NOMINATIVES = word_set("ich du wir man wer")
_PASSIVE = word_set("wird werden wurde wurden worden ist sind war")
_PLURAL_VERBS = word_set(
    "sind waren haben hatten hätten werden wurden würden können konnten könnten müssen mussten müssten sollen sollten"
    " wollen wollten dürfen durften dürften mögen möchten wären seien wissen tun"
)
_SINGULAR_VERBS = word_set(
    "ist war sei wäre hat hatte hätte wird wurde würde kann konnte könnte muss muß musste mußte müsste soll sollte"
    " will wollte darf durfte dürfte mag möchte ging kam gab stand lag blieb ließ lässt läßt hielt fand nahm sah"
)
_COPULAS = word_set("ist war sei wäre wird wurde werden bleibt blieb")
_ARTICLES = word_set("ein eine kein keine der die das")
_IMPERSONAL_ES = word_set(
    "gibt gab gäbe geben gebe gegeben geht ging gehe gehen handelt handelte heißt hieß kommt kam scheint schien"
    " scheine regnet gilt galt bedarf bedurfte fehlt mangelt bleibt blieb liegt lag stellt zeigt gelingt gelang"
    " gelungen leid schadet lohnt dauert dauerte stimmt reicht genügt passiert geschieht geschah sein wäre"
)
# What es stands for comes after it: "es ist gut, dass", "es ist Zeit zu gehen", "aufzubrechen".
_ANNOUNCED = re.compile(
    r"\b(dass|daß|ob|zu [a-zäöü]+n|(?:ab|an|auf|aus|bei|ein|fort|hin|her|mit|nach|vor|weg|zu)zu[a-zäöü]+n)\b"
)
_NEUTER_DETERMINERS = word_set("das dieses jenes jedes ein kein mein dein sein ihr unser euer")
_JOINTS = word_set(
    "und aber doch wenn da weil dass daß denn ob als nachdem während obwohl sobald solange falls bevor bis also auch"
    " oder sondern and but if because when that while since although though as so for once until before after or yet"
)
# "Das Problem ist ..." speaks of what comes, not of the problem.
_SHELLS = word_set(
    "Problem Beispiel Ziel Ergebnis Thema Jahr Mal Ausmaß Prinzip Argument Letzte Beste Wichtigste Ganze Einzige"
    " Gleiche Gegenteil Wort"
)


def find_examples(document: Document, genders: Genders, context: int) -> Iterator[ContrastiveExample]:
    """The sentences of a document in which "it" stands for a noun, with wrong pronouns for it.

    `context` is how many of the sentences before are kept.
    """
    targets = document.target or []
    for index, (source, target) in enumerate(zip(document.source, targets, strict=True)):
        pronoun = _find_pronoun(source, target)
        if pronoun is None:
            continue
        nouns = _candidates(pronoun, targets[max(index - WINDOW, 0) : index], genders)
        if not any(noun.fits for noun in nouns):
            continue
        if pronoun.form == "es":
            before = (document.source[index - 1], targets[index - 1]) if index else ("", "")
            distance = _distance_of_es(pronoun, *before, genders)
            if distance is None:
                continue
        else:
            distance = _distance(nouns)
        fields: Fields = {"pronoun": "er" if pronoun.form == "ihn" else pronoun.form, "form": pronoun.form}
        if distance is not None:
            fields["distance"] = distance
        if document.name:
            fields["document"] = document.name
        fields["line"] = document.line + index
        yield ContrastiveExample(
            source,
            target,
            tuple(_replace(target, pronoun.index, form) for form in pronoun.forms if form != pronoun.form),
            tuple(document.source[max(index - context, 0) : index]),
            tuple(targets[max(index - context, 0) : index]),
            fields,
        )


def choose(
    examples: Sequence[ContrastiveExample], balance: bool = False, limit: int | None = None, seed: int = 1
) -> list[ContrastiveExample]:
    """At most `limit` examples, drawn at random, in their order; `balance`: as many of each pronoun."""
    groups: dict[object, list[int]] = {pronoun: [] for pronoun in (_NOMINATIVE if balance else (None,))}
    for place, example in enumerate(examples):
        groups[example.fields["pronoun"] if balance else None].append(place)
    size = min(map(len, groups.values()))
    if limit is not None:
        size = min(size, limit // len(groups))
    draw = random.Random(seed)
    return [
        examples[place] for place in sorted(place for group in groups.values() for place in draw.sample(group, size))
    ]


@dataclass(frozen=True)
class _Pronoun:
    """The pronoun of a pair of sentences: "it", and what translates it."""

    english: list[str]  # in small letters
    german: list[str]
    index: int  # in german
    forms: tuple[str, str, str]  # the three pronouns in its case

    @property
    def form(self) -> str:
        return self.german[self.index].lower()


def _find_pronoun(source: str, target: str) -> _Pronoun | None:
    written = WORD.findall(source)
    english = [word.lower() for word in written]
    if english.count("it") != 1 or "IT" in written or _PERSONS & set(english):
        return None
    german = WORD.findall(target)
    places = [index for index, word in enumerate(german) if word.lower() in _GENDERS]
    if len(places) != 1:
        return None
    index = places[0]
    word = german[index]
    if word != word.lower() and (word != word.capitalize() or not (index == 0 or german[index - 1] in _ENDS)):
        return None  # "Sie" within a sentence is you; "ER" is a name
    if word == "Sie" and _YOU & set(english):
        return None
    clause, place = _clause(german, index)
    forms = _forms(word.lower(), _role(english), clause, place)
    if forms is None or _is_equation(english, clause, place):
        return None
    if word.lower() == "es" and not _may_be_anaphoric(english, german, index):
        return None
    return _Pronoun(english, german, index, forms)


def _role(english: Sequence[str]) -> str | None:
    """subject or object; None after a preposition, where German rarely has a pronoun."""
    place = english.index("it")
    before = english[place - 1] if place else ""
    after = next((word for word in english[place + 1 :] if word not in _ADVERBS), "")
    if after in _AUXILIARIES or before in _AUXILIARIES or before in _STARTERS or not before.isalpha():
        return "subject"
    if before in _PREPOSITIONS:
        return None
    inflected = after.isalpha() and after.endswith(("s", "ed")) and not after.endswith("ss")
    return "subject" if inflected and after not in _NO_VERBS else "object"


def _clause(words: Sequence[str], index: int) -> tuple[Sequence[str], int]:
    """The words around one of them up to the next punctuation, and its place among these."""
    start = max((i + 1 for i in range(index) if words[i] in _BREAKS), default=0)
    end = min((i for i in range(index, len(words)) if words[i] in _BREAKS), default=len(words))
    return words[start:end], index - start


def _forms(form: str, role: str | None, clause: Sequence[str], place: int) -> tuple[str, str, str] | None:
    """The pronouns in the case of this one; None if the case is not clear, or it is a plural."""
    if form == "ihn":
        return _ACCUSATIVE
    words = {word.lower() for word in clause}
    if form != "er":
        if role is None:
            return None
        if words & _OTHER_NOMINATIVES:
            return _ACCUSATIVE
        if role == "object":
            # "We must end it": "Es muss beendet werden".
            return None if words & _PASSIVE else _ACCUSATIVE
    return None if form == "sie" and _is_plural(clause, place) else _NOMINATIVE


def _is_plural(clause: Sequence[str], place: int) -> bool:
    """Whether the verb of sie is a plural: beside it, or at the end of the clause."""
    if any(word.lower() in _SINGULAR_VERBS for word in clause):
        return False
    near = (*clause[max(place - 1, 0) : place], *clause[place + 1 : place + 2], clause[-1])
    return any(
        word.lower() in _PLURAL_VERBS or (word.islower() and word.endswith(("en", "ern", "eln"))) for word in near
    )


def _is_equation(english: Sequence[str], clause: Sequence[str], place: int) -> bool:
    """ "It is a dog": es is right whatever the gender."""
    predicate = [word for word in english[english.index("it") + 1 :] if word not in _ADVERBS]
    while predicate and predicate[0] in _MODALS:
        predicate.pop(0)
    if len(predicate) > 1 and predicate[0] in _BE and predicate[1] in _PREDICATES:
        return True
    lower = [word.lower() for word in clause]
    beside = lower[max(place - 1, 0) : place + 2]
    return any(word in _COPULAS for word in beside) and any(word in _ARTICLES for word in lower[place + 1 : place + 5])


def _may_be_anaphoric(english: Sequence[str], german: Sequence[str], index: int) -> bool:
    """Whether nothing in the sentence shows that es stands for no noun: "es gibt", "it is good that", "I know it"."""
    lower = [word.lower() for word in german]
    if "there" in english or "what" in english:  # es may be their translation
        return False
    clause, _ = _clause(lower, index)
    if _IMPERSONAL_ES & set(clause) or _PLURAL_VERBS & set(lower[max(index - 2, 0) : index + 3]):
        return False
    if _ANNOUNCED.search(" ".join(german[index:])):
        return False
    place = english.index("it")
    after = [word for word in english[place + 1 :] if word not in _ADVERBS and word.isalpha()]
    if _IMPERSONAL & set(after[:4]) or "that" in after:
        return False
    return _role(english) != "object" or english[place - 1] not in _STATED


@dataclass(frozen=True)
class _Noun:
    """A noun before a pronoun that may be what it stands for."""

    word: str
    distance: int  # sentences back
    fits: bool  # False: its gender is not known


def _candidates(pronoun: _Pronoun, before: Sequence[str], genders: Genders) -> list[_Noun]:
    """The nouns that have the gender of a pronoun, or may have it; the nearest sentence first."""
    wanted = _GENDERS[pronoun.form]
    nouns = []
    for distance, words in enumerate((pronoun.german[: pronoun.index], *map(WORD.findall, reversed(before)))):
        shown = ""  # by the last determiner
        for word in words:
            if is_noun(word):
                gender = genders.of(word)
                if gender == wanted or (gender is None and shown in MAY_SHOW[wanted]):
                    nouns.append(_Noun(word, distance, gender == wanted))
            shown = SHOWN.get(word.lower(), shown if word.islower() else "")
    return nouns


def _distance(nouns: Sequence[_Noun]) -> int | None:
    """How far back a pronoun refers, if only one noun may be meant, or those of one sentence."""
    certain = len({noun.word for noun in nouns}) == 1 or len({noun.distance for noun in nouns}) == 1
    return nouns[0].distance if certain else None


def _distance_of_es(pronoun: _Pronoun, source_before: str, target_before: str, genders: Genders) -> int | None:
    """How far back is a neuter noun that the text is about: a clause opens with it in both languages.

    es has other uses than er and sie, so that a noun that fits is not enough.
    """
    place = pronoun.english.index("it")
    english = _sentence(pronoun.english[:place])
    german = _sentence(pronoun.german[: pronoun.index])
    named = [start for start in _openings(english) if english[start] in _DETERMINERS]
    if named:
        starts = [start for start in _openings(german) if _BREAKS & set(german[start:])]
        return 0 if any(_opens_with_neuter(german[start:], genders) for start in starts) else None
    if _BREAKS & {*english, *german}:
        return None
    english, german = [word.lower() for word in WORD.findall(source_before)], WORD.findall(target_before)
    for start, other in zip(_openings(english)[:1], _openings(german)[:1], strict=False):
        if english[start] in _DETERMINERS and _opens_with_neuter(german[other:], genders):
            return 1
    return None


def _sentence(words: Sequence[str]) -> Sequence[str]:
    """The end of the words, from where a sentence begins in them."""
    return words[max((index + 1 for index, word in enumerate(words) if word in ".?!"), default=0) :]


def _openings(words: Sequence[str]) -> list[int]:
    """Where clauses begin: at the start and after punctuation, behind the words that join them."""
    openings, opens = [], True
    for index, word in enumerate(words):
        if word in _BREAKS:
            opens = True
        elif opens and word.lower() not in _JOINTS:
            openings.append(index)
            opens = False
    return openings


def _opens_with_neuter(words: Sequence[str], genders: Genders) -> bool:
    noun = head(words[1:4]) if words[0].lower() in _NEUTER_DETERMINERS else None
    return noun is not None and noun not in _SHELLS and not noun.endswith("ste") and genders.of(noun) == "n"


def _replace(sentence: str, index: int, form: str) -> str:
    """The sentence with another word in that place, with a capital where that was."""
    word = list(WORD.finditer(sentence))[index]
    written = form.capitalize() if word.group()[0].isupper() else form
    return sentence[: word.start()] + written + sentence[word.end() :]
