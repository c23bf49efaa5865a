"""Verification of subscriptions that were found by a part of their expression."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import inlined, kernel
from tocsin.jit.views import viewed
from tocsin.kernels import codes
from tocsin.kernels.programs.blocks import clear_block, fill_block
from tocsin.kernels.programs.layouts import Bound, Events, Expressions, Verifier, Walk, next_place
from tocsin.kernels.programs.walking import verify_programs

_ONE = np.uint64(1)
_NONE = np.uint64(0)


class Room(NamedTuple):
    """A call's memory. S subscriptions."""

    lanes: NDArray[np.uint64]  # (S,) 0 between blocks
    masks: NDArray[np.uint64]  # (S + 1,)
    candidates: NDArray[np.int32]  # (S + 1,)


@kernel
def keep_verified(
    leaves: Expressions,
    verifier: Verifier,
    events: Events,
    bound: Bound,
    asks_more: NDArray[np.bool_],
    starts: NDArray[np.int64],
    found: NDArray[np.int32],
    room: Room,
) -> int:
    """Keep each event's subscriptions that hold, in place; `starts` are updated. Returns how many pairs were verified.

    Subscriptions that ask for no more than they were found by are kept. A program is walked once for 64 events.
    """
    held = viewed(verifier)
    walk = viewed(Walk(viewed(leaves), held.block, held.memo, viewed(events), viewed(bound), held.parts))
    lanes, masks, candidates = room.lanes, room.masks, room.candidates
    kept, verified, total = np.int64(0), np.int64(0), len(starts) - 1
    begin = starts[0]
    for first in range(0, total, codes.LANES):
        stop = min(first + codes.LANES, total)
        number, pairs = _gather(asks_more, starts, found, begin, first, stop, lanes, candidates)
        verified += pairs
        held.clock[0] += 1
        touched = fill_block(walk.block, walk.events, bound.attributes, first, stop)
        holding = verify_programs(walk, held.clock[0], candidates, number, lanes, masks)
        clear_block(walk.block, touched)
        for i in range(holding):
            lanes[candidates[i]] = masks[i]
        for event in range(first, stop):
            end, bit = starts[event + 1], np.uint64(event - first)
            for i in range(begin, end):
                one = found[i]
                found[kept] = one
                kept += np.int64(not asks_more[one] or (lanes[one] >> bit) & _ONE == _ONE)
            begin = end
            starts[event + 1] = kept
        for i in range(holding):
            lanes[candidates[i]] = _NONE
    return verified


@inlined
def _gather(
    asks_more: NDArray[np.bool_],
    starts: NDArray[np.int64],
    found: NDArray[np.int32],
    begin: int,
    first: int,
    stop: int,
    lanes: NDArray[np.uint64],
    candidates: NDArray[np.int32],
) -> tuple[int, int]:
    """Write the programs to walk for a block, and the lanes that found them; returns how many, and the pairs."""
    number, pairs = np.int64(0), np.int64(0)
    at = begin
    for event in range(first, stop):
        bit = _ONE << np.uint64(event - first)
        while at < starts[event + 1]:
            one = found[at]
            at += 1
            if asks_more[one]:
                candidates[number] = one
                number += np.int64(lanes[one] == _NONE)
                lanes[one] |= bit
                pairs += 1
    return number, pairs


@kernel
def with_boxes(
    leaves: Expressions, boxes: NDArray[np.int32], unions: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The programs of expressions, with one more leaf if the outermost AND asks for no box but must meet one.

    That leaf asks for a box. `boxes` gives a box that is met wherever a leaf holds, and `unions` one that is met
    wherever an expression holds; -1 for none.
    """
    leaves = viewed(leaves)
    count = len(leaves.program_starts) - 1
    starts, program = np.zeros(count + 1, np.int64), np.empty(len(leaves.program) + count, np.int32)
    at = 0
    for number in range(count):
        place, stop = leaves.program_starts[number], leaves.program_starts[number + 1]
        for i in range(place, stop):
            program[at] = leaves.program[i]
            at += 1
        more = unions[number]
        while place < stop:
            code = leaves.program[place]
            place = next_place(leaves.program, place)
            if code >= 0 and code & 1 == 0:
                if leaves.leaf_kinds[code >> 1] == codes.INTERSECTS:
                    more = np.int32(-1)
                    break
                more = boxes[code >> 1] if more < 0 else more
        if more >= 0:
            program[at] = 2 * more
            at += 1
        starts[number + 1] = at
    return starts, program[:at].copy()
