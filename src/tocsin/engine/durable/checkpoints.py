"""The index folder beside a store: a cache that records which changes it has.

A checkpoint writes only what no earlier one wrote: new segments, and the removals and scores of the others. So its cost
does not depend on how many subscriptions there are, except for one comparison of all scores.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tocsin.engine.sources import SegmentSource
from tocsin.errors import SegmentError
from tocsin.index import Plan
from tocsin.index.alive import everyone
from tocsin.model.texts import Text
from tocsin.segment import IndexFolder, Publication, Segment, SegmentSnapshot, Snapshots
from tocsin.segment.folder import MappedPart, PartPlace, StoreMark
from tocsin.segment.part_changes import OLDEST, PartChanges
from tocsin.segment.storage import MANIFEST
from tocsin.store import Identity


class _Written(NamedTuple):
    """A segment that a part of the folder has."""

    segment: Segment  # in memory
    path: str
    base: Segment  # as it was written


class Checkpoints:
    """The versions of the index in a store's folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.identity = Identity("", "")  # of the store, which is read later
        self._written: dict[int, _Written] = {}
        self._parts: list[MappedPart] = []
        self._mark: StoreMark | None = None  # None: no checkpoint was made yet
        self._trouble: SegmentError | None = None
        try:
            self._look()
        except SegmentError as error:
            self._trouble = error

    def _look(self) -> None:
        """Map the current version, before the store is read: a store is never behind a version that was seen before."""
        while (self._folder / MANIFEST).exists():
            folder = IndexFolder.read(self._folder)
            try:
                self._mark, self._parts = folder.store, [] if folder.store is None else self._held(folder)
                return
            except SegmentError:
                if IndexFolder.read(self._folder).version == folder.version:
                    raise

    def open(self, floor: int, newest: int) -> tuple[list[SegmentSource], int]:
        """The segments of the version, and the last change that they have.

        Nothing if no checkpoint was made yet. Raises `SegmentError`, which says why, if the version cannot be brought
        to change `newest`: it is damaged, of another store, or ahead of it. Or it is older than `floor`, the last
        removal that is forgotten.
        """
        mark = self._mark
        if self._trouble is not None:
            raise self._trouble
        if mark is None:
            return [], 0
        if (mark.store, mark.epoch) != self.identity:
            raise SegmentError("its index is of another store, or of another history of it")
        if mark.sequence > newest:
            raise SegmentError(f"its index is at change {mark.sequence:,}, and the store only at {newest:,}")
        if mark.sequence < floor:
            raise SegmentError(f"its index is at change {mark.sequence:,}, and removals up to {floor:,} are forgotten")
        sources = []
        for part in self._parts:
            segment = part.now()
            assert part.place is not None
            self._written[id(segment)] = _Written(segment, part.place.path, part.segment)
            sources.append(SegmentSource(segment))
        return sources, mark.sequence

    def _held(self, folder: IndexFolder) -> list[MappedPart]:
        if folder.copies:
            raise SegmentError("its index is placed for Spark")
        return folder.held()

    def publish(self, snapshots: Snapshots, plan: Plan, texts: Mapping[str, Text], sequence: int) -> None:
        """Write a version with all changes up to `sequence`, which `snapshots` have."""
        written: dict[int, _Written] = {}
        with Publication(self._folder, is_of_store=True) as new:
            parts, living = [], 0
            for number, one in enumerate(snapshots):
                known = self._written.get(id(one.segment)) if isinstance(one, SegmentSnapshot) else None
                if not one.count:
                    continue
                living += one.count
                if known is not None and isinstance(one, SegmentSnapshot):
                    changes, place = _changes(known.base, one), PartPlace(known.path)
                    parts.append(new.write_changes(number, place, changes) if changes else place)
                    written[id(one.segment)] = known
                    continue
                base = one.as_segment(plan)
                parts.append(new.write(number, base))
                if isinstance(one, SegmentSnapshot):
                    written[id(one.segment)] = _Written(one.segment, parts[-1].path, base)
            ids = "int64" if pa.types.is_integer(snapshots.id_type) else "string"
            statistics, mark = new.write_statistics(plan.statistics), StoreMark(*self.identity, sequence)
            new.publish(parts, living, ids, texts, statistics=statistics, store=mark)
        self._written = written


def _changes(base: Segment, now: SegmentSnapshot) -> PartChanges:
    """What changed since a segment was written."""
    count = len(base)
    before, alive = (everyone(count) if one is None else one for one in (base.alive, now.alive))
    words = before & ~alive
    gone = np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little")[:count])
    rescored = np.flatnonzero(now.version.scores[:count] != base.scores)
    return (
        PartChanges.none()
        .without(gone, np.full(len(gone), OLDEST))
        .scored(rescored, now.version.scores[rescored], np.full(len(rescored), OLDEST))
    )
