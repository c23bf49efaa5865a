"""Encoding of JSON-like objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, gathered, inverse, starts_of
from tocsin.columns.events.batch import EventBatch, ListElements
from tocsin.columns.events.elements import GatheredLists
from tocsin.columns.events.plain import NONE, PlainEvents, plain_events
from tocsin.columns.events.readings import with_readings
from tocsin.columns.events.store import ValueStore, build_events
from tocsin.columns.events.wanted import Wanted
from tocsin.columns.payloads import key_of, keys_of
from tocsin.errors import RecordError
from tocsin.kernels import codes
from tocsin.model.elements import elements_in, every_value, is_given, lists_in
from tocsin.model.event import Problem, flatten, is_geometry, is_list_of_objects, object_itself, value_of
from tocsin.model.expression import EVERYTHING
from tocsin.model.subscription import Reject
from tocsin.model.values import LARGEST_INTEGER, Value

_SCALARS = (str, int, float, type(None))

_FEW: Final = 64
"""Up to this many values, as in one event, the overhead of NumPy's calls exceeds their work."""

_DEEPEST: Final = 16
"""Objects nested deeper than this go through `flatten`."""


class _Level:
    """The attributes of the objects under one name, by the keys in these objects."""

    __slots__ = ("inner", "numbers", "prefix", "unwanted")

    def __init__(self, prefix: str, numbers: dict[str, int]) -> None:
        self.prefix = prefix
        self.numbers = numbers
        self.unwanted: set[str] = set()  # keys under which nothing is wanted
        self.inner: dict[str, _Level] = {}

    def within(self, name: str) -> _Level:
        level = self.inner.get(name)
        if level is None:
            level = self.inner[name] = _Level(f"{self.prefix}{name}.", {})
        return level


def encode_objects(
    rows: Iterable[tuple[int, Mapping[str, Any]]], wanted: Wanted, tells_nulls: bool = True
) -> EventBatch:
    """Encode (row number, object) pairs. `.rejects` lists bad events, and values that cannot be represented.

    Without `tells_nulls` a null is absence, as it is in a table.

    Cost: about 0.5 us a value. For many plain objects 0.2 us, or 100 ns if they have the same few names (`plain`).
    """
    encoder, given = _ObjectEncoder(wanted, tells_nulls), list(rows)
    records = [record for _, record in given]
    plain = plain_events(records, wanted, encoder.store, tells_nulls) if len(records) > 1 else NONE
    left = given
    if len(plain.places):
        is_plain = np.zeros(len(given), bool)
        is_plain[plain.places] = True
        left = [given[place] for place in np.flatnonzero(~is_plain).tolist()]
    for row, record in left:
        try:
            encoder.add(row, record)
        except RecordError as error:
            encoder.rejects.append(Reject(row, None, error.field, error.reason))
    batch = encoder.finish()
    if len(plain.places):
        batch = _with_plain(batch, plain, np.array([given[place][0] for place in plain.places.tolist()], np.int64))
    if EVERYTHING in wanted.elements:
        batch = replace(batch, elements={**batch.elements, EVERYTHING: _all_values(given, batch, wanted, tells_nulls)})
    return with_readings(batch, wanted) if wanted.readings else batch


def _all_values(
    rows: Sequence[tuple[int, Mapping[str, Any]]], batch: EventBatch, wanted: Wanted, tells_nulls: bool
) -> ListElements:
    """All values of the events that were read, for what is asked of any attribute."""
    values, encoded = GatheredLists(wanted.elements[EVERYTHING]), frozenset(batch.rows.tolist())
    records = [record for row, record in rows if row in encoded]
    for event, record in enumerate(records):
        values.add(event, list(every_value(record)))
    return values.finish(partial(encode_objects, tells_nulls=tells_nulls))


def _with_plain(batch: EventBatch, plain: PlainEvents, rows: NDArray[np.int64]) -> EventBatch:
    """Merge the batch's events with the plain events, by row. Both keep their strings and lists in one store."""
    order = np.argsort(np.concatenate([batch.rows, rows]), kind="stable")
    places = inverse(order)
    others, own = places[: len(batch)], places[len(batch) :]
    lengths = np.zeros(len(order), np.int64)
    lengths[others] = np.diff(batch.arrays.starts)
    lengths[own] = np.diff(plain.starts)
    starts = starts_of(lengths, len(order))
    attributes, types = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.uint8)
    payloads = np.empty(starts[-1], np.int64)
    for events, values in ((others, batch.arrays[1:4]), (own, plain[2:])):
        entries, _ = gathered(starts, events)
        for target, given in zip((attributes, types, payloads), values, strict=True):
            target[entries] = given
    arrays = batch.arrays._replace(
        starts=starts,
        attributes=frozen(attributes, np.int32),
        types=frozen(types, np.uint8),
        payloads=frozen(payloads, np.int64),
    )
    elements = {
        name: ListElements(others[lists.events], others[lists.owners], lists.batch)
        for name, lists in batch.elements.items()
    }
    return replace(batch, arrays=arrays, rows=np.concatenate([batch.rows, rows])[order], elements=elements)


