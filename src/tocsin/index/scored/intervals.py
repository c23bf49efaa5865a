"""The input of scored interval indexes: intervals of rank codes, in groups, each with a score and an owner."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen
from tocsin.errors import InvalidInput
from tocsin.index.scored.kernels.cursors import Ranges

HIGHEST_CODE = 2**31 - 2


@dataclass(frozen=True, slots=True)
class ScoredIntervals:
    """Intervals by place: group by group, score descending, then owner ascending. N intervals."""

    ranges: Ranges
    scores: NDArray[np.float64]  # (N,)
    owners: NDArray[np.int32]  # (N,) the subscription

    @classmethod
    def of(
        cls,
        groups: NDArray[np.int32],
        lows: NDArray[np.int32],
        highs: NDArray[np.int32],
        scores: NDArray[np.float64],
        owners: NDArray[np.int32],
        last: NDArray[np.int64],
    ) -> ScoredIntervals:
        """Sort intervals into place; empty ones (low above high) are left out. Cost: O(n log n).

        Group g's codes are 0 to last[g]; ends beyond them are clipped. Raises `InvalidInput` for a score that is not
        finite, and for more than 2**31 - 1 codes.
        """
        if not np.isfinite(scores).all():
            raise InvalidInput(f"the score of an interval is {scores[~np.isfinite(scores)][0]}; it must be finite")
        if len(last) and last.max() > HIGHEST_CODE:
            raise InvalidInput(f"an interval index has {last.max() + 1} codes; it may have {HIGHEST_CODE + 1}")
        lows, highs = np.maximum(lows, 0), np.minimum(highs, last[groups])
        kept = np.flatnonzero(lows <= highs)
        order = kept[_by_place(groups[kept], scores[kept], owners[kept])]
        starts = np.searchsorted(groups[order], np.arange(len(last) + 1))
        ranges = Ranges(
            frozen(starts, np.int64),
            frozen(lows[order], np.int32),
            frozen(highs[order], np.int32),
            frozen(last, np.int64),
        )
        return cls(ranges, frozen(scores[order], np.float64), frozen(owners[order], np.int32))

    def __len__(self) -> int:
        return len(self.owners)


def _by_place(groups: NDArray[np.int32], scores: NDArray[np.float64], owners: NDArray[np.int32]) -> NDArray[np.int64]:
    """The order by group, falling score, then owner. Keys already in order are not sorted."""
    order = np.arange(len(owners)) if _ascends(owners) else np.argsort(owners, kind="stable")
    order = order[np.argsort(-scores[order], kind="stable")]
    return order if _ascends(groups[order]) else order[np.argsort(groups[order], kind="stable")]


def _ascends(numbers: NDArray[np.int32]) -> bool:
    return bool((numbers[1:] >= numbers[:-1]).all())
