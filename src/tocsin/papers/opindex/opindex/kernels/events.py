"""The keys with which an event searches an OpIndex: one for each value, and for each prefix and suffix of its strings.

With each key go its segment in any list and its bits in any signature, so that searches only look these up.

Paper: Zhang, Chan, Tan 2014, section 4.2 (directory and signatures) and 6.2 (prefixes).
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.fields.kernels.keys import code_of
from tocsin.index.fields.kernels.layouts import PRESENT, Fields
from tocsin.jit.decorators import inlined, inner, kernel
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Bound, Events, Expressions
from tocsin.kernels.searching import first_at_least
from tocsin.papers.opindex.opindex.kernels.layouts import (
    Coding,
    OpLists,
    Prefixes,
    field_bit,
    key_of,
    operand_bit,
    segment_of,
)


class OpScratch(NamedTuple):
    """Memory for one call: an event's `values`, a pivot's `counters` and `bitmaps`, and everything `found`.

    The first pairs of an event are its values; its prefixes follow.
    """

    fields: Annotated[NDArray[np.int32], "values"]
    keys: Annotated[NDArray[np.int64], "values"]  # field << 32 | code, or prefix
    texts: Annotated[NDArray[np.int64], "values"]  # the string's number in the batch's dictionary
    segments: Annotated[NDArray[np.uint64], "values"]  # in any list
    field_bits: Annotated[NDArray[np.uint64], "values"]
    operand_bits: Annotated[NDArray[np.uint64], "values"]
    survivors: Annotated[NDArray[np.int32], "operators * values + 1"]  # those to search: pair << 3 | operator
    searched: Annotated[NDArray[np.uint64], "operators * values + 1"]  # that segment
    counters: Annotated[NDArray[np.int32], "counters + 1"]
    bitmaps: Annotated[NDArray[np.uint64], "bitmaps + 1"]
    hits: Annotated[NDArray[np.int32], "found + 1"]
    words: Annotated[NDArray[np.uint64], "words"]  # 0 between events
    summary: Annotated[NDArray[np.uint64], "words // 64 + 1"]
    buckets: Annotated[NDArray[np.int32], "buckets"]


class OpQuestion(NamedTuple):
    """Events, and the lists to match them with."""

    lists: OpLists
    segments: int  # per list
    bits: int  # per signature; 0: no signatures
    coding: Coding
    leaves: Expressions  # to test patterns
    events: Events
    bound: Bound
    alive: NDArray[np.uint64]  # (S / 64 + 1,)
    scratch: OpScratch


@kernel
def widest_event(
    fields: Fields,
    order: NDArray[np.int32],
    depths: NDArray[np.int32],
    events: Events,
    numbers: NDArray[np.int32],
) -> int:
    """The largest number of pairs of an event; `depths` limits the prefixes of a field's value."""
    widest = np.int64(0)
    for event in range(len(events.starts) - 1):
        count = np.int64(0)
        for i in range(events.starts[event], events.starts[event + 1]):
            attribute = numbers[events.attributes[i]]
            if attribute >= 0:
                for place in range(fields.starts[attribute], fields.starts[attribute + 1]):
                    count += 1 + depths[order[place] if len(order) > 0 else place]
        widest = max(widest, count)
    return widest


@inner
def read_event(asked: OpQuestion, event: int) -> int:
    """Write an event's values; returns how many there are."""
    fields, events, bound, out = asked.lists.fields, asked.events, asked.bound, asked.scratch
    order = asked.coding.order
    count = 0
    for i in range(events.starts[event], events.starts[event + 1]):
        attribute = bound.attributes[events.attributes[i]]
        if attribute < 0:
            continue
        kind = events.types[i]
        for place in range(fields.starts[attribute], fields.starts[attribute + 1]):
            field = np.int64(order[place]) if len(order) > 0 else np.int64(place)
            code = np.int64(0)
            if fields.kinds[field] == kind and kind <= codes.INSTANT:
                payload = events.payloads[i]
                if kind == codes.STRING:
                    payload = np.int64(bound.ranks[fields.transforms[field], payload])
                code = _code(asked, field, np.int64(kind), payload)
            elif fields.kinds[field] != PRESENT:
                continue
            out.fields[count] = field
            out.texts[count] = events.payloads[i]
            _write_pair(asked, field, key_of(field, code), count)
            count += 1
    return count


