"""Truths over time become changes at exact instants, by events and by time alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.naive import fences
from tests.naive.flatten import flatten
from tests.naive.over_time import SECOND, Condition, Event, History, Term
from tests.naive.over_time_changes import Lasting, Options, steps, turns
from tests.sizes import sized
from tests.strategies.over_time import LONGEST, attributes, condition, conditions, instants

Records = Sequence[tuple[int, dict[str, object]]]


def history_of(records: Records) -> History:
    return History([Event(at, flatten(record)[0]) for at, record in records])


def turns_of(where: Condition, records: Records, until: int, **options: Any) -> list[tuple[int, str]]:
    history = history_of(records)
    return [(t.at, t.change) for t in turns(steps(where, history, until), until, Options(**options))]


HIGH = condition("x > 0")
PASSING = [(0, {"x": 1}), (10, {"x": 1}), (20, {}), (30, {"x": 0}), (35, {"x": 1}), (40, {"x": 0}), (50, {"x": 0})]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [(0, "enter"), (30, "exit"), (35, "enter"), (40, "exit")]),
        ({"inside": True}, [(0, "enter"), (10, "inside"), (30, "exit"), (35, "enter"), (40, "exit")]),
        ({"enter_after": 2, "exit_after": 2}, [(10, "enter"), (50, "exit")]),
        ({"enter_after": Lasting(7)}, [(7, "enter"), (30, "exit")]),
        ({"enter_after": Lasting(5)}, [(5, "enter"), (30, "exit"), (40, "enter"), (40, "exit")]),
        ({"enter_after": Lasting(20), "dwell": 10}, [(20, "enter"), (20, "dwell"), (30, "exit")]),
        ({"exit_after": Lasting(6)}, [(0, "enter"), (46, "exit")]),
        ({"dwell": 25}, [(0, "enter"), (25, "dwell"), (30, "exit"), (35, "enter"), (40, "exit")]),
        ({"dwell": 33, "exit_after": 2}, [(0, "enter"), (35, "dwell"), (50, "exit")]),
        ({"dwell": 0}, [(0, "enter"), (0, "dwell"), (30, "exit"), (35, "enter"), (35, "dwell"), (40, "exit")]),
    ],
)
def test_changes_by_options(options, expected):
    """Runs of events, and of time; UNKNOWN is in no run."""
    assert turns_of(HIGH, PASSING, 99, **options) == expected


def test_time_alone_is_one_in_a_run():
    """An instant that changes the truth counts as an event does."""
    late = condition("since >= 0.00001", since=Term("SINCE", condition=condition("x > 0")))
    records: Records = [(0, {"x": 1}), (15, {})]

    assert turns_of(late, records, 99, enter_after=2) == [(15, "enter")]
    assert turns_of(late, records[:1], 99, enter_after=2) == []
    assert turns_of(late, records[:1], 99, enter_after=Lasting(7)) == [(17, "enter")]


def test_inside_is_told_at_events_only():
    """An instant at which time alone made it TRUE again is not an event inside."""
    since = condition("since >= 0.00001", since=Term("SINCE", condition=condition("x > 0")))
    records: Records = [(0, {"x": 1}), (15, {"x": 1})]

    assert turns_of(since, records, 99, exit_after=2, inside=True) == [(10, "enter"), (15, "inside")]


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("since > x / 1000000", 16),
        ("since >= mean", 18),
        ("since BETWEEN x / 1000000 AND 1", 15),
        ("since = other", 12),
    ],
)
def test_since_meets_other_values(text, instant):
    """SINCE is compared with attributes, with arithmetic on them, and with other values over time."""
    named = {
        "since": Term("SINCE", condition=condition("x > 0")),
        "other": Term("SINCE", condition=condition("y > 0")),
        "mean": Term("AVG", "z", span=50),
    }
    records: Records = [(0, {"y": 1}), (11, {"x": 4, "y": 1, "z": 7e-6})]
    history, where = history_of(records), condition(text, **named)

    known = steps(where, history, 40, every=True)

    assert [step.at for step in known if step.truth] == [instant]
    assert all(step.event is None for step in known)
    assert steps(where, history, 40) == known


def test_what_is_computed_from_since_needs_every_microsecond():
    """A value that is computed from SINCE may change the truth at any instant."""
    since = Term("SINCE", condition=condition("x > 0"))
    history, where = history_of([(0, {"x": 4})]), condition("since * 2 > 0.00001", since=since)

    assert [step.at for step in steps(where, history, 9, every=True) if step.truth] == [6]
    with pytest.raises(NotImplementedError, match="SINCE"):
        steps(where, history, 9)


@given(st.lists(attributes, max_size=20), st.integers(1, 3), st.integers(1, 3), st.booleans())
def test_changes_are_those_of_fences(records, enter_after, exit_after, inside):
    """Of conditions without functions of time, changes by counts are what the oracle of fences says."""
    history = history_of([(7 * number, record) for number, record in enumerate(records)])
    where = condition("amount > 0")
    known = steps(where, history, 999)

    answer = turns(known, 999, Options(enter_after, exit_after, inside=inside))

    expected = fences.changes(
        [step.truth for step in known],
        [step.at / SECOND for step in known],
        enter_after=enter_after,
        exit_after=exit_after,
        dwell=None,
        inside=inside,
    )
    assert [(turn.event, turn.change, pytest.approx(turn.seconds)) for turn in answer] == [
        (known[number].event, change, seconds) for number, change, seconds in expected
    ]


@settings(max_examples=sized(25, 300))
@given(conditions(), st.lists(st.tuples(instants, attributes), max_size=9))
def test_the_instants_that_can_matter_are_all(where, records):
    """Trying every microsecond finds no other change of a truth."""
    history = history_of(sorted(records, key=lambda record: record[0]))

    assert steps(where, history, 3 * LONGEST) == steps(where, history, 3 * LONGEST, every=True)
