"""Planning a placement from a profile of subscriptions, so that partitions have similar sizes.

A key with more subscriptions than a partition should hold is split over several. Keys that many events have are put on
few partitions, so that each of those events visits few. All other keys go to the partitions with the least load.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tocsin.errors import InvalidInput
from tocsin.index.question import Part
from tocsin.index.statistics import Statistics
from tocsin.placement.assigning import HASH, LOCATION, PLACEMENTS, Homes, Placement
from tocsin.placement.covers import COVERS, covers_of
from tocsin.placement.hashing import Hashes
from tocsin.placement.regions import divided, regions_of
from tocsin.spelling import option

AUTO: Final = "auto"
_COMMON: Final = 0.1
_LARGEST: Final = 4096
"""How many keys are dealt individually; the others are spread by their hashes."""
_LOTS: Final = 1024
_LEAVES_A_PARTITION: Final = 16
_MOST_LEAVES: Final = 1024


@dataclass(frozen=True, slots=True)
class Profile:
    """The keys or boxes of some subscriptions. K keys, N boxes."""

    subscriptions: int
    uncovered: int  # subscriptions without a key
    keys: Hashes = field(default_factory=lambda: np.empty(0, np.uint64))  # (K,) ascending
    counts: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))  # (K,) of subscriptions
    shares: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))  # (K,) of events
    boxes: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 4)))  # (N, 4)
    places: tuple[str, ...] = ()  # the attributes that must meet these boxes
    by_place: int = 0  # subscriptions with a condition on a place as a key, evaluated before events are sent

    @classmethod
    def of(cls, name: str, part: Part, statistics: Statistics | None = None) -> Profile:
        """The profile of some subscriptions for a named placement."""
        if name == HASH:
            return cls(len(part), 0)
        if name != LOCATION:
            covers = covers_of(part.compiled, statistics, COVERS[name])
            keys, firsts, counts = np.unique(covers.keys, return_index=True, return_counts=True)
            by_place = int(covers.is_by_place.sum())
            uncovered = int(covers.is_uncovered.sum())
            return cls(len(part), uncovered, keys, counts, covers.shares[firsts], by_place=by_place)
        regions = regions_of(part.compiled)
        is_placed = regions.places >= 0
        used = np.unique(regions.places[is_placed]).tolist()
        places = tuple(sorted(regions.attributes[number] for number in used))
        uncovered = int((~is_placed & ~regions.is_dead).sum())
        return cls(len(part), uncovered, boxes=regions.boxes[is_placed], places=places)


def placement_of(name: str, partitions: int, profile: Profile, statistics: Statistics | None = None) -> Placement:
    """The named placement for subscriptions like those of a profile. Deterministic."""
    if name == HASH:
        return Placement(HASH, partitions)
    everywhere = max(1, round(partitions * profile.uncovered / max(profile.subscriptions, 1)))
    options: dict[str, Any] = {"most_copies": max(partitions // 2, 1), "statistics": statistics}
    if name != LOCATION:
        return Placement(name, partitions, everywhere, homes=homes_of(partitions, profile), **options)
    splits = splits_of(partitions, profile.boxes)
    return Placement(name, partitions, everywhere, splits=splits, places=profile.places, **options)


def splits_of(partitions: int, boxes: NDArray[np.float64]) -> NDArray[np.float64]:
    """The splits of a map of some boxes, with several leaves for each partition."""
    return divided(boxes, 1 << (min(_LEAVES_A_PARTITION * partitions, _MOST_LEAVES).bit_length() - 1))


def check_placement(name: str, partitions: int) -> None:
    """Raise `InvalidInput` for an unknown placement or an invalid number of partitions."""
    if name not in (*PLACEMENTS, AUTO):
        raise InvalidInput(f"{option('placement')} is {name!r:.40}; it must be one of {', '.join(PLACEMENTS)}, {AUTO}")
    if isinstance(partitions, bool) or not isinstance(partitions, int) or partitions < 1:
        raise InvalidInput(f"{option('partitions')} is {partitions!r:.40}; it must be at least 1")


def homes_of(partitions: int, profile: Profile) -> Homes:
    """Deal the keys with most subscriptions, and the share of the other keys for each partition."""
    fair = max(float(profile.counts.sum()) / partitions, 1.0)
    largest = np.argsort(-profile.counts, kind="stable")[:_LARGEST]
    is_common = profile.shares[largest] >= _COMMON
    common = largest[is_common]
    loads, homes = np.zeros(partitions), dict[int, list[int]]()
    for number in common[np.argsort(-profile.shares[common], kind="stable")].tolist():
        homes[number] = _filled(loads, fair, float(profile.counts[number]))
    for number in largest[~is_common].tolist():
        pieces = min(max(int(np.ceil(profile.counts[number] / fair)), 1), partitions)
        chosen = np.argsort(loads, kind="stable")[:pieces]
        loads[chosen] += profile.counts[number] / pieces
        homes[number] = chosen.tolist()
    numbers = sorted(homes)
    starts = np.cumsum([0, *(len(homes[number]) for number in numbers)])
    members = np.array([one for number in numbers for one in homes[number]], np.int64)
    return Homes(profile.keys[numbers], starts, members, _lots(loads, fair))


def _filled(loads: NDArray[np.float64], fair: float, count: float) -> list[int]:
    """Put a key with `count` subscriptions on the first partition with room, or split it from there on."""
    at = min(int(np.argmax(loads < fair)) if (loads < fair).any() else len(loads) - 1, len(loads) - 1)
    pieces = min(max(int(np.ceil(count / fair)), 1), len(loads) - at)
    chosen = np.arange(at, at + pieces)
    loads[chosen] += count / pieces
    return chosen.tolist()


def _lots(loads: NDArray[np.float64], fair: float) -> NDArray[np.int64]:
    """The partitions, repeated in proportion to the room left."""
    room = np.maximum(fair - loads, 0) + 1e-9 * fair
    ends = np.round(np.cumsum(room) / room.sum() * _LOTS).astype(np.int64)
    return np.repeat(np.arange(len(loads)), np.diff(ends, prepend=0))
