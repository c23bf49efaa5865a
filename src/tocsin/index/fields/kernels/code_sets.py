"""Sets of rank codes: a conjunction's literals on one field are merged into one set of codes.

The papers' structures assume that a conjunction has one predicate an attribute. Here an attribute is a field, seen as
one type. A negated literal needs its field present, so it allows every code except those that it forbids.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.fields.kernels.keys import Keys, code_of
from tocsin.index.fields.kernels.layouts import Fields
from tocsin.jit.decorators import inlined, inner, kernel
from tocsin.jit.views import viewed
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Bound, Events
from tocsin.kernels.sorting import stable_order


class CodeSets(NamedTuple):
    """Conjunctions, or clauses (`k_index.members`), as sets of codes. C of them, P predicates, R ranges."""

    starts: NDArray[np.int64]  # (C + 1,) conjunction c has predicates [starts[c], starts[c + 1])
    fields: NDArray[np.int32]  # (P,) ascending within a conjunction
    negated: NDArray[np.uint8]  # (P,) 1 if all its literals were negated
    range_starts: NDArray[np.int64]  # (P + 1,)
    lows: NDArray[np.int32]  # (R,) disjoint ranges of codes, ascending within a predicate
    highs: NDArray[np.int32]  # (R,) included; the last code of a field with n operands is 2 n


class _Ranges(NamedTuple):
    """Memory for a set under construction."""

    lows: NDArray[np.int32]
    highs: NDArray[np.int32]


@kernel
def merge_literals(
    starts: NDArray[np.int64], literals: NDArray[np.int32], keys: Keys, operand_starts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], CodeSets]:
    """The conjunctions that can hold, by their position among the given ones, and their sets.

    Every literal must have a key and a field that it needs present. Cost: linear in the literals' ranges, plus sorting
    each conjunction's literals by field.
    """
    keys = viewed(keys)
    most, widest = _room(starts, literals, keys)
    kept = np.empty(len(starts) - 1, np.int64)
    out = CodeSets(
        np.zeros(len(starts), np.int64),
        np.empty(len(literals), np.int32),
        np.empty(len(literals), np.uint8),
        np.zeros(len(literals) + 1, np.int64),
        np.empty(most, np.int32),
        np.empty(most, np.int32),
    )
    room = np.empty((6, widest), np.int32)
    count, at = 0, np.int64(0)
    for conjunction in range(len(starts) - 1):
        part = literals[starts[conjunction] : starts[conjunction + 1]]
        part = part[stable_order(keys.present[part >> 1])]
        behind = _merge_one(part, keys, operand_starts, room, out, at)
        if behind >= 0:
            at = np.int64(behind)
            kept[count] = conjunction
            count += 1
            out.starts[count] = at
    ranges = out.range_starts[at]
    return kept[:count].copy(), CodeSets(
        out.starts[: count + 1].copy(),
        out.fields[:at].copy(),
        out.negated[:at].copy(),
        out.range_starts[: at + 1].copy(),
        out.lows[:ranges].copy(),
        out.highs[:ranges].copy(),
    )


@inner
def _merge_one(
    literals: NDArray[np.int32],
    keys: Keys,
    operand_starts: NDArray[np.int64],
    room: NDArray[np.int32],
    out: CodeSets,
    at: int,
) -> int:
    """Write a conjunction's predicates from `at` on; returns the end, or -1 if it never holds.

    Its literals are in order of field.
    """
    one = _Ranges(room[0], room[1])
    two = _Ranges(room[2], room[3])
    other = _Ranges(room[4], room[5])
    place = 0
    while place < len(literals):
        field = keys.present[literals[place] >> 1]
        last = 2 * (operand_starts[field + 1] - operand_starts[field])
        one.lows[0], one.highs[0] = 0, last
        size, negated = 1, True
        while place < len(literals) and keys.present[literals[place] >> 1] == field:
            others = _allowed(literals[place], keys, last, other)
            size = _intersect(one, size, other, others, two)
            one, two = two, one
            negated = negated and literals[place] & 1 == 1
            place += 1
        if size == 0:
            return -1
        ranges = out.range_starts[at]
        out.fields[at] = field
        out.negated[at] = negated
        for i in range(size):
            out.lows[ranges + i], out.highs[ranges + i] = one.lows[i], one.highs[i]
        at += 1
        out.range_starts[at] = ranges + size
    return at


@inlined
def _room(starts: NDArray[np.int64], literals: NDArray[np.int32], keys: Keys) -> tuple[int, int]:
    """The most ranges that all sets have in total, and that one has during construction."""
    most, widest = 0, 1
    for conjunction in range(len(starts) - 1):
        own = 1
        for i in range(starts[conjunction], starts[conjunction + 1]):
            own += keys.starts[(literals[i] >> 1) + 1] - keys.starts[literals[i] >> 1] + 2
        most += own
        widest = max(widest, own)
    return most, widest


@inlined
def _allowed(literal: int, keys: Keys, last: int, out: _Ranges) -> int:
    """Write the ranges of codes for which a literal holds; returns how many. A leaf's own keys ascend."""
    leaf = literal >> 1
    count, begun = 0, 0
    for k in range(keys.starts[leaf], keys.starts[leaf + 1]):
        low, high = keys.lows[k], min(keys.highs[k], last)
        if low > high:
            continue
        if literal & 1 == 0:
            out.lows[count], out.highs[count] = low, high
            count += 1
            continue
        if begun < low:
            out.lows[count], out.highs[count] = begun, low - 1
            count += 1
        begun = high + 1
    if literal & 1 == 1 and begun <= last:
        out.lows[count], out.highs[count] = begun, last
        count += 1
    return count


