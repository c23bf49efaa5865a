"""Matches of a batch, and their collection from a kernel that writes until its room is full."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.alive import Alive, are_alive


class Found(NamedTuple):
    """Matches of a batch in CSR form, by event, then by number or, if ranked, best first. E events, M matches.

    In the answer of one structure subscriptions are numbers. In the answer of several sources they are places
    (`segment.ordering`).
    """

    starts: NDArray[np.int64]  # (E + 1,) the matches of event e are subscriptions[starts[e]:starts[e + 1]]
    subscriptions: NDArray[Any]  # (M,) int32: numbers among the compiled expressions; int64: places
    candidates_examined: int  # (event, subscription) pairs that the structure did not rule out
    verified: int  # pairs that the structure left open, so that more of the expression was evaluated
    scores: NDArray[np.float64] | None = None  # (M,) the scores that rank them
    unanswered: int = 0  # subscriptions that the question does not apply to

    @property
    def events(self) -> NDArray[np.int64]:
        """(M,) the position in the batch of each match's event."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))


Step = Callable[[int, "NDArray[np.int64]", "NDArray[np.int32]"], tuple[int, int]]
"""Matches events from one on. It writes ends and subscriptions.

It returns the next event (or -1 - room needed) and how many subscriptions it wrote.
"""


class Room(NamedTuple):
    """Room for a kernel's output: the first size, and whether later sizes exceed what the kernel asks for."""

    first: int = 1 << 14
    is_ample: bool = True

    def next(self, wanted: int, expected: int, had: int) -> int:
        """The next size, if an event needs `wanted` and all events that are left are expected to need `expected`."""
        return max(wanted, expected + expected // 2, had) if self.is_ample else max(wanted, self.first)


ROOM: Final = Room()


def collect(events: int, step: Step, room: Room = ROOM) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Run a kernel over all events with as much room as it asks for; returns the matches in CSR form.

    The room is one array, larger than expected: the system commits memory only when it is written to.
    """
    starts = np.zeros(events + 1, np.int64)
    out = np.empty(room.first, np.int32)
    first, total = 0, 0
    while first < events:
        next_event, count = step(first, starts[1:], out[total:] if total else out)
        wanted = -1 - next_event if next_event < 0 else 0
        next_event = max(next_event, first)
        if total:
            starts[1 + first : 1 + next_event] += total
        first, total = next_event, total + count
        if first < events:
            expected = total * (events - first) // max(first, 1)
            larger = np.empty(total + room.next(wanted, expected, len(out)), np.int32)
            larger[:total] = out[:total]
            out = larger
    return starts, out[:total].copy() if events == 1 else out[:total]  # answers of single events may be kept


def only_alive(found: Found, alive: Alive) -> Found:
    """The matches whose subscriptions are live."""
    if alive is None:
        return found
    numbers = found.subscriptions
    keep = are_alive(alive, numbers)
    kept = np.concatenate([[0], np.cumsum(keep)])
    return found._replace(starts=kept[found.starts], subscriptions=numbers[keep])
