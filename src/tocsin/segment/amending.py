"""Amending an index: publish a version with added, changed and deleted subscriptions.

New subscriptions become a small part; deletions become tombstones in files beside the parts. All changes of a batch are
in the next version, or none is. A change is ignored if a later change of the same id was applied before. So a batch
that is applied twice, or late, changes nothing more. `compacting` keeps the number of parts small.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tocsin.errors import InvalidInput, UnsuitableIndex
from tocsin.index import Part, Plan
from tocsin.model.subscription import Reject
from tocsin.placement import Placement, dealt_late, most_alike
from tocsin.records.changes import ChangeBatch, Rows
from tocsin.segment.assembling import assemble
from tocsin.segment.builder import SegmentBuilder
from tocsin.segment.folder import IndexFolder, MappedPart
from tocsin.segment.ids import Ids, as_ids, find_ids
from tocsin.segment.mapping import mapped
from tocsin.segment.part_changes import OLDEST, PartChanges, still_there
from tocsin.segment.placed import Signs
from tocsin.segment.publishing import Overtaken, Publication
from tocsin.segment.segment import Segment
from tocsin.segment.storage import MANIFEST
from tocsin.segment.tombstones import Tombstones

KEEP_S = 600.0


@dataclass(slots=True)
class Amendment:
    """The outcome of a batch of changes. `version` is the index version that has them all.

    `superseded` changes had no effect, because of a later change of their id in this batch or before it. Of the
    `deleted` ids, `unknown` did not exist: their tombstones are kept, because older changes may come late.
    """

    version: str
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    rescored: int = 0
    superseded: int = 0
    unknown: int = 0
    rejects: list[Reject] = field(default_factory=list)


def amend(
    path: str | Path,
    changes: ChangeBatch,
    plan: Plan,
    *,
    keep_s: float = KEEP_S,
) -> Amendment:
    """Publish a version of an index with some changes applied. A folder without an index becomes one.

    `plan` is for the new part. Versions younger than `keep_s` seconds stay for readers. Raises `InvalidInput` for ids
    of another kind than the index has, and `SegmentError` for a damaged index. Cost: reading the earlier changes and
    compiling the new subscriptions.
    """
    path = Path(path)
    while True:
        now = IndexFolder.read(path) if (path / MANIFEST).exists() else None
        draft = _Draft(now, changes.kind, plan)
        done = draft.amend(changes)
        if now is not None and not draft.is_changed:
            return done
        try:
            done.version = draft.publish(path, keep_s).version
        except Overtaken:
            continue
        return done


class _Known(NamedTuple):
    """What an index knows about some ids. N ids, C live copies."""

    last: NDArray[np.int64]  # (N,) the version of the last change; OLDEST if there is none
    which: NDArray[np.int64]  # (C,) the id
    part: NDArray[np.int64]  # (C,) the part that has it
    number: NDArray[np.int64]  # (C,) its number in that part

    @property
    def is_there(self) -> NDArray[np.bool_]:
        """(N,) whether some part has it live."""
        is_there: NDArray[np.bool_] = np.bincount(self.which, minlength=len(self.last)) > 0
        return is_there


class _Fresh(NamedTuple):
    """A part with new subscriptions."""

    segment: Segment
    versions: NDArray[np.int64]  # (S,) version of the change that added each subscription
    signs: Signs | None = None
    home: int | None = None


class _Draft:
    """The parts of the next version, while changes are applied."""

    def __init__(self, folder: IndexFolder | None, kind: pa.DataType, plan: Plan) -> None:
        if folder is not None and folder.subscriptions and folder.id_type != kind:
            mine, others = ("integers", "strings") if pa.types.is_integer(folder.id_type) else ("strings", "integers")
            raise InvalidInput(
                f"the ids of {folder.path} are {mine}, but those of the changes are {others}; use one kind"
            )
        self._folder = folder
        self._plan = plan
        self._kind = kind
        self._parts = [] if folder is None else mapped(folder)
        is_same = folder is not None and folder.id_type == kind
        self._tombstones = folder.all_tombstones() if folder is not None and is_same else Tombstones.none(kind)
        self._had_tombstones = self._tombstones
        self._living = 0 if folder is None else folder.subscriptions
        self._copies = 0 if folder is None else folder.copies
        self._amended: set[int] = set()
        self._fresh: list[_Fresh] = []

    @property
    def is_changed(self) -> bool:
        return bool(self._amended) or bool(self._fresh) or self._tombstones is not self._had_tombstones

    def amend(self, changes: ChangeBatch) -> Amendment:
        """Apply the changes, except those with a later change of their id."""
        done = Amendment("" if self._folder is None else self._folder.version, rejects=list(changes.rejects))
        rows = changes.rows
        rows = rows.some(rows.versions > self._known(as_ids(rows.ids)).last) if len(rows) else rows
        outcome = changes.outcome(rows)
        known = self._known(as_ids(outcome.ids))
        base, rescore = outcome.base, outcome.rescore
        is_put = (base >= 0) & rows.is_put[base] if len(rows) else base >= 0
        is_deletion = (base >= 0) & ~is_put
        is_rescore = (rescore >= 0) & ~is_put
        is_missing = is_rescore & (is_deletion | ~known.is_there)
        self._refuse(rows, rescore[is_missing], done)
        final = np.where(is_put & (rescore >= 0), rescore, base)
        taken = self._bring(changes, rows, base[is_put], final[is_put], done)
        is_put[is_put] = taken
        is_known = known.is_there
        self._bury(known, is_put & is_known, np.full(len(is_put), OLDEST))
        self._bury(known, is_deletion & is_known, rows.versions[base])
        is_tombstone = is_deletion & ~is_known
        self._tombstones = self._tombstones.with_more(
            outcome.ids.filter(pa.array(is_tombstone)), rows.versions[base[is_tombstone]]
        )
        self._score(known, is_rescore & ~is_missing, rows, rescore)
        done.inserted, done.updated = int((is_put & ~is_known).sum()), int((is_put & is_known).sum())
        done.unknown = int(is_tombstone.sum())
        done.deleted, done.rescored = int(is_deletion.sum()), int((is_rescore & ~is_missing).sum())
        counted = done.inserted + done.updated + done.deleted + done.rescored
        done.superseded = len(changes.rows) + len(changes.rejects) - len(done.rejects) - counted
        done.rejects.sort(key=lambda reject: reject.row)
        return done

    def _known(self, ids: Ids) -> _Known:
        """What the parts and the tombstones know about some sorted ids, which may repeat."""
        last = self._tombstones.of(ids)
        found: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]] = []
        for place, held in enumerate(self._parts):
            below, is_there = find_ids(held.segment.ids, ids)
            if not is_there.any():
                continue
            numbers = below[is_there]
            last[is_there] = np.maximum(last[is_there], held.last_versions(numbers))
            alive = np.flatnonzero(is_there)[still_there(held.changes, held.segment.alive, len(held.segment), numbers)]
            found.append((alive, np.full(len(alive), place), below[alive]))
        none = [np.empty(0, np.int64)] * 3
        return _Known(last, *(np.concatenate(columns) for columns in zip(none, *found, strict=True)))

    def _refuse(self, rows: Rows, places: NDArray[np.int64], done: Amendment) -> None:
        """Reject new scores for subscriptions that do not exist."""
        for row, name in zip(rows.rows[places].tolist(), rows.ids.take(pa.array(places)).to_pylist(), strict=True):
            done.rejects.append(Reject(row, name, "id", "no subscription has this id, so that its score cannot change"))

    def _bring(
        self,
        changes: ChangeBatch,
        rows: Rows,
        places: NDArray[np.int64],
        final: NDArray[np.int64],
        done: Amendment,
    ) -> NDArray[np.bool_]:
        """Build parts of the new subscriptions, with their latest scores; returns which were taken.

        An index chosen by name may be unable to hold some of them. `places` are in the order of the ids.
        """
        placement = None if self._folder is None or not len(places) else self._folder.placement()
        chosen = np.searchsorted(changes.brought.rows, rows.rows[places])
        taken = np.ones(len(places), bool)
        while taken.any():
            builder = SegmentBuilder()
            builder.add(changes.brought.some(chosen[taken]))
            part = builder.part(kind=changes.kind)
            part = replace(part, scores=rows.scores[final[taken]])
            try:
                self._fresh = _fresh_parts(part, rows.versions[final[taken]], self._plan, placement)
                self._living += len(part)
                self._copies += sum(len(one.segment) for one in self._fresh) - len(part)
                return taken
            except UnsuitableIndex as error:
                place = np.flatnonzero(taken)[error.number]
                row = int(rows.rows[places[place]])
                done.rejects.append(Reject(row, error.subscription, "where", error.reason))
                taken[place] = False
        return taken

    def _bury(self, known: _Known, chosen: NDArray[np.bool_], versions: NDArray[np.int64]) -> None:
        """Remove subscriptions from the parts that have them."""
        self._living -= int(chosen.sum())
        is_chosen = chosen[known.which]
        self._copies -= int(is_chosen.sum() - chosen.sum())
        for place in np.unique(known.part[is_chosen]).tolist():
            own = is_chosen & (known.part == place)
            order = np.argsort(known.number[own])
            numbers, theirs = known.number[own][order], versions[known.which[own]][order]
            self._put(place, self._parts[place].changes.without(numbers, theirs))

    def _score(self, known: _Known, chosen: NDArray[np.bool_], rows: Rows, rescore: NDArray[np.int64]) -> None:
        """Set subscriptions' scores to those of some rows."""
        is_chosen = chosen[known.which]
        for place in np.unique(known.part[is_chosen]).tolist():
            own = is_chosen & (known.part == place)
            theirs = rescore[known.which[own]]
            changes = self._parts[place].changes
            self._put(place, changes.scored(known.number[own], rows.scores[theirs], rows.versions[theirs]))

    def _put(self, place: int, changes: PartChanges) -> None:
        self._parts[place] = self._parts[place]._replace(changes=changes)
        self._amended.add(place)

    def _drop_empty(self, number: int) -> bool:
        """Whether a part has no live subscriptions left; its deletions then become tombstones."""
        held = self._parts[number]
        if len(held.changes.gone) < len(held.segment):
            return False
        self._tombstones = with_lost(self._tombstones, held, np.ones(len(held.segment), bool))
        return True

    def publish(self, path: Path, keep_s: float) -> IndexFolder:
        """Write and publish the next version."""
        with Publication(path) as new:
            places = []
            for number, held in enumerate(self._parts):
                assert held.place is not None
                if number not in self._amended:
                    places.append(held.place)
                elif not self._drop_empty(number):
                    places.append(new.write_changes(number, held.place, held.changes))
            places += [new.write(number, *one) for number, one in enumerate(self._fresh)]
            tombstones = None if self._folder is None else self._folder.tombstones
            if self._tombstones is not self._had_tombstones:
                tombstones = new.write_tombstones(self._tombstones)
            kind = "int64" if pa.types.is_integer(self._kind) else "string"
            over, texts = (None, None) if self._folder is None else (self._folder.version, self._folder.texts)
            placed = None if self._folder is None else self._folder.placed
            placed = None if placed is None else placed._replace(copies=self._copies)
            about: dict[str, Any] = {"tombstones": tombstones, "placed": placed, "over": over, "keep_s": keep_s}
            statistics = None if self._folder is None else self._folder.statistics
            statistics = new.write_statistics(self._plan.statistics) if statistics is None else statistics
            return new.publish(places, self._living, kind, texts, **about, statistics=statistics)


def _fresh_parts(part: Part, versions: NDArray[np.int64], plan: Plan, placement: Placement | None) -> list[_Fresh]:
    """The parts for new subscriptions: one, or one for each home partition that the placement assigns."""
    if placement is None:
        return [_Fresh(assemble(part, plan), versions)]
    fresh = []
    for numbers, keys, home in dealt_late(part, placement):
        try:
            own = part.only(numbers)
            segment = assemble(own, plan)
        except UnsuitableIndex as error:
            raise UnsuitableIndex(error.reason, int(numbers[error.number]), error.subscription) from None
        signs = None if keys is None else Signs(keys, most_alike(placement.name, own.compiled))
        fresh.append(_Fresh(segment, versions[numbers], signs, home))
    return fresh


def with_lost(tombstones: Tombstones, part: MappedPart, is_lost: NDArray[np.bool_]) -> Tombstones:
    """Tombstones, and the deletions that only a part knew of, for the subscriptions that it loses."""
    gone, versions = part.changes.gone, part.changes.gone_versions
    told = is_lost[gone] & (versions > OLDEST)
    return tombstones.with_more(part.segment.arrow_ids().take(pa.array(gone[told])), versions[told])
