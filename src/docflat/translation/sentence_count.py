"""The progress of a translation in sentences."""

from __future__ import annotations

from collections.abc import Callable


class SentenceCount:
    """Counts sentences where a decoder counts the pieces that it gets.

    It takes these in an order of its own, so how many sentences are whole is not known before the end: a share of
    them is reported.
    """

    def __init__(self, sentences: int, pieces: int, done: Callable[[int], None]) -> None:
        self.sentences, self.pieces, self.done = sentences, pieces, done
        self.pieces_done = self.reported = 0

    def add_pieces(self, pieces: int) -> None:
        self.pieces_done += pieces
        self._report(self.sentences * self.pieces_done // max(1, self.pieces))

    def finish(self) -> None:
        """Empty sentences are never heard of, and are done too."""
        self._report(self.sentences)

    def _report(self, sentences: int) -> None:
        new, self.reported = sentences - self.reported, sentences
        self.done(new)
