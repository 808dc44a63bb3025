"""Write docs/docflat.1, the manual page that a wheel installs, from the table of verbs and their parsers.

python docs/man.py
"""

from __future__ import annotations

import argparse
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path

from docflat import __version__
from docflat.cli.dispatch import VERBS, Verb, verb_parser

MESSAGES = "messages"  # the group of options that every verb has: said once
STATUSES = (
    ("0", "all was done, or was done before"),
    ("1", "some of several files failed; each was named on stderr, the others are done"),
    ("2", "wrong options, bad input, no room on the disk: one line on stderr says which; nothing is half-written"),
    ("130", "Ctrl-C"),
    ("129, 143", "SIGHUP, SIGTERM; what was half-written is removed"),
    ("141", "the reader of stdout went away"),
)
ENVIRONMENT = (
    ("DOCFLAT_MODELS", "the folder of imported models; else ~/.local/share/docflat/models"),
    ("NO_COLOR", "if it is set, no colours on a terminal"),
)
FILES = ((".docflat.jsonl", "beside translations: what each was made from, so that the next run knows what changed"),)


def escape(text: str) -> str:
    """Text that roff takes for text: no commands at the start of a line, dashes that can be copied."""
    text = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-").replace("~", "\\(ti").replace("^", "\\(ha")
    return f"\\&{text}" if text.startswith((".", "'")) else text


def page() -> str:
    lines = [
        '.\\" Written by docs/man.py.',
        f'.TH DOCFLAT 1 "" "docflat {__version__}" "User Commands"',
        ".SH NAME",
        r"docflat \- document\-level machine translation",
        ".SH SYNOPSIS",
        r".B docflat",
        r"\fIVERB\fR ...",
        ".SH DESCRIPTION",
        "Sentences are translated with the document around them. A model from English to German comes with it;",
        r".B docflat import",
        "gets others.",
        r".B docflat help \fIVERB\fB",
        "says what this page says of a verb. Every verb has these options:",
    ]
    *_, messages = verb_parser(VERBS[0])._action_groups
    assert messages.title == MESSAGES
    lines += [".TP", r".BR \-h ", "say what the verb takes"]
    for action in messages._group_actions:
        lines += option(action)
    lines.append(".SH VERBS")
    for verb in VERBS:
        lines += section(verb)
    for title, items in (("EXIT STATUS", STATUSES), ("ENVIRONMENT", ENVIRONMENT), ("FILES", FILES)):
        lines.append(f".SH {title}")
        for name, what in items:
            lines += [".TP", f".B {escape(name)}", escape(what)]
    lines += [".SH SEE ALSO", r"https://github.com/docflat/docflat/tree/main/docs"]
    return "\n".join(lines) + "\n"


def section(verb: Verb) -> Iterator[str]:
    parser = verb_parser(verb)
    actions = [action for action in parser._actions if action.help != argparse.SUPPRESS]
    names = " ".join(argument(action) for action in actions if not action.option_strings)
    required = [action for action in actions if action.required and action.option_strings]
    needed = " ".join(rf"\fB{escape(one.option_strings[-1])}\fR {value(one)}{repeated(one)}" for one in required)
    yield f'.SS "docflat {verb.name}"'
    yield escape(verb.summary[0].upper() + verb.summary[1:] + ".")
    yield ".PP"
    yield rf"\fBdocflat {escape(verb.name)}\fR [\fIoptions\fR] {needed} {names}".rstrip()
    for action in options_of(parser):
        yield from option(action)
    yield ".PP"
    yield ".nf"
    yield from (f"    {escape(line)}" for line in verb.example.split("\n"))
    yield ".fi"


def options_of(parser: ArgumentParser) -> Iterator[argparse.Action]:
    """But help and messages."""
    for group in parser._action_groups:
        if group.title != MESSAGES:
            for action in group._group_actions:
                if action.help != argparse.SUPPRESS and not isinstance(action, argparse._HelpAction):
                    yield action


def option(action: argparse.Action) -> list[str]:
    text = (action.help or "") % {**vars(action), "prog": "docflat"}
    names = ", ".join(rf"\fB{escape(name)}\fR" for name in action.option_strings) or argument(action)
    taken = "" if action.nargs == 0 or not action.option_strings else f" {value(action)}{repeated(action)}"
    return [".TP", names + taken, escape(text)]


def argument(action: argparse.Action) -> str:
    name = value(action) + repeated(action)
    return f"[{name}]" if action.nargs in ("*", "?") else name


def repeated(action: argparse.Action) -> str:
    return " ..." if action.nargs in ("*", "+") else ""


def value(action: argparse.Action) -> str:
    """How the value of an option is called."""
    if action.choices is not None:
        return "|".join(rf"\fB{escape(str(choice))}\fR" for choice in action.choices)
    names = action.metavar or action.dest
    return " ".join(rf"\fI{escape(name)}\fR" for name in (names if isinstance(names, tuple) else (names,)))


if __name__ == "__main__":
    Path(__file__).with_name("docflat.1").write_text(page(), encoding="utf-8")
