"""Gettext catalogues (.po, .pot): each msgid is translated into its msgstr.

Files are edited in place, string by string: polib and translate-toolkit wrap strings anew and order comments their
own way, and a diff of a catalogue should show what was translated and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from docflat.formats.catalogues.messages import Message, keep_arguments, read_message, write_message
from docflat.formats.catalogues.po_entries import MOST_ENTRIES, WIDTH, Entry, decode_po, read_entries, write_string
from docflat.formats.segments import Segment
from docflat.support.errors import InputError

Redo = Literal["untranslated", "fuzzy", "all"]
_PLURALS = re.compile(r"nplurals\s*=\s*([1-9])\s*;")


class Po:
    """`redo`: which messages are translated; "fuzzy" takes those too that a human should look at again.

    `target_language` is put into a header that has none.
    """

    name = "po"

    def __init__(self, redo: Redo = "untranslated", target_language: str = "") -> None:
        self.redo, self.target_language = redo, target_language

    def read(self, data: bytes, file: str) -> Catalogue:
        text, charset = decode_po(data, file)
        entries = list(islice(read_entries(text, file), MOST_ENTRIES + 1))
        if len(entries) > MOST_ENTRIES:
            raise InputError(f"has more than {MOST_ENTRIES} messages", file)
        return Catalogue(data, text, charset, entries, self.redo, self.target_language)


@dataclass
class _Unit:
    """An entry with its msgid, and msgid_plural, as messages; `first` is the place of its first segment."""

    entry: Entry
    messages: list[Message]
    first: int

    def split(self, segments: Sequence[Segment]) -> list[Sequence[Segment]]:
        """Its segments, by message."""
        parts, place = [], self.first
        for message in self.messages:
            parts.append(segments[place : place + len(message.segments)])
            place += len(message.segments)
        return parts


class Catalogue:
    """A file that was read."""

    def __init__(
        self, data: bytes, text: str, charset: str, entries: Sequence[Entry], redo: Redo, target_language: str
    ) -> None:
        self.data, self.text, self.charset = data, text, charset
        self.redo, self.target_language = redo, target_language
        self.newline = "\r\n" if "\r\n" in text else "\n"
        self.header = next((entry for entry in entries if entry.is_header), None)
        plurals = _PLURALS.search(self.header.texts["msgstr"].value) if self.header else None
        self.plurals = int(plurals[1]) if plurals else 0
        self.segments: list[Segment] = []
        self.units: list[_Unit] = []
        for entry in entries:
            if not entry.is_header:
                self._add(entry)

    def _add(self, entry: Entry) -> None:
        reason = self._skip_reason(entry)
        messages = []
        first = len(self.segments)
        for source in (entry.source, entry.plural):
            if source is not None:
                message = read_message(source, entry.flags)
                parts = tuple(Segment(each.text, each.spans, reason or each.skip_reason) for each in message.segments)
                messages.append(Message(parts, message.raws, message.between))
                self.segments += parts
        self.units.append(_Unit(entry, messages, first))

    def _skip_reason(self, entry: Entry) -> str:
        if self.redo == "all" or not all(entry.translations):
            return ""
        if entry.is_fuzzy:
            return "" if self.redo == "fuzzy" else "fuzzy"
        return "already translated"

    def render(self, segments: Sequence[Segment]) -> bytes:
        edits: list[tuple[int, int, str]] = []
        for unit in self.units:
            old, new = unit.split(self.segments), unit.split(segments)
            if any(
                a is not b for ours, others in zip(old, new, strict=True) for a, b in zip(ours, others, strict=True)
            ):
                edits += self._edit(unit, new)
        if not edits:
            return self.data
        text, place = [], 0
        for start, end, instead in sorted([*edits, *self._edit_header()]):
            text += [self.text[place:start], instead]
            place = end
        return self._encode("".join([*text, self.text[place:]]))

    def _edit(self, unit: _Unit, segments: Sequence[Sequence[Segment]]) -> list[tuple[int, int, str]]:
        entry = unit.entry
        sources = [entry.source] if entry.plural is None else [entry.source, entry.plural]
        new, is_safe = [], True
        for source, message, translated in zip(sources, unit.messages, segments, strict=True):
            text, in_order = keep_arguments(source, write_message(message, translated), entry.flags)
            new.append(text)
            is_safe = is_safe and in_order
        old = {key: text for key, text in entry.texts.items() if key.startswith("msgstr")}
        values = dict(zip(old, new, strict=False))
        if entry.plural is not None:
            # One form serves all numbers; of more, the first is that of the singular.
            forms = self.plurals or max(len(old), 1)
            values = {f"msgstr[{i}]": new[0] if i == 0 and forms > 1 else new[1] for i in range(forms)}
        if self.redo != "all" and not entry.is_fuzzy:
            values |= {key: text.value for key, text in old.items() if text.value and key in values}
        wrap = max(text.widest for text in entry.texts.values()) <= WIDTH
        lines = [write_string(key, value, self.newline, wrap) for key, value in values.items()]
        start, end = min(text.start for text in old.values()), max(text.end for text in old.values())
        # Somebody must look at forms for few and for many that were made from the same words.
        fuzzy = len(values) > 2 or not is_safe
        return [(start, end, self.newline.join(lines)), *self._edit_flags(entry, fuzzy)]

    def _edit_flags(self, entry: Entry, fuzzy: bool) -> list[tuple[int, int, str]]:
        flags = [flag for flag in entry.flags if flag != "fuzzy"]
        if fuzzy == entry.is_fuzzy:
            return []
        line = "#, " + ", ".join(["fuzzy", *flags] if fuzzy else flags)
        if not entry.flag_lines:
            start = min(text.start for text in entry.texts.values())
            return [(start, start, line + self.newline)]
        stale = [*entry.flag_lines[1:], *([] if fuzzy else entry.previous_lines)]
        edits = [(start, self._next_line(end), "") for start, end in stale]
        start, end = entry.flag_lines[0]
        return [*edits, (start, end, line) if fuzzy or flags else (start, self._next_line(end), "")]

    def _next_line(self, end: int) -> int:
        newline = self.text.find("\n", end)
        return len(self.text) if newline < 0 else newline + 1

    def _edit_header(self) -> list[tuple[int, int, str]]:
        if self.header is None or not self.target_language:
            return []
        place = self.header.texts["msgstr"]
        match = re.compile(r'(?<=")Language: *(?=\\n")').search(self.text, place.start, place.end)
        return [(*match.span(), f"Language: {self.target_language}")] if match else []

    def _encode(self, text: str) -> bytes:
        """In the charset of the file, or in UTF-8 if that cannot hold the translations; the header then says so."""
        if self.header is not None:
            place = self.header.texts["msgstr"]
            match = re.compile(r"(?<=charset=)[\w.:-]+").search(
                text, place.start, place.end + len(self.target_language)
            )
            named = "" if match is None else match[0]
            try:
                if named != "CHARSET" or text.isascii():
                    return text.encode(self.charset)
            except UnicodeEncodeError:
                pass
            if match is not None:
                text = f"{text[: match.start()]}UTF-8{text[match.end() :]}"
        return text.encode("utf-8", "replace")
