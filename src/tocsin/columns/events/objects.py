"""How do JSON-like objects become a batch?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, gathered, inverse, starts_of
from tocsin.columns.events.batch import EventBatch, ListElements, ValueStore, Wanted, build_events
from tocsin.columns.events.elements import GatheredLists
from tocsin.columns.events.plain import PlainEvents, plain_events
from tocsin.columns.events.readings import with_readings
from tocsin.columns.numbers import keys_of
from tocsin.errors import RecordError
from tocsin.kernels import codes
from tocsin.model.elements import elements_in
from tocsin.model.event import flatten
from tocsin.model.subscription import Reject
from tocsin.model.values import LARGEST_INTEGER

_SCALARS = (str, int, float, type(None))


def encode_objects(rows: Iterable[tuple[int, Mapping[str, Any]]], wanted: Wanted) -> EventBatch:
    """Encode (row number, object) pairs; bad events, and values that cannot be represented, are in `.rejects`.

    Cost: about half a microsecond a value; of many plain objects of the same few names, as `plain` has them, 100 ns.
    """
    encoder, given = _ObjectEncoder(wanted), list(rows)
    plain = plain_events([record for _, record in given], wanted, encoder.store)
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
    return with_readings(batch, wanted)


def _with_plain(batch: EventBatch, plain: PlainEvents, rows: NDArray[np.int64]) -> EventBatch:
    """The events of a batch and those that are columns, by row; both have their strings and lists in one store."""
    order = np.argsort(np.concatenate([batch.rows, rows]), kind="stable")
    places = inverse(order)
    others, own = places[: len(batch)], places[len(batch) :]
    lengths = np.zeros(len(order), np.int64)
    lengths[others] = np.diff(batch.arrays.starts)
    lengths[own] = sum(np.bincount(column.events, minlength=len(rows)) for column in plain.columns)
    starts = starts_of(lengths, len(order))
    attributes, types = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.uint8)
    payloads = np.empty(starts[-1], np.int64)
    entries, _ = gathered(starts, others)
    for target, given in zip((attributes, types, payloads), batch.arrays[1:4], strict=True):
        target[entries] = given
    free = starts[own]
    for column in plain.columns:
        to = free[column.events]
        attributes[to], types[to], payloads[to] = column.attribute, column.kind, column.payloads
        free[column.events] += 1
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
    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.store = ValueStore()
        self.shares_numbers = wanted.names is not None
        self.attribute_numbers = wanted.numbers if self.shares_numbers else {}
        self.unwanted: set[str] = set()
        self.rows: list[int] = []
        self.ends: list[int] = [0]
        self.attributes: list[int] = []
        self.types: list[int] = []
        self.numbers: list[float] = []  # the values of type NUMBER, in order
        self.payloads: list[int] = []  # the payloads of all others, in order
        self.rejects: list[Reject] = []
        self.lists = {name: GatheredLists(inner) for name, inner in wanted.elements.copy().items()}

    def add(self, row: int, record: Mapping[str, Any]) -> None:
        """Add one event: value by value while they are plain, else through `flatten`."""
        lengths = len(self.attributes), len(self.numbers), len(self.payloads)
        if not self._add_plain(record):
            del self.attributes[lengths[0] :], self.types[lengths[0] :]
            del self.numbers[lengths[1] :], self.payloads[lengths[2] :]
            self._add_flattened(row, record)
        for name, lists in self.lists.items():
            elements = elements_in(record, name)
            if elements is not None:
                lists.add(len(self.rows), elements)
        self.rows.append(row)
        self.ends.append(len(self.attributes))

    def _add_plain(self, record: Mapping[str, Any]) -> bool:
        """Add an event of plain values, and lists of such; False, half done, where it has anything else.

        Nearly all events are such, and going through `flatten` costs four times as much.
        """
        known, attributes, types, numbers = self.attribute_numbers, self.attributes, self.types, self.numbers
        for name, raw in record.items():
            attribute = known.get(name)
            if attribute is None:
                attribute = self._attribute(name)
                if attribute < 0:
                    if isinstance(raw, _SCALARS) and type(name) is str:
                        continue
                    return False  # what is wanted may lie within it
            kind = type(raw)
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
                continue
            elif kind is list and (value := _plain_list(raw)) is not None:
                self.payloads.append(self.store.entry(value)[1])
                types.append(codes.LIST)
            else:
                return False
            attributes.append(attribute)
        return True

    def _attribute(self, name: Any) -> int:
        """The number of an attribute that was not seen yet, -1 for one that no subscription looks at."""
        if type(name) is not str or name in self.unwanted:
            return -1
        if name not in self.wanted:
            self.unwanted.add(name)
            return -1
        if self.shares_numbers:
            return self.wanted.numbers[name]
        return self.attribute_numbers.setdefault(name, len(self.attribute_numbers))

    def _add_flattened(self, row: int, record: Mapping[str, Any]) -> None:
        values, problems = flatten(record)
        for name, value in values.items():
            attribute = self.attribute_numbers.get(name)
            if attribute is None:
                attribute = self._attribute(name)
                if attribute < 0:
                    continue
            self.attributes.append(attribute)
            if type(value) is float:
                self.types.append(codes.NUMBER)
                self.numbers.append(value)
            else:
                kind, payload = self.store.entry(value)
                self.types.append(kind)
                self.payloads.append(payload)
        for problem in problems:
            if self.wanted.inside(problem.field):
                self.rejects.append(Reject(row, None, problem.field, problem.reason))

    def finish(self) -> EventBatch:
        types = np.array(self.types, np.uint8)
        payloads = keys_of(np.array(self.numbers, np.float64))
        if self.payloads:
            is_number = types == codes.NUMBER
            keys, payloads = payloads, np.empty(len(types), np.int64)
            payloads[is_number] = keys
            payloads[~is_number] = self.payloads
        arrays = build_events(
            np.array(self.ends, np.int64), np.array(self.attributes, np.int32), types, payloads, self.store
        )
        return EventBatch(
            arrays,
            self.wanted.ordered if self.shares_numbers else list(self.attribute_numbers),
            self.store.dictionary.texts(),
            np.array(self.rows, np.int64),
            self.rejects,
            {name: lists.finish(encode_objects) for name, lists in self.lists.items()},
            self.store.shapes,
        )


def _plain_list(items: list[Any]) -> tuple[Any, ...] | None:
    """A list of plain numbers and strings as a value; None where anything else is in it."""
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
