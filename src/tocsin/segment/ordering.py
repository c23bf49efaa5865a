"""Merging the matches of several sources in the order of their ids.

Segments know the ranks of their ids among those of all segments; these are computed when the segments change. The id of
a recent subscription lies between two ranks. The few ids within one gap are compared with each other.

With several sources a subscription is identified by its *place*: the source in the upper half, its number there in the
lower half. For the first source a place equals the number. If all places are in the first source, they are int32, as
its numbers are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tocsin.columns.arrays import Texts, inverse
from tocsin.index import Found
from tocsin.kernels.answers.merging import Keyed, merge_into, merge_two
from tocsin.segment.ids import Ids, as_arrow, as_ids, find_ids
from tocsin.segment.segment import Ranks, Snapshot

_BITS: Final = 32
_NUMBER: Final = (1 << _BITS) - 1

_GAP: Final = 1 << 24
"""Room between two ranks for the ids of recent subscriptions; more than there ever are."""

ONE_ALONE: Final = np.empty(0, np.int32)


def ranks_of(all_ids: Sequence[Ids]) -> list[Ranks]:
    """The ranks of the ids of some segments; equal ids are neighbours.

    Cost: sorting the ids of all but the largest segment, and looking them up in it; linear for the largest.
    """
    filled = [place for place, ids in enumerate(all_ids) if len(ids)]
    ranks = [ONE_ALONE for _ in all_ids]
    if len(filled) < 2:
        return ranks
    largest = max(filled, key=lambda place: len(all_ids[place]))
    others = [place for place in filled if place != largest]
    ids = pa.concat_arrays([as_arrow(all_ids[place]) for place in others])
    order = pc.sort_indices(ids).to_numpy()
    below, _ = find_ids(all_ids[largest], as_ids(ids.take(pa.array(order))))
    of_others = (below + np.arange(len(order)))[inverse(order)].astype(np.int32)
    firsts = np.cumsum([0, *(len(all_ids[place]) for place in others)])
    for first, place in zip(firsts.tolist(), others, strict=False):
        ranks[place] = of_others[first : first + len(all_ids[place])]
    count = len(all_ids[largest])
    before = np.cumsum(np.bincount(below, minlength=count + 1))[:count]
    ranks[largest] = (np.arange(count) + before).astype(np.int32)
    return ranks


def in_order(sources: Sequence[Snapshot], found: Sequence[Found]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """The places of all matches of at least one source, by event, then id; and where each event's matches begin.

    Each source's matches are ordered by event, then number. Cost: a copy of the matches of the source with most, and
    for each match of the others a bisection.
    """
    given = [place for place, one in enumerate(found) if len(one.subscriptions)]
    if len(given) == 1 and sources[given[0]].ranks is None:
        return _alone(sources[given[0]], found[given[0]], given[0])
    ranked = [place for place in given if sources[place].ranks is not None]
    most = max(ranked, key=lambda place: len(found[place].subscriptions), default=None)
    few = _sorted(sources, found, [place for place in given if place != most])
    if most is None:
        merged = _merged(few, len(found[0].starts))
        return merged.starts, merged.places
    starts, numbers, ranks = found[most].starts, found[most].subscriptions, sources[most].ranks
    if not few or ranks is None:
        return starts, numbers if most == 0 else places_of(most, numbers)
    rest = _merged(few, len(starts))
    out_starts, out = np.zeros(len(starts), np.int64), np.empty(len(numbers) + len(rest.places), np.int64)
    merge_into(starts, numbers, ranks, _GAP, most, rest, out_starts, out)
    return out_starts, out


def _alone(source: Snapshot, found: Found, place: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The places of the matches of a source without ranks, if no other source has any."""
    numbers = found.subscriptions.astype(np.int64)
    if len(numbers) > 1:
        distinct, which = np.unique(numbers, return_inverse=True)
        names, ranks = source.names_of(distinct), np.empty(len(distinct), np.int64)
        ranks[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
        numbers = numbers[np.lexsort((ranks[which], found.events))]
    return found.starts, places_of(place, numbers)


def id_keys(sources: Sequence[Snapshot], places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Numbers that sort like the ids at some places."""
    keys = np.empty(len(places), np.int64)
    given = by_source(places)
    late = _late_keys(sources, {source: numbers for source, _, numbers in given if sources[source].ranks is None})
    for source, own, numbers in given:
        ranks = sources[source].ranks
        keys[own] = late[source].of(numbers) if ranks is None else _keys(ranks, numbers)
    return keys


def _keys(ranks: Ranks, numbers: NDArray[Any]) -> NDArray[np.int64]:
    """The keys of some of a segment's subscriptions, with room between any two."""
    keys = 2 * numbers.astype(np.int64) + 1 if ranks is ONE_ALONE else 2 * ranks[numbers].astype(np.int64) + 1
    return keys * _GAP


def _merged(parts: Sequence[Keyed], starts: int) -> Keyed:
    """Merge all parts pairwise, so that each match moves a logarithmic number of times."""
    if not parts:
        return Keyed(np.zeros(starts, np.int64), np.empty(0, np.int64), np.empty(0, np.int64))
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    left, right = _merged(parts[:middle], starts), _merged(parts[middle:], starts)
    total = len(left.keys) + len(right.keys)
    out = Keyed(np.zeros(starts, np.int64), np.empty(total, np.int64), np.empty(total, np.int64))
    merge_two(left, right, out)
    return out


def _sorted(sources: Sequence[Snapshot], found: Sequence[Found], given: Sequence[int]) -> list[Keyed]:
    """The matches of some sources, in the order of the ids."""
    late = _late_keys(sources, {place: found[place].subscriptions for place in given if sources[place].ranks is None})
    parts = []
    for place in given:
        starts, numbers, ranks = found[place].starts, found[place].subscriptions, sources[place].ranks
        keys = late[place].of(numbers) if ranks is None else _keys(ranks, numbers)
        places = places_of(place, numbers.astype(np.int64))
        if ranks is None:
            order = np.lexsort((keys, found[place].events))
            keys, places = keys[order], places[order]
        parts.append(Keyed(starts, keys, places))
    return parts


class _Keys(NamedTuple):
    """Keys of some of a source's subscriptions. N of them."""

    numbers: NDArray[np.int64]  # (N,) ascending
    keys: NDArray[np.int64]  # (N,)

    def of(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.keys[np.searchsorted(self.numbers, numbers)]


def _late_keys(sources: Sequence[Snapshot], wanted: Mapping[int, NDArray[np.int64]]) -> dict[int, _Keys]:
    """The keys of matches in sources without ranks: twice the number of smaller segment ids, then their own order."""
    if not wanted:
        return {}
    numbers = {source: np.unique(some) for source, some in wanted.items()}
    ids = [name for source, some in numbers.items() for name in sources[source].names_of(some)]
    keys = np.empty(len(ids), np.int64)
    keys[sorted(range(len(ids)), key=ids.__getitem__)] = np.arange(len(ids))
    others = Texts.of([str(name) for name in ids]) if isinstance(ids[0], str) else np.array(ids, np.int64)
    keys += 2 * _GAP * sum(source.ids_below(others) for source in sources)
    late, first = {}, 0
    for source, some in numbers.items():
        late[source] = _Keys(some, keys[first : first + len(some)])
        first += len(some)
    return late


def places_of(source: int, numbers: NDArray[Any]) -> NDArray[np.int64]:
    """The places of some subscriptions of one source."""
    return numbers | np.int64(source << _BITS)


def by_source(places: NDArray[Any]) -> list[tuple[int, Any, NDArray[Any]]]:
    """The sources of some places: each with the places that are its own, and their numbers."""
    if places.dtype == np.int32:
        return [(0, slice(None), places)] if len(places) else []
    sources, numbers = places >> _BITS, places & _NUMBER
    if len(places) and (sources == sources[0]).all():
        return [(int(sources[0]), slice(None), numbers)]
    given = np.flatnonzero(np.bincount(sources)).tolist()
    return [(source, own, numbers[own]) for source in given for own in [np.flatnonzero(sources == source)]]
