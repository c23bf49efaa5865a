"""Placement of expressions under access keys of several attributes: clauses, schemas, groups.

An expression moves there as a whole: if each of its clauses fits a schema, and all together cost less than its cover.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, frozen_table, starts_of
from tocsin.index.boolean.access.kernels.clauses import (
    HOLDS,
    LONGEST,
    MARK_MASK,
    MEETS,
    MOST,
    Clauses,
    Parsing,
    Stack,
    write_clauses,
)
from tocsin.index.boolean.access.kernels.clustering import cluster
from tocsin.index.boolean.access.kernels.layouts import Compounds, Hashing, Lists, Postings
from tocsin.index.boolean.access.kernels.placing_compounds import SLOT, write_entries, write_slots, write_tests
from tocsin.index.boolean.access.layout import no_compounds
from tocsin.index.boolean.access.schemas import Schema, choose_schemas, price_under
from tocsin.index.fields.kernels.keys import Keys, Shares
from tocsin.index.fields.kernels.layouts import ONE_VALUED, Fields
from tocsin.index.tables import new_table
from tocsin.kernels.programs.layouts import Expressions

SAMPLED: Final = 16_384
"""The number of sampled expressions that schemas are chosen by."""

FEWEST: Final = 128
"""With fewer expressions no schema is used: it would save little, and its code would have to be compiled."""

_AT_ONCE: Final = 16_384
"""Clauses that are written together."""

_SEED: Final = 2001


class Known(NamedTuple):
    """The inputs of clauses."""

    leaves: Expressions
    keys: Keys
    fields: Fields
    shares: Shares


class Compounded(NamedTuple):
    """The expressions that go under schemas, and their lists."""

    owners: NDArray[np.int32]  # the expressions, ascending
    prices: NDArray[np.float64]  # the cost of each to an event
    sure: Compounds
    likely: Compounds  # owners are expressions, not yet programs


def compounded(known: Known, owners: NDArray[np.int32], prices: NDArray[np.float64]) -> Compounded:
    """Choose the owners that go under schemas, and make their lists. `prices` are their other costs to an event.

    Cost: linear in the clauses if any schema pays, else a pass over a sample.
    """
    nothing = Compounded(np.empty(0, np.int32), np.empty(0), no_compounds(), no_compounds())
    if len(owners) < FEWEST:
        return nothing
    some = np.arange(len(owners))
    if len(owners) > SAMPLED:
        some = np.sort(np.random.default_rng(_SEED).choice(some, SAMPLED, replace=False))
    clauses = clauses_of(known, owners[some])
    schemas: Sequence[Schema] = ()
    if len(clauses.owners):
        shared = _shared(clauses, owners, prices)
        weight = len(owners) / len(some)
        schemas = choose_schemas(clauses, shared, known.fields, known.shares.fields, weight)
    if not schemas:
        return nothing
    if len(some) < len(owners):
        clauses = clauses_of(known, owners)
    best = _cheapest(clauses, known.fields, schemas)
    clauses = clauses._replace(costs=np.empty(0))  # most of the memory, and no longer needed
    totals = np.full(len(owners), np.inf)
    places = np.searchsorted(owners, clauses.owners)
    totals[places] = 0.0
    np.add.at(totals, places, best.costs)
    moved = totals < prices
    lists = (np.flatnonzero(moved[places] & which) for which in (best.remaining >= 0, best.remaining < 0))
    boxes = known.leaves.boxes
    under = (_lists(known.fields, boxes, clauses, schemas, best, of) for of in lists)
    return Compounded(owners[moved], totals[moved], *under)


def clauses_of(known: Known, owners: NDArray[np.int32]) -> Clauses:
    """The clauses of all owners that have any."""
    lengths = np.diff(known.leaves.program_starts)[owners]
    stack = Stack(*(np.empty(int(lengths.max(initial=1)), np.int64) for _ in Stack._fields))
    room = MOST + min(_AT_ONCE, MOST * len(owners))
    parts: list[Clauses] = []
    first = 0
    while first < len(owners) or not parts:
        out = new_table(Clauses, clauses=room, tests=room * LONGEST)
        first, count = write_clauses(Parsing(*known, stack, out), owners, first)
        parts.append(_cut(out, count))
    ends = np.cumsum([0, *(part.starts[-1] for part in parts)])
    starts = [part.starts[1:] + end for part, end in zip(parts, ends, strict=False)]
    columns = {name: [getattr(part, name) for part in parts] for name in Clauses._fields}
    parts.clear()  # frees a column's parts before the next one is joined
    columns["starts"] = [np.zeros(1, np.int64), *starts]
    return Clauses(*(np.concatenate(columns.pop(name)) for name in Clauses._fields))


def _cut(clauses: Clauses, count: int) -> Clauses:
    """The first `count` clauses, without the room behind them."""
    tests = int(clauses.starts[count])
    lengths = {"owners": count, "whole": count, "starts": count + 1}
    return Clauses(**{name: array[: lengths.get(name, tests)].copy() for name, array in clauses._asdict().items()})


def _shared(clauses: Clauses, owners: NDArray[np.int32], prices: NDArray[np.float64]) -> NDArray[np.float64]:
    """The present cost of each clause: its owner's price in even shares."""
    places = np.searchsorted(owners, clauses.owners)
    shared: NDArray[np.float64] = prices[places] / np.bincount(places)[places]
    return shared


