"""What is a batch of events as arrays?

Attributes are numbered within the batch and strings kept in a dictionary of its own, so that one batch serves any
number of compiled expressions: `bind` maps both onto each of them.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tocsin.columns.arrays import empty_runs, frozen, gathered, starts_of
from tocsin.columns.payloads import key_of
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Events
from tocsin.model.readings import PART, Reading, attribute_of, reading_of
from tocsin.model.shapes import geometry_of
from tocsin.model.subscription import Reject
from tocsin.model.texts import Text
from tocsin.model.values import Box, Instant, Point, Range, Scalar, Shape, Untyped, Value, box_of

_FIRST_INSTANT: Final = -(2**63)
_LAST_INSTANT: Final = 2**63 - 1

Bounds: TypeAlias = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class EventBatch:
    """Events as arrays. Only events that can be served are in it: `rows` says which of the source's they are."""

    arrays: Events
    attributes: list[str]
    strings: list[str]
    rows: NDArray[np.int64]
    rejects: list[Reject]
    elements: Mapping[str, ListElements] = field(default_factory=dict)
    """Those of the lists that somebody asks any element of, by attribute, until it is known what they fulfil."""
    shapes: Sequence[Any] = ()
    """shapely's geometries, by number."""
    crossing: Mapping[int, int] = field(default_factory=dict)
    """The boxes across the antimeridian that became shapes: the numbers of shape and box."""
    texts: Mapping[str, Text] = field(default_factory=dict)
    """The attributes that are typed as texts, whose values become lists of words when it is known what is asked."""

    def __len__(self) -> int:
        return len(self.rows)

    def asks(self, wanted: Wanted) -> bool:
        """Whether words, arrays, places or elements are worked out of it: `index.elements.with_conditions` does."""
        return bool(wanted.texts or wanted.places or wanted.arrays or self.elements or self.texts)

    @property
    def may_have_extents(self) -> bool:
        """Whether any of the events may have a range or a shape."""
        return bool(len(self.arrays.ranges) or self.shapes)

    @property
    def has_crossing_boxes(self) -> bool:
        """Whether any box crosses the antimeridian. Cost: a nanosecond a box."""
        boxes = self.arrays.boxes
        return bool(len(boxes)) and bool((boxes[:, 0] > boxes[:, 2]).any())

    def with_extents(self) -> NDArray[np.bool_]:
        """(E,) which events have a range or a shape in any attribute: more than one value, to what looks values up."""
        arrays = self.arrays
        if not self.may_have_extents:
            return np.zeros(len(self), bool)
        before = np.concatenate([[0], np.cumsum(arrays.types >= codes.SHAPE)])
        return before[arrays.starts[1:]] > before[arrays.starts[:-1]]

    def require_values(self) -> None:
        """Raise `ValueError` where an event has a range or a shape: what looks values up would read past its tables."""
        if self.may_have_extents and self.with_extents().any():
            raise ValueError("a matcher takes no events with ranges or shapes; they go by ExtentMatching")

    def only(self, chosen: NDArray[np.int64]) -> EventBatch:
        """Some of the events, in that order; what entries refer to stays as it is. Elements are not kept."""
        entries, _ = gathered(self.arrays.starts, chosen)
        arrays = self.arrays._replace(
            starts=starts_of(np.diff(self.arrays.starts)[chosen], len(chosen)),
            attributes=frozen(self.arrays.attributes[entries], np.int32),
            types=frozen(self.arrays.types[entries], np.uint8),
            payloads=frozen(self.arrays.payloads[entries], np.int64),
        )
        return replace(self, arrays=arrays, rows=self.rows[chosen], elements={})


@dataclass(frozen=True, slots=True)
class ListElements:
    """The elements of a batch's lists under one attribute. L lists of N elements."""

    events: NDArray[np.int64]  # (L,) the places of the events that have such a list
    owners: NDArray[np.int64]  # (N,) of each element the place of its event; -1 where that is not in the batch
    batch: EventBatch  # each as an event whose row is its number, but for those that cannot be read


