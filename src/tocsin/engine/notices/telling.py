"""Warnings about conditions that no event satisfies, one per condition: a million equal mistakes are one warning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.expressions.writer import compile_expressions
from tocsin.engine.notices.asking import Asking, Known, Reason
from tocsin.engine.seen import Seen
from tocsin.index import Part
from tocsin.index.alive import Alive, are_alive
from tocsin.kernels import codes
from tocsin.language import to_text
from tocsin.language.operators.at_least import AT_LEAST
from tocsin.language.operators.named import NAMED
from tocsin.language.operators.operator import is_condition
from tocsin.language.stored import stored_expression
from tocsin.model.expression import And, Call, Expression, Not, Or, attributes
from tocsin.model.subscription import Notice, SubscriptionId
from tocsin.segment import Snapshot

_LONGEST: Final = 100
_MOST_EXAMPLES: Final = 3
_MOST_DEAD: Final = 10_000


def notices_of(sources: Iterable[Snapshot], seen: Seen | None) -> list[Notice]:
    """Warnings about conditions that no event satisfied, or that none can; those of most subscriptions first, then by
    the id of the first one.

    Without events, the warnings come from the subscriptions alone. The requirements of each source are computed once
    and kept with it. After that, the cost is linear in what is reported.
    """
    return _merged(((asked, one.alive) for one in sources if len(one) for asked in _kept(one)), seen)


def notices(part: Part, seen: Seen | None) -> list[Notice]:
    """Like `notices_of`, for subscriptions in columns that are all live."""
    return _merged(((one, None) for one in prepared(part)), seen)


def known_to(sources: Iterable[Snapshot]) -> Known:
    """The values for which a predicate of the subscriptions, including removed ones, is TRUE or FALSE."""
    types: dict[str, int] = {}
    always = False
    for asked in (asked for one in sources if len(one) for asked in _kept(one)):
        always |= asked.known.always
        for name, bits in asked.known.types.items():
            types[name] = types.get(name, 0) | bits
    return Known(types, always)


class Conditions:
    """Subscriptions, their requirements, and the cached texts of earlier warnings. Thread-safe."""

    def __init__(self, part: Part, numbers: NDArray[np.int64], asking: Asking) -> None:
        self._ids, self._sources = part.ids, part.sources
        self._numbers = numbers  # of the expressions, among their source's subscriptions; -1 if left out
        self._asking = asking
        self._texts: dict[tuple[Reason, int], str] = {}

    @property
    def known(self) -> Known:
        """The values for which some predicate is TRUE or FALSE."""
        return self._asking.known

    def findings(self, seen: Seen | None, alive: Alive) -> Iterator[tuple[Reason, int, list[int]]]:
        """The reasons for warnings, each with its number of subscriptions and the first of them."""
        for reason, own in self._asking.findings(seen):
            own = own[self._numbers[own] >= 0]
            if alive is not None:
                own = own[are_alive(alive, self._numbers[own])]
            if len(own):
                yield reason, len(own), own[:_MOST_EXAMPLES].tolist()

    def ids(self, owners: Iterable[int]) -> list[SubscriptionId]:
        """The ids of subscriptions."""
        return [self._ids[owner].as_py() for owner in owners]

    def notice(self, reason: Reason, count: int, owner: int, seen: Seen | None) -> Notice:
        """The warning, with the condition of one subscription that has the reason."""
        text = self._texts.get((reason, owner))
        if text is None:
            text = _condition(stored_expression(self._sources[owner].as_py()), reason, seen)
            self._texts[reason, owner] = text
        return Notice(reason.attribute, text, reason.text, count, self._ids[owner].as_py())


def _kept(source: Snapshot) -> list[Conditions]:
    """The requirements of a source's subscriptions, computed on first use and kept with the source."""
    found: list[Conditions] = []
    for first, stop in source.spans():
        found += source.kept(Conditions, (first, stop), partial(_prepared_span, source, first, stop))
    return found


