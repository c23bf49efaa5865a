"""Every command, and every verb of one, says what it does and gives examples that its parser takes."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest

from tocsin.cli.main import main, make_parser

_PIPES = {"|", "<", ">"}


def _parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for one in action.choices.values():
                yield from _parsers(one)


def _examples(parser: argparse.ArgumentParser) -> list[str]:
    """The lines of the help that begin with the command, indented."""
    return re.findall(rf"^ +({re.escape(parser.prog)}(?: .*)?)$", (parser.epilog or ""), re.MULTILINE)


def _arguments(example: str) -> list[str]:
    """The words behind `tocsin`, up to a pipe or a redirection."""
    words = shlex.split(example)[1:]
    return words[: next((at for at, word in enumerate(words) if word in _PIPES), len(words))]


PARSERS = {parser.prog: parser for parser in _parsers(make_parser())}


@pytest.mark.parametrize("command", PARSERS)
def test_a_command_says_what_it_does(command: str) -> None:
    """A sentence or two, which the help shows, and a line in the list of commands."""
    description = PARSERS[command].description or ""

    assert description.startswith(description[:1].upper()) and description.endswith(".")
    assert description in PARSERS[command].format_help()


@pytest.mark.parametrize("command", PARSERS)
def test_examples_are_what_the_parser_takes(command: str) -> None:
    """At least two, each on a line of the help; other commands are not shown."""
    examples = _examples(PARSERS[command])
    shown = PARSERS[command].format_help().splitlines()

    assert len(examples) >= 2
    for example in examples:
        assert f"    {example}" in shown
        assert callable(make_parser().parse_args(_arguments(example)).run)


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (["explain", "s.jsonl", "e.jsonl", "--bad-option"], "tocsin explain"),
        (["check", "s.jsonl", "extra"], "tocsin check"),
        (["index", "list", "--bad-option"], "tocsin index list"),
        (["explain", "--bad-option"], "tocsin explain"),
    ],
)
def test_wrong_usage_shows_that_of_the_command(arguments: list[str], command: str, capsys: Any) -> None:
    """And not the list of all commands."""
    with pytest.raises(SystemExit) as caught:
        main(arguments)

    err = capsys.readouterr().err
    assert caught.value.code == 2
    assert err.startswith(f"usage: {command} [-h]")
    assert f"\n{command}: error: " in err


@pytest.mark.parametrize("command", PARSERS)
def test_every_argument_has_a_help(command: str) -> None:
    """Every option, too."""
    silent = [action.dest for action in PARSERS[command]._actions if not action.help]

    assert [dest for dest in silent if dest not in ("command", "verb")] == []
