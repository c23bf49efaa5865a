"""Which subscriptions may a message resemble enough? The same blocks, under each keyword that may be the first.

A subscription's keywords are taken in one order, the rarest first; if the first that a message has is the j-th, it has
no more than what the j-th and all behind it weigh: the share of an entry. So of a list only entries count whose share
is enough: less is for those that the message is in contact with than for the others (Yu et al. 2015, section 6.2, where
a prefix is what has such a share). Where contact alone may do, a list of everyone is looked at instead.
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
from tocsin.kernels.compacting import write_flagged
from tocsin.kernels.jit import inlined, inner, kernel
from tocsin.kernels.packing import viewed

_ANYWHERE = np.uint64(0xFFFFFFFF)
_SHARE = np.uint64(0x80) << ABOVE
_BOTH = HIGH | _SHARE


class Shared(NamedTuple):
    """Entries with the shares of their keywords, and everyone under the token behind the last."""

    lists: Lists


@kernel
def suffix_shares(regions: Regions, counts: NDArray[np.int64], weighed: Weighed) -> NDArray[np.float64]:
    """Of each token of a subscription the share of its weight that this one and all that are more frequent have."""
    held, heavy = viewed(regions), viewed(weighed)
    out = np.empty(len(held.tokens))
    for one in range(len(held.owners)):
        first, stop = held.token_starts[one], held.token_starts[one + 1]
        own = held.tokens[first:stop]
        order = np.argsort(counts[own], kind="mergesort")
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
    """`find_alike`: from the lists of a message's tokens and, where contact alone may do, from that of everyone."""
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
    """Write those of a list that are in contact and have a share of `near`, and all that have one of `far`."""
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
    """A share that will do, as what the packed ones are subtracted from."""
    part = np.int64(np.floor(min(max(least, 0.0), 1.0) * LAST))
    return int(_SHARE | np.uint64(LAST - part) << ABOVE)


@inlined
def _each_once(seen: Seen, first: int, stop: int) -> int:
    """Leave out of hits[first:stop] whom this message has met before; where they end."""
    stamps, hits, clock = seen.stamps, seen.hits, seen.clock[0]
    kept = first
    for i in range(first, stop):
        one = hits[i]
        hits[kept] = one
        kept += np.int64(stamps[one] != clock)
        stamps[one] = clock
    return kept


register_alike(Shared, find_shared)
