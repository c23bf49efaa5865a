"""What is found for a batch of events, and how is it gathered from a kernel that writes until its room is full?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.alive import Alive, are_alive


class Found(NamedTuple):
    """What is found for a batch in CSR form, by event, then number or, ranked, the best first. E events, M found.

    Of one structure subscriptions are numbers, of several sources they are places (`segment.ordering`).
    """

    starts: NDArray[np.int64]  # (E + 1,) event e has subscriptions[starts[e]:starts[e + 1]]
    subscriptions: NDArray[Any]  # (M,) int32: numbers among the compiled expressions; int64: places
    candidates_examined: int  # (event, subscription) pairs that the structure did not rule out
    verified: int  # pairs on which more of the expression was evaluated than the structure had done
    scores: NDArray[np.float64] | None = None  # (M,) what they were ranked by
    unanswered: int = 0  # subscriptions that have no answer to what was asked

    @property
    def events(self) -> NDArray[np.int64]:
        """(M,) the event of each, as its place in the batch."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))


Step = Callable[[int, "NDArray[np.int64]", "NDArray[np.int32]"], tuple[int, int]]
"""From an event on: writes ends and subscriptions, returns the next event (or -1 - room) and how many it wrote."""


class Room(NamedTuple):
    """How many subscriptions a kernel has room for: at first, and whether it then gets more than it asks for."""

    first: int = 1 << 14
    is_ample: bool = True

    def next(self, wanted: int, expected: int, had: int) -> int:
        """Where an event wants so much, and so much is expected of all that are left."""
        return max(wanted, expected + expected // 2, had) if self.is_ample else max(wanted, self.first)


ROOM: Final = Room()


def collect(events: int, step: Step, room: Room = ROOM) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Run a kernel over all events with as much room as it asks for; the matches in CSR form.

    The room is one array, larger than what is expected: the system gives no memory before it is written to.
    """
    starts = np.zeros(events + 1, np.int64)
    out = np.empty(room.first, np.int32)
    first, total = 0, 0
    while first < events:
        next_event, count = step(first, starts[1:], out[total:])
        wanted = -1 - next_event if next_event < 0 else 0
        next_event = max(next_event, first)
        starts[1 + first : 1 + next_event] += total
        first, total = next_event, total + count
        if first < events:
            expected = total * (events - first) // max(first, 1)
            larger = np.empty(total + room.next(wanted, expected, len(out)), np.int32)
            larger[:total] = out[:total]
            out = larger
    return starts, out[:total]


def only_alive(found: Found, alive: Alive) -> Found:
    """The matches whose subscriptions are not gone."""
    if alive is None:
        return found
    numbers = found.subscriptions
    keep = are_alive(alive, numbers)
    kept = np.concatenate([[0], np.cumsum(keep)])
    return found._replace(starts=kept[found.starts], subscriptions=numbers[keep])
