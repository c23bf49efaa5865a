"""Kernels of token grids: packed boxes in blocks, tested by mask, then compacted.

A token's list is divided into blocks of neighbours on the map. A block has the box around it, and its subscriptions'
boxes relative to that: four numbers of 7 bits, so that one subtraction compares all four without a borrow. Beside them
is a signature of the other tokens that each asks for. What passes both is compared with the subscription itself. A long
message has so many lists that searching everything around it may take less time.
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.filtering.kernels.layouts import LEFT, LOWER, RIGHT, UPPER, meets
from tocsin.index.filtering.kernels.matching import register
from tocsin.index.spatial_text.kernels.layouts import Message, Regions, Seen
from tocsin.index.spatial_text.kernels.reading import has_all_tokens, has_token
from tocsin.jit.decorators import inlined, inner, kernel
from tocsin.jit.intrinsics import prefetch
from tocsin.jit.views import viewed
from tocsin.kernels.compacting import write_flagged
from tocsin.kernels.numbers import scattered_32

BLOCK: Final = 64
"""The most entries of a block."""

LAST: Final = np.int64(127)
HIGH = np.uint64(0x80808080)
ABOVE = np.uint64(32)
_BELOW = np.uint64(0xFFFFFFFF)
NONE = np.uint64(0)
ACROSS, UP, MOST = 4, 5, 6
"""Columns of a block after LEFT .. UPPER: its parts per unit of x, and of y; the greatest share."""

LIMITED: Final = -1

_HEADERS: Final = 100
"""The number of blocks' boxes that are compared in the time that a token's list takes."""

_BLOCKS: Final = 2
"""The number of blocks that are read in that time."""

_AHEAD: Final = 6
"""Tokens and candidates are prefetched this many ahead. That gives a third more long messages a second."""


class Lists(NamedTuple):
    """Entries by list, and within a list by block. L lists, B blocks, E entries."""

    tokens: NDArray[np.int64]  # (1,) list p * tokens[0] + t is token t's at place p; one more than there are tokens
    starts: NDArray[np.int32]  # (L + 1,) blocks [starts[l], starts[l + 1])
    entry_starts: NDArray[np.int32]  # (B + 1,)
    blocks: Annotated[NDArray[np.float32], 2]  # (B, 8) LEFT .. UPPER of the box around it, ACROSS, UP and MOST
    packed: NDArray[np.uint64]  # (E,) left, lower, and how far right and upper are from the last, 7 bits each; above
    # them a signature, a bit for each other token of the subscription, or a share, as its distance from the last
    owners: NDArray[np.int32]  # (E,) subscriptions


class Grid(NamedTuple):
    """Lists by the rarest token of each subscription, and a list a place of all, with that token as signature."""

    lists: Lists
    everyone: Lists


@inlined
def part_of(coordinate: float, edge: float, scale: float) -> int:
    """The part of a block's 128 that a coordinate lies in, clipped at the edges. Monotonic."""
    inside = (coordinate - np.float64(edge)) * np.float64(scale)
    return np.int64(min(inside, 127.0)) if inside > 0.0 else np.int64(0)  # 0 if the block has no end, too


@inlined
def _packed(left: int, lower: int, right: int, upper: int) -> int:
    return np.uint64(left | lower << 8 | (LAST - right) << 16 | (LAST - upper) << 24)


@inlined
def bit_of(token: int) -> int:
    """The signature bit of a token."""
    mixed = scattered_32(token) & np.uint64(0xFFFFFFFF)
    return np.uint64(1) << (ABOVE + (mixed >> np.uint64(27)))


@kernel
def pack_entries(lists: Lists, regions: Regions, keys: NDArray[np.int32], shares: NDArray[np.float64]) -> None:
    """Write the packed boxes of all entries, with shares or, if there are none, signatures above them.

    `keys` are the tokens under which entries lie.
    """
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
            if len(shares) > 0:
                packed |= np.uint64(LAST - np.int64(np.ceil(shares[entry] * LAST))) << ABOVE
            else:
                packed |= _signature(grid, np.int64(one), np.int64(keys[entry]))
            held.packed[entry] = packed


@inlined
def _signature(regions: Regions, one: int, key: int) -> int:
    """A bit for each token of a subscription except the one it lies under."""
    signature = NONE
    for i in range(regions.token_starts[one], regions.token_starts[one + 1]):
        if regions.tokens[i] != key:
            signature |= bit_of(regions.tokens[i])
    return signature


@inner
def find_in_grid(grid: Grid, regions: Regions, place: int, message: Message, seen: Seen, found: int) -> int:
    """`find`: collect what passes in the blocks of all subscriptions or of a message's tokens, then verify it."""
    stop, everyone = np.int64(LIMITED), grid.everyone
    number = (np.int64(place) + 1) * everyone.tokens[0] - 1
    blocks = np.int64(everyone.starts[number + 1]) - np.int64(everyone.starts[number])
    if message.tokens * _HEADERS > blocks:
        stop = _by_place(grid, number, message, seen, np.int64(found))
    if stop == LIMITED:
        stop = _by_tokens(grid.lists, np.int64(place), message, seen, np.int64(found))
    seen.examined[0] += stop - found
    return _keep(regions, message, seen, np.int64(found), stop)


