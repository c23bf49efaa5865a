"""Values of functions, such as `IP(source)`, computed for the attributes of events that subscriptions apply them to.

The value of a function is a value of the event under a name of its own (`model.readings`), which subscriptions are
compiled against. Cost: some microseconds for each distinct value of the attribute and each function.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.decoding import value_at
from tocsin.columns.events.texts import Additions
from tocsin.columns.events.wanted import Wanted
from tocsin.columns.payloads import key_of
from tocsin.index.conditions import Entries, with_entries
from tocsin.kernels import codes
from tocsin.language.evaluate import value_of
from tocsin.language.operators.function_value import function_of
from tocsin.model.expression import Expression
from tocsin.model.readings import reading_of
from tocsin.model.values import Instant, Value


def with_values(batch: EventBatch, wanted: Wanted) -> EventBatch:
    """The batch with the values of the functions that are asked for. Cost: nothing if none are."""
    asked = wanted.values[:]
    if not asked or not len(batch):
        return batch
    numbers = {name: number for number, name in enumerate(batch.attributes)}
    added = Additions(batch)
    parts = []
    for number, name in enumerate(asked):
        reading = reading_of(name)
        if (attribute := numbers.get(reading.attribute)) is not None:
            parts.append(_entries(batch, attribute, number, function_of(reading), reading.attribute, added))
    parts = [one for one in parts if len(one.owners)]
    if not parts:
        return batch
    entries = Entries(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    return with_entries(added.batch(), wanted, "values of functions", asked, entries)


def _entries(
    batch: EventBatch, attribute: int, number: int, function: Expression, name: str, added: Additions
) -> Entries:
    """The values of function `number` for the events that have its attribute."""
    arrays = batch.arrays
    own = np.flatnonzero(arrays.attributes == attribute)
    pairs = np.stack([arrays.types[own].astype(np.int64), arrays.payloads[own]])
    distinct, which = np.unique(pairs, axis=1, return_inverse=True)
    values = [_value(function, name, value_at(batch, *pair)) for pair in distinct.T.tolist()]
    has_value = np.array([value is not None for value in values], bool)[which.reshape(-1)]
    types, payloads = _encoded(values, added)
    owners = np.searchsorted(arrays.starts, own[has_value], side="right") - 1
    of_value = which.reshape(-1)[has_value]
    return Entries(owners, np.full(len(owners), number), types[of_value], payloads[of_value])


def _value(function: Expression, name: str, value: Value) -> Value | None:
    """The value of a function of one attribute."""
    return cast(Value | None, value_of(function, {name: value}))


def _encoded(values: Sequence[Value | None], added: Additions) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The types and payloads of scalars; anything for None."""
    types, payloads = np.zeros(len(values), np.uint8), np.zeros(len(values), np.int64)
    for place, value in enumerate(values):
        if isinstance(value, str):
            types[place], payloads[place] = codes.STRING, added.strings([value])[0]
        elif isinstance(value, bool):
            types[place], payloads[place] = codes.BOOLEAN, value
        elif isinstance(value, Instant):
            types[place], payloads[place] = codes.INSTANT, value.microseconds
        elif isinstance(value, float):
            types[place], payloads[place] = codes.NUMBER, key_of(value)
    return types, payloads
