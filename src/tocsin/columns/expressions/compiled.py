"""Compiled expressions: programs over shared leaves, as arrays, and the names behind their numbers.

There are two writers. `writer` compiles one expression after the other, and conjunctions given in columns; `instances`
compiles all instances of templates in a chunk. `joining` concatenates several sets, or selects expressions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import Texts, empty_runs, frozen
from tocsin.jit.views import array_of, hints_of
from tocsin.kernels.programs.layouts import Expressions


@dataclass(frozen=True, slots=True)
class CompiledExpressions:
    """Expressions as arrays, and the names and strings behind their numbers.

    Leaves are in any order and may repeat; `leaf_order` brings them into the order that `scan` needs.
    """

    arrays: Expressions
    attributes: list[str]
    vocabulary: Texts  # the operand strings, sorted
    transforms: list[str]
    regexes: list[tuple[str, int]]  # pattern, transform

    def __len__(self) -> int:
        return len(self.arrays.program_starts) - 1

    def with_attributes(self, count: int) -> CompiledExpressions:
        """The same expressions over the first `count` attributes, without eager leaves so far."""
        return replace(
            self, arrays=self.arrays._replace(eager_starts=empty_runs(count)), attributes=self.attributes[:count]
        )


def _nothing() -> Expressions:
    """Empty arrays of the annotated types."""
    types = {name: array_of(hint)[0] for name, hint in hints_of(Expressions).items()}
    empty = {name: np.zeros(1 if name.endswith("starts") else 0, dtype) for name, dtype in types.items()}
    empty["boxes"] = empty["boxes"].reshape(0, 4)
    return Expressions(**{name: frozen(array, array.dtype) for name, array in empty.items()})


NOTHING: Final = CompiledExpressions(_nothing(), [], Texts.of([]), [""], [])
"""No expressions."""


def leaf_arrays(count: int, **columns: Any) -> dict[str, NDArray[Any]]:
    """Make the `leaf_` arrays of `Expressions` from columns or single values; the rest is 0."""
    return {
        name: frozen(np.broadcast_to(columns.get(name.removeprefix("leaf_"), 0), count), array.dtype)
        for name, array in NOTHING.arrays._asdict().items()
        if name.startswith("leaf_")
    }


def expression_sizes(compiled: CompiledExpressions) -> dict[str, int]:
    """The bytes of `structure` and of `dictionaries`."""
    return {
        "structure": sum(array.nbytes for array in compiled.arrays),
        "dictionaries": text_bytes(compiled.vocabulary) + text_bytes(Texts.of(compiled.attributes)),
    }


def text_bytes(texts: Texts) -> int:
    """The bytes of strings and their offsets."""
    return int(texts.starts.nbytes + texts.data.nbytes)
