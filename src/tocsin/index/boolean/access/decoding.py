"""Decoding of an access index into compiled expressions, to merge it with others into a new one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import empty_runs, frozen
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.joining import reordered, with_leaves_behind
from tocsin.index.boolean.access.kernels.layouts import Runs
from tocsin.index.boolean.access.layout import AccessLayout, predicate_rows
from tocsin.index.fields.kernels.keys import HIGHEST, LOWEST
from tocsin.index.fields.kernels.layouts import HIGHEST_CODE, LOWEST_CODE, Fields
from tocsin.kernels import codes


def decoded(layout: AccessLayout) -> CompiledExpressions:
    """The expressions of all subscriptions; one that matches nothing becomes FALSE. Cost: linear."""
    lists, others = layout.lists, layout.programs_of.arrays
    singles, conjunctions = lists.singles, lists.conjunctions
    rows = predicate_rows(conjunctions)
    leaves = _ranges(
        lists.fields,
        np.concatenate([_fields_of(lists.single_runs), rows[:, 0] >> 2]),
        np.concatenate([singles.lows, rows[:, 1]]),
        np.concatenate([singles.highs, rows[:, 2]]),
    )
    count = len(leaves["leaf_kinds"])
    program = with_leaves_behind(others.program, count + 1)  # the ranges and FALSE
    negated = np.concatenate([np.zeros(len(singles.lows), np.int32), rows[:, 0] & 1])
    literals = 2 * np.arange(count, dtype=np.int32) + negated
    ends = np.flatnonzero(rows[:, 0] & 2) + 1 + len(singles.lows)
    starts = np.concatenate(
        [
            np.arange(len(singles.lows)),
            ends - _lengths(ends, len(singles.lows)),
            [count],
        ]  # singles, conjunctions, FALSE
    )
    all_starts = np.concatenate([starts, count + 1 + others.program_starts])
    whole = np.concatenate([literals, [2 * count], program]).astype(np.int32)
    in_lists = np.concatenate([singles.owners, conjunctions.owners])
    order = np.full(layout.subscriptions, len(in_lists), np.int64)  # FALSE, for subscriptions in no list
    order[in_lists] = np.arange(len(in_lists))
    order[lists.programs.owners] = len(in_lists) + 1 + np.arange(len(lists.programs.owners))
    new_starts, program = reordered(all_starts, whole, order)
    merged = {
        name: frozen(
            np.concatenate([leaves[name], [_FALSE.get(name, 0)], getattr(others, name)]), getattr(others, name).dtype
        )
        for name in leaves
    }
    truths = others.truth_arguments + np.where(others.truth_codes == codes.TRUTH_LEAF, count + 1, 0)
    arrays = others._replace(
        eager_starts=empty_runs(len(others.eager_starts) - 1),
        program_starts=new_starts,
        program=program,
        truth_arguments=frozen(truths, np.int32),
        **merged,
    )
    own = layout.programs_of
    return CompiledExpressions(arrays, own.attributes, own.vocabulary, own.transforms, own.regexes)


_FALSE = {"leaf_kinds": codes.FALSE_LEAF}


def _lengths(ends: NDArray[np.int64], first: int) -> NDArray[np.int64]:
    """The length of each run, by its end; the first run starts at `first`."""
    return np.diff(ends, prepend=first)


def _fields_of(runs: Runs) -> NDArray[np.int64]:
    """The field of each entry."""
    return np.repeat(np.arange(len(runs.starts) - 1), np.diff(runs.starts))


def _ranges(
    fields: Fields, numbers: NDArray[np.int64], lows: NDArray[np.int32], highs: NDArray[np.int32]
) -> dict[str, NDArray[np.int64]]:
    """RANGE leaves for ranges of codes."""
    attributes = np.searchsorted(fields.starts, numbers, side="right") - 1
    zeros = np.zeros(len(numbers), np.int64)
    return {
        "leaf_kinds": np.full(len(numbers), codes.RANGE),
        "leaf_types": fields.kinds[numbers].astype(np.int64),
        "leaf_operations": zeros,
        "leaf_transforms": fields.transforms[numbers].astype(np.int64),
        "leaf_attributes": attributes,
        "leaf_others": zeros,
        "leaf_lows": _payloads(fields, numbers, lows),
        "leaf_highs": _payloads(fields, numbers, highs),
    }


def _payloads(fields: Fields, numbers: NDArray[np.int64], ends: NDArray[np.int32]) -> NDArray[np.int64]:
    """The payloads that codes stand for; every end is an operand's code, or none."""
    payloads = np.where(ends == LOWEST_CODE, LOWEST, HIGHEST)
    finite = (ends != LOWEST_CODE) & (ends != HIGHEST_CODE)
    payloads[finite] = fields.operands[fields.operand_starts[numbers[finite]] + (ends[finite] >> 1)]
    return payloads
