"""The options of `tocsin fences` that a state keeps, and the fences that they make."""

from __future__ import annotations

import argparse
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tocsin.errors import InvalidInput
from tocsin.model.fence import number_of_seconds, seconds_of
from tocsin.monitor import Fences
from tocsin.monitor.files import read_options
from tocsin.monitor.following import Matching

_NAMES: Final = (
    "key",
    "time",
    "time_unit",
    "order",
    "path",
    "no_places",
    "accuracy",
    "enter_after",
    "exit_after",
    "dwell",
    "inside",
    "forget_after",
)
"""The options that a state keeps, as in `Fences`."""

_SAVED_EVERY_S: Final = 30.0


def add_objects(parser: argparse.ArgumentParser) -> None:
    """Add the options for the attributes of events that say which object is where, and when."""
    parser.add_argument(
        "--key", metavar="NAME", help="the attribute that identifies objects; required, unless a state has it"
    )
    parser.add_argument("--time", metavar="NAME", help="the attribute with the time of an event (default: no times)")
    parser.add_argument("--time-unit", metavar="UNIT", help="the unit of numeric times: s, ms, us or ns (default: s)")
    parser.add_argument(
        "--order",
        metavar="ORDER",
        help="arrival: process events as they come; time: sort them by time first (default: arrival)",
    )
    parser.add_argument(
        "--path",
        metavar="NAME",
        help="the attribute with the place; also report fences crossed between two events (default: no crossings)",
    )
    parser.add_argument(
        "--no-place",
        dest="no_places",
        action="append",
        metavar="X:Y",
        help="a point that means an unknown place (default: 181:91, as AIS sends it); may be repeated",
    )
    parser.add_argument(
        "--accuracy",
        metavar="NAME",
        help="the attribute with the accuracy of places in metres; what it leaves open changes nothing (default: none)",
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
    parser.add_argument(
        "--forget-after",
        metavar="TIME",
        help="forget an object after this time without events: seconds, or 30s, 5min, 1h (default: never)",
    )


def fences_of(given: argparse.Namespace, engine: Matching) -> Fences:
    """New fences, or those of the state; raises `InvalidInput` for an option that differs from the state's."""
    options = {name: _READ.get(name, str)(said) for name in _NAMES if (said := getattr(given, name)) is not None}
    if given.state is not None and Path(given.state).exists():
        _refuse_others(given.state, options)
        return Fences.load(given.state, engine)
    if "key" not in options:
        raise InvalidInput("--key is missing; it names the attribute that identifies objects")
    return Fences(engine, **options)


def saved_every(given: argparse.Namespace) -> float:
    """The seconds after which the state of a stream is saved; raises `InvalidInput`."""
    if given.save_every is None:
        return _SAVED_EVERY_S
    if given.state is None:
        raise InvalidInput("--save-every needs --state, the file for the state")
    seconds = number_of_seconds(_time(given.save_every))
    if not isinstance(seconds, float) or not 0 < seconds < threading.TIMEOUT_MAX:
        raise InvalidInput(f"--save-every: {given.save_every!r} is not a time above 0; write 30s")
    return seconds


def _refuse_others(state: str, options: Mapping[str, Any]) -> None:
    saved = read_options(state)
    for name, value in options.items():
        before = saved.get(name)
        if _plain(name, before) != _plain(name, value):
            option = "--no-place" if name == "no_places" else f"--{name.replace('_', '-')}"
            if before is None or before is False:
                told = f"without {option}"
            else:
                told = f"with {option} {_shown(before)}, not {_shown(value)}"
            raise InvalidInput(f"{state} was written {told}; leave the option out, or name another file")


def _plain(name: str, value: Any) -> Any:
    """The value of an option in a form in which equal values are equal: 5min is 300."""
    if name == "no_places":
        return [(float(x), float(y)) for x, y in value or ()]
    if name in ("enter_after", "exit_after"):
        return seconds_of(value) is None, number_of_seconds(value)
    return number_of_seconds(value) if name in ("dwell", "forget_after") else value


def _shown(value: Any) -> str:
    """The value of an option as it is written on the command line."""
    if isinstance(value, list):
        return ", ".join(f"{_shown(x)}:{_shown(y)}" for x, y in value)
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _rule(text: str) -> int | str:
    return int(text) if text.isdigit() else text


def _time(text: str) -> float | str:
    """A number of seconds; any other text as it is."""
    try:
        return float(text)
    except ValueError:
        return text


def _places(texts: list[str]) -> list[tuple[float, float]]:
    return [_place(text) for text in texts]


def _place(text: str) -> tuple[float, float]:
    x, _, y = text.partition(":")
    try:
        return float(x), float(y)
    except ValueError:
        raise InvalidInput(f"--no-place: {text!r} is not X:Y; write 0:0") from None


_READ: Final[dict[str, Any]] = {
    "enter_after": _rule,
    "exit_after": _rule,
    "dwell": _time,
    "forget_after": _time,
    "no_places": _places,
    "inside": bool,
}
"""How the text of an option is read, if it is not just a text."""
