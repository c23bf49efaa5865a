"""Checks of a loaded access index: every number must be within its arrays, because kernels check nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.expressions.checks import ascending, check_below, check_starts, require
from tocsin.index.boolean.access.kernels.clauses import HOLDS, MARK_BITS, MARK_MASK, MEETS, OUTSIDE
from tocsin.index.boolean.access.kernels.filters import filters_fit
from tocsin.index.boolean.access.kernels.layouts import (
    ANY,
    AT_LEAST,
    AT_MOST,
    NARROW,
    WIDE,
    Compounds,
    Conjunctions,
    Lists,
    Postings,
    Runs,
)
from tocsin.index.boolean.access.layout import AccessLayout, predicate_rows
from tocsin.index.boolean.access.schemas import KEY_BITS
from tocsin.index.fields.fields import check_fields
from tocsin.index.fields.kernels.layouts import (
    CELL,
    ELEMENT,
    HIGHEST_CODE,
    LOWEST_CODE,
    NULL,
    ONE_VALUED,
    PATTERN,
    Fields,
)
from tocsin.kernels import codes


def check_layout(layout: AccessLayout) -> None:
    """Raise `ValueError` unless every offset and number is in range, and every entry lies where searches expect it."""
    lists, names = layout.lists, layout.programs_of
    programs, subscriptions = lists.programs, layout.subscriptions
    require(0 <= subscriptions < 2**31, "the number of subscriptions is out of range")
    check_fields(lists.fields, len(names.attributes), len(names.transforms), len(names.vocabulary))
    _check_patterns(lists.fields, len(names.arrays.pattern_starts) - 1, len(names.regexes))
    check_below("owner of a single", lists.singles.owners, subscriptions)
    check_below("owner of a conjunction", lists.conjunctions.owners, subscriptions)
    check_below("owner of a program", programs.owners, subscriptions)
    require(len(programs.owners) == len(names), "the programs differ in length")
    require(ascending(programs.owners) and ascending(programs.uncovered), "the programs are out of order")
    check_below("program without a cover", programs.uncovered, len(programs.owners))
    check_below("program of a posting", lists.program_postings.owners, len(programs.owners))
    _check_postings("singles", lists.fields, lists.single_runs, lists.singles)
    _check_postings("programs", lists.fields, lists.program_runs, lists.program_postings)
    _check_conjunctions(lists.fields, lists.conjunction_runs, lists.conjunctions)
    _check_compounds("several attributes", layout, lists.sure, subscriptions)
    _check_compounds("several attributes of programs", layout, lists.likely, len(programs.owners))
    _check_kinds(lists)
    _check_owners(lists, subscriptions)


def _check_patterns(fields: Fields, patterns: int, regexes: int) -> None:
    """Every operand of a field of patterns is an existing pattern."""
    owners = np.repeat(np.arange(len(fields.kinds)), np.diff(fields.operand_starts))
    numbers = fields.operands[fields.kinds[owners] == PATTERN]
    by_regex = numbers & 1 == 1
    check_below("pattern that is a key", numbers[~by_regex] >> 1, patterns)
    check_below("regular expression that is a key", numbers[by_regex] >> 1, regexes)


def _check_owners(lists: Lists, subscriptions: int) -> None:
    """Every subscription is in at most one kind of list, and every program is reachable."""
    owners = (lists.singles.owners, lists.conjunctions.owners, lists.programs.owners)
    counts = np.bincount(np.concatenate(owners), minlength=subscriptions)
    require(not len(counts) or counts.max() <= 1, "a subscription is in two lists")
    is_sought = np.isin(lists.programs.owners, lists.sure.postings.owners)
    for numbers in (lists.programs.uncovered, lists.program_postings.owners, lists.likely.postings.owners):
        is_sought[numbers] = True
    require(is_sought.all(), "no list contains a program")


def _check_kinds(lists: Lists) -> None:
    """Only scalar fields have ranges; all others have equalities. A field of elements has no transform."""
    scalar = lists.fields.kinds <= codes.INSTANT
    for runs in (lists.single_runs, lists.conjunction_runs):
        require((np.diff(runs.starts)[~scalar] == 0).all(), "a range is under a field that is not a scalar's")
    elements = (lists.fields.kinds >= ELEMENT) & (lists.fields.kinds != NULL)
    require((lists.fields.transforms[elements] == 0).all(), "a field of elements has a transform")
    within = (elements | np.isin(lists.fields.kinds, (PATTERN, CELL, NULL)))[_fields_of(lists.program_runs)]
    postings = lists.program_postings
    require((postings.lows == postings.highs)[within].all(), "a key of elements, cells or patterns is not an equality")


def _fields_of(runs: Runs) -> NDArray[np.int64]:
    return np.repeat(np.arange(len(runs.starts) - 1), np.diff(runs.starts))


def _check_runs(name: str, runs: Runs, fields: int, entries: Sequence[NDArray[Any]]) -> None:
    require(all(len(array) == len(entries[0]) for array in entries), f"the {name} differ in length")
    check_starts(name, runs.starts, len(entries[0]))
    check_starts(f"runs of {name}", runs.run_starts, len(runs.run_stops))
    require(len(runs.starts) == fields + 1 == len(runs.run_starts), f"the {name} do not fit the fields")
    require(len(runs.run_widths) == len(runs.run_stops), f"the runs of {name} differ in length")
    stops = np.concatenate([[0], runs.run_stops])
    require((stops[1:] >= stops[:-1]).all(), f"the runs of {name} are out of order")
    require((stops[runs.run_starts] == runs.starts).all(), f"the runs of {name} do not fit their fields")


def _check_postings(name: str, fields: Fields, runs: Runs, postings: Postings) -> None:
    _check_runs(name, runs, len(fields.kinds), postings)
    owners = _fields_of(runs)
    _check_ends(name, fields, owners, postings.lows, LOWEST_CODE)
    _check_ends(name, fields, owners, postings.highs, HIGHEST_CODE)
    _check_classes(name, runs, postings.lows, postings.highs)


def _check_ends(name: str, fields: Fields, owners: NDArray[np.int64], ends: NDArray[np.int32], none: int) -> None:
    """Every end is the code of an operand, or none."""
    operands = np.diff(fields.operand_starts)[owners]
    sound = (ends == none) | ((ends & 1 == 1) & (ends > 0) & (ends < 2 * operands))
    require(sound.all(), f"an end of the {name} is not the code of an operand")


def _check_classes(name: str, runs: Runs, lows: NDArray[np.int32], highs: NDArray[np.int32]) -> None:
    """Every entry belongs to the class of its run, so that searches may rely on the class."""
    widths = np.repeat(runs.run_widths, np.diff(np.concatenate([[0], runs.run_stops])))
    no_low, no_high = lows <= LOWEST_CODE, highs == HIGHEST_CODE
    own = highs.astype(np.int64) - lows
    classes = {
        ANY: no_low & no_high,
        AT_MOST: no_low & ~no_high,
        AT_LEAST: no_high & ~no_low,
    }
    sound = (own >= 0) & (own <= widths) & ~no_low & ~no_high
    for width, expected in classes.items():
        sound |= (widths == width) & expected
    require(sound.all(), f"an entry of the {name} is in a run of another class")
    keys = np.where(widths == AT_MOST, highs, lows)
    in_order = keys[1:] >= keys[:-1]
    in_order[runs.run_stops[(runs.run_stops > 0) & (runs.run_stops < len(keys))] - 1] = True
    require(in_order.all(), f"the entries of a run of the {name} are out of order")


def _check_conjunctions(fields: Fields, runs: Runs, conjunctions: Conjunctions) -> None:
    """Predicates follow the order of conjunctions, with the last of each marked. The first is that of its run."""
    _check_runs("conjunctions", runs, len(fields.kinds), conjunctions[:4])
    require(conjunctions.stride.tolist() in ([NARROW], [WIDE]), "the predicates have an unknown width")
    require(len(conjunctions.predicates) % int(conjunctions.stride[0]) == 0, "the predicates are cut short")
    rows = predicate_rows(conjunctions)
    numbers = rows[:, 0] >> 2
    check_below("field of a predicate", numbers, len(fields.kinds))
    require((fields.kinds[numbers] <= codes.INSTANT).all(), "a predicate is on a field that is not a scalar's")
    _check_ends("predicates", fields, numbers.astype(np.int64), rows[:, 1], LOWEST_CODE)
    _check_ends("predicates", fields, numbers.astype(np.int64), rows[:, 2], HIGHEST_CODE)
    ends = np.flatnonzero(rows[:, 0] & 2) + 1
    lengths = np.diff(ends, prepend=0)
    require(len(ends) == len(conjunctions.tails), "the predicates do not fit the conjunctions")
    require(not len(rows) or ends[-1] == len(rows), "the last conjunction has no end")
    require((conjunctions.tails == ends - lengths).all(), "the conjunctions are out of order")
    first = rows[ends - lengths]
    negated = first[:, 0] & 1 == 1
    require((negated | (lengths > 1)).all(), "a conjunction of one range is among those of several")
    require(
        (first[:, 0] >> 2 == _fields_of(runs)).all(), "a conjunction is under another field than its first predicate"
    )
    lows, highs = np.where(negated, LOWEST_CODE, first[:, 1]), np.where(negated, HIGHEST_CODE, first[:, 2])
    _check_classes("conjunctions", runs, lows, highs)
    by_highest = (lows <= LOWEST_CODE) & (highs != HIGHEST_CODE)
    bounds = np.where(by_highest, highs, lows)
    require((conjunctions.bounds == bounds).all(), "a bound of a conjunction is not one of its first predicate")
    fits = filters_fit(rows, ends, conjunctions.filters, np.diff(fields.operand_starts))
    require(fits, "a filter of a conjunction belongs to none of its predicates")


def _check_compounds(name: str, layout: AccessLayout, compounds: Compounds, owners: int) -> None:
    """Schemas are over suitable fields, groups have postings, and tests refer to existing things."""
    fields, schemas = layout.lists.fields, len(compounds.sorted_by)
    check_starts(f"fields of {name}", compounds.starts, len(compounds.fields))
    check_starts(f"groups of {name}", compounds.group_starts, len(compounds.keys))
    require(len(compounds.starts) == schemas + 1 == len(compounds.group_starts), f"the {name} differ in length")
    require((np.diff(compounds.starts) > 0).all(), f"a schema of {name} has no field")
    check_below(f"field of {name}", compounds.fields, len(fields.kinds))
    check_below(f"field that {name} are sorted by", compounds.sorted_by + 1, len(fields.kinds) + 1)
    one_valued = np.isin(fields.kinds, ONE_VALUED)
    is_lead = np.isin(np.arange(len(compounds.fields)), compounds.starts)
    require((one_valued[compounds.fields] | is_lead).all(), f"a field of {name} has several values")
    by = compounds.sorted_by
    require(one_valued[by[by >= 0]].all(), f"{name} are sorted by a field with several values")
    operands = np.diff(fields.operand_starts)[compounds.fields]
    require((operands > 0).all(), f"a field of {name} has no operand")
    bits = np.add.reduceat(np.log2(operands), compounds.starts[:-1]) if schemas else np.empty(0)
    require((bits < KEY_BITS).all(), f"a key of {name} is too long")
    _check_groups(name, fields, compounds)
    check_below(f"owner of {name}", compounds.postings.owners, owners)
    _check_tests(name, layout, compounds)


def _check_groups(name: str, fields: Fields, compounds: Compounds) -> None:
    """Keys ascend, no group is empty, and postings lie where searches expect them."""
    schemas = np.repeat(np.arange(len(compounds.sorted_by)), np.diff(compounds.group_starts))
    ascends = (np.diff(compounds.keys) > 0) | (np.diff(schemas) > 0)
    require((compounds.keys >= 0).all() and ascends.all(), f"the keys of {name} are out of order")
    runs, postings = compounds.runs, compounds.postings
    _check_runs(name, runs, len(compounds.keys), postings)
    require((np.diff(runs.starts) > 0).all(), f"a group of {name} is empty")
    by = compounds.sorted_by[schemas[_fields_of(runs)]]
    is_sorted = by >= 0
    for ends, none in ((postings.lows, LOWEST_CODE), (postings.highs, HIGHEST_CODE)):
        _check_ends(name, fields, by[is_sorted].astype(np.int64), ends[is_sorted], none)
        require((ends[~is_sorted] == none).all(), f"a posting of {name} has an end without a value")
    _check_classes(name, runs, postings.lows, postings.highs)


def _check_tests(name: str, layout: AccessLayout, compounds: Compounds) -> None:
    """Every test refers to an existing field, attribute, box or literal."""
    fields, programs = layout.lists.fields, layout.programs_of
    require(len(compounds.tests) % 3 == 0 and compounds.boxes.shape[1] == 4, f"the tests of {name} are cut short")
    tests = compounds.tests.reshape(-1, 3)
    check_starts(f"tests of {name}", compounds.test_starts, len(tests))
    require(len(compounds.test_starts) == len(compounds.postings.owners) + 1, f"the tests of {name} differ in length")
    marks, numbers = tests[:, 0] & MARK_MASK, tests[:, 0] >> MARK_BITS
    check_below(f"kind of a test of {name}", marks, HOLDS + 1)
    of_field = marks <= OUTSIDE
    check_below(f"field of a test of {name}", numbers[of_field], len(fields.kinds))
    require(np.isin(fields.kinds[numbers[of_field]], ONE_VALUED).all(), f"a test of {name} has several values")
    check_below(f"attribute of a test of {name}", numbers[~of_field & (marks != HOLDS)], len(programs.attributes))
    check_below(f"box of a test of {name}", tests[marks == MEETS, 1], len(compounds.boxes))
    check_below(f"literal of a test of {name}", tests[marks == HOLDS, 1], 2 * len(programs.arrays.leaf_kinds))
