"""Clauses: an expression as an OR of ANDs of tests. A test is of a value or of any other literal.

AND multiplies clauses, OR adds them; a set is the OR of its members, and a box the OR of its cells. A part of an AND
that would make more than MOST clauses is left out. An event that satisfies the expression satisfies one of its clauses.
The converse holds only for clauses that are *whole*. Several ranges of one field become one.
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.fields.kernels.keys import Keys, Shares, cheapest_key, key_cost, needs_all
from tocsin.index.fields.kernels.layouts import ELEMENT, NULL, Fields
from tocsin.jit.decorators import inlined, kernel, pasted
from tocsin.jit.views import viewed
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Expressions, next_place

MOST: Final = 32
"""The most clauses of one expression."""

LONGEST: Final = 16
"""The most tests of one clause; further ones are left to verification."""

# Marks of a test.
WITHIN: Final = 0  # the code of a field is in a range
OUTSIDE: Final = 1  # the field has a code, and it is not in the range
MEETS: Final = 2  # the attribute's box meets another box
MISSING: Final = 3  # the attribute is absent
HOLDS: Final = 4  # a literal holds
MARK_BITS: Final = 3
MARK_MASK: Final = 7

_TOO_MANY: Final = MOST + 1
_LEFT_OUT: Final = 0
_NEVER: Final = -1


class Clauses(NamedTuple):
    """Clauses with their tests, by owner; those of a clause by mark, then field."""

    owners: Annotated[NDArray[np.int32], "clauses"]  # the expression
    whole: Annotated[NDArray[np.uint8], "clauses"]  # 1 if the tests are the complete clause
    starts: Annotated[NDArray[np.int64], "clauses + 1"]
    marks: Annotated[NDArray[np.uint8], "tests"]
    fields: Annotated[NDArray[np.int32], "tests"]  # or the attribute, of MEETS and MISSING; 0 of HOLDS
    lows: Annotated[NDArray[np.int32], "tests"]  # codes; of MEETS the box, of HOLDS the literal's place in the program
    highs: Annotated[NDArray[np.int32], "tests"]
    costs: Annotated[NDArray[np.float64], "tests"]  # the share of events in the range


class Stack(NamedTuple):
    """Memory for one expression of N positions."""

    counts: NDArray[np.int64]  # (N,) number of clauses of the part that begins here; _LEFT_OUT if it is left out
    places: NDArray[np.int64]  # (N,) parts still to be written
    numbers: NDArray[np.int64]  # (N,) which of the part's clauses to write


class Parsing(NamedTuple):
    """The inputs of clauses, and their output."""

    leaves: Expressions
    keys: Keys
    fields: Fields
    shares: Shares
    stack: Stack
    out: Clauses


@pasted
def has_one_value(kind: int) -> bool:
    """Whether an event has at most one code of a field of this kind."""
    return (kind <= codes.INSTANT) | (kind == NULL)


@kernel
def write_clauses(parsing: Parsing, owners: NDArray[np.int32], first: int) -> tuple[int, int]:
    """Write the clauses of owners[first:] while there is room for any expression's clauses.

    Returns the next owner, and how many clauses were written. An expression has none if one of them would have no test.
    """
    parsing = viewed(parsing)
    out, starts, program = parsing.out, parsing.leaves.program_starts, parsing.leaves.program
    written = np.int64(0)
    out.starts[0] = 0
    for i in range(first, len(owners)):
        if written + MOST > len(out.owners) or out.starts[written] + MOST * LONGEST > len(out.fields):
            return i, written
        start, stop = starts[owners[i]], starts[owners[i] + 1]
        total = _count(parsing, program, start, stop)
        before = written
        for number in range(total):
            tests, whole = _write_one(parsing, program, start, stop, number, out.starts[written])
            if tests == 0:
                written = before
                break
            if tests > 0:
                out.owners[written] = owners[i]
                out.whole[written] = whole
                out.starts[written + 1] = out.starts[written] + tests
                written += 1
    return np.int64(len(owners)), written


@inlined
def _alternatives(leaves: Expressions, keys: Keys, literal: int) -> int:
    """The number of clauses of a literal."""
    leaf = literal >> 1
    number = keys.starts[leaf + 1] - keys.starts[leaf]
    if literal & 1 or number == 0 or needs_all(leaves, leaf):
        return np.int64(1)
    return min(number, np.int64(_TOO_MANY))


@inlined
def _count(parsing: Parsing, program: NDArray[np.int32], start: int, stop: int) -> int:
    """Write the number of clauses of each part of program[start:stop]; returns that of the whole, which is an AND."""
    counts, groups = parsing.stack.counts, parsing.stack.places
    found = np.int64(0)
    place = start
    while place < stop:
        if program[place] >= 0:
            counts[place - start] = _alternatives(parsing.leaves, parsing.keys, program[place])
            place += 1
        else:
            groups[found] = place
            found += 1
            place += 2
    for g in range(found - 1, -1, -1):  # nested groups come behind their parents
        place = groups[g]
        is_or = program[place] == codes.OPEN_OR
        counts[place - start] = _count_group(program, counts, start, place + 2, next_place(program, place), is_or)
    return _count_group(program, counts, start, start, stop, False)


@inlined
def _count_group(
    program: NDArray[np.int32], counts: NDArray[np.int64], start: int, place: int, end: int, is_or: bool
) -> int:
    """The number of clauses of the group in [place, end). An AND leaves out the parts that would make too many."""
    total = np.int64(0) if is_or else np.int64(1)
    while place < end:
        own = counts[place - start]
        if is_or:
            total = min(total + own, np.int64(_TOO_MANY))
        elif total * own <= MOST:
            total *= own
        else:
            counts[place - start] = _LEFT_OUT
        place = next_place(program, place)
    return total


@inlined
def _write_one(
    parsing: Parsing, program: NDArray[np.int32], start: int, stop: int, number: int, at: int
) -> tuple[int, bool]:
    """Write one clause's tests from `at` on; returns how many (_NEVER if it cannot hold), and if it is complete."""
    counts, places, numbers = parsing.stack.counts, parsing.stack.places, parsing.stack.numbers
    tests = np.int64(0)
    depth, whole = _put_parts(parsing.stack, program, start, start, stop, number, np.int64(0))
    while depth > 0:
        depth -= 1
        place, number = places[depth], numbers[depth]
        if program[place] >= 0:
            tests, exact = _add_literal(parsing, place, start, number, at, tests)
            if tests < 0:
                return tests, False
        elif program[place] == codes.OPEN_OR:
            place += 2
            while number >= counts[place - start]:
                number -= counts[place - start]
                place = next_place(program, place)
            places[depth], numbers[depth] = place, number
            depth += 1
            exact = True
        else:
            end = next_place(program, place)
            depth, exact = _put_parts(parsing.stack, program, start, place + 2, end, number, depth)
        whole = whole and exact
    return tests, whole