class _ObjectEncoder:
    def __init__(self, wanted: Wanted, tells_nulls: bool) -> None:
        self.wanted = wanted
        self.tells_nulls = tells_nulls
        self.store = ValueStore()
        self.shares_numbers = wanted.names is not None
        self.attribute_numbers = wanted.numbers if self.shares_numbers else {}
        self.top = _Level("", self.attribute_numbers)
        self.problems: list[Problem] = []  # of the event being added
        self.rows: list[int] = []
        self.ends: list[int] = [0]
        self.attributes: list[int] = []
        self.types: list[int] = []
        self.numbers: list[float] = []  # the values of type NUMBER, in order
        self.payloads: list[int] = []  # the payloads of all other values, in order
        self.rejects: list[Reject] = []
        nulls = wanted.nulls.copy() if tells_nulls else {}
        self.nulls = {wanted.numbers[name]: number for name, number in nulls.items()}
        self.lists: dict[str, GatheredLists] = {}  # by attribute; those that some event has

    def add(self, row: int, record: Mapping[str, Any]) -> None:
        """Add one event value by value, or through `flatten` if it may name an attribute twice."""
        lengths = len(self.attributes), len(self.numbers), len(self.payloads)
        self.problems = []
        if not self._add_values(record, self.top, 0):
            del self.attributes[lengths[0] :], self.types[lengths[0] :]
            del self.numbers[lengths[1] :], self.payloads[lengths[2] :]
            self._add_flattened(record)
        for problem in self.problems:
            if self.wanted.inside(problem.field):
                self.rejects.append(Reject(row, None, problem.field, problem.reason))
        if self.wanted.elements:
            self._add_lists(record)
        self.rows.append(row)
        self.ends.append(len(self.attributes))

    def _add_values(self, record: Mapping[str, Any], level: _Level, depth: int) -> bool:
        """Add the values of an object. Returns False, half done, if two names may coincide or lists of objects occur.

        Nearly all events succeed here; `flatten` costs four times as much.
        """
        known, attributes, types, numbers = level.numbers, self.attributes, self.types, self.numbers
        is_nested = depth > 0
        for name, raw in record.items():
            attribute = known.get(name)
            if attribute is None:
                attribute = self._attribute(level, name)
            kind = type(raw)
            if kind is dict and type(name) is str and depth < _DEEPEST and not is_geometry(raw):
                is_nested = True
                if attribute >= 0:
                    self._add_other(attribute, object_itself(raw, level.prefix + name, self.problems))
                if not self._add_values(raw, level.within(name), depth + 1):
                    return False
                continue
            if attribute < 0:
                if not self._pass_over(raw, level, name):
                    return False
                is_nested |= kind is list
                continue
            if (kind is float and raw - raw == 0.0) or (kind is int and -LARGEST_INTEGER <= raw <= LARGEST_INTEGER):
                numbers.append(raw)
                types.append(codes.NUMBER)
            elif kind is str and raw.isascii():
                self.payloads.append(self.store.dictionary.number(raw))
                types.append(codes.STRING)
            elif kind is bool:
                self.payloads.append(raw)
                types.append(codes.BOOLEAN)
            elif raw is None:
                self._add_null(attribute)
                continue
            elif kind is list and (value := plain_list(raw)) is not None:
                self.payloads.append(self.store.entry(value)[1])
                types.append(codes.LIST)
            elif _holds_attributes(raw) or self._has_wanted_members(raw, level, name):
                return False
            else:
                self._add_other(attribute, value_of(raw, level.prefix + name, self.problems))
                continue
            attributes.append(attribute)
        return not is_nested or "." not in "".join(record)

    def _attribute(self, level: _Level, name: Any) -> int:
        """The number of an attribute that was not seen yet; -1 if no subscription uses it."""
        if type(name) is not str or name in level.unwanted:
            return -1
        whole = level.prefix + name
        if whole not in self.wanted:
            if not self.wanted.inside(whole):
                level.unwanted.add(name)
            return -1
        if self.shares_numbers:
            number = self.wanted.numbers[whole]
        else:
            number = self.attribute_numbers.setdefault(whole, len(self.attribute_numbers))
        return level.numbers.setdefault(name, number)

    def _pass_over(self, raw: Any, level: _Level, name: Any) -> bool:
        """Whether an unwanted value contains no attributes that need flattening."""
        if name in level.unwanted:
            return isinstance(raw, _SCALARS) or not _holds_attributes(raw) or _names_each_once(raw)
        if type(name) is not str or _holds_attributes(raw) or self._has_wanted_members(raw, level, name):
            return False
        value_of(raw, level.prefix + name, self.problems)
        return True

    def _has_wanted_members(self, raw: Any, level: _Level, name: str) -> bool:
        """Whether a value is a place of which members are wanted, which need flattening."""
        return isinstance(raw, Mapping) and self.wanted.leads_inside(level.prefix + name)

    def _add_other(self, attribute: int, value: Value | None) -> None:
        """Add a value of any type, or that it was given as null if that is asked for."""
        if value is None:
            self._add_null(attribute)
            return
        self.attributes.append(attribute)
        if type(value) is float:
            self.types.append(codes.NUMBER)
            self.numbers.append(value)
        else:
            kind, payload = self.store.entry(value)
            self.types.append(kind)
            self.payloads.append(payload)

    def _add_null(self, attribute: int) -> None:
        """Add that an attribute was given as null, if that is asked for."""
        if attribute in self.nulls:
            self.attributes.append(self.nulls[attribute])
            self.types.append(codes.BOOLEAN)
            self.payloads.append(1)

    def _add_flattened(self, record: Mapping[str, Any]) -> None:
        values, self.problems = flatten(record)
        for name, value in values.items():
            attribute = self.attribute_numbers.get(name)
            if attribute is None:
                attribute = self._attribute(self.top, name)
            if attribute >= 0:
                self._add_other(attribute, value)
        for name in self.wanted.nulls.copy() if self.nulls else ():
            number = self.wanted.numbers[name]
            if name not in values and is_given(record, name):
                self._add_null(number)

    def _add_lists(self, record: Mapping[str, Any]) -> None:
        """Gather the elements of the event's lists, as far as they are asked for."""
        asked = self.wanted.elements
        names = lists_in(record, asked.__contains__, self.wanted.leads_to_list)
        for name in names:
            elements = elements_in(record, name)
            if elements is None:
                continue
            if name not in self.lists:
                self.lists[name] = GatheredLists(asked[name])
            self.lists[name].add(len(self.rows), elements)

    def _all_payloads(self) -> list[int] | NDArray[np.int64]:
        """The payloads of all values, in order."""
        if len(self.types) <= _FEW:
            numbers, others = map(key_of, self.numbers), iter(self.payloads)
            return [next(numbers if kind == codes.NUMBER else others) for kind in self.types]
        types = np.array(self.types, np.uint8)
        payloads = np.empty(len(types), np.int64)
        is_number = types == codes.NUMBER
        payloads[is_number] = keys_of(np.array(self.numbers, np.float64))
        payloads[~is_number] = self.payloads
        return payloads

    def finish(self) -> EventBatch:
        encode = partial(encode_objects, tells_nulls=self.tells_nulls)
        arrays = build_events(self.ends, self.attributes, self.types, self._all_payloads(), self.store)
        return EventBatch(
            arrays,
            self.wanted.ordered if self.shares_numbers else list(self.attribute_numbers),
            self.store.dictionary.texts(),
            np.array(self.rows, np.int64),
            self.rejects,
            {name: lists.finish(encode) for name, lists in self.lists.items()},
            self.store.shapes,
        )


def _holds_attributes(raw: Any) -> bool:
    """Whether a value is flattened to further attributes."""
    return (isinstance(raw, Mapping) and not is_geometry(raw)) or is_list_of_objects(raw)


def _names_each_once(items: Any) -> bool:
    """Whether a list of flat JSON objects names no attribute twice, so that it need not be flattened."""
    for item in items if type(items) is list else (None,):
        if type(item) is not dict:
            return False
        for name, value in item.items():
            if type(name) is not str or "." in name or (type(value) not in _SCALARS and _holds_attributes(value)):
                return False
    return True


def plain_list(items: list[Any]) -> tuple[Any, ...] | None:
    """A list of plain numbers and strings as a value; None if it contains anything else."""
    values: list[Any] = []
    for item in items:
        kind = type(item)
        if kind is float and item - item == 0.0:
            values.append(item + 0.0)
        elif kind is str and item.isascii():
            values.append(item)
        elif kind is int and -LARGEST_INTEGER <= item <= LARGEST_INTEGER:
            values.append(float(item))
        else:
            return None
    return tuple(values) or None
