"""Columnar encoding of many plain objects, which most Python programs send.

A plain object holds only strings, numbers, booleans and None. Other objects, and those with a value that needs a closer
look, are left to `objects`, which handles events one by one and reports what is wrong.

If the objects have the same few names, their values are read name by name (`_by_columns`). Otherwise all names and
values are read end to end (`_end_to_end`), where each name must be looked up.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, repeat
from operator import itemgetter
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tocsin.columns.arrays import gathered, starts_of
from tocsin.columns.events.store import ValueStore, plain_payload
from tocsin.columns.events.wanted import Wanted
from tocsin.columns.payloads import keys_of
from tocsin.kernels import codes
from tocsin.model.expression import EVERYTHING
from tocsin.model.values import LARGEST_INTEGER

_FEWEST: Final = 32
_MOST_ABSENT: Final = 3
"""Columns pay off if wanted names are at most this many times the names of an event. Beyond it, lookups dominate."""

_LEAST_PLAIN: Final = 4
"""One in so many of the first objects must be plain."""

_KINDS: Final[dict[type, int]] = {str: 0, int: 1, float: 2, bool: 3, type(None): 4}
"""The types of a plain object's values, numbered."""

_OTHER: Final = len(_KINDS)

CODES: Final[dict[type, int]] = {
    float: codes.NUMBER,
    int: codes.NUMBER,
    str: codes.STRING,
    bool: codes.BOOLEAN,
}
PLAIN_TYPES: Final = frozenset(CODES)
"""The types of scalars that are encoded without a closer look, or left to it."""

_FEW_SCALARS: Final = 64
"""Up to this many values, as in one event, the overhead of NumPy's calls exceeds their work."""
_UNWANTED: Final = -1


class PlainEvents(NamedTuple):
    """The plain events, by their positions in the input, and their values. P events, N values by event."""

    places: NDArray[np.int64]  # (P,)
    starts: NDArray[np.int64]  # (P + 1,) the values of event e are [starts[e], starts[e + 1])
    attributes: NDArray[np.int64]  # (N,)
    kinds: NDArray[np.uint8]  # (N,)
    payloads: NDArray[np.int64]  # (N,)


class _Column(NamedTuple):
    """The values of one type under one attribute. N values."""

    attribute: int
    kind: int
    events: NDArray[np.int64]  # (N,) positions of the events among the plain ones, ascending
    payloads: NDArray[np.int64]  # (N,)


_NO_VALUES: Final = np.empty(0, np.int64)
NONE: Final = PlainEvents(_NO_VALUES, np.zeros(1, np.int64), _NO_VALUES, np.empty(0, np.uint8), _NO_VALUES)


def plain_events(
    records: Sequence[Mapping[str, Any]], wanted: Wanted, store: ValueStore, tells_nulls: bool = True
) -> PlainEvents:
    """Encode the plain objects, if there are many. Cost: 100 ns a wanted value in columns, else 200 ns any value."""
    if wanted.names is None or len(records) < _FEWEST:
        return NONE
    nulls = wanted.nulls.copy() if tells_nulls else {}  # copies, since other threads may add names meanwhile
    numbers = wanted.numbers.copy()
    first = [record for record in records[:_FEWEST] if _is_plain(record)]
    if _LEAST_PLAIN * len(first) < _FEWEST:
        return NONE
    if len(numbers) * len(first) > _MOST_ABSENT * sum(map(len, first)):
        return _end_to_end(records, numbers, nulls, wanted, store)
    names = [*numbers, *{name for record in first for name in record if type(name) is str}.difference(numbers)]
    return _by_columns(records, names, numbers, nulls, wanted, store)


def _is_plain(record: Any) -> bool:
    return type(record) is dict and set(map(type, record.values())) <= _KINDS.keys()


