"""By which keys can each subscription be found? Of any event that matches it, one of them is an event's, too.

The keys are those of the cheapest cover (`kernels.programs.covers`), by how often events have them: an attribute's
value, an element of a list, or that an attribute is there. Ranges are no keys here, for an event has one value and not
all the ranges around it: what asks for a range is found by its attribute.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.narrowing import narrowed
from tocsin.index.boolean.access.building import Costs, costs_of
from tocsin.index.boolean.access.kernels.placing import PROGRAM, UNCOVERED, program_keys
from tocsin.index.fields.kernels.keys import ALWAYS, NEVER, key_costs
from tocsin.index.fields.kernels.layouts import ELEMENT, Fields
from tocsin.index.statistics import Statistics
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Expressions
from tocsin.model.readings import reading_of
from tocsin.placement.hashing import Hashes, hashes_of, keys_of
from tocsin.placement.kernels.keys import PRESENCE

ANY_KEY: Final = "any key"
RAREST_KEYWORD: Final = "the rarest keyword"
ALL_KEYWORDS: Final = "all keywords"
COVERS: Final = {"keyword": ALL_KEYWORDS, "prefix": RAREST_KEYWORD, "access": ANY_KEY}
"""Which keys each placement by keys goes by."""
_FIRST_ROOM: Final = 1024


class Covers(NamedTuple):
    """The keys by which expressions are found. N keys of S expressions.

    Who has no key and is not uncovered matches no event.
    """

    owners: NDArray[np.int64]  # (N,) ascending; one has each of its keys once
    keys: Hashes  # (N,)
    shares: NDArray[np.float64]  # (N,) of events, as far as that is known
    is_uncovered: NDArray[np.bool_]  # (S,) which may match events that have none of their keys
    is_by_place: NDArray[np.bool_]  # (S,) of which a key is a condition on a place: who sends events decides it


def covers_of(compiled: CompiledExpressions, statistics: Statistics | None, by: str = ANY_KEY) -> Covers:
    """The covers of expressions. Cost: O(P log P) for P predicates."""
    compiled = narrowed(compiled)
    known = costs_of(compiled, statistics, most_nullable=0)
    leaves = compiled.arrays
    costs = _costs_by_values(leaves, known)
    if by != ANY_KEY:
        costs = _costs_by_keywords(leaves, known, costs)
    found, lists = _found(_with_any_for_all(leaves) if by == ALL_KEYWORDS else leaves, costs, known)
    keys = _hashed(compiled, known.fields, found)
    shares = _shares(known, found)
    owners = found[:, 0].astype(np.int64)
    order = np.lexsort((keys, owners))
    owners, keys, shares = owners[order], keys[order], shares[order]
    once = np.ones(len(keys), bool)
    once[1:] = (owners[1:] != owners[:-1]) | (keys[1:] != keys[:-1])
    by_place = _by_places(compiled, known.fields, found, len(lists))
    return Covers(owners[once], keys[once], shares[once], lists == UNCOVERED, by_place)


def most_alike(name: str, compiled: CompiledExpressions) -> float:
    """The greatest share of its keywords that an event may have of any of some expressions, and none of its keys.

    By all keywords that is none; by the rarest one of n it is all but one; by whatever is cheapest it may be all.
    """
    by = COVERS.get(name, ANY_KEY)
    if by == ANY_KEY:
        return 1.0
    leaves = compiled.arrays
    asks = (leaves.leaf_kinds == codes.ARRAY_SET) & (leaves.leaf_operations == codes.CONTAINS)
    lengths = np.diff(leaves.set_starts)[leaves.leaf_others[asks]]
    return 0.0 if by == ALL_KEYWORDS else 1.0 - 1.0 / max(lengths.max(initial=1), 1)


def _found(
    leaves: Expressions, costs: NDArray[np.float64], known: Costs
) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Owner, field, lowest and highest code of the keys of all covers; who has none, and who matches nothing."""
    room = _FIRST_ROOM
    while True:
        lists, out = np.full(len(leaves.program_starts) - 1, PROGRAM, np.uint8), np.empty((room, 4), np.int32)
        count = program_keys(leaves, lists, costs, known.keys, known.shares, out)
        if count <= room:
            return out[:count], lists
        room = count


def _with_any_for_all(leaves: Expressions) -> Expressions:
    """Lists that are to contain all of some elements are found by any of them, instead of by the rarest."""
    asks = (leaves.leaf_kinds == codes.ARRAY_SET) & (leaves.leaf_operations == codes.CONTAINS)
    operations = np.where(asks, codes.OVERLAPS, leaves.leaf_operations)
    return leaves._replace(leaf_operations=frozen(operations, leaves.leaf_operations.dtype))


