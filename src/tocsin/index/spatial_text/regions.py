"""What are expressions as a region with keywords? A box, tokens, and whether they ask for more.

A subscription's region is the smallest box that its outermost AND asks to meet, its keywords are those that it asks a
list to contain. What else it asks for is verified.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, frozen_table, numbered, starts_of
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.subsets import subset
from tocsin.errors import UnsuitableIndex
from tocsin.index.fields.fields import fields_and_keys
from tocsin.index.fields.kernels.keys import Keys
from tocsin.index.fields.kernels.layouts import ELEMENT, Fields
from tocsin.index.spatial_text.kernels.choosing import NEVER, UNSUITABLE, Chosen, choose_leaves, tokens_of
from tocsin.index.spatial_text.kernels.layouts import ABSENT, TYPES, Keywords, Regions
from tocsin.kernels import codes


@dataclass(frozen=True, slots=True)
class Coded:
    """Expressions, what may be asked of lists and places, and the leaves by which each is found. S subscriptions."""

    expressions: CompiledExpressions
    fields: Fields
    keys: Keys
    chosen: Chosen

    @classmethod
    def of(cls, compiled: CompiledExpressions) -> Coded:
        """Cost: O(P log P)."""
        compiled = subset(compiled, np.arange(len(compiled), dtype=np.int32))  # without leaves of no use
        fields, keys = fields_and_keys(_only_keywords(compiled), np.ones(len(compiled.attributes)))
        counts = _asked_for(compiled, fields, keys)
        return cls(compiled, fields, keys, choose_leaves(compiled.arrays, keys, counts, fields.operand_starts))

    @property
    def suits(self) -> NDArray[np.bool_]:
        """(S,) which can be found by a region and keywords, or never hold."""
        chosen = self.chosen
        suits: NDArray[np.bool_] = (chosen.boxes != UNSUITABLE) & (chosen.keywords != UNSUITABLE)
        return suits


@dataclass(frozen=True, slots=True)
class Held:
    """Expressions, and their regions with keywords. S subscriptions."""

    expressions: CompiledExpressions
    keywords: Keywords
    regions: Regions
    asks_more: NDArray[np.bool_]  # (S,)
    counts: NDArray[np.int64]  # (O,) how many subscriptions are found by a token among others

    @classmethod
    def of(cls, compiled: CompiledExpressions) -> Held:
        """Raises `UnsuitableIndex` for an expression that has no region with keywords. Cost: O(P log P)."""
        coded = Coded.of(compiled)
        unsuitable = np.flatnonzero(~coded.suits)
        if len(unsuitable):
            raise UnsuitableIndex(
                "its outermost AND needs a box that an attribute meets and keywords that a list contains; "
                "index 'auto' takes it",
                int(unsuitable[0]),
            )
        regions = _regions_of(coded)
        counts = np.bincount(regions.tokens, minlength=len(coded.fields.operands)).astype(np.int64)
        asks_more = coded.chosen.asked > 2
        return cls(
            coded.expressions, _keywords_of(coded), regions, frozen(asks_more, np.bool_), frozen(counts, np.int64)
        )

    @property
    def places(self) -> int:
        """How many attributes have regions."""
        return int(self.regions.places.max(initial=ABSENT)) + 1

    def members(self, place: int) -> NDArray[np.int32]:
        """The subscriptions whose region is of a place."""
        return np.flatnonzero(self.regions.owners == place).astype(np.int32)

    def nbytes(self) -> int:
        """Bytes of regions and what leads to their tokens."""
        own = sum(array.nbytes for array in self.regions) + self.asks_more.nbytes
        return int(own + sum(array.nbytes for array in self.keywords) - self.keywords.operands.nbytes)


def _only_keywords(compiled: CompiledExpressions) -> CompiledExpressions:
    """The same leaves, of which only those that ask for all of some keywords have keys."""
    arrays = compiled.arrays
    asks = (arrays.leaf_kinds == codes.ARRAY_SET) & (arrays.leaf_operations == codes.CONTAINS)
    kinds = np.where(asks, codes.ARRAY_SET, codes.TRUE_LEAF)
    return replace(compiled, arrays=arrays._replace(leaf_kinds=frozen(kinds, np.uint8)))


def _asked_for(compiled: CompiledExpressions, fields: Fields, keys: Keys) -> NDArray[np.int64]:
    """How many literals of the programs ask for each token."""
    program = compiled.arrays.program
    literals = program[program >= 0]  # what says how far a level spans is counted, too: it is a guess
    of_leaves = np.bincount(literals >> 1, minlength=len(compiled.arrays.leaf_kinds))[: len(compiled.arrays.leaf_kinds)]
    own = np.repeat(of_leaves, np.diff(keys.starts))
    tokens = fields.operand_starts[keys.fields] + (keys.lows >> 1)
    counts: NDArray[np.int64] = np.bincount(tokens, own, len(fields.operands)).astype(np.int64)
    return counts


def _keywords_of(coded: Coded) -> Keywords:
    """How the elements of lists become tokens."""
    fields, strings = coded.fields, len(coded.expressions.vocabulary)
    table = np.full((len(coded.expressions.attributes), TYPES), ABSENT, np.int32)
    owners = np.repeat(np.arange(len(table)), np.diff(fields.starts))
    of_lists = np.flatnonzero((fields.kinds >= ELEMENT) & (fields.kinds < ELEMENT + TYPES))
    table[owners[of_lists], fields.kinds[of_lists] - ELEMENT] = of_lists
    of_strings = of_lists[fields.kinds[of_lists] == ELEMENT + codes.STRING]
    rows = np.full(len(fields.kinds), ABSENT, np.int32)
    rows[of_strings] = np.arange(len(of_strings))
    words = strings // 64 + 1
    marks, firsts = np.zeros((len(of_strings), words), np.uint64), np.zeros((len(of_strings), words), np.int32)
    for row, field in enumerate(of_strings.tolist()):
        begin, end = fields.operand_starts[field : field + 2]
        mask = np.zeros(words * 64, bool)
        mask[fields.operands[begin:end] >> 1] = True
        marks[row] = np.packbits(mask, bitorder="little").view(np.uint64)
        firsts[row] = begin + np.concatenate([[0], np.cumsum(mask.reshape(-1, 64).sum(axis=1))[:-1]])
    return frozen_table(Keywords(table, fields.operand_starts, fields.operands, rows, marks, firsts))


def _regions_of(coded: Coded) -> Regions:
    """The box and the tokens of each."""
    arrays, chosen = coded.expressions.arrays, coded.chosen
    able = np.flatnonzero(chosen.boxes != NEVER)
    leaves = chosen.boxes[able]
    attributes, numbers = numbered(arrays.leaf_attributes[leaves].astype(np.int64))
    places = np.full(len(coded.expressions.attributes), ABSENT, np.int32)
    places[attributes] = np.arange(len(attributes))
    owners = np.full(len(chosen.boxes), ABSENT, np.int32)
    owners[able] = numbers
    boxes = np.zeros((len(chosen.boxes), 4))
    boxes[able] = arrays.boxes[arrays.leaf_others[leaves]]
    lengths = np.zeros(len(chosen.boxes), np.int64)
    lengths[able] = np.diff(coded.keys.starts)[chosen.keywords[able]]
    starts = starts_of(lengths, len(lengths))
    tokens = tokens_of(coded.keys, coded.fields.operand_starts, chosen.keywords, starts)
    return frozen_table(Regions(places, owners, boxes, starts, tokens))