class Wanted:
    """The attributes that any subscription looks at; the rest of an event is not read.

    `names=None` wants every attribute.
    """

    def __init__(self, names: Iterable[str] | None = None) -> None:
        self.names: set[str] | None = None if names is None else set()
        self.ordered: list[str] = []  # the wanted names, readings among them, in a numbering that only grows
        self.numbers: dict[str, int] = {}  # of attributes
        self.readings: dict[str, int] = {}  # of attributes' readings as instants, by attribute: `model.readings`
        self.kept: dict[str, Any] = {}  # what readers keep of them, by reader, from chunk to chunk
        self.asked: dict[str, int] = {}  # what is asked of elements of lists, by its whole name
        self.conditions: dict[str, list[str]] = {}  # the conditions of these, by the list's attribute
        self.elements: dict[str, Wanted] = {}  # what is wanted of the elements, by the list's attribute
        self.places: dict[str, list[str]] = {}  # the spatial predicates among what is asked, by the place's attribute
        self.texts: dict[str, list[str]] = {}  # the readings of texts among what is asked, by the text's attribute
        self.arrays: list[str] = []  # the arrays of attributes among what is asked
        self._prefixes: set[str] = set()
        self._lists: set[str] = set()  # the attributes of these lists, and their prefixes
        self.add(names or ())

    def add(self, names: Iterable[str]) -> None:
        """Want some more; others may be asking meanwhile."""
        if self.names is None:
            return
        for name in names:
            if PART in name:
                self._add_reading(name, reading_of(name))
            elif name not in self.names:
                self._add_attribute(name)

    def _add_attribute(self, name: str) -> None:
        assert self.names is not None
        self._prefixes.update(_prefixes(name))
        self.ordered.append(name)
        self.numbers[name] = len(self.ordered) - 1
        self.names.add(name)

    def _add_reading(self, name: str, reading: Reading) -> None:
        if reading.is_condition or reading.is_of_elements:
            self._add_asked(name, reading)
            return
        if (reading.is_of_place or reading.is_of_text) and name not in self.asked:
            self._number(name)
            asked = self.places if reading.is_of_place else self.texts
            asked.setdefault(reading.attribute, []).append(name)
        if reading.is_array and name not in self.asked:
            self._number(name)
            self.arrays.append(name)
        attribute = reading.attribute
        if self.names is not None and attribute not in self.names:
            self._add_attribute(attribute)
        if reading.is_instant and attribute not in self.readings:
            self.ordered.append(name)
            self.readings[attribute] = len(self.ordered) - 1

    def _add_asked(self, name: str, reading: Reading) -> None:
        if name in self.asked:
            return
        attribute = reading.attribute
        if attribute not in self.elements:
            self._lists.update((attribute, *_prefixes(attribute)))
            self.conditions[attribute] = []
            self.elements[attribute] = Wanted(())
        if reading.is_of_elements:
            self.elements[attribute].add([reading.rest])
        self._number(name)
        if reading.is_condition:
            self.conditions[attribute].append(name)

    def _number(self, name: str) -> None:
        """Number what is asked; last, for readers take what they keep to be whole up to the last number."""
        self.asked[name] = len(self.ordered)
        self.ordered.append(name)

    def number(self, name: str) -> int:
        """The number of a name that is wanted, of an attribute's or of a reading's."""
        for known in (self.numbers, self.asked):
            if name in known:
                return known[name]
        return self.readings[attribute_of(name)]

    def __contains__(self, name: str) -> bool:
        return self.names is None or name in self.names

    def also(self, names: set[str]) -> Wanted:
        """These, and some further names."""
        return self if self.names is None or names <= self.names else Wanted([*self.ordered, *names])

    def outer(self, count: int) -> set[str]:
        """What one of the first `count` wanted names is nested in, unless that is wanted, too."""
        ordered, lists = self.ordered[:count], self.elements.copy()
        named = (*map(attribute_of, ordered), *lists)
        return {outer for name in named for outer in _prefixes(name)}.union(lists).difference(ordered)

    def inside(self, name: str) -> bool:
        """Whether the attribute itself, one nested in it, or any element of a list in it, is wanted."""
        return self.holds(name) or name in self._lists

    def holds(self, name: str) -> bool:
        """Whether the attribute itself, or one nested in it, is wanted."""
        return name in self or name in self._prefixes


