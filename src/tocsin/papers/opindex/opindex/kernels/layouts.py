"""Layouts of an OpIndex: predicate lists by pivot and operator, their directories, and counters by pivot.

A field (`Fields`) takes the role of the paper's attribute. It is an attribute seen as one type, so that all of its
values have one order. An entry's key combines its field and operand in one number, and lists are sorted by it.

Paper: Zhang, Chan, Tan 2014, sections 4.1 to 4.3.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.fields.kernels.layouts import Fields
from tocsin.jit.decorators import inlined, kernel
from tocsin.kernels.numbers import scattered

# Operators. Each has predicate lists of its own.
EQUAL: Final = 0  # operand: the value's code
AT_MOST: Final = 1
AT_LEAST: Final = 2
DIFFERENT: Final = 3
PREFIX: Final = 4  # operand: the number of the prefix or suffix
PATTERN: Final = 5  # operand: the literal, tested on the string
OPERATORS: Final = 6

# Forms: how a subscription is matched.
COUNTED: Final = 0  # a conjunction: all of its predicates are counted down
CLAUSES: Final = 1  # a conjunction of disjunctions: one bit per clause, cleared by any of its predicates
FORMS: Final = 2
WIDTH: Final = FORMS * OPERATORS

MOST_CLAUSES: Final = 64
CLAUSE_BITS: Final = np.uint64(6)


class Prefixes(NamedTuple):
    """Tries over the prefixes of each field: sorted, each linked to the longest other prefix that it begins with.

    Suffixes are prefixes of reversed strings.
    """

    starts: NDArray[np.int32]  # (D + 1,) groups [starts[d], starts[d + 1]) are field d's
    transforms: NDArray[np.uint16]  # (G,)
    steps: NDArray[np.int8]  # (G,) 1, or -1 for strings that are read backwards
    group_starts: NDArray[np.int32]  # (G + 1,) prefixes [group_starts[g], group_starts[g + 1]) are group g's
    text_starts: NDArray[np.int64]  # (X + 1,)
    text: NDArray[np.uint8]  # UTF-8, ascending within a group
    parents: NDArray[np.int32]  # (X,) a lower number, or -1
    numbers: NDArray[np.int32]  # (X,) its operand in the lists


class Coding(NamedTuple):
    """The codes of operands in lists that change in place: labels instead of ranks. D fields, O operands, V strings.

    Rank codes would change with every new operand. Lists that never change have rank codes, and no arrays here.
    """

    order: NDArray[np.int32]  # (D,) the field at each place, by attribute; `Fields.starts` refers to places
    operands: NDArray[np.int64]  # (O,) payloads other than those of strings, of all fields, ascending
    labels: NDArray[np.int32]  # (O + 1,) a label for each; the last one is above all others
    strings: NDArray[np.int32]  # (2 V + 1,) the label of each rank code of the vocabulary


class Directory(NamedTuple):
    """Lists by pivot, form and operator, each divided into b segments. D fields, P pivots, L lists, E entries."""

    pivots: NDArray[np.int32]  # (D,) the field's number as a pivot, or -1
    rows: NDArray[np.int32]  # (WIDTH P,) list of form f and operator o at f * OPERATORS + o, or -1
    starts: NDArray[np.int32]  # (b L + 1,) segment s has entries [starts[s], stops[s])
    stops: NDArray[np.int32]  # (b L,) the next start, unless lists change in place
    signatures: NDArray[np.uint64]  # (b L,) a bit for each entry's hash


class Entries(NamedTuple):
    """Predicates. Each segment is sorted by key, then pointer."""

    keys: NDArray[np.int64]  # (E,) field << 32 | operand
    pointers: NDArray[np.uint32]  # (E,) place in the pivot's counter array; for CLAUSES, that << 6 | clause


class Counters(NamedTuple):
    """The counter arrays of a form, by pivot. P pivots, C counters."""

    starts: NDArray[np.int32]  # (P + 1,) pivot p has counters [starts[p], stops[p])
    stops: NDArray[np.int32]  # (P,) the next start, unless lists change in place
    needed: NDArray[np.int32] | NDArray[np.uint64]  # (C,) predicates to match; for CLAUSES, a bit for each clause
    owners: NDArray[np.int32]  # (C,) the subscription


class OpLists(NamedTuple):
    """A whole OpIndex, except for the patterns, which its expressions hold."""

    fields: Fields
    prefixes: Prefixes
    directory: Directory
    entries: Entries
    counted: Counters
    clauses: Counters


@inlined
def key_of(field: int, operand: int) -> int:
    """A field and an operand as one number, which sorts by field, then operand."""
    return np.int64(field) << 32 | np.int64(operand)


@inlined
def _mixed(key: int) -> int:
    """64 bits, each dependent on the whole key."""
    bits = scattered(key)
    bits ^= bits >> np.uint64(32)
    bits *= np.uint64(0xD6E8FEB86659FD93)
    return bits >> np.uint64(32)


@kernel
def segment_of(field: int, segments: int) -> int:
    """The segment of a list for a field's predicates (section 4.2, first optimisation)."""
    return (_mixed(np.uint64(field)) * np.uint64(segments)) >> np.uint64(32)


@inlined
def field_bit(field: int, bits: int) -> int:
    """h(A): the bit of a signature for a predicate that many operands satisfy."""
    return (_mixed(~np.uint64(field)) * np.uint64(bits)) >> np.uint64(32)


@inlined
def operand_bit(key: int, bits: int) -> int:
    """h(A, o): the bit of a signature for an equality (section 4.2, second optimisation)."""
    return (_mixed(np.uint64(key) ^ np.uint64(0x5851F42D4C957F2D)) * np.uint64(bits)) >> np.uint64(32)


@kernel
def signature_bit(operator: int, key: int, bits: int) -> int:
    """h of a predicate: of field and operand for '=' and prefixes, otherwise of the field."""
    if operator == EQUAL or operator == PREFIX:
        return operand_bit(key, bits)
    return field_bit(key >> 32, bits)
