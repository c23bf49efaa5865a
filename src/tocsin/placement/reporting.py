"""Reports on the cost of a placement before it is built: copies, visits of events, and balance of partitions.

They are computed from some subscriptions and events. Without events, the shares of the keys are used instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch
from tocsin.index.question import Part
from tocsin.index.statistics import Statistics
from tocsin.placement.assigning import HASH, NO_KEY, PLACEMENTS, Assignment, Placement
from tocsin.placement.hashing import Hashes
from tocsin.placement.planning import AUTO, Profile, check_placement, placement_of
from tocsin.placement.regions import shares_of_leaves
from tocsin.placement.routing import Router

_WORTH_IT: Final = 0.8
"""`auto` prefers another placement to `hash` only if events then examine less than this share."""
_UNEVEN: Final = 2.0
"""A partition with this many times the mean number of events is reported."""
_ENOUGH: Final = 10
"""With fewer events per partition, nothing is said about their balance."""


@dataclass(frozen=True, slots=True)
class PlacementReport:
    """The predicted cost of a placement.

    `visits`, `met`, `busiest`, `busiest_share` and `slowest` are None without events. Partitions that every event
    visits do not count as the busiest.

    Attributes
    ----------
    name : str
        The placement.
    partitions : int
        The number of partitions.
    everywhere : int
        The number of further partitions, which every event visits.
    subscriptions, events : int
        The numbers by which the cost was predicted.
    copies : float
        Copies per subscription.
    visits : float or None
        Partitions that an event visits.
    met : float or None
        Copies there, as a share of all subscriptions; 1 with "hash".
    busiest : float or None
        Events of the partition that most visit, divided by the mean.
    busiest_share : float or None
        The same events, as a share of all.
    slowest : float or None
        What `met` would be if each partition examined as many as the one that examines most.
    balance : float
        The size of the largest partition, divided by the mean.
    largest : float
        The largest partition's share of all subscriptions.
    unplaced : float
        The share of subscriptions that every event meets.
    split : int
        The number of partitions that share keys which would have filled more than one.
    decided : float
        The share of subscriptions found by conditions on places, which are evaluated before an event is sent.
    routing : str
        How events would be routed to the parts of the whole index, and why; empty if that is not known.
    """

    name: str
    partitions: int
    everywhere: int
    subscriptions: int
    events: int
    copies: float
    visits: float | None
    met: float | None
    busiest: float | None
    busiest_share: float | None
    slowest: float | None
    balance: float
    largest: float
    unplaced: float
    split: int
    decided: float = 0.0
    routing: str = ""

    @property
    def is_uneven(self) -> bool:
        """Whether one partition gets far more events than the mean, if there are enough events to tell."""
        return self.busiest is not None and self.busiest >= _UNEVEN and self.events >= _ENOUGH * self.partitions

    def lines(self) -> list[str]:
        """The report in words for the user.

        Returns
        -------
        list of str
            Lines of text.
        """
        more = f" and {self.everywhere} that every event visits" if self.everywhere else ""
        said = [f"{self.name}: {self.partitions} partitions{more}, for {self.subscriptions:,} subscriptions"]
        said.append(f"  copies of each subscription: {self.copies:.2f}")
        if self.visits is not None and self.met is not None:
            said.append(f"  partitions that an event visits: {self.visits:.2f} (in {self.events:,} events)")
            said.append(f"  subscriptions in these partitions: {self.met:.1%}")
        if self.busiest is not None and self.busiest_share is not None:
            said.append(
                f"  busiest partition / mean partition: {self.busiest:.2f}; it gets {self.busiest_share:.1%} of events"
            )
        said.append(f"  largest partition / mean partition: {self.balance:.2f}; it holds {self.largest:.1%}")
        if self.unplaced:
            said.append(f"  subscriptions that every event visits: {self.unplaced:.1%}")
        if self.decided:
            said.append(
                f"  subscriptions with conditions on places that are evaluated before the shuffle: {self.decided:.1%}"
            )
        if self.split:
            said.append(f"  keys larger than a partition are split over {self.split} partitions")
        if self.largest >= 0.5 and self.partitions > 1:
            said.append("  one partition holds half of the subscriptions or more; another placement would be more even")
        if self.is_uneven:
            said.append("  one partition gets most events; if Spark shuffles events, the other partitions wait for it")
        if self.routing:
            said.append(f"  routing: {self.routing}")
        return said


class Planned(NamedTuple):
    """A placement with its report."""

    placement: Placement
    report: PlacementReport


def planned(
    part: Part,
    name: str = AUTO,
    partitions: int = 8,
    statistics: Statistics | None = None,
    batches: Sequence[EventBatch] = (),
    is_shuffled: Callable[[PlacementReport], bool] = lambda report: False,
) -> Planned:
    """The named placement for subscriptions like these, and its report. `auto` minimises what an event examines.

    If `is_shuffled` says that events would be sent to the parts, the busiest part counts. Conditions of the events must
    be known (`index.elements`). Raises `InvalidInput` for an unknown name.
    """
    check_placement(name, partitions)
    given = []
    for one in PLACEMENTS if name == AUTO else (name,):
        profile = Profile.of(one, part, statistics)
        placement = _with_room(placement_of(one, partitions, profile, statistics), part)
        decided = profile.by_place / max(len(part), 1)
        own = Planned(placement, replace(report_of(placement, part, batches), decided=decided))
        given.append((_asked(own, profile, part, is_shuffled), own))
    asked, least = min(given, key=lambda pair: pair[0])
    return least if name != AUTO or asked < _WORTH_IT * given[0][0] else given[0][1]


def _asked(own: Planned, profile: Profile, part: Part, is_shuffled: Callable[[PlacementReport], bool]) -> float:
    """The share of subscriptions that an event examines; if events are sent, by the busiest partition.

    Every event examines the subscriptions with conditions that are evaluated before it is sent.
    """
    report = own.report
    if report.met is None or report.slowest is None:
        return report.decided + _guessed(own.placement, profile, part, is_shuffled=is_shuffled(report))
    return report.decided + (report.slowest if is_shuffled(report) else report.met)


def _with_room(placement: Placement, part: Part) -> Placement:
    """The placement with enough partitions for subscriptions without keys or with too many copies."""
    if placement.name == HASH:
        return placement
    owners, partitions, _ = placement.assign(part)
    met = np.unique(owners[partitions >= placement.partitions])
    return replace(placement, everywhere=max(1, round(placement.partitions * len(met) / max(len(part), 1))))


def report_of(placement: Placement, part: Part, batches: Sequence[EventBatch] = ()) -> PlacementReport:
    """The cost of a placement for some subscriptions and events."""
    assignment = placement.assign(part)
    first = assignment.is_first
    sizes = np.bincount(assignment.partitions[first], minlength=placement.count)
    keys = keys_of_partitions(assignment, placement)
    visits = met = busiest = share = slowest = None
    events = sum(len(batch) for batch in batches)
    if events:
        router = Router.of(placement, keys)
        counts = sum(router.visits(batch).sum(axis=0) for batch in batches)
        is_there = sizes > 0
        visits = float(counts[is_there].sum() / events)
        met = float((counts * sizes).sum() / events / max(len(part), 1))
        by_key = counts[: placement.partitions][is_there[: placement.partitions]]
        busiest, share = _most_over_mean(by_key), float(by_key.max(initial=0) / events)
        slowest = float((counts * sizes).max() * placement.partitions / events / max(len(part), 1))
    keyed = sizes[: placement.partitions]
    return PlacementReport(
        placement.name,
        placement.partitions,
        placement.everywhere,
        len(part),
        events,
        float(first.sum() / max(len(part), 1)),
        visits,
        met,
        busiest,
        share,
        slowest,
        _most_over_mean(keyed),
        float(sizes.max(initial=0) / max(sizes.sum(), 1)),
        float(sizes[placement.partitions :].sum() / max(len(part), 1)),
        0 if placement.homes is None else _split_over(placement.homes.starts),
    )


def _most_over_mean(counts: NDArray[Any]) -> float:
    return float(counts.max() / counts.mean()) if counts.any() else 1.0


def keys_of_partitions(assignment: Assignment, placement: Placement) -> list[Hashes | None]:
    """The keys that lead to each partition; None if every event visits it."""
    order = np.argsort(assignment.partitions, kind="stable")
    ends = np.searchsorted(assignment.partitions[order], np.arange(placement.count + 1))
    return [key_set(assignment.keys[order[begin:end]]) for begin, end in pairwise(ends.tolist())]


def key_set(keys: Hashes) -> Hashes | None:
    """The distinct keys of a part's subscriptions; None if one has no key."""
    distinct = np.unique(keys)
    return None if len(distinct) and distinct[0] == NO_KEY else distinct


def _split_over(starts: NDArray[np.int64]) -> int:
    pieces = np.diff(starts)
    return int(pieces[pieces > 1].sum())


def _guessed(placement: Placement, profile: Profile, part: Part, *, is_shuffled: bool) -> float:
    """Estimate `met`, or `slowest` if events are sent, from the share of events with each partition's keys."""
    assignment = placement.assign(part)
    sizes = np.bincount(assignment.partitions[assignment.is_first], minlength=placement.count)
    chances = np.ones(placement.count)
    on_map = shares_of_leaves(placement.splits, placement.places, placement.statistics)
    for partition, keys in enumerate(keys_of_partitions(assignment, placement)):
        if placement.homes is None and keys is not None:
            chances[partition] = 1 / placement.partitions if on_map is None else on_map.of(keys)
        elif keys is not None:
            known = profile.shares[np.isin(profile.keys, keys)]
            chances[partition] = -np.expm1(-known.sum())
    busy = chances * sizes
    asked = busy.max(initial=0.0) * placement.partitions if is_shuffled else busy.sum()
    return float(asked / max(len(part), 1))
