"""The forms of conditions' names: what stands before the constant. Many conditions share each form.

A name is read once: its form is looked up, and only a new form is parsed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.errors import SegmentError
from tocsin.language.operators.distance import DISTANCE
from tocsin.language.operators.spatial import PLACE
from tocsin.model.readings import PART, PLACED_OR_NOT, reading_of

_OPENS: Final = f"({PLACE}, "
_PAIR: Final = re.compile(r'(?:[^\s("]+|"(?:[^"]|"")+")\)')

SHAPES: Final = 0
CIRCLES: Final = 1
PAIRS: Final = 2


class Forms(NamedTuple):
    """What some names ask, without their constants. N names, F distinct forms."""

    numbers: NDArray[np.int64]  # (N,) the form of each
    functions: list[str]  # (F,)
    says_false: NDArray[np.bool_]  # (N,) whether a condition must also be reported if FALSE
    about: NDArray[np.uint8]  # (N,) SHAPES, CIRCLES or PAIRS
    begins: NDArray[np.int64]  # (N,) where the second argument begins

    @classmethod
    def of(cls, names: Sequence[str]) -> Forms:
        """Cost: a look-up for each name. Raises `SegmentError` for a name that is not a condition on a place."""
        known: dict[str, int] = {}
        numbers, begins, pairs = np.empty(len(names), np.int64), np.empty(len(names), np.int64), []
        for place, name in enumerate(names):
            begins[place] = begin = begin_of(name)
            numbers[place] = known.setdefault(name[:begin], len(known))
            if (name[begin : begin + 1] == '"' or name.find("(", begin) < 0) and _PAIR.fullmatch(name, begin):
                pairs.append(place)
        readings = [reading_of(head) for head in known]
        functions = [one.rest[: -len(_OPENS)] for one in readings]
        about = np.array([CIRCLES if function == DISTANCE else SHAPES for function in functions], np.uint8)[numbers]
        about[pairs] = PAIRS
        says_false = np.array([one.kind == PLACED_OR_NOT for one in readings], bool)[numbers]
        return cls(numbers, functions, says_false, about, begins)

    def only(self, chosen: NDArray[np.int64]) -> Forms:
        """Those of some of the names."""
        numbers, _, says_false, about, begins = self
        return Forms(numbers[chosen], self.functions, says_false[chosen], about[chosen], begins[chosen])


def begin_of(name: str) -> int:
    """Where the second argument of a condition's name begins. Raises `SegmentError` if there is none."""
    try:
        return name.index(_OPENS, name.index(PART, 1)) + len(_OPENS)
    except ValueError:
        raise SegmentError(f"a spatial predicate was changed on disk: {name!r:.80}. Compile it again.") from None
