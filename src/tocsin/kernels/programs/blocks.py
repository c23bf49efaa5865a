"""How are 64 events turned, so that one predicate sees one attribute of all of them side by side?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.kernels.jit import kernel
from tocsin.kernels.programs.layouts import Block, Events


@kernel
def new_block(attributes: int, room: int) -> Block:
    """An empty block for a number of attributes and of entries."""
    return Block(
        np.zeros(attributes + 1, np.int32),
        np.zeros(attributes + 1, np.int32),
        np.empty(min(attributes, room) + 1, np.int32),
        np.empty(room + 1, np.uint8),
        np.empty(room + 1, np.uint8),
        np.empty(room + 1, np.int64),
    )


@kernel
def widest_block(starts: NDArray[np.int64], lanes: int) -> int:
    """The most entries that `lanes` neighbouring events have, counted from the first event on."""
    widest = np.int64(0)
    events = len(starts) - 1
    for first in range(0, events, lanes):
        widest = max(widest, starts[min(first + lanes, events)] - starts[first])
    return widest


@kernel
def fill_block(block: Block, events: Events, numbers: NDArray[np.int32], first: int, stop: int) -> int:
    """Turn events[first:stop] into an empty block; `numbers` maps the batch's attributes onto the block's.

    Returns how many attributes it touched: give that to `clear_block`.
    """
    touched = 0
    for i in range(events.starts[first], events.starts[stop]):
        attribute = numbers[events.attributes[i]]
        if attribute >= 0:
            if block.stops[attribute] == 0:
                block.touched[touched] = attribute
                touched += 1
            block.stops[attribute] += 1
    place = np.int32(0)
    for t in range(touched):
        attribute = block.touched[t]
        count = block.stops[attribute]
        block.firsts[attribute] = place
        block.stops[attribute] = place
        place += count
    for event in range(first, stop):
        for i in range(events.starts[event], events.starts[event + 1]):
            attribute = numbers[events.attributes[i]]
            if attribute >= 0:
                to = block.stops[attribute]
                block.lanes[to] = event - first
                block.types[to] = events.types[i]
                block.payloads[to] = events.payloads[i]
                block.stops[attribute] = to + 1
    return touched


@kernel
def clear_block(block: Block, touched: int) -> None:
    """Make a filled block empty again."""
    for t in range(touched):
        block.firsts[block.touched[t]] = 0
        block.stops[block.touched[t]] = 0


@kernel
def find_lane(block: Block, attribute: int, lane: int) -> int:
    """The entry of an attribute in one lane, or -1."""
    low = np.int64(block.firsts[attribute])
    stop = np.int64(block.stops[attribute])
    high = stop
    while low < high:
        middle = (low + high) >> 1
        if block.lanes[middle] < lane:
            low = middle + 1
        else:
            high = middle
    return low if low < stop and block.lanes[low] == lane else -1
