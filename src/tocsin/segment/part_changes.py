"""The changes of a segment since it was written: removed subscriptions, and new scores.

A segment's files never change. Its changes are in a separate file of the index version that made them. Each change has
a version, which tells the later of two changes of one id.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.errors import SegmentError
from tocsin.index.alive import Alive, are_alive, bitmap, everyone
from tocsin.writing import aside

OLDEST: Final = int(np.iinfo(np.int64).min)
"""The version of subscriptions that came without one: every change is later."""


class PartChanges(NamedTuple):
    """The changes of a segment. G removed subscriptions, R new scores."""

    gone: NDArray[np.int32]  # (G,) numbers, ascending
    gone_versions: NDArray[np.int64]  # (G,) versions of the deletions; OLDEST if replaced by another subscription
    rescored: NDArray[np.int32]  # (R,) numbers, ascending
    scores: NDArray[np.float64]  # (R,)
    score_versions: NDArray[np.int64]  # (R,)

    @classmethod
    def none(cls) -> PartChanges:
        """No changes."""
        numbers, versions = np.empty(0, np.int32), np.empty(0, np.int64)
        return cls(numbers, versions, numbers, np.empty(0), versions)

    def __bool__(self) -> bool:
        return bool(len(self.gone) or len(self.rescored))

    def without(self, numbers: NDArray[np.integer], versions: NDArray[np.int64]) -> PartChanges:
        """Also remove these; the version of one already removed is replaced."""
        gone, own = _put(self.gone, numbers, [(self.gone_versions, versions)])
        return self._replace(gone=gone, gone_versions=own[0])

    def scored(
        self, numbers: NDArray[np.integer], scores: NDArray[np.float64], versions: NDArray[np.int64]
    ) -> PartChanges:
        """Also set these scores."""
        pairs = [(self.scores, scores), (self.score_versions, versions)]
        rescored, (values, own) = _put(self.rescored, numbers, pairs)
        return self._replace(rescored=rescored, scores=values, score_versions=own)

    def alive(self, before: Alive, count: int) -> Alive:
        """The subscriptions that are still live."""
        if not len(self.gone):
            return before
        gone = np.zeros(count, bool)
        gone[self.gone] = True
        return (everyone(count) if before is None else before) & ~bitmap(gone)

    def scores_over(self, before: NDArray[np.float64]) -> NDArray[np.float64]:
        """The current scores, given the written ones."""
        if not len(self.rescored):
            return before
        scores = before.copy()
        scores[self.rescored] = self.scores
        scores.flags.writeable = False
        return scores

    def versions_over(self, before: NDArray[np.int64], numbers: NDArray[np.integer]) -> NDArray[np.int64]:
        """The versions of the last changes of some subscriptions, given those that they were written with."""
        versions = before.copy()
        for changed, theirs in ((self.rescored, self.score_versions), (self.gone, self.gone_versions)):
            if len(changed):
                places = np.minimum(np.searchsorted(changed, numbers), len(changed) - 1)
                is_changed = changed[places] == numbers
                versions[is_changed] = theirs[places[is_changed]]
        return versions

    def moved(self, origins: NDArray[np.int64], since: PartChanges) -> PartChanges:
        """The changes since an earlier moment, in the numbers of a merged segment.

        `origins` has for each subscription its number in the merged segment, or -1.
        """
        is_new = ~np.isin(self.gone, since.gone)
        gone, gone_versions = origins[self.gone[is_new]], self.gone_versions[is_new]
        same = np.isin(self.rescored, since.rescored)
        same[same] = (
            since.score_versions[np.searchsorted(since.rescored, self.rescored[same])] == (self.score_versions[same])
        )
        rescored = origins[self.rescored[~same]]
        is_there = rescored >= 0
        return (
            PartChanges.none()
            .without(gone[gone >= 0], gone_versions[gone >= 0])
            .scored(rescored[is_there], self.scores[~same][is_there], self.score_versions[~same][is_there])
        )


def _put(
    keys: NDArray[np.int32], others: NDArray[np.integer], values: list[tuple[NDArray[Any], NDArray[Any]]]
) -> tuple[NDArray[np.int32], list[NDArray[Any]]]:
    """Insert keys with their values, keeping keys ascending; a new value replaces that of an equal key."""
    both = np.concatenate([keys, others.astype(np.int32)])
    order = np.argsort(both, kind="stable")
    is_last = np.ones(len(both), bool)
    is_last[:-1] = both[order][1:] != both[order][:-1]
    chosen = order[is_last]
    return both[chosen], [np.concatenate(pair)[chosen] for pair in values]


def write_changes(path: Path, changes: PartChanges) -> None:
    """Write changes atomically. Its members have checksums, as in any zip file."""
    with aside(path) as beside, beside.open("wb") as file:
        np.savez(file, **changes._asdict())


def read_changes(path: Path, count: int) -> PartChanges:
    """Read the changes of a segment of `count` subscriptions; raises `SegmentError` if they are damaged."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            changes = PartChanges(*(stored[name] for name in PartChanges._fields))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise SegmentError(f"{path} is damaged or missing: {error}. Compile the index again.") from None
    expected: dict[str, NDArray[Any]] = PartChanges.none()._asdict()
    for name, field in changes._asdict().items():
        if field.dtype != expected[name].dtype or field.ndim != 1:
            raise SegmentError(f"{path} is damaged: {name} is of {field.dtype} and shape {field.shape}.")
    for numbers, values in ((changes.gone, changes[1:2]), (changes.rescored, changes[3:])):
        if any(len(one) != len(numbers) for one in values) or not _are_numbers(numbers, count):
            raise SegmentError(f"{path} is damaged: its numbers are not those of {count:,} subscriptions.")
    if not np.isfinite(changes.scores).all():
        raise SegmentError(f"{path} is damaged: a score is not finite.")
    return changes


def _are_numbers(numbers: NDArray[np.int32], count: int) -> bool:
    """Whether numbers are ascending and below `count`."""
    return not len(numbers) or bool(numbers[0] >= 0 and numbers[-1] < count and (np.diff(numbers) > 0).all())


def still_there(changes: PartChanges, before: Alive, count: int, numbers: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Whether each of some subscriptions is live."""
    mask = np.ones(len(numbers), bool) if before is None else are_alive(before, numbers)
    if len(changes.gone):
        places = np.minimum(np.searchsorted(changes.gone, numbers), len(changes.gone) - 1)
        mask &= changes.gone[places] != numbers
    return mask
