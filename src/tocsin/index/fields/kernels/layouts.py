"""Layouts of fields: attributes seen as kinds, whose values are rank codes.

An event's value of a field becomes a rank code among the field's operands: 2 r + 1 is operand r, and 2 r lies just
before it. So every predicate on the field is an inclusive range of codes. An absent value is -1, which is in no range.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.kernels import codes

LOWEST_CODE: Final = 0
HIGHEST_CODE: Final = 2**31 - 1
ABSENT: Final = -1
LATER: Final = -2  # present, with a code that is computed only when a predicate is tested

# Kinds of fields besides the types of values (`codes.NUMBER` .. `codes.INSTANT`), whose code is the value's.
LIST_PRESENT: Final = 4  # the attribute is a list
CELL: Final = 5  # each cell of a grid that a point or box lies in; the transform of the field is the grid: `cells`
PATTERN: Final = 6  # each pattern that a string fits: 2 p for LIKE pattern p, 2 r + 1 for regular expression r
PRESENT: Final = 7  # the attribute is present, with any type
ELEMENT: Final = 8  # + a type: each element of that type in a list; an event may have many
NULL: Final = 12  # the attribute is absent

ONE_VALUED: Final = (codes.NUMBER, codes.STRING, codes.BOOLEAN, codes.INSTANT, NULL)
"""An event has at most one code of a field of these kinds."""

NULL_PAYLOAD: Final = 0
NULL_CODE: Final = 1
"""The only operand of a field of kind NULL, and its code."""


class Fields(NamedTuple):
    """An attribute, seen as a kind, through a transform. A attributes, D fields, O operands."""

    starts: NDArray[np.int32]  # (A + 1,) fields [starts[a], starts[a + 1]) are attribute a's
    kinds: NDArray[np.uint8]  # (D,)
    transforms: NDArray[np.uint16]  # (D,) of strings; the grid of a CELL
    operand_starts: NDArray[np.int64]  # (D + 1,)
    operands: NDArray[np.int64]  # (O,) payloads, strings as codes of the vocabulary; ascending within a field
