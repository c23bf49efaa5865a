"""How are matches gathered from a kernel that writes until its room is full?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.index.alive import are_alive
from tocsin.index.protocols import Alive, Found

Step = Callable[[int, "NDArray[np.int64]", "NDArray[np.int32]"], tuple[int, int]]
"""From an event on: writes ends and subscriptions, returns the next event (or -1 - room) and how many it wrote."""

_FIRST_ROOM: Final = 1 << 14
_LARGEST_ROOM: Final = 1 << 22


def collect(events: int, step: Step) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Run a kernel over all events with as much room as it asks for; the matches in CSR form."""
    starts = np.zeros(events + 1, np.int64)
    pieces: list[NDArray[np.int32]] = []
    room, first, total = _FIRST_ROOM, 0, 0
    while first < events:
        out = np.empty(room, np.int32)
        next_event, count = step(first, starts[1:], out)
        if next_event < 0:
            room = max(2 * room, -1 - next_event)
            continue
        starts[1 + first : 1 + next_event] += total
        pieces.append(out[:count])
        total += count
        room, first = min(2 * room, _LARGEST_ROOM), next_event
    if len(pieces) == 1:
        return starts, pieces[0]
    return starts, np.concatenate(pieces) if pieces else np.empty(0, np.int32)


def only_alive(found: Found, alive: Alive) -> Found:
    """The matches whose subscriptions are not gone."""
    if alive is None:
        return found
    numbers = found.subscriptions
    keep = are_alive(alive, numbers)
    kept = np.concatenate([[0], np.cumsum(keep)])
    return found._replace(starts=kept[found.starts], subscriptions=numbers[keep])
