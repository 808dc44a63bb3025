"""Why a file or a glossary is refused, in German.

What reads files says it in English, for a terminal. Here are its sentences with {} for what changes in them, and their
German with {0}, {1} and so on for the same; `tests/unit/service/test_reasons.py` looks for each in the code.
"""

from __future__ import annotations

import re
from functools import cache

_OPTIONS = (
    (" (--lines takes each line as text)", ""),
    ("--keys names", "keys names"),
    ("--columns names", "keys names"),
)

GERMAN = {
    # any file
    "is empty": "ist leer",
    "cannot be read: {}": "ist nicht lesbar: {0}",
    "is larger than {} MiB, the most of one file": "ist größer als {0} MiB, das Höchste für eine Datei",
    "is larger than {} MiB, the most of one text": "ist größer als {0} MiB, das Höchste für einen Text",
    "is larger than {} MiB, the most of subtitles": "ist größer als {0} MiB, das Höchste für Untertitel",
    "not {}, as its first bytes say": "ist nicht {0}, wie seine ersten Bytes sagen",
    "not {}": "ist nicht {0}",
    "not UTF-8; save it as UTF-8": "ist nicht UTF-8; bitte als UTF-8 speichern",
    "cannot be written as {} again; save it as UTF-8": (
        "lässt sich nicht wieder als {0} schreiben; bitte als UTF-8 speichern"
    ),
    "is broken: {}": "ist beschädigt: {0}",
    "is nested too deep": "ist zu tief verschachtelt",
    "no format for files ending in {}; there are {}": "kein Format für Dateien auf {0}; es gibt {1}",
    "{} files need {}, {}": "für Dateien auf {0} fehlt auf dem Server {1}",
    "nothing to translate: {}": "nichts zu übersetzen: {0}",
    "nothing was translated: every sentence came back as it was": (
        "nichts wurde übersetzt: jeder Satz kam zurück, wie er war"
    ),
    # zip and office
    "is encrypted, or an office file of before 2007; save it anew, without a password": (
        "ist verschlüsselt, oder eine Office-Datei von vor 2007; bitte neu speichern, ohne Passwort"
    ),
    "is encrypted; save it anew, without a password": "ist verschlüsselt; bitte ohne Passwort neu speichern",
    "has {} parts; {} are the most": "hat {0} Teile; höchstens {1} sind erlaubt",
    "{} is packed by method {}, as no office program does": (
        "{0} ist gepackt wie in keinem Office-Programm (Verfahren {1})"
    ),
    "has two parts named {}": "hat zwei Teile mit dem Namen {0}",
    "unpacks to more than {} MiB, the most of one file": "wird entpackt größer als {0} MiB, das Höchste für eine Datei",
    "{} unpacks to more than {} times its size: a zip bomb?": (
        "{0} wird entpackt mehr als {1}-mal so groß: eine Zip-Bombe?"
    ),
    "is no {} file, or is broken: it has no main part": "ist keine Datei von {0}, oder beschädigt: ihr Hauptteil fehlt",
    "is no {} file: its main part, {}, is something else": (
        "ist keine Datei von {0}: ihr Hauptteil, {1}, ist etwas anderes"
    ),
    "is not an {}: it says it is {}": "ist keine Datei der Art {0}: sie sagt von sich, sie sei {1}",
    "is not an {}, or is broken: it has no content.xml": (
        "ist keine Datei der Art {0}, oder beschädigt: content.xml fehlt"
    ),
    "is under copy protection": "hat einen Kopierschutz",
    "is no EPUB, or is broken: it has no META-INF/container.xml": (
        "ist kein EPUB, oder beschädigt: META-INF/container.xml fehlt"
    ),
    "is broken: its META-INF/container.xml names no package that is there": (
        "ist beschädigt: META-INF/container.xml nennt kein Paket, das es gibt"
    ),
    # PDF
    "is no PDF": "ist kein PDF",
    "is no PDF, or is broken": "ist kein PDF, oder beschädigt",
    "is encrypted; save it without a password": "ist verschlüsselt; bitte ohne Passwort speichern",
    "has {} pages; {} are the most": "hat {0} Seiten; höchstens {1} sind erlaubt",
    "has more than {} letters": "hat mehr als {0} Buchstaben",
    "cannot be read: it is broken, or needs too much memory or time": (
        "ist nicht lesbar: beschädigt, oder es braucht zu viel Speicher oder Zeit"
    ),
    "has no pages": "hat keine Seiten",
    "has no text: {}; a program for recognition of text (OCR) may help": (
        "hat keinen Text: {0}; ein Programm zur Texterkennung (OCR) kann helfen"
    ),
    "does not say which letters its signs are; a program for recognition of text (OCR) may help": (
        "sagt nicht, welche Buchstaben seine Zeichen sind; ein Programm zur Texterkennung (OCR) kann helfen"
    ),
    "takes more than {} s to read": "braucht mehr als {0} s zum Lesen",
    "PDF needs pypdfium2: pip install 'docflat[pdf]'": "für PDF fehlt auf dem Server pypdfium2 (docflat[pdf])",
    # XML
    "is not XML: {}": "ist kein XML: {0}",
    "is not XML: not {}": "ist kein XML: nicht {0}",
    "is not XML: it has a zero byte": "ist kein XML: ein Byte darin ist null",
    "is XML in {}, which is not read": "ist XML in {0}, das nicht gelesen wird",
    "has more than {} elements in each other": "hat mehr als {0} Elemente ineinander",
    "has more than {} elements in one part": "hat mehr als {0} Elemente in einem Teil",
    "has a document type declaration, which is not read": "hat eine Dokumenttyp-Deklaration, die nicht gelesen wird",
    "its tags are not XML: {}": "seine Tags sind kein XML: {0}",
    # catalogues
    (
        "is XML, but no Android resources: nothing says which of its text is to be translated "
        "(--lines takes each line for a sentence, tags and all)"
    ): "ist XML, aber keine Ressourcen von Android: nichts sagt, was davon zu übersetzen ist",
    "has no <string>, <plurals> or <string-array>": "hat kein <string>, <plurals> oder <string-array>",
    'expected ";" after the last value': 'nach dem letzten Wert wird ";" erwartet',
    'has no "key" = "value";': 'hat kein "Schlüssel" = "Wert";',
    'expected "key" = "value"; found {}': '"Schlüssel" = "Wert" wird erwartet; da steht {0}',
    'expected "key" = "value";': '"Schlüssel" = "Wert"; wird erwartet',
    "expected a JSON object of messages": "ein JSON-Objekt mit Meldungen wird erwartet",
    "has no message": "hat keine Meldung",
    "no text under the keys {}; --keys names others": "kein Text unter den Schlüsseln {0}; keys nennt andere",
    "is not JSON: {}": "ist kein JSON: {0}",
    "has more than {} messages": "hat mehr als {0} Meldungen",
    "has a charset that is not known: {}": "hat einen unbekannten Zeichensatz: {0}",
    "an entry without {}": "ein Eintrag ohne {0}",
    "msgid_plural goes with msgstr[0] and so on, and only with them": (
        "msgid_plural gehört zu msgstr[0] und so weiter, und nur dazu"
    ),
    "not {}, which is its charset": "nicht {0}, das sein Zeichensatz ist",
    "not a line of a PO file: {}": "keine Zeile einer PO-Datei: {0}",
    "more than {} lines of flags": "mehr als {0} Zeilen mit Markierungen",
    "an entry without msgid": "ein Eintrag ohne msgid",
    "a msgid_plural after a msgstr": "ein msgid_plural nach einem msgstr",
    "a second {} in one entry": "ein zweites {0} in einem Eintrag",
    "has no line of a key and a value": "hat keine Zeile aus Schlüssel und Wert",
    "is not Qt's .ts: its first element is no <TS> (--lines takes each line as text)": (
        "ist kein .ts von Qt: sein erstes Element ist kein <TS>"
    ),
    "has no <message> with a <source> and a <translation>": (
        "hat keine <message> mit einer <source> und einer <translation>"
    ),
    "is not .resx: its first element is no <root>": "ist kein .resx: sein erstes Element ist kein <root>",
    "has no <data> with a <value>": "hat kein <data> mit einem <value>",
    "is no property list with a <dict>": "ist keine Property-Liste mit einem <dict>",
    "has no texts by number": "hat keine Texte nach der Zahl",
    "is no TMX: it has no <tmx> with a <header>": "ist kein TMX: <tmx> mit einem <header> fehlt",
    "nothing says into which language: --target-language does": "nichts sagt, in welche Sprache",
    "has no unit with a text in its source language": "hat keine Einheit mit einem Text in der Ausgangssprache",
    "is not XLIFF 1.x or 2.x": "ist kein XLIFF 1.x oder 2.x",
    "a {} without a source": "ein {0} ohne source",
    (
        "is YAML, but neither its first key nor its name is a language (en:, x.en.yaml), so nothing says that it holds "
        "messages; --keys names what to translate"
    ): (
        "ist YAML, aber weder sein erster Schlüssel noch sein Name ist eine Sprache (en:, x.en.yaml): "
        "nichts sagt, dass es Meldungen enthält; keys nennt, was zu übersetzen ist"
    ),
    "has no text that is to be translated": "hat keinen Text, der zu übersetzen wäre",
    "is not YAML: {}": "ist kein YAML: {0}",
    # tables
    "a quote that nothing ends": "ein Anführungszeichen, das nichts beendet",
    "has no row below the names of its columns": "hat keine Zeile unter den Namen der Spalten",
    "has nothing in these columns": "hat nichts in diesen Spalten",
    "no column of it holds sentences; --columns names what to translate: {}": (
        "keine Spalte enthält Sätze; keys nennt, was zu übersetzen ist: {0}"
    ),
    "has no column {}; there are {}": "hat keine Spalte {0}; es gibt {1}",
    # subtitles
    "no subtitles in this file": "keine Untertitel in dieser Datei",
    "a dialogue before a line of Format: that has Start, End and, at its end, Text": (
        "ein Dialog vor einer Zeile mit Format:, die Start, End und am Ende Text nennt"
    ),
    "a dialogue of {} fields; {} are named": "ein Dialog aus {0} Feldern; {1} haben Namen",
    "not two times, as in 0:00:01.00: {}": "nicht zwei Zeiten wie 0:00:01.00: {0}",
    "a cue of more than {} characters": "ein Untertitel mit mehr als {0} Zeichen",
    "not WebVTT: the first line must start with WEBVTT": "kein WebVTT: die erste Zeile muss mit WEBVTT beginnen",
    # glossaries
    "it is no JSON": "es ist kein JSON",
    "it is not UTF-8": "es ist nicht in UTF-8",
    "it has no entries": "es hat keine Einträge",
    "expected an object, or lines of a term, a tab and its translation": (
        "ein Objekt wird erwartet, oder Zeilen aus Begriff, Tabulator und Übersetzung"
    ),
    "line {} is not a term and one translation": "Zeile {0} besteht nicht aus einem Begriff und einer Übersetzung",
    "entry {} is not of two texts": "Eintrag {0} besteht nicht aus zwei Texten",
    "entry {} is longer than {} bytes": "Eintrag {0} ist länger als {1} Bytes",
    "entry {}: {}": "Eintrag {0}: {1}",
    "more than {} entries": "mehr als {0} Einträge",
}

