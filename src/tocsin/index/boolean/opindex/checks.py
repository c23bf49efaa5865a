"""Do the numbers of an OpIndex stay within its arrays? Kernels check nothing, so all is checked on load."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import Texts
from tocsin.columns.expressions.checks import check_below, check_starts, checked_texts, require
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.index.boolean.opindex.building import list_operators
from tocsin.index.boolean.opindex.kernels.building import sign_segments, stray_entries
from tocsin.index.boolean.opindex.kernels.layouts import (
    CLAUSE_BITS,
    CLAUSES,
    OPERATORS,
    PATTERN,
    WIDTH,
    Counters,
    Directory,
    Entries,
    OpLists,
    Prefixes,
)
from tocsin.index.boolean.opindex.prefixes import parents_of
from tocsin.index.fields.fields import check_fields
from tocsin.index.fields.kernels.layouts import PATTERN as FITTING
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Expressions


def check_lists(lists: OpLists, compiled: CompiledExpressions, segments: int, signature_bits: int) -> None:
    """Raise `ValueError` unless every offset and number is in range, and every entry lies where a search expects it."""
    fields, prefixes, directory, entries, counters = lists
    check_fields(fields, len(compiled.attributes), len(compiled.transforms))
    of_text = (fields.kinds == codes.STRING) | (fields.kinds == FITTING)
    require((fields.transforms[~of_text] == 0).all(), "a field of no string has a transform")
    _check_prefixes(prefixes, len(fields.kinds), len(compiled.transforms))
    _check_directory(directory, len(fields.kinds), len(entries.keys), segments)
    pivots = len(directory.rows) // WIDTH
    _check_counters(counters, pivots, len(compiled))
    require(len(entries.keys) == len(entries.pointers), "the entries differ in length")
    check_below("field of an entry", entries.keys >> 32, len(fields.kinds))
    require((entries.keys & 0xFFFFFFFF < 2**31).all(), "the operand of an entry is out of range")
    _check_pointers(directory, entries, counters, segments)
    _check_patterns(lists, compiled.arrays, segments)
    _check_segments(directory, entries, segments, signature_bits)


def _check_prefixes(prefixes: Prefixes, fields: int, transforms: int) -> None:
    """Groups by field, each in order, each prefix under its parent."""
    groups = len(prefixes.transforms)
    check_starts("groups of prefixes", prefixes.starts, groups)
    require(len(prefixes.starts) == fields + 1, "the groups of prefixes do not fit the fields")
    check_below("transform of a group of prefixes", prefixes.transforms, transforms)
    check_starts("prefixes", prefixes.group_starts, len(prefixes.parents))
    require(len(prefixes.group_starts) == groups + 1, "the prefixes do not fit their groups")
    texts = checked_texts("prefixes", Texts(prefixes.text_starts, prefixes.text))
    require(len(texts) == len(prefixes.parents), "the prefixes differ in length")
    owners = np.repeat(np.arange(groups), np.diff(prefixes.group_starts)).tolist()
    ordered = list(zip(owners, (text.encode() for text in texts.to_list()), strict=True))
    require(all(one < other for one, other in pairwise(ordered)), "the prefixes are out of order")
    require(parents_of(ordered) == prefixes.parents.tolist(), "a prefix is under another parent")


def _check_directory(directory: Directory, fields: int, entries: int, segments: int) -> None:
    """Every pivot is one field's, every list one pivot's, in order."""
    pivots, rows = directory.pivots, directory.rows
    require(len(pivots) == fields, "the pivots do not fit the fields")
    require(len(rows) % WIDTH == 0, "the rows of the pivots are cut short")
    chosen = pivots[pivots >= 0]
    check_below("pivot of a field", pivots[pivots != -1], max(len(rows) // WIDTH, 1))
    require(np.array_equal(chosen, np.arange(len(rows) // WIDTH)), "the pivots are out of order")
    numbers = rows[rows != -1]
    require(np.array_equal(numbers, np.arange(len(numbers))), "the lists are out of order")
    require(len(directory.starts) == len(numbers) * segments, "the segments do not fit the lists")
    require(len(directory.signatures) == len(numbers) * segments, "the signatures do not fit the lists")
    _check_runs("segments", directory.starts, directory.stops, entries)


def _check_runs(name: str, starts: NDArray[np.int32], stops: NDArray[np.int32], length: int) -> None:
    first = starts[:1] if len(starts) else np.full(1, length)
    check_starts(name, np.concatenate([first, stops]) if length or len(starts) else np.zeros(1, np.int32), length)


def _check_counters(counters: Counters, pivots: int, subscriptions: int) -> None:
    """Counter arrays by pivot: what they wait for, and whose they are."""
    for starts, stops, needed, owners in (counters[:4], counters[4:]):
        require(len(starts) == pivots, "the counters do not fit the pivots")
        require(len(needed) == len(owners), "the counters differ in length")
        _check_runs("counters", starts, stops, len(owners))
        check_below("owner of a counter", owners, subscriptions)
        require((needed > 0).all(), "a counter waits for nothing")


def _check_pointers(directory: Directory, entries: Entries, counters: Counters, segments: int) -> None:
    """Every pointer leads into the counters of its list's pivot."""
    of_list = np.flatnonzero(directory.rows != -1)
    sizes = np.add.reduceat((directory.stops - directory.starts).astype(np.int64), _firsts(len(of_list), segments))
    owners = np.repeat(of_list, sizes)
    pivots, by_clause = owners // WIDTH, owners % WIDTH // OPERATORS == CLAUSES
    room = np.where(
        by_clause,
        (counters.bitmap_stops - counters.bitmap_starts)[pivots],
        (counters.stops - counters.starts)[pivots],
    )
    places = np.where(by_clause, entries.pointers >> np.uint32(CLAUSE_BITS), entries.pointers)
    require((places < room).all(), "the pointer of an entry leads outside its pivot's counters")


def _firsts(lists: int, segments: int) -> NDArray[np.int64]:
    return np.arange(lists) * segments


def _check_patterns(lists: OpLists, leaves: Expressions, segments: int) -> None:
    """What is tested as a pattern is one, and on strings."""
    directory, keys = lists.directory, lists.entries.keys
    for number in np.flatnonzero(list_operators(directory.rows) == PATTERN).tolist():
        first, stop = directory.starts[number * segments], directory.stops[(number + 1) * segments - 1]
        own = keys[first:stop]
        require((lists.fields.kinds[own >> 32] == codes.STRING).all(), "a pattern is on a field of no strings")
        tested = (own & 0xFFFFFFFF) >> 1
        check_below("pattern of an entry", tested, len(leaves.leaf_kinds))
        require(np.isin(leaves.leaf_kinds[tested], (codes.LIKE, codes.REGEX)).all(), "what is tested is no pattern")


def _check_segments(directory: Directory, entries: Entries, segments: int, signature_bits: int) -> None:
    """Every entry is in its field's segment, in order, with its bit in the signature."""
    stray = stray_entries(directory.starts, directory.stops, entries.keys, entries.pointers, segments)
    require(stray == 0, "an entry is out of order, or in another segment than its field's")
    signatures = np.empty(len(directory.signatures), np.uint64)
    operators = list_operators(directory.rows)
    sign_segments(operators, directory.starts, directory.stops, entries.keys, segments, signature_bits, signatures)
    require(np.array_equal(signatures, directory.signatures), "a signature is not its segment's")
