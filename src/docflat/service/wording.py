"""What the service says, in English and in German: problems and the page."""

from __future__ import annotations

from typing import Any

WORDING: dict[str, tuple[str, str]] = {
    "missing": ("{name} is missing.", "{name} fehlt."),
    "not_text": ("{name} must be a text.", "{name} muss ein Text sein."),
    "not_texts": ("{name} must be a text or a list of texts.", "{name} muss ein Text oder eine Liste von Texten sein."),
    "not_number": (
        "{name} must be a whole number from 0 to {most}.",
        "{name} muss eine ganze Zahl von 0 bis {most} sein.",
    ),
    "not_flag": ("{name} must be true or false.", "{name} muss true oder false sein."),
    "not_choice": ("{name} must be one of: {choices}.", "{name} muss eines sein von: {choices}."),
    "not_json": ("The body is not JSON.", "Der Inhalt ist kein JSON."),
    "not_object": ("The body must be a JSON object.", "Der Inhalt muss ein JSON-Objekt sein."),
    "not_form": ("The form cannot be read: {reason}", "Das Formular ist nicht lesbar: {reason}"),
    "not_unicode": (
        "A text has half a character in it (a lone surrogate).",
        "Ein Text enthält ein halbes Zeichen (ein einzelnes Surrogat).",
    ),
    "media_type": (
        "Send JSON, a form, or several parts (Content-Type).",
        "Bitte JSON, ein Formular oder mehrere Teile senden (Content-Type).",
    ),
    "language": (
        "No loaded model translates from {source} to {target}; there are: {pairs}.",
        "Kein geladenes Modell übersetzt von {source} nach {target}; es gibt: {pairs}.",
    ),
    "target": (
        "No loaded model translates into {target}; there are: {pairs}.",
        "Kein geladenes Modell übersetzt nach {target}; es gibt: {pairs}.",
    ),
    "other_language": (
        "The text seems to be in {found} ({sure} % sure), which no loaded model translates. "
        "Name the source language to translate it anyway.",
        "Der Text ist anscheinend in der Sprache {found} ({sure} % sicher), die kein geladenes Modell übersetzt. "
        "Geben Sie die Ausgangssprache an, um ihn trotzdem zu übersetzen.",
    ),
    "too_long": (
        "{count} characters are too many: {most} are the most of one request. Send it as a file.",
        "{count} Zeichen sind zu viele: höchstens {most} in einer Anfrage. Senden Sie den Text als Datei.",
    ),
    "too_large": (
        "This is too large: {most} MiB are the most.",
        "Das ist zu groß: höchstens {most} MiB sind erlaubt.",
    ),
    "too_slow": ("The request came too slowly.", "Die Anfrage kam zu langsam."),
    "busy": (
        "The server is busy. Try again in a moment.",
        "Der Server ist ausgelastet. Bitte versuchen Sie es gleich noch einmal.",
    ),
    "text_refused": ("This cannot be translated: {reason}", "Das kann nicht übersetzt werden: {reason}"),
    "model_failed": (
        "The model failed on this text. Try again, or send less of it.",
        "Das Modell ist an diesem Text gescheitert. Bitte noch einmal versuchen, oder weniger Text senden.",
    ),
    "not_found": ("There is nothing at this address.", "Unter dieser Adresse gibt es nichts."),
    "method": ("This address does not answer {method}.", "Diese Adresse antwortet nicht auf {method}."),
    "host": (
        "This server does not answer to the name {host}. Start it with --allow-host {host}.",
        "Dieser Server antwortet nicht unter dem Namen {host}. Starten Sie ihn mit --allow-host {host}.",
    ),
    "fault": ("A fault of the server. It is in its log.", "Ein Fehler des Servers. Er steht in seinem Protokoll."),
    "suggest_off": ("Suggestions are not taken.", "Vorschläge werden nicht angenommen."),
    "too_many_texts": (
        "{count} texts are too many: {most} are the most of one request.",
        "{count} Texte sind zu viele: höchstens {most} in einer Anfrage.",
    ),
    "origin": (
        "A page elsewhere may not do this. Start the server with --origin to allow it.",
        "Eine fremde Seite darf das nicht. Mit --origin lässt der Server es zu.",
    ),
    "rate": ("Too many requests. Try again later.", "Zu viele Anfragen. Bitte später noch einmal versuchen."),
    "key": ("A valid key is needed.", "Ein gültiger Schlüssel ist nötig."),
    "not_ready": ("The models are not loaded yet.", "Die Modelle sind noch nicht geladen."),
    "page_text": ("Text", "Text"),
    "page_translate": ("Translate", "Übersetzen"),
    "page_translation": ("Translation", "Übersetzung"),
    "no_job": (
        "There is no such job. It was deleted, or its time was over.",
        "Diesen Auftrag gibt es nicht. Er wurde gelöscht, oder seine Zeit war abgelaufen.",
    ),
    "job_running": ("The translation is not ready yet.", "Die Übersetzung ist noch nicht fertig."),
    "job_failed": ("{name} could not be translated.", "{name} konnte nicht übersetzt werden."),
    "no_comparison": (
        "This job was sent without compare: there is nothing to show side by side.",
        "Dieser Auftrag kam ohne compare: es gibt nichts gegenüberzustellen.",
    ),
    "model_gone": (
        "The server was started again without a model for {pair}.",
        "Der Server wurde ohne ein Modell für {pair} neu gestartet.",
    ),
    "no_file": ("A file is missing.", "Eine Datei fehlt."),
    "too_many_files": (
        "{count} files are too many: {most} are the most of one job.",
        "{count} Dateien sind zu viele: höchstens {most} in einem Auftrag.",
    ),
    "file_kind": (
        "Files of this kind ({kind}) cannot be translated; these can: {kinds}",
        "Dateien dieser Art ({kind}) lassen sich nicht übersetzen; diese schon: {kinds}",
    ),
    "disk_full": (
        "The server cannot store the file: its disk may be full.",
        "Der Server kann die Datei nicht speichern: vielleicht ist seine Festplatte voll.",
    ),
    "bad_glossary": ("The glossary cannot be read: {reason}.", "Das Glossar ist nicht lesbar: {reason}."),
    "no_glossary": ("There is no such glossary.", "Dieses Glossar gibt es nicht."),
    "no_dictionary": (
        "The glossary has no dictionary for {pair}.",
        "Das Glossar hat kein Wörterbuch für {pair}.",
    ),
    "not_dictionaries": (
        "dictionaries must be a list of objects.",
        "dictionaries muss eine Liste von Objekten sein.",
    ),
    "too_many_glossaries": (
        "There are {most} glossaries already, the most of one client. Delete some first.",
        "Es gibt schon {most} Glossare, mehr darf ein Client nicht haben. Bitte erst welche löschen.",
    ),
    "session_name": (
        "A session's name has 1 to 64 letters, digits, dots, _ and -.",
        "Der Name einer Sitzung hat 1 bis 64 Buchstaben, Ziffern, Punkte, _ und -.",
    ),
    "unsupported": ("{name} is not supported{hint}.", "{name} wird nicht unterstützt{hint}."),
}


def say(code: str, language: str, **values: Any) -> str:
    return WORDING[code][language == "de"].format(**values)
