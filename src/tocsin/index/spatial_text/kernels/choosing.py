"""Choice of the box and keywords that index a subscription: the smallest box and all keywords of its outermost AND."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.fields.kernels.keys import Keys
from tocsin.index.spatial_text.kernels.layouts import Regions
from tocsin.jit.decorators import inlined, kernel
from tocsin.jit.views import viewed
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Expressions, next_place
from tocsin.kernels.sorting import sort_numbers

UNSUITABLE: Final = -1
NEVER: Final = -2


class Chosen(NamedTuple):
    """The leaves of its outermost AND by which each subscription is found. S subscriptions."""

    boxes: NDArray[np.int32]  # (S,) UNSUITABLE, NEVER, or a leaf
    keywords: NDArray[np.int32]  # (S,) the leaf with the rarest
    others: NDArray[np.int32]  # (S,) number of other terms
    regions: NDArray[np.int32]  # (S,) number of boxes that it asks for
    lists: NDArray[np.int32]  # (S,) number of times it asks for keywords; the words of one text count once


PLAIN, OF_TEXT = 1, 2
"""Kinds of leaves that ask for keywords: of a list, or of a text, each of whose words is a leaf."""


@kernel
def choose_leaves(leaves: Expressions, rarest: NDArray[np.int64], kinds: NDArray[np.uint8], out: Chosen) -> None:
    """Choose the leaves of each expression.

    `rarest` is the number of leaves that ask for the rarest of a leaf's tokens.

    `kinds` says which leaves ask for keywords: PLAIN, OF_TEXT, or 0. Cost: linear in the programs.
    """
    leaves = viewed(leaves)
    for number in range(len(leaves.program_starts) - 1):
        _choose(leaves, rarest, kinds, number, out)


@inlined
def _choose(leaves: Expressions, rarest: NDArray[np.int64], kinds: NDArray[np.uint8], number: int, out: Chosen) -> None:
    program = leaves.program
    out.boxes[number], out.keywords[number] = UNSUITABLE, UNSUITABLE
    others, regions, lists, text, least, fewest = 0, 0, 0, np.int64(-1), np.inf, np.int64(2**62)
    place, stop = leaves.program_starts[number], leaves.program_starts[number + 1]
    while place < stop:
        code = program[place]
        place = next_place(program, place)
        leaf = np.int64(code >> 1)
        if code < 0 or code & 1:
            others += 1
        elif leaves.leaf_kinds[leaf] == codes.FALSE_LEAF:
            out.boxes[number], out.keywords[number] = NEVER, NEVER
            break
        elif leaves.leaf_kinds[leaf] == codes.INTERSECTS:
            area = area_of(leaves.boxes, np.int64(leaves.leaf_others[leaf]))
            if regions == 0 or area < least:
                out.boxes[number], least = leaf, area
            regions += 1
        elif kinds[leaf] > 0:
            attribute = np.int64(leaves.leaf_attributes[leaf])
            lists += kinds[leaf] == PLAIN or attribute != text
            text = attribute if kinds[leaf] == OF_TEXT else text
            if rarest[leaf] < fewest:
                out.keywords[number], fewest = leaf, rarest[leaf]
        else:
            others += 1
    out.others[number], out.regions[number], out.lists[number] = others + max(regions - 1, 0), regions, lists


@inlined
def area_of(boxes: NDArray[np.float64], box: int) -> float:
    """The area of a box, plus a little for its longer side, so that a line is larger than a point."""
    width, height = boxes[box, 2] - boxes[box, 0], boxes[box, 3] - boxes[box, 1]
    return width * height + 1e-9 * max(width, height)


@kernel
def tokens_of(
    leaves: Expressions, keys: Keys, firsts: NDArray[np.int64], kinds: NDArray[np.uint8], able: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The distinct tokens of all keywords of each expression that can hold, ascending, in CSR form."""
    leaves, keys = viewed(leaves), viewed(keys)
    starts = np.zeros(len(able) + 1, np.int64)
    most = np.int64(0)
    for place in range(len(leaves.program)):  # lengths of levels are taken for leaves, too, which only leaves more room
        leaf = leaves.program[place] >> 1
        if 0 <= leaf < len(kinds) and kinds[leaf] > 0:
            most += keys.starts[leaf + 1] - keys.starts[leaf]
    out = np.empty(most, np.int32)
    at = np.int64(0)
    for number in range(len(able)):
        place = leaves.program_starts[number]
        while able[number] and place < leaves.program_starts[number + 1]:
            code = leaves.program[place]
            place = next_place(leaves.program, place)
            if code >= 0 and code & 1 == 0 and kinds[code >> 1] > 0:
                for k in range(keys.starts[code >> 1], keys.starts[(code >> 1) + 1]):
                    out[at] = np.int32(firsts[keys.fields[k]] + (keys.lows[k] >> 1))
                    at += 1
        at = _each_once(out, starts[number], at)
        starts[number + 1] = at
    return starts, out[:at].copy()


@inlined
def _each_once(tokens: NDArray[np.int32], first: int, stop: int) -> int:
    """Sort tokens[first:stop] and drop duplicates; returns the end."""
    sort_numbers(tokens, first, stop)
    kept = first
    for i in range(first, stop):
        if i == first or tokens[i] != tokens[kept - 1]:
            tokens[kept] = tokens[i]
            kept += 1
    return kept


@kernel
def rarest_tokens(regions: Regions, counts: NDArray[np.int64], chosen: NDArray[np.int32]) -> NDArray[np.int32]:
    """The token of each chosen subscription that the fewest ask for."""
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
    leaves: Expressions, kinds: NDArray[np.uint8], boxes: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The programs of expressions without their keywords and chosen boxes."""
    leaves = viewed(leaves)
    starts, program = np.zeros(len(boxes) + 1, np.int64), np.empty(len(leaves.program), np.int32)
    at = 0
    for number in range(len(boxes)):
        place, stop = leaves.program_starts[number], leaves.program_starts[number + 1]
        while place < stop:
            code = leaves.program[place]
            length = next_place(leaves.program, place) - place
            is_asked = code >= 0 and code & 1 == 0 and (code == 2 * boxes[number] or kinds[code >> 1] > 0)
            if not is_asked:
                for i in range(place, place + length):
                    program[at] = leaves.program[i]
                    at += 1
            place += length
        starts[number + 1] = at
    return starts, program[:at].copy()
