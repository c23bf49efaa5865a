"""Assigning subscriptions to partitions, with the keys that lead there. A `Placement` decides this deterministically.

No match is lost: a matching event has at least one of the subscription's keys, and each key leads to a partition with
the subscription. A subscription without such keys is on a partition that every event visits.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen
from tocsin.index.question import Part
from tocsin.index.statistics import Statistics
from tocsin.placement.covers import COVERS, covers_of
from tocsin.placement.hashing import Hashes, hashes_of_ids
from tocsin.placement.regions import keys_of_leaves, leaves_of_regions, regions_of

HASH: Final = "hash"
LOCATION: Final = "location"
PLACEMENTS: Final = (HASH, LOCATION, *COVERS)

NO_KEY: Final = np.uint64(0)
"""Stands for the missing key of a subscription that every event must reach."""
NOBODYS: Final = np.uint64(1)
"""The key of a subscription that matches no event."""

_NO_SPLITS: Final = frozen(np.empty(0), np.float64)


class FoundBy(NamedTuple):
    """The keys that find subscriptions. N keys of S subscriptions."""

    owners: NDArray[np.int64]  # (N,) ascending
    keys: Hashes  # (N,)
    leaves: NDArray[np.int32]  # (N,) leaves of the map; empty if keys are not places
    is_uncovered: NDArray[np.bool_]  # (S,) which may match events without any of their keys


class Assignment(NamedTuple):
    """The partitions and keys of subscriptions. N keys of S subscriptions."""

    owners: NDArray[np.int64]  # (N,) ascending
    partitions: NDArray[np.int64]  # (N,) ascending within an owner
    keys: Hashes  # (N,) NO_KEY: every event visits the partition

    @property
    def is_first(self) -> NDArray[np.bool_]:
        """(N,) which begin a copy: another owner or another partition."""
        first = np.ones(len(self.owners), bool)
        first[1:] = (np.diff(self.owners) != 0) | (np.diff(self.partitions) != 0)
        return first


class Homes(NamedTuple):
    """The partitions of keys. H keys are listed; all others are spread over L lots by their low bits."""

    keys: Hashes  # (H,) ascending
    starts: NDArray[np.int64]  # (H + 1,)
    partitions: NDArray[np.int64]  # several for a key that is split
    lots: NDArray[np.int64]  # (L,) partitions

    def lead_to(self, partitions: int) -> bool:
        """Whether arrays read from a file are valid, and lead to existing partitions only."""
        kinds = (np.uint64, np.int64, np.int64, np.int64)
        if any(own.dtype != kind or own.ndim != 1 for own, kind in zip(self, kinds, strict=True)) or not len(self.lots):
            return False
        ends, led = self.starts, np.concatenate([self.partitions, self.lots])
        in_order = len(ends) == len(self.keys) + 1 and ends[0] == 0 and ends[-1] == len(self.partitions)
        return bool(in_order and (np.diff(ends) > 0).all() and ((led >= 0) & (led < partitions)).all())

    def of(self, keys: Hashes, dice: Hashes) -> NDArray[np.int64]:
        """The partition of each key; for a split key, the owner's hash chooses one."""
        partitions = self.lots[((keys >> np.uint64(1)) % np.uint64(len(self.lots))).astype(np.int64)]
        if len(self.keys):
            at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
            known = np.flatnonzero(self.keys[at] == keys)
            at = at[known]
            chosen = dice[known] % (self.starts[at + 1] - self.starts[at]).astype(np.uint64)
            partitions[known] = self.partitions[self.starts[at] + chosen.astype(np.int64)]
        return partitions


def partitions_of_leaves(leaves: NDArray[np.int32], splits: NDArray[np.float64], partitions: int) -> NDArray[np.int64]:
    """The partitions of leaves of a map: each has as many neighbouring leaves."""
    return leaves.astype(np.int64) * partitions // (len(splits) + 1)


@dataclass(frozen=True, slots=True)
class Placement:
    """A placement: the first `partitions` by keys, and `everywhere` more that every event visits."""

    name: str
    partitions: int
    everywhere: int = 0
    most_copies: int = 1
    statistics: Statistics | None = field(default=None, repr=False, compare=False)
    homes: Homes | None = field(default=None, repr=False, compare=False)
    splits: NDArray[np.float64] = field(default_factory=lambda: _NO_SPLITS, repr=False, compare=False)
    places: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """The number of partitions."""
        return self.partitions + self.everywhere

    def assign(self, part: Part) -> Assignment:
        """Assign subscriptions to partitions: to one by a hash of the id, or to those of their keys."""
        dice = hashes_of_ids(part.ids)
        if self.name == HASH:
            partitions = (dice % np.uint64(self.partitions)).astype(np.int64)
            return Assignment(np.arange(len(part)), partitions, np.full(len(part), NO_KEY))
        found = self._found(part)
        if self.homes is None:
            partitions = partitions_of_leaves(found.leaves, self.splits, self.partitions)
        else:
            partitions = self.homes.of(found.keys, dice[found.owners])
        order = np.lexsort((partitions, found.owners))
        keyed = Assignment(found.owners[order], partitions[order], found.keys[order])
        return self._completed(keyed, found.is_uncovered, dice)

    def _found(self, part: Part) -> FoundBy:
        """The keys that find subscriptions."""
        if self.name != LOCATION:
            covers = covers_of(part.compiled, self.statistics, COVERS[self.name])
            return FoundBy(covers.owners, covers.keys, np.empty(0, np.int32), covers.is_uncovered)
        regions = regions_of(part.compiled)
        known = np.isin(np.array([*regions.attributes, ""], object), self.places)
        is_placed = known[regions.places] & (regions.places >= 0)
        placed = np.flatnonzero(is_placed)
        under = leaves_of_regions(self.splits, regions.boxes[placed])
        owners = placed[under.owners]
        keys = keys_of_leaves(regions.attributes, regions.places[owners], under.leaves)
        return FoundBy(owners, keys, under.leaves, ~regions.is_dead & ~is_placed)

    def _completed(self, keyed: Assignment, uncovered: NDArray[np.bool_], dice: Hashes) -> Assignment:
        """Add subscriptions that every event visits (no key, or too many copies), and those that never match."""
        copies = np.bincount(keyed.owners[keyed.is_first], minlength=len(dice))
        everywhere = uncovered | (copies > self.most_copies)
        kept = ~everywhere[keyed.owners]
        others, nobodys = np.flatnonzero(everywhere), np.flatnonzero((copies == 0) & ~everywhere)
        apart = self.partitions + (dice[others] % np.uint64(max(self.everywhere, 1))).astype(np.int64)
        asleep = (dice[nobodys] % np.uint64(self.partitions)).astype(np.int64)
        owners = np.concatenate([keyed.owners[kept], others, nobodys])
        partitions = np.concatenate([keyed.partitions[kept], apart, asleep])
        keys = [keyed.keys[kept], np.full(len(others), NO_KEY), np.full(len(nobodys), NOBODYS)]
        order = np.argsort(owners, kind="stable")
        return Assignment(owners[order], partitions[order], np.concatenate(keys)[order])
