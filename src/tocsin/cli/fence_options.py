"""The options of `tocsin fences` that a state keeps, and the fences that they make."""

from __future__ import annotations

import argparse
from typing import Final

from tocsin.cli.state_options import given_options, is_continued
from tocsin.errors import InvalidInput
from tocsin.monitor import Fences
from tocsin.monitor.fences.files import read_options
from tocsin.monitor.fences.following import Matching

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


def add_forgetting(parser: argparse.ArgumentParser) -> None:
    """Add the option for objects that are silent."""
    parser.add_argument(
        "--forget-after",
        metavar="TIME",
        help="forget an object after this time without events: seconds, or 30s, 5min, 1h (default: never)",
    )


def fences_of(given: argparse.Namespace, engine: Matching) -> Fences:
    """New fences, or those of the state; raises `InvalidInput` for an option that differs from the state's."""
    options = given_options(given, _NAMES, {"no_places": _places})
    return Fences.load(given.state, engine) if is_continued(given, options, read_options) else Fences(engine, **options)


def _places(texts: list[str]) -> list[tuple[float, float]]:
    return [_place(text) for text in texts]


def _place(text: str) -> tuple[float, float]:
    x, _, y = text.partition(":")
    try:
        return float(x), float(y)
    except ValueError:
        raise InvalidInput(f"--no-place: {text!r} is not X:Y; write 0:0") from None
