"""A table of addresses of the code for uncommon kinds of leaves.

Patterns, arrays, terms, boxes, conditions used as values, and ranges in events take most of the compilation time of
leaf evaluation. So each part is compiled on its own, when a subscription uses it: `loading` fills the table.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

RANGED: Final = 15
"""The part for events with ranges, after one part for each kind of leaf."""

OWN: Final = RANGED + 1
"""The part reserved for an index: `access` uses it for expressions under keys of several attributes."""

BEST: Final = OWN + 1
"""The part of `access` that keeps an event's best matches."""

PARTS: Final[NDArray[np.int64]] = np.zeros(BEST + 1, np.int64)
"""Addresses, 0 for parts that are not loaded yet; shared by the whole process."""