class _Best(NamedTuple):
    """The cheapest schema for each clause. C clauses."""

    schemas: NDArray[np.int64]  # (C,)
    costs: NDArray[np.float64]  # (C,) infinity if no schema fits
    remaining: NDArray[np.int32]  # (C,) tests that remain; -1 if the expression must be verified


def _cheapest(clauses: Clauses, fields: Fields, schemas: Sequence[Schema]) -> _Best:
    """The cheapest schema for each clause."""
    count = len(clauses.owners)
    best = _Best(np.zeros(count, np.int64), np.full(count, np.inf), np.zeros(count, np.int32))
    for number, schema in enumerate(schemas):
        costs, remaining = price_under(clauses, fields, schema)
        better = costs < best.costs
        best.schemas[better], best.costs[better], best.remaining[better] = number, costs[better], remaining[better]
    return best


class _Entries(NamedTuple):
    """Clauses under their schemas, one schema after another. E entries."""

    groups: NDArray[np.int32]  # (E,)
    lows: NDArray[np.int32]  # (E,)
    highs: NDArray[np.int32]  # (E,)
    clauses: NDArray[np.int64]  # (E,)
    lengths: NDArray[np.int64]  # (E,) number of tests that remain


def _lists(
    fields: Fields,
    boxes: NDArray[np.float64],
    clauses: Clauses,
    schemas: Sequence[Schema],
    best: _Best,
    chosen: NDArray[np.int64],
) -> Compounds:
    """The lists of the chosen clauses under their schemas. Schemas without clauses are left out."""
    if not len(chosen):
        return no_compounds()
    numbers = best.schemas[chosen]
    used = [schemas[number] for number in np.unique(numbers).tolist()]
    parts, keys = [], []
    group_starts, starts = [0], [0]
    for number, schema in zip(np.unique(numbers).tolist(), used, strict=True):
        distinct, entries = _entries(fields, clauses, schema, chosen[numbers == number])
        parts.append(entries._replace(groups=entries.groups + np.int32(group_starts[-1])))
        keys.append(distinct)
        group_starts.append(group_starts[-1] + len(distinct))
        starts.append(starts[-1] + len(entries.clauses))
    whole = _Entries(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    parts.clear()
    order, runs = cluster(group_starts[-1], whole.groups, whole.lows, whole.highs)
    own = whole.clauses[order]
    test_starts = starts_of(whole.lengths[order], len(order))
    tests = np.empty((int(test_starts[-1]), 3), np.int32)
    for schema, first, stop in zip(used, starts[:-1], starts[1:], strict=True):  # the groups of a schema are adjacent
        flat = tests[test_starts[first] : test_starts[stop]].reshape(-1)
        write_tests(clauses, own[first:stop], _equalities(schema), schema.sorted_by, fields, flat)
    tests, boxes = _with_own_boxes(tests, boxes)
    return Compounds(
        starts=frozen(np.cumsum([0, *(len(schema.equalities) for schema in used)]), np.int64),
        fields=frozen(np.array([field for schema in used for field in schema.equalities]), np.int32),
        sorted_by=frozen(np.array([schema.sorted_by for schema in used]), np.int32),
        group_starts=frozen(np.array(group_starts), np.int64),
        keys=frozen(np.concatenate(keys), np.int64),
        runs=frozen_table(runs),
        postings=Postings(
            *(frozen(array, np.int32) for array in (whole.lows[order], whole.highs[order], clauses.owners[own]))
        ),
        test_starts=frozen(test_starts, np.int32),
        tests=tests,
        boxes=boxes,
    )


def _entries(
    fields: Fields, clauses: Clauses, schema: Schema, chosen: NDArray[np.int64]
) -> tuple[NDArray[np.int64], _Entries]:
    """The keys that the chosen clauses have under a schema, and the clauses as entries of these groups."""
    count = len(chosen)
    keys, lengths = np.empty(count, np.int64), np.empty(count, np.int64)
    lows, highs = np.empty(count, np.int32), np.empty(count, np.int32)
    write_entries(clauses, chosen, _equalities(schema), schema.sorted_by, fields, keys, lows, highs, lengths)
    distinct, groups = np.unique(keys, return_inverse=True)
    return distinct, _Entries(groups.astype(np.int32), lows, highs, chosen, lengths)


def _equalities(schema: Schema) -> NDArray[np.int32]:
    return np.array(schema.equalities, np.int32)


def _with_own_boxes(
    tests: NDArray[np.int32], boxes: NDArray[np.float64]
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """The tests, flat, with their boxes copied in the same order, so that both are read sequentially."""
    asked = (tests[:, 0] & MARK_MASK) == MEETS
    numbers = tests[asked, 1]
    tests[asked, 1] = np.arange(len(numbers))
    return frozen(tests.ravel(), np.int32), frozen(boxes[numbers], np.float64)


def with_literals(compounds: Compounds, programs: NDArray[np.int64], written: Expressions) -> Compounds:
    """The lists with tests that name literals, not their positions. `programs` numbers the owners in `written`."""
    tests = compounds.tests.reshape(-1, 3).copy()
    asked = (tests[:, 0] & MARK_MASK) == HOLDS
    owners = np.repeat(programs, np.diff(compounds.test_starts))[asked]
    tests[asked, 1] = written.program[written.program_starts[owners] + tests[asked, 1]]
    return compounds._replace(tests=frozen(tests.ravel(), np.int32))


def new_hashing(compounds: Compounds) -> Hashing:
    """Hash tables of the groups of each schema: 2 to 4 slots a group. They are made from the lists, and not saved."""
    groups = np.diff(compounds.group_starts)
    bits = np.array([max(int(count), 1).bit_length() + 1 for count in groups.tolist()], np.int64)
    starts = np.cumsum(np.concatenate([[0], 1 << bits]))
    slots = np.zeros((int(starts[-1]), int(SLOT)), np.int64)
    for k, number in enumerate(bits.tolist()):
        first, stop = int(compounds.group_starts[k]), int(compounds.group_starts[k + 1])
        own = slots[starts[k] : starts[k + 1]].ravel()
        write_slots(compounds.keys[first:stop], compounds.runs, first, 64 - number, own)
    return Hashing(frozen(starts, np.int64), frozen(64 - bits, np.int64), frozen(slots.ravel(), np.int64))


def lookups(compounds: Sequence[Compounds], fields: Fields, pairs: int) -> int:
    """The most look-ups in schemas that an event with so many (field, code) pairs causes."""
    leads = [one.fields[one.starts[:-1]] for one in compounds]
    many = max(int((~np.isin(fields.kinds[lead], ONE_VALUED)).sum()) for lead in leads)
    return max(map(len, leads)) + pairs * many


def count_compound(lists: Lists) -> int:
    """The number of expressions under schemas."""
    subscriptions = lists.programs.owners[lists.likely.postings.owners]
    return len(np.union1d(lists.sure.postings.owners, subscriptions))
