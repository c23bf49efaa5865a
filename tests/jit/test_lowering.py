"""Kernels are lowered with less code, and mean the same."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from numpy.typing import NDArray

from tocsin.jit.decorators import inner, kernel
from tocsin.jit.lowering.handing import Handed
from tocsin.jit.lowering.libraries import Linked, WayIn
from tocsin.jit.lowering.pipelines import LinkedPipeline, Pipeline
from tocsin.jit.switch import LOWERING
from tocsin.jit.views import viewed


class Inner(NamedTuple):
    flags: NDArray[np.bool_]
    share: float


class Table(NamedTuple):
    numbers: NDArray[np.int32]
    inside: Inner
    count: int
    grid: NDArray[np.float64]


def table() -> Table:
    return Table(np.arange(5, dtype=np.int32), Inner(np.array([True, False]), 0.25), -7, np.arange(6.0).reshape(2, 3))


@inner
def last_of(numbers: Any) -> Any:
    return numbers[-1]


@kernel
def items_of(table: Table) -> tuple[int, int, bool, float, int, float, int]:
    table = viewed(table)
    numbers = table.numbers
    return (
        numbers[np.uint64(1)],
        last_of(numbers),
        table.inside.flags[-2],
        table.inside.share,
        table.count,
        table.grid[1, 2],
        len(numbers) + table.grid.size,
    )


@kernel
def counted_twice(table: Table) -> int:
    return viewed(table).count + table.count


@kernel
def written(numbers: NDArray[np.int16], flags: NDArray[np.bool_]) -> None:
    for i in range(len(numbers)):
        numbers[-1 - i] = i * 40_000 + (numbers[0] > 0)
        flags[np.uint64(i)] = i % 2


@kernel
def same(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    return numbers


@kernel
def doubled(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    made = np.empty(len(numbers), np.int64)
    for i in range(len(numbers)):
        made[i] = 2 * numbers[i]
    return made


def described(function: Any) -> Any:
    (compiled,) = function.overloads.values()
    return compiled


def test_items_are_those_that_python_reads() -> None:
    """From both ends, with signed and unsigned indices, of nested tables and of arrays with two dimensions."""
    assert items_of(table()) == (1, 4, True, 0.25, -7, 5.0, 11)


def test_items_are_written_as_numpy_converts_them() -> None:
    """An integer that is too large for the array keeps its lowest bits."""
    numbers, flags = np.zeros(4, np.int16), np.zeros(4, np.bool_)

    written(numbers, flags)

    assert numbers.tolist() == [np.int64(i * 40_000).astype(np.int16) for i in (3, 2, 1, 0)]
    assert flags.tolist() == [False, True, False, True]


@pytest.mark.skipif(not LOWERING, reason="Numba passes the arrays of a table one by one")
def test_a_table_that_is_only_viewed_is_handed_over_as_words() -> None:
    """Any other use needs the table itself, and the signature names the table in both cases."""
    items_of(table())

    assert counted_twice(table()) == -14
    assert [isinstance(one, Handed) for one in described(items_of).fndesc.argtypes] == [True]
    assert [isinstance(one, Handed) for one in described(counted_twice).fndesc.argtypes] == [False]
    assert described(items_of).signature.args == described(counted_twice).signature.args


def test_a_number_of_another_kind_in_a_table_is_an_error() -> None:
    """Where the types were right once, and Python's call passes them by."""
    items_of(table())
    entry = described(items_of).entry_point

    with pytest.raises(TypeError):
        entry(table()._replace(numbers="no array"))


def test_arrays_keep_their_references() -> None:
    """A kernel that returns an array counts them; the others borrow what Python holds."""
    numbers = np.arange(3)
    held = table()
    before = sys.getrefcount(numbers), sys.getrefcount(held.numbers)

    for _ in range(10):
        assert same(numbers) is not None
        assert doubled(numbers).tolist() == [0, 2, 4]
        items_of(held)

    assert (sys.getrefcount(numbers), sys.getrefcount(held.numbers)) == before
    assert sys.getrefcount(doubled(numbers)) == 1 + (sys.version_info < (3, 14))


@numba.njit(pipeline_class=LinkedPipeline, no_cpython_wrapper=True, no_cfunc_wrapper=True)  # type: ignore[misc]
def uncached_last(numbers: Any) -> Any:
    return numbers[-1]


@numba.njit(pipeline_class=Pipeline, no_cfunc_wrapper=True)  # type: ignore[misc]
def uncached(numbers: Any) -> Any:
    return uncached_last(numbers)


def test_only_ways_in_are_machine_code() -> None:
    """Compiled here, and not read from a store."""
    assert uncached(np.arange(3)) == 2

    inside = described(uncached_last)
    assert type(described(uncached).library) is WayIn
    assert type(inside.library) is Linked
    assert inside.library.get_pointer_to_function(inside.fndesc.llvm_func_name) == 0
