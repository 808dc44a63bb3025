"""What goes wrong because of the user's input, as opposed to a bug."""

from __future__ import annotations

from os import PathLike


class InputError(Exception):
    """Bad input: the command line prints it as one line and exits with status 2.

    The message names the file and the line (counted from 1) wherever there are any.
    """

    status = 2  # of the process

    def __init__(self, message: str, file: str | PathLike[str] | None = None, line: int | None = None) -> None:
        place = "" if file is None else f"{file}: " if line is None else f"{file}:{line}: "
        super().__init__(f"{place}{message}")
        self.place, self.message = place, message


class SomeFailed(InputError):
    """Of several files some could not be done, each of which was named; the others are done."""

    status = 1
