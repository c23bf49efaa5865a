"""What do all scored interval indexes hold? Intervals of rank codes in groups; over them each has a table of its own.

A group is what one query stabs: the intervals of one field. An interval's *place* is its rank within all groups, best
first in each: of two places in a group the lower has the higher score or, of equal ones, the lower owner.

Paper: Machanavajjhala, Vee, Garofalakis, Shanmugasundaram 2008, sections 2 and 3.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Ranges(NamedTuple):
    """Intervals by place. G groups, N intervals."""

    starts: NDArray[np.int64]  # (G + 1,) places [starts[g], starts[g + 1]) are group g's
    lows: NDArray[np.int32]  # (N,) the lowest and the highest code, included
    highs: NDArray[np.int32]  # (N,) at most last[g]
    last: NDArray[np.int64]  # (G,) the highest code that a value of the group can have


EXAMINED: Final = 2
"""Where the state of a cursor, whatever its structure, counts the entries that were looked at."""
