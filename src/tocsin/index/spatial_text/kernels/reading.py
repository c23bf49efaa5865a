"""What does a message ask for? Its tokens, each once, and what it has at each place."""

from __future__ import annotations

import numpy as np

from tocsin.index.fields.kernels.keys import code_of
from tocsin.index.narrowing.kernels import Coming
from tocsin.index.spatial_text.kernels.layouts import ABSENT, Keywords, Message, Regions, Seen
from tocsin.kernels import codes
from tocsin.kernels.jit import count_bits, inlined, inner
from tocsin.kernels.programs.boxes import box_number

_ONE = np.uint64(1)
_NONE = np.uint64(0)
_SIX = np.uint64(6)
_LOW_SIX = np.uint64(63)


@inner
def read_message(keywords: Keywords, regions: Regions, coming: Coming, event: int, seen: Seen) -> int:
    """Write the tokens and the boxes of an event; returns how many tokens. `forget_message` clears both."""
    events, names, places = coming.events, coming.bound.attributes, regions.places
    count = np.int64(0)
    seen.clock[0] += 1
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


@inlined
def _read_list(keywords: Keywords, coming: Coming, attribute: int, number: int, seen: Seen, count: int) -> int:
    events, ranks, marks, tokens = coming.events, coming.bound.ranks, seen.marks, seen.tokens
    for i in range(events.list_starts[number], events.list_starts[number + 1]):
        kind = events.list_types[i]
        field = np.int64(keywords.fields[attribute, kind])
        if field < 0:
            continue
        payload = events.list_payloads[i]
        if kind == codes.STRING:
            token = _token_of_string(keywords, field, ranks[0, payload])
        else:
            first, stop = keywords.operand_starts[field], keywords.operand_starts[field + 1]
            code = np.int64(code_of(keywords.operands, first, stop, payload))
            token = first + (code >> 1) if code & 1 else np.int64(ABSENT)
        if token >= 0:
            tokens[count] = np.int32(token)
            count += 1
            marks[np.uint64(token) >> _SIX] |= _ONE << (np.uint64(token) & _LOW_SIX)
    return np.int64(count)


@inlined
def _token_of_string(keywords: Keywords, field: int, rank: int) -> int:
    """The token that a string is, by its rank code: so many bits lie before its own."""
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
    """What a message asks at a place."""
    boxes = seen.boxes
    return Message(
        boxes[place, 0], boxes[place, 1], boxes[place, 2], boxes[place, 3], np.int64(count), np.int64(seen.clock[0])
    )


@inlined
def has_token(seen: Seen, token: int) -> bool:
    """Whether a message has a token."""
    return (seen.marks[np.uint64(token) >> _SIX] >> (np.uint64(token) & _LOW_SIX)) & _ONE != _NONE


@inlined
def forget_message(seen: Seen, count: int) -> None:
    """Make it ready for the next message."""
    for i in range(count):
        seen.marks[np.uint64(seen.tokens[i]) >> _SIX] = _NONE
    for place in range(len(seen.has)):
        seen.has[place] = 0
        seen.boxes[place, :] = np.nan
