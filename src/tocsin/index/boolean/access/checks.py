"""Do the numbers of an access index stay within its arrays? Kernels check nothing, so all is checked on load."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.expressions.checks import ascending, check_below, check_starts, require
from tocsin.index.boolean.access.kernels.layouts import (
    ANY,
    AT_LEAST,
    AT_MOST,
    NARROW,
    WIDE,
    Conjunctions,
    Lists,
    Postings,
    Runs,
)
from tocsin.index.boolean.access.layout import AccessLayout, predicate_rows
from tocsin.index.fields.fields import check_fields
from tocsin.index.fields.kernels.layouts import ELEMENT, HIGHEST_CODE, LOWEST_CODE, PATTERN, Fields
from tocsin.kernels import codes


def check_layout(layout: AccessLayout) -> None:
    """Raise `ValueError` unless every offset and number is in range, and every entry lies where a search expects it."""
    lists, names = layout.lists, layout.programs_of
    programs, subscriptions = lists.programs, layout.subscriptions
    require(0 <= subscriptions < 2**31, "the number of subscriptions is out of range")
    check_fields(lists.fields, len(names.attributes), len(names.transforms))
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
    _check_kinds(lists)


def _check_patterns(fields: Fields, patterns: int, regexes: int) -> None:
    """Every operand of a field of patterns is one that there is."""
    owners = np.repeat(np.arange(len(fields.kinds)), np.diff(fields.operand_starts))
    numbers = fields.operands[fields.kinds[owners] == PATTERN]
    by_regex = numbers & 1 == 1
    check_below("pattern that is a key", numbers[~by_regex] >> 1, patterns)
    check_below("regular expression that is a key", numbers[by_regex] >> 1, regexes)


def _check_kinds(lists: Lists) -> None:
    """Only a scalar has ranges; an element of a list has equalities, and no transform; a pattern has equalities."""
    scalar = lists.fields.kinds <= codes.INSTANT
    for runs in (lists.single_runs, lists.conjunction_runs):
        require((np.diff(runs.starts)[~scalar] == 0).all(), "a range is under a field that is no scalar's")
    elements = lists.fields.kinds >= ELEMENT
    require((lists.fields.transforms[elements] == 0).all(), "a field of elements has a transform")
    within = (elements | (lists.fields.kinds == PATTERN))[_fields_of(lists.program_runs)]
    postings = lists.program_postings
    require((postings.lows == postings.highs)[within].all(), "a key of elements or patterns is no equality")


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
    _check_ends(name, fields, owners, postings.lows)
    _check_ends(name, fields, owners, postings.highs)
    _check_classes(name, runs, postings.lows, postings.highs)


def _check_ends(name: str, fields: Fields, owners: NDArray[np.int64], ends: NDArray[np.int32]) -> None:
    """Every end is an operand's own code, or none."""
    operands = np.diff(fields.operand_starts)[owners]
    sound = (ends == LOWEST_CODE) | (ends == HIGHEST_CODE) | ((ends & 1 == 1) & (ends > 0) & (ends < 2 * operands))
    require(sound.all(), f"an end of the {name} is no operand's code")


def _check_classes(name: str, runs: Runs, lows: NDArray[np.int32], highs: NDArray[np.int32]) -> None:
    """Every entry is of the class of its run, so that what a search finds holds what the search promises."""
    widths = np.repeat(runs.run_widths, np.diff(np.concatenate([[0], runs.run_stops])))
    no_low, no_high = lows <= LOWEST_CODE, highs == HIGHEST_CODE
    own = np.maximum(highs.astype(np.int64) - lows, 0)
    classes = {
        ANY: no_low & no_high,
        AT_MOST: no_low & ~no_high,
        AT_LEAST: no_high & ~no_low,
    }
    sound = (widths >= 0) & ~no_low & ~no_high & (own <= widths)
    for width, expected in classes.items():
        sound |= (widths == width) & expected
    require(sound.all(), f"an entry of the {name} is in a run of another class")


def _check_conjunctions(fields: Fields, runs: Runs, conjunctions: Conjunctions) -> None:
    """Predicates in the order of the conjunctions, the last of each marked; the first one is what the run is about."""
    _check_runs("conjunctions", runs, len(fields.kinds), conjunctions[:4])
    require(conjunctions.stride.tolist() in ([NARROW], [WIDE]), "the predicates are of no known width")
    require(len(conjunctions.predicates) % int(conjunctions.stride[0]) == 0, "the predicates are cut short")
    rows = predicate_rows(conjunctions)
    numbers = rows[:, 0] >> 2
    check_below("field of a predicate", numbers, len(fields.kinds))
    require((fields.kinds[numbers] <= codes.INSTANT).all(), "a predicate is on a field that is no scalar's")
    _check_ends("predicates", fields, numbers.astype(np.int64), rows[:, 1])
    _check_ends("predicates", fields, numbers.astype(np.int64), rows[:, 2])
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
