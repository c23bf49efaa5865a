"""A filter never rules out a predicate that an event satisfies; and predicates lie in two numbers or in three."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.index.asking import asked, compiled, pairs
from tocsin.index.boolean.access.building import build_layout
from tocsin.index.boolean.access.kernels.filters import MOST_ASKED, asked_bits, filter_of, is_satisfiable, mark, unmark
from tocsin.index.boolean.access.kernels.layouts import NARROW, SCRATCH, WIDE, GroupLookup, Scratch
from tocsin.index.boolean.access.layout import predicate_rows
from tocsin.index.fields.kernels.layouts import HIGHEST_CODE, LATER, LOWEST_CODE
from tocsin.jit.decorators import kernel
from tocsin.jit.views import Packed, view


@kernel
def _filter(field: int, low: int, high: int, operands: int, bits: int) -> int:
    return filter_of(field, low, high, operands, bits)


@kernel
def _asked_bits(fields: int) -> int:
    return asked_bits(fields)


@kernel
def _is_satisfied(memory: NDArray[np.int64], starts: NDArray[np.int64], bits: int, filter_: int) -> bool:
    room = view(memory, SCRATCH)
    mark(room, starts, bits, 0, 1)
    found = is_satisfiable(np.uint64(filter_), room.satisfiable)
    unmark(room, bits, 0, 1)
    return found == 1


def _satisfies(field: int, code: int, operands: int, bits: int, filter_: int) -> bool:
    """Whether an event of one value may satisfy a filter."""
    starts = np.zeros(field + 2, np.int64)
    starts[field + 1] = operands
    *kinds, asked_kinds = SCRATCH.types
    asked_room = GroupLookup(*(np.zeros(1, kind.dtype.name) for kind in asked_kinds.types))
    room = Scratch(*(np.zeros(1024, kind.dtype.name) for kind in kinds), asked_room)
    room.fields[0], room.codes[0] = field, code
    found = _is_satisfied(Packed(room, SCRATCH).places, starts, bits, filter_)
    return bool(found) and not room.satisfiable.any()


@given(st.integers(0, 6), st.integers(1, 400), st.integers(0, 70_000), st.data())
def test_what_is_satisfied_passes(bits: int, operands: int, field: int, data: Any) -> None:
    ends = st.sampled_from(range(1, 2 * operands, 2))
    low = data.draw(ends | st.just(LOWEST_CODE))
    high = data.draw(ends | st.just(HIGHEST_CODE))
    code = data.draw(st.integers(0, 2 * operands))
    filter_ = _filter(field, low, high, operands, bits)
    assert 0 <= filter_ < 2**16
    if low <= code <= high:
        assert _satisfies(field, code, operands, bits, filter_)
    assert _satisfies(field, LATER, operands, bits, filter_)


@pytest.mark.parametrize(("fields", "bits"), [(1, 6), (1024, 6), (1025, 5), (32_768, 1), (65_536, 0), (10**6, 0)])
def test_bits_left_by_fields(fields: int, bits: int) -> None:
    assert _asked_bits(fields) == bits


@example(50)
@given(st.integers(21, 200))
def test_much_is_ruled_out(operands: int) -> None:
    """Of equalities with another operand, and of ranges that end far away, with six bits."""
    code = operands | 1
    others = [c for c in range(1, 2 * operands, 2) if abs(c - code) > 2 * operands // 20 + 1]
    passing = [c for c in others if _satisfies(3, code, operands, MOST_ASKED, _filter(3, c, c, operands, MOST_ASKED))]
    assert passing == []
    at_most = [c for c in others if _satisfies(3, code, operands, 6, _filter(3, LOWEST_CODE, c, operands, 6))]
    at_least = [c for c in others if _satisfies(3, code, operands, 6, _filter(3, c, HIGHEST_CODE, operands, 6))]
    assert at_most == [c for c in others if c >= code]
    assert at_least == [c for c in others if c <= code]


def test_only_conjunctions_whose_next_predicate_may_hold_are_verified() -> None:
    """Few fields: of 60 conjunctions under one key, those with the right second operand."""
    texts = [f"a = 1 AND b = {k % 60}" for k in range(600)]
    found = asked(texts, [{"a": 1, "b": 30}, {"a": 1}, {"b": 3}])
    assert len(pairs(found)) == 10
    assert found.candidates_examined <= 40


@pytest.mark.parametrize(("operands", "stride"), [(300, NARROW), (33_000, WIDE)])
def test_predicates_in_two_numbers_or_three(operands: int, stride: int) -> None:
    texts = [f"n = {k} AND m >= {k % 7}" for k in range(operands)] + [
        "n > 5 AND n <= 7 AND NOT (m = 3)",
        "n <> 4 AND m < 2",
    ]
    expressions = compiled(texts)
    table = build_layout(expressions, None).lists.conjunctions
    assert table.stride.tolist() == [stride]
    rows = predicate_rows(table)
    assert len(rows) == 2 * operands + 4  # two of one attribute are one
    assert (rows[:, 2] == HIGHEST_CODE).sum() == operands
    events = [{"n": n, "m": m} for n in (0, 4, 5, 6, 7, 7.5, operands - 1, operands) for m in (0, 3, 9)]
    asked(texts, [*events, {"n": 6}, {}])