@inlined
def _intersect(one: _Ranges, size: int, other: _Ranges, others: int, out: _Ranges) -> int:
    """Write the intersection of two sets; returns the number of ranges."""
    i, j, count = 0, 0, 0
    while i < size and j < others:
        low = max(one.lows[i], other.lows[j])
        high = min(one.highs[i], other.highs[j])
        if low <= high:
            out.lows[count], out.highs[count] = low, high
            count += 1
        if one.highs[i] < other.highs[j]:
            i += 1
        else:
            j += 1
    return count


@inlined
def predicate_on(sets: CodeSets, conjunction: int, field: int) -> int:
    """A conjunction's predicate on a field, -1 for none."""
    for predicate in range(sets.starts[conjunction], sets.starts[conjunction + 1]):
        if sets.fields[predicate] == field:
            return predicate
    return np.int64(-1)


@kernel
def holds(
    starts: NDArray[np.int64],
    fields: NDArray[np.int32],
    range_starts: NDArray[np.int64],
    lows: NDArray[np.int32],
    highs: NDArray[np.int32],
    values: NDArray[np.int32],
    conjunction: int,
) -> bool:
    """Whether an event satisfies a conjunction of `CodeSets`. `values` has its code of each field, -1 for none."""
    for p in range(starts[conjunction], starts[conjunction + 1]):
        if not is_met(range_starts, lows, highs, p, values[fields[p]]):
            return False
    return True


@inlined
def is_met(
    range_starts: NDArray[np.int64], lows: NDArray[np.int32], highs: NDArray[np.int32], predicate: int, value: int
) -> bool:
    """Whether a predicate of `CodeSets` allows a code. An absent value's code, -1, lies below every range."""
    at = range_starts[predicate]
    stop = range_starts[predicate + 1]
    while at < stop and highs[at] < value:
        at += 1
    return at < stop and lows[at] <= value


@inner
def scalar_values(
    fields: Fields,
    events: Events,
    bound: Bound,
    event: int,
    out_fields: NDArray[np.int32],
    out_codes: NDArray[np.int32],
    out_payloads: NDArray[np.int64],
) -> int:
    """Write an event's scalar fields, each once, with their codes and payloads; returns how many."""
    count = 0
    for i in range(events.starts[event], events.starts[event + 1]):
        attribute = bound.attributes[events.attributes[i]]
        kind = events.types[i]
        if attribute < 0 or kind > codes.INSTANT:
            continue
        for field in range(fields.starts[attribute], fields.starts[attribute + 1]):
            if fields.kinds[field] != kind:
                continue
            payload = events.payloads[i]
            if kind == codes.STRING:
                payload = np.int64(bound.ranks[fields.transforms[field], payload])
            first, stop = fields.operand_starts[field], fields.operand_starts[field + 1]
            out_fields[count] = field
            out_codes[count] = code_of(fields.operands, first, stop, payload)
            out_payloads[count] = payload
            count += 1
    return count


