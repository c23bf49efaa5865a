"""A batch of events as arrays.

Attributes are numbered within the batch, and strings are in its own dictionary. So one batch serves any number of
compiled expressions: `Binder.bind` maps both to each of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, gathered, starts_of
from tocsin.columns.events.wanted import Wanted
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Events
from tocsin.model.subscription import Reject
from tocsin.model.texts import Text

_FEW: Final = 256
"""Up to this many numbers, a set is faster than NumPy's sort."""


@dataclass(frozen=True, slots=True)
class EventBatch:
    """Events as arrays. Rejected events are left out; `rows` gives the row of each event in its source."""

    arrays: Events
    attributes: list[str]
    strings: Sequence[str]
    rows: NDArray[np.int64]
    rejects: list[Reject]
    elements: Mapping[str, ListElements] = field(default_factory=dict)
    """By attribute, the elements of lists that an ANY asks about, until it is known which conditions they satisfy."""
    shapes: Sequence[Any] = ()
    """shapely geometries, by number."""
    crossing: Mapping[int, int] = field(default_factory=dict)
    """The boxes across the antimeridian that became shapes: numbers of shape and box."""
    texts: Mapping[str, Text] = field(default_factory=dict)
    """The attributes typed as texts. Their values become lists of words when it is known which words are asked for."""
    now: int | NDArray[np.int64] | None = None
    """The present, in microseconds since 1970, or (E,) that of each event; None for the clock's."""
    remembers: bool = False
    """Whether a monitor adds the values of functions over several events, or has none to add."""
    examined: int = 0
    """Pairs of a place and a condition that were tested to add the truth of conditions."""

    def __len__(self) -> int:
        return len(self.rows)

    def asks(self, wanted: Wanted) -> bool:
        """Whether it needs derived values, which `index.elements.with_conditions` adds."""
        derived = wanted.texts or wanted.places or wanted.arrays or wanted.values
        return bool(derived or wanted.clock or wanted.outer_values or self.elements or self.texts)

    def present(self) -> dict[str, int]:
        """The numbers of the attributes of which some event has a value, by name. Cost: linear in the values.

        The list of names may be that of all subscriptions.
        """
        entries = self.arrays.attributes
        numbers = set(entries.tolist()) if len(entries) <= _FEW else np.unique(entries).tolist()
        return {self.attributes[number]: number for number in numbers}

    @property
    def may_have_extents(self) -> bool:
        """Whether any event may have a range or a shape."""
        return bool(len(self.arrays.ranges) or self.shapes)

    @property
    def has_crossing_boxes(self) -> bool:
        """Whether any box crosses the antimeridian. Cost: a nanosecond a box."""
        boxes = self.arrays.boxes
        return bool(len(boxes)) and bool((boxes[:, 0] > boxes[:, 2]).any())

    def with_extents(self) -> NDArray[np.bool_]:
        """(E,) which events have a range or a shape in any attribute. Lookups by value cannot handle these."""
        arrays = self.arrays
        if not self.may_have_extents:
            return np.zeros(len(self), bool)
        before = np.concatenate([[0], np.cumsum(arrays.types >= codes.SHAPE)])
        return before[arrays.starts[1:]] > before[arrays.starts[:-1]]

    def require_values(self) -> None:
        """Raise `ValueError` if an event has a range or a shape. A lookup by value would read past its tables."""
        if self.may_have_extents and self.with_extents().any():
            raise ValueError("a matcher does not take events with ranges or shapes; use ExtentMatching for them")

    def only(self, chosen: NDArray[np.int64]) -> EventBatch:
        """The chosen events, in that order, over the same tables. Elements are not kept."""
        entries, _ = gathered(self.arrays.starts, chosen)
        arrays = self.arrays._replace(
            starts=starts_of(np.diff(self.arrays.starts)[chosen], len(chosen)),
            attributes=frozen(self.arrays.attributes[entries], np.int32),
            types=frozen(self.arrays.types[entries], np.uint8),
            payloads=frozen(self.arrays.payloads[entries], np.int64),
        )
        now = self.now[chosen] if isinstance(self.now, np.ndarray) else self.now
        return replace(self, arrays=arrays, rows=self.rows[chosen], elements={}, now=now)


@dataclass(frozen=True, slots=True)
class ListElements:
    """The elements of a batch's lists under one attribute. L lists of N elements."""

    events: NDArray[np.int64]  # (L,) the positions of the events that have such a list
    owners: NDArray[np.int64]  # (N,) for each element the position of its event; -1 if that is not in the batch
    batch: EventBatch  # each readable element as an event, with its number as row