@inlined
def _code(asked: OpQuestion, field: int, kind: int, payload: int) -> int:
    """The code of a value among a field's operands: its rank, or its label in lists that change."""
    fields, coding = asked.lists.fields, asked.coding
    if len(coding.labels) == 0:
        return code_of(fields.operands, fields.operand_starts[field], fields.operand_starts[field + 1], payload)
    if kind == codes.STRING:
        return np.int64(coding.strings[payload])
    operands = coding.operands
    at = np.int64(first_at_least(operands, np.int64(0), np.int64(len(operands)), payload))
    return np.int64(coding.labels[at]) - np.int64(at == len(operands) or operands[at] != payload)


@inlined
def _write_pair(asked: OpQuestion, field: int, key: int, at: int) -> None:
    out = asked.scratch
    out.keys[at] = key
    out.segments[at] = segment_of(np.int64(field), asked.segments)
    out.field_bits[at] = field_bit(field, asked.bits)
    out.operand_bits[at] = operand_bit(key, asked.bits)


@inner
def read_prefixes(asked: OpQuestion, values: int) -> int:
    """Write the prefixes of an event's strings after its values; returns where they end.

    In sorted order, consider the last prefix that does not sort after the string. Every prefix of the string is that
    one or one of its ancestors.
    """
    fields, prefixes, bound, out = asked.lists.fields, asked.lists.prefixes, asked.bound, asked.scratch
    count = values
    strings = bound.ranks.shape[1]
    for i in range(values):
        field = out.fields[i]
        if fields.kinds[field] != codes.STRING:
            continue
        for group in range(prefixes.starts[field], prefixes.starts[field + 1]):
            text = np.int64(prefixes.transforms[group]) * strings + out.texts[i]
            first, length = bound.text_starts[text], bound.text_starts[text + 1] - bound.text_starts[text]
            step = np.int64(prefixes.steps[group])
            if step < 0:
                first += length - 1
            number = last_not_behind(prefixes, group, bound.text_bytes, first, step, length)
            while number >= 0:
                if begins_with(bound.text_bytes, first, step, length, prefixes, number):
                    _write_pair(asked, field, key_of(field, prefixes.numbers[number]), count)
                    count += 1
                number = np.int64(prefixes.parents[number])
    return count


@inner
def last_not_behind(prefixes: Prefixes, group: int, text: NDArray[np.uint8], first: int, step: int, length: int) -> int:
    """The last prefix of a group that does not sort after a string; -1 if all do.

    The string has `length` bytes, from text[first] on in steps of `step`.
    """
    low = np.int64(prefixes.group_starts[group])
    begin = low
    high = np.int64(prefixes.group_starts[group + 1])
    while low < high:
        middle = (low + high) >> 1
        at = prefixes.text_starts[middle]
        end = prefixes.text_starts[middle + 1]
        i = np.int64(0)
        while at < end and i < length and prefixes.text[at] == text[first + step * i]:
            at += 1
            i += 1
        if at == end or (i < length and prefixes.text[at] < text[first + step * i]):
            low = middle + 1
        else:
            high = middle
    return low - 1 if low > begin else np.int64(-1)


@inner
def begins_with(text: NDArray[np.uint8], first: int, step: int, length: int, prefixes: Prefixes, number: int) -> bool:
    """Whether a string, as `last_not_behind` has it, begins with a prefix."""
    begin = prefixes.text_starts[number]
    end = prefixes.text_starts[number + 1]
    if end - begin > length:
        return False
    for i in range(end - begin):
        if prefixes.text[begin + i] != text[first + step * i]:
            return False
    return True
