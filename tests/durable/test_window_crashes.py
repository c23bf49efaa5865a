"""Whatever kills a durable window, or cuts its power, it then is one in memory after the acknowledged calls.

Or after these and the one that was in flight.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tocsin
from tests.durable.killing import FORK, Subject, at_a_statement, first_loss, killed_at_each_step
from tests.durable.windows import BOUNDS, state, stored
from tests.waiting import awaited

OPTIONS: Final = {"size": 4, "time": 10.0, "bounds": BOUNDS}
PLACE: Final = (1.0, 1.0)
CALLS: Final = st.lists(
    st.one_of(
        st.tuples(st.just("push"), st.integers(0, 3)),
        st.tuples(st.just("batch"), st.integers(1, 6)),
        st.tuples(st.just("fill"), st.integers(1, 6)),
        st.tuples(st.just("advance"), st.integers(1, 12)),
        st.tuples(st.just("subscribe"), st.integers(0, 3)),
        st.tuples(st.just("unsubscribe"), st.integers(0, 3)),
        st.tuples(st.just("many"), st.integers(1, 4)),
    ),
    min_size=1,
    max_size=7,
)
SOME: Final = [
    ("subscribe", 1),
    ("push", 1),
    ("many", 3),
    ("batch", 6),
    ("unsubscribe", 1),
    ("advance", 4),
    ("fill", 2),
    ("advance", 12),
    ("push", 2),
]


def made(window: Any, call: tuple[str, int]) -> None:
    kind, number = call
    now = max(window._reader.latest, 0.0)
    messages = [
        {"words": ["a", f"w{i % 3}"], "location": PLACE, "time": now + i / 9, "key": f"k{i}"} for i in range(number)
    ]
    if kind == "push":
        window.push(words=["a", f"w{number}"], location=PLACE, time=now + number, key=f"k{number}")
    elif kind in ("batch", "fill"):
        window.push_batch(messages, changes=kind == "batch")
    elif kind == "advance":
        window.advance(now + number)
    elif kind == "subscribe":
        window.subscribe(f"s{number}", words=["a", "w1"], location=PLACE, k=2, replace=True)
    elif kind == "unsubscribe" and f"s{number}" in window:
        window.unsubscribe(f"s{number}")
    elif kind == "many":
        records = [{"id": f"s{i}", "words": [f"w{i}", "b"], "location": PLACE} for i in range(number)]
        window.subscribe_many(records, replace=True)


def states(calls: Any) -> list[dict[str, Any]]:
    """The oracle: what a window in memory is before some calls, and after each."""
    window = tocsin.Window(**OPTIONS)
    found = [state(window)]
    for call in calls:
        made(window, call)
        found.append(state(window))
    return found


WINDOW: Final = Subject(
    lambda folder: tocsin.Window.open(folder, **OPTIONS),
    made,
    lambda window: window._database,
    state,
    states,
)


def goes_on(window: Any) -> None:
    """The store has what the window has, and the window takes messages."""
    first, taken = window._sliding.taken - window.held, window._sliding.taken
    assert stored(window) == (list(range(first, taken)), list(window))
    made(window, ("push", 1))


@given(calls=CALLS)
@settings(max_examples=max(2, settings.default.max_examples // 8), deadline=None)
def test_a_window_that_dies_before_any_statement(calls: Any, tmp_path_factory: Any) -> None:
    folder = tmp_path_factory.mktemp("statements")
    steps = [goes_on(window) for window in killed_at_each_step(WINDOW, folder, calls, at_a_statement(WINDOW))]
    assert steps


def test_a_window_that_dies_before_any_statement_of_every_kind_of_call(tmp_path: Path) -> None:
    steps = [goes_on(one) for one in killed_at_each_step(WINDOW, tmp_path, SOME, at_a_statement(WINDOW), closes=True)]
    assert len(steps) > 3 * len(SOME)


@pytest.mark.slow("a child dies at each step")
@pytest.mark.parametrize(
    ("sync", "cut"),
    [
        ("FULL", True),
        ("OFF", True),
        ("OFF", False),
        pytest.param("FULL", False, marks=pytest.mark.long),  # less happens than in the first and the third
    ],
)
def test_a_window_after_a_power_cut_and_after_a_kill(sync: str, cut: bool, tmp_path: Path) -> None:
    """Only a power cut without syncs loses something, so that the test can fail."""
    loss = first_loss(WINDOW, tmp_path, SOME, sync, lambda call: call[0] == "advance", cut=cut)
    assert (loss is None) == (sync == "FULL" or not cut)


def pushing(folder: Path, counts: Any) -> None:
    """In a child: threads that push without end, each counting what was acknowledged."""
    window = tocsin.Window.open(folder, size=100_000, bounds=BOUNDS)

    def work(thread: int) -> None:
        while True:
            window.push(words=["a"], location=PLACE, key=f"{thread}-{counts[thread]}")
            counts[thread] += 1

    for thread in range(len(counts)):
        threading.Thread(target=work, args=(thread,), daemon=True).start()
    time.sleep(60)


@pytest.mark.parametrize("times", [3, pytest.param(60, marks=pytest.mark.long)])
def test_a_window_that_is_killed_under_load(times: int, tmp_path: Path) -> None:
    """With SIGKILL, at any moment, while threads push; each time the same folder goes on."""
    counts = FORK.Array("q", 4, lock=False)
    for number in range(times):
        before = list(counts)
        child = FORK.Process(target=pushing, args=(tmp_path, counts))
        child.start()
        awaited(lambda before=before: list(counts) != before, step_s=0.005)
        time.sleep(0.01 + 0.03 * (number % 7))
        child.kill()
        child.join()
        done = list(counts)
        with tocsin.Window.open(tmp_path) as window:
            keys = window._keys.of(numbers(window))
        for thread, count in enumerate(done):
            own = [key for key in keys if key.startswith(f"{thread}-")]
            assert own in ([f"{thread}-{i}" for i in range(count + more)] for more in (0, 1))
            counts[thread] = len(own)


def numbers(window: Any) -> Any:
    return np.arange(window._sliding.taken - window.held, window._sliding.taken)
