"""Hash tables of the tokens of nodes, and their intersection with a message's tokens.

Source: Yu et al. 2015, section 3.2, MBRTokenFilter. Departs: if a node's table is shorter than the message, the table
is walked, and its tokens are looked up in the bitmap of the message's tokens.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.spatial_text.kernels.layouts import ABSENT, Message, Seen
from tocsin.index.spatial_text.kernels.reading import has_token
from tocsin.jit.decorators import inlined, kernel
from tocsin.jit.views import viewed
from tocsin.kernels.numbers import scattered_32

_DOWN = np.uint64(15)


class TokenSets(NamedTuple):
    """A table of tokens for each node, with open addressing. N nodes, H slots.

    A node's number of slots is a power of two, at least twice its number of tokens, or 0.
    """

    starts: NDArray[np.int64]  # (N + 1,) slots [starts[n], starts[n + 1])
    tokens: NDArray[np.int32]  # (H,) ABSENT if a slot is free


class TokenLists(NamedTuple):
    """Lists of children or subscriptions below a node, by token. N nodes, H slots, L lists, E entries."""

    sets: TokenSets
    numbers: NDArray[np.int32]  # (H,) the list of the token in a slot
    starts: NDArray[np.int64]  # (L + 1,) entries [starts[l], starts[l + 1])
    entries: NDArray[np.int32]  # (E,)


@kernel
def fill_sets(sets: TokenSets, nodes: NDArray[np.int32], tokens: NDArray[np.int32]) -> NDArray[np.int64]:
    """Insert distinct pairs of a node and a token into empty tables; returns the slot of each. Cost: linear."""
    held = viewed(sets)
    slots = np.empty(len(nodes), np.int64)
    for i in range(len(nodes)):
        first = held.starts[nodes[i]]
        last = held.starts[nodes[i] + 1] - first - 1
        at = _first_slot(np.int64(tokens[i]), last)
        while held.tokens[first + at] != ABSENT:
            at = (at + 1) & last
        held.tokens[first + at] = tokens[i]
        slots[i] = first + at
    return slots


@inlined
def _first_slot(token: int, last: int) -> int:
    """The slot where the search for a token begins."""
    return np.int64((scattered_32(token) >> _DOWN) & np.uint64(last))


@inlined
def slot_of(sets: TokenSets, node: int, token: int) -> int:
    """The slot of a token in the non-empty table of a node, or ABSENT."""
    first = sets.starts[node]
    last = sets.starts[node + 1] - first - 1
    at = _first_slot(token, last)
    while True:
        own = np.int64(sets.tokens[first + at])
        if own == token:
            return np.int64(first + at)
        if own == ABSENT:
            return np.int64(ABSENT)
        at = (at + 1) & last


@inlined
def next_common(sets: TokenSets, node: int, message: Message, seen: Seen, at: int) -> tuple[int, int]:
    """The slot of the next token that a node and a message have in common, from `at` on, and where to continue.

    The slot is ABSENT if there is none. `at` is 0 at first.
    """
    first = sets.starts[node]
    size = sets.starts[node + 1] - first
    if size <= message.tokens:
        while at < size:
            token = np.int64(sets.tokens[first + at])
            at += 1
            if token != ABSENT and has_token(seen, token):
                return np.int64(first + at - 1), np.int64(at)
    else:
        while at < message.tokens:
            slot = slot_of(sets, node, np.int64(seen.tokens[at]))
            at += 1
            if slot != ABSENT:
                return slot, np.int64(at)
    return np.int64(ABSENT), np.int64(at)