@inlined
def _by_place(grid: Grid, number: int, message: Message, seen: Seen, found: int) -> int:
    """Write the subscriptions around a message whose rarest token it has; LIMITED if there are too many blocks."""
    lists, flags, hits = grid.everyone, seen.flags, seen.hits
    left, at = message.tokens * _BLOCKS, found
    for block in range(lists.starts[number], lists.starts[number + 1]):
        if not meets(lists.blocks, np.int64(block), message):
            continue
        left -= 1
        if left < 0:
            return np.int64(LIMITED)
        asked = question_of(lists, np.int64(block), message)
        first, stop = np.int64(lists.entry_starts[block]), np.int64(lists.entry_starts[block + 1])
        packed = lists.packed[first:stop]
        for i in range(np.uint64(stop - first)):
            flags[i] = np.uint8(((asked - packed[i]) & HIGH) == HIGH)
        for i in range(stop - first):
            hits[at] = lists.owners[first + i]
            at += np.int64(flags[i] & has_token(seen, np.int64(packed[i] >> ABOVE)))
    return at


@inlined
def _by_tokens(lists: Lists, place: int, message: Message, seen: Seen, found: int) -> int:
    """Write what passes in the blocks of the lists of a message's tokens."""
    first_list = place * lists.tokens[0]
    signature = NONE
    for i in range(message.tokens):
        signature |= bit_of(seen.tokens[i])
    stop = found
    for i in range(message.tokens):
        ask_ahead(lists, first_list, message, seen, np.int64(i))
        number = first_list + np.int64(seen.tokens[i])
        first, last = np.int64(lists.starts[number]), np.int64(lists.starts[number + 1])
        stop = _collect(lists, first, last, message, ~(signature | _BELOW), seen, stop)
    return stop


@inlined
def ask_ahead(lists: Lists, first_list: int, message: Message, seen: Seen, i: int) -> None:
    """Prefetch the lists that come soon: the first block, and nearer to its turn its entries."""
    last = message.tokens - 1
    soon = np.int64(lists.starts[first_list + np.int64(seen.tokens[min(i + _AHEAD, last)])])
    prefetch(lists.blocks, 8 * soon)
    prefetch(lists.entry_starts, soon)
    sooner = lists.starts[first_list + np.int64(seen.tokens[min(i + _AHEAD // 2, last)])]
    prefetch(lists.packed, np.int64(lists.entry_starts[sooner]))


@inlined
def _collect(lists: Lists, first: int, last: int, message: Message, others: int, seen: Seen, at: int) -> int:
    """Write the entries of some blocks that pass to `seen.hits`."""
    for block in range(first, last):
        if meets(lists.blocks, np.int64(block), message):
            at = _in_block(lists, np.int64(block), message, others, seen, at)
    return at


@inlined
def question_of(lists: Lists, block: int, message: Message) -> int:
    """A message's box in a block, as the number from which packed boxes are subtracted.

    A box that meets the message begins before its end and ends after its beginning, so the message's own sides are
    swapped.
    """
    blocks = lists.blocks
    x, y, across, up = blocks[block, LEFT], blocks[block, LOWER], blocks[block, ACROSS], blocks[block, UP]
    right, upper = part_of(message.right, x, across), part_of(message.upper, y, up)
    return HIGH | _packed(right, upper, part_of(message.left, x, across), part_of(message.lower, y, up))


@inlined
def _in_block(lists: Lists, block: int, message: Message, others: int, seen: Seen, at: int) -> int:
    asked = question_of(lists, block, message)
    first, stop = np.int64(lists.entry_starts[block]), np.int64(lists.entry_starts[block + 1])
    packed, flags, others = lists.packed[first:stop], seen.flags, np.uint64(others)
    for i in range(np.uint64(stop - first)):
        flags[i] = np.uint8((((asked - packed[i]) & HIGH) ^ HIGH) | (packed[i] & others) == NONE)
    return at + write_flagged(lists.owners[first:stop], flags, seen.hits, at)


@inlined
def _keep(regions: Regions, message: Message, seen: Seen, found: int, stop: int) -> int:
    """Keep the candidates in `seen.hits` that hold; returns the end."""
    hits, boxes, starts = seen.hits, regions.boxes, regions.token_starts
    kept = found
    for i in range(found, stop):
        ahead = np.int64(hits[min(i + _AHEAD, stop - 1)])
        prefetch(boxes, 4 * ahead)
        prefetch(starts, ahead)
        one = np.int64(hits[i])
        if meets(regions.boxes, one, message) and has_all_tokens(regions, one, seen):
            hits[kept] = one
            kept += 1
    return kept


register(Grid, find_in_grid)
