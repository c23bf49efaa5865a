"""How is a whole batch matched, where each event lies in one tile? Tile by tile, so that each is read once.

An event's matches are counted first; so all that is found is written where it belongs, in memory that is as large as it
must be. On a map of many tiles this takes half the time of one event after the other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import together
from tocsin.index.found import Found, only_alive
from tocsin.index.narrowing.kernels import Coming
from tocsin.index.rectangles.kernels.layouts import Axes, Groups, Seen
from tocsin.index.rectangles.kernels.matching import SEVERAL, asked_of, only_pair
from tocsin.index.rectangles.kernels.reading import forget_axes, read_axes
from tocsin.index.rectangles.rectangles import Held
from tocsin.index.rectangles.tiles.kernels import Tiles, count_in_tiles, one_tile, write_in_tiles
from tocsin.kernels.jit import kernel
from tocsin.kernels.packing import viewed


@kernel
def locate_events(
    tiles: Tiles,
    axes: Axes,
    groups: Groups,
    coming: Coming,
    memory: Seen,
    places: NDArray[np.int64],
    questions: NDArray[np.uint32],
) -> bool:
    """Write the one tile that each event lies in, or NO_PAIR, and what it asks there; whether that is so of all."""
    held, grid, given = viewed(tiles), viewed(groups), viewed(coming)
    own, seen = viewed(axes), viewed(memory)
    for event in range(len(places)):
        touched = read_axes(own, given, event, seen)
        pair = only_pair(grid, seen, touched)
        place, question = int(pair), 0
        if pair >= 0:
            place, question = one_tile(held, pair, asked_of(grid, seen, pair))
        forget_axes(seen, touched)
        if place == SEVERAL:
            return False
        places[event], questions[event] = place, np.uint32(question)
    return True


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
