"""A shard to its part. One object does many: it loads the model once."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from docflat.bulk.diary import Diary
from docflat.bulk.documents import DocumentTranslator, Untranslatable, lines_of, sentences_of
from docflat.bulk.output import OutputError, store
from docflat.bulk.plan import Plan
from docflat.bulk.readers import open_reader
from docflat.bulk.readers.documents import Failure, Reader, Translation
from docflat.bulk.receipts import Receipt, read_receipt
from docflat.bulk.settings import Settings
from docflat.bulk.shards import Shard
from docflat.bulk.sources import output_name


class TranslateShard:
    """What every engine calls. A shard that is done already is left as it is, so a call may be repeated."""

    def __init__(self, plan: Plan, settings: Settings, threads: int = 1) -> None:
        self.plan, self.settings = plan, settings
        module, _, name = settings.loader.partition(":")
        self.model = getattr(import_module(module), name)(settings, threads)
        self.translator = DocumentTranslator(self.model, settings)
        self.readers: dict[int, Reader] = {}

    def __call__(self, shard: Shard, careful: bool = False) -> Receipt:
        """Do a shard. careful: process after process ended over it, so that each of its documents goes by itself."""
        path = self.plan.receipt(shard.name)
        if path.exists():
            return read_receipt(path)
        start = time.perf_counter()
        diary = Diary(self.plan.diary(shard.name)) if careful else None
        translations = self._files(shard, diary) if shard.files else self._part(shard, diary)
        texts = [each for each in translations if not isinstance(each, Failure)]
        receipt = Receipt(
            shard.name,
            shard.documents,
            shard.work,
            sentences=sum(map(sentences_of, texts)),
            tokens=self.model.count_tokens([line for text in texts for line in lines_of(text)]),
            seconds=round(time.perf_counter() - start, 3),
            finished=round(time.time(), 3),
            host=socket.gethostname(),
            precision=self.model.precision,
            failures=[each for each in translations if isinstance(each, Failure)],
        )
        store(path, receipt.to_json() + "\n")
        if diary is not None:
            diary.remove()
        return receipt

    def _part(self, shard: Shard, diary: Diary | None) -> Sequence[Translation]:
        """Documents of a source that become the records or lines of a file."""
        if shard.source not in self.readers:
            self.readers = {shard.source: open_reader(self.plan.sources[shard.source], self.settings)}
        reader = self.readers[shard.source]
        documents = reader.read(shard)
        texts = [None if document.failure else document.text for document in documents]
        if diary is None:
            results = self.translator.translate(texts)
        else:
            results = diary.each(texts, lambda text: self.translator.translate([text]))
        translations: list[Translation] = []
        for document, result in zip(documents, results, strict=True):
            reason = document.failure or (str(result) if isinstance(result, Untranslatable) else "")
            if reason:
                translations.append(Failure(reason, document.place))
            else:
                assert not isinstance(result, Untranslatable)
                translations.append(result)
        store(self.plan.part(shard), reader.render(translations))
        return translations

    def _files(self, shard: Shard, diary: Diary | None) -> Sequence[Translation]:
        """Files that become files of the same names; one that is written as another kind, with its ending behind."""
        root = self.plan.out / "files"
        todo = [(Path(path), root / output_name(name)) for name, path, _, _ in shard.files]
        if diary is None:
            results = self.translator.translate_files(todo)
        else:
            results = diary.each(todo, lambda file: self.translator.translate_files([file]))
        translations: list[Translation] = []
        for number, result in enumerate(results):
            if isinstance(result, Untranslatable):
                if str(result).startswith(f"{root}{os.sep}"):  # what cannot be written is no fault of the document
                    raise OutputError(str(result))
                translations.append(Failure(str(result), shard.first + number, shard.files[number][0]))
            else:
                translations.append([row[1] for row in result.rows])
        return translations
