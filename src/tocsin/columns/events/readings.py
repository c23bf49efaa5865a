"""Second readings of attributes: strings as instants, for comparisons with instants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, starts_of
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.few import FewEvents, is_few
from tocsin.columns.events.wanted import Wanted
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Events
from tocsin.model.instants import read_instant, read_instants
from tocsin.model.readings import as_instant


def with_readings(batch: EventBatch, wanted: Wanted) -> EventBatch:
    """Add the wanted readings of a batch's attributes. Cost: nothing if none is wanted; else linear."""
    readings = _readings(batch.attributes, wanted)
    if readings is None:
        return batch
    if is_few(batch):
        return _few_with_readings(batch, readings)
    arrays = batch.arrays
    places = np.flatnonzero(_IS_READABLE[arrays.types])
    numbers = readings.by_number[arrays.attributes[places]]
    has_reading = numbers >= 0
    places, numbers = places[has_reading], numbers[has_reading]
    types, payloads, is_instant = _read(arrays.types[places], arrays.payloads[places], batch.strings)
    if not is_instant.any():
        return replace(batch, attributes=readings.names)
    places, numbers = places[is_instant], numbers[is_instant]
    types, payloads = types[is_instant], payloads[is_instant]
    owners = np.searchsorted(arrays.starts, places, side="right") - 1
    return replace(batch, arrays=inserted(arrays, owners, numbers, types, payloads), attributes=readings.names)


def _few_with_readings(batch: EventBatch, readings: _Readings) -> EventBatch:
    few, numbers = FewEvents(batch), readings.by_attribute
    for event, place in few.values():
        number = numbers.get(few.attributes[place])
        kind, payload = few.types[place], few.payloads[place]
        if number is None or kind not in _READABLE:
            continue
        if kind == codes.STRING:
            moment = read_instant(batch.strings[payload])
            if moment is None:
                continue
            kind, payload = codes.INSTANT, moment.microseconds
        few.add(event, number, kind, payload)
    return few.batch(readings.names)


def inserted(
    arrays: Events, owners: NDArray[Any], attributes: NDArray[Any], types: NDArray[Any], payloads: NDArray[Any]
) -> Events:
    """Add entries to a batch, each after those of its event; `owners` are ascending."""
    count = len(arrays.starts) - 1
    before = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=count))])
    old = np.arange(len(arrays.types)) + np.repeat(before[:-1], np.diff(arrays.starts))
    new = arrays.starts[owners + 1] + np.arange(len(owners))
    return arrays._replace(
        starts=frozen(arrays.starts + before, np.int64),
        attributes=_merged(arrays.attributes, old, attributes, new),
        types=_merged(arrays.types, old, types, new),
        payloads=_merged(arrays.payloads, old, payloads, new),
    )


def without_readings(batch: EventBatch, wanted: Wanted) -> EventBatch:
    """Remove the readings from a batch, so that the attributes' own values can be changed."""
    readings = _readings(batch.attributes, wanted)
    if readings is None:
        return batch
    arrays = batch.arrays
    keep = ~np.isin(arrays.attributes, readings.numbers)
    owners = np.repeat(np.arange(len(batch)), np.diff(arrays.starts))
    changed = arrays._replace(
        starts=starts_of(np.bincount(owners[keep], minlength=len(batch)), len(batch)),
        attributes=frozen(arrays.attributes[keep], np.int32),
        types=frozen(arrays.types[keep], np.uint8),
        payloads=frozen(arrays.payloads[keep], np.int64),
    )
    return replace(batch, arrays=changed)


_READABLE = (codes.STRING, codes.INSTANT, codes.RANGED + codes.INSTANT)
_IS_READABLE = np.isin(np.arange(256), _READABLE)


class _Readings(NamedTuple):
    """The attributes of a batch that are also read as instants. R attributes."""

    numbers: NDArray[np.int32]  # (R,) the numbers of their readings
    names: list[str]  # names of all attributes and readings
    by_attribute: dict[int, int]  # the number of a reading, by its attribute's
    by_number: NDArray[np.int32]  # (A,) the same for all A names; -1 without a reading


def _readings(names: list[str], wanted: Wanted) -> _Readings | None:
    """The readings wanted of a batch's attributes; None if there are none.

    Batches of one reader share a list of names, so the result is cached for it.
    """
    if not wanted.readings:
        return None
    asked, count = len(wanted.readings), len(names)
    known = wanted.kept.get("readings")
    if known is None or known[0] is not names or known[1:3] != (asked, count):
        pairs = list(wanted.readings.copy().items())  # a copy, since other threads may add readings meanwhile
        made = _shared(pairs, wanted) if names is wanted.ordered else _own(pairs, names)
        known = wanted.kept["readings"] = names, len(pairs), count, made
    made_before: _Readings | None = known[3]
    return made_before


def _shared(pairs: list[tuple[str, int]], wanted: Wanted) -> _Readings:
    """The readings for a batch with the numbers that all readers share."""
    table = np.array(sorted((wanted.numbers[name], number) for name, number in pairs), np.int32)
    return _of(table[:, 0], table[:, 1], wanted.ordered)


def _own(pairs: list[tuple[str, int]], names: list[str]) -> _Readings | None:
    """The readings for a batch with its own list of names, to which the readings' names are appended."""
    asked = {name for name, _ in pairs}
    numbers = {name: number for number, name in enumerate(names)}
    found = [name for name in names if name in asked]
    whole = names + [as_instant(name) for name in found if as_instant(name) not in numbers]
    numbers |= {name: number for number, name in enumerate(whole[len(names) :], len(names))}
    if not found:
        return None
    attributes = np.array([numbers[name] for name in found], np.int32)
    return _of(attributes, np.array([numbers[as_instant(name)] for name in found], np.int32), whole)


def _of(attributes: NDArray[np.int32], numbers: NDArray[np.int32], names: list[str]) -> _Readings:
    by_number = np.full(len(names), -1, np.int32)
    by_number[attributes] = numbers
    by_attribute = dict(zip(attributes.tolist(), numbers.tolist(), strict=True))
    return _Readings(numbers, names, by_attribute, by_number)


def _read(
    types: NDArray[np.uint8], payloads: NDArray[np.int64], strings: Sequence[str]
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.bool_]]:
    """Types and payloads as instants, and which values are instants."""
    is_text = types == codes.STRING
    found = ~is_text
    if not is_text.any():
        return types, payloads, found
    distinct, which = np.unique(payloads[is_text], return_inverse=True)
    moments = read_instants(pa.array([strings[number] for number in distinct.tolist()], pa.string()))
    are_moments = moments.is_valid().to_numpy(zero_copy_only=False)
    types, payloads = np.where(is_text, codes.INSTANT, types).astype(np.uint8), payloads.copy()
    payloads[is_text] = pc.fill_null(moments, 0).to_numpy(zero_copy_only=False)[which]
    found[is_text] = are_moments[which]
    return types, payloads, found


def _merged(old: NDArray[Any], old_at: NDArray[np.int64], new: NDArray[Any], new_at: NDArray[np.int64]) -> NDArray[Any]:
    """Merge two arrays, each element at its position."""
    whole = np.empty(len(old) + len(new), old.dtype)
    whole[old_at], whole[new_at] = old, new
    return frozen(whole, old.dtype)
