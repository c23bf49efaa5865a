"""Columnar encoding of many plain objects, since most Python programs send events with the same few names.

A plain object holds only strings, numbers, booleans and None. Other objects, and those with a value that needs a closer
look, are left to `objects`, which handles events one by one and reports what is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.events.store import ValueStore
from tocsin.columns.events.wanted import Wanted
from tocsin.columns.payloads import keys_of
from tocsin.kernels import codes
from tocsin.model.expression import EVERYTHING
from tocsin.model.values import LARGEST_INTEGER

_FEWEST: Final = 32
_MOST_ABSENT: Final = 3
"""Columns pay off if wanted names are at most this many times the names of an event. Beyond it, lookups dominate."""

_PLAIN: Final = frozenset({str, int, float, bool, type(None)})


class Column(NamedTuple):
    """The values of one type under one attribute. N values."""

    attribute: int
    kind: int
    events: NDArray[np.int64]  # (N,) positions of the events among the plain ones, ascending
    payloads: NDArray[np.int64]  # (N,)


class PlainEvents(NamedTuple):
    """The plain events, by their positions in the input, and their values."""

    places: NDArray[np.int64]
    columns: list[Column]


NONE: Final = PlainEvents(np.empty(0, np.int64), [])


def plain_events(
    records: Sequence[Mapping[str, Any]], wanted: Wanted, store: ValueStore, tells_nulls: bool = True
) -> PlainEvents:
    """Encode the plain objects, if columns are worth it. Cost: about 100 ns a wanted value.

    Objects of which all values are asked for (`ANY_ATTRIBUTE`) are left to `objects`, which gathers them.
    """
    if wanted.names is None or EVERYTHING in wanted.elements or len(records) < _FEWEST:
        return NONE
    numbers = wanted.numbers.copy()  # a copy, since other threads may add names meanwhile
    first = [record for record in records[:_FEWEST] if type(record) is dict]
    if len(numbers) * len(first) > _MOST_ABSENT * sum(map(len, first)):
        return NONE
    names = [*numbers, *{name for record in first for name in record if type(name) is str}.difference(numbers)]
    has_no_others = frozenset(names).issuperset
    places = [place for place, record in enumerate(records) if type(record) is dict and has_no_others(record)]
    odd = np.zeros(len(places), bool)
    columns: list[Column] = []
    for name, values in zip(names, _by_name([records[place] for place in places], names), strict=True):
        if name in numbers:
            columns += _columns(numbers[name], values, odd, store)
        elif not _PLAIN.issuperset(map(type, values)):
            odd |= [type(value) not in _PLAIN for value in values]  # a wanted name may be inside
    if tells_nulls:
        columns += [_nulls(name, number, records, places) for name, number in wanted.nulls.copy().items()]
    return _without(odd, np.array(places, np.int64), columns)


def _nulls(name: str, number: int, records: Sequence[Mapping[str, Any]], places: list[int]) -> Column:
    """The events that give an attribute as None."""
    own = [event for event, place in enumerate(places) if records[place].get(name, 0) is None]
    return Column(number, codes.BOOLEAN, np.array(own, np.int64), np.ones(len(own), np.int64))


def _by_name(records: list[Mapping[str, Any]], names: list[str]) -> list[Sequence[Any]]:
    """The values under each name, None if absent."""
    if not records or len(names) < 2:
        return [[record.get(name) for record in records] for name in names]
    try:
        return list(zip(*map(itemgetter(*names), records), strict=True))
    except KeyError:
        return [[record.get(name) for record in records] for name in names]


def _without(odd: NDArray[np.bool_], places: NDArray[np.int64], columns: list[Column]) -> PlainEvents:
    if not odd.any():
        return PlainEvents(places, columns)
    numbers = np.cumsum(~odd) - 1
    kept = [
        column._replace(events=numbers[column.events[own]], payloads=column.payloads[own])
        for column in columns
        for own in [~odd[column.events]]
    ]
    return PlainEvents(places[~odd], kept)


def _columns(attribute: int, values: Sequence[Any], odd: NDArray[np.bool_], store: ValueStore) -> list[Column]:
    """The columns of an attribute's values, one for each type. Marks events with a value that needs a closer look."""
    types = set(map(type, values))
    if len(types) == 1 and types <= _PLAIN and type(None) not in types:
        return [Column(attribute, *_encoded(types.pop(), values, np.arange(len(values)), odd, store))]
    columns = []
    for kind in types - {type(None)}:
        events = np.array([event for event, value in enumerate(values) if type(value) is kind], np.int64)
        if kind in _PLAIN:
            own = [values[event] for event in events.tolist()]
            columns.append(Column(attribute, *_encoded(kind, own, events, odd, store)))
        else:
            odd[events] = True
    return columns


def _encoded(
    kind: type, values: Sequence[Any], events: NDArray[np.int64], odd: NDArray[np.bool_], store: ValueStore
) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
    """The code of a type, the events, and the payloads of their values, as from `ValueStore.scalar`."""
    if kind is str:
        distinct = dict.fromkeys(values)
        if not "".join(distinct).isascii():
            odd[events] |= np.array([not value.isascii() for value in values])
        number = store.dictionary.number
        payloads = {text: number(text) for text in distinct if text.isascii()}
        return codes.STRING, events, np.array([payloads.get(value, 0) for value in values], np.int64)
    if kind is bool:
        return codes.BOOLEAN, events, np.array(values, np.int64)
    if kind is int and (min(values) < -LARGEST_INTEGER or max(values) > LARGEST_INTEGER):
        odd[events] |= np.array([abs(value) > LARGEST_INTEGER for value in values])
        values = [value if abs(value) <= LARGEST_INTEGER else 0 for value in values]
    numbers = np.array(values, np.float64)
    finite = np.isfinite(numbers)
    if not finite.all():
        odd[events] |= ~finite
        numbers[~finite] = 0.0
    return codes.NUMBER, events, keys_of(numbers)
