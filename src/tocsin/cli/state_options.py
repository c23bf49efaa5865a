"""The options of commands that follow objects: where the state is, what counts as a change, and how these are read."""

from __future__ import annotations

import argparse
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tocsin.errors import InvalidInput
from tocsin.model.fence import number_of_seconds, seconds_of

_SAVED_EVERY_S: Final = 30.0
_SECONDS: Final = ("dwell", "forget_after", "lateness", "most_ahead")
"""The options that are numbers of seconds, or spans."""


def add_state(parser: argparse.ArgumentParser) -> None:
    """Add the options for the state and for the file of changes."""
    parser.add_argument(
        "--state",
        metavar="FILE",
        help="continue from the state in this file, if it exists, and save the new state there; options that are not "
        "given are then those of the state, and others must be the same",
    )
    parser.add_argument(
        "--save-every",
        metavar="TIME",
        help="in a stream of JSON lines from standard input, save the state after this time, too: seconds, or 30s, "
        "5min (default: 30s; with --out only at the end)",
    )
    parser.add_argument("--out", default="-", metavar="FILE", help="the file for changes (default: -, standard output)")
    parser.add_argument(
        "--no-warnings", action="store_true", help="do not warn about conditions that probably mean something else"
    )


def add_rules(parser: argparse.ArgumentParser) -> None:
    """Add the options for what counts as a change."""
    parser.add_argument(
        "--enter-after",
        metavar="N",
        help="enter after this many events in a row inside, or after a time such as 30s or 5min (default: 1)",
    )
    parser.add_argument(
        "--exit-after",
        metavar="N",
        help="leave after this many events in a row outside, or after a time such as 30s or 5min (default: 1)",
    )
    parser.add_argument(
        "--dwell", metavar="TIME", help="report each object that has been inside for this time: seconds, or 30s, 5min"
    )
    parser.add_argument(
        "--inside",
        action="store_true",
        default=None,
        help="also report every further event of an object inside",
    )


def given_options(given: argparse.Namespace, names: Sequence[str], read: Mapping[str, Any]) -> dict[str, Any]:
    """The options that are given, by the names of Python. `read` says how their texts are read, beside plain ones."""
    readers = {**_READ, **read}
    return {name: readers.get(name, str)(said) for name in names if (said := getattr(given, name)) is not None}


def is_continued(
    given: argparse.Namespace, options: Mapping[str, Any], saved: Callable[[str], Mapping[str, Any]]
) -> bool:
    """Whether there is a state to continue from; raises `InvalidInput` for an option that differs from the state's.

    `saved` gives the options of a state.
    """
    if given.state is not None and Path(given.state).exists():
        _refuse_others(given.state, saved(given.state), options)
        return True
    if "key" not in options:
        raise InvalidInput("--key is missing; it names the attribute that identifies objects")
    return False


def saved_every(given: argparse.Namespace) -> float:
    """The seconds after which the state of a stream is saved; raises `InvalidInput`."""
    if given.save_every is None:
        return _SAVED_EVERY_S
    if given.state is None:
        raise InvalidInput("--save-every needs --state, the file for the state")
    seconds = number_of_seconds(seconds_or_text(given.save_every))
    if not isinstance(seconds, float) or not 0 < seconds < threading.TIMEOUT_MAX:
        raise InvalidInput(f"--save-every: {given.save_every!r} is not a time above 0; write 30s")
    return seconds


def _refuse_others(state: str, saved: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    for name, value in options.items():
        before = saved.get(name)
        if _plain(name, before) != _plain(name, value):
            option = "--no-place" if name == "no_places" else f"--{name.replace('_', '-')}"
            if before is None or before is False:
                told = f"without {option}"
            else:
                told = f"with {option} {_shown(name, before)}, not {_shown(name, value)}"
            raise InvalidInput(f"{state} was written {told}; leave the option out, or name another file")


def _plain(name: str, value: Any) -> Any:
    """The value of an option in a form in which equal values are equal: 5min is 300."""
    if name == "no_places":
        return [(float(x), float(y)) for x, y in value or ()]
    if name in ("enter_after", "exit_after"):
        return seconds_of(value) is None, number_of_seconds(value)
    return number_of_seconds(value) if name in _SECONDS else value


def _shown(name: str, value: Any) -> str:
    """The value of an option as it is written on the command line."""
    if name == "no_places":
        return ", ".join(f"{_shown('', x)}:{_shown('', y)}" for x, y in value)
    if isinstance(value, list):
        return ",".join(value)
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _rule(text: str) -> int | str:
    return int(text) if text.isdigit() else text


def seconds_or_text(text: str) -> float | str:
    """A number of seconds; any other text as it is."""
    try:
        return float(text)
    except ValueError:
        return text


_READ: Final[dict[str, Any]] = {
    "enter_after": _rule,
    "exit_after": _rule,
    "inside": bool,
    **dict.fromkeys(_SECONDS, seconds_or_text),
}
"""How the text of an option is read, if it is not just a text."""
