"""Candidates for similarity: the same blocks, with a subscription under each keyword that may be its first common one.

A subscription's keywords are taken in one order, the rarest first. If the first that a message has is the j-th, it has
at most the weight of the j-th and all later ones: the share of the entry. So only entries with a sufficient share
count. The share needed is less if region and message touch (Yu et al. 2015, section 6.2, where a prefix is what has
such a share). If touching alone may suffice, the list of all subscriptions is searched instead.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.filtering.kernels.layouts import meets
from tocsin.index.spatial_text.kernels.layouts import Message, Regions, Seen
from tocsin.index.spatial_text.kernels.resembling import Similarity, Weighed, register_alike
from tocsin.index.spatial_text.token_grid.kernels.lists import (
    ABOVE,
    HIGH,
    LAST,
    MOST,
    Lists,
    ask_ahead,
    question_of,
)
from tocsin.jit.decorators import inlined, inner, kernel
from tocsin.jit.views import viewed
from tocsin.kernels.compacting import write_flagged
from tocsin.kernels.sorting import stable_order

_ANYWHERE = np.uint64(0xFFFFFFFF)
_SHARE = np.uint64(0x80) << ABOVE
_BOTH = HIGH | _SHARE


class Shared(NamedTuple):
    """Entries with the shares of their keywords, and all subscriptions under the number after the last token."""

    lists: Lists


@kernel
def suffix_shares(regions: Regions, counts: NDArray[np.int64], weighed: Weighed) -> NDArray[np.float64]:
    """For each token of a subscription the share of weight that it and all more frequent ones have."""
    held, heavy = viewed(regions), viewed(weighed)
    out = np.empty(len(held.tokens))
    for one in range(len(held.owners)):
        first, stop = held.token_starts[one], held.token_starts[one + 1]
        own = held.tokens[first:stop]
        order = stable_order(counts[own])
        behind, total = 0.0, heavy.totals[one]
        for i in range(len(own) - 1, -1, -1):
            behind += heavy.weights[own[order[i]]]
            out[first + order[i]] = min(behind / total, 1.0) if total < np.inf else 0.0
    return out


@inner
def find_shared(
    shared: Shared,
    asked: Similarity,
    place: int,
    message: Message,
    seen: Seen,
    found: int,
) -> int:
    """`find_alike`: search the lists of a message's tokens, and that of all subscriptions if touching may suffice."""
    lists = shared.lists
    first_list = np.int64(place) * lists.tokens[0]
    by_contact = asked.near <= 0.0
    near = np.inf if by_contact else asked.near
    stop = np.int64(found)
    if near <= 1.0 or asked.far <= 1.0:
        for i in range(message.tokens):
            ask_ahead(lists, first_list, message, seen, np.int64(i))
            number = first_list + np.int64(seen.tokens[i])
            stop = _collect_alike(lists, number, message, near, asked.far, seen, stop)
    if by_contact:
        stop = _collect_alike(lists, first_list + lists.tokens[0] - 1, message, 0.0, np.inf, seen, stop)
    return stop


@inlined
def _collect_alike(lists: Lists, number: int, message: Message, near: float, far: float, seen: Seen, at: int) -> int:
    """Write the entries of a list that touch the message and have the share `near`, and all with the share `far`."""
    blocks = lists.blocks
    for block in range(lists.starts[number], lists.starts[number + 1]):
        most = np.float64(blocks[block, MOST])
        if (most >= near and meets(blocks, np.int64(block), message)) or most >= far:
            at = _in_block_alike(lists, np.int64(block), message, near, far, seen, at)
    return at


@inlined
def _in_block_alike(lists: Lists, block: int, message: Message, near: float, far: float, seen: Seen, at: int) -> int:
    first, stop = np.int64(lists.entry_starts[block]), np.int64(lists.entry_starts[block + 1])
    packed, flags = lists.packed[first:stop], seen.flags
    of_near = question_of(lists, block, message) | _share_asked(near)
    of_far = _ANYWHERE | _share_asked(far)
    is_there = near <= 1.0 and meets(lists.blocks, block, message)
    if far > 1.0:
        for i in range(np.uint64(stop - first)):
            flags[i] = np.uint8((of_near - packed[i]) & _BOTH == _BOTH)
    elif is_there:
        for i in range(np.uint64(stop - first)):
            one, other = (of_near - packed[i]) & _BOTH == _BOTH, (of_far - packed[i]) & _SHARE == _SHARE
            flags[i] = np.uint8(one | other)
    else:
        for i in range(np.uint64(stop - first)):
            flags[i] = np.uint8((of_far - packed[i]) & _SHARE == _SHARE)
    return _each_once(seen, at, at + write_flagged(lists.owners[first:stop], flags, seen.hits, at))


@inlined
def _share_asked(least: float) -> int:
    """A sufficient share, as the number from which packed ones are subtracted."""
    part = np.int64(np.floor(min(max(least, 0.0), 1.0) * LAST))
    return int(_SHARE | np.uint64(LAST - part) << ABOVE)


@inlined
def _each_once(seen: Seen, first: int, stop: int) -> int:
    """Drop subscriptions that this message has met before from hits[first:stop]; returns the end."""
    stamps, hits, clock = seen.stamps, seen.hits, seen.clock[0]
    kept = first
    for i in range(first, stop):
        one = hits[i]
        hits[kept] = one
        kept += np.int64(stamps[one] != clock)
        stamps[one] = clock
    return kept


register_alike(Shared, find_shared)
