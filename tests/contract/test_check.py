"""The contract test for indexes of other packages: the library's own pass it, and each kind of fault fails it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tocsin
from tocsin import indexes
from tocsin.columns.expressions.stored import restored
from tocsin.columns.expressions.writer import compile_expressions
from tocsin.index import registrations
from tocsin.index.boolean.scan import Scan

MATCHERS = [one for one in registrations() if one.question == indexes.ALL_MATCHES]
Answer = Callable[..., indexes.Found]


class Everything(indexes.CandidateIndex):
    """Every condition is a candidate, and its saved array is their number."""

    def make(self, count: int) -> Mapping[str, NDArray[Any]]:
        return {"numbers": np.arange(count)}

    def are_sound(self, count: int) -> bool:
        return np.array_equal(self.lists["numbers"], np.arange(count))

    def candidates(self, values: indexes.Values) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
        numbers = self.lists["numbers"]
        return np.repeat(np.arange(len(values)), len(numbers)), np.tile(numbers, len(values))


def registered(index: Any, name: str = "mine") -> indexes.Registration:
    return indexes.Registration(name, indexes.ALL_MATCHES, indexes.ANY_EXPRESSION, "a test", False, lambda: index)


@pytest.mark.parametrize("registration", MATCHERS, ids=lambda one: one.name)
def test_the_indexes_of_the_library_pass(registration: indexes.Registration) -> None:
    checked = indexes.check(registration, rounds=2)

    assert checked.conditions + checked.refused == 2 * 60
    assert checked.refused == 0 or not registration.takes_all
    assert checked.matches > 0


def test_candidates_are_verified() -> None:
    checked = indexes.check(registered(Everything), rounds=3)

    assert checked.candidates == 3 * 60 * 80 > checked.matches


class Needed(Everything):
    """What the needs say, without verification of what they leave out: all pairs of a condition and a value in it."""

    def candidates(self, values: indexes.Values) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
        events, numbers = super().candidates(values)
        needs, met = self.needs, np.zeros((len(values), len(self.needs.owners)), bool)
        for event, field, code in zip(values.events, values.fields, values.codes, strict=True):
            met[event] |= (needs.fields == field) & (needs.lows <= code) & (code <= needs.highs)
        fails = np.zeros((len(values), len(self.lists["numbers"])), bool)
        for need, owner in enumerate(needs.owners):
            fails[:, owner] |= ~met[:, need]
        keep = ~fails[events, numbers]
        return events[keep], numbers[keep]


def test_needs_rule_out_no_match() -> None:
    """They rule out at least half of all pairs."""
    checked = indexes.check(registered(Needed), rounds=5)

    assert checked.matches < checked.candidates < 5 * 60 * 80 // 2


def test_needs_are_ranges_of_codes() -> None:
    needs = Needed.build(
        _compiled("a >= 2 AND s = 'x' AND a <> 3", "a < 2 OR s = 'y'", "s LIKE 'x%'", "a IN (1, 5)")
    ).needs

    assert needs.owners.tolist() == [0, 0, 3]
    assert len(needs.sizes) >= 2
    assert (needs.lows <= needs.highs).all()


def _compiled(*texts: str) -> indexes.CompiledExpressions:
    return compile_expressions([tocsin.parse(text) for text in texts])


def faulty(change: Callable[[indexes.Found, indexes.EventBatch], indexes.Found]) -> type[Scan]:
    """A scan whose answers are changed."""

    class Faulty(Scan):
        def match(self, batch: indexes.EventBatch, *rest: Any) -> indexes.Found:
            return change(super().match(batch, *rest), batch)

    return Faulty


def without_the_last(found: indexes.Found, batch: indexes.EventBatch) -> indexes.Found:
    return found._replace(starts=np.minimum(found.starts, found.starts[-1] - 1), subscriptions=found.subscriptions[:-1])


def reversed_for_an_event(found: indexes.Found, batch: indexes.EventBatch) -> indexes.Found:
    parts = np.split(found.subscriptions, found.starts[1:-1])
    return found._replace(subscriptions=np.concatenate([part[::-1] for part in parts]))


class IgnoresTheRemoved(Scan):
    def match(self, batch: indexes.EventBatch, alive: indexes.Alive = None, best: Any = None) -> indexes.Found:
        return super().match(batch)


class ForgetsOnLoad(Scan):
    @classmethod
    def load(cls, arrays: indexes.Arrays) -> Scan:
        return Scan.build(_compiled(*["FALSE"] * len(restored(arrays))))


class KeepsCutLists(Everything):
    def are_sound(self, count: int) -> bool:
        return True


class LeavesOut(Everything):
    def candidates(self, values: indexes.Values) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
        events, numbers = super().candidates(values)
        return events[numbers % 7 != 3], numbers[numbers % 7 != 3]


class MatchesAll(Scan):
    def match(self, batch: indexes.EventBatch, alive: indexes.Alive = None, best: Any = None) -> indexes.Found:
        events, count = len(batch), len(self)
        numbers = np.tile(np.arange(count, dtype=np.int32), events)
        return indexes.Found(np.arange(events + 1) * count, numbers, len(numbers), 0)


class OnlyTheFirst(Scan):
    """Asked for the best, it gives the first."""

    def match(self, batch: indexes.EventBatch, alive: indexes.Alive = None, best: Any = None) -> indexes.Found:
        found = super().match(batch, alive)
        if best is None:
            return found
        first = found.subscriptions[np.minimum(found.starts[:-1], max(len(found.subscriptions) - 1, 0))]
        has = np.diff(found.starts) > 0
        return found._replace(starts=np.concatenate([[0], np.cumsum(has)]), subscriptions=first[has])


FAULTS = {
    "leaves out": without_the_last,
    "out of order": reversed_for_an_event,
    "numbers of type int64": lambda found, _: found._replace(subscriptions=found.subscriptions.astype(np.int64)),
    "candidates_examined is 0": lambda found, _: found._replace(candidates_examined=0, verified=0),
    "verified is": lambda found, _: found._replace(verified=found.candidates_examined + 1),
    "is not about": lambda found, _: found._replace(starts=found.starts[:-1]),
    "alone has another answer": lambda found, batch: (
        found if len(batch) != 1 else found._replace(starts=np.zeros(2, np.int64), subscriptions=np.empty(0, np.int32))
    ),
}


@pytest.mark.parametrize("rule", FAULTS)
def test_a_wrong_answer_fails(rule: str) -> None:
    with pytest.raises(AssertionError, match=f"index 'mine': .*{rule}"):
        indexes.check(registered(faulty(FAULTS[rule])), rounds=1)


@pytest.mark.parametrize(
    ("index", "rule"),
    [
        (IgnoresTheRemoved, "with removed subscriptions has"),
        (ForgetsOnLoad, "the answer of the loaded index"),
        (KeepsCutLists, "it loads its saved array 'lists.numbers' cut short"),
        (LeavesOut, "leaves out"),
        (MatchesAll, "an answer has .*, which does not match event"),
        (OnlyTheFirst, "asked for the best"),
    ],
)
def test_a_wrong_index_fails(index: Any, rule: str) -> None:
    with pytest.raises(AssertionError, match=f"index 'mine': .*{rule}"):
        indexes.check(registered(index), rounds=1)


def test_given_conditions_are_tried() -> None:
    """A fault that random conditions do not show."""

    class OfPlanes(Everything):
        def candidates(self, values: indexes.Values) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
            events, numbers = super().candidates(values)
            planes = "plane" in self.attributes
            return (events[numbers > 0], numbers[numbers > 0]) if planes else (events, numbers)

    with pytest.raises(AssertionError, match=r"leaves out \"plane = 'A380'\" for event \{'plane'"):
        indexes.check(registered(OfPlanes), conditions=["plane = 'A380'"], events=[{"plane": "A380"}], rounds=1)


def test_what_cannot_be_tried_is_said() -> None:
    with pytest.raises(tocsin.InvalidInput, match="answers 'the best first'; check tries all matches"):
        indexes.check("sopt_r_tree")
    with pytest.raises(tocsin.UnknownIndex, match="no index is named 'nobodys'"):
        indexes.check("nobodys")

    class HoldsNothing(Everything):
        def make(self, count: int) -> Mapping[str, NDArray[Any]]:
            if count:
                raise tocsin.UnsuitableIndex("it is a condition", 0)
            return super().make(count)

    with pytest.raises(tocsin.InvalidInput, match="'mine' holds no condition that was drawn; give some as conditions="):
        indexes.check(registered(HoldsNothing), rounds=1)
