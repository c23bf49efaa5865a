"""Values of Arrow as Python's own, in every container, of every unit."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa
import pytest

from tocsin.model.python_values import Unreadable, python_values

CONTAINERS: Final[dict[str, tuple[Callable[[pa.DataType], pa.DataType], Callable[[Any], Any]]]] = {
    "alone": (lambda kind: kind, lambda value: value),
    "a list": (pa.list_, lambda value: [value, None]),
    "a large list": (pa.large_list, lambda value: [value]),
    "a list of a fixed size": (lambda kind: pa.list_(kind, 2), lambda value: [value, value]),
    "an object": (lambda kind: pa.struct([("at", kind)]), lambda value: {"at": value}),
    "objects in a list": (lambda kind: pa.list_(pa.struct([("at", kind)])), lambda value: [{"at": value}]),
}
"""The type of a container by that of its values, and a container of a value."""
EPOCH: Final = dt.datetime(1970, 1, 1)
VALUES: Final[dict[str, tuple[pa.DataType, int, object]]] = {
    "nanoseconds": (pa.timestamp("ns"), 1_999, EPOCH + dt.timedelta(microseconds=1)),
    "seconds": (pa.timestamp("s"), 2, EPOCH + dt.timedelta(seconds=2)),
    "an unknown zone": (
        pa.timestamp("ms", "Not/AZone"),
        1,
        (EPOCH + dt.timedelta(milliseconds=1)).replace(tzinfo=dt.UTC),
    ),
    "a time of the day": (pa.time64("ns"), 1_999, dt.time(microsecond=1)),
    "a duration in nanoseconds": (pa.duration("ns"), 1_999, dt.timedelta(microseconds=1)),
    "a duration in seconds": (pa.duration("s"), 3, dt.timedelta(seconds=3)),
    "a number": (pa.int64(), 7, 7),
}
"""A type, a value as Arrow has it, and as Python does."""
TOO_LARGE: Final = {"a year 12000": (pa.timestamp("s"), 316_000_000_000), "a duration": (pa.duration("s"), 2**62)}


def column(container: str, kind: pa.DataType, *values: int) -> pa.Array:
    wrapped, put = CONTAINERS[container]
    stored = pa.int64()
    return pa.array([None, *map(put, values)], wrapped(stored)).view(wrapped(kind))


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("container", CONTAINERS)
def test_nanoseconds_are_cut_and_unknown_zones_are_utc(container: str, value: str) -> None:
    kind, stored, expected = VALUES[value]

    assert python_values(column(container, kind, stored)) == [None, CONTAINERS[container][1](expected)]


@pytest.mark.parametrize("value", TOO_LARGE)
@pytest.mark.parametrize("container", CONTAINERS)
def test_a_value_that_python_lacks_is_unreadable_alone(container: str, value: str) -> None:
    kind, stored = TOO_LARGE[value]

    none, first, unreadable = python_values(column(container, kind, 1, stored))

    assert none is None and not isinstance(first, Unreadable)
    assert isinstance(unreadable, Unreadable) and unreadable.reason
