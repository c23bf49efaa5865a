"""Which of many boxes do points lie in? Boxes as rectangles in tiles, by number."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tocsin.columns.events.batch import Wanted
from tocsin.columns.events.tables import encode_table
from tocsin.columns.expressions.conjunctions import compile_conjunctions
from tocsin.index.rectangles.tiles import TilesBuilder
from tocsin.kernels import codes

_AXES: Final = ("x", "y")
_OPERATIONS: Final = (codes.GREATER_OR_EQUAL, codes.LESS_OR_EQUAL) * 2


class Boxes:
    """Boxes (B, 4) with closed edges: xmin, ymin, xmax, ymax. Immutable."""

    def __init__(self, boxes: NDArray[np.float64]) -> None:
        count = len(boxes)
        sides = np.ascontiguousarray(boxes[:, [0, 2, 1, 3]]).reshape(-1)
        attributes = np.tile(np.array([0, 0, 1, 1], np.int32), count)
        operations = np.tile(np.array(_OPERATIONS, np.uint8), count)
        compiled = compile_conjunctions(_AXES, 4 * np.arange(count + 1), attributes, operations, sides)
        self._matcher = TilesBuilder().build(compiled)

    def around(self, points: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Which points (rows of x and y) lie in which boxes, by point, then box."""
        table = pa.table(dict(zip(_AXES, np.ascontiguousarray(points.T), strict=True)))
        found = self._matcher.match(encode_table(table, Wanted(self._matcher.attributes)))
        return found.events, found.subscriptions.astype(np.int64)
