"""What do strings mean to those who compare them with an instant? A batch gets these attributes' second readings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, starts_of
from tocsin.columns.events.batch import EventBatch, Wanted
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Events
from tocsin.model.readings import INSTANT_PATTERN, as_instant, is_reading, read_instant
from tocsin.model.values import FIRST_INSTANT, LAST_INSTANT

_TIMESTAMP = pa.timestamp("us", "UTC")


def with_readings(batch: EventBatch, wanted: Wanted) -> EventBatch:
    """The batch, and the readings that are wanted of its attributes. Cost: nothing where none is; else linear."""
    readings = _readings(batch.attributes, wanted)
    if readings is None:
        return batch
    arrays = batch.arrays
    readings_of, names = readings
    second = readings_of[arrays.attributes]
    places = np.flatnonzero((second >= 0) & np.isin(arrays.types, _READABLE))
    types, payloads, is_instant = _read(arrays.types[places], arrays.payloads[places], batch.strings)
    places, types, payloads = places[is_instant], types[is_instant], payloads[is_instant]
    owners = np.searchsorted(arrays.starts, places, side="right") - 1
    return replace(batch, arrays=inserted(arrays, owners, second[places], types, payloads), attributes=names)


def inserted(
    arrays: Events, owners: NDArray[Any], attributes: NDArray[Any], types: NDArray[Any], payloads: NDArray[Any]
) -> Events:
    """The entries of a batch and some more, each behind those that its event has; `owners` ascend."""
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


def without_readings(batch: EventBatch) -> EventBatch:
    """The batch with the attributes' own values alone, to have them changed."""
    readings = [number for number, name in enumerate(batch.attributes) if is_reading(name)]
    if not readings:
        return batch
    arrays = batch.arrays
    keep = ~np.isin(arrays.attributes, readings)
    owners = np.repeat(np.arange(len(batch)), np.diff(arrays.starts))
    changed = arrays._replace(
        starts=starts_of(np.bincount(owners[keep], minlength=len(batch)), len(batch)),
        attributes=frozen(arrays.attributes[keep], np.int32),
        types=frozen(arrays.types[keep], np.uint8),
        payloads=frozen(arrays.payloads[keep], np.int64),
    )
    return replace(batch, arrays=changed)


_READABLE = (codes.STRING, codes.INSTANT, codes.RANGED + codes.INSTANT)


def _readings(names: list[str], wanted: Wanted) -> tuple[NDArray[np.int32], list[str]] | None:
    """The number of each attribute's reading, -1 for none, and the names with those of readings; None for no reading.

    Batches of one reader share a list of names, which only grows; so does what is kept of it.
    """
    if not wanted.readings:
        return None
    known = wanted.kept.get("readings")
    if known is not None and known[0] is names and known[1] == (len(names), len(wanted.readings)):
        return known[2]  # type: ignore[no-any-return]
    count, asked = len(names), len(wanted.readings)
    numbers = {name: number for number, name in enumerate(names[:count])}
    whole = names
    if names is not wanted.ordered:
        read = [as_instant(name) for name in names[:count] if name in wanted.readings]
        whole = names + [name for name in read if name not in numbers]
        numbers = {name: number for number, name in enumerate(whole)}
    found = [numbers.get(as_instant(name), -1) if name in wanted.readings else -1 for name in whole[:count]]
    result = (np.array(found, np.int32), whole) if any(number >= 0 for number in found) else None
    wanted.kept["readings"] = names, (count, asked), result
    return result


def _read(
    types: NDArray[np.uint8], payloads: NDArray[np.int64], strings: Sequence[str]
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.bool_]]:
    """Types and payloads as instants, and which are such."""
    is_text = types == codes.STRING
    found = ~is_text
    if not is_text.any():
        return types, payloads, found
    distinct, which = np.unique(payloads[is_text], return_inverse=True)
    moments, are_moments = read_instants([strings[number] for number in distinct.tolist()])
    types, payloads = np.where(is_text, codes.INSTANT, types).astype(np.uint8), payloads.copy()
    payloads[is_text] = moments[which]
    found[is_text] = are_moments[which]
    return types, payloads, found


def read_instants(texts: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The microseconds that strings stand for, and which are instants: as `read_instant` has it, many at a time."""
    column = pa.array(texts, pa.string())
    looks = pc.match_substring_regex(column, INSTANT_PATTERN)
    zoned = pc.match_substring_regex(column, r":.*([Zz]|[+-]\d\d:\d\d)$")
    upper = pc.ascii_upper(column)
    try:
        with_zone = pc.if_else(pc.and_(looks, zoned), upper, None).cast(_TIMESTAMP)
        without = pc.if_else(pc.and_(looks, pc.invert(zoned)), upper, None).cast(pa.timestamp("us"))
        moments = pc.coalesce(with_zone, without.cast(_TIMESTAMP)).cast(pa.int64())
    except pa.ArrowInvalid:  # one is of no calendar
        singly = [read_instant(text) for text in texts]
        moments = pa.array([None if one is None else one.microseconds for one in singly], pa.int64())
    values: NDArray[np.int64] = pc.fill_null(moments, 0).to_numpy(zero_copy_only=False)
    within = (values >= FIRST_INSTANT.microseconds) & (values <= LAST_INSTANT.microseconds)
    return values, moments.is_valid().to_numpy(zero_copy_only=False) & within


def _merged(old: NDArray[Any], old_at: NDArray[np.int64], new: NDArray[Any], new_at: NDArray[np.int64]) -> NDArray[Any]:
    """Two arrays as one, each element at its place."""
    whole = np.empty(len(old) + len(new), old.dtype)
    whole[old_at], whole[new_at] = old, new
    return frozen(whole, old.dtype)
