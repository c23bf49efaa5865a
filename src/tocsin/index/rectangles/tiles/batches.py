"""How is a whole batch matched, where each event lies in one tile? Tile by tile, so that each is read once.

An event's matches are counted first; so all that is found is written where it belongs, in memory that is as large as it
must be. On a map of many tiles this takes half the time of one event after the other.
"""

from __future__ import annotations

import numpy as np

from tocsin.columns.arrays import together
from tocsin.index.found import Found, only_alive
from tocsin.index.narrowing.kernels import Coming
from tocsin.index.rectangles.kernels.layouts import Seen
from tocsin.index.rectangles.rectangles import Held
from tocsin.index.rectangles.tiles.kernels import Tiles, count_in_tiles, locate_events, write_in_tiles


def find_by_tile(structure: Tiles, held: Held, coming: Coming, seen: Seen) -> Found | None:
    """What meets in its rectangle, and is alive; None where some event lies in several tiles."""
    count = len(coming.events.starts) - 1
    places, questions = np.empty(count, np.int64), np.empty(count, np.uint32)
    if not locate_events(structure, held.axes, held.groups, coming, seen, places, questions):
        return None
    order = together(np.maximum(places, 0), len(structure.starts))
    starts = count_in_tiles(structure, order, places, questions)
    numbers = np.empty(int(starts[-1]), np.int32)
    write_in_tiles(structure, order, places, questions, starts, seen, numbers)
    return only_alive(Found(starts, numbers, len(numbers), 0), coming.alive if coming.is_anyone_gone else None)
