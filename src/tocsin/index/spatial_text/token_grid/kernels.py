"""Which subscriptions under a message's tokens lie where it is? Packed boxes in blocks, mask and then compact.

A token's list is cut into blocks of neighbours on the map. A block knows the box around it, and its subscriptions' own
boxes as parts of that, four numbers of 7 bits, so that one subtraction compares all four without a borrow; beside them
a signature of the tokens that each asks for besides. What both let through is compared with the subscription itself.
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.spatial_text.kernels.layouts import LEFT, LOWER, RIGHT, UPPER, Message, Regions, Seen
from tocsin.index.spatial_text.kernels.matching import has_all_tokens, meets_region, register
from tocsin.kernels.compacting import write_flagged
from tocsin.kernels.jit import inlined, inner, kernel, prefetch
from tocsin.kernels.packing import viewed

BLOCK: Final = 64
"""Entries of a block at most."""

_LAST: Final = np.int64(127)
_HIGH = np.uint64(0x80808080)
_ABOVE = np.uint64(32)
_BELOW = np.uint64(0xFFFFFFFF)
_NONE = np.uint64(0)
ACROSS, UP = 4, 5
"""Columns of a block beside LEFT .. UPPER: how many parts it has to a unit of x, and of y."""

_AHEAD: Final = 6
"""So many tokens, or candidates, before their turn memory is asked for: a third more long messages a second."""


class Lists(NamedTuple):
    """Entries by list, a list's in blocks. L lists, B blocks, E entries."""

    tokens: NDArray[np.int64]  # (1,) list p * tokens[0] + t is token t's at place p
    starts: NDArray[np.int32]  # (L + 1,) blocks [starts[l], starts[l + 1])
    entry_starts: NDArray[np.int32]  # (B + 1,)
    blocks: Annotated[NDArray[np.float32], 2]  # (B, 8) LEFT .. UPPER of the box around it, ACROSS and UP, and no more
    packed: NDArray[np.uint64]  # (E,) left, lower, and how far right and upper are from the last, 7 bits each; above
    # them a signature, a bit for each token that is asked for besides
    owners: NDArray[np.int32]  # (E,) subscriptions


@inlined
def part_of(coordinate: float, edge: float, scale: float) -> int:
    """In which of a block's 128 parts a coordinate lies; what lies outside is as good as the edge. Never descends."""
    inside = (coordinate - np.float64(edge)) * np.float64(scale)
    return np.int64(min(inside, 127.0)) if inside > 0.0 else np.int64(0)  # 0 where the block has no end, too


@inlined
def _packed(left: int, lower: int, right: int, upper: int) -> int:
    return np.uint64(left | lower << 8 | (_LAST - right) << 16 | (_LAST - upper) << 24)


@inlined
def bit_of(token: int) -> int:
    """The bit of a signature that stands for a token."""
    mixed = (np.uint64(token) * np.uint64(2654435761)) & np.uint64(0xFFFFFFFF)
    return np.uint64(1) << (_ABOVE + (mixed >> np.uint64(27)))


@kernel
def pack_entries(lists: Lists, regions: Regions, keys: NDArray[np.int32]) -> None:
    """Write the packed boxes and signatures of all entries; `keys` are the tokens that they lie under."""
    held, grid = viewed(lists), viewed(regions)
    for block in range(len(held.entry_starts) - 1):
        x, y = held.blocks[block, LEFT], held.blocks[block, LOWER]
        across, up = held.blocks[block, ACROSS], held.blocks[block, UP]
        for entry in range(held.entry_starts[block], held.entry_starts[block + 1]):
            one = held.owners[entry]
            packed = _packed(
                part_of(grid.boxes[one, LEFT], x, across),
                part_of(grid.boxes[one, LOWER], y, up),
                part_of(grid.boxes[one, RIGHT], x, across),
                part_of(grid.boxes[one, UPPER], y, up),
            )
            for i in range(grid.token_starts[one], grid.token_starts[one + 1]):
                if grid.tokens[i] != keys[entry]:
                    packed |= bit_of(grid.tokens[i])
            held.packed[entry] = packed