@inlined
def _put_parts(
    stack: Stack, program: NDArray[np.int32], start: int, place: int, end: int, number: int, depth: int
) -> tuple[int, bool]:
    """Push the parts of an AND in [place, end) on the stack; returns its depth, and whether no part was left out."""
    counts, places, numbers = stack.counts, stack.places, stack.numbers
    whole = True
    while place < end:
        own = counts[place - start]
        if own == _LEFT_OUT:
            whole = False
        else:
            places[depth], numbers[depth] = place, number % own
            number //= own
            depth += 1
        place = next_place(program, place)
    return depth, whole


@inlined
def _add_literal(parsing: Parsing, place: int, start: int, number: int, at: int, tests: int) -> tuple[int, bool]:
    """Add an alternative of a literal to a clause; returns the number of tests, and whether they cover the literal."""
    leaves, keys, literal = parsing.leaves, parsing.keys, parsing.leaves.program[place]
    leaf = literal >> 1
    kind, attribute = leaves.leaf_kinds[leaf], leaves.leaf_attributes[leaf]
    first, stop = keys.starts[leaf], keys.starts[leaf + 1]
    if literal & 1:
        if kind <= codes.IN_SET and first < stop and tests + stop - first <= LONGEST:
            return _add_outside(parsing, leaf, at, tests)
        return _add_holds(parsing.out, at, tests, place - start)
    if kind == codes.IS_NULL and first == stop:
        return _add_test(parsing.out, at, tests, MISSING, attribute, np.int32(0), np.int32(0), 1.0)
    if first == stop:
        return _add_holds(parsing.out, at, tests, place - start)
    key = cheapest_key(leaf, keys, parsing.shares) if needs_all(leaves, leaf) else first + number
    tests, added = _add_range(parsing, at, tests, keys.fields[key], keys.lows[key], keys.highs[key])
    if tests < 0:
        return tests, False
    if kind == codes.INTERSECTS:
        return _add_test(parsing.out, at, tests, MEETS, attribute, leaves.leaf_others[leaf], np.int32(0), 1.0)
    if kind == codes.ARRAY_SET or not added:
        return _add_holds(parsing.out, at, tests, place - start)
    return tests, True


