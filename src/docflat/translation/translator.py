"""The Python API: a trained model that translates documents."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain, islice
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from docflat.data.rows import Ids
from docflat.decoding.document_decoder import DocumentDecoder
from docflat.decoding.settings import DecodingSettings
from docflat.engines import loading
from docflat.engines.loading import LoadedModel
from docflat.support.errors import InputError
from docflat.support.punctuation import are_wide, between_sentences
from docflat.translation.candidates import Candidate, candidates_of
from docflat.translation.long_sentences import composed, split_long
from docflat.translation.odd_characters import is_wordless, keep_odd, split_untranslatable, visible
from docflat.translation.repairing import Edited, repair, translate_and_repair
from docflat.translation.sentence_count import SentenceCount
from docflat.translation.untranslatable import is_broken, is_foreign
from docflat.weights.shipped import ENGLISH_GERMAN, languages_of, model_folder

if TYPE_CHECKING:
    from docflat.decoding.alignment import Aligner, Weights
    from docflat.editing.editor import Editor
    from docflat.editing.revisions import Revision
    from docflat.translation.file_report import FileReport


@dataclass(repr=False)
class Translator:
    """Translates documents, each a list of sentences. Sentences in = sentences out."""

    model: LoadedModel
    first_pass: LoadedModel | None = None  # a sentence model for the first of two passes; None: the same model
    languages: tuple[str, str] | None = None  # source and target; None: its folder does not say
    edit_with: LoadedModel | None = None  # a document model that changes what context asks for in the translations

    @cached_property
    def decoder(self) -> DocumentDecoder:
        """What goes through documents of ids."""
        return DocumentDecoder(self.model, self.first_pass)

    @classmethod
    def load(
        cls,
        folder: str | PathLike[str] = ENGLISH_GERMAN,
        device: str = "auto",
        first_pass: str | PathLike[str] | None = None,
        precision: str = "auto",
        threads: int = 0,
        engine: str = "auto",
        edit_with: str | PathLike[str] | None = None,
    ) -> Translator:
        """Load a model folder, or the English-German model that comes with docflat.

        device: auto (a GPU if there is one), cpu or cuda.
        precision: fp32; bf16, on a GPU; int8, on a CPU; auto: bf16 on a GPU that has it, int8 on a CPU if the weights
        are stored so, fp32 elsewhere.
        threads: on a CPU; 0: all cores.
        engine: onnx, which needs no torch and runs some systems on a CPU; torch, which runs everything; auto: onnx on
        a CPU where it can, torch elsewhere.
        edit_with: a document model that edits the translations, as `edit` does.
        """
        folders = [None if path is None else model_folder(str(path)) for path in (folder, first_pass, edit_with)]
        hardware = loading.choose([path for path in folders if path is not None], engine, device, precision, threads)
        loaded = [None if path is None else loading.load(path, hardware) for path in folders]
        assert folders[0] is not None
        assert loaded[0] is not None
        return cls(loaded[0], loaded[1], languages_of(folders[0]), loaded[2])

    @property
    def precision(self) -> str:
        """What it computes in."""
        return self.model.engine.precision

    @overload
    def translate(self, sentences: str, **settings: Any) -> str: ...
    @overload
    def translate(self, sentences: Sequence[str], **settings: Any) -> list[str]: ...
    def translate(self, sentences: str | Sequence[str], **settings: Any) -> str | list[str]:
        """Translate one document: its sentences, or a text, which is cut into them; what is between them stays.

        Settings are those of `translate_documents`.
        """
        if not isinstance(sentences, str):
            return next(self.translate_documents([sentences], **settings))
        from docflat.translation.sentences import split_sentences

        text, places = sentences, split_sentences(sentences, self.languages[0] if self.languages else "en")
        parts, end = [""], 0
        for (start, last), translation in zip(
            places, self.translate([text[slice(*place)] for place in places], **settings), strict=True
        ):
            parts += [
                between_sentences(
                    text[end:start], (text[max(0, end - 1) : end], text[start : start + 1]), (parts[-1], translation)
                ),
                translation,
            ]
            end = last
        return "".join([*parts, text[end:]])

    def __repr__(self) -> str:
        pair = "-".join(self.languages) if self.languages else "unknown languages"
        return f"<Translator {pair}, {self.model.system.name}, {self.precision}>"

    def translate_documents(
        self,
        documents: Iterable[Sequence[str]],
        chunk: int = 2000,
        done: Callable[[int], None] = lambda sentences: None,
        repairs: bool = True,
        **settings: Any,
    ) -> Iterator[list[str]]:
        """Translate documents as they come, about `chunk` sentences at a time; `done` hears of the progress.

        It hears of 0 sentences where a step ended of which none is ready yet. What it raises ends the translation.

        repairs: put right by rule what a model often gets wrong (`repairs/table.py`); settings: of `DecodingSettings`.
        """
        if repairs:
            for sentences in translate_and_repair(self, documents, chunk=chunk, done=done, **settings):
                yield [sentence.text for sentence in sentences]
            return
        decoding = self.decoder.settings(**settings)
        for batch in _chunks(documents, chunk):
            n_best_lists = self._search_chunk(batch, decoding, done)
            translations = [[candidates[0].text for candidates in document] for document in n_best_lists]
            if self._editor is not None:
                pairs = [list(zip(*sides, strict=True)) for sides in zip(batch, translations, strict=True)]
                translations = [[one.text for one in document] for document in self._editor.edit(pairs)]
            yield from translations

    def candidates(self, sentences: Sequence[str], n_best: int = 5, **settings: Any) -> list[list[Candidate]]:
        """The best translations of each sentence of a document, the best first, with their scores.

        The first is what `translate` writes with the same beam; of a sentence that is too long to be translated in one
        piece it is the only one. In the modes edit and two-pass the others are those of the search that wrote the
        first. n_best: a beam that is not chosen is at least as wide. Settings are those of `translate_documents`.
        """
        return next(self.candidates_of_documents([sentences], n_best=n_best, **settings))

    def candidates_of_documents(
        self,
        documents: Iterable[Sequence[str]],
        chunk: int = 2000,
        done: Callable[[int], None] = lambda sentences: None,
        repairs: bool = True,
        **settings: Any,
    ) -> Iterator[list[list[Candidate]]]:
        """The same of documents as they come, as `translate_documents` does; settings: `n_best` too."""
        if self.edit_with is not None:
            raise InputError("a model that edits translations changes what was scored: there are no candidates of it")
        decoding = self.decoder.settings(**settings)
        languages = self.languages if repairs else None
        for batch in _chunks(documents, chunk):
            for document, n_best_lists in zip(batch, self._search_chunk(batch, decoding, done), strict=True):
                yield [
                    [one.repaired(source, languages) for one in candidates]
                    for source, candidates in zip(document, n_best_lists, strict=True)
                ]

    def _search_chunk(
        self, documents: list[list[str]], settings: DecodingSettings, done: Callable[[int], None]
    ) -> list[list[list[Candidate]]]:
        n_best_lists = self._decode(documents, settings, done)
        best = [candidates[0].text for document in n_best_lists for candidates in document]
        written = iter(self._keep_odd(flat(documents), best, settings))
        # Where the search lost what must stay, nothing that it finished is what was written after it.
        return [
            [
                candidates if candidates[0].text == (text := next(written)) else [Candidate(text)]
                for candidates in document
            ]
            for document in n_best_lists
        ]

    def _keep_odd(self, texts: Sequence[str], translations: Sequence[str], settings: DecodingSettings) -> list[str]:
        def translate(sentences: Sequence[str]) -> list[str]:
            return [candidates[0].text for (candidates,) in self._decode([[one] for one in sentences], settings)]

        return keep_odd(texts, translations, self.languages, translate)

    def _decode(
        self,
        documents: list[list[str]],
        settings: DecodingSettings,
        done: Callable[[int], None] = lambda sentences: None,
    ) -> list[list[list[Candidate]]]:
        pieces = [[self._pieces(text) for text in document] for document in documents]
        source = [[ids for sentence in document for ids, _ in sentence] for document in pieces]
        count = SentenceCount(sum(map(len, documents)), sum(bool(ids) for document in source for ids in document), done)
        target, drafts = self.decoder.search_with_drafts(source, settings, count.add_pieces)
        count.finish()
        n_best_lists: list[list[list[Candidate]]] = []
        for number, (document, cut, translated) in enumerate(zip(documents, pieces, target, strict=True)):
            each, first = iter(translated), None if drafts is None else iter(drafts[number])
            n_best_lists.append([])
            for text, parts in zip(document, cut, strict=True):
                join, searched = partial(self._join, text, parts), list(islice(each, len(parts)))
                best, *others = candidates_of(searched, join, settings.length_penalty)
                if first is not None:
                    best = replace(best, text=Edited.of(best.text, join(list(islice(first, len(parts))))))
                n_best_lists[-1].append([best, *others])
        return n_best_lists

    @cached_property
    def _editor(self) -> Editor | None:
        if self.edit_with is None:
            return None
        return replace(self, model=self.edit_with, first_pass=None, edit_with=None).editor()

    def _pieces(self, text: str) -> list[tuple[Ids, str]]:
        """A sentence longer than anything in training is translated in pieces: ids, or what stays as it is."""
        language = self.languages and self.languages[0]
        text = visible(text, language)
        if not text.strip() or is_foreign(text, language) or is_wordless(text, self.languages) or is_broken(text):
            return [([], "")]
        text = composed(text, self.model.subwords)
        limit = max(1, self.model.config.rows.max_tokens // 2)
        pieces: list[tuple[Ids, str]] = []
        for number, part in enumerate(split_untranslatable(text, self.languages)):
            if number % 2:
                pieces.append(([], part))
            elif part.strip():
                whole = split_long(part, self.model.subwords, limit)
                # What is cut anyway is cut finer: pieces are decoded side by side, and cost less the shorter they are.
                cut = split_long(part, self.model.subwords, max(1, limit // 2)) if len(whole) > 1 else whole
                pieces += [(ids, "") for ids in cut]
        return pieces

    def _join(self, text: str, pieces: Iterable[tuple[Ids, str]], translated: Iterable[Ids]) -> str:
        """The translation of a sentence, of the translations of its pieces."""
        decode = self.model.subwords.decode
        parts = [unchanged or one_line(decode(ids)) for (_, unchanged), ids in zip(pieces, translated, strict=True)]
        joined = parts[0] if parts else ""
        for part in parts[1:]:
            joined += part if are_wide(joined, part) else f" {part}"
        # A model may write nothing but blanks, or half of a character that it never learned; a sentence that is left
        # as it was is at least not lost.
        lost = not joined or ("\ufffd" in joined and "\ufffd" not in text)
        return one_line(text) if lost else joined

    def stream(self, sentences: Iterable[str], repairs: bool = True, **settings: Any) -> Iterator[str]:
        """Translate one document as it comes, however long: the mode `stream`.

        A translation comes when half a `window` of sentences after it has been read; the first, when all of one has.
        """
        passes = self.decoder.passes(self.decoder.settings(mode="stream", **settings))
        waiting: deque[tuple[str, list[tuple[Ids, str]]]] = deque()  # sentences that were read, and their pieces

        def pieces() -> Iterator[Ids]:
            for text in sentences:
                cut = self._pieces(text)
                waiting.append((text, cut))
                yield from (ids for ids, _ in cut)

        translated: list[Ids] = []
        for _, ids in passes.stream([pieces()]):
            translated.append(ids)
            text, cut = waiting[0]
            if len(translated) == len(cut):
                waiting.popleft()
                (whole,) = self._keep_odd([text], [self._join(text, cut, translated)], self.decoder.settings())
                yield repair(text, whole, self.languages if repairs else None).text
                translated = []

    def translate_file(
        self,
        path: str | PathLike[str],
        out: str | PathLike[str],
        language: str = "en",
        done: Callable[[int], None] = lambda sentences: None,
        options: Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> FileReport:
        """Translate a file of any format of `docflat.formats.FORMATS` into one of the same kind.

        language: of the source, for its sentences; options: of the format, such as {"keys": ["title"]} of JSON;
        settings: of `DecodingSettings`, `repairs`, `terms` that stay as they are, and a `glossary` of translations.
        """
        from docflat.formats import find_format, options_of
        from docflat.translation.files import translate_file

        known = {"target_language": self.languages[1]} if self.languages else {}
        known = {name: value for name, value in known.items() if name in options_of(Path(path))}
        format_ = find_format(Path(path), **{**known, **(options or {})})
        return translate_file(Path(path), Path(out), format_, self, language, done, **settings)

    def count_tokens(self, translations: Sequence[str]) -> int:
        """How many subwords translations have."""
        return sum(map(len, self.model.subwords.encode_batch(translations, "target")))

    def align(self, pairs: Sequence[tuple[str, str]]) -> list[Weights | None]:
        """How far each word of a translation stands for each of its sentence; None where that cannot be told."""
        return self._aligner.weights(pairs)

    @cached_property
    def _aligner(self) -> Aligner:
        from docflat.decoding.alignment import Aligner

        return Aligner(self.model)

    def edit(
        self,
        sentences: Sequence[str],
        drafts: Sequence[str],
        languages: tuple[str, str] | None = None,
        **settings: Any,
    ) -> list[Revision]:
        """Another system's translation of a document, with those words changed that context asks for.

        languages: of a model that did not come with docflat; settings: of `docflat.editing.editor.EditorSettings`.
        """
        if len(sentences) != len(drafts):
            raise ValueError(f"{len(sentences)} sentences, but {len(drafts)} drafts")
        (revisions,) = self.editor(languages, **settings).edit([list(zip(sentences, drafts, strict=True))])
        return revisions

    def editor(self, languages: tuple[str, str] | None = None, **settings: Any) -> Editor:
        """What edits drafts of documents."""
        from docflat.decoding.scoring import Scorer
        from docflat.editing.editor import Editor, EditorSettings
        from docflat.editing.languages import find_language

        languages = languages or self.languages
        if languages is None:
            raise InputError("say which languages the drafts are from and to: nobody knows those of this model")
        language = find_language(languages)
        rows = self.model.config.rows
        if not (rows.context and rows.target_context and self.decoder.drafts_alone):
            raise InputError(
                "editing needs a model that was trained with the sentences before, and without (context_free)"
            )
        return Editor(Scorer(self.model), self.model.subwords, self.align, language, EditorSettings(**settings))

    def score(self, sentences: Sequence[str], translations: Sequence[str], context: bool = True) -> list[float]:
        """Log-probability of each given translation, with the others as its context, or of each alone."""
        if len(sentences) != len(translations):
            raise ValueError(f"{len(sentences)} sentences, but {len(translations)} translations")
        from docflat.decoding.scoring import Scorer

        encode = self.model.subwords.encode_batch
        source, target = encode(sentences, "source"), encode(translations, "target")
        (scored,) = Scorer(self.model).documents([source], [target], context)
        return [sentence.total for sentence in scored]


def _chunks(documents: Iterable[Sequence[str]], size: int) -> Iterator[list[list[str]]]:
    """Whole documents, about `size` sentences of them at a time."""
    batch: list[list[str]] = []
    sentences = 0
    for document in documents:
        batch.append(list(document))
        sentences += len(batch[-1])
        if sentences >= size:
            yield batch
            batch, sentences = [], 0
    if batch:
        yield batch


def flat(documents: Iterable[Iterable[str]]) -> list[str]:
    """The sentences of all."""
    return list(chain.from_iterable(documents))


def one_line(text: str) -> str:
    """A model can write a line break; a translated sentence is still one line."""
    return " ".join(text.split("\n")).replace("\r", " ").strip()
