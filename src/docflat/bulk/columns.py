"""Translation of a column, for one's own `ray.data.Dataset.map_batches` and `datasets.Dataset.map`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from docflat.bulk.documents import DocumentTranslator, Model, Untranslatable, load
from docflat.bulk.readers.documents import Text
from docflat.bulk.settings import Settings
from docflat.support.errors import InputError


class Translate:
    """Adds the translations of a column of documents: texts, or lists of sentences.

    Each row is a document of its own. The model is loaded at the first batch and stays, so that the object itself is
    small and can be sent to other processes. threads: of the model; 0: as many as there are cores, which is too many
    where several processes do this at the same time.
    """

    def __init__(
        self,
        model: str = "en-de",
        key: str = "text",
        target_key: str = "target",
        language: str = "en",
        device: str = "auto",
        precision: str = "auto",
        threads: int = 0,
        repairs: bool = True,
        **decoding: Any,
    ) -> None:
        self.settings = Settings(
            model,
            device=device,
            precision=precision,
            repairs=repairs,
            decoding=decoding,
            key=key,
            target_key=target_key,
            language=language,
        )
        self.threads = threads
        self._translator: DocumentTranslator | None = None

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """Columns by name in, the same and one more out; a document that cannot be translated is an InputError."""
        settings = self.settings
        assert settings.key is not None
        if settings.key not in batch:
            raise InputError(f"there is no column {settings.key!r}; there are {', '.join(batch)}")
        texts = [_plain(value) for value in batch[settings.key]]
        translations: list[Text] = []
        for number, translation in enumerate(self.translator.translate(texts)):
            if isinstance(translation, Untranslatable):
                raise InputError(f"row {number} of the batch: {translation}")
            translations.append(translation)
        return {**batch, settings.target_key: translations}

    @property
    def translator(self) -> DocumentTranslator:
        if self._translator is None:
            model: Model = load(self.settings, self.threads)
            self._translator = DocumentTranslator(model, self.settings)
        return self._translator

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_translator": None}


def _plain(value: Any) -> Text:
    """Ray hands on lists as arrays."""
    if value is None or isinstance(value, str):
        return value
    sentences: Sequence[Any] = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(sentences, list) or not all(isinstance(sentence, str) for sentence in sentences):
        raise InputError(f"a document is a text or a list of sentences, not {type(value).__name__}")
    return sentences
