"""Expressions as regions with keywords: a box, tokens, and whether the expression asks for more.

A subscription's region is the smallest box that its outermost AND asks to meet; for a shape, the box around it. Its
keywords are all those that it asks lists and texts to contain. Anything else it asks for is verified. A subscription
without them may be several rows, each with its own region and keywords (`rows`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, frozen_table, numbered
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.joining import subset
from tocsin.index.fields.fields import fields_and_keys
from tocsin.index.fields.kernels.keys import Keys
from tocsin.index.fields.kernels.layouts import ELEMENT, Fields
from tocsin.index.filtering.boxes import with_boxes_around, without_attributes_of_boxes
from tocsin.index.filtering.index import require_suitable
from tocsin.index.spatial_text.kernels.choosing import NEVER, PLAIN, UNSUITABLE, Chosen, choose_leaves, tokens_of
from tocsin.index.spatial_text.kernels.layouts import ABSENT, TYPES, Keywords, Regions, RegionTables, Seen
from tocsin.index.spatial_text.rows import MOST_ROWS, Rows, decomposed
from tocsin.index.tables import bytes_of_table, new_table
from tocsin.kernels import codes
from tocsin.kernels.answers.ordering import BUCKETS
from tocsin.language.canonical import name_text
from tocsin.model.readings import attribute_of, reading_of

NO_ROWS: Final = frozen(np.empty(0, np.int32), np.int32)


@dataclass(frozen=True, slots=True)
class Coded:
    """Expressions, their fields and keys, and the leaves by which each is found. S subscriptions."""

    expressions: CompiledExpressions
    fields: Fields
    keys: Keys
    kinds: NDArray[np.uint8]  # (F,) whether a leaf asks for keywords: `kernels.choosing`
    chosen: Chosen

    @classmethod
    def of(cls, compiled: CompiledExpressions, *, only_words: bool = False) -> Coded:
        """Choose the leaves. With `only_words`, only strings are keywords. Cost: O(P log P)."""
        compiled = subset(compiled, np.arange(len(compiled), dtype=np.int32))  # without unused leaves
        fields, keys = fields_and_keys(_only_keywords(compiled), np.ones(len(compiled.attributes)))
        lengths = np.diff(keys.starts)
        of_text = np.array([reading_of(name).is_words for name in compiled.attributes], bool)
        kinds = np.where(lengths > 0, PLAIN, 0).astype(np.uint8)
        some = np.flatnonzero(lengths)
        kinds[some] += of_text[compiled.arrays.leaf_attributes[some]]
        if only_words:
            others = fields.kinds[keys.fields] != ELEMENT + codes.STRING
            kinds[np.repeat(np.arange(len(kinds)), lengths)[others]] = 0
        chosen = Chosen(*(np.zeros(len(compiled), np.int32) for _ in Chosen._fields))
        choose_leaves(compiled.arrays, _rarest(compiled, fields, keys), kinds, chosen)
        return cls(compiled, fields, keys, kinds, chosen)

    @property
    def suits(self) -> NDArray[np.bool_]:
        """(S,) which can be found by a region and keywords, or never hold."""
        chosen = self.chosen
        suits: NDArray[np.bool_] = (chosen.boxes != UNSUITABLE) & (chosen.keywords != UNSUITABLE)
        return suits


@dataclass(frozen=True, slots=True)
class Held:
    """Expressions, and their regions with keywords. S subscriptions in R rows; without `rows` each is one row."""

    FOUND_BY: ClassVar = "a region with keywords", "a region with keywords and other conditions"

    expressions: CompiledExpressions
    keywords: Keywords
    regions: Regions
    asks_more: NDArray[np.bool_]  # (S,)
    counts: NDArray[np.int64]  # (O,) number of rows with each token
    rows: NDArray[np.int32] = field(default_factory=lambda: NO_ROWS)  # (R,) the subscription of each row, ascending

    @classmethod
    def of(cls, compiled: CompiledExpressions) -> Held:
        """Build the regions.

        Raises `UnsuitableIndex` for an expression without a region with keywords. Cost: O(P log P).

        Shapes, and OR of several regions, are found by the boxes around them, and verified. An expression whose
        outermost AND lacks a region or keywords is decomposed.
        """
        boxed = with_boxes_around(compiled)
        coded = Coded.of(boxed)
        if not coded.suits.all():
            return cls._of_rows(compiled, decomposed(compiled, ~coded.suits))
        held = cls.of_coded(coded)
        if boxed is compiled:
            return held
        whole = without_attributes_of_boxes(compiled, boxed)
        return replace(held, expressions=subset(whole, np.arange(len(whole), dtype=np.int32)))

    @classmethod
    def _of_rows(cls, compiled: CompiledExpressions, rows: Rows) -> Held:
        """The regions of decomposed expressions; raises `UnsuitableIndex` for one with an unsuitable row."""
        boxed = with_boxes_around(rows.expressions)
        coded = Coded.of(boxed)
        suits, asks_more = np.ones(len(compiled), bool), rows.asks_more.copy()
        suits[rows.owners[~coded.suits]] = False
        asks_more[rows.owners[coded.chosen.others > 0]] = True
        require_suitable(
            suits,
            f"its outermost AND, or each of at most {MOST_ROWS} alternatives, needs a box or a shape that an attribute "
            "meets and keywords that a list contains",
        )
        whole = without_attributes_of_boxes(compiled, boxed)
        whole = subset(whole, np.arange(len(whole), dtype=np.int32))
        held = cls.of_tables(whole, _keywords_of(coded), _regions_of(coded), frozen(asks_more, np.bool_))
        return replace(held, rows=rows.owners)

    @classmethod
    def of_coded(cls, coded: Coded) -> Held:
        """The regions of expressions that are all suitable."""
        asks_more = frozen(coded.chosen.others > 0, np.bool_)
        return cls.of_tables(coded.expressions, _keywords_of(coded), _regions_of(coded), asks_more)

    @classmethod
    def of_tables(
        cls, expressions: CompiledExpressions, keywords: Keywords, regions: Regions, asks_more: NDArray[np.bool_]
    ) -> Held:
        """Make it from its tables.

        If each expression has exactly one box, the expressions' boxes are used without a copy.
        """
        if np.array_equal(regions.boxes, expressions.arrays.boxes):
            regions = regions._replace(boxes=expressions.arrays.boxes)
        counts = np.bincount(regions.tokens, minlength=len(keywords.operands))
        return cls(expressions, keywords, regions, asks_more, frozen(counts, np.int64))

    @property
    def places(self) -> int:
        """The number of attributes with regions."""
        return int(self.regions.places.max(initial=ABSENT)) + 1

    def members(self, place: int) -> NDArray[np.int32]:
        """The rows whose region is of a place."""
        return np.flatnonzero(self.regions.owners == place).astype(np.int32)

    @property
    def tables(self) -> RegionTables:
        """The kernels' tables."""
        return RegionTables(self.keywords, self.regions, self.rows)

    def finds(self) -> NDArray[np.bool_]:
        """(S,) which have a region; the others never hold."""
        mask: NDArray[np.bool_] = self.regions.owners != ABSENT
        if len(self.rows):
            mask = np.bincount(self.rows[mask], minlength=len(self.expressions)) > 0
        return mask

    def place(self, number: int) -> str:
        """The attribute of its region, and the number of its keywords; for several rows, how many they are."""
        first, stop = np.searchsorted(self.rows, [number, number + 1]) if len(self.rows) else (number, number + 1)
        if stop - first > 1:
            return f"looked for in {stop - first} regions with keywords, one for each alternative"
        regions = self.regions
        name = self.expressions.attributes[int(np.flatnonzero(regions.places == regions.owners[first])[0])]
        count = int(regions.token_starts[first + 1] - regions.token_starts[first])
        return (
            f"looked for in a region of {name_text(attribute_of(name))} with {count} keyword{'s' if count > 1 else ''}"
        )

    def nbytes(self) -> int:
        """Bytes of regions and their tables, without operands, and without boxes that are the expressions'."""
        own = bytes_of_table((self.keywords, self.regions, self.asks_more, self.rows)) - self.operand_bytes()
        return own - (self.regions.boxes.nbytes if self.regions.boxes is self.expressions.arrays.boxes else 0)

    def operand_bytes(self) -> int:
        """Bytes of the keywords."""
        return int(self.keywords.operands.nbytes)

    def new_seen(self, *, stamps: bool) -> Seen:
        """A thread's memory for kernels; with `stamps` they record the rows met, and count their tokens."""
        count, words = len(self.regions.owners), len(self.expressions) // 64 + 1
        lengths = {"tokens": len(self.counts), "places": self.places, "rows": count, "words": words}
        return new_table(Seen, **lengths, counted=count if stamps else 0, buckets=BUCKETS)


