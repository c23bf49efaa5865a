"""Measures an index on a workload: build time, memory, and time to match an event, each by itself."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import Any, Final

from reproduce.figure import Series
from reproduce.loads import Ask, Load
from reproduce.opindex.changes import OpIndexLists
from reproduce.rectangles import ClosedRectangles, load_factor
from reproduce.workloads import load_of
from tocsin.errors import UnsuitableIndex
from tocsin.index import disseminators, parse_index

CHANGING: Final[dict[str, Any]] = {"opindex": OpIndexLists}
"""Structures that change in place, by the name of the index."""

_ROUNDS = 3
_MOST_ROUNDS = 30
_ENOUGH_S = 1.0
_LEAST = 16
_COUNTED = {"candidates": "candidates_examined", "searches": "reevaluations"}


@dataclass(frozen=True, slots=True)
class Point:
    """A measurement, or the reason why there is none."""

    value: float | None
    note: str = ""


def measure(what: str, series: Series, given: dict[str, Any]) -> Point:
    """Measure one point of a line. `what` is "build", "insert", "memory", "match", "load", or a count in the answer.

    "insert" needs an index of `CHANGING`. It inserts subscriptions in place, one after the other, after all of them
    were compiled.
    "candidates" needs a load that is answered by a `Found`. Loads of pushed messages have "searches" and "buffered",
    too.
    """
    for name, most in series.most.items():
        if given[name] > most:
            return Point(None, f"not asked beyond {most:,} {name}")
    given = {**given, **series.workload}
    load = load_of(given, series.parameters)
    text = series.index.format(**given)
    if what == "insert":
        return Point(_inserting(load, text) * 1e6)
    begun = time.process_time()
    try:
        index = _built(load, text)
    except UnsuitableIndex as error:
        return Point(None, f"refused: {error.reason}")
    built = time.process_time() - begun
    if what == "build":
        return Point(built)
    if what == "memory":
        return Point(load.nbytes(index) / 1e6)
    if what == "load":
        return Point(load_factor(index))
    if what in _COUNTED:
        return Point(getattr(load.ask(index, load.events)(), _COUNTED[what]) / len(load.events))
    if what == "buffered":
        return Point(load.ask(index, load.events)().buffered)
    return Point(_matching(index, load) * 1e6)


def _built(load: Load, text: str) -> Any:
    """An index by its name and options, over the subscriptions of a load. Raises `UnsuitableIndex`."""
    if isinstance(load, ClosedRectangles):
        return load.build_own(text)
    for_windows = text.partition("(")[0].strip() in [one.name for one in disseminators()]
    registration, options = parse_index(text, for_windows=for_windows)
    return load.build(registration, options)


def _inserting(load: Load, text: str) -> float:
    """CPU seconds for each subscription of a load that is inserted in place."""
    registration, options = parse_index(text)
    changing = CHANGING[registration.name](load.subscriptions, **options)
    return _seconds(lambda: changing.insert_many(range(len(load.subscriptions)))) / len(load.subscriptions)


def compile_kernels(what: str, series: Series, given: dict[str, Any]) -> None:
    """Compile an index's kernels before a measurement: change, or build and match, a small part of the workload."""
    few = Series(series.name, series.index, workload=series.workload)
    measure("insert" if what == "insert" else "match", few, {**given, "subscriptions": 200, "events": 4})


def _matching(index: Any, load: Load) -> float:
    """CPU seconds an event: the median of rounds over all events, or as many as take about a second."""
    each = _seconds(load.ask(index, load.warm_up)) / max(len(load.warm_up), 1)
    events = load.events[: max(_LEAST, int(_ENOUGH_S / max(each, 1e-9)))]
    ask = load.ask(index, events)
    rounds = min(max(_ROUNDS, int(_ENOUGH_S / max(each * len(events), 1e-9))), _MOST_ROUNDS)
    return statistics.median(_seconds(ask) for _ in range(rounds)) / max(len(events), 1)


def _seconds(ask: Ask) -> float:
    begun = time.process_time()
    ask()
    return time.process_time() - begun
