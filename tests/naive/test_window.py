"""The oracle of the window gives the answers that were worked out by hand."""

from __future__ import annotations

import math

from tests.naive.window import Change, NaiveWindow

BOUNDS = (0.0, 0.0, 4.0, 3.0)
"""A diagonal of 5."""


def test_a_score_worked_out_by_hand() -> None:
    """Distance 5 of 5, one of two words in common with one: 0.5 * 0 + 0.5 / sqrt(2)."""
    window = NaiveWindow(BOUNDS, size=3)
    window.subscribe("s", ["a"], (0.0, 0.0), k=2, alpha=0.5)

    assert window.push(["a", "b"], (4.0, 3.0)) == [Change("s", 0, "enter", 0.5 / math.sqrt(2))]
    assert window.push(["b"], (0.0, 0.0)) == []
    assert window.results("s") == [(0, 0.5 / math.sqrt(2))]


def test_words_weigh_what_the_weights_say() -> None:
    """Weights 3 and 4 make a norm of 5: the common word has 9 / (5 * 3)."""
    window = NaiveWindow(BOUNDS, size=3, weights={"a": 3.0, "b": 4.0})
    window.subscribe("s", ["a", "b"], (0.0, 0.0), k=1, alpha=0.0)

    assert window.push(["a"], (1.0, 1.0)) == [Change("s", 0, "enter", 9.0 / 15.0)]


def test_of_equal_scores_the_newer_is_better_and_what_is_driven_out_exits_first() -> None:
    """Every message is the same: the latest k are best, and exits of all come before any enters."""
    window = NaiveWindow(BOUNDS, size=9)
    for name in ("t", "s"):
        window.subscribe(name, ["a"], (0.0, 0.0), k=1, alpha=0.5)
    window.push(["a"], (0.0, 0.0), key="first")

    changes = window.push(["a"], (0.0, 0.0), key="second")

    assert changes == [
        Change("s", "first", "exit", 1.0),
        Change("t", "first", "exit", 1.0),
        Change("s", "second", "enter", 1.0),
        Change("t", "second", "enter", 1.0),
    ]


def test_expiry_comes_before_arrival() -> None:
    """The best of a window of two expires as a third message comes; the second is the best again."""
    window = NaiveWindow(BOUNDS, size=2)
    window.subscribe("s", ["a"], (0.0, 0.0), k=1, alpha=0.5)
    window.push(["a"], (0.0, 0.0))
    window.push(["a"], (4.0, 0.0))

    assert window.push(["a"], (4.0, 3.0)) == [Change("s", 0, "exit", 1.0), Change("s", 1, "enter", 0.6)]
    assert window.push(["b"], (0.0, 0.0)) == [Change("s", 1, "exit", 0.6), Change("s", 2, "enter", 0.5)]


def test_a_window_of_time() -> None:
    """A message counts while it is younger than the span; one that is late, or outside, is bad."""
    window = NaiveWindow(BOUNDS, time=10.0)
    window.push(["a"], (0.0, 0.0), time=100.0)
    window.subscribe("s", ["a"], (0.0, 0.0), k=5, alpha=0.5)

    assert window.results("s") == [(0, 1.0)]
    assert window.push(["b"], (0.0, 0.0), time=109.5) == []
    assert window.push(["a"], (0.0, 0.0), time=109.0) is None
    assert window.push(["a"], (0.0, -1.0), time=110.0) is None
    assert window.push(["b"], (0.0, 0.0), time=110.0) == [Change("s", 0, "exit", 1.0)]
