"""The tables of a batch for values that do not fit an entry: strings, lists, boxes, ranges and shapes."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tocsin.columns.arrays import empty_runs, frozen, starts_of
from tocsin.columns.payloads import key_of
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Events
from tocsin.model.shapes import geometry_of
from tocsin.model.values import LARGEST_INTEGER, Box, Instant, Point, Range, Scalar, Shape, Untyped, Value, box_of

_FIRST_INSTANT: Final = -(2**63)
_LAST_INSTANT: Final = 2**63 - 1

Bounds: TypeAlias = tuple[float, float, float, float]


@dataclass(slots=True)
class Dictionary:
    """The distinct strings of a batch, numbered in order of arrival."""

    _numbers: dict[str, int] = field(default_factory=dict)
    _first: list[str] = field(default_factory=list)  # distinct; hashed only when another string comes

    @property
    def begun(self) -> bool:
        """Whether it has any strings."""
        return bool(self._first or self._numbers)

    def begin(self, texts: list[str]) -> None:
        """Number the first strings, which are distinct."""
        self._first = texts

    def number(self, text: str) -> int:
        """The number of a string."""
        if self._first:
            self._numbers.update(zip(self._first, range(len(self._first)), strict=True))
            self._first = []
        return self._numbers.setdefault(text, len(self._numbers))

    def texts(self) -> list[str]:
        """All strings, by number."""
        return self._first or list(self._numbers)


def plain_payload(kind: type, value: Any, dictionary: Dictionary) -> int | None:
    """The payload of a string, a number or a boolean, as from `ValueStore.scalar`; None if it needs a closer look."""
    if kind is str:
        return dictionary.number(value) if value.isascii() else None
    if kind is bool:
        return int(value)
    is_sound = -LARGEST_INTEGER <= value <= LARGEST_INTEGER if kind is int else value - value == 0.0
    return key_of(value) if is_sound else None


@dataclass(slots=True)
class ValueStore:
    """The values that do not fit into the entries of a batch."""

    dictionary: Dictionary = field(default_factory=Dictionary)
    list_lengths: array[int] = field(default_factory=lambda: array("q"))
    list_types: array[int] = field(default_factory=lambda: array("B"))
    list_payloads: array[int] = field(default_factory=lambda: array("q"))
    list_boxes: array[int] = field(default_factory=lambda: array("i"))
    bounds: array[float] = field(default_factory=lambda: array("d"))  # four numbers a box
    ends: array[int] = field(default_factory=lambda: array("q"))  # two ends a range
    shapes: list[Any] = field(default_factory=list)  # shapely geometries

    @property
    def boxes(self) -> int:
        """The number of boxes."""
        return len(self.bounds) // 4

    def entry(self, value: Value) -> tuple[int, int]:
        """The type and payload of any value, stored if necessary."""
        if type(value) is float:
            return codes.NUMBER, key_of(value)
        if isinstance(value, tuple):
            return codes.LIST, self.add_list([self.scalar(v) for v in value], box_of(value))
        if isinstance(value, Point | Box):
            return codes.GEOMETRY, self.add_box(value.bounds())
        if isinstance(value, Shape):
            return codes.SHAPE, self.add_shape(geometry_of(value))
        if isinstance(value, Untyped):
            return codes.UNTYPED, 0
        if isinstance(value, Range):
            return self.add_range(value)
        return self.scalar(value)

    def scalar(self, value: Scalar) -> tuple[int, int]:
        """The type and payload of a scalar."""
        if isinstance(value, str):
            return codes.STRING, self.dictionary.number(value)
        if isinstance(value, bool):
            return codes.BOOLEAN, int(value)
        if isinstance(value, Instant):
            return codes.INSTANT, value.microseconds
        return codes.NUMBER, key_of(value)

    def add_list(self, elements: Iterable[tuple[int, int]], box: Bounds | None) -> int:
        """Store a list as the sorted set of its elements, and as a box if it can be read as one."""
        distinct = sorted(set(elements))
        self.list_lengths.append(len(distinct))
        self.list_types.extend(kind for kind, _ in distinct)
        self.list_payloads.extend(payload for _, payload in distinct)
        self.list_boxes.append(-1 if box is None else self.add_box(box))
        return len(self.list_lengths) - 1

    def add_range(self, value: Range) -> tuple[int, int]:
        """Store a range as (high, low), or as (low, high) if it is contained."""
        kind, low = (codes.INSTANT, _FIRST_INSTANT) if value.lo is None else self.scalar(value.lo)
        kind, high = (kind, _LAST_INSTANT) if value.hi is None else self.scalar(value.hi)
        self.ends.extend((low, high) if value.contained else (high, low))
        return codes.RANGED + kind, len(self.ends) // 2 - 1

    def add_box(self, bounds: Bounds) -> int:
        self.bounds.extend(bounds)
        return self.boxes - 1

    def add_shape(self, geometry: Any) -> int:
        self.shapes.append(geometry)
        return len(self.shapes) - 1

    def extend(self, name: str, values: NDArray[Any]) -> None:
        """Append to one of the arrays, by name."""
        own: array[Any] = getattr(self, name)
        own.frombytes(np.ascontiguousarray(values, own.typecode).tobytes())


Integers: TypeAlias = list[int] | NDArray[Any]


def build_events(
    starts: Integers, attributes: Integers, types: Integers, payloads: Integers, store: ValueStore | None
) -> Events:
    """The frozen arrays of a batch; without a store, of numbers, strings and booleans alone."""
    entries = (
        frozen(starts, np.int64),
        frozen(attributes, np.int32),
        frozen(types, np.uint8),
        frozen(payloads, np.int64),
    )
    if store is None or not (store.list_lengths or store.bounds or store.ends):
        return Events(*entries, *_NOTHING_STORED)
    return Events(
        *entries,
        starts_of(store.list_lengths, len(store.list_lengths)),
        _copied(store.list_types, np.uint8),
        _copied(store.list_payloads, np.int64),
        _copied(store.list_boxes, np.int32),
        _copied(store.bounds, np.float64).reshape(-1, 4),
        _copied(store.ends, np.int64).reshape(-1, 2),
    )


def _copied(values: array[Any], dtype: DTypeLike) -> NDArray[Any]:
    """A frozen copy; a view of bytes takes half the time of a copy by NumPy."""
    return np.frombuffer(values.tobytes(), dtype)


_NOTHING_STORED: Final[tuple[Any, ...]] = (
    empty_runs(0),
    frozen(np.empty(0), np.uint8),
    frozen(np.empty(0), np.int64),
    frozen(np.empty(0), np.int32),
    frozen(np.empty((0, 4)), np.float64),
    frozen(np.empty((0, 2)), np.int64),
)
"""The arrays of lists, boxes and ranges for a batch without any."""
