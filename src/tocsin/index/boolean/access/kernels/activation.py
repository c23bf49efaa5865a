"""Which fields does an event have, and with which codes? What an access index looks its lists up by."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.index.boolean.access.kernels.directory import (
    CODED,
    KIND_MASK,
    TRANSFORM_MASK,
    TRANSFORM_SHIFT,
    WIDTH,
    Directory,
    field_code,
    row_of,
)
from tocsin.index.boolean.access.kernels.layouts import Scratch
from tocsin.index.fields.kernels.keys import code_of
from tocsin.index.fields.kernels.layouts import ABSENT, ELEMENT, LATER, LIST_PRESENT, PATTERN, PRESENT, Fields
from tocsin.kernels import codes
from tocsin.kernels.jit import inlined, kernel, prefetch
from tocsin.kernels.programs.layouts import Bound, Events

_ONE = np.uint64(1)


@kernel
def widest_activation(fields: Fields, events: Events, bound: Bound, together: int) -> int:
    """The most (field, code) pairs that so many neighbouring events can activate, counted from the first on."""
    widest = np.int64(0)
    count = np.int64(0)
    for event in range(len(events.starts) - 1):
        count = np.int64(0) if event % together == 0 else count
        for i in range(events.starts[event], events.starts[event + 1]):
            attribute = bound.attributes[events.attributes[i]]
            if attribute < 0:
                continue
            per_value = np.int64(1)
            if events.types[i] == codes.LIST:
                payload = events.payloads[i]
                per_value += events.list_starts[payload + 1] - events.list_starts[payload]
            elif events.types[i] == codes.STRING and len(bound.fits) > 0:
                per_value += _most_fits(bound, events.payloads[i])
            count += per_value * (fields.starts[attribute + 1] - fields.starts[attribute])
        widest = max(widest, count)
    return widest


@kernel
def _most_fits(bound: Bound, string: int) -> int:
    """The most patterns that a string fits, under any transform."""
    most = np.int64(0)
    for transform in range(bound.ranks.shape[0]):
        text = np.int64(transform) * bound.ranks.shape[1] + string
        most = max(most, bound.fit_starts[text + 1] - bound.fit_starts[text])
    return most


@kernel
def activate(
    fields: Fields,
    directory: Directory,
    events: Events,
    bound: Bound,
    first: int,
    stop: int,
    scratch: Scratch,
    ends: NDArray[np.int64],
) -> None:
    """Write what each event of [first, stop) activates, one after the other; event e's pairs end at ends[e - first]."""
    out_fields, out_codes, out_payloads = scratch.fields, scratch.codes, scratch.payloads
    starts = fields.starts
    numbers = bound.attributes
    attributes = events.attributes
    types = events.types
    payloads = events.payloads
    event_starts = events.starts
    operand_starts = fields.operand_starts
    operands = fields.operands
    ranks = bound.ranks
    rows, words = directory.rows, directory.words
    _prefetch_rows(fields, rows, attributes[events.starts[first] : events.starts[stop]], numbers)
    count = 0
    for event in range(first, stop):
        for i in range(event_starts[event], event_starts[event + 1]):
            attribute = numbers[attributes[i]]
            if attribute < 0:
                continue
            kind = types[i]
            for field in range(starts[attribute], starts[attribute + 1]):
                about = rows[row_of(field)]
                wanted = about & KIND_MASK
                if wanted == kind and kind <= codes.INSTANT:
                    payload = payloads[i]
                    if kind == codes.STRING:
                        payload = np.int64(ranks[(about >> TRANSFORM_SHIFT) & TRANSFORM_MASK, payload])
                    out_fields[count] = field
                    out_payloads[count] = payload
                    if about & CODED:
                        out_codes[count] = field_code(rows, words, operand_starts, operands, field, payload)
                    else:
                        out_codes[count] = LATER
                    count += 1
                elif wanted == PRESENT or (wanted == LIST_PRESENT and kind == codes.LIST):
                    out_fields[count] = field
                    out_codes[count] = 0
                    count += 1
                elif wanted == PATTERN and kind == codes.STRING:
                    transform = (about >> TRANSFORM_SHIFT) & TRANSFORM_MASK
                    count = _activate_patterns(fields, field, transform, bound, payloads[i], scratch, count)
                elif wanted >= ELEMENT and kind == codes.LIST:
                    count = _activate_elements(fields, field, events, bound, payloads[i], out_fields, out_codes, count)
        ends[event - first] = count


@kernel
def _prefetch_rows(
    fields: Fields, rows: NDArray[np.int64], attributes: NDArray[np.int32], numbers: NDArray[np.int32]
) -> None:
    """Ask for the rows of the attributes' first fields."""
    starts = fields.starts
    for i in range(len(attributes)):
        attribute = numbers[attributes[i]]
        if attribute >= 0 and starts[attribute] < starts[attribute + 1]:
            prefetch(rows, WIDTH * np.int64(starts[attribute]))


@kernel
def _activate_elements(
    fields: Fields,
    field: int,
    events: Events,
    bound: Bound,
    number: int,
    out_fields: NDArray[np.int32],
    out_codes: NDArray[np.int32],
    count: int,
) -> int:
    wanted = fields.kinds[field] - ELEMENT
    for j in range(events.list_starts[number], events.list_starts[number + 1]):
        if events.list_types[j] != wanted:
            continue
        payload = events.list_payloads[j]
        if wanted == codes.STRING:
            payload = np.int64(bound.ranks[fields.transforms[field], payload])
        code = code_of(fields.operands, fields.operand_starts[field], fields.operand_starts[field + 1], payload)
        if code & 1:  # only an operand's own code is under any key
            out_fields[count] = field
            out_codes[count] = code
            count += 1
    return count


@kernel
def _activate_patterns(
    fields: Fields, field: int, transform: int, bound: Bound, string: int, scratch: Scratch, count: int
) -> int:
    """Write the operands of a field that are among the patterns that a string fits."""
    text = np.int64(transform) * bound.ranks.shape[1] + string
    first, stop = fields.operand_starts[field], fields.operand_starts[field + 1]
    for j in range(bound.fit_starts[text], bound.fit_starts[text + 1]):
        code = code_of(fields.operands, first, stop, np.int64(bound.fits[j]))
        if code & 1:
            scratch.fields[count] = field
            scratch.codes[count] = code
            count += 1
    return count


@inlined
def show(
    fields: NDArray[np.int32],
    pair_codes: NDArray[np.int32],
    payloads: NDArray[np.int64],
    rows: NDArray[np.int64],
    words: NDArray[np.uint64],
    operand_starts: NDArray[np.int64],
    operands: NDArray[np.int64],
    first: int,
    stop: int,
    values: NDArray[np.int32],
) -> None:
    """Lay the codes of pairs [first, stop) out by field, for an event's predicates to be tested on."""
    for pair in range(np.uint64(first), np.uint64(stop)):
        field = np.uint64(fields[pair])
        code = pair_codes[pair]
        if code == LATER:
            code = field_code(rows, words, operand_starts, operands, field, payloads[pair])
        values[field] = code


@inlined
def hide(fields: NDArray[np.int32], first: int, stop: int, values: NDArray[np.int32]) -> None:
    """Clear them again."""
    for pair in range(np.uint64(first), np.uint64(stop)):
        values[np.uint64(fields[pair])] = ABSENT
