"""How many messages are kept for a subscription beside its best k, and which? A policy says so for each k."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from tocsin.errors import UnknownIndex
from tocsin.index.window.growing import power_of_two
from tocsin.index.window.modelling import best_rank, expected_size

SLACK: Final = 3
"""A threshold is the score at rank SLACK * k: 0.03 searches a message at k = 10, where 1 takes 64 and 2 takes 2."""
_MOST: Final = 16
_LEAST_ROOM: Final = 8
_SPARE: Final = 1.5
"""A k-skyband has room for so many times what it is expected to hold."""


class Room(NamedTuple):
    """What a buffer has room for."""

    searched: int  # a search finds so many, and a buffer that has reached its limit keeps so many
    limit: int  # so many are held at most
    capacity: int  # places of the ring, a power of two


@dataclass(frozen=True, slots=True)
class Buffering:
    """A policy: the room of a buffer by k, and whether it leaves out whom k newer and better messages dominate."""

    room: Callable[[int], Room]
    is_skyband: bool = False


def first_in_first_out(slack: int) -> Buffering:
    """Everything above a threshold, which is the score at rank `slack` * k when it was chosen."""
    _check("slack", slack)

    def room(k: int) -> Room:
        capacity = power_of_two(2 * slack * k + 2, _LEAST_ROOM)
        return Room(slack * k, capacity, capacity)

    return Buffering(room)


def k_max(times: int) -> Buffering:
    """The best `times` * k and no more: the least of them goes when another one has come (Yi et al. 2003).

    With `times` = 1 a subscription is searched for whenever one of its best expires.
    """
    _check("times", times)

    def room(k: int) -> Room:
        return Room(times * k, times * k + 1, power_of_two(times * k + 1, _LEAST_ROOM))

    return Buffering(room)


def k_skyband(modelled: int) -> Buffering:
    """Everything above a threshold that fewer than k newer messages are better than (Mouratidis et al. 2006).

    The threshold is the score at the rank that costs least (Wang et al. 2016, section 6.2), or where `modelled` is 0
    the k-th best.
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
