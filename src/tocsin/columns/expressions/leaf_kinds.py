"""The table of leaf kinds, and of the tables that leaves refer to.

Joining, sharing, dropping and checking of leaves work on these rows. `kernels/programs/` computes the kinds, and
`index/fields/kernels/keys.py` makes the access keys by which an index finds them.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, gathered, starts_of
from tocsin.columns.payloads import HIGHEST, LOWEST, string_of
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Expressions

ATTRIBUTES: Final = "attributes"
REGEXES: Final = "regexes"


class Table(NamedTuple):
    """Entries that leaves refer to by number: runs of columns with their offsets, or rows of one array."""

    starts: str
    """The name of the array of offsets; empty for rows."""
    columns: tuple[str, ...]

    def length(self, arrays: Expressions) -> int:
        """The number of entries."""
        return len(getattr(arrays, self.starts)) - 1 if self.starts else len(getattr(arrays, self.columns[0]))

    def offsets(self, arrays: Expressions) -> NDArray[np.int64]:
        """The offset of each entry in the columns, and the end of the last."""
        offsets: NDArray[np.int64]
        offsets = getattr(arrays, self.starts) if self.starts else np.arange(self.length(arrays) + 1)
        return offsets

    def chosen(self, arrays: Expressions, numbers: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """The arrays of the chosen entries, by name."""
        starts = self.offsets(arrays)
        members, _ = gathered(starts, numbers)
        own = {name: getattr(arrays, name) for name in self.columns}
        changed = {name: frozen(column[members], column.dtype) for name, column in own.items()}
        if self.starts:
            changed[self.starts] = starts_of(np.diff(starts)[numbers], len(numbers))
        return changed


TABLES: Final = {
    "sets": Table("set_starts", ("set_types", "set_payloads")),
    "patterns": Table("pattern_starts", ("pattern_tokens",)),
    "boxes": Table("", ("boxes",)),
    "terms": Table("term_starts", ("term_codes", "term_arguments", "term_transforms")),
    "truths": Table("truth_starts", ("truth_codes", "truth_arguments")),
}
"""By the name of their pool. Attributes and regular expressions are not among the arrays."""


class LeafKind(NamedTuple):
    """A kind of leaf."""

    first: str = ATTRIBUTES
    """What `leaf_attributes` refers to: attributes, or a table; empty for nothing."""
    other: str = ""
    """What `leaf_others` refers to."""
    cost: int = 1
    """AND and OR evaluate leaves in order of this cost."""
    has_recipe: bool = True
    """Whether a template may have it. Its leaves then differ only in constants and names."""


LEAF_KINDS: Final = {
    codes.RANGE: LeafKind(),
    codes.IN_SET: LeafKind(other="sets"),
    codes.INTERSECTS: LeafKind(other="boxes"),
    codes.IS_NULL: LeafKind(),
    codes.LIKE: LeafKind(other="patterns", cost=2),
    codes.REGEX: LeafKind(other=REGEXES, cost=2),
    codes.ARRAY_SET: LeafKind(other="sets", cost=2),
    codes.ARRAY_PAIR: LeafKind(other=ATTRIBUTES, cost=2),
    codes.COMPARE: LeafKind("terms", "terms", cost=3),
    codes.TERM_IS_NULL: LeafKind("terms", cost=3),
    codes.TRUTH: LeafKind("truths", cost=3),
    codes.TRUE_LEAF: LeafKind("", has_recipe=False),  # the truth of constants differs from text to text
    codes.FALSE_LEAF: LeafKind("", has_recipe=False),
    codes.UNKNOWN_LEAF: LeafKind("", has_recipe=False),
}


def refers(kinds: NDArray[np.uint8], column: str, name: str) -> NDArray[np.bool_]:
    """(F,) which leaves name something of a table in a column, `leaf_attributes` or `leaf_others`."""
    of_kinds = referring(column).get(name)
    return np.zeros(len(kinds), bool) if of_kinds is None else of_kinds[kinds]


@cache
def referring(column: str) -> dict[str, NDArray[np.bool_]]:
    """For each table that a column, `leaf_attributes` or `leaf_others`, refers to: which kinds of leaves do so."""
    numbered = [row.first if column == "leaf_attributes" else row.other for row in LEAF_KINDS.values()]
    return {name: np.array([one == name for one in numbered]) for name in dict.fromkeys(filter(None, numbered))}


def renumbered(
    arrays: Expressions, name: str, numbers: NDArray[np.int64], kinds: NDArray[np.uint8] | None = None
) -> dict[str, NDArray[Any]]:
    """The columns of leaves when number n of a table becomes `numbers[n]`; `kinds` replaces the leaves' kinds."""
    changed = {}
    for column in ("leaf_attributes", "leaf_others"):
        found = getattr(arrays, column).copy()
        refer = refers(arrays.leaf_kinds if kinds is None else kinds, column, name)
        found[refer] = numbers[found[refer]]
        changed[column] = frozen(found, np.int32)
    return changed


def with_strings_numbered(arrays: Expressions, numbers: NDArray[np.int64]) -> Expressions:
    """The same leaves and sets when string n becomes number `numbers[n]`. Elements of sets stay in their order."""
    ranges = (arrays.leaf_kinds == codes.RANGE) & (arrays.leaf_types == codes.STRING)
    lows, highs = arrays.leaf_lows, arrays.leaf_highs
    changes = 2 * (numbers - np.arange(len(numbers)))
    return arrays._replace(
        leaf_lows=_moved(lows, ranges & (lows != LOWEST), changes, at_low_end=True),
        leaf_highs=_moved(highs, ranges & (highs != HIGHEST), changes, at_low_end=False),
        set_payloads=_moved(arrays.set_payloads, arrays.set_types == codes.STRING, changes, at_low_end=False),
    )


def _moved(
    payloads: NDArray[np.int64], chosen: NDArray[np.bool_], changes: NDArray[np.int64], *, at_low_end: bool
) -> NDArray[np.int64]:
    if not chosen.any():
        return payloads
    moved = payloads.copy()
    moved[chosen] += changes[string_of(moved[chosen], at_low_end=at_low_end)]
    return frozen(moved, np.int64)
