"""The cost of changes among messages: of ten operations, one is an insertion, one a deletion, eight are messages.

Source: Yu et al. 2015, section 7.5. Operations run one at a time. The subscription inserted was never there, or not for
long; the one deleted is the oldest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import tocsin
from reproduce.loads import Ask, Expressions
from reproduce.located import LOADS, compile_regions, drawn_messages, drawn_subscriptions
from reproduce.messages import joined
from reproduce.rt_tree.changing import TREES, ChangingTree
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.wanted import Wanted
from tocsin.errors import UnsuitableIndex
from tocsin.index import Registration

_TURNS = 10
_COMES, _GOES = 4, 9
"""The operations of each ten that are not messages."""


_SPARE = 64
"""Spare subscriptions, because repeated runs may end between an insertion and its deletion."""


class Changing(Protocol):
    """A structure that can be changed and matched."""

    def insert(self, number: int) -> None: ...

    def delete(self, number: int) -> None: ...

    def match(self, batch: EventBatch) -> Any: ...


class InEngine:
    """An engine with the first `size` rows of a table; later rows are inserted as texts."""

    def __init__(self, index: str, table: pa.Table, size: int) -> None:
        self._engine = tocsin.Engine(index)
        self._engine.subscribe_many(table.slice(0, size))
        self._engine.merge()
        self._texts = table["where"].to_pylist()

    def insert(self, number: int) -> None:
        self._engine.subscribe(number, self._texts[number])

    def delete(self, number: int) -> None:
        self._engine.unsubscribe(number)

    def match(self, batch: EventBatch) -> Any:
        with self._engine._store.reading() as snapshots:
            return snapshots.find(batch)


@dataclass(slots=True)
class Window:
    """A changing structure that holds `size` neighbours in a ring of subscriptions, starting at `first`."""

    held: Changing
    first: int
    size: int
    ring: int

    def come(self) -> None:
        self.held.insert((self.first + self.size) % self.ring)
        self.size += 1

    def go(self) -> None:
        self.held.delete(self.first)
        self.first = (self.first + 1) % self.ring
        self.size -= 1


@dataclass(frozen=True, slots=True)
class ChangingMessages(Expressions):
    """Operations by number. `table` has the subscriptions as texts, or is None if trees change in place."""

    held: int
    table: pa.Table | None
    replaced: int = 0

    def build(self, registration: Registration, options: Mapping[str, int]) -> Window:
        """Build with `held` subscriptions, and replace the first `replaced` of them.

        Raises `UnsuitableIndex` for an index that cannot change in place.
        """
        if self.table is not None:
            given = ", ".join(f"{name}={value}" for name, value in options.items())
            engine = InEngine(f"{registration.name}({given})", self.table, self.held)
            return self._after_replacing(Window(engine, 0, self.held, len(self.subscriptions)))
        if registration.name not in TREES:
            raise UnsuitableIndex(f"only {', '.join(TREES)} change in place", 0)
        tree = ChangingTree(self.subscriptions, registration.name, **options)
        for number in range(self.held):
            tree.insert(number)
        return self._after_replacing(Window(tree, 0, self.held, len(self.subscriptions)))

    def _after_replacing(self, window: Window) -> Window:
        for _ in range(self.replaced):
            window.come()
            window.go()
        return window

    def ask(self, index: Window, events: range) -> Ask:  # type: ignore[override]
        """The operations, with encoded messages. Repeated calls continue with other insertions and deletions."""
        wanted = Wanted(self.subscriptions.attributes)
        steps = [partial(index.held.match, self.batch(wanted, events[i : i + 1])) for i in range(len(events))]
        steps[_COMES::_TURNS] = [partial(index.come) for _ in steps[_COMES::_TURNS]]
        steps[_GOES::_TURNS] = [partial(index.go) for _ in steps[_GOES::_TURNS]]
        return lambda: [step() for step in steps]


def changing_messages(
    *,
    subscriptions: int,
    group: str,
    words: str = "tweets",
    in_place: bool = True,
    replaced: float = 0.0,
    frequency: float = 1.0,
    new_words: float = 0.0,
    events: int = 1000,
    seed: int = 1,
) -> ChangingMessages:
    """Operations with `subscriptions` held at once, from a ring that is a quarter larger.

    A share `replaced` of them is replaced before the operations. In those that come then, the share of common words is
    `frequency` times as great, and a share `new_words` of all words is new.
    """
    if not replaced:
        held = drawn_subscriptions(words, subscriptions + subscriptions // 4 + _SPARE, seed)
    else:
        load = LOADS[words]
        later = replace(load, common=load.common * frequency).subscriptions(subscriptions + _SPARE, seed + 2)
        later = later._replace(keywords=_renewed(later.keywords, new_words, seed))
        held = joined(drawn_subscriptions(words, subscriptions, seed), later)
    rows = drawn_messages(LOADS[words], group, 0, events, seed)
    return ChangingMessages(
        compile_regions(held), rows, subscriptions, None if in_place else held.table(), round(subscriptions * replaced)
    )


def _renewed(keywords: pa.ListArray, share: float, seed: int) -> pa.ListArray:
    """The keywords, a share of them under names that no earlier subscription has."""
    names = keywords.flatten()
    is_new = np.random.default_rng(seed).random(len(names)) < share
    renamed = pc.if_else(pa.array(is_new), pc.binary_join_element_wise("new", names, ""), names)
    return pa.ListArray.from_arrays(keywords.offsets, renamed)
