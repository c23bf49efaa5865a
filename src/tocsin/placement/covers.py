"""Covers of subscriptions by keys: every event that matches a subscription has at least one of its keys.

The keys come from the cheapest cover (`kernels.programs.covers`), by how often events have them. A key is a value of an
attribute, an element of a list, or the presence of an attribute. Ranges are not keys, since an event has a value but
does not list the ranges around it. A condition on a range is found by its attribute.
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
"""The kind of keys for each placement by keys."""
_FIRST_ROOM: Final = 1024


class Covers(NamedTuple):
    """The keys that find expressions. N keys of S expressions.

    An expression that has no key and is not uncovered matches no event.
    """

    owners: NDArray[np.int64]  # (N,) ascending; keys of an owner are distinct
    keys: Hashes  # (N,)
    shares: NDArray[np.float64]  # (N,) of events, as far as known
    is_uncovered: NDArray[np.bool_]  # (S,) which may match events without any of their keys
    is_by_place: NDArray[np.bool_]  # (S,) with a condition on a place as a key, which the sender evaluates


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
    """The greatest share of an expression's keywords that an event may have without having one of its keys.

    With all keywords as keys it is 0. With the rarest of n keywords as key it is (n - 1) / n. Otherwise it is 1.
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
    """Owner, field, lowest and highest code of all covers' keys; and which expressions have none or never match."""
    room = _FIRST_ROOM
    while True:
        lists, out = np.full(len(leaves.program_starts) - 1, PROGRAM, np.uint8), np.empty((room, 4), np.int32)
        count = program_keys(leaves, lists, costs, known.keys, known.shares, out)
        if count <= room:
            return out[:count], lists
        room = count


def _with_any_for_all(leaves: Expressions) -> Expressions:
    """Treat "contains all" as "contains any", so that lists are found by each element, not only by the rarest."""
    asks = (leaves.leaf_kinds == codes.ARRAY_SET) & (leaves.leaf_operations == codes.CONTAINS)
    operations = np.where(asks, codes.OVERLAPS, leaves.leaf_operations)
    return leaves._replace(leaf_operations=frozen(operations, leaves.leaf_operations.dtype))


def _are_values(
    fields: Fields, field: NDArray[np.integer], lows: NDArray[np.integer], highs: NDArray[np.integer]
) -> NDArray[np.bool_]:
    """Which keys are a single value of an attribute or element of a list: neither a range nor folded."""
    kinds = fields.kinds[field]
    one: NDArray[np.bool_] = (lows == highs) & (lows & 1 == 1) & (kinds & ~np.uint8(ELEMENT) <= codes.INSTANT)
    one &= fields.transforms[field] == 0
    chosen = np.flatnonzero(one & (kinds & ~np.uint8(ELEMENT) == codes.STRING))
    operands = fields.operands[fields.operand_starts[field[chosen]] + (lows[chosen] >> 1)]
    one[chosen] = operands & 1 == 1  # otherwise between two values of the vocabulary
    return one


def _costs_by_values(leaves: Expressions, known: Costs) -> NDArray[np.float64]:
    """The cost of each literal as a key: how often its values occur, or for ranges its attribute."""
    keys, kinds = known.keys, leaves.leaf_kinds
    held, present = known.literals[0::2], np.full(len(kinds), ALWAYS)
    named = keys.present >= 0
    present[named] = known.shares.fields[keys.present[named]]
    ranged = ~_by_values(leaves, known) & (held != NEVER) & (held != ALWAYS)
    costs = known.literals.copy()
    costs[0::2] = np.where(ranged, np.maximum(held, present), held)
    return costs


def _costs_by_keywords(leaves: Expressions, known: Costs, costs: NDArray[np.float64]) -> NDArray[np.float64]:
    """The costs when only elements of lists are keys."""
    by_elements = _by_values(leaves, known) & (leaves.leaf_kinds == codes.ARRAY_SET)
    costs = np.where(costs == NEVER, NEVER, ALWAYS)
    costs[0::2] = np.where(by_elements, known.literals[0::2], costs[0::2])
    return costs


def _by_values(leaves: Expressions, known: Costs) -> NDArray[np.bool_]:
    """(F,) which leaves have keys that are all values."""
    keys, lengths = known.keys, np.diff(known.keys.starts)
    wrong = ~_are_values(known.fields, keys.fields, keys.lows, keys.highs)
    owners = np.repeat(np.arange(len(lengths)), lengths)
    by_values: NDArray[np.bool_] = (lengths > 0) & (np.bincount(owners[wrong], minlength=len(lengths)) == 0)
    return by_values


def _hashed(compiled: CompiledExpressions, fields: Fields, found: NDArray[np.int32]) -> Hashes:
    """The hashed keys for fields and codes."""
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
    """Which of `count` expressions have a condition on a place among their keys."""
    is_of_place = np.array([reading_of(name).is_of_place for name in compiled.attributes], bool)
    of_fields = np.repeat(is_of_place, np.diff(fields.starts))
    by_place = np.zeros(count, bool)
    by_place[found[of_fields[found[:, 1]], 0]] = True
    return by_place


def _shares(known: Costs, found: NDArray[np.int32]) -> NDArray[np.float64]:
    """The share of events that have each key; for ranges, of those that have the attribute."""
    _, field, low, high = (np.ascontiguousarray(column) for column in found.T)
    exact = _are_values(known.fields, field, low, high)
    priced = key_costs(field, low, high, known.shares)
    shares: NDArray[np.float64] = np.where(exact, priced, known.shares.fields[field])
    return shares