def _end_to_end(
    records: Sequence[Any], numbers: Mapping[str, int], nulls: Mapping[str, int], wanted: Wanted, store: ValueStore
) -> PlainEvents:
    """Encode objects of any names: all names, and all values, as one list."""
    places = np.flatnonzero(np.fromiter((type(record) is dict for record in records), bool, len(records)))
    own = records if len(places) == len(records) else [records[place] for place in places.tolist()]
    owners = np.repeat(np.arange(len(own)), np.fromiter(map(len, own), np.int64, len(own)))
    names: list[Any] = list(chain.from_iterable(own))
    values: list[Any] = list(chain.from_iterable(map(dict.values, own)))
    attributes, kinds = _looked_up(names, numbers), _kinds_of(values)
    odd = np.zeros(len(own), bool)
    odd[owners[kinds == _OTHER]] = True
    is_wanted = attributes != _UNWANTED
    is_read = is_wanted | (EVERYTHING in wanted.elements)  # all values are checked where all are asked for
    closer = {name for name in set(_taken(names, np.flatnonzero(~is_wanted))) if _needs_a_look(name, wanted)}
    if closer:
        odd[owners[np.fromiter((name in closer for name in names), bool, len(names))]] = True
    types, payloads = np.empty(len(names), np.uint8), np.empty(len(names), np.int64)
    for kind, number in _KINDS.items():
        at = np.flatnonzero(is_read & (kinds == number))
        if kind is type(None):
            at = at[is_wanted[at]]
            given = {numbers[name]: null for name, null in nulls.items()}
            asked = np.array([given.get(attribute, _UNWANTED) for attribute in attributes[at].tolist()], np.int64)
            attributes[at], types[at], payloads[at] = asked, codes.BOOLEAN, 1
        elif len(at):
            types[at], payloads[at] = _encoded(kind, _taken(values, at), owners[at], odd, store)
    even = np.flatnonzero(~odd)
    is_kept = (attributes != _UNWANTED) & ~odd[owners]
    starts = starts_of(np.bincount(owners[is_kept], minlength=len(own))[even], len(even))
    return PlainEvents(places[even], starts, attributes[is_kept], types[is_kept], payloads[is_kept])


def _looked_up(names: list[Any], numbers: Mapping[str, int]) -> NDArray[np.int64]:
    """The number of each name. With many names, Arrow's table takes half the time of a dict of names."""
    if len(names) >= len(numbers):
        with suppress(pa.ArrowInvalid, pa.ArrowTypeError, UnicodeEncodeError):  # names that are not strings, or broken
            given, known = pa.array(names), pa.array(list(numbers))
            if given.type == known.type == pa.string():
                places = pc.index_in(given, value_set=known).fill_null(len(known)).to_numpy()
                found: NDArray[np.int64] = np.array([*numbers.values(), _UNWANTED], np.int64)[places]
                return found
    return np.fromiter(map(numbers.get, names, repeat(_UNWANTED)), np.int64, len(names))


def _kinds_of(values: list[Any]) -> NDArray[np.uint8]:
    """The number of each value's type, or `_OTHER`."""
    types = set(map(type, values))
    if len(types) == 1:
        return np.full(len(values), _KINDS.get(types.pop(), _OTHER), np.uint8)
    return np.fromiter(map(_KINDS.get, map(type, values), repeat(_OTHER)), np.uint8, len(values))


def _taken(values: list[Any], at: NDArray[np.int64]) -> list[Any]:
    return values if len(at) == len(values) else [values[place] for place in at.tolist()]


def _needs_a_look(name: Any, wanted: Wanted) -> bool:
    """Whether an unwanted name is not a string, or holds something that is wanted."""
    return type(name) is not str or wanted.leads_inside(name)


def _by_columns(
    records: Sequence[Any],
    names: list[str],
    numbers: Mapping[str, int],
    nulls: Mapping[str, int],
    wanted: Wanted,
    store: ValueStore,
) -> PlainEvents:
    """Encode the objects that have no other names than these, name by name."""
    has_no_others = frozenset(names).issuperset
    places = [place for place, record in enumerate(records) if type(record) is dict and has_no_others(record)]
    own = [records[place] for place in places]
    odd = np.zeros(len(places), bool)
    columns: list[_Column] = []
    for name, values in zip(names, _by_name(own, names), strict=True):
        if name in numbers:
            columns += _columns(numbers[name], values, odd, store)
        elif EVERYTHING in wanted.elements:
            deque(_columns(_UNWANTED, values, odd, store), 0)
        elif not set(map(type, values)) <= _KINDS.keys():
            odd |= [type(value) not in _KINDS for value in values]  # a wanted name may be inside
    columns += [_nulls(name, number, own) for name, number in nulls.items()]
    return _joined(np.array(places, np.int64), columns, odd)


def _nulls(name: str, number: int, records: list[Mapping[str, Any]]) -> _Column:
    """The events that give an attribute as None."""
    own = [event for event, record in enumerate(records) if record.get(name, 0) is None]
    return _Column(number, codes.BOOLEAN, np.array(own, np.int64), np.ones(len(own), np.int64))


