"""How do many plain objects become a batch? Column by column: what most Python programs send has the same few names.

Plain is an object of strings, numbers, booleans and None alone. What is not, or holds a value that takes a closer look,
is left to `objects`, which looks at one event after the other and says what is wrong with it.
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
from tocsin.model.values import LARGEST_INTEGER

_FEWEST: Final = 32
_MOST_ABSENT: Final = 3
"""Up to so many times the names that events have may be wanted; else a look-up of each costs more than it saves."""

_PLAIN: Final = frozenset({str, int, float, bool, type(None)})


class Column(NamedTuple):
    """The values of one type under one attribute. N of them."""

    attribute: int
    kind: int
    events: NDArray[np.int64]  # (N,) places of the events among the plain, ascending
    payloads: NDArray[np.int64]  # (N,)


class PlainEvents(NamedTuple):
    """The events that were plain, by their places in what was given, and their values."""

    places: NDArray[np.int64]
    columns: list[Column]


NONE: Final = PlainEvents(np.empty(0, np.int64), [])


def plain_events(records: Sequence[Mapping[str, Any]], wanted: Wanted, store: ValueStore) -> PlainEvents:
    """Those of the objects that are plain, where columns are worth it. Cost: some 100 ns a value that is wanted."""
    if wanted.names is None or len(records) < _FEWEST:
        return NONE
    numbers = wanted.numbers.copy()  # others may want some more meanwhile
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
            odd |= [type(value) not in _PLAIN for value in values]  # what is wanted may lie within
    return _without(odd, np.array(places, np.int64), columns)


def _by_name(records: list[Mapping[str, Any]], names: list[str]) -> list[Sequence[Any]]:
    """The values under each name, None where it is absent."""
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
    """The columns of an attribute's values, one a type; notes the events of which one takes a closer look."""
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
    """The code of a type, the events, and the payloads of their values, as `ValueStore.scalar` gives them."""
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
