"""Which intervals does a value stab, and which of them must come before which? Every interval, at every point."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

Ends: TypeAlias = tuple[float, float]
Edge: TypeAlias = tuple[int, int]


class Interval(NamedTuple):
    """Both ends are in it; where `low` is above `high` nothing is."""

    group: int
    low: int
    high: int
    score: float
    owner: int


def stabbed(intervals: Sequence[Interval], group: int, code: int) -> list[Interval]:
    """The intervals of a group that contain a code, 0 or above: highest score first, ties by owner."""
    held = [one for one in intervals if one.group == group and one.low <= code <= one.high and code >= 0]
    return sorted(held, key=lambda one: (-one.score, one.owner))


def contains(interval: Ends, point: float) -> bool:
    return interval[0] <= point <= interval[1]


def meeting(intervals: Sequence[Ends], points: Sequence[float]) -> set[Edge]:
    """The graph of all constraints: an edge from the better to the worse of two intervals that share a point."""
    return {
        (better, worse)
        for worse in range(len(intervals))
        for better in range(worse)
        if any(contains(intervals[better], p) and contains(intervals[worse], p) for p in points)
    }


def constraints(intervals: Sequence[Ends], points: Sequence[float]) -> set[Edge]:
    """The constraint graph by its definition: two that share a point which none of a score in between contains."""
    return {
        (better, worse)
        for better, worse in meeting(intervals, points)
        if any(
            contains(intervals[better], p)
            and contains(intervals[worse], p)
            and not any(contains(between, p) for between in intervals[better + 1 : worse])
            for p in points
        )
    }


def visible_ends(intervals: Sequence[Ends]) -> list[float]:
    """The ends, ascending, that no interval of a lower score contains."""
    return sorted(
        {
            end
            for place, interval in enumerate(intervals)
            for end in interval
            if not any(contains(worse, end) for worse in intervals[place + 1 :])
        }
    )


def visible_blocks(intervals: Sequence[Ends]) -> list[tuple[Ends, int | None]]:
    """What lies between visible ends, each with the worst interval that contains all of it, if any."""
    ends = [float("-inf"), *visible_ends(intervals), float("inf")]
    blocks: list[tuple[Ends, int | None]] = []
    for low, high in itertools.pairwise(ends):
        within = [place for place, one in enumerate(intervals) if one[0] <= low and high <= one[1]]
        blocks.append(((low, high), within[-1] if within else None))
    return blocks


def arrangement(intervals: Sequence[Ends], edges: set[Edge]) -> list[int]:
    """Algorithm 1: of those that nothing left must precede, the one that begins furthest left; ties to the better."""
    left = set(range(len(intervals)))
    order: list[int] = []
    while left:
        blocked = {worse for better, worse in edges if better in left}
        order.append(min(left - blocked, key=lambda place: (intervals[place][0], place)))
        left.remove(order[-1])
    return order
