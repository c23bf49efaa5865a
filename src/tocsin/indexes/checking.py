"""The contract test of an index: its answers, compared with those of a scan of all conditions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen
from tocsin.columns.crossing import with_crossing_shapes
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.objects import encode_objects
from tocsin.columns.events.wanted import Wanted
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.joining import subset
from tocsin.columns.expressions.stored import stored
from tocsin.columns.expressions.writer import compile_expressions
from tocsin.errors import InvalidInput, UnsuitableIndex
from tocsin.index.alive import bitmap
from tocsin.index.boolean.scan import Scan
from tocsin.index.elements import with_conditions
from tocsin.index.found import Found
from tocsin.index.protocols import ALL_MATCHES, Best, Builder, Matcher, Registration
from tocsin.index.registry import parse_index
from tocsin.indexes import drawing
from tocsin.kernels.answers.scores import BITS, block_maxima
from tocsin.language import parse
from tocsin.model.values import Range

Event = Mapping[str, Any]

_CONDITIONS: Final = 60
_EVENTS: Final = 80
"""More than the 64 events that are verified together."""

_MANY: Final = 1500
"""Subscriptions that all match, so that an answer needs more room than it is given at first."""


class Checked(NamedTuple):
    """What `check` tried. Every figure is a sum over all rounds.

    Attributes
    ----------
    conditions : int
        Conditions that the index holds.
    refused : int
        Conditions that it does not hold.
    events : int
        Events that were matched.
    matches : int
        Pairs of an event and a condition that match; a scan finds the same.
    candidates : int
        Pairs that the index did not rule out. A scan has all pairs of each round.
    """

    conditions: int
    refused: int
    events: int
    matches: int
    candidates: int


def check(
    index: Registration | str,
    *,
    conditions: Iterable[str] = (),
    events: Iterable[Event] = (),
    options: Mapping[str, int] | None = None,
    rounds: int = 20,
    seed: int = 0,
) -> Checked:
    """Compare an index with a scan, on random conditions and events and on given ones.

    It compares answers and their order, with and without removed subscriptions, in another order of conditions, and for
    the best k. It does so from several threads, and after the index was saved and loaded. Events with ranges or shapes
    must be answered, or refused with a `ValueError`. tocsin's own indexes pass the same test. Cost: some seconds.

    Parameters
    ----------
    index : Registration or str
        The registration, or the name of a published index, with options as in `index="mine(most=3)"`.
    conditions : iterable of str
        CQL2 texts that are tried in every round, in addition to random ones. Needed if the index holds only conditions
        of a rare kind.
    events : iterable of mapping
        Events that are tried in every round, in addition to random ones.
    options : mapping of str to int, optional
        Options of the index, if `index` is a registration. Their defaults are those of the registration.
    rounds : int
        How many times conditions and events are drawn: 60 and 80 each time.
    seed : int
        Where the random numbers begin. The same seed draws the same.

    Returns
    -------
    Checked
        What was tried.

    Raises
    ------
    AssertionError
        If the index breaks a rule. The message has the rule, and a condition and an event that show it.
    InvalidInput
        If the index answers another question than all matches, or holds none of the conditions.

    Examples
    --------
    >>> from tocsin import indexes
    >>> indexes.check("scan", rounds=1).refused
    0
    """
    registration, given = parse_index(index) if isinstance(index, str) else (index, dict(options or {}))
    if registration.question != ALL_MATCHES:
        raise InvalidInput(f"index {registration.name!r} answers {registration.question!r}; check tries all matches")
    builder = registration.builder(**{**registration.options, **given})
    texts, objects = list(conditions), list(events)
    total = Checked(0, 0, 0, 0, 0)
    for number in range(seed, seed + rounds):
        random = Random(number)
        trial = _Trial(
            registration.name,
            builder,
            [*texts, *drawing.conditions(random, _CONDITIONS)],
            [*objects, *drawing.events(random, _EVENTS)],
            random,
        )
        total = Checked(*(one + other for one, other in zip(total, trial.run(), strict=True)))
    if not total.conditions:
        raise InvalidInput(f"index {registration.name!r} holds no condition that was drawn; give some as conditions=")
    _check_many(registration.name, builder, [*texts, "a = 1", f"{drawing.REGION} AND a = 1"])
    return total


@dataclass
class _Trial:
    """One round: conditions, and events that are matched against them."""

    name: str
    builder: Builder
    texts: list[str]
    events: list[Event]
    random: Random
    compiled: CompiledExpressions = field(init=False)
    batch: EventBatch = field(init=False)
    expected: Found = field(init=False)

    def run(self) -> Checked:
        """Try every rule; raises `AssertionError`."""
        total = len(self.texts)
        matcher = self._hold()
        self.batch = _encoded(self.compiled, self.events)
        self.expected = Scan.build(self.compiled).match(self.batch)
        found = matcher.match(self.batch)
        self._compare(found, self.expected, "an answer")
        self._check_words(matcher)
        self._check_effort(found)
        self._check_single(matcher)
        self._check_removed(matcher, found)
        self._check_best(matcher, found)
        self._check_saved(matcher, found)
        self._check_damaged(matcher)
        self._check_threads(matcher)
        self._check_order()
        self._check_extents(matcher)
        counts = len(found.subscriptions), found.candidates_examined
        return Checked(len(self.texts), total - len(self.texts), len(self.events), *counts)

    def _hold(self) -> Matcher:
        """Build the index, without the conditions that it refuses; keeps the others as `texts` and `compiled`."""
        everything = self.compiled = compile_expressions([parse(text) for text in self.texts])
        numbers = np.arange(len(self.texts), dtype=np.int32)
        while True:
            try:
                matcher = self.builder.build(self.compiled)
            except UnsuitableIndex as error:
                if not 0 <= error.number < len(numbers):
                    self._fail(f"it refuses condition {error.number} of {len(numbers)}")
                numbers = np.delete(numbers, error.number)
                self.compiled = subset(everything, numbers)
            else:
                self.texts = [self.texts[number] for number in numbers]
                return matcher

    def _fail(self, rule: str) -> NoReturn:
        raise AssertionError(f"index {self.name!r}: {rule}")

    def _require(self, holds: object, rule: str) -> None:
        if not holds:
            self._fail(rule)

    def _compare(self, found: Found, expected: Found, what: str) -> None:
        """Two answers are the same, in the same order."""
        self._require(
            len(found.starts) == len(expected.starts), f"{what} is not about {len(expected.starts) - 1} events"
        )
        self._require(found.subscriptions.dtype == np.int32, f"{what} has numbers of type {found.subscriptions.dtype}")
        self._require(int(found.starts[-1]) == len(found.subscriptions), f"{what} does not end where its matches end")
        for event, (some, every) in enumerate(zip(_by_event(found), _by_event(expected), strict=True)):
            if some == every:
                continue
            where = f"event {dict(self.events[event % len(self.events)])!r}"
            for number in sorted(set(every) - set(some))[:1]:
                self._fail(f"{what} leaves out {self.texts[number]!r} for {where}")
            for number in sorted(set(some) - set(every))[:1]:
                text = self.texts[number] if 0 <= number < len(self.texts) else number
                self._fail(f"{what} has {text!r}, which does not match {where}")
            self._fail(f"{what} has its matches twice or out of order for {where}: {some}")

    def _check_words(self, matcher: Matcher) -> None:
        """What it says of itself."""
        count = len(self.texts)
        self._require(len(matcher) == count, f"its length is {len(matcher)} with {count} conditions")
        self._require(
            set(self.compiled.attributes) <= set(matcher.attributes), "its attributes lack some that conditions name"
        )
        self._require(len(matcher.expressions()) == count, "its expressions() are not those that it was built from")
        self._require({"structure", "dictionaries"} <= set(matcher.sizes()), "sizes() lacks structure or dictionaries")
        self._require(sum(matcher.places().values()) == count, "places() do not add up to its length")
        for number in range(count):
            self._require(isinstance(matcher.place(number), str), "place() is not a string")
        self._require(isinstance(matcher.best_first(), str), "best_first() is not a string")

    def _check_effort(self, found: Found) -> None:
        examined, most = found.candidates_examined, len(self.texts) * len(self.events)
        self._require(len(found.subscriptions) <= examined <= most, f"candidates_examined is {examined} of {most}")
        self._require(0 <= found.verified <= examined, f"verified is {found.verified}, of {examined} candidates")

    def _check_single(self, matcher: Matcher) -> None:
        """One event, and none at all."""
        chosen = np.array([self.random.randrange(len(self.events))])
        expected = Scan.build(self.compiled).match(self.batch.only(chosen))
        found = matcher.match(self.batch.only(chosen))
        self._require(
            _by_event(found) == _by_event(expected), f"event {self.events[chosen[0]]!r} alone has another answer"
        )
        nothing = matcher.match(self.batch.only(chosen[:0]))
        self._require(nothing.starts.tolist() == [0], "a batch without events has an answer")

    def _check_removed(self, matcher: Matcher, found: Found) -> None:
        """Removed subscriptions are left out, and rule out no other."""
        alive = bitmap(np.array([self.random.random() < 0.6 for _ in self.texts], bool))
        some = matcher.match(self.batch, alive)
        self._compare(some, Scan.build(self.compiled).match(self.batch, alive), "an answer with removed subscriptions")
        self._require(
            some.candidates_examined == found.candidates_examined,
            "removed subscriptions change candidates_examined",
        )

    def _check_best(self, matcher: Matcher, found: Found) -> None:
        """Asked for the best k, it may leave out others."""
        scores = np.array([self.random.choice((-1.0, 0.0, 0.5, 2.0)) for _ in self.texts])
        k = self.random.randint(1, 5)
        maxima = block_maxima(scores, BITS)
        best = Best.of(k, frozen(scores, np.float64), frozen(maxima, np.float64))
        for some, every in zip(_by_event(matcher.match(self.batch, None, best)), _by_event(found), strict=True):
            needed = sorted(every, key=lambda number: (-scores[number], number))[:k]
            self._require(some == sorted(set(some) & set(every)), "asked for the best, it has others, or another order")
            self._require(set(needed) <= set(some), f"asked for the best {k}, it leaves one of them out")

    def _check_saved(self, matcher: Matcher, found: Found) -> None:
        """Loaded from read-only arrays, it answers like before, with the same effort."""
        arrays = {name: frozen(array.copy(), array.dtype) for name, array in matcher.arrays().items()}
        loaded = self.builder.load(arrays)
        again = loaded.match(self.batch)
        self._compare(again, found, "the answer of the loaded index")
        self._require(
            (again.candidates_examined, again.verified) == (found.candidates_examined, found.verified),
            "the loaded index examines other candidates",
        )
        self._require(loaded.arrays().keys() == arrays.keys(), "the loaded index saves other arrays")

    def _check_damaged(self, matcher: Matcher) -> None:
        """Saved arrays of its own that are cut short are refused. Numbers out of range are the index's own to judge."""
        arrays = matcher.arrays()
        for name in sorted(arrays.keys() - stored(matcher.expressions()).keys()):
            with suppress(ValueError, KeyError, IndexError, TypeError):
                if len(arrays[name]):
                    self.builder.load({**arrays, name: frozen(arrays[name][:-1], arrays[name].dtype)})
                    self._fail(f"it loads its saved array {name!r} cut short; it must raise ValueError")

    def _check_threads(self, matcher: Matcher) -> None:
        with ThreadPoolExecutor(2) as threads:
            for found in threads.map(matcher.match, [self.batch] * 4):
                self._compare(found, self.expected, "the answer of a thread")

    def _check_order(self) -> None:
        """No answer depends on the order in which conditions were given."""
        order = np.array(self.random.sample(range(len(self.texts)), len(self.texts)), np.int32)
        compiled = subset(self.compiled, order)
        found = self.builder.build(compiled).match(_encoded(compiled, self.events))
        for event, (some, every) in enumerate(zip(_by_event(found), _by_event(self.expected), strict=True)):
            self._require(
                sorted(order[some].tolist()) == every,
                f"in another order of conditions, event {self.events[event]!r} has another answer",
            )

    def _check_extents(self, matcher: Matcher) -> None:
        """Events with ranges or shapes are refused, or answered."""
        for event in ({"a": Range(1, 4), "b": 1}, {"p": [170, 0, -170, 4], "l": ["k"], "a": 1}):
            batch = with_crossing_shapes(_encoded(self.compiled, [event]))
            if not batch.may_have_extents:
                continue
            try:
                found = matcher.match(batch)
            except ValueError:
                continue
            expected = Scan.build(self.compiled).match(batch)
            self._require(
                _by_event(found) == _by_event(expected),
                f"event {event!r} has a range or a shape; match must raise ValueError (EventBatch.require_values)",
            )


