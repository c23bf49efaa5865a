"""In which order do the matches of several sources come? That of their ids, whichever source they are in.

Segments know their ids' ranks among those of all segments, computed when the segments change. An id of the delta lies
somewhere between two ranks; the few that lie in one gap are compared by themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import Texts
from tocsin.engine.delta import Delta
from tocsin.engine.sources import Root
from tocsin.index import Found
from tocsin.kernels.merging import merge_two, segment_keys
from tocsin.model.subscription import SubscriptionId
from tocsin.segment import Segment
from tocsin.segment.segment import rank_codes

_GAP = 1 << 24
"""Room between two ranks for the ids of deltas: more than a delta holds."""


_NO_RANKS = np.empty(0, np.int32)


class Located(NamedTuple):
    """Matches in CSR form. E events, M matches."""

    starts: NDArray[np.int64]  # (E + 1,)
    keys: NDArray[np.int64]  # (M,) sort like the ids; empty where one segment has all
    places: NDArray[np.int64]  # (M,) source << 32 | number


def ranks_of(segments: Sequence[Segment]) -> tuple[NDArray[np.int32] | None, ...]:
    """The rank of each segment's ids among all segments' (equal ids have neighbouring ranks); None for one alone.

    Cost: O(n log m) for the smaller and O(m) for the larger of each pair.
    """
    if len(segments) < 2:
        return tuple(None for _ in segments)
    ranks = [np.arange(len(segment), dtype=np.int64) for segment in segments]
    for i, left in enumerate(segments):
        for j in range(i):
            small, large = (i, j) if len(left) <= len(segments[j]) else (j, i)
            before = rank_codes(segments[large].ids, segments[small].ids) >> 1
            ranks[small] += before
            counts = np.bincount(before, minlength=len(segments[large]) + 1)
            ranks[large] += np.cumsum(counts)[: len(segments[large])]
    return tuple(rank.astype(np.int32) for rank in ranks)


def in_order(root: Root, found: Sequence[Found]) -> Located:
    """The matches of all sources, by event, then id."""
    given = [place for place, one in enumerate(found) if len(one.subscriptions)]
    if not given:
        events = len(found[0].starts) if found else 1
        return Located(np.zeros(events, np.int64), np.empty(0, np.int64), np.empty(0, np.int64))
    if len(given) == 1 and isinstance(root.snapshots[given[0]].source.holder, Segment):
        one = found[given[0]]
        return Located(one.starts, np.empty(0, np.int64), one.subscriptions | np.int64(given[0] << 32))
    delta_keys = _delta_keys(root, given, found)
    located = [_located(root, place, found[place], delta_keys) for place in given]
    return reduce(_merged, sorted(located, key=lambda one: len(one.places)))


def _merged(left: Located, right: Located) -> Located:
    total = len(left.keys) + len(right.keys)
    out = Located(np.zeros(len(left.starts), np.int64), np.empty(total, np.int64), np.empty(total, np.int64))
    merge_two(*left, *right, *out)
    return out


def _located(root: Root, place: int, found: Found, delta_keys: dict[int, _Keyed]) -> Located:
    if place not in delta_keys:
        ranks = root.ranks[place]
        keys, places = np.empty(len(found.subscriptions), np.int64), np.empty(len(found.subscriptions), np.int64)
        segment_keys(found.subscriptions, _NO_RANKS if ranks is None else ranks, _GAP, place, keys, places)
        return Located(found.starts, keys, places)
    numbers = found.subscriptions.astype(np.int64)
    places = numbers | (place << 32)
    distinct, of_distinct = delta_keys[place]
    keys = of_distinct[np.searchsorted(distinct, numbers)]
    order = np.lexsort((keys, found.events))
    return Located(found.starts, keys[order], places[order])


_Keyed: TypeAlias = "tuple[NDArray[np.int32], NDArray[np.int64]]"


def _delta_keys(root: Root, given: Sequence[int], found: Sequence[Found]) -> dict[int, _Keyed]:
    """A key for each matched subscription of each delta: twice how many ids of segments are less, then their order."""
    ids: list[SubscriptionId] = []
    matched: dict[int, tuple[NDArray[np.int32], int]] = {}
    for place in given:
        holder = root.snapshots[place].source.holder
        if isinstance(holder, Delta):
            numbers = np.unique(found[place].subscriptions)
            matched[place] = numbers, len(ids)
            ids.extend(holder.ids[number] for number in numbers.tolist())
    if not ids:
        return {}
    keys = np.empty(len(ids), np.int64)
    keys[sorted(range(len(ids)), key=ids.__getitem__)] = np.arange(len(ids))
    others = Texts.of([str(name) for name in ids]) if isinstance(ids[0], str) else np.array(ids, np.int64)
    for snapshot in root.snapshots:
        if isinstance(snapshot.source.holder, Segment):
            keys += 2 * _GAP * (rank_codes(snapshot.source.holder.ids, others) >> 1)
    return {place: (numbers, keys[first : first + len(numbers)]) for place, (numbers, first) in matched.items()}
