"""Windows whose pushes are measured: every structure is asked the same, and answers alike."""

from __future__ import annotations

import pytest
from reproduce.figure import Series
from reproduce.measuring import measure
from reproduce.sliding_messages import SlidingMessages
from reproduce.workloads import load_of

from tocsin.index import disseminators, find_index

GIVEN = {"kind": "sliding_messages", "subscriptions": 300, "window": 100, "k": 4, "passed": 2.0, "events": 200}


def load() -> SlidingMessages:
    found = load_of(GIVEN, set())
    assert isinstance(found, SlidingMessages)
    return found


@pytest.mark.parametrize("name", [one.name for one in disseminators() if "slack" in one.options])
def test_every_structure_is_pushed_the_same(name: str) -> None:
    """The baseline examines the most; what is searched for and buffered is the same."""
    every = find_index("inverted_file", for_windows=True)
    first, other = (load().build(one, {"slack": 1}) for one in (every, find_index(name, for_windows=True)))
    for _ in range(3):
        expected, found = first.push(150), other.push(150)

        assert found.candidates_examined <= expected.candidates_examined
        assert (found.reevaluations, found.buffered) == (expected.reevaluations, expected.buffered)
    assert found.reevaluations > 0
    assert other.window.held == GIVEN["window"]


def test_no_message_comes_while_it_is_still_there() -> None:
    """Behind the last one comes the first, when it has expired."""
    stream = load().build(find_index("inverted_file", for_windows=True), {})
    pushed: list[int] = []
    for count in (16, 200, 90, 200, 120, 16):
        stream.push(count)
        pushed += range(stream.at - count, stream.at)

    for first in range(len(pushed) - 100):
        assert len(set(pushed[first : first + 101])) == 101


@pytest.mark.parametrize("what", ["match", "candidates", "searches", "buffered", "memory"])
def test_what_is_measured_of_a_window(what: str) -> None:
    point = measure(what, Series("skype", "skype(leaf=50, slack=1)"), GIVEN)

    assert point.value is not None
    assert point.value > 0
