"""Sessions: what was translated before under the same name is the context of what comes next.

For clients that send one line after another: chats, subtitles, tools of translators.
"""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from docflat.service.problems import Problem
from docflat.service.settings import Settings

_NAME = re.compile(r"[\w.-]{1,64}", re.ASCII)
_LINES = 6  # that are remembered, at most
_CHARACTERS = 600  # of them together: they are translated again with every request
_Key = tuple[str, str, str]  # owner, name, language pair


@dataclass
class Sessions:
    settings: Settings
    _lines: OrderedDict[_Key, tuple[list[str], float]] = field(default_factory=OrderedDict)  # and when that was

    def __len__(self) -> int:
        return len(self._lines)

    def before(self, owner: str, name: str, pair: str) -> tuple[str, ...]:
        """The lines before; they are context."""
        if not _NAME.fullmatch(name):
            raise Problem(400, "session_name")
        self._forget_old()
        return tuple(self._lines.get((owner, name, pair), ([], 0.0))[0])

    def remember(self, owner: str, name: str, pair: str, texts: Sequence[str]) -> None:
        key = owner, name, pair
        earlier, _ = self._lines.pop(key, ([], 0.0))
        lines = [*earlier, *(line.strip() for text in texts for line in text.split("\n") if line.strip())][-_LINES:]
        while sum(map(len, lines)) > _CHARACTERS:
            del lines[0]
        self._lines[key] = lines, time.monotonic()
        if len(self._lines) > self.settings.most_sessions:
            self._lines.popitem(last=False)

    def _forget_old(self) -> None:
        now = time.monotonic()
        while self._lines:
            key, (_, then) = next(iter(self._lines.items()))
            if now - then <= self.settings.session_seconds:
                return
            del self._lines[key]
