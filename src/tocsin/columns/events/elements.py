"""Batches of list elements: gathered list by list, encoded together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen
from tocsin.columns.events.batch import EventBatch, ListElements
from tocsin.columns.events.wanted import Wanted
from tocsin.kernels import codes
from tocsin.model.elements import as_record

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
        batch = encode(enumerate(map(as_record, self._elements)), self._wanted)
        return list_elements(np.array(self._events, np.int64), np.array(self._owners, np.int64), batch)


def list_elements(events: NDArray[np.int64], owners: NDArray[np.int64], batch: EventBatch) -> ListElements:
    """The elements of lists; a range within a list has no type."""
    arrays = batch.arrays
    if len(arrays.ranges):
        types = np.where(arrays.types >= codes.RANGED, codes.UNTYPED, arrays.types)
        batch = replace(batch, arrays=arrays._replace(types=frozen(types, np.uint8)))
    return ListElements(events, owners, batch)
