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
from tocsin.kernels.answers.merging import merge_into, merge_two, segment_keys
from tocsin.model.subscription import SubscriptionId
from tocsin.segment import Segment
from tocsin.segment.segment import rank_codes

_GAP = 1 << 24
"""Room between two ranks for the ids of deltas: more than a delta holds."""


_NO_RANKS = np.empty(0, np.int32)


class Located(NamedTuple):
    """Matches in CSR form. E events, M matches."""

    starts: NDArray[np.int64]  # (E + 1,)
    places: NDArray[np.int64]  # (M,) source << 32 | number


class _Sorted(NamedTuple):
    """The same with keys that sort like the ids."""

    starts: NDArray[np.int64]
    keys: NDArray[np.int64]  # (M,)
    places: NDArray[np.int64]


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
    """The matches of all sources, by event, then id. Cost: linear in those of all but the segment that has most."""
    given = [place for place, one in enumerate(found) if len(one.subscriptions)]
    if not given:
        return Located(np.zeros(len(found[0].starts) if found else 1, np.int64), np.empty(0, np.int64))
    segments = [place for place in given if isinstance(root.snapshots[place].source.holder, Segment)]
    most = max(segments, key=lambda place: len(found[place].subscriptions), default=None)
    delta_keys = _delta_keys(root, given, found)
    few = [_sorted(root, place, found[place], delta_keys) for place in given if place != most]
    if most is None:
        merged = reduce(_merged, few)
        return Located(merged.starts, merged.places)
    starts, numbers = found[most].starts, found[most].subscriptions
    if not few:
        return Located(starts, numbers | np.int64(most << 32))
    rest = reduce(_merged, sorted(few, key=lambda one: len(one.places)))
    out = Located(np.zeros(len(starts), np.int64), np.empty(len(numbers) + len(rest.places), np.int64))
    merge_into(starts, numbers, _ranks(root, most), _GAP, most, *rest, *out)
    return out


def _merged(left: _Sorted, right: _Sorted) -> _Sorted:
    total = len(left.keys) + len(right.keys)
    out = _Sorted(np.zeros(len(left.starts), np.int64), np.empty(total, np.int64), np.empty(total, np.int64))
    merge_two(*left, *right, *out)
    return out


def _ranks(root: Root, place: int) -> NDArray[np.int32]:
    ranks = root.ranks[place]
    return _NO_RANKS if ranks is None else ranks


def _sorted(root: Root, place: int, found: Found, delta_keys: dict[int, _Keyed]) -> _Sorted:
    if place not in delta_keys:
        keys, places = np.empty(len(found.subscriptions), np.int64), np.empty(len(found.subscriptions), np.int64)
        segment_keys(found.subscriptions, _ranks(root, place), _GAP, place, keys, places)
        return _Sorted(found.starts, keys, places)
    numbers = found.subscriptions.astype(np.int64)
    places = numbers | (place << 32)
    distinct, of_distinct = delta_keys[place]
    keys = of_distinct[np.searchsorted(distinct, numbers)]
    order = np.lexsort((keys, found.events))
    return _Sorted(found.starts, keys[order], places[order])


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
