"""Matches of events with what was seen before them: one match for each level of conditions, then the subscriptions.

A batch passes the levels of its conditions one after the other. At each, the conditions that hold say which terms see
the event, and terms of that level get the values that conditions of later levels compare. At last the memory of all
terms that subscriptions compare gives rows. There is one for each visit, and one for each instant at which time alone
changed what matters of a term. The rows are matched as events are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import gathered, starts_of
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.texts import Additions
from tocsin.columns.events.wanted import Wanted
from tocsin.engine.questions import View
from tocsin.index.conditions import Entries, with_entries
from tocsin.kernels import codes
from tocsin.language.operators.over_time import OverTime
from tocsin.model.subscription import SubscriptionId
from tocsin.model.values import Value
from tocsin.monitor.latest import LatestEvents
from tocsin.monitor.objects import Objects
from tocsin.monitor.terms.columns import Codes, Columns, columns_of
from tocsin.monitor.terms.memory import Rows, TermMemory
from tocsin.monitor.terms.memory.layouts import DISTINCT, NOBODY, Visits
from tocsin.monitor.terms.registry import TermRegistry, TermsOf
from tocsin.monitor.terms.uses import ZERO, TermUses, terms_table
from tocsin.monitor.visiting import Visiting
from tocsin.monitor.witness import Held, Witness
from tocsin.segment import Snapshots

_NONE: Final = np.empty(0, np.int64)


class Values(NamedTuple):
    """Values of terms at some rows. N values."""

    owners: NDArray[np.int64]  # (N,) the rows
    terms: NDArray[np.int64]  # (N,)
    types: NDArray[np.uint8]  # (N,)
    payloads: NDArray[np.int64]  # (N,) codes of texts

    @classmethod
    def none(cls) -> Values:
        return cls(_NONE, _NONE, _NONE.astype(np.uint8), _NONE)

    @classmethod
    def of(cls, rows: Rows, first: int = 0) -> Values:
        """The values of rows, which are numbered from `first` on."""
        owners = first + np.repeat(np.arange(len(rows.objects)), np.diff(rows.starts))
        return cls(owners, rows.terms.astype(np.int64), rows.types, rows.payloads)

    def and_more(self, more: Values) -> Values:
        """These values and others."""
        pairs: Iterator[tuple[Any, Any]] = zip(self, more, strict=True)
        return Values(*map(np.concatenate, pairs))

    def at(self, rows: NDArray[np.int64], count: int) -> Values:
        """Those of some of `count` rows, which are numbered anew."""
        places = np.full(count, -1, np.int64)
        places[rows] = np.arange(len(rows))
        owners = places[self.owners]
        own = owners >= 0
        return Values(owners[own], self.terms[own], self.types[own], self.payloads[own])


class Part(NamedTuple):
    """Some rows and the subscriptions that match each."""

    rows: Rows
    matches: Sequence[Sequence[SubscriptionId]]
    witnesses: Sequence[Witness]
    places: NDArray[np.int64]  # (R, 2) of each row, the witness that knows it, and its row there

    def truth(self, row: int, id: SubscriptionId) -> bool | None:
        """The truth of a subscription that does not match a row."""
        witness, place = (int(number) for number in self.places[row])
        return self.witnesses[witness].truth(place, id)


class Hits(NamedTuple):
    """Conditions of a level that are TRUE at visits. V visits with N conditions."""

    starts: NDArray[np.int64]  # (V + 1,)
    conditions: NDArray[np.int64]  # (N,)


class TermMatcher:
    """The terms of all subscriptions of an engine, and what was seen of them. Not thread-safe."""

    def __init__(self, view: View, key: tuple[str, ...], objects: Objects, has_state: Callable[[int], bool]) -> None:
        self._has_state = has_state  # whether any subscription is TRUE, or was, for an object
        self._view, self._objects = view, objects
        self.registry = TermRegistry(key, view.texts)
        self.memory = TermMemory()
        self.codes = Codes()
        self.latest = LatestEvents()
        self._asking = TermUses(self.registry, is_of_subscriptions=True)
        self._inner: list[TermUses] = []  # of the conditions of each level
        self._inner_memories: list[TermMemory] = []  # of the terms of each level that other conditions compare
        self._terms: list[tuple[TermsOf, TermsOf]] = []  # by level: of subscriptions, and of other conditions
        self._parts = np.empty((0, 3), np.int64)  # by term, its key, column and kind
        self._known: Wanted | None = None
        self._keys = 0  # how many keys of `_known` are known

    def refresh(self, view: View, snapshots: Snapshots) -> bool:
        """Take over the terms and keys of new subscriptions; returns whether there are new terms, or comparisons.

        An engine that is reloaded has another `view`.
        """
        wanted, self._view = snapshots.wanted, view
        for text in list(wanted.keys)[self._keys if wanted is self._known else 0 :]:
            self.registry.key_number(tuple(json.loads(text)))
        self._keys = len(wanted.keys)
        is_new = self._asking.refresh(snapshots)
        for level, one in enumerate(self.registry.levels):
            if level == len(self._inner):
                self._inner.append(TermUses(self.registry, is_of_subscriptions=False))
                self._inner_memories.append(TermMemory())
            with one.engine.view.reading() as conditions:
                is_new |= self._inner[level].refresh(conditions)
        if is_new:
            self._set_terms()
        if is_new or self._known is not wanted:
            self.registry.want(wanted)
            self._known = wanted
        return is_new

    def attend(self, passed: NDArray[np.int64]) -> None:
        """Take over what terms are compared with now; time has `passed` for each object until some instant.

        Time changes only objects of which an event is kept, whose attributes then stand.
        """
        has_event = np.zeros(len(passed), bool)
        has_event[list(self.latest.records)] = True
        self.memory.attend(passed, has_event)
        for memory in self._inner_memories:
            memory.attend(passed, np.ones(len(passed), bool))

    def _set_terms(self) -> None:
        rows = self.registry.rows
        self._parts = np.array([(row.key, row.column, row.kind) for row in rows], np.int64).reshape(-1, 3)
        inner = set[int]().union(*(one.steps for one in self._inner))
        self.memory.set_terms(terms_table(rows, [self._asking], None))
        self._terms = []
        for level, memory in enumerate(self._inner_memories, 1):
            memory.set_terms(terms_table(rows, self._inner, level))
            of_all = self.registry.terms_of(level, self._asking.steps.keys())
            self._terms.append((of_all, self.registry.terms_of(level, inner)))

    def match(
        self, snapshots: Snapshots, batch: EventBatch, visiting: Visiting, first: int, *, shares_clock: bool
    ) -> Iterator[Part]:
        """Match a batch's visits, whose events are numbered from `first` on, and what time changes between them."""
        columns = columns_of(batch, self.registry.columns, self.codes)
        values = Values.none()
        tops = []
        for level in range(len(self.registry.levels)):
            hits = self._hits(level, batch, visiting, values)
            of_all, of_inner = self._terms[level]
            tops.append(self._visits(hits, of_all, visiting, columns, first))
            if len(of_inner.terms):
                visits = self._visits(hits, of_inner, visiting, columns, first)
                values = self._inner_values(level, visits, values)
        whole = snapshots.completed(batch)
        self.memory.have_objects(int(visiting.objects.max(initial=-1)) + 1)
        for rows in self.memory.follow(_merged(tops, visiting, first), shares_clock=shares_clock):
            yield self._part(snapshots, rows, whole, visiting, first)

    def pass_time(self, snapshots: Snapshots, until: int, first: int, object: int | None = None) -> Iterator[Part]:
        """Let time pass up to an instant, for all objects or one."""
        if object is not None:
            self.memory.have_objects(object + 1)
        for rows in self.memory.pass_time(until, object):
            yield self._part(snapshots, rows, None, None, first)

    def _hits(self, level: int, batch: EventBatch, visiting: Visiting, values: Values) -> Hits:
        """The conditions of a level that are TRUE at each visit."""
        with self.registry.levels[level].engine.view.reading() as conditions:
            whole = conditions.completed(batch)
            if level > 0:
                whole = whole.only(visiting.events)
                whole = added(whole, conditions.wanted, self._inner[level], visiting.keys, values, self.codes)
            found = conditions.find_completed(whole)
            numbers = conditions.ids_of(found.subscriptions).to_numpy().astype(np.int64)
        if level > 0:
            return Hits(found.starts, numbers)
        places, _ = gathered(found.starts, visiting.events)
        lengths = np.diff(found.starts)[visiting.events]
        return Hits(starts_of(lengths, len(lengths)), numbers[places])

    def _visits(self, hits: Hits, of: TermsOf, visiting: Visiting, columns: Columns, first: int) -> Visits:
        """The visits with the terms that see each: those of its key, of which the attribute has a fitting value."""
        owners = np.repeat(np.arange(len(visiting.objects)), np.diff(hits.starts))
        places, pairs = gathered(of.starts, hits.conditions)
        terms, owners = of.terms[places].astype(np.int64), owners[pairs]
        key, column, kind = self._parts[terms].T
        own = key == visiting.keys[owners]
        types, payloads = columns.at(column, visiting.events[owners], kind == DISTINCT)
        own &= (column < 0) | columns.fits(kind, types)
        owners, terms = owners[own], terms[own]
        starts = np.searchsorted(owners, np.arange(len(visiting.objects) + 1))
        return Visits(
            visiting.objects,
            visiting.instants,
            first + visiting.events,
            starts,
            terms.astype(np.int32),
            types[own],
            payloads[own],
        )

    def _inner_values(self, level: int, visits: Visits, values: Values) -> Values:
        """The values so far, and those of the terms of a level that later conditions compare."""
        memory, done = self._inner_memories[level], 0
        memory.have_objects(int(visits.objects.max(initial=-1)) + 1)
        for rows in memory.follow(visits):
            values = values.and_more(Values.of(rows, done))
            done += len(rows.objects)
        return values

    def _part(
        self, snapshots: Snapshots, rows: Rows, whole: EventBatch | None, visiting: Visiting | None, first: int
    ) -> Part:
        """The matches of some rows: those about events of this batch, and those about earlier events."""
        count = len(rows.objects)
        matches: list[Sequence[SubscriptionId]] = [()] * count
        witnesses, known = list[Witness](), np.zeros((count, 2), np.int64)
        values = Values.of(rows)
        by_time = rows.visits == NOBODY
        is_asked = self._may_match(rows)
        is_stored = by_time & (rows.latest < first) if whole is not None else np.ones(count, bool)
        groups: list[tuple[NDArray[np.int64], EventBatch]] = []
        if whole is not None and visiting is not None and not is_stored.all():
            own = np.flatnonzero(~is_stored & is_asked)
            events = np.where(by_time[own], rows.latest[own] - first, visiting.events[rows.visits[own]])
            groups.append((own, whole.only(events)))
        is_stored &= is_asked
        if is_stored.any():
            own = np.flatnonzero(is_stored)
            groups.append((own, self.latest.batch(snapshots, rows.objects[own], self._view.texts)))
        keys = self._objects.keys[rows.objects]
        for own, batch in (group for group in groups if len(group[0])):
            places = np.arange(len(own))
            whole = added(batch, snapshots.wanted, self._asking, keys[own], values.at(own, count), self.codes)
            found = snapshots.find_completed(whole)
            witness = self._witness(snapshots, rows, own)
            witness.add([replace(batch, rows=places)])
            known[own, 0], known[own, 1] = len(witnesses), places
            witnesses.append(witness)
            names, bounds = snapshots.names_of(found.subscriptions), found.starts
            matching = np.flatnonzero(np.diff(bounds))
            spans = zip(own[matching].tolist(), bounds[matching].tolist(), bounds[matching + 1].tolist(), strict=True)
            for row, start, stop in spans:
                matches[row] = names[start:stop]
        return Part(rows, matches, witnesses, known)

    def _may_match(self, rows: Rows) -> NDArray[np.bool_]:
        """Which rows may change anything. Counts that fall matter only to objects for which something is TRUE.

        Rows of this part may make something TRUE, so of an object those before the first of them are left out.
        """
        asked = ~rows.falls
        if asked.all():
            return asked
        falling = np.flatnonzero(rows.falls)
        rising, first = np.unique(rows.objects[asked], return_index=True)
        firsts = dict(zip(rising.tolist(), np.flatnonzero(asked)[first].tolist(), strict=True))
        pairs = zip(falling.tolist(), rows.objects[falling].tolist(), strict=True)
        asked[falling] = [self._has_state(one) or row > firsts.get(one, len(asked)) for row, one in pairs]
        return asked

    def _witness(self, snapshots: Snapshots, rows: Rows, own: NDArray[np.int64]) -> Witness:
        """A witness for some of the rows: it tells FALSE from UNKNOWN."""

        def over_time(place: int, node: OverTime) -> Value | None:
            first, stop = rows.starts[own[place] : own[place] + 2].tolist()
            at = np.flatnonzero(rows.terms[first:stop] == self.registry.number_of(node))
            return (
                self.codes.decoded(int(rows.types[first + at[0]]), int(rows.payloads[first + at[0]]))
                if len(at)
                else None
            )

        return Witness(Held.kept_with(self._view.store, snapshots), over_time)

    def memories(self) -> list[tuple[TermMemory, set[int]]]:
        """The memory of subscriptions and those of the levels, each with the terms that it may know."""
        inner = set[int]().union(*(one.steps for one in self._inner))
        levels = [{term for term in inner if self.registry.rows[term].level == level} for level in self._levels()]
        return [(self.memory, set(self._asking.steps)), *zip(self._inner_memories, levels, strict=True)]

    def _levels(self) -> range:
        return range(1, 1 + len(self._inner_memories))

    def sizes(self) -> dict[str, int]:
        """How many values live, and the bytes of all tables of terms."""
        sizes = [one.sizes() for one in (self.memory, *self._inner_memories)]
        return {name: sum(one[name] for one in sizes) for name in ("values", "bytes")}

    def forget(self, object: int) -> None:
        """Forget all that was seen of an object."""
        for memory in (self.memory, *self._inner_memories):
            memory.forget(object)
        self.latest.forget(object)


