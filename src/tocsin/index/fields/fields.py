"""Which fields do expressions ask about, and what are their predicates as ranges of rank codes?

A field is an attribute seen as a kind, through a transform. Rank codes make a small integer of every value, whatever
its type: `index.boolean.access.kernels.layouts` says how.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, numbered, starts_of
from tocsin.columns.expressions.checks import check_below, check_payloads, check_starts, require
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.index.fields.kernels.cells import GRIDS
from tocsin.index.fields.kernels.key_tables import count_all_keys, needed_fields, raw_keys
from tocsin.index.fields.kernels.keys import Keys, key_codes
from tocsin.index.fields.kernels.layouts import CELL, ELEMENT, LIST_PRESENT, NULL, NULL_PAYLOAD, PRESENT, Fields
from tocsin.kernels import codes
from tocsin.kernels.distinct import sorted_groups


def fields_and_keys(
    compiled: CompiledExpressions, shares: NDArray[np.float64], nullable: NDArray[np.bool_] | None = None
) -> tuple[Fields, Keys]:
    """The fields of all leaves with their operands, and the keys of each leaf as ranges of codes.

    `shares` says how many events have each attribute: of the two that a leaf compares, the rarer is what it needs.
    Attributes are `nullable` whose absence is a key; by default none. Cost: O(P log P) for P predicates.
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
    operand_starts, operands = _operands(key_fields, lows, highs, len(distinct))
    low_codes, high_codes = np.empty(len(packed), np.int32), np.empty(len(packed), np.int32)
    key_codes(key_fields, lows, operand_starts, operands, low_codes)
    key_codes(key_fields, highs, operand_starts, operands, high_codes)
    owners = distinct >> 24
    fields = Fields(
        frozen(np.searchsorted(owners, np.arange(len(compiled.attributes) + 1)), np.int32),
        frozen(distinct >> 16 & 0xFF, np.uint8),
        frozen(distinct & 0xFFFF, np.uint16),
        frozen(operand_starts, np.int64),
        frozen(operands, np.int64),
    )
    return fields, Keys(starts, key_fields, low_codes, high_codes, present_fields)


def check_fields(fields: Fields, attributes: int, transforms: int, strings: int) -> None:
    """Raise `ValueError` unless fields fit a number of attributes, of transforms and of strings."""
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


def _operands(
    key_fields: NDArray[np.int32], lows: NDArray[np.int64], highs: NDArray[np.int64], fields: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct finite ends of each field's keys, in CSR form."""
    ends = np.concatenate([lows, highs[highs != lows]])
    groups = np.concatenate([key_fields, key_fields[highs != lows]])
    groups[(ends == np.iinfo(np.int64).min) | (ends == np.iinfo(np.int64).max)] = -1
    starts, operands = sorted_groups(groups, ends, fields)
    return starts, operands
