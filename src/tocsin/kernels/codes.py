"""Numeric codes that kernels and their callers share: value types, leaf kinds, term instructions."""

from __future__ import annotations

from typing import Final

# Types of a value in a batch. Comparing values of different types gives UNKNOWN. Payloads are int64 and, within a
# type, compare as the values do.
NUMBER: Final = 0  # payload: the float64 as a sortable integer (`columns.payloads`)
STRING: Final = 1  # payload: number in the batch's dictionary
BOOLEAN: Final = 2  # payload: 0 or 1
INSTANT: Final = 3  # payload: microseconds since 1970
LIST: Final = 4  # payload: number of the list in the batch
GEOMETRY: Final = 5  # payload: number of the box in the batch
UNTYPED: Final = 6  # present, but without a type
SHAPE: Final = 7  # a geometry that is neither a point nor a box; payload: number of the shape in the batch
RANGED: Final = 16  # + NUMBER or INSTANT: a range of such values; payload: number of the range in the batch

# Kinds of a leaf, which is a compiled predicate. Leaves up to INTERSECTS are *eager*: cheap, on one attribute, and
# UNKNOWN if it is absent. They are computed once a block, attribute by attribute; the others on demand.
RANGE: Final = 0  # attribute; type; low and high, both included; strings by rank code, through a transform
IN_SET: Final = 1  # attribute; type; other: set; strings by rank code, through a transform
INTERSECTS: Final = 2  # attribute; other: box
LAST_EAGER: Final = INTERSECTS
IS_NULL: Final = 3  # attribute
LIKE: Final = 4  # attribute; other: pattern; transform
REGEX: Final = 5  # attribute; other: regular expression (its transform is applied when the batch is bound)
ARRAY_SET: Final = 6  # attribute; other: set; operation: one of the array operations
ARRAY_PAIR: Final = 7  # attribute, other: attributes; operation
COMPARE: Final = 8  # attribute, other: terms; operation: one of the comparisons
TERM_IS_NULL: Final = 9  # attribute: a term
TRUTH: Final = 10  # attribute: a truth program
TRUE_LEAF: Final = 11
FALSE_LEAF: Final = 12
UNKNOWN_LEAF: Final = 13

# Array operations, seen from the first argument.
EQUALS: Final = 0
CONTAINS: Final = 1
CONTAINED_BY: Final = 2
OVERLAPS: Final = 3

# Comparisons; also the operations of a truth program on two truth values.
EQUAL: Final = 0
DIFFERENT: Final = 1
LESS: Final = 2
LESS_OR_EQUAL: Final = 3
GREATER: Final = 4
GREATER_OR_EQUAL: Final = 5

# Further operations of a truth program.
TRUTH_AND: Final = 6
TRUTH_OR: Final = 7
TRUTH_NOT: Final = 8
TRUTH_IS_NULL: Final = 9
TRUTH_LEAF: Final = 10  # argument: a leaf
TRUTH_COUNT: Final = 11  # begins a count of truths; argument: how many must be TRUE for the result to be TRUE
TRUTH_FAILS: Final = 12  # follows; argument: how many must be FALSE for the result to be FALSE
TRUTH_ADD: Final = 13  # adds a truth to the count below it
TRUTH_COUNTED: Final = 14  # ends a count

# Instructions of a term, a postfix program over one event's values.
TERM_ATTRIBUTE: Final = 0  # argument: attribute; second: transform
TERM_NUMBER: Final = 1  # argument: place in the term's constants
TERM_ADD: Final = 2
TERM_SUBTRACT: Final = 3
TERM_MULTIPLY: Final = 4
TERM_DIVIDE: Final = 5
TERM_MODULO: Final = 6
TERM_INTEGER_DIVIDE: Final = 7
TERM_POWER: Final = 8
TERM_NULL: Final = 9
TERM_INSTANT_OF: Final = 10  # argument: an attribute's reading as an instant, which replaces null on top of the stack
TERM_INSTANT: Final = 11  # argument: place in the term's constants, of whole seconds since 1970
WITH_ATTRIBUTE: Final = (TERM_ATTRIBUTE, TERM_INSTANT_OF)
WITH_CONSTANT: Final = (TERM_NUMBER, TERM_INSTANT)

SECOND: Final = 1e6
"""Microseconds."""
FARTHEST: Final = 9.2e18
"""Microseconds that surely fit in 64 bits. Arithmetic has no instant beyond them."""

# Marks in a subscription's program; codes from 0 up are `leaf * 2 + negated`.
OPEN_AND: Final = -1  # followed by the number of places that it spans
OPEN_OR: Final = -2

# Tokens of a LIKE pattern; smaller ones are bytes of UTF-8.
ANY_RUN: Final = 256
ANY_ONE: Final = 257

LANES: Final = 64
"""Events in one block of the verifier, one bit each in a 64-bit mask."""

COUNTER: Final = 18
"""Places of a count on the stack of a truth program: 17 digits, for the most nodes of an expression, and a carry."""

MOST_COUNTS: Final = 8
"""The most counts within counts."""

STACK: Final = 264
"""Room for the deepest expression (256) on the verifier's stacks."""

TRUTH_STACK: Final = STACK + MOST_COUNTS * COUNTER
"""Room for the deepest condition that is used as a value."""
