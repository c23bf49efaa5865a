"""Values of functions, such as `IP(source)`, computed for the attributes of events that subscriptions apply them to.

The value of a function is a value of the event under a name of its own (`model.readings`), which subscriptions are
compiled against. Cost: some microseconds for each distinct value of the attribute and each function.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch, ListElements
from tocsin.columns.events.decoding import value_at
from tocsin.columns.events.texts import Additions
from tocsin.columns.events.wanted import Wanted
from tocsin.columns.payloads import key_of, keys_of
from tocsin.index.conditions import Entries, blocks_of, with_entries
from tocsin.kernels import codes
from tocsin.language.evaluate import value_of
from tocsin.language.operators.function_value import function_of
from tocsin.language.operators.operands import Path, classify
from tocsin.model.elements import LENGTH
from tocsin.model.expression import Call, ElementAt, Expression
from tocsin.model.readings import attribute_of, reading_of
from tocsin.model.values import Instant, Value


def with_values(batch: EventBatch, wanted: Wanted, lists: Mapping[str, ListElements]) -> EventBatch:
    """The batch with the values of the functions that are asked for. Cost: nothing if none are.

    `lists` are the batch's lists, with the values that functions of their elements have.
    """
    asked = wanted.values[:]
    if not asked or not len(batch):
        return batch
    numbers = batch.present()
    added = Additions(batch)
    parts = []
    for name, number, function in _functions_of({**numbers, **lists}, wanted, asked):
        own, attribute = lists.get(name), numbers.get(name)
        if own is not None and isinstance(function, ElementAt):
            parts.append(_at(function, own, number, added))
        elif own is not None and isinstance(function, Call) and function.name == LENGTH:
            parts.append(_lengths(own, number, len(batch)))
        if attribute is not None and not isinstance(function, ElementAt):
            parts.append(_entries(batch, attribute, number, function, name, added))
    parts = [one for one in parts if len(one.owners)]
    if not parts:
        return batch
    entries = Entries(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    return with_entries(added.batch(), wanted, "values of functions", asked, entries)


def _functions_of(names: Iterable[str], wanted: Wanted, asked: Sequence[str]) -> Iterator[tuple[str, int, Expression]]:
    """The functions of some attributes: attribute, number among those asked for, and function."""
    for block in blocks_of(wanted, "functions", asked, _Block.of):
        for name in names:
            for number, function in block.functions.get(name, ()):
                yield name, number, function


@dataclass(frozen=True, slots=True)
class _Block:
    """Functions `first` to `stop`, by the attribute that they are of."""

    first: int
    stop: int
    functions: Mapping[str, Sequence[tuple[int, Expression]]]

    @classmethod
    def of(cls, names: Sequence[str], first: int) -> _Block:
        functions: dict[str, list[tuple[int, Expression]]] = {}
        for number, reading in enumerate(map(reading_of, names), first):
            functions.setdefault(reading.attribute, []).append((number, function_of(reading)))
        return cls(first, first + len(names), functions)


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


def _lengths(lists: ListElements, number: int, events: int) -> Entries:
    """The numbers of elements of lists."""
    lengths = np.bincount(lists.owners[lists.owners >= 0], minlength=events)[lists.events].astype(np.float64)
    count = len(lists.events)
    return Entries(lists.events, np.full(count, number), np.full(count, codes.NUMBER, np.uint8), keys_of(lengths))


def _at(function: ElementAt, lists: ListElements, number: int, added: Additions) -> Entries:
    """The values of the elements at one position of lists."""
    position, inner = int(cast(float, function.position.value)), lists.batch
    own = np.flatnonzero(lists.owners >= 0)  # events found to be invalid have -1
    starts, stops = (np.searchsorted(lists.owners[own], lists.events, side) for side in ("left", "right"))
    at = (starts if position >= 0 else stops) + position
    there = (at >= starts) & (at < stops)
    owners, elements = lists.events[there], own[at[there]]
    name = cast(Path, classify(function.of)).attribute
    attribute = inner.present().get(name, -1)
    entries = np.flatnonzero(inner.arrays.attributes == attribute)
    by_element = np.full(len(lists.owners), -1)
    by_element[inner.rows[np.searchsorted(inner.arrays.starts, entries, side="right") - 1]] = entries
    found = by_element[elements]
    owners, found = owners[found >= 0], found[found >= 0]
    return Entries(owners, np.full(len(owners), number), *_carried(inner, found, added))


def _carried(
    batch: EventBatch, entries: NDArray[np.int64], added: Additions
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The types and payloads that scalars of one batch have in another; all else has no type there."""
    types, payloads = batch.arrays.types[entries], batch.arrays.payloads[entries]
    is_text = types == codes.STRING
    distinct, which = np.unique(payloads[is_text], return_inverse=True)
    payloads[is_text] = added.strings([batch.strings[one] for one in distinct.tolist()])[which]
    return np.where(types <= codes.INSTANT, types, codes.UNTYPED).astype(np.uint8), payloads


class Outside(NamedTuple):
    """The events that the elements of lists are in. N elements."""

    batch: EventBatch
    owners: NDArray[np.int64]  # (N,) the position of each element's event; -1 if that is not in the batch


def with_outer_values(batch: EventBatch, wanted: Wanted, outside: Outside | None) -> EventBatch:
    """The batch with values of the whole events, as far as they are asked for. Cost: linear in them, or nothing.

    The events of the batch are elements of those `outside`; None if they are whole events themselves.
    """
    asked = wanted.outer_values[:]
    if not asked or not len(batch):
        return batch
    source, owners = (batch, np.arange(len(batch))) if outside is None else outside
    numbers = source.present()
    added = Additions(batch)
    parts = []
    for number, name in enumerate(asked):
        attribute = numbers.get(attribute_of(name) if outside is None else name, -1)
        own = np.flatnonzero(source.arrays.attributes == attribute)
        by_event = np.full(len(source) + 1, -1)  # the last place is that of elements without an event
        by_event[np.searchsorted(source.arrays.starts, own, side="right") - 1] = own
        found = by_event[owners]
        there = np.flatnonzero(found >= 0)
        parts.append(Entries(there, np.full(len(there), number), *_carried(source, found[there], added)))
    entries = Entries(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    return with_entries(added.batch(), wanted, "values of whole events", asked, entries)


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