def _only_keywords(compiled: CompiledExpressions) -> CompiledExpressions:
    """The same leaves, with keys only for those that ask for all of some keywords."""
    arrays = compiled.arrays
    asks = (arrays.leaf_kinds == codes.ARRAY_SET) & (arrays.leaf_operations == codes.CONTAINS)
    kinds = np.where(asks, codes.ARRAY_SET, codes.TRUE_LEAF)
    return replace(compiled, arrays=arrays._replace(leaf_kinds=frozen(kinds, np.uint8)))


def _rarest(compiled: CompiledExpressions, fields: Fields, keys: Keys) -> NDArray[np.int64]:
    """For each leaf the number of literals that ask for its rarest token."""
    arrays = compiled.arrays
    literals = arrays.program[arrays.program >= 0]  # lengths of levels are counted as well: this is an estimate
    leaves = len(arrays.leaf_kinds)
    of_leaves = np.bincount(literals >> 1, minlength=leaves)[:leaves]
    tokens = fields.operand_starts[keys.fields] + (keys.lows >> 1)
    counts = np.bincount(tokens, np.repeat(of_leaves, np.diff(keys.starts)), len(fields.operands))
    rarest = np.zeros(leaves, np.int64)
    some = np.flatnonzero(np.diff(keys.starts))
    if len(some):
        rarest[some] = np.minimum.reduceat(counts[tokens], keys.starts[some])
    return rarest


