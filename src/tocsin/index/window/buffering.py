"""Buffering policies: which messages a subscription's buffer keeps beyond its best k, and how many, for each k."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from tocsin.errors import UnknownIndex
from tocsin.index.window.growing import power_of_two
from tocsin.index.window.modelling import best_rank, expected_size

SLACK: Final = 3
"""A threshold is the score at rank SLACK * k.

At k = 10 a slack of 3 causes 0.03 searches a message, a slack of 2 causes 2, and a slack of 1 causes 64.
"""
_MOST: Final = 16
_LEAST_ROOM: Final = 8
_SPARE: Final = 1.5
"""A k-skyband has room for this many times its expected size."""


class Room(NamedTuple):
    """The sizes of a buffer."""

    searched: int  # messages that a search finds, and that remain when a buffer has reached its limit
    limit: int  # messages held at most
    capacity: int  # slots of the ring, a power of two


@dataclass(frozen=True, slots=True)
class Buffering:
    """A policy: the room of a buffer by k, and whether it drops messages dominated by k newer and better ones."""

    room: Callable[[int], Room]
    is_skyband: bool = False

    def room_within(self, k: int, size: int) -> Room:
        """The room for k in a window of `size` messages: no buffer needs more entries than the window has messages.

        If k is above `size`, a search never finds as many messages as it looks for. So every message is kept.
        """
        room = self.room(min(k, size))
        searched = size + 1 if k > size else min(room.searched, size + 1)
        capacity = min(room.capacity, power_of_two(size + 1, _LEAST_ROOM))
        return Room(searched, min(room.limit, capacity), capacity)


def first_in_first_out(slack: int) -> Buffering:
    """Keeps all messages above a threshold: the score at rank `slack` * k when it was set."""
    _check("slack", slack)

    def room(k: int) -> Room:
        capacity = power_of_two(2 * slack * k + 2, _LEAST_ROOM)
        return Room(slack * k, capacity, capacity)

    return Buffering(room)


def k_max(times: int) -> Buffering:
    """Keeps the best `times` * k messages; each further one replaces the worst (Yi et al. 2003).

    With `times` = 1 the window is searched whenever one of the best expires.
    """
    _check("times", times)

    def room(k: int) -> Room:
        return Room(times * k, times * k + 1, power_of_two(times * k + 1, _LEAST_ROOM))

    return Buffering(room)


def k_skyband(modelled: int) -> Buffering:
    """Keeps messages above a threshold that fewer than k newer messages exceed (Mouratidis et al. 2006).

    The threshold is the score at the rank that costs least (Wang et al. 2016, section 6.2), or if `modelled` is 0 the
    k-th best score.
    """
    if modelled not in (0, 1):
        raise UnknownIndex(f"modelled={modelled}: modelled is 0 or 1")

    def room(k: int) -> Room:
        searched = best_rank(k) if modelled else k
        held = int(_SPARE * expected_size(searched, k))
        capacity = power_of_two(max(held, searched) + 2, _LEAST_ROOM)
        return Room(searched, capacity, capacity)

    return Buffering(room, is_skyband=True)


def _check(name: str, given: int) -> None:
    if not 1 <= given <= _MOST:
        raise UnknownIndex(f"{name}={given}: {name} is a number from 1 to {_MOST}")
