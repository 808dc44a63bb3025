"""Documents of any source to their translations: lists of sentences, texts, and files."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from docflat.bulk.readers.documents import Text
from docflat.bulk.settings import Settings
from docflat.formats import find_format, options_of
from docflat.formats.segments import Segment
from docflat.service.together import run_together
from docflat.support.errors import InputError
from docflat.translation.file_report import FileReport
from docflat.translation.files import translate_file, translate_segments
from docflat.translation.repairing import Translates

log = logging.getLogger("docflat.bulk")

MOST_CHARACTERS = 100_000  # characters of a sentence; what is longer is data, not language
_TOGETHER = 64  # texts or files whose sentences go to the model together

T = TypeVar("T")


class Model(Translates, Protocol):
    """What is asked of a `docflat.Translator`."""

    @property
    def precision(self) -> str: ...

    def count_tokens(self, translations: Sequence[str]) -> int: ...


class Untranslatable(Exception):
    """What a document lacks, or has too much of."""


def load(settings: Settings, threads: int) -> Model:
    """threads: of the model; 0: as many as there are cores."""
    from docflat.translation.translator import Translator

    return Translator.load(
        settings.model,
        settings.device,
        settings.first_pass,
        settings.precision,
        threads,
        engine=settings.model_engine,
    )


class DocumentTranslator:
    """Translates what documents are made of; one that cannot be translated costs no other its translation."""

    def __init__(self, model: Model, settings: Settings) -> None:
        self.model, self.settings = model, settings
        self.exact = bool(settings.terms or settings.glossary)  # sentences then are more than lines for the model

    def translate(self, texts: Sequence[Text]) -> list[Text | Untranslatable]:
        """What is a list of sentences becomes one; a text stays a text, with its lines and blanks."""
        done: list[Text | Untranslatable] = [_fault(text) for text in texts]
        lists = [number for number, text in enumerate(texts) if done[number] is None and self._is_list(text)]
        for number, translation in zip(lists, self._lists([texts[number] for number in lists]), strict=True):
            done[number] = translation
        others = [number for number, text in enumerate(texts) if done[number] is None and text and number not in lists]
        for number, translation in zip(others, self._texts([texts[number] for number in others]), strict=True):
            done[number] = translation
        return [text if new is None else new for text, new in zip(texts, done, strict=True)]

    def _is_list(self, text: Text) -> bool:
        return isinstance(text, list) and bool(text) and not self.exact

    def _lists(self, documents: Sequence[Any]) -> Iterable[Text | Untranslatable]:
        if not documents:
            return []
        try:
            return list(
                self.model.translate_documents(documents, repairs=self.settings.repairs, **self.settings.decoding)
            )
        except (MemoryError, InputError):
            raise
        except Exception as error:
            if len(documents) == 1:
                return [_bug(error)]
            log.warning("one of %d documents stops the model: each by itself now", len(documents))
            return [each for document in documents for each in self._lists([document])]

    def _texts(self, texts: Sequence[Any]) -> Iterator[Text | Untranslatable]:
        def one(text: Any, translator: Translates) -> Text:
            lines = text.split("\n") if isinstance(text, str) else text
            segments = self._segments([Segment(line) for line in lines], translator)
            translated = [segment.text for segment in segments]
            return "\n".join(translated) if isinstance(text, str) else translated

        yield from self._together(texts, one)

    def _segments(self, segments: Sequence[Segment], translator: Translates) -> Sequence[Segment]:
        settings = self.settings
        translated, _ = translate_segments(
            segments,
            translator,
            settings.language,
            terms=settings.terms,
            glossary=settings.glossary,
            repairs=settings.repairs,
            **settings.decoding,
        )
        return translated

    def translate_files(self, files: Sequence[tuple[Path, Path]]) -> list[FileReport | Untranslatable]:
        """Files, each with where it goes."""

        def one(file: tuple[Path, Path], translator: Translates) -> FileReport:
            path, out = file
            settings = self.settings
            known = dict(settings.options)
            if translator.languages and not known.get("target_language"):
                known["target_language"] = translator.languages[1]
            options = {name: known[name] for name in options_of(path) if known.get(name)}
            return translate_file(
                path,
                out,
                find_format(path, **options),
                translator,
                settings.language,
                terms=settings.terms,
                glossary=settings.glossary,
                repairs=settings.repairs,
                **settings.decoding,
            )

        return list(self._together(files, one))

    def _together(self, tasks: Sequence[Any], do: Callable[[Any, Translates], T]) -> Iterator[T | Untranslatable]:
        """Each by itself, but with calls of the model in common."""
        for start in range(0, len(tasks), _TOGETHER):
            group = tasks[start : start + _TOGETHER]
            results: dict[int, T | Untranslatable] = {}
            fatal: list[BaseException] = []

            def attempt(
                number: int,
                translator: Translates,
                group: Sequence[Any] = group,
                results: dict[int, T | Untranslatable] = results,
                fatal: list[BaseException] = fatal,
            ) -> None:
                try:
                    results[number] = do(group[number], translator)
                except InputError as error:
                    results[number] = Untranslatable(str(error))
                except MemoryError as error:
                    fatal.append(error)
                except Exception as error:
                    results[number] = _bug(error)

            run_together(self.model, range(len(group)), attempt)
            if fatal:
                raise fatal[0]
            yield from (results[number] for number in range(len(group)))


def _fault(text: Text) -> Untranslatable | None:
    if text is None:
        return None
    for sentence in text.split("\n") if isinstance(text, str) else text:
        if len(sentence) > MOST_CHARACTERS:
            return Untranslatable(f"a sentence of {len(sentence)} characters; {MOST_CHARACTERS} are the most")
    return None


def _bug(error: Exception) -> Untranslatable:
    log.warning("a document was not translated", exc_info=error)
    return Untranslatable(f"{type(error).__name__}: {error}")


def sentences_of(text: Text) -> int:
    """How many sentences a translation has; of a text, lines that are not blank."""
    if text is None:
        return 0
    if isinstance(text, str):
        return sum(bool(line.strip()) for line in text.split("\n"))
    return len(text)


def lines_of(text: Text) -> Sequence[str]:
    return [] if text is None else [text] if isinstance(text, str) else text
