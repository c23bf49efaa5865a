"""What would a placement cost? Copies of subscriptions, visits of events, and how even the partitions are: beforehand.

Worked out on some subscriptions and, where there are any, some events; without events by the shares of their keys.
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
"""Routing is for who meets so small a share of what he would meet without."""
_UNEVEN: Final = 2.0
"""A partition to which so many times the mean of events come is told of."""
_ENOUGH: Final = 10
"""Of fewer events a partition nothing is said of how evenly they come."""


@dataclass(frozen=True, slots=True)
class PlacementReport:
    """What a placement costs, by what it was worked out on.

    `copies` are those of a subscription, `visits` the partitions that an event visits, `met` how many copies lie there
    as a share of all subscriptions (1 by hash), `busiest` the events of the partition that most come to over the mean,
    `busiest_share` that partition's share of all events, `slowest` what `met` would be if each partition met as much as
    the one that meets most; None without events. Partitions that every event visits are not among the busiest.
    `balance` is the largest partition over the mean.
    `unplaced` is the share of subscriptions that every event meets, `split` how many partitions share the keys that
    would have filled more than one, `decided` the share of subscriptions that are found by conditions on places, which
    are decided before it is known where an event is to go.
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
    routing: str = ""  # how events would come to the parts of the whole index, and why, where somebody worked that out

    @property
    def is_uneven(self) -> bool:
        """Whether far more events than the mean come to one partition, as far as there are enough to tell."""
        return self.busiest is not None and self.busiest >= _UNEVEN and self.events >= _ENOUGH * self.partitions

    def lines(self) -> list[str]:
        """In words for the user."""
        more = f" and {self.everywhere} that every event visits" if self.everywhere else ""
        said = [f"{self.name}: {self.partitions} partitions{more}, by {self.subscriptions:,} subscriptions"]
        said.append(f"  copies of a subscription: {self.copies:.2f}")
        if self.visits is not None and self.met is not None:
            said.append(f"  partitions that an event visits: {self.visits:.2f} (by {self.events:,} events)")
            said.append(f"  subscriptions that lie there: {self.met:.1%}")
        if self.busiest is not None and self.busiest_share is not None:
            said.append(
                f"  busiest partition over the mean: {self.busiest:.2f}; it gets {self.busiest_share:.1%} of events"
            )
        said.append(f"  largest partition over the mean: {self.balance:.2f}; it holds {self.largest:.1%}")
        if self.unplaced:
            said.append(f"  subscriptions that every event meets: {self.unplaced:.1%}")
        if self.decided:
            said.append(f"  subscriptions whose conditions on places are decided before: {self.decided:.1%}")
        if self.split:
            said.append(f"  keys that would have filled a partition alone are split over {self.split} partitions")
        if self.largest >= 0.5 and self.partitions > 1:
            said.append("  half of all lie on one partition: another placement would be more even")
        if self.is_uneven:
            said.append("  events crowd on one partition: where they are sent to partitions, all others wait for it")
        if self.routing:
            said.append(f"  routing: {self.routing}")
        return said


class Planned(NamedTuple):
    """A placement, and what it would cost."""

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
    """The placement by name for subscriptions like some, and its report; `auto` is the one that asks an event least.

    Of what `is_shuffled` says that events would be sent to its parts, it is the one whose busiest part is asked least.
    Conditions of the events must be known (`index.elements`). Raises `InvalidInput` for a name that there is not.
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
    """The share of subscriptions that an event is asked about; where events are sent, by the partition asked most.

    Whose conditions are decided before is asked about by every event.
    """
    report = own.report
    if report.met is None or report.slowest is None:
        return report.decided + _guessed(own.placement, profile, part, is_shuffled=is_shuffled(report))
    return report.decided + (report.slowest if is_shuffled(report) else report.met)


def _with_room(placement: Placement, part: Part) -> Placement:
    """The same, with as many partitions for every event as those fill who have no key, or too many copies."""
    if placement.name == HASH:
        return placement
    owners, partitions, _ = placement.assign(part)
    met = np.unique(owners[partitions >= placement.partitions])
    return replace(placement, everywhere=max(1, round(placement.partitions * len(met) / max(len(part), 1))))


def report_of(placement: Placement, part: Part, batches: Sequence[EventBatch] = ()) -> PlacementReport:
    """What a placement costs for some subscriptions and events."""
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
    """The keys that lead to each partition; None where every event is to come."""
    order = np.argsort(assignment.partitions, kind="stable")
    ends = np.searchsorted(assignment.partitions[order], np.arange(placement.count + 1))
    return [key_set(assignment.keys[order[begin:end]]) for begin, end in pairwise(ends.tolist())]


def key_set(keys: Hashes) -> Hashes | None:
    """The keys of a part's subscriptions, each once; None where one of them is no key."""
    distinct = np.unique(keys)
    return None if len(distinct) and distinct[0] == NO_KEY else distinct


def _split_over(starts: NDArray[np.int64]) -> int:
    pieces = np.diff(starts)
    return int(pieces[pieces > 1].sum())


def _guessed(placement: Placement, profile: Profile, part: Part, *, is_shuffled: bool) -> float:
    """`met` or, where events are sent, `slowest`, by how many events have the keys of each partition."""
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
