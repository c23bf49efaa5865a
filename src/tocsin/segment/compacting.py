"""Compaction of an index by the logarithmic method, while the index is being changed.

Parts of similar size (within a factor of `fanout`) are merged when there are enough of them. A part that has lost a
quarter of its subscriptions is rewritten. So each subscription is merged O(log n) times, and a match searches O(log n)
parts (Bentley and Saxe 1980). The segments of an engine in memory follow the same rule.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index import Plan
from tocsin.segment.amending import KEEP_S, with_lost
from tocsin.segment.assembling import merged
from tocsin.segment.folder import IndexFolder, MappedPart, PartPlace
from tocsin.segment.mapping import mapped
from tocsin.segment.part_changes import OLDEST, PartChanges
from tocsin.segment.placed import Signs
from tocsin.segment.publishing import Overtaken, Publication
from tocsin.segment.segment import Segment
from tocsin.segment.snapshots import snapshot_of


class Rule(NamedTuple):
    """When to merge: `fanout` parts of one size, or a part that has lost more than `gone_share`.

    Parts of up to `smallest` subscriptions count as one size. So do larger parts up to `fanout` times that, and so on.
    """

    smallest: int = 4096
    fanout: int = 4
    gone_share: float = 0.25


RULE: Final = Rule()


class Size(NamedTuple):
    """The subscriptions in a part, including removed ones, and how many are removed."""

    numbered: int
    gone: int


def next_to_merge(sizes: Sequence[Size], rule: Rule) -> list[int]:
    """The places of the parts to merge next: those of one size (smallest first), else a thin one, else none."""
    tiers: dict[int, list[int]] = {}
    for place, size in enumerate(sizes):
        living = size.numbered - size.gone
        tier = int(math.log(max(living / rule.smallest, 1.0)) / math.log(rule.fanout))
        tiers.setdefault(tier, []).append(place)
    for tier in sorted(tiers):
        if len(tiers[tier]) >= rule.fanout:
            return tiers[tier]
    thin = [place for place, size in enumerate(sizes) if size.gone > rule.gone_share * size.numbered]
    return thin[:1]


def due(folder: IndexFolder, parts: Sequence[MappedPart], rule: Rule = RULE) -> list[PartPlace]:
    """The parts of a version to merge next. They share a home partition, or have none and receive every event."""
    together: dict[int | str | None, list[int]] = {}
    for place, (held, part) in enumerate(zip(folder.parts, parts, strict=True)):
        alone = held.path if held.home is None and part.signs is not None else None
        together.setdefault(held.home if alone is None else alone, []).append(place)
    for chosen in together.values():
        sizes = [Size(len(parts[place].segment), len(parts[place].changes.gone)) for place in chosen]
        merging = [folder.parts[chosen[place]] for place in next_to_merge(sizes, rule)]
        if merging:
            return merging
    return []


def is_due(path: str | Path) -> bool:
    """Whether there are parts to merge."""
    folder = IndexFolder.read(path)
    return bool(due(folder, mapped(folder)))


def compact(
    path: str | Path, plan: Plan, *, keep_s: float = KEEP_S, steps: int | None = None, rule: Rule = RULE
) -> int:
    """Merge parts of an index until nothing is due, or `steps` times; returns the number of merges.

    The index may change meanwhile: the merged part includes those changes. Raises `SegmentError` for a damaged index.
    """
    path, done = Path(path), 0
    while steps is None or done < steps:
        folder = IndexFolder.read(path)
        parts = mapped(folder)
        chosen = due(folder, parts, rule)
        if not chosen or not _merge(path, [part for part in parts if part.place in chosen], plan, keep_s):
            break
        done += 1
    return done


def _merge(path: Path, chosen: Sequence[MappedPart], plan: Plan, keep_s: float) -> bool:
    """Replace some parts by one; False if another process did so meanwhile."""
    segment, origins = merged([snapshot_of(part.now()) for part in chosen], plan)
    versions = np.full(len(segment), OLDEST)
    for part, origin in zip(chosen, origins, strict=True):
        own = np.flatnonzero(origin >= 0)
        versions[origin[own]] = part.last_versions(own)
    with Publication(path) as new:
        home = None if chosen[0].place is None else chosen[0].place.home
        place = new.write(0, segment, versions, _all_signs(chosen), home) if len(segment) else None
        while True:
            now = IndexFolder.read(path)
            by_path = {part.path: part for part in now.parts}
            if any(part.place is None or part.place.path not in by_path for part in chosen):
                return False
            try:
                _install(new, now, chosen, place, origins, segment, keep_s)
                return True
            except Overtaken:
                continue


def _all_signs(parts: Sequence[MappedPart]) -> Signs | None:
    """The union of the parts' routing keys; None if one of them receives every event."""
    given = [part.signs for part in parts if part.signs is not None]
    if len(given) < len(parts):
        return None
    return Signs(np.unique(np.concatenate([one.keys for one in given])), max(one.alike for one in given))


def _install(
    new: Publication,
    now: IndexFolder,
    chosen: Sequence[MappedPart],
    place: PartPlace | None,
    origins: Sequence[NDArray[np.int64]],
    segment: Segment,
    keep_s: float,
) -> None:
    """Publish a version with the merged part and the changes made while it was built."""
    known = {part.place.path: part for part in chosen if part.place is not None}
    current = {part.path: held for part, held in zip(now.parts, now.held(known), strict=True) if part.path in known}
    changes, tombstones = PartChanges.none(), now.all_tombstones()
    for (path, before), origin in zip(known.items(), origins, strict=True):
        since = current[path].changes.moved(origin, before.changes)
        changes = changes.without(since.gone, since.gone_versions)
        changes = changes.scored(since.rescored, since.scores, since.score_versions)
        tombstones = with_lost(tombstones, current[path], origin < 0)
    if place is not None and changes:
        place = new.write_changes(0, place, changes)
    parts = [part for part in now.parts if part.path not in known] + ([] if place is None else [place])
    kept = new.write_tombstones(tombstones) if tombstones else now.tombstones
    about: dict[str, Any] = {"tombstones": kept, "placed": now.placed, "statistics": now.statistics}
    new.publish(parts, now.subscriptions, now.ids, now.texts, **about, over=now.version, keep_s=keep_s)
