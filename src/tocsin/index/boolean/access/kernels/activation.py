"""Activation of events: the (field, code) pairs by which an access index looks up its lists."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.index.boolean.access.kernels.directory import (
    CODED,
    KIND_MASK,
    TRANSFORM_MASK,
    TRANSFORM_SHIFT,
    WIDTH,
    Index,
    field_code,
    row_of,
)
from tocsin.index.boolean.access.kernels.layouts import Scratch
from tocsin.index.fields.kernels.cells import cell_of, cell_payload, column_of, row_of_cell
from tocsin.index.fields.kernels.keys import code_of
from tocsin.index.fields.kernels.layouts import (
    ABSENT,
    CELL,
    ELEMENT,
    LATER,
    LIST_PRESENT,
    NULL,
    NULL_CODE,
    PATTERN,
    PRESENT,
    Fields,
)
from tocsin.jit.decorators import inlined, inner, kernel
from tocsin.jit.intrinsics import prefetch
from tocsin.jit.views import viewed
from tocsin.kernels import codes
from tocsin.kernels.programs.boxes import box_number
from tocsin.kernels.programs.layouts import Bound, Events

_ONE = np.uint64(1)
_TWO = np.uint64(2)

# Typed, so that functions are not compiled once for each literal type.
HERE: Final = np.uint8(1)
GONE: Final = np.uint8(0)


@kernel
def widest_activation(fields: Fields, events: Events, bound: Bound, together: int) -> int:
    """The most (field, code) pairs that `together` neighbouring events activate, in blocks from the first event on."""
    fields, events, bound = viewed(fields), viewed(events), viewed(bound)
    widest = np.int64(0)
    count = np.int64(0)
    nulls = np.int64(0)
    for field in range(len(fields.kinds)):
        nulls += fields.kinds[field] == NULL
    for event in range(len(events.starts) - 1):
        count = nulls + (np.int64(0) if event % together == 0 else count)
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
            box = box_number(events.types[i], events.payloads[i], events.list_boxes)
            if box >= 0 and not _is_point(events.boxes, box):
                count += _most_cells(fields, attribute)
        widest = max(widest, count)
    return widest


@inlined
def _is_point(boxes: NDArray[np.float64], box: int) -> bool:
    return boxes[box, 0] == boxes[box, 2] and boxes[box, 1] == boxes[box, 3]


@inlined
def _most_cells(fields: Fields, attribute: int) -> int:
    """The most cells with subscriptions that a box can meet."""
    most = np.int64(0)
    for field in range(fields.starts[attribute], fields.starts[attribute + 1]):
        if fields.kinds[field] == CELL:
            most += fields.operand_starts[field + 1] - fields.operand_starts[field]
    return most


@inlined
def _most_fits(bound: Bound, string: int) -> int:
    """The most patterns that a string fits, under any transform."""
    most = np.int64(0)
    for transform in range(bound.ranks.shape[0]):
        text = np.int64(transform) * bound.ranks.shape[1] + string
        most = max(most, bound.fit_starts[text + 1] - bound.fit_starts[text])
    return most


@inner
def activate(index: Index, memory: Scratch, events: Events, bound: Bound, first: int, stop: int) -> None:
    """Write the pairs that each event of [first, stop) activates, one event after another, and where they end."""
    fields, rows, ends = index.lists.fields, index.directory.rows, memory.pair_ends
    nulls = index.directory.nulls
    out_fields, out_codes, out_payloads = memory.fields, memory.codes, memory.payloads
    starts, numbers, ranks = fields.starts, bound.attributes, bound.ranks
    event_starts, attributes, types, payloads = events.starts, events.attributes, events.types, events.payloads
    _prefetch_rows(starts, rows, attributes[event_starts[first] : event_starts[stop]], numbers)
    count = np.int64(0)
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
                    out_codes[count] = (
                        field_code(index, np.uint64(field), payload) if about & CODED else np.int64(LATER)
                    )
                    count += 1
                elif wanted == PRESENT or (wanted == LIST_PRESENT and kind == codes.LIST):
                    out_fields[count] = field
                    out_codes[count] = 0
                    count += 1
                elif wanted == PATTERN and kind == codes.STRING:
                    transform = (about >> TRANSFORM_SHIFT) & TRANSFORM_MASK
                    count = _activate_patterns(fields, field, transform, bound, payloads[i], memory, count)
                elif wanted == CELL:
                    grid = (about >> TRANSFORM_SHIFT) & TRANSFORM_MASK
                    box = box_number(kind, payloads[i], events.list_boxes)
                    if box >= 0:
                        count = _activate_cells(fields, field, grid, events.boxes, box, memory, count)
                elif wanted >= ELEMENT and wanted < NULL and kind == codes.LIST:
                    count = _activate_elements(fields, field, events, bound, payloads[i], memory, count)
        if len(nulls) > 0:
            count = _activate_nulls(index, memory, events, bound, event, count)
        ends[event - first + 1] = count
    ends[stop - first + 1] = count


@inlined
def _prefetch_rows(
    starts: NDArray[np.int32], rows: NDArray[np.int64], attributes: NDArray[np.int32], numbers: NDArray[np.int32]
) -> None:
    """Prefetch the rows of the attributes' first fields."""
    for i in range(len(attributes)):
        attribute = numbers[attributes[i]]
        if attribute >= 0 and starts[attribute] < starts[attribute + 1]:
            prefetch(rows, WIDTH * np.int64(starts[attribute]))


