"""The service: its queues, and what every route needs of them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from starlette.requests import Request

from docflat.service import usage
from docflat.service.glossaries import Glossaries
from docflat.service.jobs import Jobs
from docflat.service.keys import Keys, Rates
from docflat.service.languages import NAMES, base, find_model, name_of, pairs
from docflat.service.messages import Message
from docflat.service.metrics import Metrics
from docflat.service.problems import Problem
from docflat.service.sessions import Sessions
from docflat.service.settings import Model, Settings
from docflat.service.store import Store
from docflat.service.texts import TextRequest, Texts
from docflat.service.usage import Usage
from docflat.translation.source_language import Detector

T = TypeVar("T")
log = logging.getLogger("docflat.service")

MOST_TEXTS = 10_000  # of one request; empty ones have no characters, and are work all the same
SURE = 0.8  # that a text is in another language: then it is not translated as if it were not


class ClientGone(Exception):
    """The client closed the connection while it waited."""


@dataclass
class Detected:
    language: str
    confidence: float  # 0 to 1


@dataclass
class Service:
    settings: Settings
    metrics: Metrics = field(default_factory=Metrics)
    detector: Detector = field(default_factory=lambda: Detector(NAMES))
    _writing: asyncio.Task[None] | None = None

    def __post_init__(self) -> None:
        self.texts = Texts(self.settings, self.metrics)
        self.store = Store(self.settings.folder / "jobs.db")
        self.jobs = Jobs(self.settings, self.metrics, self.store)
        self.glossaries = Glossaries(self.store)
        self.usage = Usage(self.store)
        self.sessions = Sessions(self.settings)
        self.keys = Keys.read(self.settings.keys) if self.settings.keys else None
        self.rates = Rates(self.settings.rate)
        watch = self.metrics.watch
        watch("docflat_waiting_seconds", "Estimated work of waiting texts", lambda: self.texts.waiting_seconds)
        watch("docflat_sessions", "Sessions that are remembered", lambda: float(len(self.sessions)))
        watch("docflat_waiting_document_seconds", "The same of documents", lambda: self.jobs.waiting_seconds)

    async def start(self) -> None:
        try:
            await asyncio.gather(self.texts.start(), self.jobs.start())
            self._writing = asyncio.create_task(self._write_usage())
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        if self._writing is not None:
            self._writing.cancel()
        await asyncio.gather(self.texts.stop(), self.jobs.stop())
        self.usage.write()
        self.store.close()

    async def _write_usage(self) -> None:
        while True:
            await asyncio.sleep(usage.SECONDS)
            await asyncio.to_thread(self.usage.write)

    def context_of(self, request: Request, model: Model) -> tuple[str, ...]:
        """What the session of a request, if it names one, has translated before."""
        name = request.path_params.get("session")
        return () if name is None else self.sessions.before(request.state.owner, name, model.name)

    def remember(self, request: Request, model: Model, texts: Sequence[str]) -> None:
        if (name := request.path_params.get("session")) is not None:
            self.sessions.remember(request.state.owner, name, model.name, texts)

    async def detect(self, texts: Sequence[str]) -> list[tuple[str, float]]:
        """Languages of a text and how sure each is, the surest first."""
        return await asyncio.to_thread(self.detector.rank, "\n".join(texts)[:4000])

    async def choose(self, source: str, target: str, texts: Sequence[str]) -> tuple[Model | None, Detected | None]:
        """The model for a request, and what was detected if the source is `auto` or empty.

        No model: the text is in the target language already. A text that is surely in a language that no model
        translates is refused; one that is too short to tell is taken for a language that is loaded.
        """
        settings = self.settings
        if source not in ("", "auto"):
            if base(source) == base(target) and base(source) in (*settings.sources, *settings.targets()):
                return None, None
            return find_model(settings, source, target), None
        sources = [model.source for model in settings.models if model.target == base(target)]
        if not sources:
            raise Problem(400, "target", target=target, pairs=pairs(settings), unknown=target)
        ranked = await self.detect(texts)
        language, sure = ranked[0]
        if language not in (*sources, base(target)):
            if sure >= SURE:
                raise Problem(400, "other_language", guess=name_of(language), sure=round(100 * sure))
            language, sure = next(((one, p) for one, p in ranked if one in sources), (sources[0], 0.0))
        if language == base(target) and sure < SURE:
            language, sure = next(((one, p) for one, p in ranked if one in sources), (sources[0], 0.0))
        return settings.find(language, base(target)), Detected(language, sure)

    async def translate(self, http: Request, request: TextRequest) -> Message:
        """The answer to a request of texts; its work stops when the client goes away."""
        if len(request.texts) > MOST_TEXTS:
            raise Problem(413, "too_many_texts", count=len(request.texts), most=MOST_TEXTS)
        if request.characters > self.settings.most_characters:
            most = self.settings.most_characters
            raise Problem(413, "too_long", count=request.characters, most=most)
        if not any(text.strip() for text in request.texts):
            return {"texts": list(request.texts), "rows": []}
        answer = await while_connected(http, self.texts.translate(request))
        self.metrics.characters.labels("texts").inc(request.characters)
        self.usage.add(http.state.owner, sum(map(len, request.texts)))
        return answer


async def while_connected(http: Request, work: Awaitable[T]) -> T:
    """The work's result; if the client goes away first the work is cancelled."""
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_leaves(http))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientGone
        return working.result()
    finally:
        leaving.cancel()
        working.cancel()


async def _leaves(http: Request) -> None:
    while (await http.receive())["type"] != "http.disconnect":
        pass
