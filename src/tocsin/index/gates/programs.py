"""Which conditions on places subscriptions use beside others, and their programs without these conditions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.leaf_kinds import ATTRIBUTES, refers
from tocsin.columns.expressions.programs import depths, leaf_places
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Expressions
from tocsin.model.readings import reading_of


class Uses(NamedTuple):
    """Where expressions use conditions. U uses, each a literal."""

    of_leaves: NDArray[np.int64]  # (F,) the condition that a leaf asks to be TRUE, or -1
    others: NDArray[np.int64]  # conditions that are also used in other ways
    owners: NDArray[np.int64]  # (U,) the expression
    conditions: NDArray[np.int64]  # (U,)
    is_plain: NDArray[np.bool_]  # (U,) whether the expression also needs other conditions, and this one to be TRUE

    @classmethod
    def of(cls, compiled: CompiledExpressions, conditions: NDArray[np.int64]) -> Uses:
        arrays = compiled.arrays
        program, starts = arrays.program, arrays.program_starts
        places = np.flatnonzero(leaf_places(program))
        leaves = program[places] >> 1
        of_leaves = _asked_by(arrays, conditions)
        owners = np.searchsorted(starts, places, side="right") - 1
        has_others = _have_others(arrays, places, leaves, owners, _are_pending(compiled))
        used = np.flatnonzero(of_leaves[leaves] >= 0)
        is_plain = has_others[owners[used]] & (program[places[used]] & 1 == 0)
        others = _used_otherwise(arrays, conditions, of_leaves)
        return cls(of_leaves, others, owners[used], of_leaves[leaves[used]], is_plain)

    def may_be_gated(self, able: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """(N,) which conditions are gated, of those that have a box."""
        found = able.copy()
        found[self.conditions[~self.is_plain]] = False
        found[self.others] = False
        return found

    def of_gated(self, is_gated: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The expressions that use gated conditions, ascending, with these."""
        own = is_gated[self.conditions]
        return self.owners[own], self.conditions[own]


def _asked_by(arrays: Expressions, conditions: NDArray[np.int64]) -> NDArray[np.int64]:
    """(F,) the condition that each leaf asks to be TRUE, or -1; `conditions` are those of the attributes."""
    asks = (arrays.leaf_kinds == codes.RANGE) & (arrays.leaf_types == codes.BOOLEAN)
    asks &= (arrays.leaf_lows == 1) & (arrays.leaf_highs == 1)
    found = np.full(len(asks), -1)
    found[asks] = conditions[arrays.leaf_attributes[asks]]
    return found


def _used_otherwise(
    arrays: Expressions, conditions: NDArray[np.int64], of_leaves: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The conditions that leaves ask for in another way, or that are used as values."""
    plain = refers(arrays.leaf_kinds, "leaf_attributes", ATTRIBUTES) & (of_leaves < 0)
    pairs = refers(arrays.leaf_kinds, "leaf_others", ATTRIBUTES)
    named = (
        arrays.leaf_attributes[plain],
        arrays.leaf_others[pairs],
        arrays.term_arguments[arrays.term_codes == codes.TERM_ATTRIBUTE],
    )
    as_values = of_leaves[arrays.truth_arguments[arrays.truth_codes == codes.TRUTH_LEAF]]
    found = np.concatenate([*(conditions[numbers] for numbers in named), as_values])
    used: NDArray[np.int64] = found[found >= 0]
    return used


def _are_pending(compiled: CompiledExpressions) -> NDArray[np.bool_]:
    """(F,) which leaves ask for what is not known before places are, or may do so."""
    arrays = compiled.arrays
    readings = [reading_of(name) for name in compiled.attributes]
    names = np.array([one.is_of_place or one.is_condition for one in readings], bool)
    plain = refers(arrays.leaf_kinds, "leaf_attributes", ATTRIBUTES)
    pending = ~plain & ~_are_constant(arrays)
    pending[plain] = names[arrays.leaf_attributes[plain]]
    return pending


def _are_constant(arrays: Expressions) -> NDArray[np.bool_]:
    """(F,) which leaves are the same for every event."""
    return np.isin(arrays.leaf_kinds, (codes.TRUE_LEAF, codes.FALSE_LEAF, codes.UNKNOWN_LEAF))


def _have_others(
    arrays: Expressions,
    places: NDArray[np.int64],
    leaves: NDArray[np.int32],
    owners: NDArray[np.int64],
    pending: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """(S,) whether the outermost AND of each expression has a part that is known before places are."""
    program = arrays.program
    begins = np.zeros(len(program), bool)
    depth = depths(program)
    begins[places[depth[places] == 0]] = True
    marks = np.flatnonzero(program < 0)
    begins[marks[depth[marks] == 1]] = True
    parts = np.cumsum(begins)[places] - 1
    is_open = np.bincount(parts, (pending | _are_constant(arrays))[leaves], minlength=int(begins.sum())) > 0
    found = np.zeros(len(arrays.program_starts) - 1, bool)
    found[owners[~is_open[parts]]] = True
    return found


def relaxed(
    compiled: CompiledExpressions,
    attribute: str,
    conditions: NDArray[np.int64],
    is_gated: NDArray[np.bool_],
    bounds: NDArray[np.float64],
) -> CompiledExpressions:
    """The expressions with boxes in place of gated conditions, and TRUE in place of what is not known yet."""
    arrays, names = compiled.arrays, list(compiled.attributes)
    asked, pending = _asked_by(arrays, conditions), _are_pending(compiled)
    boxed = (asked >= 0) & is_gated[np.maximum(asked, 0)]
    if attribute not in names:
        names.append(attribute)
    program = arrays.program.copy()
    places = np.flatnonzero(leaf_places(program))
    program[places[(pending & ~boxed)[program[places] >> 1]]] &= ~1  # NOT of what is not known yet is not known either
    columns: dict[str, NDArray[Any]] = {
        name: array.copy() for name, array in arrays._asdict().items() if name.startswith("leaf_")
    }
    for column in columns.values():
        column[pending] = 0
    columns["leaf_kinds"][pending] = np.where(boxed, codes.INTERSECTS, codes.TRUE_LEAF)[pending]
    columns["leaf_types"][boxed] = codes.GEOMETRY
    columns["leaf_attributes"][boxed] = names.index(attribute)
    columns["leaf_others"][boxed] = len(arrays.boxes) + asked[boxed]
    changed = arrays._replace(
        program=frozen(program, np.int32),
        boxes=frozen(np.concatenate([arrays.boxes, bounds]), np.float64),
        **{name: frozen(column, column.dtype) for name, column in columns.items()},
    )
    return replace(compiled, arrays=changed, attributes=names).with_attributes(len(names))
