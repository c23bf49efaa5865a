"""The numbers that terms are compared with: what time may change, and how much must be kept, follow from them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.payloads import HIGHEST, LOWEST, key_of, numbers_of
from tocsin.errors import InvalidInput
from tocsin.kernels import codes
from tocsin.language import to_text
from tocsin.language.operators.over_time import SINCE, over_time_of
from tocsin.model.readings import reading_of
from tocsin.monitor.terms.memory import layouts
from tocsin.monitor.terms.registry import TermRegistry, TermRow
from tocsin.segment import Snapshots

_ENDLESS: Final = 1 << 40
_COUNTS: Final = (layouts.COUNT, layouts.DISTINCT)


class Compared(NamedTuple):
    """How conditions compare one value over time."""

    steps: NDArray[np.int64]  # keys of numbers: values from there on are told apart from smaller ones
    is_computed: bool  # whether something is computed from it, or it is compared with another value
    is_from: bool  # whether all comparisons are TRUE from a number on


def compared_in(compiled: CompiledExpressions) -> dict[str, Compared]:
    """How the values over time of some conditions are compared, by name. Cost: linear in the leaves."""
    numbers = [number for number, name in enumerate(compiled.attributes) if reading_of(name).is_over_time]
    if not numbers:
        return {}
    leaves = compiled.arrays
    plain = np.isin(leaves.leaf_kinds, (codes.RANGE, codes.IN_SET)) & (leaves.leaf_types == codes.NUMBER)
    own = np.flatnonzero(plain & np.isin(leaves.leaf_attributes, numbers))
    by_attribute: dict[int, list[int]] = {number: [] for number in numbers}
    bounded = set[int]()
    for leaf in own.tolist():
        number = int(leaves.leaf_attributes[leaf])
        by_attribute[number] += _steps_of(compiled, leaf)
        if leaves.leaf_kinds[leaf] != codes.RANGE or leaves.leaf_highs[leaf] != HIGHEST:
            bounded.add(number)
    computed = set(leaves.term_arguments[np.isin(leaves.term_codes, codes.WITH_ATTRIBUTE)].tolist())
    return {
        compiled.attributes[number]: Compared(
            np.unique(np.array(steps, np.int64)), number in computed, number not in bounded
        )
        for number, steps in by_attribute.items()
    }


def _steps_of(compiled: CompiledExpressions, leaf: int) -> list[int]:
    leaves = compiled.arrays
    if leaves.leaf_kinds[leaf] == codes.RANGE:
        low, high = int(leaves.leaf_lows[leaf]), int(leaves.leaf_highs[leaf])
        return [*([low] if low != LOWEST else []), *([high + 1] if high != HIGHEST else [])]
    number = int(leaves.leaf_others[leaf])
    span = slice(int(leaves.set_starts[number]), int(leaves.set_starts[number + 1]))
    own = leaves.set_payloads[span][leaves.set_types[span] == codes.NUMBER].tolist()
    return [step for payload in own for step in (payload, payload + 1)]


class TermUses:
    """The values over time that a set of conditions asks for, as terms. They are added, never removed."""

    def __init__(self, registry: TermRegistry, *, is_of_subscriptions: bool) -> None:
        self._vocabulary, self._is_of_subscriptions = registry, is_of_subscriptions
        self._seen: dict[int, Mapping[str, Compared]] = {}  # what was taken over, by identity
        self._snapshots: Snapshots | None = None
        self._numbers: dict[str, int] = {}  # of the terms, by the names of their values
        self.steps: dict[int, set[int]] = {}  # by term
        self.computed: set[int] = set()
        self.bounded: set[int] = set()  # terms that some comparison wants to be below a number, or equal
        self.with_zeros: set[int] = set()  # terms of which a 0 may matter
        self.plain = np.empty(0, np.int64)  # by term, its name's place in `Wanted.over_time`; -1 without one
        self.zero = np.empty(0, np.int64)  # the same of the name that has zeros
        self.zeros: NDArray[np.int64] = np.empty((0, 2), np.int64)  # (Z, 2) those places, with the terms' keys

    def refresh(self, snapshots: Snapshots) -> bool:
        """Take over what new subscriptions ask for; returns whether there was anything new."""
        if snapshots is self._snapshots or not snapshots.wanted.over_time:
            return False
        sources = [one.kept("compared", (0, len(one)), partial(_compared, one)) for one in snapshots]
        new = [one for one in sources if self._seen.get(id(one)) is not one]
        for source in new:
            for name, how in source.items():
                self._take(name, how)
        self._snapshots, self._seen = snapshots, {id(one): one for one in sources}
        if new:
            self._place(snapshots.wanted.over_time[:])
        return bool(new)

    def _take(self, name: str, how: Compared) -> None:
        reading = reading_of(name)
        node = over_time_of(reading)
        if how.is_computed and node.name == SINCE and self._is_of_subscriptions:
            raise InvalidInput(
                f"{to_text(node)} grows all the time; a monitor needs to know the number that it reaches, as in "
                f"{to_text(node)} >= 600, and a subscription computes with it or compares it with another value"
            )
        term = self._numbers[name] = self._vocabulary.number_of(node)
        self.steps.setdefault(term, set()).update(how.steps.tolist())
        if how.is_computed:
            self.computed.add(term)
        if not how.is_from:
            self.bounded.add(term)
        if reading.is_or_zero:
            self.with_zeros.add(term)

    def _place(self, names: Sequence[str]) -> None:
        """Note at which places the names of terms are."""
        count = len(self._vocabulary.rows)
        plain, zero, zeros = np.full(count, -1, np.int64), np.full(count, -1, np.int64), []
        for place, name in enumerate(names):
            term = self._numbers.get(name)
            if term is None:
                continue  # that of a subscription which is gone
            if reading_of(name).is_or_zero:
                zero[term] = place
                zeros.append((place, self._vocabulary.rows[term].key))
            else:
                plain[term] = place
        self.plain, self.zero, self.zeros = plain, zero, np.array(zeros, np.int64).reshape(-1, 2)


def _compared(source: object) -> Mapping[str, Compared]:
    return compared_in(source.compiled())  # type: ignore[attr-defined]


def terms_table(rows: Sequence[TermRow], asking: Iterable[TermUses], level: int | None) -> layouts.Terms:
    """The terms as kernels read them, for a memory of what some conditions ask for.

    Without a `level` the values are those of whole subscriptions, which time may change between two events. Otherwise
    they are of the terms of this level, and asked for at events alone.
    """
    asks = list(asking)
    steps: list[NDArray[np.int64]] = []
    most, moves, emits = [], [], []
    for number, row in enumerate(rows):
        users = [one for one in asks if number in one.steps] if level is None or row.level == level else []
        own = np.array(sorted(set().union(*(one.steps[number] for one in users))), np.int64)
        is_computed = any(number in one.computed for one in users)
        is_above = row.kind in _COUNTS and not is_computed and not any(number in one.with_zeros for one in users)
        steps.append(own)
        most.append(_most(own) if row.kind in _COUNTS and not is_computed else _ENDLESS)
        moves.append(layouts.NOTHING if level is not None else _moves(number, users, is_above=is_above))
        emits.append(layouts.NEVER if not users else layouts.ABOVE if is_above else layouts.ALWAYS)
    return layouts.Terms(
        np.array([row.kind for row in rows], np.uint8),
        np.array([row.span for row in rows], np.int64),
        np.array([row.column for row in rows], np.int32),
        np.array(most, np.int64),
        np.array(moves, np.uint8),
        np.array(emits, np.uint8),
        np.concatenate([[0], np.cumsum([len(one) for one in steps])]).astype(np.int64),
        np.concatenate([np.empty(0, np.int64), *steps]),
    )


def _moves(term: int, users: Sequence[TermUses], *, is_above: bool) -> int:
    """What time may change of a term that matters to those who use it; `is_above` if they compare it above 0 alone."""
    if not users:
        return layouts.NOTHING
    if any(term in one.computed for one in users):
        return layouts.ALL
    return layouts.DOWN if is_above and not any(term in one.bounded for one in users) else layouts.PLACE


def _most(steps: NDArray[np.int64]) -> int:
    """How many entries tell all counts apart that somebody tells apart."""
    if not len(steps):
        return 1
    highest = float(numbers_of(steps[-1:])[0])
    return max(1, min(math.ceil(highest), _ENDLESS)) if math.isfinite(highest) else _ENDLESS


ZERO: Final = key_of(0.0)
