"""A structure that only tests have: a list that is looked through.

It lies apart from its tests: whoever reads kernels that were compiled for it imports it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.scored.kernels.cursors import EXAMINED, Ranges, register
from tocsin.jit.decorators import inlined

NEXT = 0  # the place that is looked at next
STOP = 1  # where the group ends


class PlainLists(NamedTuple):
    """Intervals by place. G groups, N intervals."""

    starts: NDArray[np.int64]  # (G + 1,)
    ends: NDArray[np.int32]  # (N, 2)


def plain_lists(ranges: Ranges, branching: int) -> PlainLists:
    return PlainLists(ranges.starts, np.stack([ranges.lows, ranges.highs], axis=1))


@inlined
def open_list(lists: PlainLists, group: int, code: int, state: NDArray[np.int64]) -> None:
    state[NEXT], state[STOP] = lists.starts[group], lists.starts[group + 1]
    state[EXAMINED] = 0


@inlined
def next_in_list(lists: PlainLists, code: int, state: NDArray[np.int64]) -> int:
    while state[NEXT] < state[STOP]:
        place = state[NEXT]
        state[NEXT] += 1
        state[EXAMINED] += 1
        if lists.ends[place, 0] <= code <= lists.ends[place, 1]:
            return place
    return np.int64(-1)


register(PlainLists, lambda lists: 3, open_list, next_in_list)