def _merged(tops: Sequence[Visits], visiting: Visiting, first: int) -> Visits:
    """The visits of all levels as one, each with the terms of all."""
    if len(tops) == 1:
        return tops[0]
    count = len(visiting.objects)
    owners = [np.repeat(np.arange(count), np.diff(one.hit_starts)) for one in tops]
    order = np.argsort(np.concatenate([_NONE, *owners]), kind="stable")
    lengths = np.bincount(np.concatenate([_NONE, *owners]), minlength=count)
    nothing = (np.empty(0, np.int32), np.empty(0, np.uint8), _NONE)
    hits = (np.concatenate([nothing[at], *(one[4 + at] for one in tops)])[order] for at in range(3))
    return Visits(visiting.objects, visiting.instants, first + visiting.events, starts_of(lengths, count), *hits)


def added(
    batch: EventBatch, wanted: Wanted, asking: TermUses, keys: NDArray[np.int64], values: Values, known: Codes
) -> EventBatch:
    """A batch with the values of terms as far as conditions ask for them, and with zeros where nothing was counted.

    `keys` are the numbers of the key of each row.
    """
    names = wanted.over_time  # not copied, since there may be many; it only grows
    batch = replace(batch, remembers=True)
    if not names:
        return batch
    additions, payloads = None, values.payloads
    is_text = values.types == codes.STRING
    if is_text.any():
        additions, payloads = Additions(batch), payloads.copy()
        distinct, which = np.unique(payloads[is_text], return_inverse=True)
        payloads[is_text] = additions.strings([str(known.value(code)) for code in distinct.tolist()])[which]
    parts = []
    for of_terms in (asking.plain, asking.zero):
        asked = of_terms[values.terms]
        own = asked >= 0
        parts.append(Entries(values.owners[own], asked[own], values.types[own], payloads[own]))
    if len(asking.zeros):
        parts.append(_zeros(asking, keys, parts[1]))
    entries = Entries(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    changed = batch if additions is None else additions.batch()
    return with_entries(changed, wanted, "over time", names, entries)


def _zeros(asking: TermUses, keys: NDArray[np.int64], given: Entries) -> Entries:
    """A zero for each count that is asked for, and that a row of its key does not have."""
    places, of_keys = asking.zeros.T
    missing = keys[:, None] == of_keys
    at = np.full(int(places.max()) + 1, -1, np.int64)
    at[places] = np.arange(len(places))
    missing[given.owners, at[given.asked]] = False
    owners, columns = np.nonzero(missing)
    types = np.full(len(owners), codes.NUMBER, np.uint8)
    return Entries(owners, places[columns], types, np.full(len(owners), ZERO, np.int64))
