"""Blocks: up to 64 events transposed, so that one attribute's values of all of them lie side by side."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import inner, kernel, pasted
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Block, Events


@kernel
def widest_block(starts: NDArray[np.int64], lanes: int) -> int:
    """The largest number of entries in a block, for blocks of `lanes` events from the first on."""
    widest = np.int64(0)
    events = len(starts) - 1
    for first in range(0, events, lanes):
        widest = max(widest, starts[min(first + lanes, events)] - starts[first])
    return widest


@pasted
def all_lanes(count: int) -> int:
    """The mask of a block of `count` events."""
    return ~np.uint64(0) >> np.uint64(codes.LANES - count)


@inner
def fill_block(block: Block, events: Events, numbers: NDArray[np.int32], first: int, stop: int) -> int:
    """Transpose events[first:stop] into an empty block; `numbers` maps the batch's attributes to the block's.

    Returns the number of attributes touched, which `clear_block` needs.
    """
    firsts, stops, touched = block.firsts, block.stops, block.touched
    lanes, types, payloads = block.lanes, block.types, block.payloads
    starts, attributes = events.starts, events.attributes
    event_types, event_payloads = events.types, events.payloads
    count = 0
    for i in range(starts[first], starts[stop]):
        attribute = numbers[attributes[i]]
        if attribute >= 0:
            if stops[attribute] == 0:
                touched[count] = attribute
                count += 1
            stops[attribute] += 1
    place = np.int32(0)
    for t in range(count):
        attribute = touched[t]
        length = stops[attribute]
        firsts[attribute] = place
        stops[attribute] = place
        place += length
    for event in range(first, stop):
        for i in range(starts[event], starts[event + 1]):
            attribute = numbers[attributes[i]]
            if attribute >= 0:
                to = stops[attribute]
                lanes[to] = event - first
                types[to] = event_types[i]
                payloads[to] = event_payloads[i]
                stops[attribute] = to + 1
    return count


@inner
def clear_block(block: Block, touched: int) -> None:
    """Empty a filled block."""
    for t in range(touched):
        block.firsts[block.touched[t]] = 0
        block.stops[block.touched[t]] = 0


@inner
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
