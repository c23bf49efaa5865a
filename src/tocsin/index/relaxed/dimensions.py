"""Dimensions of subscriptions as arrays: each dimension is an expression with an owner and a weight."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, gathered, inverse, starts_of
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.joining import joined
from tocsin.columns.expressions.writer import compile_expressions
from tocsin.index.relaxed.kernels import dimensions as kernels
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Expressions
from tocsin.model.expression import And, Expression, attributes, conjunction
from tocsin.model.readings import attribute_of, is_reading


class Weights(NamedTuple):
    """The weights of S subscriptions, many of which share the same set."""

    sets: Sequence[Mapping[str, float]]
    chosen: NDArray[np.int64]  # (S,) the set of each subscription


@dataclass(frozen=True, slots=True)
class Dimensions:
    """The dimensions of S subscriptions, by subscription, then in the order that their weights are added.

    D dimensions.
    """

    subscriptions: int
    compiled: CompiledExpressions  # one expression a dimension
    owners: NDArray[np.int32]  # (D,) ascending
    weights: NDArray[np.float64]  # (D,) finite, at least 0
    named_starts: NDArray[np.int64]  # (D + 1,)
    named: NDArray[np.int32]  # the attributes that a dimension names

    def __len__(self) -> int:
        return len(self.owners)


def compile_dimensions(
    compiled: CompiledExpressions, odd: NDArray[np.bool_], tree_of: Callable[[int], Expression], weights: Weights
) -> Dimensions:
    """The dimensions of compiled expressions.

    Compilation moves NOT inward and removes constants, which may change the conjuncts. If it may have (`odd`, or a
    conjunct that is not on one attribute), they are taken from the tree. Cost: linear; a tree takes microseconds.
    """
    plain = kernels.are_plain(compiled.arrays) & ~odd
    compiled, leaves = _by_attribute(compiled)
    order = sorted(range(len(compiled.attributes)), key=compiled.attributes.__getitem__)
    owners, attributes, starts, program = kernels.split_plain(leaves, np.flatnonzero(plain), inverse(order))
    own = {"program_starts": frozen(starts, np.int64), "program": frozen(program, np.int32)}
    first = replace(compiled, arrays=compiled.arrays._replace(**own))
    others, second, names = _from_trees(np.flatnonzero(~plain), tree_of)
    all_owners = np.concatenate([owners, others])
    by_owner = np.argsort(all_owners, kind="stable")
    whole = joined([first, second], by_owner)
    numbers = {name: number for number, name in enumerate(whole.attributes)}
    of_first = np.array([numbers[name] for name in compiled.attributes], np.int32)
    named = [of_first[attributes], *(np.array([numbers[n] for n in own], np.int32) for own in names)]
    lengths = np.concatenate([np.ones(len(owners), np.int64), np.array([len(own) for own in names], np.int64)])
    named_starts = starts_of(lengths, len(by_owner))
    members, _ = gathered(named_starts, by_owner)
    all_owners = frozen(all_owners[by_owner], np.int32)
    own_starts = starts_of(np.diff(named_starts)[by_owner], len(by_owner))
    own_named = frozen(np.concatenate(named)[members], np.int32)
    own_weights = _weights(all_owners, own_starts, own_named, numbers, weights)
    return Dimensions(len(compiled), whole, all_owners, own_weights, own_starts, own_named)


def _by_attribute(compiled: CompiledExpressions) -> tuple[CompiledExpressions, Expressions]:
    """The expressions with all their attributes, and their leaves on readings moved to the readings' attributes."""
    names = compiled.attributes
    if not any(map(is_reading, names)):
        return compiled, compiled.arrays
    names = list(dict.fromkeys([*names, *map(attribute_of, names)]))
    numbers = {name: number for number, name in enumerate(names)}
    attributes = np.array([numbers[attribute_of(name)] for name in names], np.int32)
    leaves = compiled.arrays
    named = leaves.leaf_kinds < codes.COMPARE
    owners = leaves.leaf_attributes.copy()
    owners[named] = attributes[owners[named]]
    return replace(compiled, attributes=names), leaves._replace(leaf_attributes=frozen(owners, np.int32))


def _from_trees(
    chosen: NDArray[np.int64], tree_of: Callable[[int], Expression]
) -> tuple[NDArray[np.int32], CompiledExpressions, list[tuple[str, ...]]]:
    owners: list[int] = []
    names: list[tuple[str, ...]] = []
    parts: list[Expression] = []
    for number in chosen.tolist():
        for one in dimensions(tree_of(number)):
            owners.append(number)
            names.append(one.attributes)
            parts.append(one.where)
    compiled = compile_expressions(parts)
    known = set(compiled.attributes)
    missing = [name for own in names for name in own if name not in known]
    if missing:  # compilation drops an attribute that is only compared with nothing
        compiled = replace(compiled, attributes=[*compiled.attributes, *dict.fromkeys(missing)])
    return np.array(owners, np.int32), compiled, names


def _weights(
    owners: NDArray[np.int32],
    named_starts: NDArray[np.int64],
    named: NDArray[np.int32],
    numbers: Mapping[str, int],
    weights: Weights,
) -> NDArray[np.float64]:
    """The weights of dimensions: the weight of the attribute, or 1 if it has none or there are several attributes."""
    out = np.ones(len(owners))
    alone = np.flatnonzero(np.diff(named_starts) == 1)
    keys = weights.chosen[owners[alone]] * len(numbers) + named[named_starts[alone]]
    given = np.repeat(np.arange(len(weights.sets)), [len(own) for own in weights.sets])
    which = np.array([numbers.get(name, -1) for own in weights.sets for name in own], np.int64)
    values = np.array([weight for own in weights.sets for weight in own.values()], np.float64)
    known = which >= 0
    given_keys, values = (given * len(numbers) + which)[known], values[known]
    order = np.argsort(given_keys)
    given_keys, values = given_keys[order], values[order]
    places = np.searchsorted(given_keys, keys)
    found = places < len(given_keys)
    found[found] = given_keys[places[found]] == keys[found]
    out[alone[found]] = values[places[found]] + 0.0  # turns -0.0 into 0
    return frozen(out, np.float64)


class Dimension(NamedTuple):
    """The conjuncts on one attribute, or one conjunct on several or no attributes."""

    attributes: tuple[str, ...]  # sorted
    where: Expression


def dimensions(tree: Expression) -> list[Dimension]:
    """The conjuncts of the top-level AND in order of their attributes; those on the same attribute are joined.

    >>> from tocsin.language import parse, to_text
    >>> for one in dimensions(parse("b = 1 AND a > 1 AND NOT (b = 2 OR c = 3) AND a < 5")):
    ...     print(one.attributes, to_text(one.where))
    ('a',) a > 1 AND a < 5
    ('b',) b = 1
    ('b', 'c') NOT (b = 2 OR c = 3)
    """
    held: list[tuple[tuple[str, ...], list[Expression]]] = []
    singles: dict[str, list[Expression]] = {}
    for part in tree.operands if isinstance(tree, And) else (tree,):
        names = tuple(sorted(set(attributes(part))))
        if len(names) == 1 and names[0] in singles:
            singles[names[0]].append(part)
            continue
        held.append((names, [part]))
        if len(names) == 1:
            singles[names[0]] = held[-1][1]
    held.sort(key=lambda one: one[0])  # stable: equal names stay in order of their first conjuncts
    return [Dimension(names, conjunction(parts)) for names, parts in held]
