"""Layouts of boxes, and of the events that meet them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import inlined
from tocsin.kernels.programs.layouts import Bound, Events

# Columns of a box, of coordinates or of codes, in the order of the boxes of events.
LEFT, LOWER, RIGHT, UPPER = range(4)


class Coming(NamedTuple):
    """Events, and the live subscriptions. S subscriptions."""

    events: Events
    bound: Bound
    alive: NDArray[np.uint64]  # (S / 64 + 1,)
    is_anyone_gone: bool


@inlined
def meets(boxes: NDArray[Any], one: int, asked: Any) -> bool:
    """Whether a box and an event's box (`left`, `lower`, `right`, `upper`) share a point; both are closed."""
    return (
        (boxes[one, LEFT] <= asked.right)
        & (asked.left <= boxes[one, RIGHT])
        & (boxes[one, LOWER] <= asked.upper)
        & (asked.lower <= boxes[one, UPPER])
    )
