"""Labels: numbers in the order of values, with room between them for values that come later.

A value between two others gets the label in the middle of theirs. In an ascending or descending series it gets one near
the value before, so that series use few labels.

Labels are multiples of four. So `label - 1` stands for what lies just before a value, after all that precedes it, and
`label + 1` for what lies just after it.

Paper: Dietz and Sleator 1987 (order maintenance). Departs: where no label is free, the caller begins anew.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen
from tocsin.index.recent import BeginAnew

_TOP: Final = 2**31 - 8
_STEP: Final = 2**10
"""The most between the labels of a value and of the next of a series."""
_SERIES: Final = 4
"""So many values must come next to the one before, on the same side, to be taken for a series."""


class NoLabel(BeginAnew):
    """No label is free between two values."""


class Labels:
    """The labels of some ascending values. Raises `NoLabel` for more than 2**28."""

    def __init__(self, values: Sequence[Any] = ()) -> None:
        step = _TOP // (len(values) + 1) // 4 * 4
        if not step:
            raise NoLabel
        self.values = list(values)
        self._latest: Any = None
        self._ascent = 0  # how many values came just after the one before; negative: just before it
        self.labels = np.append(step * np.arange(1, len(values) + 1), _TOP).astype(np.int32)  # the last: above all

    def of(self, value: Any) -> int:
        """The label of a value, which is added if it is new. Cost: logarithmic, and for a new one a copy of all."""
        values, labels = self.values, self.labels
        place, count = bisect_left(values, value), len(values)
        if place < count and values[place] == value:
            return int(labels[place])
        below, above = int(labels[place - 1]) if place else 0, int(labels[place])
        half = (above - below) // 8 * 4
        if not half:
            raise NoLabel
        ascent = 0
        if place and values[place - 1] == self._latest:
            ascent = max(self._ascent, 0) + 1
        elif place < count and values[place] == self._latest:
            ascent = min(self._ascent, 0) - 1
        step = half if abs(ascent) < _SERIES else min(half, _STEP)
        label = above - step if ascent < 0 else below + step
        larger = np.empty(count + 2, np.int32)
        larger[:place], larger[place], larger[place + 1 :] = labels[:place], label, labels[place:]
        values.insert(place, value)
        self.labels, self._latest, self._ascent = larger, value, ascent
        return label

    def __len__(self) -> int:
        """The number of values."""
        return len(self.values)

    def of_rank_codes(self) -> NDArray[np.int32]:
        """(2 V + 1,) the label of each rank code: 2 r + 1 is value r, and 2 r lies just before it."""
        codes = np.repeat(self.labels, 2)[: 2 * len(self.values) + 1]
        codes[::2] -= 1
        return frozen(codes, np.int32)
