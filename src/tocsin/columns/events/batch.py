"""What is a batch of events as arrays?

Attributes are numbered within the batch and strings kept in a dictionary of its own, so that one batch serves any
number of compiled expressions: `bind` maps both onto each of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, gathered, starts_of
from tocsin.columns.events.wanted import Wanted
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Events
from tocsin.model.subscription import Reject
from tocsin.model.texts import Text


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
