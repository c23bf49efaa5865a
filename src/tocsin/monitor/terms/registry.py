"""The functions over time of all subscriptions: equal ones are one term, and their conditions one of a lower level.

A condition inside a term is matched as a subscription is. Its level is one more than that of the terms inside of it. So
a batch takes one match for each level, however many subscriptions there are.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.events.wanted import Wanted
from tocsin.engine import Engine
from tocsin.engine.misnamed import absent
from tocsin.engine.notices import notices_of
from tocsin.engine.seen import Seen
from tocsin.language import to_text
from tocsin.language.operators.over_time import (
    COUNT,
    COUNT_DISTINCT,
    OverTime,
    functions_in,
    over_time_of,
    term_of,
    with_key,
)
from tocsin.model.expression import Constant
from tocsin.model.readings import reading_of
from tocsin.model.subscription import Notice
from tocsin.model.texts import Text
from tocsin.monitor.terms.memory import layouts

KINDS: Final = {
    COUNT: layouts.COUNT,
    COUNT_DISTINCT: layouts.DISTINCT,
    "SUM": layouts.SUM,
    "AVG": layouts.AVG,
    "MIN": layouts.LEAST,
    "MAX": layouts.GREATEST,
    "PREVIOUS": layouts.PREVIOUS,
    "SINCE": layouts.SINCE,
}


_ALL: Final = to_text(Constant(True))
"""The condition of terms about all events, which is always TRUE."""
_LONGEST: Final = 2**61
"""Microseconds of the longest span: all instants are nearer to each other."""


class TermRow(NamedTuple):
    """A term: its parts by number."""

    node: OverTime
    kind: int
    span: int  # microseconds; 0 without a span
    column: int  # of its attribute among `TermRegistry.columns`; -1 without one
    condition: int  # among those of its level
    key: int
    level: int  # from 1 on


class Level:
    """The conditions of a level, as the subscriptions of an engine. Their ids are their numbers."""

    def __init__(self, texts: Mapping[str, Text]) -> None:
        self.engine = Engine(texts=texts)
        self._numbers: dict[str, int] = {}

    def number_of(self, condition: str) -> int:
        """The number of a condition, which is added if it is new."""
        number = self._numbers.get(condition)
        if number is None:
            number = self._numbers[condition] = len(self._numbers)
            self.engine.subscribe(number, condition)
        return number

    def __len__(self) -> int:
        return len(self._numbers)


class TermsOf(NamedTuple):
    """The terms of conditions. C conditions with N terms in all."""

    starts: NDArray[np.int64]  # (C + 1,)
    terms: NDArray[np.int32]  # (N,)


class TermRegistry:
    """All terms by number. Terms are added, never removed."""

    def __init__(self, key: tuple[str, ...], texts: Mapping[str, Text]) -> None:
        self.keys: dict[tuple[str, ...], int] = {key: 0}
        self.columns: dict[str, int] = {}
        self.rows: list[TermRow] = []
        self.levels: list[Level] = []
        self._key, self._texts = key, texts
        self._numbers: dict[tuple[str, int], int] = {}

    def key_number(self, by: tuple[str, ...]) -> int:
        """The number of a key; the monitor's own has 0."""
        return self.keys.setdefault(by or self._key, len(self.keys))

    def number_of(self, node: OverTime) -> int:
        """The number of a term, which is added if it is new, with those inside of it."""
        text, key = to_text(node), self.key_number(node.by)
        known = self.find_text(text, key)
        return self._add(node, (text, key)) if known is None else known

    def find(self, node: OverTime) -> int | None:
        """The number of a term; None if it is not known."""
        key = self.keys.get(node.by or self._key)
        return None if key is None else self.find_text(to_text(node), key)

    def find_text(self, text: str, key: int) -> int | None:
        """The number of a term by its text and the number of its key; None if there is none."""
        return self._numbers.get((text, key))

    def _add(self, node: OverTime, identity: tuple[str, int]) -> int:
        term = term_of(node)
        condition = Constant(True) if term.condition is None else term.condition
        keyed = with_key(condition, node.by)
        inner = [self.rows[self.number_of(one)].level for one in functions_in(keyed)]
        level = 1 + max(inner, default=0)
        while len(self.levels) < level:
            self.levels.append(Level(self._texts))
        number = self.levels[level - 1].number_of(to_text(keyed if inner else condition))
        column = -1 if term.attribute is None else self.columns.setdefault(term.attribute, len(self.columns))
        own = self._numbers[identity] = len(self.rows)
        self.rows.append(
            TermRow(node, KINDS[node.name], min(term.span or 0, _LONGEST), column, number, identity[1], level)
        )
        return own

    def want(self, wanted: Wanted) -> None:
        """Have events read for the attributes of terms, and for the conditions of all levels."""
        wanted.add(self.columns)
        for one in self.levels:
            with one.engine.view.reading() as conditions:
                wanted.add(name for name in conditions.wanted.ordered[:] if name not in conditions.wanted.over_time)

    def notices(self, seen: Seen) -> Iterator[Notice]:
        """Warnings about conditions inside of terms that no event satisfies, and attributes that no event has."""
        for row in self.rows:
            attribute = term_of(row.node).attribute
            if attribute is not None and attribute not in seen.types:
                yield absent(to_text(row.node), attribute, seen)
        for level in self.levels:
            with level.engine.view.reading() as conditions:
                inner = notices_of(conditions, seen)
            # The ids are those of conditions inside of functions over time, which nobody knows.
            own = (one for one in inner if one.condition != _ALL)
            yield from (one._replace(subscriptions=0, example=None, others=()) for one in own)

    def terms_of(self, level: int, used: Collection[int]) -> TermsOf:
        """The terms among some, by the conditions of a level."""
        own = [number for number in sorted(used) if self.rows[number].level == level]
        conditions = np.array([self.rows[number].condition for number in own], np.int64)
        order = np.argsort(conditions, kind="stable")
        counts = np.bincount(conditions, minlength=len(self.levels[level - 1]))
        return TermsOf(np.concatenate([[0], np.cumsum(counts)]), np.array(own, np.int32)[order])


def registry_of(wanted: Wanted, texts: Mapping[str, Text]) -> TermRegistry:
    """The terms and keys of subscriptions, of a monitor whose own key is not known."""
    made = TermRegistry((), texts)
    for text in wanted.keys:
        made.key_number(tuple(json.loads(text)))
    for name in wanted.over_time[:]:
        made.number_of(over_time_of(reading_of(name)))
    return made
