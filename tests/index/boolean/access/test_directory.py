"""What a field's row says is what a search would find: codes by bits, entries by steps."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.index.asking import assert_access_is_scan, batch, compiled
from tocsin.columns.payloads import keys_of
from tocsin.index.boolean.access.building import build_layout
from tocsin.index.boolean.access.compounds import new_hashing
from tocsin.index.boolean.access.kernels.directory import BITS, FINE, INDEX, SPAN, STEPS, Directory, Index, field_code
from tocsin.index.boolean.access.kernels.directory_writing import FEWEST_STEPPED, MOST_STEPPED, ROOMY, SPARSE
from tocsin.index.boolean.access.kernels.layouts import WIDE, Conjunctions, Lists, Postings, Programs, Runs
from tocsin.index.boolean.access.layout import make_directory, no_compounds
from tocsin.index.fields.kernels.keys import code_of
from tocsin.index.fields.kernels.layouts import Fields
from tocsin.index.tables import named_arrays
from tocsin.jit.decorators import kernel
from tocsin.jit.views import Packed, view
from tocsin.kernels import codes

ODD = [-math.inf, -1e300, -(2.0**63), -0.5, -5e-324, -0.0, 5e-324, 0.1, 63.5, 64.5, 1e17, 2.0**63, 1e300, math.inf]
NEAR = (-65, -64, -1, -0.25, 0, 0.25, 1, 63, 64, 65)
INSTANTS = st.integers(-(2**63), 2**63 - 1)


@kernel
def _code(index: Any, payload: int) -> int:
    return field_code(view(index, INDEX), np.uint64(0), payload)


@kernel
def _searched(operands: Any, payload: int) -> int:
    return code_of(operands, 0, len(operands), payload)


def _lists(kind: int, operands: Iterable[int]) -> Lists:
    """Of one field, without an entry."""
    payloads = np.array(sorted(operands), np.int64)
    starts = np.array([0, 1], np.int32)
    fields = Fields(starts, np.array([kind], np.uint8), np.zeros(1, np.uint16), np.array([0, len(payloads)]), payloads)
    none = np.empty(0, np.int32)
    runs = Runs(np.zeros(2, np.int64), np.zeros(2, np.int32), np.empty(0, np.int64), none)
    postings = Postings(none, none, none)
    conjunctions = Conjunctions(none, np.empty(0, np.uint16), np.empty(0, np.uint32), none, none, np.array([WIDE]))
    under = no_compounds(), no_compounds()
    return _read_only(Lists(fields, runs, postings, runs, conjunctions, runs, postings, Programs(none, none), *under))


def _read_only(lists: Lists) -> Lists:
    for _, array in named_arrays(lists):
        array.flags.writeable = False
    return lists


def _agreeing(kind: int, operands: Iterable[int], payloads: Iterable[int]) -> Directory:
    """The directory of one field, once its codes are seen to be those that a search finds."""
    lists = _lists(kind, operands)
    directory = make_directory(lists)
    nothing = new_hashing(lists.sure), new_hashing(lists.likely)
    index = Packed(Index(lists, directory, *nothing), INDEX)
    for payload in payloads:
        assert _code(index.places, payload) == _searched(lists.fields.operands, payload), payload
    return directory


def _keys(numbers: Iterable[float]) -> list[int]:
    result: list[int] = keys_of(np.array(list(numbers), np.float64)).tolist()
    return result


@given(
    st.integers(-(2**40), 2**40),
    st.sets(st.integers(0, 600), min_size=1, max_size=40),
    st.lists(st.floats(allow_nan=False), max_size=10),
)
def test_codes_of_numbers(low: int, offsets: set[int], others: list[float]) -> None:
    operands = sorted(low + offset for offset in offsets)
    values = [operand + step for operand in operands for step in NEAR]
    directory = _agreeing(codes.NUMBER, _keys(operands), _keys([*values, *ODD, *others]))
    span = operands[-1] - operands[0]
    assert bool(directory.rows[0] & BITS) == (span < max(64, SPARSE * len(operands)))


@example(0, {(0, -1)})
@example(-3, {(0, 0), (3, -1), (4, 0)})
@given(
    st.sampled_from([-20, -1, 0]) | st.integers(-(2**40), 2**40),
    st.sets(st.tuples(st.integers(0, 19), st.integers(-1, 1)), min_size=1),
)
def test_codes_beside_numbers(low: int, offsets: set[tuple[int, int]]) -> None:
    """`n > 5` begins at the float64 behind 5, `n < 5` ends at the one before it."""
    operands = {key + step for offset, step in offsets for key in _keys([low + offset])}
    near = [key + step for key in operands for step in range(-3, 4)]
    directory = _agreeing(codes.NUMBER, operands, [*near, *_keys(ODD), *_keys(low + k / 4 for k in range(-9, 90))])
    assert directory.rows[0] & BITS
    assert bool(directory.rows[0] & FINE) == any(step for _, step in offsets)


@given(st.integers(-(2**63), 2**63 - 700), st.sets(st.integers(0, 600), min_size=1), st.lists(INSTANTS))
def test_codes_of_instants_near_each_other(low: int, offsets: set[int], others: list[int]) -> None:
    operands = [low + offset for offset in offsets]
    _agreeing(codes.INSTANT, operands, [*operands, *others, -(2**63), 2**63 - 1])


@given(st.sets(INSTANTS, min_size=1), st.lists(INSTANTS))
def test_codes_of_instants_anywhere(operands: set[int], others: list[int]) -> None:
    """Differences of payloads that 64 bits do not hold."""
    _agreeing(codes.INSTANT, operands, [*operands, *others, -(2**63), 2**63 - 1])


def test_a_field_without_operands_has_one_code() -> None:
    _agreeing(codes.NUMBER, [], _keys(ODD))


@pytest.mark.parametrize(("count", "words"), [(64, 0), (65, 2), (128, 2), (129, 3)])
def test_up_to_64_neighbours_lie_in_the_row(count: int, words: int) -> None:
    directory = _agreeing(codes.NUMBER, _keys(range(-7, count - 7)), _keys(k / 4 for k in range(-400, 900)))
    assert directory.rows[0] & BITS
    assert directory.rows[SPAN] & 0xFFFFFFFF == max(words, 1)
    assert len(directory.words) == 2 * words


@pytest.mark.parametrize(
    "operands", [[0.5, 1.5], [1, 2.5, 3], [2.0**52, 2.0**52 + 1], [0, 1e6], [-math.inf, 0], [1e300]]
)
def test_operands_that_are_no_neighbouring_integers_are_searched(operands: list[float]) -> None:
    directory = _agreeing(codes.NUMBER, _keys(operands), _keys([*ODD, *operands]))
    assert not directory.rows[0] & BITS


@pytest.mark.parametrize("repeats", [1, 2, 300])
def test_steps_lead_to_the_entries_of_each_operand(repeats: int) -> None:
    """Between operands, before and behind them, too; beside entries of other classes."""
    texts = [f"n = {2 * (k % 30)} AND m <> {k}" for k in range(30 * repeats)]
    expressions = compiled([*texts, "n >= 4 AND m < 5", "n BETWEEN 2 AND 4 AND m = 8"])
    assert len(make_directory(build_layout(expressions, None).lists).steps) > 30
    events = [{"n": n / 2, "m": m} for n in range(-3, 150) for m in (0, 8, 10_000)]
    found = assert_access_is_scan(expressions, batch(expressions, events))
    assert len(found.subscriptions) > 30 * repeats


@pytest.mark.parametrize(
    ("equalities", "operands", "stepped"),
    [
        (FEWEST_STEPPED, 1, True),
        (FEWEST_STEPPED - 1, 1, False),
        (MOST_STEPPED, 1, True),
        (MOST_STEPPED + 1, 1, False),
        (FEWEST_STEPPED, FEWEST_STEPPED * ROOMY, True),
        (FEWEST_STEPPED, FEWEST_STEPPED * ROOMY + 1, False),
    ],
)
def test_which_runs_have_steps(equalities: int, operands: int, stepped: bool) -> None:
    lists = _lists(codes.NUMBER, _keys(range(operands)))
    runs = Runs(np.array([0, equalities]), np.array([0, 1], np.int32), np.array([equalities]), np.zeros(1, np.int32))
    bounds = np.ones(equalities, np.int32)
    conjunctions = lists.conjunctions._replace(bounds=bounds)
    directory = make_directory(_read_only(lists._replace(conjunction_runs=runs, conjunctions=conjunctions)))
    assert (directory.rows[STEPS] >= 0) == stepped
    assert directory.steps.tolist() == ([0] + [equalities] * operands if stepped else [])