@inlined
def mark_present(memory: Scratch, events: Events, bound: Bound, event: int, mark: int) -> None:
    """Set the mark of each attribute that the event has."""
    present, numbers, attributes = memory.present, bound.attributes, events.attributes
    for i in range(np.uint64(events.starts[event]), np.uint64(events.starts[event + 1])):
        attribute = numbers[attributes[i]]
        if attribute >= 0:
            present[attribute] = mark


@inlined
def _activate_nulls(index: Index, memory: Scratch, events: Events, bound: Bound, event: int, count: int) -> int:
    """Write the NULL fields of attributes that the event does not have."""
    nulls, present = index.directory.nulls, memory.present
    mark_present(memory, events, bound, event, HERE)
    for n in range(np.uint64(0), np.uint64(len(nulls)), _TWO):
        memory.fields[count], memory.codes[count] = nulls[n], NULL_CODE
        count += 1 - np.int64(present[nulls[n + _ONE]])
    mark_present(memory, events, bound, event, GONE)
    return count


@inlined
def _activate_elements(
    fields: Fields,
    field: int,
    events: Events,
    bound: Bound,
    number: int,
    memory: Scratch,
    count: int,
) -> int:
    """Write the operands of a field that are elements of a list."""
    wanted = fields.kinds[field] - ELEMENT
    for j in range(events.list_starts[number], events.list_starts[number + 1]):
        if events.list_types[j] != wanted:
            continue
        payload = events.list_payloads[j]
        if wanted == codes.STRING:
            payload = np.int64(bound.ranks[fields.transforms[field], payload])
        code = code_of(fields.operands, fields.operand_starts[field], fields.operand_starts[field + 1], payload)
        if code & 1:  # keys hold only operands' own codes
            memory.fields[count] = field
            memory.codes[count] = code
            count += 1
    return count


@inlined
def _activate_patterns(
    fields: Fields, field: int, transform: int, bound: Bound, string: int, memory: Scratch, count: int
) -> int:
    """Write the operands of a field that are patterns which a string fits."""
    text = np.int64(transform) * bound.ranks.shape[1] + string
    first, stop = fields.operand_starts[field], fields.operand_starts[field + 1]
    for j in range(bound.fit_starts[text], bound.fit_starts[text + 1]):
        code = code_of(fields.operands, first, stop, np.int64(bound.fits[j]))
        if code & 1:
            memory.fields[count] = field
            memory.codes[count] = code
            count += 1
    return count


@inlined
def _activate_cells(
    fields: Fields, field: int, grid: int, boxes: NDArray[np.float64], box: int, memory: Scratch, count: int
) -> int:
    """Write the cells among a field's operands that a box meets.

    If the box spans several cells, all operands are tested.
    """
    first, stop = fields.operand_starts[field], fields.operand_starts[field + 1]
    left, right = cell_of(boxes[box, 0], grid), cell_of(boxes[box, 2], grid)
    lower, upper = cell_of(boxes[box, 1], grid), cell_of(boxes[box, 3], grid)
    if left == right and lower == upper:
        code = code_of(fields.operands, first, stop, cell_payload(left, lower))
        if code & 1:
            memory.fields[count] = field
            memory.codes[count] = code
            count += 1
        return count
    for operand in range(first, stop):
        column, row = column_of(fields.operands[operand]), row_of_cell(fields.operands[operand])
        inside = (min(left, right) <= column) & (column <= max(left, right))
        if inside & (min(lower, upper) <= row) & (row <= max(lower, upper)):
            memory.fields[count] = field
            memory.codes[count] = 2 * (operand - first) + 1
            count += 1
    return count


@inlined
def show(index: Index, memory: Scratch, first: int, stop: int) -> None:
    """Write the codes of pairs [first, stop) by field, so that an event's predicates can be tested."""
    fields, pair_codes, payloads, values = memory.fields, memory.codes, memory.payloads, memory.values
    for pair in range(np.uint64(first), np.uint64(stop)):
        field = np.uint64(fields[pair])
        code = pair_codes[pair]
        values[field] = field_code(index, field, payloads[pair]) if code == LATER else np.int64(code)


@inlined
def hide(memory: Scratch, first: int, stop: int) -> None:
    """Clear the codes that `show` wrote."""
    fields, values = memory.fields, memory.values
    for pair in range(np.uint64(first), np.uint64(stop)):
        values[np.uint64(fields[pair])] = ABSENT
