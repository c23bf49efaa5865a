"""Reading of messages: their distinct tokens, their box at each place, and the search at these places."""

from __future__ import annotations

from typing import Any

import numpy as np

from tocsin.index.fields.kernels.keys import code_of
from tocsin.index.filtering.kernels.layouts import Coming
from tocsin.index.filtering.kernels.matching import find, register_tables
from tocsin.index.spatial_text.kernels.layouts import ABSENT, Keywords, Message, Regions, RegionTables, Seen
from tocsin.jit.decorators import inlined, inner
from tocsin.jit.intrinsics import count_bits
from tocsin.jit.views import choose
from tocsin.kernels import codes
from tocsin.kernels.programs.boxes import box_number

_ONE = np.uint64(1)
_NONE = np.uint64(0)
_SIX = np.uint64(6)
_LOW_SIX = np.uint64(63)


@inner
def read_message(tables: Any, coming: Coming, event: int, seen: Seen) -> int:
    """`read_event`: write the tokens and the boxes of an event; returns how many tokens.

    `tables` may be any that have `keywords` and `regions`.
    """
    keywords, places = tables.keywords, tables.regions.places
    events, names = coming.events, coming.bound.attributes
    count = np.int64(0)
    for i in range(events.starts[event], events.starts[event + 1]):
        attribute = names[events.attributes[i]]
        if attribute < 0:
            continue
        place = places[attribute]
        if place >= 0:
            box = box_number(events.types[i], events.payloads[i], events.list_boxes)
            if box >= 0:
                seen.has[place] = 1
                for side in range(4):
                    seen.boxes[place, side] = events.boxes[box, side]
        if events.types[i] == codes.LIST:
            count = _read_list(keywords, coming, np.int64(attribute), events.payloads[i], seen, count)
    return np.int64(count)


def token_of(keywords: Any, field: int, kind: int, payload: int) -> int:
    """The token of an element of a list, or ABSENT. The payload of a string is its rank code."""
    raise NotImplementedError("for kernels")


@inlined
def _token_of(keywords: Keywords, field: int, kind: int, payload: int) -> int:
    if kind == codes.STRING:
        return _token_of_string(keywords, field, payload)
    first, stop = keywords.operand_starts[field], keywords.operand_starts[field + 1]
    code = np.int64(code_of(keywords.operands, first, stop, payload))
    return first + (code >> 1) if code & 1 else np.int64(ABSENT)


@inlined
def _read_list(keywords: Any, coming: Coming, attribute: int, number: int, seen: Seen, count: int) -> int:
    events, ranks, marks, tokens = coming.events, coming.bound.ranks, seen.marks, seen.tokens
    for i in range(events.list_starts[number], events.list_starts[number + 1]):
        kind = events.list_types[i]
        field = np.int64(keywords.fields[attribute, kind])
        if field < 0:
            continue
        payload = events.list_payloads[i]
        token = token_of(keywords, field, kind, np.int64(ranks[0, payload]) if kind == codes.STRING else payload)
        if token >= 0:
            tokens[count] = np.int32(token)
            count += 1
            marks[np.uint64(token) >> _SIX] |= _ONE << (np.uint64(token) & _LOW_SIX)
    return np.int64(count)


@inlined
def _token_of_string(keywords: Keywords, field: int, rank: int) -> int:
    """The token of a string, by its rank code: its position is the number of bits before its own."""
    if rank & 1 == 0:
        return np.int64(ABSENT)
    row, number = np.int64(keywords.rows[field]), np.uint64(rank >> 1)
    word, bit = np.int64(number >> _SIX), _ONE << (number & _LOW_SIX)
    marks = keywords.marks[row, word]
    if marks & bit == _NONE:
        return np.int64(ABSENT)
    return np.int64(keywords.firsts[row, word]) + np.int64(count_bits(marks & (bit - _ONE)))


@inlined
def message_at(seen: Seen, place: int, count: int) -> Message:
    """A message's request at a place."""
    boxes = seen.boxes
    return Message(
        boxes[place, 0], boxes[place, 1], boxes[place, 2], boxes[place, 3], np.int64(count), np.int64(seen.clock[0])
    )


@inlined
def has_token(seen: Seen, token: int) -> bool:
    """Whether a message has a token."""
    return (seen.marks[np.uint64(token) >> _SIX] >> (np.uint64(token) & _LOW_SIX)) & _ONE != _NONE


@inlined
def has_all_tokens(regions: Regions, one: int, seen: Seen) -> bool:
    """Whether a message has all tokens that a subscription asks for."""
    for i in range(regions.token_starts[one], regions.token_starts[one + 1]):
        if not has_token(seen, regions.tokens[i]):
            return False
    return True


@inlined
def forget_message(tables: Any, seen: Seen, count: int) -> None:
    """`forget_event`."""
    for i in range(count):
        seen.marks[np.uint64(seen.tokens[i]) >> _SIX] = _NONE
    for place in range(len(seen.has)):
        seen.has[place] = 0
        seen.boxes[place, :] = np.nan


@inner
def find_at_places(tables: Any, structure: Any, seen: Seen, tokens: int) -> int:
    """`find_everywhere`: search all places where a message with tokens has a box.

    A decomposed subscription is written once for each of its rows; the output keeps each subscription once.
    """
    found = np.int64(0)
    for place in range(len(seen.has) if tokens > 0 else 0):
        if seen.has[place]:
            message = message_at(seen, np.int64(place), tokens)
            found = find(structure, tables.regions, np.int64(place), message, seen, found)
    if len(tables.rows) > 0:
        for i in range(found):
            seen.hits[i] = tables.rows[seen.hits[i]]
    return np.int64(found)


choose(token_of, Keywords, _token_of)
register_tables(RegionTables, read_message, forget_message, find_at_places)
