"""Decoding documents with a trained model: which way through them there is, and which one settings choose.

Sentences go in as ids and come out as ids. Texts are the business of `docflat.translation`, which is built on this;
so are validation in training and the measurements of `docflat.reproduce`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from docflat.data.rows import Ids
from docflat.decoding.editing import EditedSentence
from docflat.decoding.passes import Passes, tokens_of
from docflat.decoding.settings import DecodingSettings, Mode, check_mode
from docflat.engines.engine import Hypothesis
from docflat.engines.loading import LoadedModel
from docflat.support.errors import InputError

Documents = Sequence[Sequence[Ids]]
Done = Callable[[int], None]  # hears how many sentences were translated since it heard last


def ignore(sentences: int) -> None:
    """For `done` where nobody asks for the progress."""


def _steps_only(done: Done) -> Done:
    """Of a first pass: no sentence is translated yet, but the work goes on, and may be given up."""
    return lambda sentences: done(0)


@dataclass
class DocumentDecoder:
    """A trained model, and how it goes through documents."""

    model: LoadedModel
    first_pass: LoadedModel | None = None  # a sentence model for the first of two passes; None: the same model

    @property
    def reads_target(self) -> bool:
        """Whether a translation depends on those of other sentences; if not, a first pass has nothing to do."""
        engine = self.model.engine  # not its system: options may have turned off, or on, what it sees of other rows
        return self.model.config.rows.target_context is not False or engine.sees_growing or engine.looks_ahead

    @property
    def drafts_alone(self) -> bool:
        """Whether its log-probabilities without context mean something: it was trained on sentences alone too."""
        return self.model.config.rows.context_free > 0

    def settings(self, **wanted: Any) -> DecodingSettings:
        """Settings with this model's defaults: the best mode it was trained for. Refuses what it cannot do."""
        system = self.model.system
        if wanted.get("mode") in (None, "auto"):
            wanted["mode"] = self._best_mode(wanted.get("global_context") is not None)
        elif system.sentence_level and wanted["mode"] != "sentence":
            raise InputError(f"{system.name} translates sentence by sentence; it has no mode {wanted['mode']!r}")
        check_mode(wanted["mode"], self.first_pass, wanted.get("global_context"), wanted.get("tolerance"))
        if wanted["mode"] == "edit" and not self.drafts_alone:
            raise InputError("the mode edit needs a model that was trained without context too (context_free)")
        if wanted.get("global_context") is not None and not self.model.engine.sees_growing:
            raise InputError(f"no row of this {system.name} sees others grow: it has no global context to choose")
        if wanted.get("global_context") == "partial" and not self.model.engine.searches_together:
            raise InputError(
                f"the engine {self.model.engine.name} has no global context 'partial'; that of torch has it: "
                'docflat translate --engine torch, Translator.load(engine="torch")'
            )
        if wanted.get("beam") is None:
            wanted["beam"] = max(DecodingSettings.beam, wanted.get("n_best") or 1)
        wanted["window"] = wanted.get("window") or self.model.config.rows.window or None
        if wanted["mode"] == "stream" and "batch" not in system.source + system.target:
            wanted["window"] = 1  # no other row is seen, so none is held
        most = system.most_rows
        if most and (wanted["window"] or 0) > most:
            raise InputError(f"{system.name} takes a window of at most {most}, not {wanted['window']}")
        return DecodingSettings(**{key: value for key, value in wanted.items() if value is not None})

    def _best_mode(self, has_global_context: bool) -> Mode:
        """has_global_context: the user has chosen one, which is of two passes."""
        if self.model.system.sentence_level:
            return "sentence"
        if self.first_pass is None and self.drafts_alone and self.reads_target and not has_global_context:
            return "edit"
        two_passes = self.first_pass is not None or self.drafts_alone or not self.reads_target
        return "two-pass" if two_passes else "sequential"

    def decode(self, documents: Documents, settings: DecodingSettings, done: Done = ignore) -> list[list[Ids]]:
        """The translations of documents."""
        return tokens_of(self.search(documents, settings, done))

    def search(self, documents: Documents, settings: DecodingSettings, done: Done = ignore) -> list[list[Hypothesis]]:
        """The same, as the last search of each sentence left them."""
        return self.search_with_drafts(documents, settings, done)[0]

    def search_with_drafts(
        self, documents: Documents, settings: DecodingSettings, done: Done = ignore
    ) -> tuple[list[list[Hypothesis]], list[list[Ids]] | None]:
        """The same, and in the mode edit the drafts that context may have changed."""
        if settings.mode != "edit":
            return self._search(documents, settings, done), None
        edited = self.edit(documents, settings, done)
        translations = [[one.translation for one in document] for document in edited]
        return translations, [[one.draft.tokens for one in document] for document in edited]

    def _search(self, documents: Documents, settings: DecodingSettings, done: Done) -> list[list[Hypothesis]]:
        """In the other modes."""
        passes = self.passes(settings)
        if settings.mode == "sentence":
            return passes.drafts(documents, done)
        if settings.mode == "sequential":
            return passes.search_in_order(documents, done)
        if settings.mode == "stream":
            translations: list[list[Hypothesis]] = [[] for _ in documents]
            for number, one in passes.search_stream(documents):
                translations[number].append(one)
                done(int(bool(one.tokens)))
            return translations
        if not self.reads_target:
            return passes.search_again(documents, [[[] for _ in document] for document in documents], done)
        return passes.search_again(documents, self.first_translations(documents, settings, _steps_only(done)), done)

    def edit(self, documents: Documents, settings: DecodingSettings, done: Done = ignore) -> list[list[EditedSentence]]:
        """Every sentence by itself, and again with its context where that objects to a token of the draft."""
        drafts = self.passes(settings).drafts(documents, _steps_only(done))
        again = replace(settings, beam=min(settings.beam, max(settings.edit_beam, settings.n_best)))
        return self.passes(again).edit(documents, drafts, done)

    def first_translations(self, documents: Documents, settings: DecodingSettings, done: Done) -> list[list[Ids]]:
        """The first of two passes: every sentence by itself, if another one reads its translation."""
        alone = self.passes(replace(settings, mode="sentence", n_best=1), self.first_pass)
        with_readers = self._with_readers(documents)
        if self.first_pass is None or self.first_pass.subwords.hash == self.model.subwords.hash:
            return alone.sentence_by_sentence(with_readers, done)
        # Its subwords are others: sentences and translations cross over as text.
        ours, theirs = self.model.subwords, self.first_pass.subwords
        texts = [[ours.decode(ids, "source") for ids in document] for document in with_readers]
        drafts = alone.sentence_by_sentence([theirs.encode_batch(document) for document in texts], done)
        return [
            ours.encode_batch([theirs.decode(ids) for ids in document], "target") if document else []
            for document in drafts
        ]

    def _with_readers(self, documents: Documents) -> list[Sequence[Ids]]:
        """Without the only sentence of a document: nobody would read its first translation.

        Those after it would, and it would itself in a model that looks ahead; of the rest of the target side the second
        pass sees of such a sentence what the first does: nothing.
        """
        looks_ahead = self.model.engine.looks_ahead
        return [document if looks_ahead or any(document[1:]) else [[]] * len(document) for document in documents]

    def passes(self, settings: DecodingSettings, model: LoadedModel | None = None) -> Passes:
        """The ways through documents, one by one: of this model, or of that of the first pass."""
        model = model or self.model
        return Passes(model.engine, model.layout, model.config.rows, settings)
