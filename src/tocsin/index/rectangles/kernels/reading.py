"""Reading of events: the codes of an event on each axis."""

from __future__ import annotations

import numpy as np

from tocsin.index.fields.kernels.code_sets import scalar_values
from tocsin.index.fields.kernels.keys import code_of
from tocsin.index.filtering.kernels.layouts import Coming
from tocsin.index.rectangles.kernels.layouts import ABSENT, Axes, RectangleTables, Seen
from tocsin.jit.decorators import inlined, inner
from tocsin.kernels.numbers import key_of_number
from tocsin.kernels.programs.boxes import box_number


@inner
def read_axes(tables: RectangleTables, coming: Coming, event: int, seen: Seen) -> int:
    """`read_event`: write the axes that an event has, and its codes; returns how many."""
    axes = tables.axes
    events, names, places = coming.events, coming.bound.attributes, axes.places
    touched, own, lows, highs = seen.touched, seen.codes, seen.lows, seen.highs
    count = scalar_values(axes.fields, events, coming.bound, event, touched, own, seen.payloads)
    for i in range(count):
        lows[touched[i]] = highs[touched[i]] = own[i]
    first, stop = events.starts[event], events.starts[event + 1]
    for i in range(first, stop if len(axes.edges) > 0 else first):
        attribute = names[events.attributes[i]]
        if attribute >= 0 and places[attribute] >= 0:
            box = box_number(events.types[i], events.payloads[i], events.list_boxes)
            if box >= 0:
                side = 2 * np.int64(places[attribute])
                count = _read_box(axes, coming, box, len(axes.fields.kinds) + side, side, seen, count)
    touched[count] = len(lows) - 1
    return np.int64(count + 1)


@inlined
def _read_box(axes: Axes, coming: Coming, box: int, axis: int, side: int, seen: Seen, count: int) -> int:
    """Write both axes of a place."""
    boxes, starts, edges = coming.events.boxes, axes.edge_starts, axes.edges
    for d in range(2):
        first, stop = starts[side + d], starts[side + d + 1]
        seen.lows[axis + d] = code_of(edges, first, stop, key_of_number(boxes[box, d]))
        seen.highs[axis + d] = code_of(edges, first, stop, key_of_number(boxes[box, d + 2]))
        seen.touched[count + d] = axis + d
    return np.int64(count + 2)


@inlined
def forget_axes(tables: RectangleTables, seen: Seen, count: int) -> None:
    """`forget_event`."""
    for i in range(count - 1):
        seen.lows[seen.touched[i]] = ABSENT