def _by_name(records: list[Mapping[str, Any]], names: list[str]) -> list[Sequence[Any]]:
    """The values under each name, None if absent."""
    if not records or len(names) < 2:
        return [[record.get(name) for record in records] for name in names]
    try:
        return list(zip(*map(itemgetter(*names), records), strict=True))
    except KeyError:
        return [[record.get(name) for record in records] for name in names]


def _columns(attribute: int, values: Sequence[Any], odd: NDArray[np.bool_], store: ValueStore) -> Iterator[_Column]:
    """The columns of an attribute's values, one for each type. Marks events with a value that needs a closer look."""
    types = set(map(type, values))
    for kind in types - {type(None)}:
        is_alone = len(types) == 1
        events = np.arange(len(values)) if is_alone else np.flatnonzero([type(value) is kind for value in values])
        if kind in _KINDS:
            own = values if is_alone else [values[event] for event in events.tolist()]
            code, payloads = _encoded(kind, own, events, odd, store)
            yield _Column(attribute, code, events, payloads)
        else:
            odd[events] = True


def _joined(places: NDArray[np.int64], columns: Sequence[_Column], odd: NDArray[np.bool_]) -> PlainEvents:
    """The values of columns by event, without the odd events."""
    lengths = sum((np.bincount(one.events, minlength=len(odd)) for one in columns), np.zeros(len(odd), np.int64))
    starts = starts_of(lengths, len(odd))
    attributes, kinds = np.empty(starts[-1], np.int64), np.empty(starts[-1], np.uint8)
    payloads = np.empty(starts[-1], np.int64)
    free = starts[:-1].copy()
    for column in columns:
        to = free[column.events]
        attributes[to], kinds[to], payloads[to] = column.attribute, column.kind, column.payloads
        free[column.events] += 1
    if not odd.any():
        return PlainEvents(places, starts, attributes, kinds, payloads)
    even = np.flatnonzero(~odd)
    entries, _ = gathered(starts, even)
    return PlainEvents(
        places[even], starts_of(lengths[even], len(even)), attributes[entries], kinds[entries], payloads[entries]
    )


def encoded_scalars(values: Sequence[Any], store: ValueStore) -> tuple[Any, Any] | None:
    """The types and payloads of values of `PLAIN_TYPES`; None if one of them needs a closer look."""
    if len(values) <= _FEW_SCALARS:
        return _few_encoded(values, store)
    values = list(values)
    kinds, odd = _kinds_of(values), np.zeros(len(values), bool)
    types, payloads = np.empty(len(values), np.uint8), np.empty(len(values), np.int64)
    for kind, number in _KINDS.items():
        at = np.flatnonzero(kinds == number)
        if len(at):
            types[at], payloads[at] = _encoded(kind, _taken(values, at), at, odd, store)
    return None if odd.any() else (types, payloads)


def _few_encoded(values: Sequence[Any], store: ValueStore) -> tuple[list[int], list[int]] | None:
    types, payloads = [], []
    for value in values:
        kind = type(value)
        payload = plain_payload(kind, value, store.dictionary)
        if payload is None:
            return None
        types.append(CODES[kind])
        payloads.append(payload)
    return types, payloads


def _encoded(
    kind: type, values: Sequence[Any], events: NDArray[np.int64], odd: NDArray[np.bool_], store: ValueStore
) -> tuple[int, NDArray[np.int64]]:
    """The code of a type, and the payloads of values, as from `ValueStore.scalar`.

    `events` has the event of each value. Marks those with a value that needs a closer look.
    """
    if kind is str:
        distinct = dict.fromkeys(values)
        if not "".join(distinct).isascii():
            odd[events[[not value.isascii() for value in values]]] = True
        number = store.dictionary.number
        payloads = {text: number(text) for text in distinct if text.isascii()}
        return codes.STRING, np.array([payloads.get(value, 0) for value in values], np.int64)
    if kind is bool:
        return codes.BOOLEAN, np.array(values, np.int64)
    try:
        numbers = np.array(values, np.float64)
    except OverflowError:
        numbers = np.full(len(values), np.inf)
    if kind is int and np.abs(numbers).max() >= LARGEST_INTEGER:
        is_large = np.array([abs(value) > LARGEST_INTEGER for value in values])
        odd[events[is_large]] = True
        numbers = np.array([0 if large else value for value, large in zip(values, is_large, strict=True)], np.float64)
    finite = np.isfinite(numbers)
    if not finite.all():
        odd[events[~finite]] = True
        numbers[~finite] = 0.0
    return codes.NUMBER, keys_of(numbers)
