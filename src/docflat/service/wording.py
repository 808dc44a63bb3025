"""What the service says, in English and in German: problems and the page."""

from __future__ import annotations

from typing import Any

from docflat.service.reasons import for_clients, in_german

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
    "not_utf8": ("The form is not UTF-8.", "Das Formular ist nicht in UTF-8."),
    "too_many_fields": (
        "The form has more than {most} fields.",
        "Das Formular hat mehr als {most} Felder.",
    ),
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
        "The text seems to be in {guess} ({sure} % sure), which no loaded model translates. "
        "Name the source language to translate it anyway.",
        "Der Text ist anscheinend in der Sprache {guess} ({sure} % sicher), die kein geladenes Modell übersetzt. "
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
    "text_refused": ("This cannot be translated: {place}{reason}", "Das kann nicht übersetzt werden: {place}{reason}"),
    "model_failed": (
        "The model failed on this text. Try again, or send less of it.",
        "Das Modell ist an diesem Text gescheitert. Bitte noch einmal versuchen, oder weniger Text senden.",
    ),
    "not_found": ("There is nothing at this address.", "Unter dieser Adresse gibt es nichts."),
    "method": ("This address does not answer {method}.", "Diese Adresse antwortet nicht auf {method}."),
    "no_host": (
        "The request does not say which server it is for (Host).",
        "Die Anfrage sagt nicht, an welchen Server sie geht (Host).",
    ),
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
    "page_title": ("Translate", "Übersetzen"),
    "page_lead": (
        "Documents and texts, translated on this server with an eye on their context. Nothing leaves it.",
        "Dokumente und Texte, auf diesem Server mit Blick auf den Zusammenhang übersetzt. Nichts verlässt ihn.",
    ),
    "page_skip": ("To the text field", "Zum Textfeld"),
    "page_theme": ("Dark or light", "Dunkel oder hell"),
    "page_pair": ("Languages", "Sprachen"),
    "page_text": ("Text", "Text"),
    "page_text_hint": ("Type or paste a text", "Text eingeben oder einfügen"),
    "page_translate": ("Translate text", "Text übersetzen"),
    "page_translating": ("Translating …", "Wird übersetzt …"),
    "page_stop": ("Stop", "Abbrechen"),
    "page_translation": ("Translation", "Übersetzung"),
    "page_empty": ("The translation will stand here.", "Hier wird die Übersetzung stehen."),
    "page_copy": ("Copy", "Kopieren"),
    "page_copied": ("Copied", "Kopiert"),
    "page_download": ("Download", "Herunterladen"),
    "page_download_name": ("Download {name}", "{name} herunterladen"),
    "page_compare": ("Show what context changed", "Zeigen, was der Zusammenhang ändert"),
    "page_compare_hint": ("takes twice as long", "dauert doppelt so lange"),
    "page_changed": (
        "Marked words read differently because the sentences around them were read too. "
        "Point at a mark, tap it, or tab to it to see the translation without context.",
        "Markierte Wörter lauten anders, weil die Sätze ringsum mitgelesen wurden. "
        "Zeigen Sie auf eine Markierung, tippen Sie sie an oder springen Sie mit Tab zu ihr: "
        "dann sehen Sie die Übersetzung ohne Zusammenhang.",
    ),
    "page_unchanged": (
        "Context changed nothing in this text.",
        "Der Zusammenhang hat an diesem Text nichts geändert.",
    ),
    "page_alone": ("without context: {text}", "ohne Zusammenhang: {text}"),
    "page_not_there": ("without context: not there", "ohne Zusammenhang: fehlt"),
    "page_files": ("Files", "Dateien"),
    "page_choose": ("Choose files", "Dateien auswählen"),
    "page_drop": ("or drop them here", "oder hier ablegen"),
    "page_kinds": (
        "Word, Excel, PowerPoint, OpenDocument, PDF, books, HTML, Markdown, subtitles, PO, XLIFF, text and more, "
        "up to {most} MiB each",
        "Word, Excel, PowerPoint, OpenDocument, PDF, Bücher, HTML, Markdown, Untertitel, PO, XLIFF, Text und mehr, "
        "je bis zu {most} MiB",
    ),
    "page_send": ("Translate files", "Dateien übersetzen"),
    "page_jobs": ("Your files", "Ihre Dateien"),
    "page_no_jobs": (
        "Files that you send appear here. They stay on the server for {hours} hours.",
        "Hier erscheinen die Dateien, die Sie senden. Sie bleiben {hours} Stunden auf dem Server.",
    ),
    "page_uploading": ("is being sent", "wird gesendet"),
    "page_queued": ("waiting", "wartet"),
    "page_running": ("{done} of {total} sentences", "{done} von {total} Sätzen"),
    "page_reading": ("is being read", "wird gelesen"),
    "page_seconds": ("about {count} s left", "noch etwa {count} s"),
    "page_minutes": ("about {count} min left", "noch etwa {count} min"),
    "page_done": ("{total} sentences, done", "{total} Sätze, fertig"),
    "page_done_changed": (
        "{total} sentences, done; context changed {changed}",
        "{total} Sätze, fertig; der Zusammenhang änderte {changed}",
    ),
    "page_failed": ("failed", "gescheitert"),
    "page_gone": ("no longer on the server", "nicht mehr auf dem Server"),
    "page_cancel": ("Cancel", "Abbrechen"),
    "page_cancel_name": ("Cancel {name}", "{name} abbrechen"),
    "page_delete": ("Delete", "Löschen"),
    "page_delete_name": ("Delete {name}", "{name} löschen"),
    "page_side_by_side": ("Side by side", "Nebeneinander"),
    "page_side_by_side_name": ("{name} side by side", "{name} nebeneinander"),
    "page_offline": (
        "The server does not answer. This page tries again by itself.",
        "Der Server antwortet nicht. Diese Seite versucht es von selbst wieder.",
    ),
    "page_too_large": ("{name} is too large: {most} MiB are the most.", "{name} ist zu groß: höchstens {most} MiB."),
    "page_glossary": ("Glossary and names", "Glossar und Namen"),
    "page_glossary_hint": (
        "Terms and the translations they are to have. A table pasted from a spreadsheet fills several rows.",
        "Begriffe und die Übersetzungen, die sie haben sollen. "
        "Eine Tabelle, aus einer Tabellenkalkulation eingefügt, füllt mehrere Zeilen.",
    ),
    "page_glossary_plain": (
        "A term, a tab and its translation a line",
        "Je Zeile ein Begriff, ein Tabulator und seine Übersetzung",
    ),
    "page_term": ("Term", "Begriff"),
    "page_term_translation": ("Its translation", "Seine Übersetzung"),
    "page_row": ("Row {number}", "Zeile {number}"),
    "page_remove_row": ("Remove row {number}", "Zeile {number} entfernen"),
    "page_add_row": ("Add a row", "Zeile hinzufügen"),
    "page_terms": ("Names that stay as they are, one a line", "Namen, die bleiben, wie sie sind, je Zeile einer"),
    "page_key": ("Key", "Schlüssel"),
    "page_key_hint": ("This server asks for a key.", "Dieser Server verlangt einen Schlüssel."),
    "page_key_send": ("Use this key", "Diesen Schlüssel benutzen"),
    "page_back": ("Back to the first page", "Zurück zur ersten Seite"),
    "page_follow": (
        "This page loads itself again until the translation is ready.",
        "Diese Seite lädt sich neu, bis die Übersetzung fertig ist.",
    ),
    "page_source": ("Source", "Original"),
    "page_shown": ("{shown} of {total} sentences are shown.", "{shown} von {total} Sätzen werden gezeigt."),
    "page_sentences_changed": (
        "Context changed {changed} of {total} sentences.",
        "Der Zusammenhang änderte {changed} von {total} Sätzen.",
    ),
    "page_api": ("For programs", "Für Programme"),
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
    if "reason" in values:
        reason = for_clients(values["reason"])
        # A job of an older version has its place in its reason.
        values = {"place": "", **values, "reason": in_german(reason) if language == "de" else reason}
    return WORDING[code][language == "de"].format(**values)