@inlined
def _add_holds(out: Clauses, at: int, tests: int, place: int) -> tuple[int, bool]:
    return _add_test(out, at, tests, HOLDS, np.int32(0), np.int32(place), np.int32(0), 1.0)


@inlined
def _add_outside(parsing: Parsing, leaf: int, at: int, tests: int) -> tuple[int, bool]:
    """Add that the value is outside a range or a set: one test for each member. There is room."""
    keys = parsing.keys
    for key in range(keys.starts[leaf], keys.starts[leaf + 1]):
        low, high = keys.lows[key], keys.highs[key]
        tests, _ = _add_test(parsing.out, at, tests, OUTSIDE, keys.fields[key], low, high, 1.0)
    return tests, True


@inlined
def _add_range(parsing: Parsing, at: int, tests: int, field: int, low: int, high: int) -> tuple[int, bool]:
    """Add that a field's code is in a range, or narrow the range that is there.

    Returns the number of tests, and whether the range is among them. If an event may have many values of a field, a
    clause takes only one range of it. For elements of lists, whose literals are also verified, it is the range that
    fewest events have; for other fields it is the first.
    """
    out, kind = parsing.out, parsing.fields.kinds[field]
    for place in range(at, at + tests):
        if out.marks[place] == WITHIN and out.fields[place] == field:
            if not has_one_value(kind):
                cost = key_cost(field, low, high, parsing.shares)
                if kind >= ELEMENT and cost < out.costs[place]:
                    out.lows[place], out.highs[place], out.costs[place] = low, high, cost
                return tests, False
            low, high = max(low, out.lows[place]), min(high, out.highs[place])
            out.lows[place], out.highs[place] = low, high
            out.costs[place] = key_cost(field, low, high, parsing.shares)
            return (tests, True) if low <= high else (np.int64(_NEVER), False)
    if low > high:
        return np.int64(_NEVER), False
    return _add_test(out, at, tests, WITHIN, field, low, high, key_cost(field, low, high, parsing.shares))


@inlined
def _add_test(
    out: Clauses, at: int, tests: int, mark: int, field: int, low: int, high: int, cost: float
) -> tuple[int, bool]:
    """Insert a test into a clause, if there is room."""
    if tests == LONGEST:
        return tests, False
    marks, fields, lows, highs, costs = out.marks, out.fields, out.lows, out.highs, out.costs
    place = at + tests
    while place > at and (marks[place - 1] > mark or (marks[place - 1] == mark and fields[place - 1] > field)):
        marks[place], fields[place], costs[place] = marks[place - 1], fields[place - 1], costs[place - 1]
        lows[place], highs[place] = lows[place - 1], highs[place - 1]
        place -= 1
    marks[place], fields[place], costs[place] = mark, field, cost
    lows[place], highs[place] = low, high
    return tests + 1, True