@inner
def find_in_lists(lists: Lists, regions: Regions, place: int, message: Message, seen: Seen, found: int) -> int:
    """`find`: what the blocks let through, then what holds of it."""
    first_list = np.int64(place) * lists.tokens[0]
    signature = np.uint64(0)
    for i in range(message.tokens):
        signature |= bit_of(seen.tokens[i])
    stop = np.int64(found)
    for i in range(message.tokens):
        _ask_ahead(lists, first_list, message, seen, np.int64(i))
        number = first_list + np.int64(seen.tokens[i])
        first, last = np.int64(lists.starts[number]), np.int64(lists.starts[number + 1])
        stop = _collect(lists, first, last, message, ~(signature | _BELOW), seen, stop)
    seen.examined[0] += stop - found
    return _keep(regions, message, seen, np.int64(found), stop)


@inlined
def _ask_ahead(lists: Lists, first_list: int, message: Message, seen: Seen, i: int) -> None:
    """Ask for the memory of the lists that come soon: of the first block, and nearer of its entries."""
    last = message.tokens - 1
    soon = np.int64(lists.starts[first_list + np.int64(seen.tokens[min(i + _AHEAD, last)])])
    prefetch(lists.blocks, 8 * soon)
    prefetch(lists.entry_starts, soon)
    sooner = lists.starts[first_list + np.int64(seen.tokens[min(i + _AHEAD // 2, last)])]
    prefetch(lists.packed, np.int64(lists.entry_starts[sooner]))


@inlined
def _collect(lists: Lists, first: int, last: int, message: Message, others: int, seen: Seen, at: int) -> int:
    """Write the entries of some blocks that are let through to `seen.hits`."""
    blocks = lists.blocks
    for block in range(first, last):
        meets = (
            (blocks[block, LEFT] <= message.right)
            & (message.left <= blocks[block, RIGHT])
            & (blocks[block, LOWER] <= message.upper)
            & (message.lower <= blocks[block, UPPER])
        )
        if meets:
            at = _in_block(lists, np.int64(block), message, others, seen, at)
    return at


@inlined
def _in_block(lists: Lists, block: int, message: Message, others: int, seen: Seen, at: int) -> int:
    blocks = lists.blocks
    x, y, across, up = blocks[block, LEFT], blocks[block, LOWER], blocks[block, ACROSS], blocks[block, UP]
    asked = _HIGH | _packed(
        part_of(message.right, x, across),
        part_of(message.upper, y, up),
        part_of(message.left, x, across),
        part_of(message.lower, y, up),
    )
    first, stop = np.int64(lists.entry_starts[block]), np.int64(lists.entry_starts[block + 1])
    packed, flags, others = lists.packed[first:stop], seen.flags, np.uint64(others)
    for i in range(np.uint64(stop - first)):
        flags[i] = np.uint8((((asked - packed[i]) & _HIGH) ^ _HIGH) | (packed[i] & others) == _NONE)
    return at + write_flagged(lists.owners[first:stop], flags, seen.hits, at)


@inlined
def _keep(regions: Regions, message: Message, seen: Seen, found: int, stop: int) -> int:
    """Of the candidates in `seen.hits` keep what holds; where they end."""
    hits, boxes, starts = seen.hits, regions.boxes, regions.token_starts
    kept = found
    for i in range(found, stop):
        ahead = np.int64(hits[min(i + _AHEAD, stop - 1)])
        prefetch(boxes, 4 * ahead)
        prefetch(starts, ahead)
        one = np.int64(hits[i])
        if meets_region(regions, one, message) and has_all_tokens(regions, one, seen):
            hits[kept] = one
            kept += 1
    return kept


register(Lists, find_in_lists)
