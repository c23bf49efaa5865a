"""What does a BE-tree hold, how does that lie among named arrays, and do its numbers stay within them?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.expressions.checks import ascending, check_below, check_starts, require, require_type
from tocsin.index.boolean.be_tree.kernels.finding import Tree
from tocsin.index.boolean.conjunctions.code_sets import Conjunctions


@dataclass(frozen=True, slots=True)
class BETreeLayout:
    """The tree, and its conjunctions in the order of their l-nodes."""

    tree: Tree
    conjunctions: Conjunctions

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Every array under its name."""
        return self.conjunctions.arrays() | {f"tree.{name}": array for name, array in self.tree._asdict().items()}

    @classmethod
    def restored(cls, arrays: Mapping[str, NDArray[Any]]) -> BETreeLayout:
        """From its arrays; `ValueError` or `KeyError` where an offset or a number is out of range."""
        conjunctions = Conjunctions.restored(arrays)
        for name in Tree._fields:
            kind = np.int64 if name.endswith("starts") else np.int32
            require_type(f"tree.{name}", arrays[f"tree.{name}"], kind, 1)
        layout = cls(Tree(**{name: arrays[f"tree.{name}"] for name in Tree._fields}), conjunctions)
        _check(layout)
        return layout


def _check(layout: BETreeLayout) -> None:
    """Every node is below one other, which has a lower number: there is no way round, and no way out."""
    tree, held = layout.tree, layout.conjunctions
    count = len(tree.fields)
    require(count > 0, "there is no root")
    require(
        all(len(array) == count for array in (tree.lows, tree.highs, tree.lefts, tree.rights)),
        "the c-nodes differ in length",
    )
    check_starts("members", tree.member_starts, len(held))
    check_starts("directories", tree.directory_starts, len(tree.p_fields))
    require(len(tree.member_starts) == count + 1 == len(tree.directory_starts), "the lists do not fit the c-nodes")
    require(len(tree.p_tops) == len(tree.p_fields), "the p-nodes differ in length")
    require(tree.fields[0] == tree.lows[0] == tree.highs[0] == -1, "the root has a range")
    check_below("field of a c-node", tree.fields[1:], len(held.fields.kinds))
    check_below("field of a p-node", tree.p_fields, len(held.fields.kinds))
    owners = np.repeat(np.arange(count), np.diff(tree.directory_starts))
    require(ascending(owners * len(held.fields.kinds) + tree.p_fields), "a directory is out of order")
    _check_below(tree, owners)
    _check_ranges(layout)


def _check_below(tree: Tree, owners: NDArray[np.int64]) -> None:
    numbers = np.arange(len(tree.fields))
    halves = np.concatenate([tree.lefts, tree.rights])
    above = np.concatenate([numbers, numbers])[halves != -1]
    below = np.concatenate([halves[halves != -1], tree.p_tops])
    require((below > np.concatenate([above, owners])).all(), "a node is above the one that it is below")
    require(np.array_equal(np.sort(below), numbers[1:]), "a node is below none, or below two")


def _check_ranges(layout: BETreeLayout) -> None:
    """A p-node begins with all values of its field, and each half is one."""
    tree, fields = layout.tree, layout.conjunctions.fields
    tops = tree.p_tops
    require((tree.fields[tops] == tree.p_fields).all(), "a p-node's values are of another field")
    require((tree.lows[tops] == 0).all(), "a p-node's values do not begin with the first")
    require((tree.highs[tops] == 2 * np.diff(fields.operand_starts)[tree.p_fields]).all(), "a p-node lacks values")
    middles = (tree.lows.astype(np.int64) + tree.highs) >> 1
    for halves, lows, highs in ((tree.lefts, tree.lows, middles), (tree.rights, middles + 1, tree.highs)):
        have = halves != -1
        own = halves[have]
        require(not have[0], "the root has halves")
        require((tree.fields[own] == tree.fields[have]).all(), "a half is of another field")
        sound = (tree.lows[own] == lows[have]) & (tree.highs[own] == highs[have])
        require((sound & (tree.lows[own] <= tree.highs[own])).all(), "a half is no half")
