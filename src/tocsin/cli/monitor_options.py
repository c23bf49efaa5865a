"""The options of `tocsin monitor` that a state keeps, how time passes, and the monitor that they make."""

from __future__ import annotations

import argparse
import threading
from pathlib import Path
from typing import Any, Final

from tocsin.cli.state_options import given_options, is_continued, seconds_or_text
from tocsin.errors import InvalidInput
from tocsin.model.fence import number_of_seconds
from tocsin.monitor import Monitor
from tocsin.monitor.fences.following import Matching
from tocsin.monitor.files import read_monitor_options
from tocsin.monitor.visiting import microseconds_of
from tocsin.records.formats import is_stream

_NAMES: Final = (
    "key",
    "time",
    "time_unit",
    "lateness",
    "most_ahead",
    "enter_after",
    "exit_after",
    "dwell",
    "inside",
    "matches",
)
"""The options that a state keeps, as in `Monitor`."""

NOW: Final = "now"
_TICK_S: Final = 1.0


def add_objects(parser: argparse.ArgumentParser) -> None:
    """Add the options for the attributes of events that say which object is meant, and when."""
    parser.add_argument(
        "--key",
        action="append",
        metavar="NAME,...",
        help="the attributes that identify an object; may be repeated; required, unless a state has it",
    )
    parser.add_argument(
        "--time", metavar="NAME", help="the attribute with the time of an event (default: the time of arrival counts)"
    )
    parser.add_argument("--time-unit", metavar="UNIT", help="the unit of numeric times: s, ms, us or ns (default: s)")
    parser.add_argument(
        "--lateness",
        metavar="TIME",
        help="hold events back for this time, such as 30s, and process them in order (default: each object has a time "
        "of its own, and older events of it are ignored)",
    )
    parser.add_argument(
        "--most-ahead",
        metavar="TIME",
        help="with --lateness: an event so far ahead of all others moves its own object alone (default: 1d)",
    )


def add_passing(parser: argparse.ArgumentParser) -> None:
    """Add the options for changes that time makes without events."""
    parser.add_argument(
        "--until",
        metavar="INSTANT",
        help="let time pass up to this instant at the end: 2024-05-31T08:15:00Z, a number in --time-unit, or now",
    )
    parser.add_argument(
        "--tick",
        metavar="TIME",
        help="in a stream, let time pass up to the present as often as this, such as 1s (default: 1s without --time; "
        "with --time only the times of events count)",
    )
    parser.add_argument(
        "--matches",
        action="store_true",
        default=None,
        help="report each event for which a subscription is TRUE instead of changes",
    )


def monitor_of(given: argparse.Namespace, engine: Matching) -> Monitor:
    """A new monitor, or that of the state; raises `InvalidInput` for an option that differs from the state's."""
    options = given_options(given, _NAMES, {"key": _names, "matches": bool})
    if is_continued(given, options, read_monitor_options):
        return Monitor.load(given.state, engine)
    return Monitor(engine, **options)


def tick_of(given: argparse.Namespace) -> float | None:
    """The seconds after which time passes in a stream; None if it does not. Raises `InvalidInput`."""
    if given.tick is None:
        return _TICK_S if is_stream(given.events) and not _has_time(given) else None
    if not is_stream(given.events):
        raise InvalidInput("--tick needs a stream: JSON lines from standard input, -")
    seconds = number_of_seconds(seconds_or_text(given.tick))
    if not isinstance(seconds, float) or not 0 < seconds < threading.TIMEOUT_MAX:
        raise InvalidInput(f"--tick: {given.tick!r} is not a time above 0; write 1s")
    return seconds


def _has_time(given: argparse.Namespace) -> bool:
    """Whether events have times of their own."""
    if given.time is None and given.state is not None and Path(given.state).exists():
        return read_monitor_options(given.state)["time"] is not None
    return given.time is not None


def until_of(given: argparse.Namespace) -> Any:
    """The instant that `--until` names as `Monitor.advance` takes it; None without it. Raises `InvalidInput`."""
    if given.until is None or given.until == NOW:
        return given.until
    instant = seconds_or_text(given.until)
    if microseconds_of(instant, "ns") is None:
        raise InvalidInput(f"--until: {given.until!r} is not an instant; write 2024-05-31T08:15:00Z, a number, or now")
    return instant


def _names(texts: list[str]) -> list[str]:
    return [name for text in texts for name in text.split(",")]
