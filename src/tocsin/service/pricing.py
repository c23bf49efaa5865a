"""The price of a subscription: what its condition costs to evaluate, and whether an index finds it.

The delta of an engine decides the second. It tests a condition on each event unless an event must have a certain
attribute to satisfy it.
"""

from __future__ import annotations

from typing import Final

from tocsin.columns.events.wanted import Wanted
from tocsin.columns.expressions.recipes import RecipeBook
from tocsin.index.boolean.chains.chains import ChainedExpressions
from tocsin.language import Instance
from tocsin.language.dialects import is_tagged
from tocsin.model.expression import (
    AnyAttribute,
    AnyElement,
    Arithmetic,
    Between,
    Call,
    Comparison,
    EachElement,
    ElementAt,
    Expression,
    In,
    IsNull,
    Like,
    walk_all,
)
from tocsin.records import Parsed

UNINDEXED: Final = 100
"""Of a condition that every event is tested with."""
_PRICES: Final[dict[type, int]] = {
    Comparison: 1, In: 1, Between: 1, IsNull: 1, Arithmetic: 1, Like: 10, Call: 10, AnyElement: 10,
    EachElement: 10, ElementAt: 10, AnyAttribute: 100,
}  # fmt: skip
_CHARACTERS: Final = 100
"""So many characters cost 1: long lists, and shapes with many corners."""


_MOST_A_CHARACTER: Final = 8
"""A text in CQL2 costs no more than so much for each of its characters, and `UNINDEXED`."""


def price(parsed: Parsed) -> int:
    """The price of a subscription. Cost: half a millisecond, most of it for whether an index finds it."""
    return _parts(parsed) + _surcharge(parsed)


def price_beyond(parsed: Parsed, limit: float) -> int | None:
    """The price of a subscription if it is above a limit.

    Cost: nothing if the text is short, ten microseconds a predicate otherwise, and more if it is near the limit.
    """
    source = parsed.source
    is_text = not (is_tagged(source) or source.lstrip().startswith("{"))
    if is_text and UNINDEXED + _MOST_A_CHARACTER * len(source) <= limit:
        return None
    parts = _parts(parsed)
    if parts + UNINDEXED <= limit:
        return None
    cost = parts + _surcharge(parsed)
    return cost if cost > limit else None


def _surcharge(parsed: Parsed) -> int:
    """The price of being tried for every event."""
    return UNINDEXED if is_unindexed(tree_of(parsed)) else 0


def _parts(parsed: Parsed) -> int:
    return sum(_PRICES.get(type(node), 0) for node in walk_all(tree_of(parsed))) + len(parsed.source) // _CHARACTERS


def tree_of(parsed: Parsed) -> Expression:
    """The tree of a condition. That of a template is filled in, which takes microseconds, and not parsed."""
    return parsed.where.tree() if isinstance(parsed.where, Instance) else parsed.where


def is_unindexed(tree: Expression) -> bool:
    """Whether every event is tested with a condition."""
    chains = ChainedExpressions(RecipeBook(), Wanted([]))
    chains.add(tree)
    return chains.uncovered > 0
