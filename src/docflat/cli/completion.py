"""`docflat completion`: what bash, zsh and fish need to complete a command, made from the table of verbs."""

from __future__ import annotations

import argparse
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence

from docflat.support.console import say

Options = Mapping[str, Sequence[str]]  # of a verb: each option with the words that can follow it; "": the verb itself


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="which shell the script is for")


def run(arguments: Namespace) -> None:
    from docflat.cli.dispatch import VERBS, verb_parser

    verbs = {verb.name: options_of(verb_parser(verb)) for verb in VERBS}
    summaries = {verb.name: verb.summary for verb in VERBS}
    if arguments.shell == "fish":
        return say(*fish(verbs, summaries))
    # zsh has bash's way of completing, if it is asked for it.
    start = ["autoload -Uz +X compinit bashcompinit && compinit && bashcompinit"] if arguments.shell == "zsh" else []
    return say(*start, *bash(verbs))


def options_of(parser: ArgumentParser) -> dict[str, list[str]]:
    return {
        option: [str(choice) for choice in action.choices or ()]
        for action in parser._actions
        if action.help != argparse.SUPPRESS and (action.option_strings or action.choices)
        for option in action.option_strings or [""]
    }


def bash(verbs: Mapping[str, Options]) -> list[str]:
    """A function that completes the verb, its options, and the words of an option; else files."""
    firsts = sorted({name.partition(" ")[0] for name in verbs} | {"help"})
    pairs = [name for name in verbs if " " in name]  # `bulk status` beside `bulk`
    seconds: dict[str, list[str]] = {}
    for name in pairs:
        first, _, second = name.partition(" ")
        seconds.setdefault(first, []).append(second)
    for name, options in verbs.items():
        seconds.setdefault(name, []).extend(options.get("", ()))
    return [
        "_docflat() {",
        "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} verb=${COMP_WORDS[1]} words=",
        "  COMPREPLY=()",
        '  if [ "$COMP_CWORD" = 1 ] || { [ "$COMP_CWORD" = 2 ] && [ "$verb" = help ]; }; then',
        f"    {_offer(firsts)}",
        "    return",
        "  fi",
        f'  case "$verb ${{COMP_WORDS[2]}}" in {_any(pairs)}) verb="$verb ${{COMP_WORDS[2]}}" ;; esac',
        '  case "$verb:$before" in',
        *(
            f'    "{name}:{option}") {_offer(words)}; return ;;'
            for name, options in verbs.items()
            for option, words in options.items()
            if words and option
        ),
        "  esac",
        '  case "$verb" in',
        *(f'    "{name}") words="{" ".join(filter(None, options))}" ;;' for name, options in verbs.items()),
        "  esac",
        '  if [ "${word#-}" != "$word" ]; then',
        '    COMPREPLY=($(compgen -W "$words" -- "$word"))',
        "    return",
        "  fi",
        '  case "$COMP_CWORD:$verb" in',
        *(f'    "{len(name.split()) + 1}:{name}") {_offer(words)} ;;' for name, words in seconds.items() if words),
        "  esac",
        '  COMPREPLY+=($(compgen -f -- "$word"))',
        "}",
        "complete -o filenames -F _docflat docflat",
    ]


def _offer(words: Sequence[str]) -> str:
    return f'COMPREPLY=($(compgen -W "{" ".join(words)}" -- "$word"))'


def _any(words: Sequence[str]) -> str:
    return "|".join(f'"{word}"' for word in words)


def fish(verbs: Mapping[str, Options], summaries: Mapping[str, str]) -> list[str]:
    """A line a verb and a line an option; what is said of a verb stands beside it."""
    firsts = " ".join(sorted({name.partition(" ")[0] for name in verbs} | {"help"}))
    lines = []
    for name, options in verbs.items():
        first, _, second = name.partition(" ")
        says = f"-d '{_quoted(summaries[name])}'"
        if second:
            lines.append(f"complete -c docflat -n '__fish_seen_subcommand_from {first}' -a {second} {says}")
        else:
            lines.append(f"complete -c docflat -n 'not __fish_seen_subcommand_from {firsts}' -f -a {first} {says}")
            lines.append(f"complete -c docflat -n '__fish_seen_subcommand_from help' -f -a {first}")
        conditions = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in (first, second) if word)
        for option, words in options.items():
            if not option:
                lines.append(f"complete -c docflat -n '{conditions}' -f -a '{' '.join(words)}'")
                continue
            dashes = "-l" if option.startswith("--") else "-s"
            choices = f" -x -a '{' '.join(words)}'" if words else ""
            lines.append(f"complete -c docflat -n '{conditions}' {dashes} {option.lstrip('-')}{choices}")
    return lines


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")
