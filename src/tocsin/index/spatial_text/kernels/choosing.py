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
    """The leaves that each subscription is found by, of those that its outermost AND asks for. S subscriptions."""

    boxes: NDArray[np.int32]  # (S,) UNSUITABLE, NEVER, or a leaf
    keywords: NDArray[np.int32]  # (S,) a leaf
    asked: NDArray[np.int32]  # (S,) how much it asks for
    regions: NDArray[np.int32]  # (S,) how many boxes are among it
    lists: NDArray[np.int32]  # (S,) how often keywords are


@kernel
def choose_leaves(leaves: Expressions, rarest: NDArray[np.int64], is_keywords: NDArray[np.bool_], out: Chosen) -> None:
    """Write the leaves of each expression. `rarest` says how many leaves ask for the rarest of a leaf's tokens.

    Cost: linear in the programs.
    """
    leaves = viewed(leaves)
    for number in range(len(leaves.program_starts) - 1):
        _choose(leaves, rarest, is_keywords, number, out)


@inlined
def _choose(
    leaves: Expressions, rarest: NDArray[np.int64], is_keywords: NDArray[np.bool_], number: int, out: Chosen
) -> None:
    program = leaves.program
    out.boxes[number], out.keywords[number] = UNSUITABLE, UNSUITABLE
    asked, regions, lists, least, fewest = 0, 0, 0, np.inf, np.int64(0)
    place = leaves.program_starts[number]
    while place < leaves.program_starts[number + 1]:
        asked += 1
        if program[place] < 0:
            place += 2 + program[place + 1]
            continue
        leaf, positive = np.int64(program[place] >> 1), program[place] & 1 == 0
        place += 1
        if positive and leaves.leaf_kinds[leaf] == codes.FALSE_LEAF:
            out.boxes[number], out.keywords[number] = NEVER, NEVER
            break
        if positive and leaves.leaf_kinds[leaf] == codes.INTERSECTS:
            area = area_of(leaves.boxes, np.int64(leaves.leaf_others[leaf]))
            if regions == 0 or area < least:
                out.boxes[number], least = leaf, area
            regions += 1
        elif positive and is_keywords[leaf]:
            if lists == 0 or rarest[leaf] < fewest:
                out.keywords[number], fewest = leaf, rarest[leaf]
            lists += 1
    out.asked[number], out.regions[number], out.lists[number] = asked, regions, lists


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


@kernel
def without_leaves(
    leaves: Expressions, numbers: NDArray[np.int32], chosen: Chosen
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The programs of some expressions without the leaves that were chosen of each."""
    leaves, given = viewed(leaves), viewed(chosen)
    starts, program = np.zeros(len(numbers) + 1, np.int64), np.empty(len(leaves.program), np.int32)
    at = 0
    for i in range(len(numbers)):
        place, stop = leaves.program_starts[numbers[i]], leaves.program_starts[numbers[i] + 1]
        while place < stop:
            code = leaves.program[place]
            length = 2 + leaves.program[place + 1] if code < 0 else 1
            if code != 2 * given.boxes[numbers[i]] and code != 2 * given.keywords[numbers[i]]:
                program[at : at + length] = leaves.program[place : place + length]
                at += length
            place += length
        starts[i + 1] = at
    return starts, program[:at].copy()
