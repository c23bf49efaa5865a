"""Which box and which keywords is a subscription indexed by? Of those that its outermost AND asks for, the smallest
box and the keywords of which one is the rarest."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.fields.kernels.keys import Keys
from tocsin.index.spatial_text.kernels.layouts import Regions
from tocsin.kernels import codes
from tocsin.kernels.jit import inlined, kernel
from tocsin.kernels.packing import viewed
from tocsin.kernels.programs.layouts import Expressions

UNSUITABLE: Final = -1
NEVER: Final = -2


class Chosen(NamedTuple):
    """The leaves that each subscription is found by. S subscriptions."""

    boxes: NDArray[np.int32]  # (S,) UNSUITABLE, NEVER, or a leaf
    keywords: NDArray[np.int32]  # (S,) a leaf
    asked: NDArray[np.int32]  # (S,) how much its outermost AND asks for


@kernel
def choose_leaves(leaves: Expressions, keys: Keys, counts: NDArray[np.int64], firsts: NDArray[np.int64]) -> Chosen:
    """The leaves of each expression. `counts` says how many leaves ask for a token, `firsts` the tokens before a field.

    Cost: linear in the programs.
    """
    leaves, keys = viewed(leaves), viewed(keys)
    count = len(leaves.program_starts) - 1
    out = Chosen(np.empty(count, np.int32), np.empty(count, np.int32), np.empty(count, np.int32))
    for number in range(count):
        box, keywords, asked = _choose(leaves, keys, counts, firsts, number)
        out.boxes[number], out.keywords[number], out.asked[number] = box, keywords, asked
    return out


@inlined
def _choose(
    leaves: Expressions, keys: Keys, counts: NDArray[np.int64], firsts: NDArray[np.int64], number: int
) -> tuple[int, int, int]:
    program = leaves.program
    asked, box, keywords = np.int64(0), np.int64(UNSUITABLE), np.int64(UNSUITABLE)
    least, rarest = np.inf, np.int64(2**62)
    place = leaves.program_starts[number]
    while place < leaves.program_starts[number + 1]:
        asked += 1
        if program[place] < 0:
            place += 2 + program[place + 1]
            continue
        leaf, positive = np.int64(program[place] >> 1), program[place] & 1 == 0
        place += 1
        if positive and leaves.leaf_kinds[leaf] == codes.FALSE_LEAF:
            return np.int64(NEVER), np.int64(NEVER), asked
        if positive and leaves.leaf_kinds[leaf] == codes.INTERSECTS:
            area = area_of(leaves.boxes, np.int64(leaves.leaf_others[leaf]))
            if box < 0 or area < least:
                box, least = leaf, area
        elif positive and asks_for_all(leaves, leaf):
            for k in range(keys.starts[leaf], keys.starts[leaf + 1]):
                own = counts[firsts[keys.fields[k]] + (keys.lows[k] >> 1)]
                if own < rarest:
                    keywords, rarest = leaf, own
    return box, keywords, asked


@inlined
def asks_for_all(leaves: Expressions, leaf: int) -> bool:
    """Whether a leaf asks for all of some keywords."""
    return leaves.leaf_kinds[leaf] == codes.ARRAY_SET and leaves.leaf_operations[leaf] == codes.CONTAINS


@inlined
def area_of(boxes: NDArray[np.float64], box: int) -> float:
    """The area of a box; its longer side beside it, so that a line is more than a point."""
    width, height = boxes[box, 2] - boxes[box, 0], boxes[box, 3] - boxes[box, 1]
    return width * height + 1e-9 * max(width, height)


@kernel
def tokens_of(
    keys: Keys, firsts: NDArray[np.int64], chosen: NDArray[np.int32], starts: NDArray[np.int64]
) -> NDArray[np.int32]:
    """The tokens of the chosen leaves, ascending within each; below 0 is a leaf without any."""
    keys = viewed(keys)
    out = np.empty(starts[-1], np.int32)
    for number in range(len(chosen)):
        if chosen[number] < 0:
            continue
        at, first = starts[number], keys.starts[chosen[number]]
        for i in range(starts[number + 1] - at):
            token = np.int32(firsts[keys.fields[first + i]] + (keys.lows[first + i] >> 1))
            place = at + i
            while place > at and out[place - 1] > token:
                out[place] = out[place - 1]
                place -= 1
            out[place] = token
    return out


@kernel
def rarest_tokens(regions: Regions, counts: NDArray[np.int64], chosen: NDArray[np.int32]) -> NDArray[np.int32]:
    """Of each chosen subscription the token that the fewest ask for."""
    held = viewed(regions)
    out = np.empty(len(chosen), np.int32)
    for i in range(len(chosen)):
        first, stop = held.token_starts[chosen[i]], held.token_starts[chosen[i] + 1]
        best = held.tokens[first]
        for k in range(first + 1, stop):
            if counts[held.tokens[k]] < counts[best]:
                best = held.tokens[k]
        out[i] = best
    return out
