"""Compiler of expressions one after the other, into pools and arrays that only grow.

What was read before stays as it is, so a writer may continue while others match. Strings need care, since their order
changes with every new string. So payloads use the numbers in which strings arrived, and each reading renumbers them by
the vocabulary of its time.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import Texts, frozen, inverse
from tocsin.columns.expressions.compiled import NOTHING, CompiledExpressions, leaf_arrays
from tocsin.columns.expressions.growing import Growing
from tocsin.columns.expressions.leaf_kinds import TABLES, with_strings_numbered
from tocsin.columns.expressions.pools import Leaf, Pools
from tocsin.columns.expressions.programs import program_of
from tocsin.columns.expressions.recipes import RecipeBook, filled_program
from tocsin.columns.payloads import HIGHEST, LOWEST, keys_of
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Expressions
from tocsin.language import Instance
from tocsin.model.expression import Expression

_LEAVES: Final = tuple("leaf_" + name + "s" for name in Leaf._fields)
_FEW: Final = 16
"""Up to this many new strings are inserted into the order one by one."""


def compile_expressions(expressions: Iterable[Expression]) -> CompiledExpressions:
    """Compile expressions; number i of the result is the i-th of them. Cost: linear in their nodes."""
    writer = ExpressionWriter(RecipeBook())
    for expression in expressions:
        writer.add(expression)
    return writer.compiled().with_attributes(len(writer.pools.attributes.items))


class ExpressionWriter:
    """Compiled expressions that grow. One thread writes; results of `compiled` stay as they are."""

    def __init__(self, book: RecipeBook) -> None:
        self.pools = Pools()
        self._book = book
        self._arrays = {name: _growing(array) for name, array in NOTHING.arrays._asdict().items()}
        self._programs: list[list[int]] = []  # not in the arrays yet
        self._in_order: list[int] = []  # numbers of the operand strings, in the order of the strings
        self._vocabulary = NOTHING.vocabulary
        self._compiled: CompiledExpressions | None = None

    def __len__(self) -> int:
        return len(self._arrays["program_starts"]) - 1 + len(self._programs)

    def add(self, where: Expression | Instance) -> list[int]:
        """Compile one more expression; returns its program. Cost: some microseconds a predicate."""
        if isinstance(where, Instance):
            instance, recipe = self._book.read(where)
            if recipe is None:
                program = program_of(instance.tree(), self.pools)
            else:
                program = filled_program(recipe, instance.values, self.pools)
        else:
            program = program_of(where, self.pools)
        self._compiled = None
        self._programs.append(program)
        return program

    @property
    def last_program(self) -> list[int]:
        """The program of the expression that was added last, until `compiled` is called."""
        return self._programs[-1]

    def compiled(self) -> CompiledExpressions:
        """The expressions so far as kernels read them. Its list of attributes keeps growing."""
        if self._compiled is None:
            self._keep_up()
            arrays = Expressions(**{name: array.view() for name, array in self._arrays.items()})
            if self._in_order:
                arrays = _with_sorted_sets(with_strings_numbered(arrays, inverse(self._in_order)))
            pools = self.pools
            self._compiled = CompiledExpressions(
                arrays,
                pools.attributes.items,
                self._vocabulary,
                list(pools.transforms.items),
                list(pools.regexes.items),
            )
        return self._compiled

    def _keep_up(self) -> None:
        """Append to the arrays what was added since the last call."""
        lengths, programs = [len(array) for array in self._arrays.values()], self._programs
        try:
            self._append()
        except BaseException:
            for array, length in zip(self._arrays.values(), lengths, strict=True):
                array.cut(length)
            self._programs = programs
            raise

    def _append(self) -> None:
        pools, arrays = self.pools, self._arrays
        self._extend_runs("program_starts", ["program"], self._programs)
        self._extend(_LEAVES, pools.leaves.items[len(arrays["leaf_kinds"]) :])
        for name, (starts, columns) in TABLES.items():
            if starts:
                self._extend_runs(starts, columns, getattr(pools, name).items[len(arrays[starts]) - 1 :])
        arrays["boxes"].extend(np.array(pools.boxes.items[len(arrays["boxes"]) :], np.float64).reshape(-1, 4))
        arrays["constants"].extend(pools.constants.items[len(arrays["constants"]) :])
        self._order_strings()
        self._programs = []

    def _extend_runs(self, starts: str, columns: Sequence[str], runs: Sequence[Sequence[Any]]) -> None:
        if runs:
            ends = len(self._arrays[columns[0]]) + np.cumsum([len(run) for run in runs])
            self._arrays[starts].extend(ends)
            self._extend(columns, [row for run in runs for row in run])

    def _extend(self, columns: Sequence[str], rows: Sequence[Any]) -> None:
        if rows:
            table = np.array(rows, np.int64).reshape(-1, len(columns))
            for name, values in zip(columns, table.T, strict=True):
                self._arrays[name].extend(values)

    def _order_strings(self) -> None:
        strings = self.pools.strings.items
        new = range(len(self._in_order), len(strings))
        if not new:
            return
        in_order = self._in_order.copy()
        if len(new) <= _FEW:
            for number in new:
                insort(in_order, number, key=strings.__getitem__)
        else:
            in_order.extend(new)
            in_order.sort(key=strings.__getitem__)
        vocabulary = Texts.of([strings[number] for number in in_order])
        self._in_order, self._vocabulary = in_order, vocabulary


def _growing(beginning: NDArray[Any]) -> Growing[Any]:
    array: Growing[Any] = Growing(beginning.dtype, beginning.shape[1] if beginning.ndim > 1 else 0)
    array.extend(beginning)
    return array


def _with_sorted_sets(arrays: Expressions) -> Expressions:
    """The same arrays with the elements of each set sorted; strings arrive in any order."""
    types, payloads = arrays.set_types, arrays.set_payloads
    if not (types == codes.STRING).any():
        return arrays
    owners = np.repeat(np.arange(len(arrays.set_starts) - 1), np.diff(arrays.set_starts))
    return arrays._replace(set_payloads=frozen(payloads[np.lexsort((payloads, types, owners))], np.int64))


def compile_conjunctions(
    names: Sequence[str],
    starts: NDArray[np.int64],
    attributes: NDArray[np.int32],
    operations: NDArray[np.uint8],
    values: NDArray[np.float64],
) -> CompiledExpressions:
    """Compile ANDs of comparisons of attributes with numbers; number i of the result is the i-th of them. Cost: linear.

    The S conjunctions, none of them empty, have P predicates in CSR form: `starts` (S + 1,); `attributes` (P,), numbers
    among the names; `operations` (P,), codes.EQUAL .. codes.GREATER_OR_EQUAL; `values` (P,), finite.
    """
    keys, op = keys_of(values), operations
    lows = np.where((op == codes.LESS) | (op == codes.LESS_OR_EQUAL), LOWEST, keys + (op == codes.GREATER))
    highs = np.where((op == codes.GREATER) | (op == codes.GREATER_OR_EQUAL), HIGHEST, keys - (op == codes.LESS))
    count = len(values)
    leaves = leaf_arrays(count, kinds=codes.RANGE, types=codes.NUMBER, attributes=attributes, lows=lows, highs=highs)
    arrays = NOTHING.arrays._replace(
        program_starts=frozen(starts, np.int64),
        program=frozen(2 * np.arange(count, dtype=np.int32) + (op == codes.DIFFERENT), np.int32),
        **leaves,
    )
    return replace(NOTHING, arrays=arrays, attributes=list(names)).with_attributes(len(names))