# What is named within others: why text was kept, and what libraries say of a file.
INNER = {
    "it has no text": "sie hat keinen Text",
    "its pages have none": "auf seinen Seiten ist keiner",
    "its pages are pictures, as of a scanner": "seine Seiten sind Bilder, wie von einem Scanner",
    "no letters": "keine Buchstaben",
    "too many formatted parts": "zu viele formatierte Teile",
    "longer than {} characters": "länger als {0} Zeichen",
    "only placeholders, code or terms": "nur Platzhalter, Code oder Namen",
    "code": "Code",
    "front matter": "Kopfdaten",
    "hidden": "verborgen",
    "Markdown that is not understood": "unverständliches Markdown",
    "half a character": "ein halbes Zeichen",
    "no longer used": "nicht mehr benutzt",
    "a byte that is no letter": "ein Byte, das kein Buchstabe ist",
    "already translated": "schon übersetzt",
    "to be reviewed": "noch zu prüfen",
    "a term and its translation have a letter each, at least": (
        "ein Begriff und seine Übersetzung brauchen je einen Buchstaben"
    ),
    "a control character in a translation": "ein Steuerzeichen in einer Übersetzung",
    "a second translation of a term": "eine zweite Übersetzung eines Begriffs",
    # xml.parsers.expat
    "{}: line {}, column {}": "{0}: Zeile {1}, Spalte {2}",
    "no element found": "kein Element gefunden",
    "not well-formed (invalid token)": "nicht wohlgeformt (ungültiges Zeichen)",
    "mismatched tag": "ein Tag schließt nicht, was offen ist",
    "unclosed token": "ein Tag ist nicht zu Ende",
    "duplicate attribute": "ein Attribut steht doppelt",
    "junk after document element": "Reste nach dem ersten Element",
    "undefined entity": "eine unbekannte Entität",
    "unbound prefix": "ein unbekannter Namensraum",
    "partial character": "ein halbes Zeichen",
    "unclosed CDATA section": "ein CDATA-Abschnitt ist nicht zu Ende",
    # json
    "Expecting value": "ein Wert wird erwartet",
    "Expecting property name enclosed in double quotes": "ein Name in Anführungszeichen wird erwartet",
    "Expecting ',' delimiter": "ein Komma wird erwartet",
    "Expecting ':' delimiter": "ein Doppelpunkt wird erwartet",
    "Unterminated string starting at": "ein Text ist nicht zu Ende",
    "Invalid control character at": "ein Steuerzeichen in einem Text",
    "Invalid \\escape": "ein unbekanntes Zeichen nach \\",
    "Extra data": "Reste nach dem Ende",
    # zipfile and zlib
    "File is not a zip file": "keine Zip-Datei",
    "Bad CRC-32 for file {}": "die Prüfsumme von {0} stimmt nicht",
    "Bad magic number for central directory": "ihr Verzeichnis fehlt",
    "Truncated file header": "sie ist abgeschnitten",
}


def for_clients(reason: str) -> str:
    """Without options of the command line, which a client does not have."""
    for option, instead in _OPTIONS:
        reason = reason.replace(option, instead)
    return reason


_COUNTED = re.compile(r"(.+?) \((\d+)\)(?:, |\Z)")  # code (2), no letters (1)


@cache
def _patterns() -> list[tuple[re.Pattern[str], str]]:
    known = [
        (re.compile("(.+?)".join(map(re.escape, for_clients(english).split("{}"))), re.DOTALL), german)
        for english, german in {**GERMAN, **INNER}.items()
    ]
    # Of two that fit the one with more words of its own says more.
    return sorted(known, key=lambda pair: -len(pair[0].pattern))


def in_german(reason: str) -> str:
    """A reason and the reasons that it names; what is not known stays as it is."""
    for pattern, german in _patterns():
        if match := pattern.fullmatch(reason):
            return german.format(*map(in_german, match.groups()))
    if counted := _COUNTED.findall(reason):
        return ", ".join(f"{in_german(what)} ({count})" for what, count in counted)
    return reason
