"""The parser of the command line: argparse, with messages that say what is allowed and what was probably meant."""

from __future__ import annotations

import argparse
import math
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Final, NoReturn, TypeVar

from tocsin.language.nearest import nearest

Number = TypeVar("Number", int, float)
_NUMBERS: Final = {int: ("an integer", "20"), float: ("a number", "2.5")}
"""How messages call the values of options, and an example of each."""
_FLAGS: Final = {"true": True, "false": False, "1": True, "0": False}
_MISSING: Final = "the following arguments are required"
"""How argparse's message begins if it missed some arguments, and so did not look for unknown ones."""


class Parser(argparse.ArgumentParser):
    """A parser of a command. Its commands and verbs have parsers of this class, too."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._given: Sequence[str] = ()
        self._variables: dict[str, argparse.Action] = {}  # options that the environment may give, by variable
        self.register("type", int, _reader(int))  # of every option that is added with this type
        self.register("type", float, _reader(float))

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self._given = sys.argv[1:] if args is None else list(args)
        self.set_defaults(**{action.dest: value for action, value in self._from_environment()})
        return super().parse_known_args(args, namespace)

    def take_variables(self, prefix: str) -> None:
        """Let variables of the environment give the options so far. The help names them."""
        for action in self._actions:
            option = next((one for one in action.option_strings if one.startswith("--")), None)
            if option is not None and option != "--help":
                name = prefix + option.removeprefix("--").replace("-", "_").upper()
                self._variables[name] = action
                action.help = f"{action.help or ''} [{name}]"

    def _from_environment(self) -> Iterator[tuple[argparse.Action, Any]]:
        """The options that variables give, with their values."""
        for name, action in self._used_variables():
            try:
                yield action, self._of_variable(action, os.environ[name])
            except argparse.ArgumentError as error:
                self.error(f"{name}: {error.message}")

    def _used_variables(self) -> Iterator[tuple[str, argparse.Action]]:
        """The variables that count: they are not empty, and no option is given in their place."""
        given = [one.partition("=")[0] for one in self._given if one.startswith("--")]
        for name, action in self._variables.items():
            is_given = any(option.startswith(one) for option in action.option_strings for one in given)
            if os.environ.get(name) and not is_given:
                yield name, action

    def _of_variable(self, action: argparse.Action, text: str) -> Any:
        if action.nargs == 0:
            if text.lower() not in _FLAGS:
                raise argparse.ArgumentError(action, f"{text!r} is not one of {', '.join(_FLAGS)}")
            return _FLAGS[text.lower()]
        is_list = isinstance(action.default, list)
        parts = [one.strip() for one in text.split(",")] if is_list else [text]
        values = [self._get_value(action, one) for one in parts]
        for value in values:
            self._check_value(action, value)
        return values if is_list else values[0]

    def spelled(self, message: str) -> str:
        """A message that names options, with the variables in place of those that variables gave."""
        for name, action in self._used_variables():
            for option in action.option_strings:
                message = re.sub(rf"(?<!\S){option}(?![\w-])", name, message)
        return message

    def error(self, message: str) -> NoReturn:
        if message.startswith(_MISSING):
            known = self._options()
            given = [one.partition("=")[0] for one in self._given if one.startswith("--")]
            wrong = next((one for one in given if not any(name.startswith(one) for name in known)), "")
            message += f"; {wrong} is not an option{_meant(wrong, known)}" if wrong else ""
        super().error(message)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Raise `ArgumentError` for a value that is not among the choices; argparse suggests none before 3.14."""
        if action.choices is not None and value not in action.choices:
            choices = [str(one) for one in action.choices]
            near = nearest(str(value), choices)
            meant = f"; did you mean {near}?" if near else ""
            raise argparse.ArgumentError(action, f"{value!r} is not one of {', '.join(choices)}{meant}")

    def refuse(self, unknown: Sequence[str]) -> None:
        """End the program because of unknown arguments, with the option that the first one probably means."""
        wrong = next((one for one in unknown if one.startswith("-")), "")
        self.error(f"unrecognized arguments: {' '.join(unknown)}{_meant(wrong, self._options())}")

    def _options(self) -> list[str]:
        return [name for action in self._actions for name in action.option_strings if name.startswith("--")]


def _meant(wrong: str, known: Sequence[str]) -> str:
    """A question about the option that was probably meant: a similar one, or one that ends so. Empty if none is."""
    word = wrong.partition("=")[0].lstrip("-")
    longer = (name for name in known if word and name.endswith(f"-{word}"))
    found = f"--{word}" if f"--{word}" in known else nearest(f"--{word}", known) or next(longer, None)
    return f"; did you mean {found}?" if found else ""


def _reader(kind: type[Number]) -> Callable[[str], Number]:
    """A reader of an option's number. It raises `ArgumentTypeError` for anything else, NaN among them."""
    name, example = _NUMBERS[kind]

    def read(text: str) -> Number:
        with suppress(ValueError):
            number = kind(text)
            if not math.isnan(number):
                return number
        raise argparse.ArgumentTypeError(f"{text!r} is not {name}; write one such as {example}")

    return read
