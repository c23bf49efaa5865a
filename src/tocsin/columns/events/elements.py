"""Batches of list elements: gathered list by list, encoded together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen
from tocsin.columns.events.batch import EventBatch, ListElements
from tocsin.columns.events.plain import PLAIN_TYPES, encoded_scalars
from tocsin.columns.events.readings import with_readings
from tocsin.columns.events.store import ValueStore, build_events
from tocsin.columns.events.wanted import Wanted
from tocsin.kernels import codes
from tocsin.model.elements import ELEMENT, as_record

EncodeObjects: TypeAlias = Callable[[Iterable[tuple[int, Mapping[str, Any]]], Wanted], EventBatch]


class GatheredLists:
    """Collects the lists under one attribute, with their events' positions."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._events: list[int] = []
        self._owners: list[int] = []
        self._elements: list[Any] = []

    def add(self, event: int, elements: Sequence[Any]) -> None:
        """Add an event's list."""
        self._events.append(event)
        self._owners.extend([event] * len(elements))
        self._elements.extend(elements)

    def finish(self, encode: EncodeObjects) -> ListElements:
        """Encode all elements. Problems in elements are reported when the event as a whole is read."""
        batch = plain_elements(self._elements, self._wanted)
        if batch is None:
            batch = encode(enumerate(map(as_record, self._elements)), self._wanted)
        return list_elements(np.array(self._events, np.int64), np.array(self._owners, np.int64), batch)


def plain_elements(values: Sequence[Any], wanted: Wanted) -> EventBatch | None:
    """Strings, numbers and booleans, each as an event with the single attribute `element`.

    None if other values are among them, or one that needs a closer look. Cost: 0.1 us a value.
    """
    attribute = wanted.numbers.get(ELEMENT)
    if attribute is None or not set(map(type, values)) <= PLAIN_TYPES:
        return None
    store = ValueStore()
    columns = encoded_scalars(values, store)
    if columns is None:
        return None
    arrays = build_events(np.arange(len(values) + 1), np.full(len(values), attribute, np.int32), *columns, store)
    batch = EventBatch(arrays, wanted.ordered, store.dictionary.texts(), np.arange(len(values)), [])
    return with_readings(batch, wanted) if wanted.readings else batch


def list_elements(events: NDArray[np.int64], owners: NDArray[np.int64], batch: EventBatch) -> ListElements:
    """The elements of lists; a range within a list has no type."""
    arrays = batch.arrays
    if len(arrays.ranges):
        types = np.where(arrays.types >= codes.RANGED, codes.UNTYPED, arrays.types)
        batch = replace(batch, arrays=arrays._replace(types=frozen(types, np.uint8)))
    return ListElements(events, owners, batch)
