"""Fields of expressions, and their predicates as ranges of rank codes.

A field is an attribute seen as a kind, through a transform. Rank codes map values of any type to small integers:
`index.fields.kernels.layouts` says how.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, numbered, starts_of
from tocsin.columns.expressions.checks import check_below, check_payloads, check_starts, require
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.index.fields.kernels.cells import GRIDS
from tocsin.index.fields.kernels.key_tables import count_all_keys, needed_fields, raw_keys
from tocsin.index.fields.kernels.keys import Keys, key_codes
from tocsin.index.fields.kernels.layouts import (
    CELL,
    ELEMENT,
    HIGHEST_CODE,
    LIST_PRESENT,
    LOWEST_CODE,
    NULL,
    NULL_PAYLOAD,
    PRESENT,
    Fields,
)
from tocsin.kernels import codes
from tocsin.kernels.distinct import sorted_groups


def fields_and_keys(
    compiled: CompiledExpressions, shares: NDArray[np.float64], nullable: NDArray[np.bool_] | None = None
) -> tuple[Fields, Keys]:
    """The fields of all leaves with their operands, and the keys of each leaf as ranges of codes.

    `shares` is the share of events with each attribute: of two attributes that a leaf compares, it needs the rarer.
    Absence is a key for `nullable` attributes; by default for none. Cost: O(P log P) for P predicates.
    """
    leaves = compiled.arrays
    with_null = np.zeros(len(compiled.attributes), np.uint8) if nullable is None else nullable.astype(np.uint8)
    starts = starts_of(count_all_keys(leaves, with_null), len(leaves.leaf_kinds))
    packed = np.empty(starts[-1], np.int64)
    lows, highs = np.empty(starts[-1], np.int64), np.empty(starts[-1], np.int64)
    raw_keys(leaves, starts, packed, lows, highs)
    present = needed_fields(leaves, shares)
    distinct, numbers = numbered(np.concatenate([packed, present[present >= 0]]))
    key_fields = numbers[: len(packed)]
    present_fields = np.full(len(present), -1, np.int32)
    present_fields[present >= 0] = numbers[len(packed) :]
    coded = _coded_by_hashing if _are_repeated(lows) and _are_repeated(highs) else _coded_by_sorting
    operand_starts, operands, low_codes, high_codes = coded(key_fields, lows, highs, len(distinct))
    owners = distinct >> 24
    fields = Fields(
        starts=frozen(np.searchsorted(owners, np.arange(len(compiled.attributes) + 1)), np.int32),
        kinds=frozen(distinct >> 16 & 0xFF, np.uint8),
        transforms=frozen(distinct & 0xFFFF, np.uint16),
        operand_starts=frozen(operand_starts, np.int64),
        operands=frozen(operands, np.int64),
    )
    return fields, Keys(starts, key_fields, low_codes, high_codes, present_fields)


def check_fields(fields: Fields, attributes: int, transforms: int, strings: int) -> None:
    """Raise `ValueError` unless fields fit the numbers of attributes, transforms and strings."""
    count = len(fields.kinds)
    check_starts("fields", fields.starts, count)
    require(len(fields.starts) == attributes + 1, "the fields do not fit the attributes")
    require(len(fields.transforms) == count, "the fields differ in length")
    check_below("kind of a field", fields.kinds, NULL + 1)
    check_below("transform of a field", fields.transforms[fields.kinds != CELL], transforms)
    check_below("grid of a field", fields.transforms[fields.kinds == CELL], GRIDS)
    check_starts("operands", fields.operand_starts, len(fields.operands))
    require(len(fields.operand_starts) == count + 1, "the operands do not fit the fields")
    owners = np.repeat(np.arange(count), np.diff(fields.operand_starts))
    in_order = (fields.operands[1:] > fields.operands[:-1]) | (owners[1:] > owners[:-1])
    require(in_order.all(), "the operands of a field are out of order")
    kinds = fields.kinds[owners]
    typed = (kinds <= codes.INSTANT) | ((kinds >= ELEMENT) & (kinds < NULL))
    check_payloads("operand", kinds[typed] % ELEMENT, fields.operands[typed], strings)
    require((fields.operands[kinds == NULL] == NULL_PAYLOAD).all(), "absence has a value")
    require(not np.isin(kinds, (LIST_PRESENT, PRESENT)).any(), "presence has a value")


def _coded_by_sorting(
    key_fields: NDArray[np.int32], lows: NDArray[np.int64], highs: NDArray[np.int64], fields: int
) -> _Coded:
    ends = np.concatenate([lows, highs[highs != lows]])
    groups = np.concatenate([key_fields, key_fields[highs != lows]])
    groups[(ends == _LOWEST) | (ends == _HIGHEST)] = -1
    starts, operands = sorted_groups(groups, ends, fields)
    low_codes, high_codes = np.empty(len(lows), np.int32), np.empty(len(lows), np.int32)
    key_codes(key_fields, lows, starts, operands, low_codes)
    key_codes(key_fields, highs, starts, operands, high_codes)
    return starts, operands, low_codes, high_codes


def _coded_by_hashing(
    key_fields: NDArray[np.int32], lows: NDArray[np.int64], highs: NDArray[np.int64], fields: int
) -> _Coded:
    """The same if few ends are distinct: each is looked up in a hash table instead of searched."""
    differ = highs != lows
    ends, groups = np.concatenate([lows, highs[differ]]), np.concatenate([key_fields, key_fields[differ]])
    codes_of_ends = np.full(len(ends), HIGHEST_CODE, np.int32)
    codes_of_ends[ends == _LOWEST] = LOWEST_CODE
    finite = (ends != _LOWEST) & (ends != _HIGHEST)
    groups = groups[finite]
    distinct, numbers = numbered(ends[finite])
    keys = groups.astype(np.int64)
    keys *= len(distinct)
    keys += numbers
    pairs, places = numbered(keys)
    starts = np.searchsorted(pairs, np.arange(fields + 1) * len(distinct))
    codes_of_ends[finite] = 2 * (places - starts.astype(np.int32)[groups]) + 1
    low_codes = codes_of_ends[: len(lows)].copy()
    high_codes = low_codes.copy()
    high_codes[differ] = codes_of_ends[len(lows) :]
    return starts, distinct[pairs % max(len(distinct), 1)], low_codes, high_codes


def _are_repeated(ends: NDArray[np.int64]) -> bool:
    """Whether most ends seem to occur several times, by a sample."""
    sample = ends[:: max(len(ends) // _SAMPLED, 1)]
    return len(np.unique(sample)) < len(sample) // 2


_Coded: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]
"""The distinct finite ends of each field's keys, in CSR form, and the codes of all lows and highs among them."""

_SAMPLED: Final = 4096
_LOWEST, _HIGHEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