def _are_values(
    fields: Fields, field: NDArray[np.integer], lows: NDArray[np.integer], highs: NDArray[np.integer]
) -> NDArray[np.bool_]:
    """Which keys are one value of an attribute, or one element of its lists: not a range, and not folded."""
    kinds = fields.kinds[field]
    one: NDArray[np.bool_] = (lows == highs) & (lows & 1 == 1) & (kinds & ~np.uint8(ELEMENT) <= codes.INSTANT)
    one &= fields.transforms[field] == 0
    chosen = np.flatnonzero(one & (kinds & ~np.uint8(ELEMENT) == codes.STRING))
    operands = fields.operands[fields.operand_starts[field[chosen]] + (lows[chosen] >> 1)]
    one[chosen] = operands & 1 == 1  # else between two of the vocabulary
    return one


def _costs_by_values(leaves: Expressions, known: Costs) -> NDArray[np.float64]:
    """What each literal costs as a key: as often as its values come, or else its attribute does."""
    keys, kinds = known.keys, leaves.leaf_kinds
    held, present = known.literals[0::2], np.full(len(kinds), ALWAYS)
    named = keys.present >= 0
    present[named] = known.shares.fields[keys.present[named]]
    ranged = ~_by_values(leaves, known) & (held != NEVER) & (held != ALWAYS)
    costs = known.literals.copy()
    costs[0::2] = np.where(ranged, np.maximum(held, present), held)
    return costs


def _costs_by_keywords(leaves: Expressions, known: Costs, costs: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same, where only elements of lists are keys."""
    by_elements = _by_values(leaves, known) & (leaves.leaf_kinds == codes.ARRAY_SET)
    costs = np.where(costs == NEVER, NEVER, ALWAYS)
    costs[0::2] = np.where(by_elements, known.literals[0::2], costs[0::2])
    return costs


def _by_values(leaves: Expressions, known: Costs) -> NDArray[np.bool_]:
    """(F,) which leaves have keys, all of them values."""
    keys, lengths = known.keys, np.diff(known.keys.starts)
    wrong = ~_are_values(known.fields, keys.fields, keys.lows, keys.highs)
    owners = np.repeat(np.arange(len(lengths)), lengths)
    by_values: NDArray[np.bool_] = (lengths > 0) & (np.bincount(owners[wrong], minlength=len(lengths)) == 0)
    return by_values


def _hashed(compiled: CompiledExpressions, fields: Fields, found: NDArray[np.int32]) -> Hashes:
    """Fields and codes as keys."""
    _, field, low, high = (column.astype(np.int64) for column in found.T)
    of_fields = np.repeat(np.arange(len(compiled.attributes)), np.diff(fields.starts))
    kinds, values = np.full(len(field), PRESENCE, np.int64), np.zeros(len(field), np.uint64)
    exact = np.flatnonzero(_are_values(fields, field, low, high))
    kinds[exact] = fields.kinds[field[exact]]
    operands = fields.operands[fields.operand_starts[field[exact]] + (low[exact] >> 1)]
    values[exact] = operands.view(np.uint64)
    of_strings = kinds[exact] & ~ELEMENT == codes.STRING
    distinct, places = np.unique(operands[of_strings] >> 1, return_inverse=True)
    strings = hashes_of([compiled.vocabulary.text(number) for number in distinct.tolist()])
    values[exact[of_strings]] = strings[places]
    return keys_of(hashes_of(compiled.attributes)[of_fields[field]], kinds, values)


def _by_places(
    compiled: CompiledExpressions, fields: Fields, found: NDArray[np.int32], count: int
) -> NDArray[np.bool_]:
    """Which of so many expressions have a condition on a place among their keys."""
    is_of_place = np.array([reading_of(name).is_of_place for name in compiled.attributes], bool)
    of_fields = np.repeat(is_of_place, np.diff(fields.starts))
    by_place = np.zeros(count, bool)
    by_place[found[of_fields[found[:, 1]], 0]] = True
    return by_place


def _shares(known: Costs, found: NDArray[np.int32]) -> NDArray[np.float64]:
    """The share of events that have each key, of what is no value that have its attribute."""
    _, field, low, high = (np.ascontiguousarray(column) for column in found.T)
    exact = _are_values(known.fields, field, low, high)
    priced = key_costs(field, low, high, known.shares)
    shares: NDArray[np.float64] = np.where(exact, priced, known.shares.fields[field])
    return shares