def _keywords_of(coded: Coded) -> Keywords:
    """The tables that turn elements of lists into tokens."""
    fields = coded.fields
    table = np.full((len(coded.expressions.attributes), TYPES), ABSENT, np.int32)
    owners = np.repeat(np.arange(len(table)), np.diff(fields.starts))
    of_lists = np.flatnonzero((fields.kinds >= ELEMENT) & (fields.kinds < ELEMENT + TYPES))
    table[owners[of_lists], fields.kinds[of_lists] - ELEMENT] = of_lists
    return keywords_of(table, fields.operand_starts, fields.operands, len(coded.expressions.vocabulary))


def keywords_of(
    table: NDArray[np.int32], starts: NDArray[np.int64], operands: NDArray[np.int64], strings: int
) -> Keywords:
    """`Keywords` from its first three tables, plus those for strings.

    Cost: linear in the strings, for each such field.
    """
    of_strings = table[:, codes.STRING]
    of_strings = np.sort(of_strings[of_strings != ABSENT])
    rows = np.full(len(starts) - 1, ABSENT, np.int32)
    rows[of_strings] = np.arange(len(of_strings))
    words = strings // 64 + 1
    marks, firsts = np.zeros((len(of_strings), words), np.uint64), np.zeros((len(of_strings), words), np.int32)
    for row, number in enumerate(of_strings.tolist()):
        begin, end = starts[number : number + 2]
        mask = np.zeros(words * 64, bool)
        mask[operands[begin:end] >> 1] = True
        marks[row] = np.packbits(mask, bitorder="little").view(np.uint64)
        firsts[row] = begin + np.concatenate([[0], np.cumsum(mask.reshape(-1, 64).sum(axis=1))[:-1]])
    return frozen_table(Keywords(table, starts, operands, rows, marks, firsts))


def _regions_of(coded: Coded) -> Regions:
    """The box and the tokens of each subscription."""
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
    starts, tokens = tokens_of(arrays, coded.keys, coded.fields.operand_starts, coded.kinds, owners != ABSENT)
    return frozen_table(Regions(places, owners, boxes, starts, tokens))
