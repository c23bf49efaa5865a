"""Values of the function NUMBER: numbers, booleans and strings of events as numbers.

The number is a value of the event under a name of its own (`model.readings`), which subscriptions are compiled against.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.few import FewEvents, is_few
from tocsin.columns.events.wanted import Wanted
from tocsin.columns.payloads import key_of
from tocsin.index.conditions import Entries, numbering_of, with_entries
from tocsin.kernels import codes
from tocsin.model.numbers import read_number
from tocsin.model.readings import attribute_of

_KEY = "numbers"
_READABLE = (codes.NUMBER, codes.STRING, codes.BOOLEAN)


def with_numbers(batch: EventBatch, wanted: Wanted) -> EventBatch:
    """The batch with the numbers that are asked for. Cost: nothing if none are. Each distinct string is read once."""
    asked = wanted.spelled[:]
    if not asked or not len(batch):
        return batch
    if is_few(batch):
        return _few_with_numbers(batch, wanted, asked)
    arrays = batch.arrays
    places = {name: place for place, name in enumerate(batch.attributes)}
    parts = []
    for number, name in enumerate(asked):
        own = np.flatnonzero(arrays.attributes == places.get(attribute_of(name), -1))
        own = own[np.isin(arrays.types[own], _READABLE)]
        payloads, found = _numbers(arrays.types[own], arrays.payloads[own], batch)
        owners = np.searchsorted(arrays.starts, own[found], side="right") - 1
        parts.append(Entries(owners, np.full(len(owners), number), np.full(len(owners), codes.NUMBER), payloads[found]))
    entries = Entries(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    return with_entries(batch, wanted, _KEY, asked, entries._replace(types=entries.types.astype(np.uint8)))


def _numbers(
    types: NDArray[np.uint8], payloads: NDArray[np.int64], batch: EventBatch
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Values as payloads of numbers, and which of them have one."""
    payloads, found = payloads.copy(), np.ones(len(types), bool)
    is_boolean, is_string = types == codes.BOOLEAN, types == codes.STRING
    payloads[is_boolean] = np.where(payloads[is_boolean] != 0, key_of(1.0), key_of(0.0))
    distinct, which = np.unique(payloads[is_string], return_inverse=True)
    numbers = [read_number(batch.strings[one]) for one in distinct.tolist()]
    keys = np.array([0 if one is None else key_of(one) for one in numbers], np.int64)
    payloads[is_string] = keys[which]
    found[is_string] = np.array([one is not None for one in numbers], bool)[which]
    return payloads, found


def _few_with_numbers(batch: EventBatch, wanted: Wanted, asked: list[str]) -> EventBatch:
    few, numbering = FewEvents(batch), numbering_of(batch, wanted)
    places = {name: place for place, name in enumerate(batch.attributes)}
    numbers = numbering.of(_KEY, asked).tolist()
    own = {places.get(attribute_of(name), -1): number for name, number in zip(asked, numbers, strict=False)}
    for event, place in few.values():
        number, kind, payload = own.get(few.attributes[place]), few.types[place], few.payloads[place]
        if number is None or kind not in _READABLE:
            continue
        if kind == codes.STRING:
            spelled = read_number(batch.strings[payload])
            if spelled is None:
                continue
            payload = key_of(spelled)
        elif kind == codes.BOOLEAN:
            payload = key_of(float(payload))
        few.add(event, number, codes.NUMBER, payload)
    return few.batch(numbering.names)
