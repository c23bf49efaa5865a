"""Which lists are the arrays of attributes that are asked about? `('new', kind, 3)` is one of each event's own values.

The list of an array is a value of the event under a name of its own (`model.readings`), which subscriptions are
compiled on. An event that has no scalar under one of the attributes has no such list. Cost: linear in the events, for
each array that somebody asks about.
"""

from __future__ import annotations

from functools import lru_cache
from typing import cast

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch, Wanted
from tocsin.columns.events.texts import Additions
from tocsin.columns.payloads import key_of
from tocsin.index.conditions import Entries, with_entries
from tocsin.kernels import codes
from tocsin.language.stored import stored_expression
from tocsin.model.expression import Array, Attribute, Call
from tocsin.model.readings import reading_of
from tocsin.model.values import Instant, Scalar


def with_arrays(batch: EventBatch, wanted: Wanted) -> EventBatch:
    """The batch with the lists that arrays are of its events. Cost: nothing where none are asked about."""
    asked = wanted.arrays[:]
    if not asked or not len(batch):
        return batch
    added, parts = Additions(batch), []
    for number, name in enumerate(asked):
        owners, lists = _lists_of(batch, _items_of(name), added)
        parts.append(Entries(owners, np.full(len(owners), number), np.full(len(owners), codes.LIST, np.uint8), lists))
    entries = Entries(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    return with_entries(added.batch(), wanted, "arrays", asked, entries)


@lru_cache(1 << 14)
def _items_of(name: str) -> tuple[Scalar | Attribute, ...]:
    """The attributes and the constants of an array."""
    call = cast(Call, stored_expression(f"A_EQUALS(a, {reading_of(name).rest})"))
    items = cast(Array, call.arguments[1]).items
    return tuple(item if isinstance(item, Attribute) else cast(Scalar, item.value) for item in items)


def _lists_of(
    batch: EventBatch, items: tuple[Scalar | Attribute, ...], added: Additions
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The events that have all of an array's attributes as scalars, and their lists by number."""
    has_all = np.ones(len(batch), bool)
    columns = []
    for item in items:
        if isinstance(item, Attribute):
            has, types, payloads = _scalars_of(batch, item.name)
            has_all &= has
        else:
            kind, payload = _constant(item, added)
            types, payloads = np.full(len(batch), kind, np.uint8), np.full(len(batch), payload)
        columns.append((types, payloads))
    owners = np.flatnonzero(has_all)
    types, payloads = (np.stack(column, axis=1)[owners].ravel() for column in zip(*columns, strict=True))
    rows = np.repeat(np.arange(len(owners)), len(items))
    order = np.lexsort((payloads, types, rows))
    rows, types, payloads = rows[order], types[order], payloads[order]
    is_new = np.ones(len(rows), bool)
    is_new[1:] = (np.diff(rows) != 0) | (np.diff(types) != 0) | (np.diff(payloads) != 0)
    lengths = np.bincount(rows[is_new], minlength=len(owners))
    return owners, added.lists(lengths, types[is_new], payloads[is_new])


def _scalars_of(batch: EventBatch, name: str) -> tuple[NDArray[np.bool_], NDArray[np.uint8], NDArray[np.int64]]:
    """(E,) Whether each event has a scalar under an attribute, its type, and its payload."""
    has, types, payloads = np.zeros(len(batch), bool), np.zeros(len(batch), np.uint8), np.zeros(len(batch), np.int64)
    if name in batch.attributes:
        arrays = batch.arrays
        own = np.flatnonzero((arrays.attributes == batch.attributes.index(name)) & (arrays.types <= codes.INSTANT))
        owners = np.searchsorted(arrays.starts, own, side="right") - 1
        has[owners], types[owners], payloads[owners] = True, arrays.types[own], arrays.payloads[own]
    return has, types, payloads


def _constant(value: Scalar, added: Additions) -> tuple[int, int]:
    if isinstance(value, str):
        return codes.STRING, int(added.strings([value])[0])
    if isinstance(value, bool):
        return codes.BOOLEAN, int(value)
    return (codes.INSTANT, value.microseconds) if isinstance(value, Instant) else (codes.NUMBER, key_of(value))
