"""Alternatives: conditions in one OR that are about the same attribute, and of which one is enough.

`SOME(x, c)` is compiled to an OR: `c` is about the value of `x`, or about an element of the list `x`. Of events without
lists, the second can never hold, and of events with lists the first. Neither deserves a warning, unless the other can
never hold, too.

`NOT HOLDS(c)` is compiled to `NOT c OR c IS NULL`. It is meant for events without the value, or with one of another
type, and gets no warning.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import gathered
from tocsin.columns.expressions.asking import Asks, Literals
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.kernels import codes
from tocsin.model.readings import attribute_of, reading_of

_ALONE: Final = -1
_NEVER: Final = -2


class Alternatives(NamedTuple):
    """Which literals are alternatives. L literals, N sets of alternatives."""

    sets: NDArray[np.int64]  # (L,) the set of each literal; -1 if it stands for itself, -2 if no warning is about it
    owners: NDArray[np.int64]  # (N,) the expression

    @property
    def alone(self) -> NDArray[np.bool_]:
        """(L,) which literals stand for themselves."""
        alone: NDArray[np.bool_] = self.sets == _ALONE
        return alone

    @property
    def among(self) -> NDArray[np.int64]:
        """The literals in sets."""
        return np.flatnonzero(self.sets >= 0)


def alternatives_in(compiled: CompiledExpressions, found: Literals, asks: Asks) -> Alternatives:
    """The alternatives among the literals of expressions. Cost: linear; microseconds for each one in such an OR."""
    sets = np.full(len(found.leaves), _ALONE, np.int64)
    lists, of_nulls = _lists_asked(compiled, found), _null_literals(compiled, found)
    groups = [*lists, *found.groups[of_nulls].tolist()]
    if not groups:
        return Alternatives(sets, np.empty(0, np.int64))
    inside = np.flatnonzero(np.isin(found.owners, [_owner_of(group, found) for group in groups]))
    names = _names(compiled, asks, found.leaves[inside])
    nulls: dict[int, set[str]] = {}
    for row in of_nulls.tolist():
        nulls.setdefault(int(found.groups[row]), set()).update(names.get(int(found.leaves[row]), ()))
    numbers: dict[tuple[int, str], int] = {}
    owners: list[int] = []
    for row in inside.tolist():
        named = names.get(int(found.leaves[row]), set())
        around = list(_enclosing(int(found.groups[row]), found))
        if named and any(named <= nulls.get(group, set()) for group in around):
            sets[row] = _NEVER
            continue
        for group in reversed(around):  # the outermost OR decides
            own = [one for one in lists.get(group, ()) if any(f"{name}.".startswith(f"{one}.") for name in named)]
            if own:
                sets[row] = numbers.setdefault((group, min(own, key=len)), len(numbers))
                owners += [int(found.owners[row])] * (len(numbers) - len(owners))
                break
    return Alternatives(sets, np.array(owners, np.int64))


def _lists_asked(compiled: CompiledExpressions, found: Literals) -> dict[int, list[str]]:
    """The lists whose elements the literals of an OR are about, by the OR."""
    readings = [reading_of(name) for name in compiled.attributes]
    leaves = compiled.arrays
    on_elements = np.append(np.array([one.is_condition for one in readings], bool), False)
    of_leaves = (leaves.leaf_kinds == codes.RANGE) & on_elements[np.minimum(leaves.leaf_attributes, len(readings))]
    lists: dict[int, list[str]] = {}
    for row in np.flatnonzero(of_leaves[found.leaves] & ~found.negated).tolist():
        group = next((one for one in _enclosing(int(found.groups[row]), found) if found.ors[one]), None)
        if group is not None:
            name = readings[leaves.leaf_attributes[found.leaves[row]]].attribute
            lists.setdefault(group, []).append(name)
    return lists


def _null_literals(compiled: CompiledExpressions, found: Literals) -> NDArray[np.int64]:
    """The literals `c IS NULL` of a condition, in an OR."""
    leaves = compiled.arrays
    rows = np.flatnonzero((leaves.leaf_kinds[found.leaves] == codes.TRUTH) & found.is_or & ~found.negated)
    ends = leaves.truth_starts[leaves.leaf_attributes[found.leaves[rows]] + 1] - 1
    return rows[leaves.truth_codes[ends] == codes.TRUTH_IS_NULL] if len(rows) else rows


def _enclosing(group: int, found: Literals) -> Iterator[int]:
    """A group, and those around it."""
    while group >= 0:
        yield group
        group = int(found.parents[group])


def _owner_of(group: int, found: Literals) -> int:
    """The expression of a group."""
    *_, outermost = _enclosing(group, found)
    return outermost


def _names(compiled: CompiledExpressions, asks: Asks, leaves: NDArray[np.int64]) -> dict[int, set[str]]:
    """The attributes that some leaves ask for. A condition used as a value asks for those of the leaves in it."""
    arrays = compiled.arrays
    of_truths = np.unique(leaves[arrays.leaf_kinds[leaves] == codes.TRUTH])
    steps, outer = gathered(arrays.truth_starts, arrays.leaf_attributes[of_truths])
    inner = arrays.truth_arguments[steps]
    is_leaf = arrays.truth_codes[steps] == codes.TRUTH_LEAF
    attributes = [attribute_of(name) for name in compiled.attributes]
    rows = np.flatnonzero(np.isin(asks.leaves, np.concatenate([leaves, inner[is_leaf]])))
    found: dict[int, set[str]] = {}
    for leaf, first in zip(asks.leaves[rows].tolist(), asks.first[rows].tolist(), strict=True):
        found.setdefault(leaf, set()).add(attributes[first])
    for leaf, one in zip(of_truths[outer[is_leaf]].tolist(), inner[is_leaf].tolist(), strict=True):
        found.setdefault(leaf, set()).update(found.get(one, ()))
    return found