def _prefixes(name: str) -> list[str]:
    """What a dotted name is nested in."""
    return [name[:at] for at, letter in enumerate(name) if letter == "."]


@dataclass(slots=True)
class Dictionary:
    """The distinct strings of a batch, numbered as they come."""

    _numbers: dict[str, int] = field(default_factory=dict)
    _first: list[str] = field(default_factory=list)  # distinct, and not looked up until another one comes

    @property
    def begun(self) -> bool:
        """Whether there is any."""
        return bool(self._first or self._numbers)

    def begin(self, texts: list[str]) -> None:
        """Number the first ones, which are distinct."""
        self._first = texts

    def number(self, text: str) -> int:
        """The number of a string."""
        if self._first:
            self._numbers.update(zip(self._first, range(len(self._first)), strict=True))
            self._first = []
        return self._numbers.setdefault(text, len(self._numbers))

    def texts(self) -> list[str]:
        """All of them, by number."""
        return self._first or list(self._numbers)


@dataclass(slots=True)
class ValueStore:
    """Where a batch keeps what does not fit an entry: strings, lists, boxes, ranges and shapes."""

    dictionary: Dictionary = field(default_factory=Dictionary)
    list_lengths: array[int] = field(default_factory=lambda: array("q"))
    list_types: array[int] = field(default_factory=lambda: array("B"))
    list_payloads: array[int] = field(default_factory=lambda: array("q"))
    list_boxes: array[int] = field(default_factory=lambda: array("i"))
    bounds: array[float] = field(default_factory=lambda: array("d"))  # four a box
    ends: array[int] = field(default_factory=lambda: array("q"))  # two a range
    shapes: list[Any] = field(default_factory=list)  # shapely's

    @property
    def boxes(self) -> int:
        """How many boxes there are."""
        return len(self.bounds) // 4

    def entry(self, value: Value) -> tuple[int, int]:
        """The type and payload of any value."""
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
        """Store a list as the sorted set of its elements, and as a box when it can be read as one."""
        distinct = sorted(set(elements))
        self.list_lengths.append(len(distinct))
        self.list_types.extend(kind for kind, _ in distinct)
        self.list_payloads.extend(payload for _, payload in distinct)
        self.list_boxes.append(-1 if box is None else self.add_box(box))
        return len(self.list_lengths) - 1

    def add_range(self, value: Range) -> tuple[int, int]:
        """Store a range: its ends or, of one that is to be contained, its ends the other way round."""
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
        """Append to one of the arrays, by its name."""
        own: array[Any] = getattr(self, name)
        own.frombytes(np.ascontiguousarray(values, own.typecode).tobytes())


def build_events(
    starts: NDArray[Any],
    attributes: NDArray[Any],
    types: NDArray[Any],
    payloads: NDArray[Any],
    store: ValueStore,
) -> Events:
    """Freeze the arrays of a batch."""
    entries = (
        frozen(starts, np.int64),
        frozen(attributes, np.int32),
        frozen(types, np.uint8),
        frozen(payloads, np.int64),
    )
    if not store.list_lengths and not store.bounds and not store.ends:
        return Events(*entries, *_NOTHING_STORED)
    return Events(
        *entries,
        starts_of(np.array(store.list_lengths, np.int64), len(store.list_lengths)),
        _copied(store.list_types, np.uint8),
        _copied(store.list_payloads, np.int64),
        _copied(store.list_boxes, np.int32),
        _copied(store.bounds, np.float64).reshape(-1, 4),
        _copied(store.ends, np.int64).reshape(-1, 2),
    )


def _copied(values: array[Any], dtype: DTypeLike) -> NDArray[Any]:
    copy = np.array(values, dtype)
    copy.setflags(write=False)
    return copy


_NOTHING_STORED: Final[tuple[Any, ...]] = (
    empty_runs(0),
    frozen(np.empty(0), np.uint8),
    frozen(np.empty(0), np.int64),
    frozen(np.empty(0), np.int32),
    frozen(np.empty((0, 4)), np.float64),
    frozen(np.empty((0, 2)), np.int64),
)
"""The arrays of lists, boxes and ranges of a batch that has none."""
