"""Building of an access index from compiled expressions: fields and keys, costs, placement, clustering."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, frozen_table
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.joining import subset
from tocsin.columns.expressions.leaf_order import eager_first
from tocsin.columns.expressions.narrowing import narrowed
from tocsin.columns.expressions.shared_operands import with_shared_operands
from tocsin.index.boolean.access.compounds import Compounded, Known, compounded, with_literals
from tocsin.index.boolean.access.kernels import placing
from tocsin.index.boolean.access.kernels.clustering import cluster
from tocsin.index.boolean.access.kernels.layouts import (
    NARROW,
    NARROW_HIGHEST,
    WIDE,
    Compounds,
    Conjunctions,
    Lists,
    Postings,
    Programs,
    Runs,
)
from tocsin.index.boolean.access.layout import AccessLayout
from tocsin.index.boolean.access.pricing import price
from tocsin.index.boolean.access.schemas import FILTER, TAKE, VERIFY
from tocsin.index.fields.fields import fields_and_keys
from tocsin.index.fields.kernels.key_tables import named_attributes
from tocsin.index.fields.kernels.keys import Keys, Shares, guessed_shares, key_costs, literal_costs
from tocsin.index.fields.kernels.layouts import HIGHEST_CODE, LOWEST_CODE, Fields
from tocsin.index.statistics import Statistics, attribute_shares
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Expressions

_MOST_NULLABLE: Final = 32
_COMMON: Final = 0.5


class Costs(NamedTuple):
    """What placement decides by."""

    fields: Fields
    keys: Keys
    shares: Shares
    literals: NDArray[np.float64]  # cost of each literal


class _Placed(NamedTuple):
    """Where each expression is placed. S expressions."""

    compiled: CompiledExpressions
    known: Costs
    lists: NDArray[np.uint8]  # (S,)
    cheapest: NDArray[np.int32]  # (S,) a conjunction's access predicate
    keyed: NDArray[np.int32]  # owner, field, lowest and highest code of each key of the other programs
    compounds: Compounded
    prices: NDArray[np.float64]  # (S,) nanoseconds an event


def build_layout(compiled: CompiledExpressions, statistics: Statistics | None) -> AccessLayout:
    """Place and cluster all expressions. Cost: O(P log P) for P predicates."""
    placed = _placed(compiled, statistics)
    compiled, known, lists, compounds = placed.compiled, placed.known, placed.lists, placed.compounds
    leaves = compiled.arrays
    singles, conjunctions = _singles(leaves, lists, known), _conjunctions(leaves, lists, placed.cheapest, known)
    runs, postings, programs = _programs(lists, placed.keyed, len(known.fields.kinds))
    written = eager_first(subset(compiled, programs.owners))
    under = _with_programs(compounds, programs, written.arrays)
    whole = Lists(known.fields, *singles, *conjunctions, runs, postings, programs, *under)
    return AccessLayout(len(compiled), whole, written)


def expected_costs(compiled: CompiledExpressions, statistics: Statistics | None) -> NDArray[np.float64]:
    """(S,) the expected cost of each expression to an event, in nanoseconds. Cost: most of building the index."""
    return _placed(compiled, statistics).prices


def _placed(compiled: CompiledExpressions, statistics: Statistics | None) -> _Placed:
    """Choose the list and the keys of every expression."""
    compiled = narrowed(compiled)
    leaves = with_shared_operands(compiled.arrays)  # equal patterns get one number, and thus one key
    compiled = replace(compiled, arrays=leaves)
    known = costs_of(compiled, statistics)
    lists = placing.place_all(leaves, known.literals)
    keyed = _program_keys(leaves, lists, known)
    cheapest = _cheapest_literals(leaves, lists, known)
    prices = _prices(leaves, lists, cheapest, keyed, known)
    owners = np.flatnonzero((lists == placing.CONJUNCTION) | (lists == placing.PROGRAM)).astype(np.int32)
    compounds = compounded(Known(leaves, known.keys, known.fields, known.shares), owners, prices[owners])
    lists[compounds.owners] = placing.COMPOUND
    prices[compounds.owners] = compounds.prices
    keyed = keyed[lists[keyed[:, 0]] != placing.COMPOUND]
    return _Placed(compiled, known, lists, cheapest, keyed, compounds, prices)


def literal_prices(compiled: CompiledExpressions, statistics: Statistics | None) -> NDArray[np.float64]:
    """The cost of each literal, `leaf * 2 + negated`, as an access predicate on an attribute that is present."""
    return costs_of(compiled, statistics, most_nullable=0).literals


def costs_of(
    compiled: CompiledExpressions, statistics: Statistics | None, most_nullable: int = _MOST_NULLABLE
) -> Costs:
    """Number the fields, sort their operands, turn keys into codes, and price every literal."""
    leaves = compiled.arrays
    named = named_attributes(leaves, len(compiled.attributes))
    shares = attribute_shares(compiled.attributes, named, statistics)
    fields, keys = fields_and_keys(compiled, shares, _nullable(leaves, shares, most_nullable))
    guessed = guessed_shares(keys.fields, keys.lows, keys.highs, fields.operand_starts)
    known = price(compiled, fields, shares, guessed, statistics)
    return Costs(fields, keys, known, literal_costs(leaves, keys, known))


def _nullable(leaves: Expressions, shares: NDArray[np.float64], most: int) -> NDArray[np.bool_]:
    """The attributes whose absence deserves a key: most events have them. The most-asked are chosen, `most` at most."""
    asked = np.bincount(leaves.leaf_attributes[leaves.leaf_kinds == codes.IS_NULL], minlength=len(shares))
    worth = (asked > 0) & (shares >= _COMMON)
    chosen = np.argsort(-asked * worth, kind="stable")[:most]
    nullable = np.zeros(len(shares), bool)
    nullable[chosen] = worth[chosen]
    return nullable


def _singles(leaves: Expressions, lists: NDArray[np.uint8], known: Costs) -> tuple[Runs, Postings]:
    owners = np.flatnonzero(lists == placing.SINGLE).astype(np.int32)
    fields, lows, highs = _ranges(known.keys, leaves.program[leaves.program_starts[owners]])
    order, runs = cluster(len(known.fields.kinds), fields, lows, highs)
    return frozen_table(runs), Postings(*(frozen(a[order], np.int32) for a in (lows, highs, owners)))


def _cheapest_literals(leaves: Expressions, lists: NDArray[np.uint8], known: Costs) -> NDArray[np.int32]:
    """The access predicate of each conjunction; 0 for other expressions."""
    owners = np.flatnonzero(lists == placing.CONJUNCTION).astype(np.int32)
    literals, cheapest = np.empty(len(owners), np.int32), np.zeros(len(lists), np.int32)
    placing.cheapest_literals(leaves.program, leaves.program_starts, owners, known.literals, literals)
    cheapest[owners] = literals
    return cheapest


def _conjunctions(
    leaves: Expressions, lists: NDArray[np.uint8], cheapest: NDArray[np.int32], known: Costs
) -> tuple[Runs, Conjunctions]:
    owners = np.flatnonzero(lists == placing.CONJUNCTION).astype(np.int32)
    fields, lows, highs = _ranges(known.keys, cheapest[owners])
    order, runs = cluster(len(known.fields.kinds), fields, lows, highs)
    owners = owners[order]
    lengths = leaves.program_starts[owners + 1] - leaves.program_starts[owners]
    most = int(np.diff(known.fields.operand_starts).max(initial=0))
    stride = NARROW if 2 * most < NARROW_HIGHEST else WIDE
    by_highest = (lows <= LOWEST_CODE) & (highs != HIGHEST_CODE)  # in the order of `cluster`
    table = Conjunctions(
        bounds=np.where(by_highest, highs, lows)[order],
        filters=np.empty(len(owners), np.uint16),
        tails=np.empty(len(owners), np.uint32),
        owners=owners,
        predicates=np.empty(stride * int(lengths.sum()), np.int32),
        stride=np.array([stride]),
    )
    about = (known.literals, known.keys, known.shares.fields, known.fields.operand_starts)
    placing.write_conjunctions(leaves.program, leaves.program_starts, *about, table)
    return frozen_table(runs), frozen_table(table)


def _program_keys(leaves: Expressions, lists: NDArray[np.uint8], known: Costs) -> NDArray[np.int32]:
    """Owner, field, lowest and highest code of each key of the programs."""
    room = 1024
    while True:
        out = np.empty((room, 4), np.int32)
        count = placing.program_keys(leaves, lists, known.literals, known.keys, known.shares, out)
        if count <= room:
            return out[:count]
        room = count


def _prices(
    leaves: Expressions,
    lists: NDArray[np.uint8],
    cheapest: NDArray[np.int32],
    keyed: NDArray[np.int32],
    known: Costs,
) -> NDArray[np.float64]:
    """The cost of each expression to an event, by one attribute or by the keys of its cover."""
    prices = np.where(lists == placing.UNCOVERED, VERIFY, 0.0)
    singles = np.flatnonzero(lists == placing.SINGLE)
    prices[singles] = TAKE * known.literals[leaves.program[leaves.program_starts[singles]]]
    conjunctions = np.flatnonzero(lists == placing.CONJUNCTION)
    prices[conjunctions] = FILTER * known.literals[cheapest[conjunctions]]
    owner, field, low, high = keyed.T
    np.add.at(prices, owner, VERIFY * key_costs(field, low, high, known.shares))
    return prices


def _with_programs(compounds: Compounded, programs: Programs, written: Expressions) -> tuple[Compounds, Compounds]:
    """The lists under schemas, completed with the numbers of their programs."""
    numbers = np.searchsorted(programs.owners, compounds.sure.postings.owners)
    sure = with_literals(compounds.sure, numbers, written)
    numbers = np.searchsorted(programs.owners, compounds.likely.postings.owners)
    likely = with_literals(compounds.likely, numbers, written)
    return sure, likely._replace(postings=likely.postings._replace(owners=frozen(numbers, np.int32)))


def _programs(lists: NDArray[np.uint8], keyed: NDArray[np.int32], fields: int) -> tuple[Runs, Postings, Programs]:
    owners = np.flatnonzero(lists >= placing.PROGRAM).astype(np.int32)
    numbers = np.zeros(len(lists), np.int32)
    numbers[owners] = np.arange(len(owners))
    uncovered = numbers[np.flatnonzero(lists == placing.UNCOVERED)]
    owner, field, low, high = (np.ascontiguousarray(column) for column in keyed.T)
    order, runs = cluster(fields, field, low, high)
    postings = Postings(low[order], high[order], numbers[owner[order]])
    return frozen_table(runs), frozen_table(postings), frozen_table(Programs(owners, uncovered))


def _ranges(keys: Keys, literals: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """The keys of range literals: fields, lowest and highest codes. Negated literals have the range of every value."""
    places = keys.starts[literals >> 1]
    negated = (literals & 1).astype(bool)
    lows, highs = keys.lows[places], keys.highs[places]
    lows[negated], highs[negated] = LOWEST_CODE, HIGHEST_CODE
    return keys.fields[places], lows, highs