@kernel
def most_scalar_values(fields: Fields, events: Events, numbers: NDArray[np.int32]) -> int:
    """The most fields that `scalar_values` writes for any event."""
    most = 0
    for event in range(len(events.starts) - 1):
        count = 0
        for i in range(events.starts[event], events.starts[event + 1]):
            attribute = numbers[events.attributes[i]]
            if attribute >= 0:
                count += fields.starts[attribute + 1] - fields.starts[attribute]
        most = max(most, count)
    return most


class EventCodes(NamedTuple):
    """The scalar fields of events. E events, V values."""

    starts: NDArray[np.int64]  # (E + 1,)
    fields: NDArray[np.int32]  # (V,)
    codes: NDArray[np.int32]  # (V,) an interval [low, high] of codes is met if low <= its upper and its code <= high
    uppers: NDArray[np.int32]  # (V,) equal to the code, except for ranges


@kernel
def read_codes(
    fields: Fields, events: Events, bound: Bound, dropped: NDArray[np.uint8], ranks: NDArray[np.int32]
) -> EventCodes:
    """The scalar fields and ranges of all events, without dropped fields; each event's are in the order of `ranks`."""
    room = most_scalar_values(fields, events, bound.attributes)
    fields, events, bound = viewed(fields), viewed(events), viewed(bound)
    count = len(events.starts) - 1
    own_fields, own_codes, payloads = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int64)
    own_uppers = np.empty(room, np.int32)
    out = EventCodes(
        np.zeros(count + 1, np.int64),
        np.empty(count * room, np.int32),
        np.empty(count * room, np.int32),
        np.empty(count * room, np.int32),
    )
    written = np.int64(0)
    for event in range(count):
        found = scalar_values(fields, events, bound, event, own_fields, own_codes, payloads)
        for i in range(found):
            own_uppers[i] = own_codes[i]
        if len(events.ranges) > 0:
            found = _range_values(fields, events, bound, event, found, own_fields, own_codes, own_uppers)
        first = written
        for i in range(found):
            field = own_fields[i]
            if dropped[field]:
                continue
            at = written
            while at > first and ranks[out.fields[at - 1]] > ranks[field]:
                out.fields[at] = out.fields[at - 1]
                out.codes[at], out.uppers[at] = out.codes[at - 1], out.uppers[at - 1]
                at -= 1
            out.fields[at], out.codes[at], out.uppers[at] = field, own_codes[i], own_uppers[i]
            written += 1
        out.starts[event + 1] = written
    return out


@inner
def _range_values(
    fields: Fields,
    events: Events,
    bound: Bound,
    event: int,
    count: int,
    out_fields: NDArray[np.int32],
    out_codes: NDArray[np.int32],
    out_uppers: NDArray[np.int32],
) -> int:
    """Write an event's ranges from place `count` on, with the codes of their ends; returns where they end."""
    for i in range(events.starts[event], events.starts[event + 1]):
        attribute = bound.attributes[events.attributes[i]]
        if attribute < 0 or events.types[i] < codes.RANGED:
            continue
        for field in range(fields.starts[attribute], fields.starts[attribute + 1]):
            if fields.kinds[field] + codes.RANGED != events.types[i]:
                continue
            first, stop = fields.operand_starts[field], fields.operand_starts[field + 1]
            upper, lower = events.ranges[events.payloads[i], 0], events.ranges[events.payloads[i], 1]
            out_fields[count] = field
            out_codes[count] = code_of(fields.operands, first, stop, lower)
            out_uppers[count] = code_of(fields.operands, first, stop, upper)
            count += 1
    return count
