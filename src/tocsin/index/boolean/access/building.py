"""How do compiled expressions become an access index? Fields and keys, costs, placement, clustering."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, inverse, starts_of
from tocsin.columns.compiled import CompiledExpressions
from tocsin.columns.leaf_order import eager_first
from tocsin.columns.subsets import subset
from tocsin.index.boolean.access.layout import AccessLayout
from tocsin.index.boolean.access.pricing import price
from tocsin.index.statistics import Statistics, attribute_shares
from tocsin.kernels import placing
from tocsin.kernels.access_keys import Keys, Shares, guessed_shares, key_codes, literal_costs
from tocsin.kernels.access_layouts import (
    HIGHEST_CODE,
    LOWEST_CODE,
    Conjunctions,
    Fields,
    Lists,
    Postings,
    Programs,
    Runs,
)
from tocsin.kernels.clustering import cluster
from tocsin.kernels.distinct import number_distinct, sorted_groups
from tocsin.kernels.key_tables import count_all_keys, named_attributes, needed_fields, raw_keys
from tocsin.kernels.layouts import Expressions


class _Costs(NamedTuple):
    """What placement goes by."""

    fields: Fields
    keys: Keys
    shares: Shares
    literals: NDArray[np.float64]  # cost of each literal


def build_layout(compiled: CompiledExpressions, statistics: Statistics | None) -> AccessLayout:
    """Place and cluster all expressions. Cost: O(P log P) for P predicates."""
    leaves = compiled.arrays
    known = _costs(compiled, statistics)
    lists = placing.place_all(leaves, known.literals)
    keyed = placing.program_keys(leaves, lists, known.literals, known.keys, known.shares)
    singles, conjunctions = _singles(leaves, lists, known), _conjunctions(leaves, lists, known)
    runs, postings, programs = _programs(lists, keyed, len(known.fields.kinds))
    whole = Lists(known.fields, *singles, *conjunctions, runs, postings, programs)
    return AccessLayout(len(compiled), whole, eager_first(subset(compiled, whole.programs.owners)))


def _costs(compiled: CompiledExpressions, statistics: Statistics | None) -> _Costs:
    """Number the fields, sort their operands, turn keys into codes and price every literal."""
    leaves = compiled.arrays
    attributes = len(compiled.attributes)
    shares = attribute_shares(compiled.attributes, named_attributes(leaves, attributes), statistics)
    starts = starts_of(count_all_keys(leaves), len(leaves.leaf_kinds))
    packed = np.empty(starts[-1], np.int64)
    lows, highs = np.empty(starts[-1], np.int64), np.empty(starts[-1], np.int64)
    raw_keys(leaves, starts, packed, lows, highs)
    present = needed_fields(leaves, shares)
    distinct, numbers = _numbered(np.concatenate([packed, present[present >= 0]]))
    key_fields = numbers[: len(packed)]
    present_fields = np.full(len(present), -1, np.int32)
    present_fields[present >= 0] = numbers[len(packed) :]
    operand_starts, operands = _operands(key_fields, lows, highs, len(distinct))
    low_codes, high_codes = np.empty(len(packed), np.int32), np.empty(len(packed), np.int32)
    key_codes(key_fields, lows, operand_starts, operands, low_codes)
    key_codes(key_fields, highs, operand_starts, operands, high_codes)
    keys = Keys(starts, key_fields, low_codes, high_codes, present_fields)
    owners = distinct >> 24
    fields = Fields(
        frozen(np.searchsorted(owners, np.arange(attributes + 1)), np.int32),
        frozen(distinct >> 16 & 0xFF, np.uint8),
        frozen(distinct & 0xFFFF, np.uint16),
        frozen(operand_starts, np.int64),
        frozen(operands, np.int64),
    )
    guessed = guessed_shares(key_fields, low_codes, high_codes, operand_starts)
    known = price(compiled, fields, shares, guessed, statistics)
    return _Costs(fields, keys, known, literal_costs(leaves, keys, known))


def _numbered(packed: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The distinct packed fields in order, and the number of each given one."""
    numbers = np.empty(len(packed), np.int32)
    distinct = number_distinct(packed, numbers)
    order = np.argsort(distinct)
    return distinct[order], inverse(order).astype(np.int32)[numbers]


def _operands(
    key_fields: NDArray[np.int32], lows: NDArray[np.int64], highs: NDArray[np.int64], fields: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct finite ends of each field's keys, in CSR form."""
    ends = np.concatenate([lows, highs[highs != lows]])
    groups = np.concatenate([key_fields, key_fields[highs != lows]])
    groups[(ends == np.iinfo(np.int64).min) | (ends == np.iinfo(np.int64).max)] = -1
    starts, operands = sorted_groups(groups, ends, fields)
    return starts, operands


def _singles(leaves: Expressions, lists: NDArray[np.uint8], known: _Costs) -> tuple[Runs, Postings]:
    owners = np.flatnonzero(lists == placing.SINGLE).astype(np.int32)
    ends = _ends(len(owners))
    placing.single_keys(leaves.program, leaves.program_starts, owners, known.keys, ends)
    order, runs = cluster(len(known.fields.kinds), *ends)
    return _frozen(runs), Postings(*(frozen(a[order], np.int32) for a in (ends[1], ends[2], owners)))


def _conjunctions(leaves: Expressions, lists: NDArray[np.uint8], known: _Costs) -> tuple[Runs, Conjunctions]:
    owners = np.flatnonzero(lists == placing.CONJUNCTION).astype(np.int32)
    ends = _ends(len(owners))
    about = (known.literals, known.keys, known.shares.fields)
    placing.conjunction_keys(leaves.program, leaves.program_starts, owners, *about, ends)
    order, runs = cluster(len(known.fields.kinds), *ends)
    owners = owners[order]
    lengths = leaves.program_starts[owners + 1] - leaves.program_starts[owners]
    seconds, tails = np.empty(len(owners), np.uint16), np.empty(len(owners), np.uint32)
    predicates = np.empty(3 * int(lengths.sum()), np.int32)
    placing.write_conjunctions(leaves.program, leaves.program_starts, owners, *about, seconds, tails, predicates)
    by_highest = (ends[1] <= LOWEST_CODE) & (ends[2] != HIGHEST_CODE)  # as `cluster` sorts them
    bounds = np.where(by_highest, ends[2], ends[1])[order]
    table = Conjunctions(bounds, seconds, tails, owners, predicates)
    return _frozen(runs), _frozen(table)


def _programs(lists: NDArray[np.uint8], keyed: NDArray[np.int32], fields: int) -> tuple[Runs, Postings, Programs]:
    owners = np.flatnonzero((lists == placing.PROGRAM) | (lists == placing.UNCOVERED)).astype(np.int32)
    numbers = np.zeros(len(lists), np.int32)
    numbers[owners] = np.arange(len(owners))
    uncovered = numbers[np.flatnonzero(lists == placing.UNCOVERED)]
    owner, field, low, high = (np.ascontiguousarray(column) for column in keyed.T)
    order, runs = cluster(fields, field, low, high)
    postings = Postings(low[order], high[order], numbers[owner[order]])
    return _frozen(runs), _frozen(postings), _frozen(Programs(owners, uncovered))


def _ends(count: int) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Room for fields, lowest and highest codes."""
    return np.empty(count, np.int32), np.empty(count, np.int32), np.empty(count, np.int32)


def _frozen(table: Any) -> Any:
    return type(table)(*(frozen(array, array.dtype) for array in table))
