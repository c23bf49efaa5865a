"""Fields, operands and prefixes of expressions that come one after the other.

Fields and prefixes are numbered in order of arrival, and operands have labels. So a key, once computed, stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen
from tocsin.columns.expressions.growing import Growing
from tocsin.columns.expressions.pools import Leaf, Pools
from tocsin.columns.payloads import HIGHEST, LOWEST, string_of, string_payload
from tocsin.index.fields.kernels.keys import Keys
from tocsin.index.fields.kernels.layouts import HIGHEST_CODE, LOWEST_CODE, PRESENT, Fields
from tocsin.kernels import codes
from tocsin.papers.opindex.opindex.kernels.layouts import Coding, Prefixes
from tocsin.papers.opindex.opindex.labels import Labels
from tocsin.papers.opindex.opindex.prefixes import Affix, affix_of, prefix_table

_Field = tuple[int, int, int]
"""Attribute, kind, transform."""


class GrowingFields:
    """The fields and operands of the leaves in some pools, as of the last `read`. One thread uses it."""

    def __init__(self, pools: Pools) -> None:
        """Give labels to all operands there are; `read` then reads their leaves."""
        leaves = pools.leaves.items
        numbers = {payload for leaf in leaves for kind, payload in _operands(leaf, pools) if kind != codes.STRING}
        self._numbers = Labels(sorted(numbers - {LOWEST, HIGHEST}))
        self._strings = Labels(sorted(pools.strings.items))
        self._fields: dict[_Field, int] = {}
        self._attributes: Growing[np.int64] = Growing(np.int64)  # of each field
        self._affixes: dict[Affix, int] = {}
        self._leaves = self._texts = 0  # read so far
        self._starts, self._lows, self._highs = Growing[Any](np.int64), Growing[Any](np.int32), Growing[Any](np.int32)
        self._present, self._prefixes = Growing[Any](np.int32), Growing[Any](np.int32)
        self._starts.append(0)
        self._operands = frozen(self._numbers.values, np.int64)
        self._codes_of_strings = self._strings.of_rank_codes()
        self._by_attribute: tuple[NDArray[np.int32], Fields] | None = None  # order and fields
        self._prefix_table: Prefixes | None = None

    @property
    def leaves(self) -> int:
        """The number of leaves read so far."""
        return self._leaves

    def __len__(self) -> int:
        """The number of fields."""
        return len(self._fields)

    def read(self, pools: Pools) -> None:
        """Read the leaves that are new. Raises `NoLabel`. Cost: some microseconds each."""
        strings, leaves = pools.strings.items, pools.leaves.items
        for text in strings[self._texts :]:
            self._strings.of(text)
        self._texts = len(strings)
        for leaf in leaves[self._leaves :]:
            self._read(leaf, pools)
        self._leaves = len(leaves)

    def _read(self, leaf: Leaf, pools: Pools) -> None:
        """Append the keys of a leaf, its field, and its number as a prefix."""
        if leaf.kind == codes.RANGE:
            self._lows.append(self._code(leaf.type, leaf.low, pools, low=True))
            self._highs.append(self._code(leaf.type, leaf.high, pools, low=False))
        else:
            elements = [self._code(kind, payload, pools, low=False) for kind, payload in _operands(leaf, pools)]
            self._lows.extend(elements)
            self._highs.extend(elements)
        self._starts.append(len(self._lows))
        field = _field_of(leaf)
        if field is not None and field not in self._fields:
            self._attributes.append(field[0])
            self._fields[field], self._prefix_table = len(self._fields), None  # which has a row for each field
        number = -1 if field is None else self._fields[field]
        self._present.append(number)
        affix = None
        if leaf.kind == codes.LIKE:
            affix = affix_of(np.array(pools.patterns.items[leaf.other], np.int64))
        if affix is None:
            self._prefixes.append(-1)
            return
        key = number, leaf.transform, *affix
        if key not in self._affixes:
            self._affixes[key], self._prefix_table = len(self._affixes), None
        self._prefixes.append(self._affixes[key])

    def _code(self, kind: int, payload: int, pools: Pools, *, low: bool) -> int:
        """The label of an end of a range, or the number just beside it for the gap beside a string."""
        if payload in (LOWEST, HIGHEST):
            return LOWEST_CODE if payload == LOWEST else HIGHEST_CODE
        if kind != codes.STRING:
            return self._label(payload)
        number = string_of(payload, at_low_end=low)
        return self._strings.of(pools.strings.items[number]) + payload - string_payload(number)

    def _label(self, payload: int) -> int:
        """The label of a payload that is not a string's; a new one joins the operands."""
        before = len(self._numbers)
        label = self._numbers.of(payload)
        if len(self._numbers) > before:
            place, operands = int(np.searchsorted(self._operands, payload)), self._operands
            larger = np.empty(before + 1, np.int64)
            larger[:place], larger[place], larger[place + 1 :] = operands[:place], payload, operands[place:]
            self._operands = frozen(larger, np.int64)
        return label

    def keys(self) -> Keys:
        """The keys of the leaves."""
        lows = self._lows.view()
        return Keys(self._starts.view(), lows, lows, self._highs.view(), self._present.view())

    def prefix_numbers(self) -> NDArray[np.int32]:
        """(F,) the number of each leaf's prefix or suffix, or -1."""
        return self._prefixes.view()

    def attributes(self) -> NDArray[np.int64]:
        """(D,) the attribute of each field."""
        return self._attributes.view()

    def tables(self, attributes: int) -> tuple[Fields, Prefixes, Coding]:
        """What matching needs. Cost: linear in the fields, prefixes or strings if one of them is new."""
        if self._prefix_table is None:
            ordered = sorted(self._affixes)
            self._prefix_table = prefix_table(ordered, len(self), [self._affixes[affix] for affix in ordered])
        if len(self._codes_of_strings) != 2 * len(self._strings) + 1:
            self._codes_of_strings = self._strings.of_rank_codes()
        known = self._by_attribute
        if known is None or len(known[0]) < len(self) or len(known[1].starts) != attributes + 1:
            known = self._by_attribute = self._ordered(attributes)
        order, fields = known
        labels = frozen(self._numbers.labels, np.int32)
        return fields, self._prefix_table, Coding(order, self._operands, labels, self._codes_of_strings)

    def _ordered(self, attributes: int) -> tuple[NDArray[np.int32], Fields]:
        """The fields by attribute, and the kinds and transforms of all by their numbers."""
        rows = np.array(list(self._fields), np.int64).reshape(-1, 3)
        order = np.argsort(rows[:, 0], kind="stable")
        starts = frozen(np.searchsorted(rows[order, 0], np.arange(attributes + 1)), np.int32)
        none = frozen(np.zeros(1), np.int64)  # operands are those of `Coding`
        fields = Fields(starts, frozen(rows[:, 1], np.uint8), frozen(rows[:, 2], np.uint16), none, none[:0])
        return frozen(order, np.int32), fields


def _operands(leaf: Leaf, pools: Pools) -> Iterable[tuple[int, int]]:
    """The type and payload of each end of a range, or each element of a set."""
    if leaf.kind == codes.RANGE:
        return (leaf.type, leaf.low), (leaf.type, leaf.high)
    return pools.sets.items[leaf.other] if leaf.kind == codes.IN_SET else ()


def _field_of(leaf: Leaf) -> _Field | None:
    """The field whose presence a leaf needs; None for a leaf that an OpIndex cannot hold."""
    if leaf.kind in (codes.RANGE, codes.IN_SET):
        return leaf.attribute, leaf.type, leaf.transform
    if leaf.kind in (codes.LIKE, codes.REGEX):
        return leaf.attribute, codes.STRING, 0
    return (leaf.attribute, PRESENT, 0) if leaf.kind == codes.IS_NULL else None