def _prepared_span(source: Snapshot, first: int, stop: int) -> list[Conditions]:
    return prepared(source.part_of((first, stop)), first)


def prepared(part: Part, first: int = 0) -> list[Conditions]:
    """The requirements of subscriptions, numbered from `first`.

    An index keeps only FALSE for a subscription that never matches. A second entry has up to `_MOST_DEAD` of these,
    compiled again from their texts.
    """
    arrays = part.compiled.arrays
    alone = np.flatnonzero(np.diff(arrays.program_starts) == 1)
    leaves = arrays.program[arrays.program_starts[alone]] >> 1
    dead = alone[arrays.leaf_kinds[leaves] == codes.FALSE_LEAF][:_MOST_DEAD]
    numbers = first + np.arange(len(part))
    numbers[dead] = -1
    found = [Conditions(part, numbers, Asking(part.compiled))]
    if len(dead):
        trees = [stored_expression(part.sources[number].as_py()) for number in dead.tolist()]
        own = replace(part.only(dead), compiled=compile_expressions(trees))
        found.append(Conditions(own, first + dead, Asking(own.compiled)))
    return found


@dataclass(slots=True)
class _Merged:
    """A reason in all sources: the first subscription with it, how many have it, and the ids of some."""

    asked: Conditions
    reason: Reason
    owner: int
    count: int = 0
    examples: list[SubscriptionId] = field(default_factory=list)


def _merged(sources: Iterable[tuple[Conditions, Alive]], seen: Seen | None) -> list[Notice]:
    if seen is not None:
        seen.finish()
    by_reason: dict[tuple[str, str], _Merged] = {}
    for asked, alive in sources:
        for reason, count, owners in asked.findings(seen, alive):
            merged = by_reason.setdefault((reason.attribute, reason.text), _Merged(asked, reason, owners[0]))
            merged.count += count
            merged.examples += asked.ids(owners[: _MOST_EXAMPLES - len(merged.examples)])
    found = [
        one.asked.notice(one.reason, one.count, one.owner, seen)._replace(others=tuple(one.examples[1:]))
        for one in by_reason.values()
    ]
    return sorted(found, key=lambda notice: (-notice.subscriptions, cast("Any", notice.example)))


def _condition(tree: Expression, reason: Reason, seen: Seen | None) -> str:
    """The smallest part of an expression that has a reason by itself, as text."""
    about = [part for part in _parts(tree) if not reason.attribute or reason.attribute in attributes(part)]
    found = next((part for part in about if reason in _reasons_of(part, seen)), tree)
    if reason.is_whole and isinstance(found, And):
        own = [one for one in found.operands if reason.attribute in attributes(one)]
        text = " AND ".join(map(to_text, own))
    else:
        text = to_text(found)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def _reasons_of(node: Expression, seen: Seen | None) -> set[Reason]:
    """The reasons for warnings about a part by itself."""
    return {reason for reason, _ in Asking(compile_expressions([node])).findings(seen)}


def _parts(tree: Expression) -> list[Expression]:
    """The predicates of a tree from left to right, then its groups, innermost first, with NOT applied to each."""
    predicates: list[Expression] = []
    groups: list[Expression] = []
    stack = [(tree, False)]
    while stack:
        node, is_negated = stack.pop()
        if isinstance(node, Not):
            stack.append((node.operand, not is_negated))
        else:
            part = Not(node) if is_negated else node
            within = _conditions_of(node)
            (groups if within else predicates).append(part)
            stack.extend((child, is_negated) for child in reversed(within))
    return [*predicates, *reversed(groups)]


_OF_CONDITIONS: Final = frozenset((AT_LEAST, "HOLDS", NAMED))


def _conditions_of(node: Expression) -> Sequence[Expression]:
    """The conditions that a group is made of; none for a predicate."""
    if isinstance(node, And | Or):
        return node.operands
    if isinstance(node, Call) and node.name in _OF_CONDITIONS:
        return [part for part in node.arguments if is_condition(part)]
    return ()
