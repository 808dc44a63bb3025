"""Languages: their names, which are loaded, and which one a text is in."""

from __future__ import annotations

from docflat.service.problems import Problem
from docflat.service.settings import Model, Settings

NAMES = {
    "ar": "Arabic", "bg": "Bulgarian", "ca": "Catalan", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek",
    "en": "English", "eo": "Esperanto", "es": "Spanish", "et": "Estonian", "fa": "Persian", "fi": "Finnish",
    "fr": "French", "ga": "Irish", "he": "Hebrew", "hi": "Hindi", "hu": "Hungarian", "id": "Indonesian",
    "it": "Italian", "ja": "Japanese", "ko": "Korean", "lt": "Lithuanian", "lv": "Latvian", "nb": "Norwegian",
    "nl": "Dutch", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sk": "Slovak",
    "sl": "Slovenian", "sv": "Swedish", "th": "Thai", "tr": "Turkish", "uk": "Ukrainian", "vi": "Vietnamese",
    "zh": "Chinese",
}  # fmt: skip

GERMAN_NAMES = {
    "ar": "Arabisch", "bg": "Bulgarisch", "ca": "Katalanisch", "cs": "Tschechisch", "da": "Dänisch", "de": "Deutsch",
    "el": "Griechisch", "en": "Englisch", "eo": "Esperanto", "es": "Spanisch", "et": "Estnisch", "fa": "Persisch",
    "fi": "Finnisch", "fr": "Französisch", "ga": "Irisch", "he": "Hebräisch", "hi": "Hindi", "hu": "Ungarisch",
    "id": "Indonesisch", "it": "Italienisch", "ja": "Japanisch", "ko": "Koreanisch", "lt": "Litauisch",
    "lv": "Lettisch", "nb": "Norwegisch", "nl": "Niederländisch", "pl": "Polnisch", "pt": "Portugiesisch",
    "ro": "Rumänisch", "ru": "Russisch", "sk": "Slowakisch", "sl": "Slowenisch", "sv": "Schwedisch", "th": "Thai",
    "tr": "Türkisch", "uk": "Ukrainisch", "vi": "Vietnamesisch", "zh": "Chinesisch",
}  # fmt: skip


def name_of(code: str, language: str = "en") -> str:
    return (GERMAN_NAMES if language == "de" else NAMES).get(code, code)


def base(code: str) -> str:
    """EN-GB is English: the models know no variants."""
    return code.strip().lower().replace("_", "-").partition("-")[0]


def pairs(settings: Settings) -> str:
    return ", ".join(model.name for model in settings.models)


def find_model(settings: Settings, source: str, target: str) -> Model:
    model = settings.find(base(source), base(target))
    if model is None:
        unknown = target if base(source) in settings.sources else source
        raise Problem(400, "language", source=source, target=target, pairs=pairs(settings), unknown=unknown)
    return model
