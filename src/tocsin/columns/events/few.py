"""Additions to a few events, value by value: for one event the overhead of NumPy's calls exceeds their work."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Final

import numpy as np

from tocsin.columns.arrays import frozen
from tocsin.columns.events.batch import EventBatch
from tocsin.kernels import codes

MOST: Final = 4
"""Up to this many events are a few. With more, whole columns are faster."""
_MOST_ENTRIES: Final = 256


def is_few(batch: EventBatch) -> bool:
    """Whether a batch has so few events and values that additions pay one by one."""
    return len(batch) <= MOST and len(batch.arrays.types) <= _MOST_ENTRIES


class FewEvents:
    """The values of a few events as Python lists, to which values, strings and lists are added."""

    def __init__(self, batch: EventBatch) -> None:
        self._batch = batch
        arrays = batch.arrays
        self._spans = list(pairwise(arrays.starts.tolist()))
        self._added: list[list[tuple[int, int, int]]] = [[] for _ in self._spans]
        self.attributes: list[int] = arrays.attributes.tolist()
        self.types: list[int] = arrays.types.tolist()
        self.payloads: list[int] = arrays.payloads.tolist()
        self._strings: dict[str, int] = {}
        self._lists: list[list[int]] = []
        self._is_changed = False

    def values(self) -> Iterator[tuple[int, int]]:
        """The number of its event and its own place, for each value."""
        for event, (first, stop) in enumerate(self._spans):
            for place in range(first, stop):
                yield event, place

    def add(self, event: int, attribute: int, kind: int, payload: int) -> None:
        """Add a value behind the others of its event."""
        self._added[event].append((attribute, kind, payload))

    def change(self, place: int, kind: int, payload: int) -> None:
        """Replace a value."""
        self.types[place], self.payloads[place] = kind, payload
        self._is_changed = True

    def string(self, text: str) -> int:
        """The number of a string, which is added if necessary."""
        if not self._strings:
            self._strings = dict(zip(self._batch.strings, range(len(self._batch.strings)), strict=True))
        return self._strings.setdefault(text, len(self._strings))

    def string_list(self, texts: Iterable[str]) -> int:
        """The number of a new list: a set of strings."""
        self._lists.append(sorted({self.string(text) for text in texts}))
        return len(self._batch.arrays.list_starts) - 2 + len(self._lists)

    def strings_of(self, kind: int, payload: int) -> list[str]:
        """The strings of a value: itself, or those in a list."""
        strings, arrays = self._batch.strings, self._batch.arrays
        if kind == codes.STRING:
            return [strings[payload]]
        first, stop = arrays.list_starts[payload : payload + 2].tolist()
        members = zip(arrays.list_types[first:stop].tolist(), arrays.list_payloads[first:stop].tolist(), strict=True)
        return [strings[number] for member, number in members if member == codes.STRING]

    def batch(self, names: list[str]) -> EventBatch:
        """The batch with all that was added; `names` are those of its attributes."""
        arrays, strings = self._batch.arrays, self._batch.strings
        if any(self._added) or self._is_changed:
            attributes, types, payloads, starts = [], [], [], [0]
            for (first, stop), added in zip(self._spans, self._added, strict=True):
                attributes += self.attributes[first:stop] + [one[0] for one in added]
                types += self.types[first:stop] + [one[1] for one in added]
                payloads += self.payloads[first:stop] + [one[2] for one in added]
                starts.append(len(attributes))
            arrays = arrays._replace(
                starts=frozen(starts, np.int64),
                attributes=frozen(attributes, np.int32),
                types=frozen(types, np.uint8),
                payloads=frozen(payloads, np.int64),
            )
        if self._lists:
            members = arrays.list_payloads.tolist() + [number for one in self._lists for number in one]
            ends = arrays.list_starts.tolist()
            for one in self._lists:
                ends.append(ends[-1] + len(one))
            types = arrays.list_types.tolist()
            arrays = arrays._replace(
                list_starts=frozen(ends, np.int64),
                list_types=frozen(types + [codes.STRING] * (len(members) - len(types)), np.uint8),
                list_payloads=frozen(members, np.int64),
                list_boxes=frozen(arrays.list_boxes.tolist() + [-1] * len(self._lists), np.int32),
            )
        return replace(
            self._batch, arrays=arrays, attributes=names, strings=list(self._strings) if self._strings else strings
        )