def _check_many(name: str, builder: Builder, texts: Sequence[str]) -> None:
    """An answer in which every subscription matches every event."""
    for text in texts:
        compiled = compile_expressions([parse(text)] * _MANY)
        try:
            matcher = builder.build(compiled)
        except UnsuitableIndex:
            continue
        event = {"a": 1, "p": [3, 3], "l": ["k"]}
        batch = _encoded(compiled, [event] * 40)
        found, expected = matcher.match(batch), Scan.build(compiled).match(batch)
        same: NDArray[np.bool_] | bool = np.array_equal(found.starts, expected.starts)
        if not (same and np.array_equal(found.subscriptions, expected.subscriptions)):
            raise AssertionError(
                f"index {name!r}: it finds {len(found.subscriptions)} of {len(expected.subscriptions)} "
                f"matches of {_MANY} times {text!r}"
            )


def _by_event(found: Found) -> list[list[int]]:
    """The numbers of each event's matches."""
    return [part.tolist() for part in np.split(found.subscriptions, found.starts[1:-1])][: len(found.starts) - 1]


def _encoded(compiled: CompiledExpressions, events: Sequence[Event]) -> EventBatch:
    """The events as arrays, with the truth of conditions that no index evaluates."""
    wanted = Wanted(compiled.attributes)
    return with_conditions(encode_objects(enumerate(events), wanted), wanted)
