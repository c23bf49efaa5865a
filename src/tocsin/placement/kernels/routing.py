"""Routing of events: each event's keys lead to the parts that may match it.

The keys of all parts are in one hash table with open addressing, with one bit for each part that a key leads to.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.fields.kernels.layouts import ELEMENT
from tocsin.jit.decorators import inlined, kernel
from tocsin.jit.views import viewed
from tocsin.kernels import codes
from tocsin.kernels.programs.boxes import box_number
from tocsin.kernels.programs.layouts import Events
from tocsin.placement.kernels.keys import LEAF, PRESENCE, key_of
from tocsin.placement.kernels.leaves import DEEPEST, find_leaves

_ONE = np.uint64(1)
_NONE = np.uint64(0)
_SHIFT = np.uint64(6)
_LOW = np.uint64(63)


class Signposts(NamedTuple):
    """The parts that keys lead to. H slots, a power of two, not all used; W words of one bit per part."""

    keys: NDArray[np.uint64]  # (H,) odd; 0 for an empty slot
    parts: NDArray[np.uint64]  # (H * W,)
    words: NDArray[np.int64]  # (1,) W


class Hashed(NamedTuple):
    """The hashes of a batch's attributes and strings. A attributes, U strings."""

    attributes: NDArray[np.uint64]  # (A,)
    strings: NDArray[np.uint64]  # (U,)
    is_place: NDArray[np.uint8]  # (A,) whether it is looked up in the leaves of the map
    splits: NDArray[np.float64]  # of that map


@kernel
def point(signposts: Signposts, keys: NDArray[np.uint64], part: int) -> None:
    """Let keys, which must be odd, lead to a part; the table must have room."""
    table, parts, words = signposts.keys, signposts.parts, signposts.words[0]
    mask = np.uint64(len(table) - 1)
    for i in range(len(keys)):
        at = (keys[i] >> _SHIFT) & mask
        while table[at] != _NONE and table[at] != keys[i]:
            at = (at + _ONE) & mask
        table[at] = keys[i]
        parts[np.int64(at) * words + (part >> 6)] |= _ONE << (np.uint64(part) & _LOW)


@inlined
def _follow(signposts: Signposts, key: int, out: NDArray[np.uint64], event: int) -> None:
    """Add the parts that a key leads to."""
    table, parts, words = signposts.keys, signposts.parts, signposts.words[0]
    mask = np.uint64(len(table) - 1)
    wanted = key | _ONE
    at = (wanted >> _SHIFT) & mask
    while table[at] != _NONE:
        if table[at] == wanted:
            for word in range(words):
                out[event, word] |= parts[np.int64(at) * words + word]
            return
        at = (at + _ONE) & mask


@kernel
def route(signposts: Signposts, events: Events, hashed: Hashed, out: NDArray[np.uint64]) -> None:
    """Add the parts that each event's keys lead to: attributes, their values, elements of lists, and places."""
    signposts, events, hashed = viewed(signposts), viewed(events), viewed(hashed)
    leaves, stack = np.empty(len(hashed.splits) + 1, np.int32), np.empty(DEEPEST, np.int64)
    for event in range(len(events.starts) - 1):
        for i in range(events.starts[event], events.starts[event + 1]):
            attribute = hashed.attributes[events.attributes[i]]
            kind = np.int64(events.types[i])
            payload = events.payloads[i]
            _follow(signposts, key_of(attribute, PRESENCE, _NONE), out, event)
            if kind <= codes.INSTANT:
                value = hashed.strings[payload] if kind == codes.STRING else np.uint64(payload)
                _follow(signposts, key_of(attribute, kind, value), out, event)
            elif kind == codes.LIST:
                for member in range(events.list_starts[payload], events.list_starts[payload + 1]):
                    of_type = np.int64(events.list_types[member])
                    own = events.list_payloads[member]
                    value = hashed.strings[own] if of_type == codes.STRING else np.uint64(own)
                    _follow(signposts, key_of(attribute, ELEMENT + of_type, value), out, event)
            if hashed.is_place[events.attributes[i]]:
                box = box_number(events.types[i], payload, events.list_boxes)
                if box >= 0:
                    for leaf in range(find_leaves(hashed.splits, events.boxes, box, stack, leaves)):
                        _follow(signposts, key_of(attribute, LEAF, np.uint64(leaves[leaf])), out, event)
