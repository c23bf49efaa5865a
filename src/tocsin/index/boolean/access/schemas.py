"""Greedy choice of the sets of attributes that get an access key of their own, by what they save.

As in Fabret et al. 2001 (section 4): a clause costs the share of events that lead to it, times the time to look at it.
A schema costs a look-up for every event that has its fields. Shares are multiplied as if fields were independent. A
sample of the clauses shows which schemas pay.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.boolean.access.kernels.clauses import WITHIN, Clauses
from tocsin.index.boolean.access.kernels.placing_compounds import NO_FIELD, fit_schema
from tocsin.index.fields.kernels.layouts import ONE_VALUED, Fields

MOST_SCHEMAS: Final = 32
_MOST_SHAPES: Final = 64
_MOST_CANDIDATES: Final = 512
_MOST_EQUALITIES: Final = 4
_MOST_CONSIDERED: Final = 6
"""Sets are formed of this many equalities of a clause, the rarest."""

# Nanoseconds, measured on the flights of benchmark B6 (decision 0024).
TAKE: Final = 1.5  # a match known without a test
TEST: Final = 4.0  # one range or box of a candidate
VERIFY: Final = 60.0  # walking a program
FILTER: Final = 4.0  # a conjunction under one of its predicates: its filter, then perhaps its predicates
_ASK: Final = 2.0  # testing whether an event has a schema's fields
_LOOK_UP: Final = 15.0
_WORTH: Final = 0.8
"""Schemas are used only if the cost falls below this share."""

KEY_BITS: Final = 62.0
"""The most bits of a key."""


class Schema(NamedTuple):
    """Fields tested for equality, with a many-valued one first, and the field to sort by, or NO_FIELD."""

    equalities: tuple[int, ...]
    sorted_by: int


def choose_schemas(
    clauses: Clauses, prices: NDArray[np.float64], fields: Fields, shares: NDArray[np.float64], weight: float
) -> list[Schema]:
    """The schemas that pay for these clauses. Each clause stands for `weight` of them, and now costs `prices` an event.

    `shares` are the fields'. Cost: some hundred passes over the clauses.
    """
    considered = [schema for schema in _candidates(clauses, prices, fields) if _fits(schema, fields)]
    if not considered:
        return []
    table = np.empty((len(considered), len(prices)), np.float32)
    for row, schema in zip(table, considered, strict=True):
        np.multiply(price_under(clauses, fields, schema)[0], weight, out=row, casting="same_kind")
    left = (prices * weight).astype(np.float32)
    look_ups = np.array([_look_up(schema, shares) for schema in considered])
    before, spent = left.sum(), 0.0
    chosen: list[Schema] = []
    while len(chosen) < MOST_SCHEMAS:
        gains = np.array([np.maximum(left - row, 0.0).sum() for row in table]) - look_ups
        best = int(gains.argmax())
        if gains[best] <= 0.0:
            break
        chosen.append(considered[best])
        spent += look_ups[best]
        left = np.minimum(left, table[best])
    return chosen if left.sum() + spent < _WORTH * before else []


def price_under(clauses: Clauses, fields: Fields, schema: Schema) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """The cost of each clause under a schema, infinity if it does not fit, and how many tests remain.

    The latter is -1 if the expression must be verified as a whole.
    """
    shares, remaining = np.empty(len(clauses.owners)), np.empty(len(clauses.owners), np.int32)
    fit_schema(clauses, fields, np.array(sorted(schema.equalities), np.int32), schema.sorted_by, shares, remaining)
    return shares * np.where(remaining < 0, VERIFY, TAKE + TEST * np.minimum(remaining, 1)), remaining


def _look_up(schema: Schema, shares: NDArray[np.float64]) -> float:
    fields = [*schema.equalities, *([schema.sorted_by] if schema.sorted_by != NO_FIELD else [])]
    return _ASK + _LOOK_UP * float(np.prod(shares[fields]))


def _fits(schema: Schema, fields: Fields) -> bool:
    """Whether the operands of all equalities fit in one number of 62 bits."""
    operands = np.diff(fields.operand_starts)[list(schema.equalities)]
    return float(np.log2(np.maximum(operands, 1)).sum()) < KEY_BITS


def _candidates(clauses: Clauses, prices: NDArray[np.float64], fields: Fields) -> list[Schema]:
    """Schemas for the most expensive clauses: subsets of their equalities, with or without a range."""
    spent: defaultdict[Schema, float] = defaultdict(float)
    for (equalities, ranges), price in _dearest_shapes(clauses, prices):
        many = [f for f in equalities if fields.kinds[f] not in ONE_VALUED]
        plain = [f for f in equalities if fields.kinds[f] in ONE_VALUED]
        for leads in [(), *((lead,) for lead in many)]:
            for size in range(1 - len(leads), _MOST_EQUALITIES + 1 - len(leads)):
                for rest in combinations(plain, size):
                    for last in (NO_FIELD, *ranges):
                        spent[Schema((*leads, *rest), last)] += price
    return sorted(spent, key=spent.__getitem__, reverse=True)[:_MOST_CANDIDATES]


def _dearest_shapes(
    clauses: Clauses, prices: NDArray[np.float64]
) -> Iterator[tuple[tuple[Sequence[int], Sequence[int]], float]]:
    """The most expensive shapes of clauses (the fields of their equalities and ranges), and what is spent on each."""
    spent: Counter[tuple[tuple[int, ...], tuple[int, ...]]] = Counter()
    is_equality = ((clauses.lows == clauses.highs) & (clauses.marks == WITHIN)).tolist()
    is_range = ((clauses.lows != clauses.highs) & (clauses.marks == WITHIN)).tolist()
    starts, fields, costs = clauses.starts.tolist(), clauses.fields.tolist(), clauses.costs.tolist()
    for c, price in enumerate(prices.tolist()):
        tests = range(starts[c], starts[c + 1])
        equal = [t for t in tests if is_equality[t]]
        if len(equal) > _MOST_CONSIDERED:
            equal = sorted(sorted(equal, key=costs.__getitem__)[:_MOST_CONSIDERED])
        spent[tuple(fields[t] for t in equal), tuple(fields[t] for t in tests if is_range[t])] += price
    for (equal_fields, range_fields), price in spent.most_common(_MOST_SHAPES):
        if equal_fields:
            yield (equal_fields, range_fields[:_MOST_EQUALITIES]), price
